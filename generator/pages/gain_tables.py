"""Tables of the gains as data, in the form of `generator.figures.tables`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import pandas as pd

from generator.data.registry import CHANGE, IMAGES, N_, RATE
from generator.data.selection import Rows
from generator.figures.words import Words
from generator.pages.gains import MOST_REGRESSIONS, Changes, Gains, History


class GainTable(NamedTuple):
    """A table: its headline as a message, its lines, the changes that it is about, and their versions of PyTorch."""

    headline: str
    lines: pd.DataFrame
    changes: Changes
    history: History | None = None


@lru_cache(maxsize=2)
def gain_tables(gains: Gains, rows: Rows) -> Mapping[str, GainTable]:
    """Return the tables of all models with the newest version of PyTorch, by name. `rows` are all rows by label."""
    return {
        "families": GainTable(
            N_("Median change in time per image when compiled, by model family"),
            _families(gains.every, _named(gains.by_device, rows)),
            gains.every,
        ),
        "intensity": GainTable(
            N_("Median change in time per image when compiled, by FLOP per activation"),
            _intensity(gains, rows),
            gains.every,
        ),
        "gpus": GainTable(N_("The same models on two GPUs"), _agreements(gains), gains.every),
        "losses": GainTable(N_("Where compiling lowers throughput"), _losses(gains, rows), gains.every),
        "types": GainTable(
            N_(
                "Median change in images per second of the compiled model relative to float16 autocast, by model family"
            ),
            _families(gains.every_type, {f"{RATE} {each.dtype}": each.changes for each in gains.types}),
            gains.every_type,
        ),
    }


@lru_cache(maxsize=2)
def history_tables(history: History) -> Mapping[str, GainTable]:
    """Return the tables of a GPU with two versions of PyTorch, by name."""
    eager, compiled = history.eager, history.compiled
    return {
        "history": GainTable(
            N_("Median change in images per second in eager mode, from %(old)s to %(new)s"),
            _families(eager, {f"{RATE} eager": eager}),
            eager,
            history,
        ),
        "regressions": GainTable(
            N_("Slower in eager mode: from %(old)s to %(new)s"),
            _both(eager.losses.iloc[:MOST_REGRESSIONS], history),
            eager,
            history,
        ),
        "equal": GainTable(
            N_("Compiled, in batches of equal size, from %(old)s to %(new)s"),
            _both(compiled.ranked[::-1], history),
            compiled,
            history,
        ),
    }


def caption(table: GainTable, by_label: Rows, words: Words) -> str:
    """Return the headline, the facts that all rows behind the changes share, and their number."""
    language, history = words.language, table.history
    headline, n = language.gettext(table.headline), table.changes.count
    if history:
        headline = words.say(headline, old=f"PyTorch {history.old}", new=f"PyTorch {history.new}")
    common = words.selection([by_label[label] for label in table.changes.labels], skip=("model", "batch_size"))
    counted = words.counted(language.ngettext("%(count)s comparison", "%(count)s comparisons", n), n)
    return words.facts([words.phrase(headline), common, counted])


# ── Lines ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _families(order: Changes, columns: Mapping[str, Changes]) -> pd.DataFrame:
    """One line per family in the order of these changes, with the median of each column."""
    known = {name: changes.families for name, changes in columns.items()}
    number = order.rows.groupby("family")["model"].nunique()
    lines = [
        {
            "family": family,
            **{name: boxes[family].median if family in boxes else None for name, boxes in known.items()},
            "models": number[family],
        }
        for family in order.families
    ]
    first = order.rows.reset_index(names="row").drop_duplicates("family").set_index("family")["row"]
    return pd.DataFrame(lines, index=[int(first[family]) for family in order.families])


def _intensity(gains: Gains, rows: Rows) -> pd.DataFrame:
    """One line per class of arithmetic intensity: the median change on each GPU."""
    medians = {
        name: {each.low: each.changes.box.median for each in gains.classes(changes)}
        for name, changes in _named(gains.by_device, rows).items()
    }
    classes = gains.classes(gains.every)
    lines = [
        {
            "bounds": (each.low, each.high),
            **{name: known.get(each.low) for name, known in medians.items()},
            "models": each.changes.rows["model"].nunique(),
        }
        for each in classes
    ]
    return pd.DataFrame(lines, index=[each.changes.rows.index[0] for each in classes])


def _agreements(gains: Gains) -> pd.DataFrame:
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


def _losses(gains: Gains, rows: Rows) -> pd.DataFrame:
    """The comparisons that are clearly slower when compiled, the worst first."""
    slower = gains.every.losses
    known = [rows[label] for label in slower.index]
    rates = {name: [row[name] for row in known] for name in ("eager_images_s", "compiled_images_s")}
    lines = slower[["model", "change", "device", "input_size"]].rename(columns={"change": "image_change"})
    return lines.assign(**rates)


def _both(rows: pd.DataFrame, history: History) -> pd.DataFrame:
    """One line per row, with the images per second with both versions."""
    figures = {"rate_change": "change", f"{IMAGES} {history.old}": "before", f"{IMAGES} {history.new}": "after"}
    return rows[["model", *figures.values(), "input_size"]].rename(columns={own: name for name, own in figures.items()})


def _named(by_device: Mapping[str, Changes], rows: Rows) -> Mapping[str, Changes]:
    """Return the changes on each GPU by the column that shows their median."""
    return {f"{CHANGE} {rows[changes.rows.index[0]]['device_name']}": changes for changes in by_device.values()}
