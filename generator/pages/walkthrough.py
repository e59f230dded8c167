"""The walkthrough of TorchDynamo on pages: listings, tables and the chart of the losses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean

from markupsafe import Markup

from bench.records.walkthrough import ExplainedBreak, Score, Walkthrough
from generator.drawing.curves import Curve, Curves, CurvesChart
from generator.figures.charts import linear_ticks, log_ticks
from generator.figures.markup import TableCell
from generator.figures.words import Words
from generator.pages import documents


def listing(text: str, language: str = "python") -> str:
    """Return text as fenced code."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def graphs_table(walkthrough: Walkthrough, words: Words) -> str:
    """Return the table of the graphs of one training step."""
    gettext = words.language.gettext
    head = (gettext("Captured from"), gettext("Operations"))
    lines = [(_code(graph.function), _count(graph.operations, words)) for graph in walkthrough.example.step.graphs]
    return documents.table(
        gettext("Graphs that Dynamo captures from one step of training"), head, lines, walkthrough, words
    )


def breaks_table(walkthrough: Walkthrough, words: Words, breaks: Iterable[ExplainedBreak]) -> str:
    """Return the table of graph breaks with their reasons."""
    gettext = words.language.gettext
    head = (gettext("Code location"), gettext("Reason"), gettext("Explanation"))
    lines = [(_code(end.location), _verbatim(end.reason), _verbatim(end.explanation)) for end in breaks]
    return documents.table(
        gettext("Graph breaks, with the reasons that PyTorch gives"), head, lines, walkthrough, words
    )


def scores_table(walkthrough: Walkthrough, words: Words) -> str:
    """Return the table of what both variants score on data that the network has not seen."""
    gettext, number = words.language.gettext, words.language.number
    example = walkthrough.example
    names = [words.say(gettext("fold %(number)s"), number=number(fold)) for fold in range(1, example.folds + 1)]
    pairs = list(zip(example.eager.folds, example.compiled.folds, strict=True))
    pairs += [(_mean(example.eager.folds), _mean(example.compiled.folds))]
    pairs += [(example.eager.held_out, example.compiled.held_out)]
    names += [words.say(gettext("mean of the folds")), words.say(gettext("held-out set"))]
    head = (
        gettext("Scored on"),
        *(gettext("MSE, eager"), gettext("MSE, compiled"), gettext("R², eager"), gettext("R², compiled")),
    )
    lines = [
        (TableCell(name), *(_figure(value, words) for value in (eager.mse, compiled.mse, eager.r2, compiled.r2)))
        for name, (eager, compiled) in zip(names, pairs, strict=True)
    ]
    return documents.table(
        gettext("Mean squared error and R² of the trained networks"), head, lines, walkthrough, words
    )


def _mean(scores: Sequence[Score]) -> Score:
    return Score(mse=mean(score.mse for score in scores), r2=mean(score.r2 for score in scores))


def _code(text: str) -> TableCell:
    return TableCell(Markup("<code>{}</code>").format(_one_line(text)))


def _verbatim(text: str) -> TableCell:
    return TableCell(Markup('<span lang="en" dir="ltr">{}</span>').format(_one_line(text)), classes="prose")


def _one_line(text: str) -> str:
    """Join the lines of a text: a blank line would end the HTML of the table."""
    return " ".join(text.split())


def _count(value: int, words: Words) -> TableCell:
    return TableCell(words.value(words.language.number(value)), str(value), "number")


def _figure(value: float, words: Words) -> TableCell:
    return TableCell(words.value(words.language.number(value, 4)), repr(value), "number")


# ── Chart ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def loss_chart(walkthrough: Walkthrough, language_words: Words) -> CurvesChart:
    """Return the chart of both variants' losses by epoch. Where they agree, the narrow compiled line lies on the wide
    eager one."""
    language = language_words.language
    gettext, words, example = language.gettext, Words(language, html=False), walkthrough.example
    curves = (
        Curve(gettext("eager, training set"), example.eager.train_losses, "eager", 6),
        Curve(gettext("eager, held-out set"), example.eager.held_out_losses, "eager", 6, dashed=True),
        Curve(gettext("compiled, training set"), example.compiled.train_losses, "compiled", 2),
        Curve(gettext("compiled, held-out set"), example.compiled.held_out_losses, "compiled", 2, dashed=True),
    )
    values = [value for curve in curves for value in curve.values]
    headline = gettext("Loss during training, eager and compiled")
    drawn = Curves(
        language.code,
        language.direction == "rtl",
        curves,
        axis=gettext("mean squared error, logarithmic scale (lower is better)"),
        ticks=tuple((tick, language.number(tick)) for tick in log_ticks(min(values) / 2, max(values))),
        step_axis=gettext("epoch"),
        step_ticks=tuple((round(tick), language.number(tick)) for tick in linear_ticks(1, example.epochs)),
    )
    finding = gettext(
        "From the first to the last epoch, the error on the held-out set goes from %(first)s to %(last)s in eager "
        "mode, and from %(compiled_first)s to %(compiled_last)s when compiled."
    )
    ends = {
        "first": example.eager.held_out_losses[0],
        "last": example.eager.held_out_losses[-1],
        "compiled_first": example.compiled.held_out_losses[0],
        "compiled_last": example.compiled.held_out_losses[-1],
    }
    changes = words.say(finding, **{name: language.number(value, 3) for name, value in ends.items()})
    alt = words.sentences([words.say(gettext("%(headline)s."), headline=headline), changes])
    caption = language_words.facts([language_words.say(headline), *documents.facts(walkthrough, language_words)])
    return CurvesChart(drawn, alt, caption)
