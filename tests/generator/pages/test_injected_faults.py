"""The record of injected faults: what tests tell becomes a document, which contributors see in their language."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

import pytest
from conftest import LANGUAGES
from faults import Survived, cases, injected, lies
from html_page import read

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.records.injected_faults import (
    Before,
    CaseGroup,
    FaultKind,
    FaultOutcome,
    FaultPlace,
    Faults,
    gathered,
    newest,
    write,
)
from bench.records.record import Environment
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import injected_faults as shown

ENVIRONMENT = Environment(device_name="x", torch="2.13.0+cpu")


def document() -> Faults:
    told: list[tuple[str, object]] = []
    survived = Survived(lambda name, value: told.append((name, value)))
    survived("worker_hangs", "run", "recorded")
    survived("power_cut", "records", "nothing_lost", 1200)
    survived("power_cut", "records", "nothing_lost", 34)
    survived("worker_hangs", "imports", "recorded", 2)
    return gathered(ENVIRONMENT, injected([*told, ("another property", 1)]))


def test_what_tests_tell_is_counted_and_read_back(tmp_path: Path) -> None:
    found = document()
    assert [(each.kind, each.times) for each in found.injected] == [
        ("power_cut", 1234),
        ("worker_hangs", 2),
        ("worker_hangs", 1),
    ]
    assert found.times == 1237
    path = write(found, tmp_path / "faults")
    assert newest(tmp_path) == found
    assert path.name == f"{datetime.now(UTC):%Y-%m-%d}.json"
    assert list(check([tmp_path], tmp_path)) == []
    path.write_text(path.read_text().replace('"power_cut"', '"poltergeist"'))
    with pytest.raises(AtlasError, match="poltergeist"):
        newest(tmp_path)
    assert newest(tmp_path / "nowhere") is None


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_table_names_each_fault_with_its_outcome(code: str, tmp_path: Path) -> None:
    language = load_language(code)
    page = tmp_path / "page.html"
    page.write_text(shown.table(document(), Words(language, html=True)), encoding="utf-8")
    (table,) = read(page).tables
    assert [row[-1] for row in table.rows] == [language.number(1234, 0), language.number(3, 0)]
    assert table.rows[0][0] == str(shown.kinds(language)["power_cut"])
    if code == LANGUAGES[0]:
        assert table.rows[0] == ["The power fails", "records", "Nothing that was recorded is lost", "1,234"]
        assert table.rows[1][1] == "imported files and a run"


@pytest.mark.parametrize("code", LANGUAGES)
def test_cases_are_gathered_by_what_happened_before_and_now(code: str, tmp_path: Path) -> None:
    told: list[tuple[str, object]] = []
    survived = Survived(lambda name, value: told.append((name, value)))
    for number in range(7):
        survived.case("numbers", f"seconds = -{number}", "accepted", "refused")
    survived.case("numbers", "seconds = 1e26", "broke", "refused")
    survived.case("names", "/home/alice NVIDI\u0410 <b>" + "x" * 200, "accepted", "marked")
    survived.lies(200, 1)
    found = gathered(ENVIRONMENT, [], cases=cases(told), lies=lies(told))
    assert newest_of(found, tmp_path) == found
    page, language = tmp_path / "page.html", load_language(code)
    page.write_text(shown.cases(found, Words(language, html=True)), encoding="utf-8")
    (table,) = read(page).tables
    assert [row[3] for row in table.rows] == [language.number(count, 0) for count in (7, 1, 1)]
    assert table.rows[0][4].count("seconds = -") == shown.EXAMPLES
    assert "/home/alice NVIDI\\u0410 <b>xx" in table.rows[2][4]
    if code == LANGUAGES[0]:
        assert table.rows[1][1:3] == ["A command failed or hung", "Refused"]
        assert "pass unmarked: 1 of 200" in page.read_text(encoding="utf-8")


def newest_of(found: Faults, folder: Path) -> Faults | None:
    """Return a document as it comes back from its file."""
    write(found, folder / "faults")
    assert list(check([folder], folder)) == []
    return newest(folder)


def test_everything_that_can_be_told_has_words() -> None:
    english = load_language("en")
    assert shown.kinds(english).keys() == set(get_args(FaultKind))
    assert shown.places(english).keys() == set(get_args(FaultPlace))
    assert shown.outcomes(english).keys() == set(get_args(FaultOutcome))
    assert shown.groups(english).keys() == set(get_args(CaseGroup))
    assert shown.verdicts(english).keys() == set(get_args(Before))
