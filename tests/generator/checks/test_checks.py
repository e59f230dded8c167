"""The check of a whole project: pages, catalogs; each finding with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
from guide_figures import GUIDE, copy_of_guide

from generator.checks.checks import check


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_of_guide(tmp_path)


def edit(root: Path, file: str, old: str, new: str) -> None:
    path = root / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def found(root: Path, file: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.what) for finding in check(root) if finding.file == file]


def line_of(root: Path, file: str, text: str) -> int:
    lines = (root / file).read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, start=1) if text in line)


def test_nothing_is_wrong_with_the_small_guide() -> None:
    assert check(GUIDE) == []


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("- Second:", "- Second is 12.5 ms:", "the measurement 12.5 ms is typed"),
        ("- Second:", "- Second is 1.5× as fast:", "the measurement 1.5× is typed"),
        ("- Second:", "- Second reaches 7 TFLOP/s:", "the measurement 7 TFLOP/s is typed"),
        ("| low |", "| 3 seconds |", "the measurement 3 seconds is typed"),
        ("description: Latency of", "description: The 7 ms of", "the measurement 7 ms is typed"),
        ("# Is it faster? {#is-it-faster}", "# Is it faster?", "the heading has no id"),
        ("- Second:", "## Again {#is-it-faster}", "the id is-it-faster stands at 2 headings"),
        ("- Second:", "# Again {#again}", "the page has 2 first-level headings"),
        ("- Second:", "<p>Unseen text</p>", "text inside HTML is never translated"),
        ("- Second:", "- It is {% if atlas %}fast{% endif %}.", "a Jinja statement is inside a sentence"),
        ("- Second:", "- Sec\u202aond:", "the invisible character U+202A"),
        ("- Second:", "- Sec\u0085ond:", "the invisible character U+0085"),
        ("title: Is it faster?\n", "", "the page has no title"),
    ],
)
def test_a_mistake_in_a_page_is_found(root: Path, old: str, new: str, what: str) -> None:
    edit(root, "docs/index.md", old, new)
    line = line_of(root, "docs/index.md", new) if new else 1
    assert any(number == line and each.startswith(what) for number, each in found(root, "docs/index.md"))


# --- catalogs ---------------------------------------------------------------------------------------------------------

ZH = "locales/zh/LC_MESSAGES/messages.po"


def test_a_changed_page_makes_catalogs_old(root: Path) -> None:
    edit(root, "docs/index.md", "Smaller gains.", "Larger gains.")
    findings = check(root)
    assert {(finding.file, finding.line) for finding in findings} == {
        (f"locales/{code}/LC_MESSAGES/messages.po", 1) for code in ("zh", "ja", "ar")
    }
    assert all("python -m generator messages" in finding.remedy for finding in findings)
    assert "1 message is missing and 1 is no longer used" in findings[0].what


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ('msgstr "收益较小。"', 'msgstr ""', "the translation is missing"),
        (
            'msgid "Smaller gains."',
            '#, fuzzy\nmsgid "Smaller gains."',
            "the translation is fuzzy, so the page shows English",
        ),
        (
            'msgstr[0] "%(count)s 个模型"',
            'msgstr[0] "个模型"',
            "msgstr[0], for 0, 1, 2, …: %(count)s is missing",
        ),
        ("nplurals=1; plural=0;", "nplurals=1; plural=1;", "Plural-Forms differs from the rule of CLDR"),
    ],
)
def test_a_mistake_in_a_translation_is_found(root: Path, old: str, new: str, what: str) -> None:
    edit(root, ZH, old, new)
    assert what in [each for _, each in found(root, ZH)]


def test_a_term_without_a_translation_is_found(root: Path) -> None:
    edit(root, "locales/glossary.toml", 'zh = "批次大小"\n', "")
    line = line_of(root, "locales/glossary.toml", 'en = "batch size"')
    assert found(root, "locales/glossary.toml") == [(line, "the term has no translation into the language zh")]


@pytest.mark.parametrize(("index", "numbers"), [(0, ""), (1, ""), (2, ""), (3, "3"), (4, "11"), (5, "100")])
def test_an_arabic_form_of_several_numbers_says_which(root: Path, index: int, numbers: str) -> None:
    file = "locales/ar/LC_MESSAGES/messages.po"
    text = (root / file).read_text(encoding="utf-8")
    form = next(line for line in text.split("\n") if line.startswith(f"msgstr[{index}]"))
    edit(root, file, form, f'msgstr[{index}] "نماذج"')
    said = [what for _, what in found(root, file)]
    assert [what.startswith(f"msgstr[{index}], for {numbers}") for what in said] == [True] * bool(numbers)
