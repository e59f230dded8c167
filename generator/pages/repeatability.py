"""The table of how well several ways of timing repeat, for the methodology page."""

from __future__ import annotations

import statistics

from markupsafe import Markup

from bench.records.repeatability import OURS, Repeatability
from generator.figures.markup import TableCell
from generator.figures.words import Words
from generator.pages import documents


def table(repeatability: Repeatability, words: Words) -> str:
    """Return a table with a line for each model and way of timing: its result, the spread of repeats and the cost."""
    gettext = words.language.gettext
    head = (
        *(gettext("Model"), gettext("Way of timing"), gettext("Speedup")),
        *(gettext("Spread of the speedup"), gettext("Eager (ms)"), gettext("Compiled (ms)")),
        gettext("Time spent measuring (s)"),
    )
    lines = [_line(repeatability, way, model, words) for model in repeatability.models for way in repeatability.ways]
    return documents.table(gettext("Ways of timing the same models"), head, lines, repeatability, words)


def _line(repeatability: Repeatability, way: str, model: str, words: Words) -> tuple[TableCell, ...]:
    language, repeats = words.language, repeatability.of(way, model)
    if not repeats:
        return (TableCell(words.value(model)), _name(way, words), *[TableCell("—", classes="number")] * 5)
    eager, compiled = (
        statistics.median(getattr(repeat, f"{variant}_ms") for repeat in repeats) for variant in ("eager", "compiled")
    )

    def figure(text: str, value: float) -> TableCell:
        return TableCell(words.value(text), repr(value), "number")

    pooled, spread, seconds = (
        statistic(way, model) for statistic in (repeatability.pooled, repeatability.spread, repeatability.seconds)
    )
    return (
        TableCell(words.value(model)),
        _name(way, words),
        figure(language.ratio(pooled, 3), pooled),
        figure(language.percent(spread, 1), spread),
        figure(language.number(eager, 3), eager),
        figure(language.number(compiled, 3), compiled),
        figure(language.number(seconds, 0), seconds),
    )


def _name(way: str, words: Words) -> TableCell:
    gettext = words.language.gettext
    names = {
        OURS: gettext("the standard profile of this atlas"),
        "mean_of_300": gettext("the mean of 300 calls, one arm after the other"),
        "alone": gettext(
            "our rounds in one process, one arm after the other"
        ),  # in records from before variants took turns
        "interleaved": gettext("our rounds in one process, both arms in turn"),
    }
    timer = Markup("<code>Timer.{}</code>").format(way)
    return TableCell(words.phrase(names[way]) if way in names else timer)
