"""Run the Dynamo walkthrough in a worker process with an empty compile cache.

Takes an executor; returns a `Walkthrough`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable

from bench.plans.messages import TakeWalkthrough, WalkthroughTaken
from bench.records.walkthrough import Walkthrough
from bench.running.executors import Executor
from bench.running.preflight import answer_of

LONGEST_S = 600.0
"""The walkthrough is stopped after this many seconds. It takes less than one minute on two cores."""


def take(executor: Executor, log: Callable[[str], None]) -> Walkthrough:
    """Take the walkthrough; `log` gets the name of each phase. Raises `AtlasError` if torch cannot be used."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        ended = executor.run(
            TakeWalkthrough(),
            variables={"TORCHINDUCTOR_CACHE_DIR": cache},
            timeout_s=LONGEST_S,
            on_phase=lambda phase: log(phase.name),
        )
    taken = answer_of(ended, "the walkthrough ended early")
    assert isinstance(taken, WalkthroughTaken)
    return taken.walkthrough
