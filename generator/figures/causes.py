"""Sentences that explain a verdict, from the causes that `bench.statistics.causes` computed.

Each sentence has a figure that was measured; the best explanation comes first.
"""

from __future__ import annotations

import json

from bench.statistics.causes import Cause, Explanation
from generator.figures.words import Words
from generator.languages.language import Language


def parse(text: str) -> list[Explanation]:
    """Parse the causes of a row of the results: a list of pairs in JSON."""
    return [Explanation(Cause(cause), figure) for cause, figure in json.loads(text or "[]")]


def why(causes: str, verdict: str, words: Words) -> str:
    """Return all causes of a cell as sentences; a sentence also says that there is none, or a doubt."""
    if verdict == "doubtful":
        return words.say(words.language.gettext("The data lint doubts this record, so it supports no recommendation."))
    sentences = [_sentence(each, verdict, words) for each in parse(causes)]
    if not sentences and verdict == "ambiguous":
        return words.say(words.language.gettext("No clear difference, so there is nothing to explain."))
    return words.sentences(sentences or [words.language.gettext("Nothing that was measured explains it.")])


def _sentence(explanation: Explanation, verdict: str, words: Words) -> str:
    language, figure = words.language, explanation.figure
    message = _message(explanation.cause, verdict == "faster", round(figure), language)
    return words.say(
        message, share=language.percent(figure, 0), count=language.number(round(figure)), speedup=language.ratio(figure)
    )


def _message(cause: Cause, is_faster: bool, count: int, language: Language) -> str:  # noqa: PLR0911 - a cause a case
    """Return the message of a cause, with a placeholder for its figure: a share, a count or a ratio."""
    gettext, ngettext = language.gettext, language.ngettext
    match cause:
        case Cause.HOST_BOUND if is_faster:
            return gettext("In eager mode the device waits for the host during %(share)s of a call.")
        case Cause.HOST_BOUND:
            return gettext("Even compiled, the device waits for the host during %(share)s of a call.")
        case Cause.MEMORY_BOUND:
            return gettext("Merged kernels move %(share)s fewer bytes than eager mode.")
        case Cause.PAGE_FAULTS:
            return ngettext(
                "A compiled call causes %(count)s fewer page fault: it asks the system for less memory.",
                "A compiled call causes %(count)s fewer page faults: it asks the system for less memory.",
                count,
            )
        case Cause.CUDAGRAPH_SKIPS:
            return ngettext(
                "CUDA graphs were skipped, for %(count)s reason.",
                "CUDA graphs were skipped, for %(count)s reasons.",
                count,
            )
        case Cause.GRAPH_BREAKS:
            return ngettext(
                "%(count)s graph break hands the call back to Python.",
                "%(count)s graph breaks hand the call back to Python.",
                count,
            )
        case Cause.RECOMPILES:
            return ngettext(
                "The model was compiled again %(count)s time, although its inputs kept their shape.",
                "The model was compiled again %(count)s times, although its inputs kept their shape.",
                count,
            )
        case Cause.AT_THE_PEAK:
            return gettext(
                "Eager mode already reaches %(share)s of the measured matrix multiplication peak, "
                "so little is left to win."
            )
        case Cause.NEVER_PAYS_BACK:
            return gettext("At a speedup of %(speedup)s, no number of calls repays the compilation.")
