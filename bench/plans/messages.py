"""What crosses the pipe between the sweep and a worker process: one request in, messages out, each a line of JSON.

Pure values: the sweep must not import torch to send a job.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from bench.plans.models import ModelSpec, find
from bench.plans.profiles import Sampling
from bench.records.record import Cell, Environment, Measurement, Status, Task
from bench.records.walkthrough import Walkthrough

Weights = Literal["random", "pretrained"]


MEMORY_WORDS = (
    *("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory", "bad_alloc"),
    *("_alloc_failed", "_allocation_failed"),  # cuBLAS and cuDNN
)


def is_out_of_memory(text: str) -> bool:
    """Whether these words of an error say that memory ran out."""
    return "MemoryError" in text or any(words in text.lower() for words in MEMORY_WORDS)


class _Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    pass


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """What to make: `model` is a label of the table; without it, `checkpoint` (a hub id or a directory) says it all."""

    task: Task
    model: str | None = None
    checkpoint: str | None = None
    shrunken: bool = False
    weights: Weights = "random"

    @property
    def spec(self) -> ModelSpec | None:
        """The row of the model table, shrunken where asked for."""
        spec = find(self.model) if self.model else None
        return spec.shrink() if spec and self.shrunken else spec

    @property
    def source(self) -> str:
        """The hub id or directory that its weights would come from."""
        spec = self.spec
        return spec.checkpoint if spec else str(self.checkpoint)

    @property
    def needs_hub(self) -> bool:
        """Whether building it may read the hub or its cache."""
        return self.model is None or self.weights == "pretrained"


class Preflight(_Message, frozen=True):
    """Request: choose a device and describe the machine; see that nobody else computes on it, and that the checkpoints
    to be measured can be read."""

    device: str | None = None
    recipes: tuple[Recipe, ...] = ()
    allow_busy: bool = False
    keep_memory: bool = True


class Job(_Message, frozen=True):
    """Request: measure one cell in this process. `warm` says that the compile cache was filled by an earlier one, and
    with it all was told that is the same in every process; `allow_busy` that others may compute on the device."""

    cell: Cell
    recipe: Recipe
    sampling: Sampling
    warm: bool = False
    allow_busy: bool = False


class TakeWalkthrough(_Message, frozen=True):
    """Request: see what TorchDynamo does with a function and with training."""


class Machine(_Message, frozen=True):
    """Answer to a `Preflight`."""

    device: str
    environment: Environment


class Phase(_Message, frozen=True):
    """What the worker is doing, with how far it is where that is known."""

    name: str
    done: int = 0
    of: int = 0


class Outcome(_Message, frozen=True):
    """Answer to a `Job`: how the cell ended, and what was measured."""

    status: Status
    reason: str | None = None
    measurement: Measurement | None = None
    input_size: tuple[int, int] | None = None


class WalkthroughTaken(_Message, frozen=True):
    """Answer to `TakeWalkthrough`."""

    walkthrough: Walkthrough


class Refusal(_Message, frozen=True):
    """Answer in place of another: an `AtlasError` to be raised by whoever asked."""

    what: str
    where: str = ""
    remedy: str = ""


Request = Preflight | Job | TakeWalkthrough
Answer = Machine | Outcome | WalkthroughTaken | Refusal
Message = Phase | Answer
Send = Callable[[Message], None]
"""How a worker sends a message."""
