"""What `bench.measuring.dynamo_walkthrough` saw: the record of one tour through TorchDynamo, and its file.

One document a tour below ``results/walkthroughs``; the newest is shown.

    python -m bench dynamo-walkthrough
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.records import document
from bench.records.record import RESULTS, Environment

SCHEMA = 1
"""Version of the file format."""

WALKTHROUGHS = RESULTS / "walkthroughs"
"""Where committed tours live."""


class _Value(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class Graph(_Value, frozen=True):
    """A graph that Dynamo handed to the backend."""

    function: str  # whose code it was captured from; Dynamo names resume functions itself
    operations: int
    code: str | None  # None for one that is too long to be read


class ExplainedBreak(_Value, frozen=True):
    """Where Dynamo ended a graph, in its own words."""

    reason: str
    explanation: str
    location: str  # module path and line, below site-packages


class FunctionWalkthrough(_Value, frozen=True):
    """A small function with a branch on data, from source to guards."""

    backend: str  # source of the one that prints
    source: str
    bytecode: str
    rewritten: str  # of what Dynamo made of the bytecode: loads of its own globals, jumps and returns
    graphs: tuple[Graph, ...]
    breaks: tuple[ExplainedBreak, ...]
    guards: tuple[str, ...]
    recompile_reasons: tuple[str, ...]  # when an input of another size followed
    recompiled: tuple[Graph, ...]


class StepWalkthrough(_Value, frozen=True):
    """One step of training, from Dynamo's graphs to the kernels of Inductor."""

    source: str
    graphs: tuple[Graph, ...]
    breaks: tuple[ExplainedBreak, ...]
    forward: str  # ATen graphs of the forward pass that AOTAutograd traced
    backward: str
    inductor_nodes: int  # of all graphs of the step, before Inductor fuses them
    kernels: int  # generated for them


class Score(_Value, frozen=True):
    """Of predictions for data that the network has not seen."""

    mse: float
    r2: float


class Training(_Value, frozen=True):
    """All that one variant trained: a network per fold, then one on everything but the held-out set."""

    folds: tuple[Score, ...]
    held_out: Score
    train_losses: tuple[float, ...]  # of the last network: mean over the batches of each epoch
    held_out_losses: tuple[float, ...]
    first_step_s: float  # compiling included
    total_s: float
    recompile_reasons: tuple[str, ...] = ()  # distinct


class Example(_Value, frozen=True):
    """The worked example: a network of three layers, trained eager and compiled from the same start."""

    source: str
    samples: int
    held_out: int
    features: int
    folds: int
    epochs: int
    batch_size: int
    learning_rate: float
    step: StepWalkthrough
    eager: Training
    compiled: Training
    tolerance: float  # on the largest relative difference between the losses of both variants
    difference: float

    @property
    def agrees(self) -> bool:
        """Whether both variants computed the same."""
        return self.difference <= self.tolerance


class Walkthrough(_Value, frozen=True):
    """All of it."""

    schema: int
    name: str
    taken_at: datetime  # UTC
    command: str
    seconds: float
    environment: Environment
    function: FunctionWalkthrough
    example: Example


def name(environment: Environment, taken_at: datetime) -> str:
    """``2026-07-01_torch-2.13.0``."""
    return f"{taken_at.astimezone(UTC):%Y-%m-%d}_torch-{environment.torch.partition('+')[0]}"


def write(walkthrough: Walkthrough, folder: Path = WALKTHROUGHS) -> Path:
    """The file of the tour. A tour of the same day and torch is replaced."""
    return document.write(walkthrough, folder / f"{walkthrough.name}.json")


def read(path: Path) -> Walkthrough:
    """One tour. Raises `AtlasError` for a file that is none, or of another schema."""
    return document.read(path, Walkthrough, SCHEMA, "python -m bench dynamo-walkthrough")


def newest(results: Path = RESULTS) -> Walkthrough | None:
    """The newest tour below a folder of results; None where there is none."""
    return document.newest(results / WALKTHROUGHS.name, read)
