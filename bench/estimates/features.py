"""What determines a model's gain, as numbers: its work, the kinds of its operations, its eager latency, the device.

`of` takes rows with the columns of `bench.estimates.comparisons` and returns a DataFrame with the columns `names`.
Unknown is NaN. docs/assets/javascripts/estimate.js computes the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import pandas as pd

from bench.records.operations import ARITHMETIC, KINDS, Operations

WORK = ("intensity", "flop", "activations", "parameters")
"""Known of most models: FLOP per activation, and the logarithms of FLOP, activations and parameters of an image."""

OPERATIONS = (
    *("flop_per_byte", "fusible_per_flop", "fusible_share", "operations", "fusible_operations"),
    *(f"{kind}_share" for kind in KINDS),  # of the bytes
    *(f"{kind}_flop_share" for kind in ARITHMETIC),
)
"""Known where operations were counted."""

EAGER = ("eager_ms", "flop_per_ms", "bytes_per_ms")
"""Known where eager was measured on the device; per image."""

DEVICE = "device: "
"""Begins the names of features that are 1 on one device and 0 on the others."""


def names(devices: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all features."""
    return (*WORK, *OPERATIONS, *EAGER, *(f"{DEVICE}{each}" for each in devices))


def of(rows: pd.DataFrame, devices: Sequence[str]) -> pd.DataFrame:
    """Return the features of each row."""
    columns = [
        *(_log(rows[name]) for name in ("flop", "activations", "parameters")),
        _log(rows["eager_ms"]),
    ]
    flop, activations, parameters, eager_ms = columns
    counted = np.array([_counted(each) for each in rows["operations"]], float).reshape(len(rows), len(OPERATIONS) + 1)
    log_bytes = counted[:, -1]
    known = {
        **dict(zip(WORK, (flop - activations, flop, activations, parameters), strict=True)),
        **dict(zip(OPERATIONS, counted[:, :-1].T, strict=True)),
        **dict(zip(EAGER, (eager_ms, flop - eager_ms, log_bytes - eager_ms), strict=True)),
        **{f"{DEVICE}{each}": (rows["device"] == each).to_numpy(float) for each in devices},
    }
    return pd.DataFrame(known, rows.index)


def without(features: pd.DataFrame, *, operations: bool, eager: bool) -> pd.DataFrame:
    """Return the features without what nobody has counted or measured."""
    unknown = [*([] if operations else (*OPERATIONS, "bytes_per_ms")), *([] if eager else EAGER)]
    return features.assign(**dict.fromkeys(unknown, math.nan))


def _log(values: pd.Series) -> np.ndarray:
    positive = values.where(values > 0).to_numpy(float)
    logarithms: np.ndarray = np.log(positive)
    return logarithms


def _counted(operations: Operations | None) -> list[float]:
    """Return `OPERATIONS`, and the logarithm of the bytes."""
    if operations is None or not operations.flop:
        return [math.nan] * (len(OPERATIONS) + 1)
    flop, moved, fusible = operations.flop, operations.bytes, operations.fusible
    return [
        math.log(flop / moved),
        math.log((fusible.bytes + 1) / flop),
        fusible.bytes / moved,
        math.log(operations.count),
        math.log(fusible.count + 1),
        *(operations.of(kind).bytes / moved for kind in KINDS),
        *(operations.of(kind).flop / flop for kind in ARITHMETIC),
        math.log(moved),
    ]


def described(operations: Operations) -> str:
    """Return the line that a reader pastes into the guide: JSON of the counts, of one image."""
    line = {"flop": operations.flop, "activations": operations.activations, "parameters": operations.parameters}
    return msgspec.json.encode({**line, "operations": operations.tallies}).decode()
