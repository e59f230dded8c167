"""How far off estimates are, as the page shows it in every language, and what the advisor answers."""

from __future__ import annotations

import dataclasses
import shutil
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import LANGUAGES
from estimates_data import accuracy, document
from html_page import read

from bench.records.estimates import EstimateAccuracy
from bench.records.record import RESULTS
from generator.checks.data_notes import data_notes
from generator.data.load import load
from generator.estimates import accuracy_tables
from generator.estimates.answers import answers
from generator.figures.words import Words
from generator.languages.language import load_language

ERRORS: dict[str, Any] = {"scheme": "features", "models": 9, "count": 90, "median_error": 0.1, "p90_error": 0.3}
GROUPED = (
    *(EstimateAccuracy(share="device", name=name, **ERRORS) for name in ("A", "B")),
    *(
        EstimateAccuracy(share="family", name=name, coverage_50=held / 2, coverage_90=held, **ERRORS)
        for name, held in (("good", 0.95), ("poor", 0.25))
    ),
)


def rows(language: str, folder: Path, *, by: str = "ways") -> list[list[str]]:
    estimates = document(accuracy=(accuracy("median", 0.4), *document().accuracy, *GROUPED))
    page = folder / "page.html"
    table = getattr(accuracy_tables, by)(estimates, Words(load_language(language), html=True))
    page.write_text(table, encoding="utf-8")
    return read(page).tables[0].rows


def test_each_way_with_its_errors_and_what_the_intervals_hold(tmp_path: Path) -> None:
    naive, size, *_ = rows("en", tmp_path)
    assert naive[:3] == ["naive: the median of all models", "13.3%", "40.0%"]
    assert size[:3] == ["the same model at a different image size", "1.7%", "5.0%"]
    assert size[-1] == "90"


def test_the_worst_family_comes_first(tmp_path: Path) -> None:
    assert [line[0] for line in rows("en", tmp_path, by="by_family")] == ["poor", "good"]
    assert [line[0] for line in rows("en", tmp_path, by="by_device")] == ["A", "B"]


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_names_the_ways(language: str, tmp_path: Path) -> None:
    assert not {line[0] for line in rows("en", tmp_path)} & {line[0] for line in rows(language, tmp_path)}


def test_the_advisor_has_an_answer_for_each_model_without_a_comparison_and_for_no_other() -> None:
    results = load()
    assert results.estimates is not None
    table = results.table[(results.table["workload"] == "throughput") & results.table["newest"]]
    newest = table[(table["torch"] == "2.9.1") & (table["dtype"] == results.estimates.dtype)]
    compared = newest[newest["speedup"].notna()]
    known = set(zip(compared["device"], compared["model"], compared["input_size"], strict=True))
    found = [each for several in answers(results).values() for each in several]
    assert len(found) > 800
    assert not {(each.device, each.model, each.input_size) for each in found} & known
    assert all((rests.device, rests.model, rests.input_size) in known for each in found for rests in each.relatives)
    assert all(0.3 < each.estimate.speedup < 25 for each in found)


def test_without_records_of_throughput_there_are_no_answers(tmp_path: Path) -> None:
    for name in ("estimates", "published/huggingface-2023.jsonl"):
        source, target = RESULTS / name, tmp_path / "results" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    results = load(tmp_path / "results", tmp_path)
    assert results.estimates is not None
    assert answers(results) == {}


def test_estimates_that_were_fitted_to_other_records_are_noted() -> None:
    results = load()
    assert results.estimates is not None
    old = dataclasses.replace(results, estimates=msgspec.structs.replace(results.estimates, comparisons=7))
    notes = {each: list(data_notes(each, date(2026, 11, 23))) for each in (results, old)}
    told = [note for note in notes[old] if note not in notes[results]]
    assert [note.partition(":")[0] for note in told] == ["Old estimates"]
    assert "python -m bench estimate" in told[0]
