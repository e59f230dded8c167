"""What has been proved on each device, as the methodology page shows it in every language."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LANGUAGES
from html_page import read
from test_proof import proof

from bench.records import proof as documents
from bench.records.proof import Check
from generator.data.load import load
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import harness as shown
from generator.pages.atlas import Atlas

CHECKS = (
    Check(name="eager_against_eager", finding="passed", ratio=1.001, low=0.998, high=1.004, bound=0.01),
    Check(name="alone", variant="compiled", finding="failed", ratio=1.2, bound=0.05, reason="20% apart"),
    Check(name="replays", finding="passed", figures={"default_replays": 0.0, "reduce_overhead_replays": 1.0}),
    Check(name="energy", finding="unknown", reason="no <counter>"),
)


def rows(language: str, folder: Path) -> list[list[str]]:
    page = folder / "page.html"
    page.write_text(shown.proofs([proof(*CHECKS)], Words(load_language(language), html=True)), encoding="utf-8")
    return read(page).tables[0].rows


def test_each_check_has_its_result_and_how_far_figures_are_apart(tmp_path: Path) -> None:
    itself, alone, replays, energy = rows("en", tmp_path)
    assert itself[1:] == ["Passed", "+0.1% (−0.2% to +0.4%)", "1%"]
    assert "compiled" in alone[0]
    assert "20% apart" in alone[1]
    assert alone[2:] == ["+20.0%", "5%"]
    assert "reduce_overhead_replays 1" in replays[1]
    assert replays[2:] == ["—", "—"]
    assert "no <counter>" in energy[1], "what is recorded is text and no markup"


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_names_the_checks(language: str, tmp_path: Path) -> None:
    english, names = rows("en", tmp_path), rows(language, tmp_path)
    assert not {line[0] for line in english} & {line[0] for line in names}
    assert "20% apart" in names[1][1], "a reason is shown as it was recorded"


def test_a_cpu_proves_nothing_of_gpus(tmp_path: Path) -> None:
    def has_proved_gpu() -> bool:
        return Atlas(load(tmp_path, tmp_path / "cache"), load_language("en")).has_proved_gpu

    assert not has_proved_gpu()
    documents.write(proof(), tmp_path / "proofs")
    assert not has_proved_gpu()
    documents.write(proof(device="cuda"), tmp_path / "proofs")
    assert has_proved_gpu()
