"""Fit the estimates to the records, and try them on rows that they have not seen. Needs scikit-learn.

`fit` returns the `Estimates` document. Gradient-boosted trees learn the logarithm of the speedup from the features.
Each way to estimate is tried on rows whose family, model or device is left out, and the errors give its intervals:
conformal prediction, so they have the stated coverage as long as new models are like those of the atlas.

    python -m bench estimate
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.errors import AtlasError, counted
from bench.estimates import comparisons, features, relatives
from bench.estimates.relatives import Said
from bench.estimates.trees import exported
from bench.machine import commit
from bench.records.estimates import SCHEMA, EstimateAccuracy, Estimates, Scheme, Share
from bench.records.record import RESULTS

ENOUGH = 200
"""Comparisons of a device from which it has estimates. Fewer say too little."""

FOLDS = 10

TREES: dict[str, Any] = {
    "loss": "absolute_error",  # a few speedups are beyond belief
    "max_iter": 300,
    "max_leaf_nodes": 8,
    "learning_rate": 0.1,
    "min_samples_leaf": 20,
    "max_features": 0.4,
    "random_state": 0,
}
"""Settings of the trees. More leaves are hardly better, and take more than the 50 KB that a browser should load."""

CASES = ((True, True), (True, False), (False, True), (False, False))
"""Whether the operations are counted, and whether the eager latency is known. The trees learn all four at once."""

BIG = 5
"""Models of a family from which its coverage is listed."""

SHARES = 0.5, 0.9
"""What the two intervals of an estimate promise to hold."""


def fit(command: str, results: Path = RESULTS, tell: Callable[[str], object] = print) -> Estimates:
    """Return the document for the records below a folder. Raises `AtlasError` where there are too few."""
    every = comparisons.read(results)
    rows = usable(comparisons.newest(every))
    compared = rows[rows["speedup"].notna()].reset_index(drop=True)
    if compared.empty:
        raise AtlasError(f"no device has {ENOUGH} comparisons of throughput", where=str(results), remedy="import some")
    devices = tuple(sorted(compared["device"].unique()))
    models = compared["checkpoint"].nunique()
    found = counted(len(compared), "comparison"), counted(models, "model"), counted(len(devices), "device")
    tell("{} of {} on {}".format(*found))
    first, known = compared.iloc[0], features.of(compared, devices)
    return Estimates(
        schema=SCHEMA,
        taken_at=datetime.now(UTC).replace(microsecond=0),
        command=command,
        commit=commit(),
        versions=_versions(),
        devices={name: str(compared.loc[compared["device"] == name, "torch"].iloc[0]) for name in devices},
        dtype=str(first["dtype"]),
        compile_mode=str(first["compile_mode"]),
        comparisons=len(compared),
        models=int(models),
        families=tuple(sorted(compared["family"].unique())),
        trees=exported(_fitted(known, compared["speedup"]), features.names(devices)),
        accuracy=(
            *_of_relatives(compared),
            *_of_trees(compared, known, tell),
            *_of_versions(every),
            *_naive(compared),
        ),
    )


def usable(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of devices with `ENOUGH` comparisons."""
    counts = rows.groupby("device")["speedup"].transform("count")
    return rows[counts >= ENOUGH].reset_index(drop=True)


def _versions() -> dict[str, str]:
    import sklearn  # noqa: PLC0415 - an extra

    return {"scikit-learn": sklearn.__version__, "numpy": np.__version__, "pandas": pd.__version__}


# ── Trees ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _fitted(known: pd.DataFrame, speedups: pd.Series) -> Any:
    """Return a model that has learned the speedups from the features, in all `CASES`."""
    try:
        from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - an extra
    except ImportError:
        raise AtlasError("scikit-learn is not installed", remedy='pip install -e ".[estimate]"') from None

    cases = [features.without(known, operations=operations, eager=eager) for operations, eager in CASES]
    targets = np.tile(np.log(speedups.to_numpy(float)), len(CASES))
    return HistGradientBoostingRegressor(**TREES).fit(pd.concat(cases).to_numpy(float), targets)


def _of_trees(rows: pd.DataFrame, known: pd.DataFrame, tell: Callable[[str], object]) -> Iterator[EstimateAccuracy]:
    """Leave out models, and then whole families."""
    left_out: dict[Scheme, str] = {"family": "checkpoint", "features": "family"}
    for scheme, column in left_out.items():
        tell(f"trying the trees without each {'model' if column == 'checkpoint' else column} …")
        predicted = _predicted(known, rows["speedup"], rows[column])
        for (operations, eager), values in predicted.items():
            case = {"operations": operations, "eager": eager}
            yield from _accuracies(scheme, rows, values, rows[column], **case)


def _predicted(known: pd.DataFrame, speedups: pd.Series, groups: pd.Series) -> dict[tuple[bool, bool], np.ndarray]:
    """Return for each case what trees say of rows whose groups were left out when they learned."""
    from sklearn.model_selection import GroupKFold  # noqa: PLC0415 - an extra

    found = {case: np.full(len(known), np.nan) for case in CASES}
    for learned, tried in GroupKFold(FOLDS, shuffle=True, random_state=0).split(known, groups=groups):
        model = _fitted(known.iloc[learned], speedups.iloc[learned])
        for operations, eager in CASES:
            case = features.without(known.iloc[tried], operations=operations, eager=eager)
            found[operations, eager][tried] = model.predict(case.to_numpy(float))
    return found


# ── Relatives and naive ways ────────────────────────────────────────────────────────────────────────────────────────


def _of_relatives(rows: pd.DataFrame) -> Iterator[EstimateAccuracy]:
    ways: dict[Scheme, list[Said]] = {
        "other_size": relatives.other_size(rows),
        "other_device": relatives.other_device(rows),
        "device_left_out": relatives.other_device(rows, without_rows_of_it=True),
    }
    for scheme, said in ways.items():
        groups = rows["device"] if scheme == "device_left_out" else rows["checkpoint"]
        yield from _accuracies(scheme, rows, np.array([one.log_speedup for one in said]), groups)


def _of_versions(every: pd.DataFrame) -> Iterator[EstimateAccuracy]:
    """Estimate each row by the same row with an older PyTorch."""
    key = ["device", "checkpoint", "height", "dtype", "compile_mode"]
    compared = every[every["speedup"].notna()]
    newest = comparisons.newest(compared)
    older = compared.drop(newest.index).drop_duplicates(key, keep="last")[[*key, "speedup"]]
    pairs = newest.merge(older, on=key, suffixes=("", "_before"))
    if len(pairs):
        before = np.log(pairs["speedup_before"].to_numpy(float))
        yield from _accuracies("next_version", pairs, before, pairs["checkpoint"])


def _naive(rows: pd.DataFrame) -> Iterator[EstimateAccuracy]:
    logarithms = np.log(rows["speedup"])
    by_device = logarithms.groupby(rows["device"]).transform("median").to_numpy(float)
    ways: dict[Scheme, np.ndarray] = {"median": by_device, "family_median": np.array(relatives.family_median(rows))}
    for scheme, values in ways.items():
        errors = _errors(rows, values)
        known = ~np.isnan(errors)
        yield EstimateAccuracy(scheme=scheme, **_sizes(rows[known], errors[known]))


# ── Accuracy ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _accuracies(
    scheme: Scheme, rows: pd.DataFrame, values: np.ndarray, groups: pd.Series, **case: bool
) -> Iterator[EstimateAccuracy]:
    """Yield the accuracy over all rows that have an estimate; of each device, and of each big family.

    Whether an interval holds a row is asked of one that the errors of other `groups` have made.
    """
    known = ~np.isnan(values)
    if not known.any():
        return
    rows, values, groups = rows[known], values[known], groups[known]
    errors, residuals = _errors(rows, values), np.abs(np.log(rows["speedup"].to_numpy(float)) - values)
    held = {share: residuals <= _reach_without(residuals, groups.to_numpy(), share) for share in SHARES}
    reaches = [conformal(residuals, share) for share in SHARES]

    def accuracy(among: np.ndarray, share: Share | None = None, name: str = "") -> EstimateAccuracy:
        half, most = (float(held[each][among].mean()) for each in SHARES)
        return EstimateAccuracy(
            scheme=scheme,
            **case,
            share=share,
            name=name,
            **_sizes(rows[among], errors[among]),
            reach_50=None if share else _rounded(reaches[0]),
            reach_90=None if share else _rounded(reaches[1]),
            coverage_50=_rounded(half),
            coverage_90=_rounded(most),
        )

    yield accuracy(np.ones(len(rows), bool))
    if not all(case.values()):
        return
    for device in sorted(rows["device"].unique()):
        yield accuracy((rows["device"] == device).to_numpy(), "device", device)
    if scheme == "features":
        sizes = rows.groupby("family")["checkpoint"].nunique()
        for family in sorted(sizes.index[sizes >= BIG]):
            yield accuracy((rows["family"] == family).to_numpy(), "family", family)


def conformal(residuals: np.ndarray, share: float) -> float:
    """Return the reach of an interval that holds a `share` of new rows, if they are like those of the `residuals`:
    infinity without any."""
    if not len(residuals):
        return math.inf
    rank = min(math.ceil((len(residuals) + 1) * share), len(residuals))
    return float(np.sort(residuals)[rank - 1])


def _reach_without(residuals: np.ndarray, groups: np.ndarray, share: float) -> np.ndarray:
    """Return for each row the reach that the rows of other groups make."""
    numbers, order = pd.factorize(groups)
    by_group = [conformal(residuals[numbers != number], share) for number in range(len(order))]
    return np.array(by_group)[numbers]


def _errors(rows: pd.DataFrame, values: np.ndarray) -> np.ndarray:
    errors: np.ndarray = np.abs(np.exp(values) / rows["speedup"].to_numpy(float) - 1)
    return errors


def _sizes(rows: pd.DataFrame, errors: np.ndarray) -> dict[str, Any]:
    median, last = (_rounded(float(np.quantile(errors, each))) for each in SHARES)
    return {"models": rows["checkpoint"].nunique(), "count": len(rows), "median_error": median, "p90_error": last}


def _rounded(value: float) -> float:
    return round(value, 4)
