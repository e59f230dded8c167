"""Tables for the methodology page that show how well the harness measures: ways of timing, and proofs on devices."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from markupsafe import Markup

from bench.records.proof import Check, CheckName, Finding, Proof, Reason
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
    head = gettext("What is checked"), gettext("Result"), gettext("Difference")
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
    if check.reason:
        result = words.noted(result, words.say(_reasons(words.language)[check.reason], **_gaps(check, words.language)))
    return TableCell(question), TableCell(result), _apart(check, words)


def _gaps(check: Check, language: Language) -> dict[str, str]:
    """Return what the message for a reason may hold: the figures of the check, and its bound."""
    figures = {
        name: language.percent(value, 0) if name.endswith("_share") else language.number(value, 0)
        for name, value in check.figures.items()
    }
    return {**figures, "bound": language.percent(check.bound, 0)}


def _apart(check: Check, words: Words) -> TableCell:
    if check.ratio is None:
        return TableCell("—", None, "number")
    text = words.value(words.percent(check.ratio - 1))
    if check.low is not None and check.high is not None and check.low < check.high:
        message = words.language.gettext("%(low)s to %(high)s")
        ends = {"low": words.percent(check.low - 1), "high": words.percent(check.high - 1)}
        text = words.noted(text, words.say(message, **ends))
    return TableCell(text, repr(check.ratio), "number")


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
        "compiled_ahead": gettext("A speedup does not depend on whether the model was compiled before its turn"),
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


def _reasons(language: Language) -> dict[Reason, str]:
    """Return why a check has not passed."""
    gettext = language.gettext
    return {
        "figures_apart": gettext("more than %(bound)s apart"),
        "same_module_differs": gettext("the model was found to differ from itself"),
        "machine_too_unsteady": gettext("the machine is too unsteady for a tolerance of %(bound)s"),
        "clocks_apart": gettext("the clocks of device and host differ by %(events_apart_share)s"),
        "host_too_slow": gettext("the host is slower than the device"),
        "no_cuda": gettext("NVIDIA GPUs only"),
        "device_not_held": gettext("the device started before the whole call was queued"),
        "no_kernel_seen": gettext("the profiler saw no kernel"),
        "above_latency": gettext("the device time exceeds the latency"),
        "other_replays": gettext(
            "%(default_replays)s replays in the default mode, %(reduce_overhead_replays)s in reduce-overhead"
        ),
        "no_counter": gettext("the required sensors cannot be read"),
        "counter_stands_still": gettext("the energy counter does not change"),
        "not_permitted": gettext("the power limit was not lowered"),
        "limit_not_restored": gettext("the power limit could not be restored"),
        "load_too_light": gettext("%(highest_w)s W drawn at a limit of %(limit_w)s W"),
        "cap_not_seen": gettext("only %(capped_share)s of the readings report the limit"),
        "memory_not_scarce": gettext("memory cannot be made scarce here"),
        "not_reported": gettext("something else was recorded"),
        "nothing_measured_after": gettext("the next process measured nothing"),
        "process_ended": gettext("the process ended without an answer"),
        "exception": gettext("the check itself stopped with an error"),
    }
