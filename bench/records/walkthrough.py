"""The record of one walkthrough of TorchDynamo, as made by `bench.measuring.dynamo_walkthrough`.

Each walkthrough is one JSON document in ``results/walkthroughs``; the page shows the newest.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.records import document
from bench.records.document import Amount, Count, Lines
from bench.records.record import RESULTS, Environment

SCHEMA = 1
"""Version of the file format."""

WALKTHROUGHS = RESULTS / "walkthroughs"
"""The folder of committed walkthroughs."""


class _Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Graph(_Value, frozen=True):
    """A graph that Dynamo passed to the backend."""

    function: Lines  # that it was captured from; Dynamo names resume functions
    operations: Count
    code: Lines | None  # None if it is too long to read


class ExplainedBreak(_Value, frozen=True):
    """A graph break with Dynamo's own explanation."""

    reason: Lines
    explanation: Lines
    location: Lines  # module path relative to site-packages, and line


class FunctionWalkthrough(_Value, frozen=True):
    """A small function with a data-dependent branch, from source to guards."""

    backend: Lines  # source code of the backend that prints graphs
    source: Lines
    bytecode: Lines
    rewritten: Lines  # the bytecode from Dynamo: loads of its own globals, jumps and returns
    graphs: tuple[Graph, ...]
    breaks: tuple[ExplainedBreak, ...]
    guards: tuple[Lines, ...]
    recompile_reasons: tuple[Lines, ...]  # for an input of another size
    recompiled: tuple[Graph, ...]


class StepWalkthrough(_Value, frozen=True):
    """One training step, from Dynamo's graphs to Inductor's kernels."""

    source: Lines
    graphs: tuple[Graph, ...]
    breaks: tuple[ExplainedBreak, ...]
    forward: Lines  # ATen graph that AOTAutograd traced
    backward: Lines
    inductor_nodes: Count  # in all graphs of the step, before fusion
    kernels: Count  # generated for these nodes


class Score(_Value, frozen=True):
    """Errors of predictions for unseen data."""

    mse: Amount
    r2: float


class Training(_Value, frozen=True):
    """Results of one variant: a network for each fold, then one on everything but the held-out set."""

    folds: tuple[Score, ...]
    held_out: Score
    train_losses: tuple[Amount, ...]  # of the last network, by epoch: mean over its batches
    held_out_losses: tuple[Amount, ...]
    first_step_s: Amount  # including compilation
    total_s: Amount
    recompile_reasons: tuple[Lines, ...] = ()  # distinct


class Example(_Value, frozen=True):
    """The worked example: a network of three layers, trained eager and compiled from the same initial weights."""

    source: Lines
    samples: Count
    held_out: Count
    features: Count
    folds: Count
    epochs: Count
    batch_size: Count
    learning_rate: Amount
    step: StepWalkthrough
    eager: Training
    compiled: Training
    tolerance: Amount  # for `difference`
    difference: Amount  # largest relative difference between the losses of both variants

    @property
    def agrees(self) -> bool:
        """Whether both variants computed the same losses."""
        return self.difference <= self.tolerance


class Walkthrough(_Value, frozen=True):
    """One walkthrough: the function, the example, and the machine."""

    schema: int
    name: Lines
    taken_at: datetime  # UTC
    command: Lines
    seconds: Amount
    environment: Environment
    function: FunctionWalkthrough
    example: Example


def name(environment: Environment, taken_at: datetime) -> str:
    """Return the name of a walkthrough, such as ``2026-07-01_torch-2.13.0``."""
    return f"{taken_at.astimezone(UTC):%Y-%m-%d}_torch-{environment.torch.partition('+')[0]}"


def write(walkthrough: Walkthrough, folder: Path = WALKTHROUGHS) -> Path:
    """Write the document. Replaces one of the same day and torch version."""
    return document.write(walkthrough, folder / f"{walkthrough.name}.json")


def read(path: Path) -> Walkthrough:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Walkthrough, SCHEMA, "python -m bench dynamo-walkthrough")


def newest(results: Path = RESULTS) -> Walkthrough | None:
    """Return the newest walkthrough below the folder `results`, or None."""
    return document.newest(results / WALKTHROUGHS.name, read)
