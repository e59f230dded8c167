"""Messages between the sweep and a worker process, each one line of JSON.

The sweep sends one `Request`; the worker sends any number of `Phase`s, then one `Answer`. Imports no torch, so
that the sweep can send a job without it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from bench.plans.checkpoints import LocalCheckpoint
from bench.plans.models import ModelSpec, find
from bench.plans.profiles import Sampling
from bench.records.documents import Check
from bench.records.record import Call, Cell, Environment, Measurement, Peaks, Start, Status, Task

Weights = Literal["random", "pretrained"]
Role = Literal["both", "eager", "variant", "build"]

STARTING, BUILDING = "starting", "building"
"""Phases of a worker until it has a model: until its first message, it starts Python and imports torch."""

MEMORY_WORDS = (
    *("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory", "bad_alloc"),
    *("_alloc_failed", "_allocation_failed"),  # cuBLAS and cuDNN
)


def is_out_of_memory(text: str) -> bool:
    """Return whether an error message says that memory ran out."""
    return "MemoryError" in text or any(words in text.lower() for words in MEMORY_WORDS)


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    pass


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """The model to build: a label of the model table, or else a `checkpoint` (hub id, or one in a folder)."""

    task: Task
    model: str | None = None
    checkpoint: str | LocalCheckpoint | None = None
    shrunken: bool = False
    weights: Weights = "random"

    @property
    def spec(self) -> ModelSpec | None:
        """The row of the model table, shrunken if requested, or None for a checkpoint."""
        spec = find(self.model) if self.model else None
        return spec.shrink() if spec and self.shrunken else spec

    @property
    def source(self) -> str:
        """The hub id or directory of its pretrained weights."""
        spec, local = self.spec, self.local
        return spec.checkpoint if spec else local.directory if local else str(self.checkpoint)

    @property
    def local(self) -> LocalCheckpoint | None:
        """The checkpoint in a folder, if it is one."""
        return self.checkpoint if isinstance(self.checkpoint, LocalCheckpoint) else None

    def without_folder(self, text: str) -> str:
        """Return the text with the name of a local checkpoint in place of its folder, which is private."""
        return text.replace(self.local.directory, self.local.name) if self.local else text

    @property
    def needs_hub(self) -> bool:
        """Whether building the model may read the hub or its local cache. A folder is whole, or refused."""
        return self.weights == "pretrained" if self.model else not Path(self.source).is_dir()


class Preflight(_Message, frozen=True):
    """Request: choose a device, describe the machine, check that the device is idle and checkpoints readable."""

    device: str | None = None
    recipes: tuple[Recipe, ...] = ()
    allow_busy: bool = False


class Job(_Message, frozen=True):
    """Request: measure one cell in this process.

    A process that starts `cold` also records whatever is equal in all, and leaves artifacts in the `folder` if it
    `saves_artifacts`. A variant that shares no process with eager takes a job for each `role`, which leave what the
    next one needs there. `peaks` are those of the device, if an earlier process has measured them. `allow_busy` permits
    other processes on the device.
    """

    cell: Cell
    recipe: Recipe
    sampling: Sampling
    start: Start = "cold"
    saves_artifacts: bool = False
    role: Role = "both"
    folder: str = ""
    peaks: Peaks | None = None
    allow_busy: bool = False


class CheckSelf(_Message, frozen=True):
    """Request: compare eager with eager, and if asked to, both variants with torch's Timer and profiler."""

    job: Job
    beside_others: bool = False


class Machine(_Message, frozen=True):
    """Answer to a `Preflight`."""

    device: str
    environment: Environment


class Phase(_Message, frozen=True):
    """What the worker is doing."""

    name: str


class CellOutcome(_Message, frozen=True):
    """Answer to a `Job`: how the cell ended and what was measured."""

    status: Status
    reason: str | None = None
    measurement: Measurement | None = None
    calls: tuple[Call, ...] = ()
    input_size: tuple[int, int] | None = None
    has_random_head: bool = False


class SelfChecked(_Message, frozen=True):
    """Answer to `CheckSelf`: the rounds of eager against eager, and the other checks."""

    measurement: Measurement
    checks: tuple[Check, ...] = ()


class Refusal(_Message, frozen=True):
    """Answer to any request: an `AtlasError` for the parent to raise."""

    what: str
    where: str = ""
    remedy: str = ""


Request = Preflight | Job | CheckSelf
Answer = Machine | CellOutcome | SelfChecked | Refusal
Message = Phase | Answer
Send = Callable[[Message], None]
"""Sends a message to the parent."""
