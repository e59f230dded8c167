"""Count the operations of models in a worker process: see `bench.measuring.operations`.

Takes an executor and the request; returns the counts. Nothing is measured, and no weights are read.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.plans.messages import CountOperations, OperationsCounted, Phase
from bench.running.executors import Executor
from bench.running.preflight import answer_of, variables_of

LONGEST_S = 3600.0
"""Counting is stopped after this many seconds. A model takes a tenth of a second, and 1,500 take four minutes."""


def count(executor: Executor, request: CountOperations, log: Callable[[Phase], None]) -> OperationsCounted:
    """Count the operations. `log` gets each model as its turn comes. Raises `AtlasError` for a model that cannot be
    built, and where torch or timm cannot be used."""
    recipes = [request.recipe] if request.recipe else []
    ended = executor.run(request, variables=variables_of(recipes, keep_memory=False), timeout_s=LONGEST_S, on_phase=log)
    counted = answer_of(ended, "the operations cannot be counted")
    assert isinstance(counted, OperationsCounted)
    return counted
