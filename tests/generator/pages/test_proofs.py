"""What has been proved on each device, as the methodology page shows it in every language."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from conftest import LANGUAGES
from html_page import read
from test_proof import proof

from bench.records import proof as documents
from bench.records.proof import Check, Reason
from generator.data.load import load
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import harness as shown
from generator.pages.atlas import Atlas

CHECKS = (
    Check(name="eager_against_eager", finding="passed", ratio=1.001, low=0.998, high=1.004, bound=0.01),
    Check(name="alone", variant="compiled", finding="failed", ratio=1.2, bound=0.05, reason="figures_apart"),
    Check(name="replays", finding="passed", figures={"default_replays": 0.0, "reduce_overhead_replays": 1.0}),
    Check(name="energy", finding="unknown", reason="exception", told="no <counter> in x.py"),
    Check(name="clocks", finding="failed", reason="clocks_apart", figures={"events_apart_share": 0.031}),
)


def rows(language: str, folder: Path) -> list[list[str]]:
    page = folder / "page.html"
    page.write_text(shown.proofs([proof(*CHECKS)], Words(load_language(language), html=True)), encoding="utf-8")
    return read(page).tables[0].rows


def test_each_check_has_its_result_and_how_far_figures_are_apart(tmp_path: Path) -> None:
    itself, alone, replays, energy, clocks = rows("en", tmp_path)
    assert itself[1:] == ["Passed", "+0.1% (−0.2% to +0.4%)"]
    assert "compiled" in alone[0]
    assert alone[1:] == ["Failed (more than 5% apart)", "+20.0%"]
    assert replays[1:] == ["Passed", "—"]
    assert energy[1:] == ["Could not be determined (the check itself stopped with an error)", "—"]
    assert clocks[1] == "Failed (the clocks of device and host differ by 3%)"


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_names_the_checks(language: str, tmp_path: Path) -> None:
    english, names = rows("en", tmp_path), rows(language, tmp_path)
    assert not {line[0] for line in english} & {line[0] for line in names}


def test_every_reason_has_its_words() -> None:
    assert shown._reasons(load_language("en")).keys() == set(get_args(Reason))


def test_a_cpu_proves_nothing_of_gpus(tmp_path: Path) -> None:
    def has_proved_gpu() -> bool:
        return Atlas(load(tmp_path, tmp_path / "cache"), load_language("en")).has_proved_gpu

    assert not has_proved_gpu()
    documents.write(proof(), tmp_path / "proofs")
    assert not has_proved_gpu()
    documents.write(proof(device="cuda"), tmp_path / "proofs")
    assert has_proved_gpu()
