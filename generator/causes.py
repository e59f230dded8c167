"""Why a cell came out as it did, in words: the causes that `bench.cause` computed enter, sentences leave.

Each sentence says what was measured, with its figure, the cause that explains the verdict best first.

    python -m pytest tests/test_causes.py
"""

from __future__ import annotations

import json
from collections.abc import Callable

from bench.cause import Cause, Explanation
from generator.words import Words


def parse(text: str) -> list[Explanation]:
    """The causes in a row of the results: a list of pairs in JSON."""
    return [Explanation(Cause(cause), figure) for cause, figure in json.loads(text or "[]")]


def why(causes: str, verdict: str, words: Words) -> str:
    """All causes of a cell as sentences, in the words of `words`; that there is none is a sentence as well."""
    sentences = [_sentence(each, verdict, words) for each in parse(causes)]
    return words.sentences(sentences or [words.language.gettext("Nothing that was measured explains it.")])


def _sentence(explanation: Explanation, verdict: str, words: Words) -> str:
    tell: dict[Cause, Callable[[float, Words], str]] = {
        Cause.HOST_BOUND: _waited if verdict == "faster" else _still_waits,
        Cause.MEMORY_BOUND: _memory_bound,
        Cause.PAGE_FAULTS: _page_faults,
        Cause.CUDAGRAPH_SKIPS: _skips,
        Cause.GRAPH_BREAKS: _breaks,
        Cause.RECOMPILES: _recompiles,
        Cause.AT_THE_PEAK: _at_the_peak,
        Cause.NEVER_PAYS_BACK: _never,
    }
    return tell[explanation.cause](explanation.figure, words)


def _waited(share: float, words: Words) -> str:
    message = words.language.gettext("In eager mode the device waits for the host during %(share)s of a call.")
    return words.say(message, share=words.language.percent(share, 0))


def _still_waits(share: float, words: Words) -> str:
    message = words.language.gettext("Even compiled, the device waits for the host during %(share)s of a call.")
    return words.say(message, share=words.language.percent(share, 0))


def _memory_bound(share: float, words: Words) -> str:
    message = words.language.gettext("Merged kernels move %(share)s fewer bytes than eager mode.")
    return words.say(message, share=words.language.percent(share, 0))


def _page_faults(count: float, words: Words) -> str:
    fewer = round(count)
    message = words.language.ngettext(
        "A compiled call causes %(count)s fewer page fault: it asks the system for less memory.",
        "A compiled call causes %(count)s fewer page faults: it asks the system for less memory.",
        fewer,
    )
    return words.say(message, count=words.language.number(fewer))


def _skips(count: float, words: Words) -> str:
    message = words.language.ngettext(
        "CUDA graphs were skipped, for %(count)s reason.", "CUDA graphs were skipped, for %(count)s reasons.", count
    )
    return words.say(message, count=words.language.number(count))


def _breaks(count: float, words: Words) -> str:
    message = words.language.ngettext(
        "%(count)s graph break hands the call back to Python.",
        "%(count)s graph breaks hand the call back to Python.",
        count,
    )
    return words.say(message, count=words.language.number(count))


def _recompiles(count: float, words: Words) -> str:
    message = words.language.ngettext(
        "The model was compiled again %(count)s time, although its inputs kept their shape.",
        "The model was compiled again %(count)s times, although its inputs kept their shape.",
        count,
    )
    return words.say(message, count=words.language.number(count))


def _at_the_peak(share: float, words: Words) -> str:
    message = words.language.gettext(
        "Eager mode already reaches %(share)s of the measured matrix multiplication peak, so little is left to win."
    )
    return words.say(message, share=words.language.percent(share, 0))


def _never(speedup: float, words: Words) -> str:
    message = words.language.gettext("At a speedup of %(speedup)s, no number of calls repays the compilation.")
    return words.say(message, speedup=words.language.ratio(speedup))
