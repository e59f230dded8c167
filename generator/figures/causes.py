"""Sentences that explain a verdict, from the causes that `bench.statistics.causes` computed.

Each sentence has a figure that was measured; the best explanation comes first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from bench.statistics.causes import Cause
from generator.data.registry import N_, N_n
from generator.figures.words import Words

SENTENCES: Mapping[Cause, str | tuple[str, str]] = {
    Cause.LAYOUT: N_(
        "The compiler chooses the channels-last memory layout for convolutions. In eager mode, this layout alone gives "
        "a speedup of %(speedup)s."
    ),
    Cause.HOST_BOUND: N_("Even with the compiled model, the device spends %(share)s of a call waiting for the host."),
    Cause.MEMORY_BOUND: N_("Fused kernels move %(share)s fewer bytes than eager mode."),
    Cause.CUDAGRAPH_SKIPS: N_n(
        "CUDA graphs were skipped for %(count)s reason.", "CUDA graphs were skipped for %(count)s reasons."
    ),
    Cause.GRAPH_BREAKS: N_n(
        "%(count)s graph break hands control back to Python.", "%(count)s graph breaks hand control back to Python."
    ),
    Cause.RECOMPILES: N_n(
        "The model was recompiled %(count)s time, although the shape of its inputs did not change.",
        "The model was recompiled %(count)s times, although the shape of its inputs did not change.",
    ),
    Cause.AT_THE_PEAK: N_(
        "Eager mode already reaches %(share)s of the measured matrix multiplication peak, so there is little left to "
        "gain."
    ),
    Cause.NEVER_PAYS_BACK: N_("At a speedup of %(speedup)s, no number of calls makes up for the time to ready."),
}
"""A sentence for each cause; one that counts has two forms. Its figure is a share, a count or a ratio."""

WAITING = N_("In eager mode, the device spends %(share)s of a call waiting for the host.")
"""The sentence for the host as the limit where compiling is faster."""


def why(causes: str, verdict: str, words: Words) -> str:
    """Return all causes of a cell as sentences, from JSON; a sentence also says that there is none, or a doubt."""
    language, gettext = words.language, words.language.gettext
    if verdict == "doubtful":
        return words.say(gettext("The data lint marks this record as doubtful, so no recommendation is based on it."))
    sentences = []
    for name, figure, share in json.loads(causes or "[]"):
        cause, count = Cause(name), round(figure)
        forms = WAITING if verdict == "faster" and cause is Cause.HOST_BOUND else SENTENCES[cause]
        message = gettext(forms) if isinstance(forms, str) else language.ngettext(*forms, count)
        of_call, ratio = language.percent(figure, 0), language.ratio(figure)
        sentences.append(words.say(message, share=of_call, count=language.number(count), speedup=ratio))
        if share is not None and share < 1:  # else it is estimated as all of the saving
            part = gettext("This accounts for %(share)s of the time that compiling saves.")
            sentences.append(words.say(part, share=language.percent(share, 0)))
    if not sentences and verdict == "inconclusive":
        return words.say(gettext("The result is inconclusive, so there is nothing to explain."))
    return words.sentences(sentences or [gettext("None of the measurements explains this result.")])
