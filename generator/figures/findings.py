"""The findings of the data lint in words: a name for each kind, and a sentence with the figures of each finding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from generator.data.digits import digits
from generator.data.lint import Anomaly, Kind
from generator.data.registry import N_, N_n
from generator.data.selection import Row, Rows
from generator.figures.words import Words

MANY: Mapping[Kind, str] = {
    "unequal_batches": N_(
        "The source measured eager and compiled with different batch sizes, so their ratio does not show the effect of "
        "compiling alone."
    ),
    "toy": N_(
        "These models exist only to test their library. They are far too small to say anything about real models."
    ),
    "device_order": N_("A device is clearly faster than one that is ahead of it nearly everywhere else."),
    "batch_order": N_("A larger batch takes clearly less time than a smaller one."),
    "version_jump": N_("The eager latency is far from the latency with a different version of PyTorch."),
    "implausible": N_("The speedup is larger than compiling usually explains."),
}
"""Sentences for many findings of a kind."""

FINDINGS: Mapping[Kind, str | tuple[str, str]] = {
    "repeated": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s) has exactly the same two latencies as "
        "on %(other)s at batch size %(other_size)s: %(eager_ms)s eager and %(compiled_ms)s compiled."
    ),
    "unequal_batches": N_(
        "%(model)s on %(device)s (PyTorch %(torch)s, mode %(mode)s): the source measured eager and compiled with "
        "different batch sizes, so the speedup does not show the effect of compiling alone."
    ),
    "toy": N_("%(model)s exists only to test its library. It is far too small to say anything about real models."),
    "device_order": N_n(
        "%(model)s at batch size %(size)s: the %(variant)s on %(device)s (%(ms)s) is clearly lower than on %(other)s "
        "(%(other_ms)s), although %(other)s is faster in %(share)s of the %(count)s benchmark case that both have.",
        "%(model)s at batch size %(size)s: the %(variant)s on %(device)s (%(ms)s) is clearly lower than on %(other)s "
        "(%(other_ms)s), although %(other)s is faster in %(share)s of the %(count)s benchmark cases that both have.",
    ),
    "batch_order": N_(
        "%(model)s on %(device)s (PyTorch %(torch)s, mode %(mode)s): the %(variant)s at batch size %(size)s "
        "(%(ms)s) is clearly lower than at the smaller batch size %(other_size)s (%(other_ms)s)."
    ),
    "version_jump": N_(
        "%(model)s on %(device)s at batch size %(size)s: the eager latency with PyTorch %(torch)s is %(ms)s, far "
        "from the %(other_ms)s with PyTorch %(other_torch)s."
    ),
    "implausible": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s): a speedup of "
        "%(speedup)s is larger than compiling usually explains."
    ),
    "impossible": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s): the %(variant)s of "
        "%(ms)s implies arithmetic at %(share)s of the device's measured matrix multiplication peak."
    ),
    "unstable": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s) has the status "
        "%(status)s, so its latencies are not reliable."
    ),
    "disturbed": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s): the two latencies give "
        "a speedup of %(speedup)s, but the paired rounds give %(paired)s. Something slowed down one of the two "
        "variants."
    ),
    "no_interval": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s) has too few rounds for "
        "an interval."
    ),
    "no_reason": N_(
        "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s) ended with the status "
        "%(status)s, but the record does not say why."
    ),
    "flag": N_n("The importer marked %(count)s row: %(flag)s.", "The importer marked %(count)s rows: %(flag)s."),
    "complaint": N_n(
        "While %(count)s row was measured, bench doctor reported a problem: %(check)s.",
        "While %(count)s rows were measured, bench doctor reported a problem: %(check)s.",
    ),
}
"""A sentence for each finding; one that counts has two forms."""

VARIANTS = {"eager": N_("eager latency"), "compiled": N_("compiled latency")}


def told(group: Sequence[Anomaly], rows: Rows, words: Words) -> str:
    """Describe one finding with its figures, or several of a kind without. `rows` are all rows by label."""
    first, *others = group
    if not others:
        return finding(first, rows, words)
    message = words.language.ngettext("%(count)s row", "%(count)s rows", len(group))
    many = words.phrase(words.language.gettext(MANY[first.kind])) if first.kind in MANY else ""
    return words.facts([words.counted(message, len(group)), many or words.named("fault", first.kind)])


def finding(anomaly: Anomaly, rows: Rows, words: Words) -> str:
    """Describe a finding with its figures."""
    language, forms = words.language, FINDINGS[anomaly.kind]
    count = anomaly.figures.get("count", len(anomaly.rows))
    message = language.gettext(forms) if isinstance(forms, str) else language.ngettext(*forms, count)
    row, other = rows[anomaly.rows[0]], rows[anomaly.rows[-1]]
    values = {name: _text(name, anomaly, row, other, words) for name in anomaly.figures}
    values["count"] = language.number(count)
    if anomaly.kind not in {"flag", "complaint"}:
        values |= {
            "model": row["model_label"],
            "device": words.device(row),
            "size": language.number(row["batch_size"]),
            "mode": row["compile_mode"],
            "torch": row["torch"],
            "other": words.device(other),
            "other_size": language.number(other["batch_size"]),
        }
    sentences = [words.say(message, **values)]
    if not math.isnan(anomaly.figures.get("expected_ms", math.nan)):
        again = language.gettext("With another PyTorch version, the eager latency of the same case is %(expected_ms)s.")
        sentences.append(words.say(again, **values))
    return words.sentences(sentences)


def _text(name: str, anomaly: Anomaly, row: Row, other: Row, words: Words) -> str:
    """Return a figure of a finding as text; a latency with the digits of its row."""
    language, value = words.language, anomaly.figures[name]
    if name.endswith("ms"):
        its_row = other if name == "other_ms" else row
        own = name if name in its_row else f"{anomaly.figures.get('variant', 'eager')}_ms"
        return language.milliseconds(value, digits(its_row, own))
    texts: Mapping[str, Callable[[Any], str]] = {
        "status": words.status_in_words,
        "variant": lambda variant: language.gettext(VARIANTS[variant]),
        "flag": lambda flag: words.named("flag", flag),
        "check": lambda check: words.named("check", check),
        "speedup": language.ratio,
        "paired": language.ratio,
        "share": lambda share: language.percent(share, 2 if anomaly.kind == "impossible" else 0),
    }
    return texts.get(name, str)(value)
