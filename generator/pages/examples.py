"""The captured output of the example programs on pages: listings, tables and the chart of the losses."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from statistics import mean

import pandas as pd
from markupsafe import Markup

from bench.records.documents import Capture
from generator.data.names import short_name
from generator.figures.cells import TableCell
from generator.figures.charts import Chart
from generator.figures.drawing import Curve
from generator.figures.markup import Line, Table
from generator.figures.words import Words


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


def graphs_table(examples: Capture, words: Words) -> str:
    """Return the table of the graphs of one training step."""
    gettext = words.language.gettext
    lines = [
        (_code(graph["function"]), _number(graph["operations"], words, 0)) for graph in examples.training_step["graphs"]
    ]
    headline = gettext("Graphs that Dynamo captures from one step of training")
    return _table(headline, (gettext("Captured from"), gettext("Operations")), lines, examples, words)


def breaks_table(examples: Capture, words: Words, breaks: Iterable[Mapping[str, str]]) -> str:
    """Return the table of graph breaks with their reasons."""
    gettext = words.language.gettext
    lines = [(_code(each["location"]), _verbatim(each["reason"]), _verbatim(each["explanation"])) for each in breaks]
    head = gettext("Code location"), gettext("Reason"), gettext("Explanation")
    return _table(gettext("Graph breaks, with the reasons that PyTorch gives"), head, lines, examples, words)


def scores_table(examples: Capture, words: Words) -> str:
    """Return the table of the errors of both variants on unseen data."""
    gettext, number = words.language.gettext, words.language.number
    eager, compiled = examples.k_fold["eager"], examples.k_fold["compiled"]
    folds = range(1, examples.k_fold["folds"] + 1)
    names = [words.say(gettext("fold %(number)s"), number=number(fold)) for fold in folds]
    names += [words.say(gettext("mean of the folds")), words.say(gettext("held-out set"))]
    columns = [
        (*scores, mean(scores), variant["held_out"][error])
        for error in ("mse", "r2")
        for variant in (eager, compiled)
        for scores in [[fold[error] for fold in variant["folds"]]]
    ]
    head = gettext("MSE, eager"), gettext("MSE, compiled"), gettext("R², eager"), gettext("R², compiled")
    lines = [
        (TableCell(name), *(_number(value, words, 4) for value in values))
        for name, *values in zip(names, *columns, strict=True)
    ]
    headline = gettext("Mean squared error and R² of the trained networks")
    return _table(headline, (gettext("Scored on"), *head), lines, examples, words)


def _code(text: str) -> TableCell:
    return TableCell(Markup("<code>{}</code>").format(" ".join(text.split())))  # a blank line would end the table


def _verbatim(text: str) -> TableCell:
    return TableCell(Markup('<span lang="en" dir="ltr">{}</span>').format(" ".join(text.split())), classes="prose")


def _number(value: float, words: Words, digits: int) -> TableCell:
    return TableCell(words.value(words.language.number(value, digits)), repr(value), "number")


def _table(
    headline: str, head: Iterable[str], lines: Sequence[tuple[TableCell, ...]], examples: Capture, words: Words
) -> str:
    cells = tuple(
        TableCell(words.say(text), classes=cell.classes.replace("prose", ""))
        for text, cell in zip(head, lines[0], strict=True)
    )
    return Table(_caption(headline, examples, words), cells, tuple(map(Line, lines)), sortable=False).markdown()


def _caption(headline: str, examples: Capture, words: Words) -> str:
    language = words.language
    machine = short_name(examples.device_name), f"PyTorch {examples.torch.partition('+')[0]}"
    date = words.say(language.gettext("recorded on %(date)s"), date=language.date(examples.taken_at))
    return words.facts([words.say(headline), *map(words.value, machine), date])


def loss_chart(examples: Capture, html_words: Words) -> Chart:
    """Return the chart of both variants' losses by epoch. Where they agree, the narrow compiled line lies on the wide
    eager one."""
    language = html_words.language
    gettext, words = language.gettext, Words(language, html=False)
    eager, compiled = examples.k_fold["eager"], examples.k_fold["compiled"]
    curves = (
        Curve(tuple(eager["train_losses"]), "eager", 6),
        Curve(tuple(eager["held_out_losses"]), "eager", 6, dashed=True),
        Curve(tuple(compiled["train_losses"]), "compiled", 2),
        Curve(tuple(compiled["held_out_losses"]), "compiled", 2, dashed=True),
    )
    finding = gettext(
        "From the first to the last epoch, the error on the held-out set goes from %(first)s to %(last)s in eager "
        "mode, and from %(compiled_first)s to %(compiled_last)s when compiled."
    )
    ends = {
        "first": eager["held_out_losses"][0],
        "last": eager["held_out_losses"][-1],
        "compiled_first": compiled["held_out_losses"][0],
        "compiled_last": compiled["held_out_losses"][-1],
    }
    headline = gettext("Loss during training, eager and compiled")
    changes = words.say(finding, **{name: language.number(value, 3) for name, value in ends.items()})
    return Chart(
        curves,
        words.sentences([words.say(gettext("%(headline)s."), headline=headline), changes]),
        _caption(headline, examples, html_words),
        words.facts([gettext("mean squared error, logarithmic scale (lower is better)"), gettext("epoch")]),
        (
            (gettext("eager, training set"), "eager"),
            (gettext("eager, held-out set"), "eager dashed"),
            (gettext("compiled, training set"), "compiled"),
            (gettext("compiled, held-out set"), "compiled dashed"),
        ),
    )


def losses_as_csv(examples: Capture) -> str:
    """Return the losses of both variants as CSV, an epoch a line, in full."""
    columns = {
        f"{variant}_{losses}": examples.k_fold[variant][f"{losses}_losses"]
        for variant in ("eager", "compiled")
        for losses in ("train", "held_out")
    }
    table = pd.DataFrame(columns).rename_axis("epoch")
    table.index += 1
    return table.to_csv(lineterminator="\n")
