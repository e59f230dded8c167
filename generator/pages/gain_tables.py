"""Tables of the gains, with lines in the form of `generator.figures.tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pandas as pd

from generator.data.registry import CHANGE, IMAGES, N_, RATE
from generator.data.selection import Rows
from generator.figures.words import Words
from generator.pages.gains import BOUNDS, Changes, Gains, History

MOST_REGRESSIONS = 20


class GainTable(NamedTuple):
    """A table: its headline as a message, the changes that it is about, and its lines, from `Gains` or a `History`."""

    headline: str
    changes: Callable[[Any], Changes]
    lines: Callable[[Any], pd.DataFrame]

    def caption(self, subject: Gains | History, by_label: Rows, words: Words) -> str:
        """Return the headline, the facts that all rows behind the changes share, and their number."""
        headline, rows = words.language.gettext(self.headline), self.changes(subject).rows
        if isinstance(subject, History):
            headline = words.say(headline, old=f"PyTorch {subject.old}", new=f"PyTorch {subject.new}")
        behind = [by_label[label] for label in (*rows.index, *rows.get("base", ()))]
        common = words.selection(behind, skip=("model", "batch_size"))
        message = words.language.ngettext("%(count)s comparison", "%(count)s comparisons", len(rows))
        return words.facts([words.phrase(headline), common, words.counted(message, len(rows))])


def _medians(group: str, order: Changes, columns: Mapping[str, Changes]) -> pd.DataFrame:
    """One line per group with the median of each column, in the order of the medians of `order`."""
    groups = order.rows.reset_index(names="row").groupby(group)
    medians = {name: changes.medians(group) for name, changes in columns.items()}
    lines = pd.DataFrame(medians | {"models": groups["model"].nunique(), "row": groups["row"].first()})
    return lines.loc[order.medians(group).index].rename_axis(group).reset_index().set_index("row")


def _on_each_gpu(group: str, gains: Gains) -> pd.DataFrame:
    return _medians(group, gains.every, {f"{CHANGE} {name}": changes for name, changes in gains.by_device.items()})


def _intensity(gains: Gains) -> pd.DataFrame:
    lines = _on_each_gpu("intensity_class", gains).sort_values("intensity_class")
    lines.insert(0, "bounds", [BOUNDS[int(each) : int(each) + 2] for each in lines.pop("intensity_class")])
    return lines


def _pairs(gains: Gains) -> pd.DataFrame:
    lines = pd.DataFrame(gains.agreements, [each.device_names[0] for each in gains.agreements])
    if not lines.empty:
        lines.insert(1, "points", 100 * lines.pop("difference"))
    return lines


def _losses(gains: Gains) -> pd.DataFrame:
    names = ["model", "change", "device", "input_size", "eager_images_s", "compiled_images_s"]
    return gains.every.losses[names].rename(columns={"change": "image_change"})


def _with_both_rates(rows: pd.DataFrame, history: History) -> pd.DataFrame:
    names = {"change": "rate_change", "before": f"{IMAGES} {history.old}", "after": f"{IMAGES} {history.new}"}
    return rows[["model", *names, "input_size"]].rename(columns=names)


GAIN_TABLES = {
    "families": GainTable(
        N_("Median change in time per image when compiled, by model family"),
        lambda gains: gains.every,
        lambda gains: _on_each_gpu("family", gains),
    ),
    "intensity": GainTable(
        N_("Median change in time per image when compiled, by FLOP per activation"),
        lambda gains: gains.every,
        _intensity,
    ),
    "gpus": GainTable(N_("The same models on two GPUs"), lambda gains: gains.every, _pairs),
    "losses": GainTable(N_("Where compiling lowers throughput"), lambda gains: gains.every, _losses),
    "types": GainTable(
        N_("Median change in images per second of the compiled model relative to float16 autocast, by model family"),
        lambda gains: gains.every_type,
        lambda gains: _medians(
            "family", gains.every_type, {f"{RATE} {each.dtype}": each.changes for each in gains.types}
        ),
    ),
}
"""The tables of all models with the newest version of PyTorch."""

HISTORY_TABLES = {
    "history": GainTable(
        N_("Median change in images per second in eager mode, from %(old)s to %(new)s"),
        lambda history: history.eager,
        lambda history: _medians("family", history.eager, {f"{RATE} eager": history.eager}),
    ),
    "regressions": GainTable(
        N_("Slower in eager mode: from %(old)s to %(new)s"),
        lambda history: history.eager,
        lambda history: _with_both_rates(history.eager.losses.iloc[:MOST_REGRESSIONS], history),
    ),
    "equal": GainTable(
        N_("Compiled, in batches of equal size, from %(old)s to %(new)s"),
        lambda history: history.compiled,
        lambda history: _with_both_rates(history.compiled.ranked[::-1], history),
    ),
}
"""The tables of a GPU with two versions of PyTorch."""
