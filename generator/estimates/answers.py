"""The estimates for models that nobody has compared on a device, for the advisor.

Takes `Results`; returns `Answer`s, by device. `bench.estimates.estimator` makes them from the rows of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from bench.estimates import comparisons
from bench.estimates.estimator import SpeedupEstimate, estimate
from bench.records.record import TOY
from generator.data.load import Results
from generator.data.names import short_name


@dataclass(frozen=True)
class Relative:
    """A record that an estimate rests on."""

    device: str  # slug
    model: str  # slug
    input_size: str
    speedup: float


@dataclass(frozen=True)
class Answer:
    """The estimate of a model and image size on a device."""

    device: str  # slug
    model: str  # slug
    input_size: str
    estimate: SpeedupEstimate
    relatives: tuple[Relative, ...]


@lru_cache(maxsize=2)
def answers(results: Results) -> Mapping[str, Sequence[Answer]]:
    """Return the answers by the slug of the device; none without an `Estimates` document."""
    if results.estimates is None:
        return {}
    rows, known = _throughput(results), compared(results)
    if known.empty:
        return {}
    slugs = dict(zip(rows["full_name"], rows["device"], strict=True))
    models = dict(zip(rows["checkpoint"], rows["model"], strict=True))
    sizes = dict(zip(rows["height"], rows["input_size"], strict=True))
    keys = known[["device", "checkpoint", "height"]].itertuples(index=False, name=None)
    speedups = dict(zip(keys, known["speedup"].tolist(), strict=True))
    found: dict[str, list[Answer]] = {}
    for each in estimate(results.estimates, known):
        rests_on = tuple(
            Relative(slugs[device], models[checkpoint], sizes[height], speedups[device, checkpoint, height])
            for device, checkpoint, height in each.relatives
        )
        answer = Answer(slugs[each.device], models[each.checkpoint], sizes[each.height], each, rests_on)
        found.setdefault(answer.device, []).append(answer)
    return found


@lru_cache(maxsize=2)
def compared(results: Results) -> pd.DataFrame:
    """Return the newest rows of the devices that have estimates, with the columns of `comparisons`."""
    rows = _throughput(results)
    images = rows["batch_size"].to_numpy(float)
    made = pd.DataFrame(
        {
            "device": rows["full_name"],
            **{name: rows[name] for name in ("torch", "dtype", "compile_mode", "checkpoint")},
            "family": rows["family"],
            "height": rows["height"],
            "batch_size": rows["batch_size"].astype("int64"),
            "operations": _operations(results, zip(rows["checkpoint"], rows["height"], strict=True)),
            **{name: rows[name].to_numpy(float) / images for name in comparisons.PER_IMAGE},
            "parameters": rows["parameters"],
            "speedup": rows["speedup"].astype("float64"),
        }
    )
    return comparisons.newest(made.astype(comparisons.COLUMNS))


def _throughput(results: Results) -> pd.DataFrame:
    """Return the rows of the table, with the full name of the device and the height of the image."""
    assert results.estimates is not None
    full_names = {short_name(name): name for name in results.estimates.devices}
    table = results.table
    chosen = (table["workload"] == "throughput") & table["newest"] & table["processor"].isin(full_names)
    rows = table[chosen & ~table["flags"].str.contains(TOY)]
    heights = [int(size.partition("×")[0] or 0) for size in rows["input_size"].tolist()]
    return rows.assign(height=heights, full_name=rows["processor"].map(full_names))


def _operations(results: Results, sources: Iterable[tuple[str, int]]) -> np.ndarray:
    """Return the operations of each model; images are square in benchmarks of throughput."""
    every = [results.operations.get((checkpoint, (height, height))) for checkpoint, height in sources]
    found = np.empty(len(every), object)
    found[:] = every
    return found
