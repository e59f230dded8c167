"""Estimate speedups that nobody has measured, from the nearest relatives that somebody has.

`estimate` takes comparisons of throughput, one row for each device, model and image size, and returns `Estimates`: for
each model that has no speedup on a device, and for each family. There are three ways, the best first:

1. `other_size`: the same model on the same device, at the nearest other image size;
2. `other_device`: the same model on the other devices, corrected by the usual difference between the two devices;
3. `family`: the median of the other models of the family on the device.

Each way is tried on every row that has a speedup, which it does not see. Its errors there give the intervals (split
conformal prediction): they hold the stated share of new models, as long as these are like those of the records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from packaging.version import Version

Way = Literal["other_size", "other_device", "family"]

ENOUGH = 200
"""Comparisons of a device from which it has estimates. Fewer say too little."""

CASE = ["device", "model", "input_size"]

_NAMED = [*CASE, "family", "height"]
"""Columns that name a row, and the height of its images in pixels."""


@dataclass(frozen=True)
class EstimateAccuracy:
    """The errors of one way on rows that it has not seen. An error is a share of the measured speedup."""

    count: int
    median_error: float
    p90_error: float
    reach_50: float  # half of the interval that holds 5 of 10 speedups, in natural logarithms
    reach_90: float  # and of the one that holds 9 of 10


@dataclass(frozen=True, eq=False)
class Estimates:
    """All estimates for the devices with `ENOUGH` comparisons."""

    devices: tuple[str, ...]
    accuracy: Mapping[Way, EstimateAccuracy]  # of the ways that could be tried
    models: pd.DataFrame  # `CASE`, family, way, speedup, and relatives: the device, image size and speedup of each
    families: pd.DataFrame  # device, family and speedup, of two models or more


def estimate(rows: pd.DataFrame) -> Estimates:
    """Estimate each speedup that is missing in `rows`, or whose row is missing on one of the devices."""
    rows = comparable(rows)
    known = rows.dropna(subset="speedup")
    accuracy = {
        way: EstimateAccuracy(
            count=len(errors),
            median_error=float(np.expm1(errors).abs().median()),
            p90_error=float(np.expm1(errors).abs().quantile(0.9)),
            reach_50=reach(errors, 0.5),
            reach_90=reach(errors, 0.9),
        )
        for way, errors in left_out_errors(known).items()
        if len(errors)
    }
    models = rows.drop_duplicates(["model", "input_size"]).drop(columns=["device", "speedup", "log"])
    asked = models.merge(known[["device"]].drop_duplicates(), how="cross")
    asked = asked[~pd.MultiIndex.from_frame(asked[CASE]).isin(pd.MultiIndex.from_frame(known[CASE]))]
    found = [pd.DataFrame(columns=[*asked, "way", "speedup", "relatives"])]
    for way in accuracy:
        pairs = _RELATIVES[way](asked, known)
        named = pd.Series(pairs[["device", "input_size", "speedup"]].to_numpy().tolist(), pairs.index, dtype=object)
        by_asked = pairs["asked"]
        speedup, relatives = np.exp(pairs["log"].groupby(by_asked).median()), named.groupby(by_asked).agg(list)
        found.append(asked.assign(way=way, speedup=speedup, relatives=relatives).dropna(subset="speedup"))
        asked = asked.drop(found[-1].index)
    by_family = known.groupby(["device", "family"], as_index=False)
    families = by_family.agg(speedup=("speedup", "median"), models=("model", "nunique"))
    return Estimates(
        devices=tuple(known["device"].unique()),
        accuracy=accuracy,
        models=pd.concat(found)[[*CASE, "family", "way", "speedup", "relatives"]],
        families=families[families["models"] > 1].drop(columns="models"),
    )


def comparable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each case, of the devices with `ENOUGH` comparisons: of the newest PyTorch of the device, in
    the data type and mode that most of its rows have. Its log is the natural logarithm of the speedup."""
    newest = {device: max(group.unique(), key=Version) for device, group in rows.groupby("device")["torch"]}
    rows = rows[rows["torch"] == rows["device"].map(newest)]
    setting = rows["dtype"] + ", " + rows["compile_mode"]
    compared = setting[rows["speedup"].notna()]
    usual = {device: group.mode()[0] for device, group in compared.groupby(rows["device"])}
    rows = rows[setting == rows["device"].map(usual)].drop_duplicates(CASE)
    rows = rows[rows.groupby("device")["speedup"].transform("count") >= ENOUGH]
    heights = pd.to_numeric(rows["input_size"].str.extract(r"^(\d+)", expand=False), errors="coerce")
    rows = rows.assign(height=heights, log=np.log(rows["speedup"]))
    return rows[[*_NAMED, "speedup", "log"]].reset_index(drop=True)


# ── The ways ────────────────────────────────────────────────────────────────────────────────────────────────────────

# Each takes rows without a speedup, and those with one. It returns a row for each relative of each of the former, with
# the label `asked` of that row and the logarithm of the speedup that it suggests there.


def _other_size(asked: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    pairs = _pairs(asked, known, ["device", "model"])
    return _nearest(pairs[pairs["input_size"] != pairs["input_size_asked"]], ["asked"])


def _other_device(asked: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    pairs = _pairs(asked, known, ["model"])
    pairs = _nearest(pairs[pairs["device"] != pairs["device_asked"]], ["asked", "device"])
    logs = known.pivot_table(index=["model", "input_size"], columns="device", values="log")
    differences = {(one, other): (logs[one] - logs[other]).median() for one in logs for other in logs}
    devices = zip(pairs["device_asked"], pairs["device"], strict=True)
    return pairs.assign(log=pairs["log"] + [differences[pair] for pair in devices]).dropna(subset="log")


def _family(asked: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    pairs = _pairs(asked, known, ["device", "family"])
    return pairs[pairs["model"] != pairs["model_asked"]]


_RELATIVES: Mapping[Way, Callable[[pd.DataFrame, pd.DataFrame], pd.DataFrame]] = {
    "other_size": _other_size,
    "other_device": _other_device,
    "family": _family,
}


def _pairs(asked: pd.DataFrame, known: pd.DataFrame, shared: list[str]) -> pd.DataFrame:
    """Return each asked row with each known one that has the same values in the `shared` columns."""
    labeled = asked[_NAMED].rename_axis("asked").reset_index()
    return labeled.merge(known, on=shared, suffixes=("_asked", ""))


def _nearest(pairs: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return the pair of each group whose image sizes differ least."""
    distance = np.abs(np.log(pairs["height"] / pairs["height_asked"]))
    order = pairs.assign(distance=distance).sort_values(["distance", "height"], kind="stable")
    return order.drop_duplicates(by).sort_index()


# ── Their accuracy ──────────────────────────────────────────────────────────────────────────────────────────────────


def left_out_errors(known: pd.DataFrame) -> Mapping[Way, pd.Series]:
    """Return the errors of each way as log(estimated ÷ measured speedup), for the rows that it can estimate."""
    estimated = {way: relatives(known, known).groupby("asked")["log"].median() for way, relatives in _RELATIVES.items()}
    return {way: logs.sub(known["log"]).dropna() for way, logs in estimated.items()}


def reach(errors: pd.Series, share: float) -> float:
    """Return the half width of an interval that holds a `share` of new rows whose errors are like these."""
    rank = min(math.ceil((len(errors) + 1) * share), len(errors))
    return float(errors.abs().sort_values().iloc[rank - 1])
