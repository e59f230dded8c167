"""Sentences that explain a verdict, from the causes that `bench.statistics.causes` computed.

Each sentence has a figure that was measured; the best explanation comes first.
"""

from __future__ import annotations

import json

from bench.statistics.causes import Cause, Explanation
from generator.figures.words import Words
from generator.languages.language import Language


def parse(text: str) -> list[Explanation]:
    """Parse the causes of a row of the results: a list of cause, figure and share, in JSON."""
    return [Explanation(Cause(cause), figure, share) for cause, figure, share in json.loads(text or "[]")]


def why(causes: str, verdict: str, words: Words) -> str:
    """Return all causes of a cell as sentences; a sentence also says that there is none, or a doubt."""
    if verdict == "doubtful":
        return words.say(
            words.language.gettext("The data lint marks this record as doubtful, so no recommendation is based on it.")
        )
    sentences = [sentence for each in parse(causes) for sentence in _sentences(each, verdict, words)]
    if not sentences and verdict == "inconclusive":
        return words.say(words.language.gettext("The result is inconclusive, so there is nothing to explain."))
    return words.sentences(sentences or [words.language.gettext("None of the measurements explains this result.")])


def _sentences(explanation: Explanation, verdict: str, words: Words) -> list[str]:
    """Return a cause in words, with its share of the saving unless that is estimated as all of it."""
    language, figure, share = words.language, explanation.figure, explanation.share
    message = _message(explanation.cause, verdict == "faster", round(figure), language)
    figures = {"share": language.percent(figure, 0), "count": language.number(round(figure))}
    found = [words.say(message, **figures, speedup=language.ratio(figure))]
    if share is not None and share < 1:
        part = language.gettext("This accounts for %(share)s of the time that compiling saves.")
        found.append(words.say(part, share=language.percent(share, 0)))
    return found


def _message(cause: Cause, is_faster: bool, count: int, language: Language) -> str:  # noqa: PLR0911 - all causes
    """Return the message of a cause, with a placeholder for its figure: a share, a count or a ratio."""
    gettext, ngettext = language.gettext, language.ngettext
    match cause:
        case Cause.LAYOUT:
            return gettext(
                "The compiler chooses the channels-last memory layout for convolutions. In eager mode, this layout "
                "alone gives a speedup of %(speedup)s."
            )
        case Cause.HOST_BOUND if is_faster:
            return gettext("In eager mode, the device spends %(share)s of a call waiting for the host.")
        case Cause.HOST_BOUND:
            return gettext("Even with the compiled model, the device spends %(share)s of a call waiting for the host.")
        case Cause.MEMORY_BOUND:
            return gettext("Fused kernels move %(share)s fewer bytes than eager mode.")
        case Cause.CUDAGRAPH_SKIPS:
            return ngettext(
                "CUDA graphs were skipped for %(count)s reason.",
                "CUDA graphs were skipped for %(count)s reasons.",
                count,
            )
        case Cause.GRAPH_BREAKS:
            return ngettext(
                "%(count)s graph break hands control back to Python.",
                "%(count)s graph breaks hand control back to Python.",
                count,
            )
        case Cause.RECOMPILES:
            return ngettext(
                "The model was recompiled %(count)s time, although the shape of its inputs did not change.",
                "The model was recompiled %(count)s times, although the shape of its inputs did not change.",
                count,
            )
        case Cause.AT_THE_PEAK:
            return gettext(
                "Eager mode already reaches %(share)s of the measured matrix multiplication peak, so there is little "
                "left to gain."
            )
        case Cause.NEVER_PAYS_BACK:
            return gettext("At a speedup of %(speedup)s, no number of calls makes up for the time to ready.")
