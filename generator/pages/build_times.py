"""Tables of how long the guide takes to build, compared with other builders, and to read its records."""

from __future__ import annotations

from bench.records.build_times import BUILDS, EDITS, LOADS, OURS, START, BuildTimes, Figure
from generator.figures.markup import TableCell
from generator.figures.words import Words
from generator.pages import documents

ACTIONS = (*BUILDS, START, *EDITS)


def builds(build_times: BuildTimes, words: Words, figure: Figure) -> str:
    """Return a table with a line for each size and action: a figure of each builder, and the ratio of ours to it.

    CPU time and memory are shown for builds only, since a server uses them for longer than an edit takes.
    """
    gettext = words.language.gettext
    actions = ACTIONS if figure == "wall_s" else BUILDS
    headlines = {
        "wall_s": gettext("Duration (s)"),
        "cpu_s": gettext("CPU time of all processes (s)"),
        "memory_gb": gettext("Peak memory of all processes (GB)"),
    }
    peers = [name for name in build_times.builders if name != OURS]
    head = [gettext("Pages"), gettext("Action"), _name(OURS, words)]
    for peer in peers:
        head += [_name(peer, words), gettext("Ratio (this guide ÷ the other)")]
    lines = [
        (
            *_heads(size, action, words),
            *_cells(build_times, action, size, figure, words),
        )
        for size in build_times.sizes(actions)
        for action in actions
        if any(build_times.of(name, action, size) for name in build_times.builders)
    ]
    return documents.table(headlines[figure], head, lines, build_times, words)


def _cells(build_times: BuildTimes, action: str, size: int, figure: Figure, words: Words) -> list[TableCell]:
    cells = []
    for name in build_times.builders:
        cells.append(_figure(build_times, name, action, size, figure, words))
        if name != OURS:
            ratio = build_times.ratio(name, action, size, figure)
            text = "—" if ratio is None else words.value(words.language.ratio(ratio, 2 if ratio >= 0.01 else 3))
            cells.append(TableCell(text, None if ratio is None else repr(ratio), "number"))
    return cells


def loads(build_times: BuildTimes, words: Words) -> str:
    """Return a table with a line for each number of records, first and cached: time, CPU time and memory."""
    gettext = words.language.gettext
    figures: tuple[Figure, ...] = ("wall_s", "cpu_s", "memory_gb")
    head = (
        *(gettext("Records"), gettext("Action"), gettext("Duration (s)")),
        *(gettext("CPU time of all processes (s)"), gettext("Peak memory of all processes (GB)")),
    )
    lines = [
        (
            *_heads(size, action, words),
            *(_figure(build_times, OURS, action, size, figure, words) for figure in figures),
        )
        for size in build_times.sizes(LOADS)
        for action in LOADS
    ]
    return documents.table(gettext("Reading the records"), head, lines, build_times, words)


def _heads(size: int, action: str, words: Words) -> tuple[TableCell, TableCell]:
    number = TableCell(words.value(words.language.number(size)), str(size), "number")
    return number, TableCell(words.say(_action(action, words)))


def _figure(build_times: BuildTimes, name: str, action: str, size: int, figure: Figure, words: Words) -> TableCell:
    if build_times.failed(name, action, size):
        return TableCell(words.say(words.language.gettext("failed")), None, "number")
    value = build_times.median(name, action, size, figure)
    if value is None:
        return TableCell("—", None, "number")
    return TableCell(words.value(words.language.number(value, 2)), repr(value), "number")


def _name(builder: str, words: Words) -> str:
    if builder == OURS:
        return str(words.language.gettext("This guide"))
    names = {"static-i18n": "Material + static-\u2060i18n", "zensical": "Zensical"}  # no line breaks at that hyphen
    return names.get(builder, builder)


def _action(action: str, words: Words) -> str:
    gettext = words.language.gettext
    return {
        "cold": gettext("Build with empty caches"),
        "warm": gettext("Build with the caches of an earlier build"),
        "unchanged": gettext("Build again, nothing changed"),
        "publish": gettext("Build again, one record added"),
        "serve": gettext("Start the server and wait for its first page"),
        "record": gettext("Add a record and wait for the page to reload"),
        "message": gettext("Translate a paragraph and wait for the page to reload"),
        "paragraph": gettext("Change a paragraph and wait for the page to reload"),
        "title": gettext("Change a title and wait for another page's navigation to show it"),
        "first load": gettext("Read for the first time"),
        "cached load": gettext("Read again in a new process"),
    }.get(action, action)
