"""Proofs: whether what the harness says about a device is true there, check by check.

One JSON document in ``results/proofs`` holds what `bench.harness.proof` found on one device. The methodology page shows
the newest for each device.

    python -m bench prove
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from bench.records import document
from bench.records.record import RESULTS, Environment, Moment, Name, Slug, Text
from bench.records.run_file import file_slug

SCHEMA = 1
"""Version of the file format."""

PROOFS = RESULTS / "proofs"
"""The folder of committed documents."""

COMMAND = "python -m bench prove"

CheckName = Literal[
    "eager_against_eager",
    "clocks",
    "alone",
    "device_time",
    "energy",
    "replays",
    "compiled_ahead",
    "throttling",
    "out_of_memory",
]
"""What is checked, in this order. `bench.harness.checks` says how, and why it matters."""

Ratio = Annotated[float, msgspec.Meta(ge=1e-9, le=1e9)]
Quantity = Annotated[float, msgspec.Meta(ge=-1e12, le=1e12)]
"""A figure in any unit. A difference may be negative."""

Finding = Literal["passed", "failed", "not_applicable", "unknown"]
"""Unknown: the check ran, and could not tell. Not applicable: it cannot be made on this device."""

Reason = Literal[
    "figures_apart",
    "same_module_differs",
    "machine_too_unsteady",
    "clocks_apart",
    "host_too_slow",
    "no_cuda",
    "device_not_held",
    "no_kernel_seen",
    "above_latency",
    "other_replays",
    "no_counter",
    "counter_stands_still",
    "not_permitted",
    "limit_not_restored",
    "load_too_light",
    "cap_not_seen",
    "memory_not_scarce",
    "not_reported",
    "nothing_measured_after",
    "process_ended",
    "exception",
]
"""Why a check has not passed. Pages have a message for each."""

FIGURES_OF: Mapping[Reason, tuple[str, ...]] = {
    "clocks_apart": ("events_apart_share",),
    "other_replays": ("default_replays", "reduce_overhead_replays"),
    "load_too_light": ("highest_w", "limit_w"),
    "cap_not_seen": ("capped_share",),
}
"""The figures of a check that belong to its reason."""


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The result of one check, of one variant if it is made for both.

    `ratio` is that of two figures that must agree, with its interval if there is one. It may differ from 1 by `bound`.
    """

    name: CheckName
    finding: Finding
    variant: Literal["eager", "compiled"] | None = None
    ratio: Ratio | None = None
    low: Ratio | None = None
    high: Ratio | None = None
    bound: Ratio | None = None
    figures: dict[Slug, Quantity] = {}  # units are part of the names
    reason: Reason | None = None  # for all but passed
    told: Text | None = None  # by whatever the reason is about, in its own words, which no page shows

    def __post_init__(self) -> None:
        """Raise `ValueError` if the fields do not go together."""
        if self.finding != "passed" and not self.reason:
            raise ValueError(f"{self.name} has no reason, although it is {self.finding}")
        if lacking := [name for name in FIGURES_OF.get(self.reason or "exception", ()) if name not in self.figures]:
            raise ValueError(f"{self.name} has the reason {self.reason} without its figures: {', '.join(lacking)}")
        if self.reason in ("figures_apart", "machine_too_unsteady") and self.bound is None:
            raise ValueError(f"{self.name} has the reason {self.reason} without a bound")
        if self.ratio is not None and not (self.low or self.ratio) <= self.ratio <= (self.high or self.ratio):
            raise ValueError(f"the interval of {self.name} does not hold its ratio")


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All checks of one run, and their machine."""

    schema: int
    taken_at: Moment  # UTC
    environment: Environment
    command: Text
    device: Name  # torch device type
    model: Name  # with which the checks were made
    checks: tuple[Check, ...]

    def __post_init__(self) -> None:
        """Raise `ValueError` for a check that is missing or there twice."""
        keys = [(check.name, check.variant) for check in self.checks]
        if not keys or len(set(keys)) < len(keys):
            raise ValueError("it has no check, or one twice")

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.finding == "failed")


def write(proof: Proof, folder: Path = PROOFS) -> Path:
    """Write the document, named by its day, device and commit. Replaces an earlier one of that name."""
    device, commit = file_slug(proof.environment.device_name), proof.environment.commit or "unknown"
    return document.write(proof, folder / f"{proof.taken_at.astimezone(UTC):%Y-%m-%d}_{device}_{commit}.json")


def read(path: Path) -> Proof:
    """Read a document. Raises `AtlasError` if the file is invalid or has another schema."""
    return document.read(path, Proof, SCHEMA, COMMAND)


def newest_of_each_device(results: Path = RESULTS) -> tuple[Proof, ...]:
    """Return the newest document of each device below the folder `results`, accelerators first, by name."""
    found = document.read_all(results / PROOFS.name, read)
    newest = {proof.environment.device_name: proof for proof in sorted(found, key=lambda proof: proof.taken_at)}
    return tuple(newest[name] for name in sorted(newest, key=lambda name: (newest[name].device == "cpu", name)))
