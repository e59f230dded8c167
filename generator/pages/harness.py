"""Tables for the methodology page that show how well the harness measures: ways of timing, and proofs on devices."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from markupsafe import Markup

from bench.records.proof import Check, CheckName, Finding, Proof
from bench.records.repeatability import OURS, Repeatability
from generator.figures.markup import TableCell
from generator.figures.words import Words
from generator.languages.language import Language
from generator.pages import documents


def repeatability(found: Repeatability, words: Words) -> str:
    """Return a table with a line for each model and way of timing: its result, the spread of repeats and the cost."""
    gettext = words.language.gettext
    head = (
        *(gettext("Model"), gettext("Timing method"), gettext("Speedup")),
        *(gettext("Spread of the speedup"), gettext("Eager (ms)"), gettext("Compiled (ms)")),
        gettext("Time spent measuring (s)"),
    )
    lines = [_line(found, way, model, words) for model in found.models for way in found.ways]
    return documents.table(gettext("Timing methods compared on the same models"), head, lines, found, words)


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
        OURS: gettext("the standard profile of this project"),
        "mean_of_300": gettext("the mean of 300 calls, one variant after the other"),
        "alone": gettext(
            "our rounds in one process, one variant after the other"
        ),  # in records from before variants took turns
        "interleaved": gettext("our rounds in one process, variants taking turns"),
    }
    timer = Markup("<code>Timer.{}</code>").format(way)
    return TableCell(words.phrase(names[way]) if way in names else timer)


# ── Proofs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def proofs(found: Sequence[Proof], words: Words) -> str:
    """Return a table for each device, with a line for each check: what it asks, its result, and how far figures are
    apart."""
    gettext = words.language.gettext
    head = gettext("What is checked"), gettext("Result"), gettext("Difference"), gettext("Allowed")
    headline = gettext("Checks of the harness on a device")
    return "\n\n".join(
        documents.table(headline, head, [_check(check, words) for check in proof.checks], proof, words)
        for proof in found
    )


def _check(check: Check, words: Words) -> tuple[TableCell, ...]:
    question = words.phrase(_questions(words.language)[check.name])
    if check.variant:
        gettext = words.language.gettext
        names = {"eager": gettext("eager"), "compiled": gettext("compiled")}
        question = words.noted(question, words.phrase(names[check.variant]))
    result = words.phrase(_findings(words.language)[check.finding])
    figures = ", ".join(f"{name} {value:g}" for name, value in check.figures.items()) if check.ratio is None else ""
    detail = check.reason or figures  # as recorded
    if detail:
        result = Markup('{}<br><code lang="en">{}</code>').format(result, detail)
    return (
        TableCell(question),
        TableCell(result, None, "verbatim" if detail else ""),
        _apart(check, words),
        _bound(check, words),
    )


def _apart(check: Check, words: Words) -> TableCell:
    if check.ratio is None:
        return TableCell("—", None, "number")
    text = words.value(words.percent(check.ratio - 1))
    if check.low is not None and check.high is not None and check.low < check.high:
        message = words.language.gettext("%(low)s to %(high)s")
        ends = {"low": words.percent(check.low - 1), "high": words.percent(check.high - 1)}
        text = words.noted(text, words.say(message, **ends))
    return TableCell(text, repr(check.ratio), "number")


def _bound(check: Check, words: Words) -> TableCell:
    if check.bound is None:
        return TableCell("—", None, "number")
    return TableCell(words.value(words.language.percent(check.bound, 0)), repr(check.bound), "number")


def _questions(language: Language) -> dict[CheckName, str]:
    """Return what each check asks."""
    gettext = language.gettext
    return {
        "eager_against_eager": gettext("A model compared with itself shows no difference"),
        "clocks": gettext("Waiting after each call, or once after many, gives the same time per call"),
        "alone": gettext("A variant is as fast alone in a long block as it is in turn with the other variant"),
        "device_time": gettext("The device time is the time during which the profiler sees kernels run"),
        "energy": gettext("The energy is the power multiplied by the time"),
        "replays": gettext("CUDA graphs are replayed where the mode promises it, and only there"),
        "throttling": gettext("Rounds at a lowered power limit are detected"),
        "out_of_memory": gettext("Running out of memory is recorded, and the next process can measure again"),
    }


def _findings(language: Language) -> dict[Finding, str]:
    """Return the words for the results."""
    gettext = language.gettext
    return {
        "passed": gettext("Passed"),
        "failed": gettext("Failed"),
        "not_applicable": gettext("Not applicable here"),
        "unknown": gettext("Could not be determined"),
    }
