"""Charts of the results: cells become a `Chart`, a drawing with the words beside it in the page.

Takes the rows of some cells as plain values and a `Language`. A gain is a factor, so 1× means that both variants are
equally fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.statistics.verdicts import judge
from generator.data.digits import digits
from generator.data.selection import Row, Rows, by_value, is_compared
from generator.figures import drawing
from generator.figures.drawing import VERDICTS, Box, Drawing, Mark, Role
from generator.figures.tables import is_newest
from generator.figures.words import Words, is_same
from generator.languages.language import Language

MOST_DOTS = 60
"""Comparisons of a distribution that are drawn one by one. More of them would be a solid line."""


@dataclass(frozen=True)
class Chart:
    """A drawing and its words. `alt` and `axis` are plain text, `caption` HTML. `legend` has the words of each colour;
    ``eager dashed`` is a dashed line in the colour of eager."""

    drawing: drawing.Picture
    alt: str
    caption: str
    axis: str
    legend: tuple[tuple[str, str], ...] = ()


# ── The charts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def overview(rows: Rows, language: Language) -> Chart:
    """Draw how the speedup is distributed on each device, with the least and the largest of it."""
    words, gettext = Words(language, html=False), language.gettext
    headline, common = gettext("Distribution of the speedup when compiled"), words.selection(rows)
    lines = tuple(distributions(rows))
    notes = [
        gettext(
            "Each box spans the middle half of the comparisons, with a line at the median; thin lines run from the 5th "
            "to the 95th percentile. A box is colored where at least three quarters of the comparisons agree."
        )
    ]
    described = gettext("%(headline)s (%(selection)s).") if common else gettext("%(headline)s.")
    told = [words.say(described, headline=headline, selection=common)]
    message = gettext("%(name)s: median %(median)s, with half of the comparisons between %(lower)s and %(upper)s.")
    for line in lines:
        figures = {name: factor(getattr(line.box, name)) for name in ("median", "lower", "upper")}
        told.append(words.say(message, name=line.label, **figures))
    if hollow := sum(mark.hollow for line in lines for mark in line.marks):
        message = gettext("Hollow dots: %(count)s more, which automatic checks mark as doubtful.")
        notes.append(Words(language, html=True).say(message, count=language.number(hollow)))
    return Chart(
        Drawing("boxes", lines),
        words.sentences(told),
        _caption(rows, headline, notes, language),
        gettext("speedup (higher is better)"),
        _legend(lines, words),
    )


def layouts(rows: pd.DataFrame, eager_on: str, compiled_on: str, language: Language) -> Chart:
    """Draw the factor of each model's images per second in channels last, and of those when compiled, on two GPUs."""
    words, gettext = Words(language, html=False), language.gettext
    lines, told = [], []
    message = gettext("%(name)s: %(layout)s in channels_last, %(compiled)s compiled.")
    for name, size, *factors in rows[["label", "input_size", "layout", "compiled"]].itertuples(index=False):
        figures = tuple(map(factor, factors))
        lines.append(
            drawing.Row(f"{name} · {size}", (Mark(factors[0], "eager"), Mark(factors[1], "compiled")), figures)
        )
        told.append(words.say(message, name=name, layout=figures[0], compiled=figures[1]))
    headline = gettext("The models that gain and lose most in channels_last, and what compiling does to them")
    return Chart(
        Drawing("bars", tuple(lines)),
        words.sentences([words.say(gettext("%(headline)s."), headline=headline), *told]),
        Words(language, html=True).phrase(headline),
        gettext("images per second relative to eager in PyTorch’s own layout (higher is better)"),
        (
            (words.say(gettext("eager in channels_last on %(device)s"), device=eager_on), "eager"),
            (words.say(gettext("compiled on %(device)s"), device=compiled_on), "compiled"),
        ),
    )


def distributions(rows: Rows) -> Iterator[drawing.Row]:
    """Yield a row for the comparisons of each device, origin and question: nothing else may share a median.

    Of a throughput, only the newest version of PyTorch on each device counts.
    """
    rows = [*filter(is_compared, rows)]
    newest = is_newest([row["device"] for row in rows], [row["torch"] for row in rows])
    rows = [row for row, is_new in zip(rows, newest, strict=True) if is_new or row["workload"] == "latency"]
    for group in _split(rows, ["device", "origin", "workload"]):
        known = sorted((row for row in group if not _is_doubtful(row)), key=lambda row: float(row["speedup"]))
        if known:
            others = [row for row in rows if row["device"] == known[0]["device"]]
            apart = [known[0][name] for name in ("origin", "workload") if not is_same(row[name] for row in others)]
            box, ends = Box.of(row["speedup"] for row in known), known[:: max(len(known) - 1, 1)]
            verdicts = {*map(judge, (box.lower, box.upper))}
            yield drawing.Row(
                " · ".join((_device(known[0]), *apart, f"n = {len(known):,}")),
                tuple(map(_mark, group if len(group) <= MOST_DOTS else ends)),
                (factor(box.median),),
                box,
                VERDICTS.get(verdicts.pop(), "zero") if len(verdicts) == 1 else "zero",  # of three in four
                tuple(f"{row['model_label']} {factor(row['speedup'], digits(row, 'speedup'))}" for row in ends),
            )


def factor(value: float, places: int = 2) -> str:
    """Return a factor as drawings have it."""
    return f"{value:,.{places}f}×"


# ── Parts ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _caption(rows: Rows, headline: str, notes: Iterable[str], language: Language) -> str:
    """Return the headline, the facts that all rows share, their dates, and the count of comparisons: HTML."""
    words, origins = Words(language, html=True), _split(rows, ["origin"])
    facts = [words.phrase(headline), words.selection(rows)]
    facts += [words.when(of_origin) for of_origin in origins if len(origins) > 1]  # the selection dates a single one
    n = sum(is_compared(row) and not _is_doubtful(row) for row in rows)
    facts.append(words.counted(language.ngettext("%(count)s comparison", "%(count)s comparisons", n), n))
    return words.lines([words.facts(facts), words.sentences(notes)])


def _device(row: Row) -> str:
    """Return the name of a device; of a CPU with its cores as on data sheets: ``2C``."""
    cores = f" {row['cores']}C" if row["device_type"] == "cpu" and row["cores"] else ""
    return f"{row['device_name']}{cores}"


def _split(rows: Iterable[Row], columns: Sequence[str]) -> list[list[Row]]:
    """Split the rows by their values of `columns`, in the order in which these first occur."""
    known = list(rows)
    return [*by_value(known, (tuple(row[column] for column in columns) for row in known)).values()]


def _mark(row: Row) -> Mark:
    """Return the mark of a speedup, in the colour of its verdict."""
    return Mark(row["speedup"], VERDICTS.get(row["verdict"], "zero"), hollow=_is_doubtful(row))


def _is_doubtful(row: Row) -> bool:
    return bool(row["verdict"] == "doubtful")


def _legend(lines: Iterable[drawing.Row], words: Words) -> tuple[tuple[str, str], ...]:
    found = {role for line in lines for role in (line.box and line.role, *(mark.role for mark in line.marks))}
    names: Mapping[Role, str] = {
        **{role: words.named("verdict", verdict) for verdict, role in VERDICTS.items()},
        "zero": words.language.gettext("same or inconclusive"),
    }
    return tuple((name, role) for role, name in names.items() if role in found)
