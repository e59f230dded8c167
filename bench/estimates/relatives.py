"""The speedup of a model, taken from its nearest relatives: the same model at a different image size or on a different
device.

Each function takes rows with the columns of `bench.estimates.comparisons`, and returns for each row what the other rows
say, never its own speedup. So the same function estimates what nobody has measured, and can be validated on what
somebody has.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

MOST_SHOWN = 3
"""Relatives of an estimate from the family that are named."""


class Said(NamedTuple):
    """What relatives say of a row: the natural logarithm of the speedup, and the labels of the rows it rests on."""

    log_speedup: float
    labels: tuple[int, ...]


NOTHING = Said(math.nan, ())


def other_size(rows: pd.DataFrame) -> list[Said]:
    """Return the speedup of the same model on the same device at the nearest other image size."""
    known = _by(rows, "device", "checkpoint")
    return [
        _nearest(known.get((device, checkpoint), {}), height, is_other=True) or NOTHING
        for device, checkpoint, height in zip(rows["device"], rows["checkpoint"], rows["height"], strict=True)
    ]


def other_device(rows: pd.DataFrame, *, without_rows_of_it: bool = False) -> list[Said]:
    """Return the mean of the speedups of the same model on other devices, at the same image size or the nearest.

    From each, what it usually differs by from the device is taken away, unless the device has no rows of its own.
    """
    known, devices = _by(rows, "device", "checkpoint"), rows["device"].unique().tolist()
    differences = {} if without_rows_of_it else _differences(rows)
    found = []
    for device, checkpoint, height in zip(rows["device"], rows["checkpoint"], rows["height"], strict=True):
        said = [
            Said(one.log_speedup + differences.get((device, other), 0.0), one.labels)
            for other in devices
            if other != device and (one := _nearest(known.get((other, checkpoint), {}), height))
        ]
        labels = tuple(label for one in said for label in one.labels)
        found.append(Said(float(np.mean([one.log_speedup for one in said])), labels) if said else NOTHING)
    return found


def family(rows: pd.DataFrame, asked: pd.DataFrame) -> list[tuple[int, ...]]:
    """Return for each row that is `asked` the labels of the other models of its family on its device whose FLOP are
    nearest, the nearest first."""
    members: defaultdict[tuple[str, str], list[tuple[str, float, int]]] = defaultdict(list)
    columns = ["device", "family", "checkpoint", "flop"]
    for label, device, name, checkpoint, flop in rows.loc[rows["speedup"].notna(), columns].itertuples():
        members[device, name].append((checkpoint, flop, label))
    found = []
    for device, name, checkpoint, flop in asked[columns].itertuples(index=False):
        others = [(_distance(its, flop), label) for other, its, label in members[device, name] if other != checkpoint]
        found.append(tuple(label for _, label in sorted(others)[:MOST_SHOWN]))
    return found


def _distance(one: float, other: float) -> float:
    return abs(math.log(one / other)) if one > 0 and other > 0 else math.inf


def family_median(rows: pd.DataFrame) -> list[float]:
    """Return the median of the other rows of the family on the device: the naive way."""
    found = pd.Series(math.nan, rows.index)
    for _, group in np.log(rows["speedup"]).groupby([rows["device"], rows["family"]]):
        for label in group.index if len(group) > 1 else ():
            found[label] = np.median(group[group.index != label])
    return found.tolist()


def _by(rows: pd.DataFrame, *columns: str) -> Mapping[tuple[str, ...], dict[int, Said]]:
    """Return the speedups by image height, by the values of some columns."""
    found: defaultdict[tuple[str, ...], dict[int, Said]] = defaultdict(dict)
    compared = rows[rows["speedup"].notna()]
    keys = zip(*(compared[name] for name in columns), strict=True)
    for key, label, height, speedup in zip(keys, compared.index, compared["height"], compared["speedup"], strict=True):
        found[key][int(height)] = Said(math.log(speedup), (int(label),))
    return found


def _nearest(known: Mapping[int, Said], height: int, *, is_other: bool = False) -> Said | None:
    heights = [each for each in known if not (is_other and each == height)]
    return known[min(heights, key=lambda each: (_distance(each, height), each))] if heights else None


def _differences(rows: pd.DataFrame) -> Mapping[tuple[str, str], float]:
    """Return the median difference of each pair of devices over the models that both have."""
    compared = rows[rows["speedup"].notna()]
    wide = compared.pivot_table(index=["checkpoint", "height"], columns="device", values="speedup").map(math.log)
    return {(one, other): float((wide[one] - wide[other]).median()) for one, other in _pairs(wide.columns.tolist())}


def _pairs(devices: list[str]) -> Iterator[tuple[str, str]]:
    return ((one, other) for one in devices for other in devices if one != other)
