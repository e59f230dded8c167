"""Estimate the speedup of models that nobody has compared on a device.

`estimate` takes the newest `Estimates` and the rows of `bench.estimates.comparisons`; returns a `SpeedupEstimate` for
every model and image size without a speedup on a device of the document, from the best evidence there is.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.estimates import features, relatives
from bench.estimates.relatives import Said
from bench.estimates.trees import evaluated
from bench.records.estimates import EstimateAccuracy, Estimates, Evidence


@dataclass(frozen=True)
class SpeedupEstimate:
    """An estimate of one speedup. Its intervals lie evenly around it on a logarithmic scale."""

    device: str  # its full name
    checkpoint: str
    height: int  # of the image
    speedup: float
    evidence: Evidence
    accuracy: EstimateAccuracy  # of estimates from this evidence, with as much known of the model
    relatives: tuple[tuple[str, str, int], ...]  # device, checkpoint and height of the rows that it rests on


def estimate(document: Estimates, rows: pd.DataFrame) -> Iterator[SpeedupEstimate]:
    """Yield the estimates for the `comparisons.newest` rows, in their order; last, models that a device has not."""
    devices = tuple(document.devices)
    known = _completed(rows[rows["device"].isin(devices)], devices)
    asked = known[known["speedup"].isna()]
    described = features.of(asked, devices)
    learned = evaluated(document.trees, described)
    counted, timed = (described[name].notna().tolist() for name in (features.OPERATIONS[0], features.EAGER[0]))
    by_size, by_device = relatives.other_size(known), relatives.other_device(known)
    members = relatives.family(known, asked)
    tried = {each.scheme for each in document.accuracy}
    names = list(known[["device", "checkpoint", "height"]].itertuples(index=False, name=None))
    for at, (label, row) in enumerate(zip(asked.index.tolist(), asked.to_dict("records"), strict=True)):
        trees = Said(float(learned[at]), members[at])
        last: Evidence = "family" if row["family"] in document.families else "features"
        evidence, said = _best(tried, by_size[label], by_device[label]) or (last, trees)
        if said is trees and not row["flop"] > 0:
            continue  # nothing is known of it
        case = {"operations": counted[at], "eager": timed[at]} if said is trees else {}
        device, checkpoint, height = names[label]
        yield SpeedupEstimate(
            device,
            checkpoint,
            height,
            math.exp(said.log_speedup),
            evidence,
            document.of(evidence, **case),
            tuple(names[each] for each in said.labels),
        )


def _best(tried: Collection[str], by_size: Said, by_device: Said) -> tuple[Evidence, Said] | None:
    """Return what the model's own records say, if such evidence has been tried."""
    own: tuple[tuple[Evidence, Said], ...] = (("other_size", by_size), ("other_device", by_device))
    return next((each for each in own if each[0] in tried and not math.isnan(each[1].log_speedup)), None)


def _completed(rows: pd.DataFrame, devices: Sequence[str]) -> pd.DataFrame:
    """Return the rows, and one for each model and image size that a device has not: its work is known all the same."""
    key = ["checkpoint", "height"]
    models = rows.drop_duplicates(key).assign(batch_size=0, eager_ms=np.nan, speedup=np.nan)
    absent = [
        models.assign(device=device)[~_is_among(models, rows[rows["device"] == device], key)] for device in devices
    ]
    return pd.concat([rows, *absent], ignore_index=True)


def _is_among(rows: pd.DataFrame, others: pd.DataFrame, key: list[str]) -> np.ndarray:
    found: np.ndarray = pd.MultiIndex.from_frame(rows[key]).isin(pd.MultiIndex.from_frame(others[key]))
    return found
