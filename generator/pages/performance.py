"""How fast the guide is built, beside other builders, as a page of its own shows it.

A `bench.records.performance.Performance` and the words of a language enter; tables leave.

    python -m pytest tests/test_performance_table.py
"""

from __future__ import annotations

from bench.records.performance import BUILDS, EDITS, LOADS, OURS, START, Figure, Performance
from generator.figures.markup import Cell
from generator.figures.words import Words
from generator.pages import document

ACTIONS = (*BUILDS, START, *EDITS)


def builds(performance: Performance, words: Words, figure: Figure) -> str:
    """A line for each size and action: one figure of each builder, and ours as a share of theirs. A server costs CPU
    time and memory for longer than an edit takes, so that these are shown of builds alone."""
    gettext = words.language.gettext
    actions = ACTIONS if figure == "wall_s" else BUILDS
    headlines = {
        "wall_s": gettext("Duration (s)"),
        "cpu_s": gettext("CPU time of all processes (s)"),
        "memory_gb": gettext("Peak memory of all processes (GB)"),
    }
    peers = [name for name in performance.builders if name != OURS]
    head = [gettext("Pages"), gettext("Action"), _name(OURS, words)]
    for peer in peers:
        head += [_name(peer, words), gettext("Ratio (this guide ÷ the other)")]
    lines = [
        (
            *_what(size, action, words),
            *_cells(performance, action, size, figure, words),
        )
        for size in performance.sizes(actions)
        for action in actions
        if any(performance.of(name, action, size) for name in performance.builders)
    ]
    return document.table(headlines[figure], head, lines, performance, words)


def _cells(performance: Performance, action: str, size: int, figure: Figure, words: Words) -> list[Cell]:
    cells = []
    for name in performance.builders:
        cells.append(_figure(performance, name, action, size, figure, words))
        if name != OURS:
            ratio = performance.ratio(name, action, size, figure)
            text = "—" if ratio is None else words.value(words.language.ratio(ratio, 2 if ratio >= 0.01 else 3))
            cells.append(Cell(text, None if ratio is None else repr(ratio), "number"))
    return cells


def loads(performance: Performance, words: Words) -> str:
    """A line for each number of records, first and cached: time, CPU time and memory."""
    gettext = words.language.gettext
    figures: tuple[Figure, ...] = ("wall_s", "cpu_s", "memory_gb")
    head = (
        *(gettext("Records"), gettext("Action"), gettext("Duration (s)")),
        *(gettext("CPU time of all processes (s)"), gettext("Peak memory of all processes (GB)")),
    )
    lines = [
        (
            *_what(size, action, words),
            *(_figure(performance, OURS, action, size, figure, words) for figure in figures),
        )
        for size in performance.sizes(LOADS)
        for action in LOADS
    ]
    return document.table(gettext("Reading the records"), head, lines, performance, words)


def _what(size: int, action: str, words: Words) -> tuple[Cell, Cell]:
    number = Cell(words.value(words.language.number(size)), str(size), "number")
    return number, Cell(words.say(_action(action, words)))


def _figure(performance: Performance, name: str, action: str, size: int, figure: Figure, words: Words) -> Cell:
    if performance.failed(name, action, size):
        return Cell(words.say(words.language.gettext("failed")), None, "number")
    value = performance.median(name, action, size, figure)
    if value is None:
        return Cell("—", None, "number")
    return Cell(words.value(words.language.number(value, 2)), repr(value), "number")


def _name(builder: str, words: Words) -> str:
    if builder == OURS:
        return str(words.language.gettext("This guide"))
    names = {"static-i18n": "Material + static-\u2060i18n", "zensical": "Zensical"}  # no line ends at that hyphen
    return names.get(builder, builder)


def _action(action: str, words: Words) -> str:
    gettext = words.language.gettext
    return {
        "cold": gettext("Build with empty caches"),
        "warm": gettext("Build with the caches of an earlier build"),
        "unchanged": gettext("Build again, nothing changed"),
        "serve": gettext("Start the server, until its first page"),
        "record": gettext("Add a record, until the page has reloaded"),
        "message": gettext("Translate a paragraph, until the page has reloaded"),
        "paragraph": gettext("Change a paragraph, until the page has reloaded"),
        "title": gettext("Change a title, until another page's navigation shows it"),
        "first load": gettext("Read for the first time"),
        "cached load": gettext("Read again in a new process"),
    }.get(action, action)
