"""Tables of the gains as data, as `generator.figures.tables` has those of cells: lines under the names of columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd

from generator.data.load import Results
from generator.data.registry import CHANGE, IMAGES, RATE
from generator.figures.words import DOUBT
from generator.gains.gains import MOST_REGRESSIONS, Changes, Gains, History


def families(gains: Gains, results: Results) -> pd.DataFrame:
    """One line per family: the median change on each GPU, the largest gain first."""
    return _families(gains.every, _named(gains, results))


def intensity(gains: Gains, results: Results) -> pd.DataFrame:
    """One line per class of arithmetic intensity: the median change on each GPU."""
    by_device = {name: gains.classes(changes) for name, changes in _named(gains, results).items()}
    lines = [
        {
            "bounds": (each.low, each.high),
            **{
                name: next((one.changes.box.median for one in known if one.low == each.low), None)
                for name, known in by_device.items()
            },
            "models": each.changes.rows["model"].nunique(),
        }
        for each in gains.classes(gains.every)
    ]
    labels = [each.changes.rows.index[0] for each in gains.classes(gains.every)]
    return pd.DataFrame(lines, index=labels)


def agreements(gains: Gains) -> pd.DataFrame:
    """One line per pair of GPUs."""
    lines = [
        {
            "device_names": each.labels,
            "points": 100 * each.difference,
            "correlation": each.correlation,
            "same_verdict": each.same_verdict,
            "common": each.count,
        }
        for each in gains.agreements
    ]
    return pd.DataFrame(lines, index=[each.labels[0] for each in gains.agreements])


def losses(gains: Gains, results: Results) -> pd.DataFrame:
    """The comparisons that are clearly slower when compiled, the worst first."""
    slower = results.newest.loc[gains.every.losses.index]
    figures = ["model", "change", "device", "input_size", "eager_images_s", "compiled_images_s"]
    return slower[figures].rename(columns={"change": "image_change"})


def history(history: History) -> pd.DataFrame:
    """One line per family: the median change in images per second of eager, the best first."""
    return _families(history.eager, {f"{RATE}eager": history.eager})


def unequal(history: History) -> pd.DataFrame:
    """The same for compiled models whose batches differ: doubtful, and never beside other medians."""
    return _families(history.unequal, {f"{RATE}{DOUBT}": history.unequal})


def regressions(history: History) -> pd.DataFrame:
    """The worst regressions of eager, with the images per second of both versions."""
    worst = history.eager.losses.iloc[:MOST_REGRESSIONS]
    return _both(
        worst, {"rate_change": "change", f"{IMAGES}{history.old}": "before", f"{IMAGES}{history.new}": "after"}
    )


def equal(history: History) -> pd.DataFrame:
    """Every compiled model whose batches are equal, the worst first."""
    rows = history.compiled.ranked[::-1]
    return _both(rows, {"rate_change": "change", f"{IMAGES}{history.old}": "before", f"{IMAGES}{history.new}": "after"})


def types(gains: Gains) -> pd.DataFrame:
    """One line per family: the median change in images per second in each data type."""
    named = {f"{RATE}{each.dtype}": each.changes for each in gains.types}
    return _families(gains.every_type, named) if named else pd.DataFrame()


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _named(gains: Gains, results: Results) -> Mapping[str, Changes]:
    """Return the changes on each GPU by the column that shows their median."""
    by_label = results.by_label
    return {
        f"{CHANGE}{by_label[changes.rows.index[0]]['device_name']}": changes for changes in gains.by_device.values()
    }


def _families(order: Changes, columns: Mapping[str, Changes]) -> pd.DataFrame:
    """One line per family in the order of these changes, with the median of each column."""
    first = order.rows.reset_index(names="row").drop_duplicates("family").set_index("family")["row"]
    number = order.rows.groupby("family")["model"].nunique()
    lines = [
        {
            "family": family,
            **{name: _median(changes, family) for name, changes in columns.items()},
            "models": number[family],
        }
        for family in order.families
    ]
    return pd.DataFrame(lines, index=_labels(first, order.families))


def _median(changes: Changes, family: str) -> float | None:
    box = changes.families.get(family)
    return box.median if box else None


def _labels(first: pd.Series, families: Iterable[str]) -> list[int]:
    return [int(first[family]) for family in families]


def _both(rows: pd.DataFrame, columns: Mapping[str, str]) -> pd.DataFrame:
    figures = {name: rows[column] for name, column in columns.items()}
    return pd.DataFrame({"model": rows["model"], **figures, "input_size": rows["input_size"]}, index=rows.index)
