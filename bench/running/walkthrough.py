"""Run the Dynamo walkthrough in a worker process, with an empty compile cache.

An executor enters; a `Walkthrough` leaves.

    python -m bench dynamo-walkthrough
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable

from bench.errors import AtlasError
from bench.plans.messages import Refusal, TakeWalkthrough, WalkthroughTaken
from bench.records.walkthrough import Walkthrough
from bench.running.executors import Executor

LONGEST_S = 600.0
"""The walkthrough is stopped after this many seconds. It takes less than one minute on two cores."""


def take(executor: Executor, tell: Callable[[str], None]) -> Walkthrough:
    """Take the tour in a process of its own with an empty compile cache; `tell` hears what it is doing.

    Raises `AtlasError` where torch cannot be used.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        ended = executor.run(
            TakeWalkthrough(),
            variables={"TORCHINDUCTOR_CACHE_DIR": cache},
            timeout_s=LONGEST_S,
            on_phase=lambda phase: tell(phase.name),
        )
    match ended.answer:
        case WalkthroughTaken(walkthrough=walkthrough):
            return walkthrough
        case Refusal(what=what, where=where, remedy=remedy):
            raise AtlasError(what, where=where, remedy=remedy)
    remedy = 'install what measuring needs: pip install -e ".[bench]"' if "No module" in ended.last_words else ""
    raise AtlasError(f"the tour ended early: {ended.last_words or ended.cause}", remedy=remedy)
