"""Causes in words: a sentence for each that there is, with its figure, in every language."""

from __future__ import annotations

import json
import re

import pytest
from conftest import LANGUAGES

from bench.statistics.causes import Cause
from generator.figures.causes import why
from generator.figures.words import Words
from generator.languages.language import load_language


def told(cause: Cause, figure: float, verdict: str = "faster", language: str = "en", share: float | None = None) -> str:
    return why(json.dumps([[cause, figure, share]]), verdict, Words(load_language(language), html=False))


@pytest.mark.parametrize(
    ("cause", "figure", "verdict", "sentence"),
    [
        (Cause.HOST_BOUND, 0.62, "faster", "In eager mode, the device spends 62% of a call waiting for the host."),
        (Cause.HOST_BOUND, 0.4, "slower", "Even with the compiled model, the device spends 40% of a call waiting"),
        (Cause.CUDAGRAPH_SKIPS, 2, "same", "CUDA graphs were skipped for 2 reasons."),
        (Cause.GRAPH_BREAKS, 1, "same", "1 graph break hands control back to Python."),
        (Cause.NEVER_PAYS_BACK, 0.97, "slower", "At a speedup of 0.97×, no number of calls makes up for the time"),
    ],
)
def test_a_sentence_with_its_figure(cause: Cause, figure: float, verdict: str, sentence: str) -> None:
    assert told(cause, figure, verdict).startswith(sentence)


def test_a_cause_of_a_gain_says_its_share() -> None:
    part = "This accounts for 6% of the time that compiling saves."
    assert told(Cause.MEMORY_BOUND, 0.25, share=0.056).endswith(f"eager mode. {part}")
    assert "accounts" not in told(Cause.MEMORY_BOUND, 0.25, share=1.2)


def test_several_causes_follow_each_other_and_no_cause_is_said() -> None:
    words = Words(load_language("en"), html=False)
    causes = json.dumps([[Cause.GRAPH_BREAKS, 2, None], [Cause.NEVER_PAYS_BACK, 0.9, None]])
    assert len(re.findall(r"\.(?: |$)", why(causes, "slower", words))) == 2
    assert why("", "faster", words) == "None of the measurements explains this result."


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("cause", list(Cause))
def test_every_cause_has_words(cause: Cause, language: str) -> None:
    sentence = told(cause, 3, language=language, share=0.3)
    assert re.search(r"\d", sentence)
    assert "%(" not in sentence
