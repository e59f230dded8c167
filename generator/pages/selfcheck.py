"""The table for the methodology page of what `bench selfcheck` found on each device."""

from __future__ import annotations

from collections.abc import Sequence

from bench.records.documents import BOUND, Check, Selfcheck
from generator.data.names import short_name
from generator.figures.cells import TableCell
from generator.figures.markup import Line, Table
from generator.figures.words import Words


def table(selfchecks: Sequence[Selfcheck], words: Words) -> str:
    """Return a table with a line for each device and check, or nothing if there are no checks."""
    if not selfchecks:
        return ""
    gettext = words.language.gettext
    headings = gettext("Device"), gettext("What is checked"), gettext("Value"), gettext("Result")
    head = tuple(
        TableCell(words.say(text), classes=classes)
        for text, classes in zip(headings, ("", "", "number", ""), strict=True)
    )
    lines = tuple(_line(selfcheck, check, words) for selfcheck in selfchecks for check in selfcheck.checks)
    return Table(words.say(gettext("Checks of the benchmark itself")), head, lines, sortable=False).markdown()


def _line(selfcheck: Selfcheck, check: Check, words: Words) -> Line:
    gettext = words.language.gettext
    device = words.value(short_name(selfcheck.environment.device_name))
    checks = {
        "eager_against_eager": gettext(
            "The speedup of eager against eager: from %(low)s to %(high)s, with 1 in its interval"
        ),
        "timer": gettext("Our latency divided by that of <code>Timer</code>: from %(low)s to %(high)s"),
        "busy_time": gettext("The busy time in the profiler divided by our latency: at most 1"),
        "replays": gettext("Replays of CUDA graphs per call with <code>reduce-overhead</code>: at least 1"),
        "caches": gettext("The time to ready with a warm cache divided by that with a cold one: less than 1"),
    }
    variants = {"eager": gettext("eager"), "compiled": gettext("compiled")}
    low, high = (words.language.number(limit, 2) for limit in (1 - BOUND, 1 + BOUND))
    question = words.say(checks[check.name], low=low, high=high)
    if check.variant:
        question = words.noted(question, words.phrase(variants[check.variant]))
    figure = "—" if check.figure is None else words.value(words.language.number(check.figure))
    if check.low is not None and check.high is not None:
        figure = words.noted(figure, words.bounds(check.low, check.high))
    results = {True: gettext("Passed"), False: gettext("Failed"), None: gettext("Not applicable here")}
    return Line(
        (
            TableCell(words.noted(device, words.language.date(selfcheck.taken_at))),
            TableCell(question),
            TableCell(figure, None if check.figure is None else repr(check.figure), "number"),
            TableCell(words.phrase(results[check.has_passed])),
        )
    )
