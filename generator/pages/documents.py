"""The documents of the bench on pages: captured output of the example programs, and self-checks.

Each function for pages takes the `Parts` of the page.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from statistics import mean

from markupsafe import Markup

from bench.errors import AtlasError
from bench.records.documents import BOUND, CAPTURE_COMMAND, EXAMPLES, Capture, Check
from generator.data.names import short_name
from generator.figures.cells import TableCell
from generator.figures.markup import Line, Table
from generator.figures.words import Words
from generator.pages.parts import Parts
from generator.pages.site_file import DATA

# ── Filters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def listing(text: str, language: str = "python") -> str:
    """Return text as fenced code."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def functions(source: str, *names: str) -> str:
    """Return the source of some functions of a program."""
    found = {each.name: each for each in ast.parse(source).body if isinstance(each, ast.FunctionDef)}
    return "\n\n".join(ast.get_source_segment(source, found[name]) or "" for name in names)


# ── Examples ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _captured(parts: Parts) -> Capture:
    if parts.results.examples is None:
        raise AtlasError("the examples have no captured output yet", where=str(EXAMPLES), remedy=CAPTURE_COMMAND)
    return parts.results.examples


def programs(parts: Parts) -> str:
    """Links to the example programs, which are emitted."""
    link = Markup('<a href="{}" download><code>{}.py</code></a>')
    sources = _captured(parts).sources.items()
    items = (link.format(parts.shared(f"{DATA}/examples/{name}.py", text), name) for name, text in sources)
    return parts.html_list("downloads", items)


def graphs_table(parts: Parts) -> str:
    """The graphs of a step of training."""
    gettext, graphs = parts.language.gettext, _captured(parts).training_step["graphs"]
    lines = [(_code(graph["function"]), _number(graph["operations"], parts.words, 0)) for graph in graphs]
    head = gettext("Captured from"), gettext("Operations")
    return _table(parts, _caption(parts, gettext("Graphs that Dynamo captures from one step of training")), head, lines)


def example_breaks_table(parts: Parts, *, of: str) -> str:
    """The graph breaks of a program, with their reasons."""
    gettext, breaks = parts.language.gettext, getattr(_captured(parts), of)["breaks"]
    lines = [(_code(each["location"]), _verbatim(each["reason"]), _verbatim(each["explanation"])) for each in breaks]
    head = gettext("Code location"), gettext("Reason"), gettext("Explanation")
    return _table(parts, _caption(parts, gettext("Graph breaks, with the reasons that PyTorch gives")), head, lines)


def scores_table(parts: Parts) -> str:
    """The errors of the trained networks, eager and compiled, on unseen data."""
    gettext, words, k_fold = parts.language.gettext, parts.words, _captured(parts).k_fold
    folds = map(words.language.number, range(1, k_fold["folds"] + 1))
    names = [words.say(gettext("fold %(number)s"), number=fold) for fold in folds]
    names += [words.say(gettext("mean of the folds")), words.say(gettext("held-out set"))]
    columns = []
    for error in ("mse", "r2"):
        for variant in (k_fold["eager"], k_fold["compiled"]):
            scores = [fold[error] for fold in variant["folds"]]
            columns.append((*scores, mean(scores), variant["held_out"][error]))
    head = gettext("MSE, eager"), gettext("MSE, compiled"), gettext("R², eager"), gettext("R², compiled")
    lines = [
        (TableCell(name), *(_number(value, words, 4) for value in values))
        for name, *values in zip(names, *columns, strict=True)
    ]
    caption = _caption(parts, gettext("Mean squared error and R² of the trained networks"))
    return _table(parts, caption, (gettext("Scored on"), *head), lines)


def _caption(parts: Parts, headline: str) -> str:
    captured, words = _captured(parts), parts.words
    machine = short_name(captured.device_name), f"PyTorch {captured.torch.partition('+')[0]}"
    date = words.say(parts.language.gettext("recorded on %(date)s"), date=parts.language.date(captured.taken_at))
    return words.facts([words.say(headline), *map(words.value, machine), date])


# ── Self-checks ─────────────────────────────────────────────────────────────────────────────────────────────────────


def selfcheck_table(parts: Parts) -> str:
    """The newest checks of the benchmark itself on each device, "" without any."""
    gettext, words, selfchecks = parts.language.gettext, parts.words, parts.results.selfchecks
    if not selfchecks:
        return ""
    lines = []
    for selfcheck in selfchecks:
        device = words.value(short_name(selfcheck.environment.device_name))
        named = TableCell(words.noted(device, parts.language.date(selfcheck.taken_at)))
        lines += [(named, *_check(check, words)) for check in selfcheck.checks]
    head = gettext("Device"), gettext("What is checked"), gettext("Value"), gettext("Result")
    return _table(parts, words.say(gettext("Checks of the benchmark itself")), head, lines)


def _check(check: Check, words: Words) -> tuple[TableCell, TableCell, TableCell]:
    """Return the question of a check, its figure and its result."""
    gettext, number = words.language.gettext, words.language.number
    questions = {
        "eager_against_eager": gettext(
            "The speedup of eager against eager: from %(low)s to %(high)s, with 1 in its interval"
        ),
        "timer": gettext("Our latency divided by that of <code>Timer</code>: from %(low)s to %(high)s"),
        "busy_time": gettext("The busy time in the profiler divided by our latency: at most 1"),
        "replays": gettext("Replays of CUDA graphs per call with <code>reduce-overhead</code>: at least 1"),
        "caches": gettext("The time to ready with a warm cache divided by that with a cold one: less than 1"),
    }
    question = words.say(questions[check.name], low=number(1 - BOUND, 2), high=number(1 + BOUND, 2))
    if check.variant:
        question = words.noted(question, words.named("variant", check.variant))
    figure = "—" if check.figure is None else words.value(number(check.figure))
    if check.low is not None and check.high is not None:
        figure = words.noted(figure, words.bounds(check.low, check.high))
    results = {True: gettext("Passed"), False: gettext("Failed"), None: gettext("Not applicable here")}
    return (
        TableCell(question),
        TableCell(figure, None if check.figure is None else repr(check.figure), "number"),
        TableCell(words.phrase(results[check.has_passed])),
    )


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _table(parts: Parts, caption: str, head: Iterable[str], lines: Sequence[tuple[TableCell, ...]]) -> str:
    cells = tuple(
        TableCell(parts.words.say(text), classes=cell.classes.replace("prose", ""))
        for text, cell in zip(head, lines[0], strict=True)
    )
    return Table(caption, cells, tuple(map(Line, lines)), sortable=False).markdown()


def _code(text: str) -> TableCell:
    return TableCell(Markup("<code>{}</code>").format(" ".join(text.split())))  # a blank line would end the table


def _verbatim(text: str) -> TableCell:
    return TableCell(Markup('<span lang="en" dir="ltr">{}</span>').format(" ".join(text.split())), classes="prose")


def _number(value: float, words: Words, digits: int) -> TableCell:
    return TableCell(words.value(words.language.number(value, digits)), repr(value), "number")


FUNCTIONS = (programs, graphs_table, example_breaks_table, scores_table, selfcheck_table)
"""The functions for pages."""
