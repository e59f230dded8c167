"""The sheet of a review: its links and cells, and its form in a browser, whose file comes back as a review."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest
from click.testing import CliRunner
from playwright.sync_api import Browser

from generator import cli
from generator.commands.review_sheet import place, sheet, table
from generator.languages import reviews
from generator.languages.coverage import INTERFACE
from generator.languages.language import load_language, translated_languages
from generator.languages.reviews import COLUMNS, TranslatedText, read_answers

JA = load_language("ja")
SITE = "https://guide.test/atlas/"
TEXT = TranslatedText("0" * 16, ("docs/modes.md",), "", "A mode", "**モード** `x-y` は、{{ a }} の一-例です。", 2)
EVIL = TranslatedText("1" * 16, (INTERFACE,), "", '=HYPERLINK("x")', "+<script>alert(1)</script>", 1)


def test_a_place_is_the_page_at_the_longest_part_that_it_shows_as_it_is() -> None:
    address = place(TEXT, JA, SITE)
    assert address.startswith(f"{SITE}ja/modes/#:~:text=")
    assert unquote(address.partition("text=")[2]) == "の一-例です"
    assert "-" not in address.partition("text=")[2], "a hyphen is a sign of text fragments"


def test_pages_of_many_devices_lead_to_their_list_and_the_interface_to_nothing() -> None:
    assert place(replace(TEXT, pages=("docs/devices/each.md",)), JA, SITE) == f"{SITE}ja/devices/"
    assert place(replace(TEXT, pages=("docs/index.md",)), JA, SITE).startswith(f"{SITE}ja/#")
    assert place(EVIL, JA, SITE) == ""


def test_no_cell_is_a_formula_and_no_text_is_markup() -> None:
    head, *rows = csv.reader(io.StringIO(table([EVIL, TEXT]).decode("utf-8-sig")))
    assert tuple(head) == COLUMNS
    assert [row[:2] for row in rows] == [["0" * 16, "docs/modes.md"], ["1" * 16, INTERFACE]]
    assert rows[1][2:4] == ['\'=HYPERLINK("x")', "'+<script>alert(1)</script>"]
    html = sheet([EVIL, replace(TEXT, place="<s>Modes</s> · <s>heading</s> · /modes/")], JA, SITE)
    assert "<s>" not in html
    assert "<script>alert" not in html
    assert '<code dir="ltr">{{ a }}</code> の一-例です。' in html


@pytest.mark.parametrize("code", translated_languages())
def test_every_text_of_the_guide_is_on_the_sheet_once_in_its_direction(code: str) -> None:
    language, present = load_language(code), reviews.texts(code)
    html = sheet(present, language, SITE)
    assert sorted(re.findall(r'data-id="(\w+)"', html)) == sorted(text.id for text in present)
    assert html.count(f'<td lang="{code}" dir="{language.direction}">') == len(present)


@pytest.mark.browser
def test_what_a_reader_chooses_comes_back_as_a_review(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "review.html"
    path.write_text(sheet([TEXT, EVIL], JA, SITE), "utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    row = page.locator(f"tr[data-id='{TEXT.id}']")
    row.locator("select").select_option("major")
    row.locator("[name=better]").fill('モード, "x"\n二行')
    page.reload()  # what was chosen stays
    page.locator("[data-rest]").last.click()
    assert page.locator("output").inner_text() == "2 of 2 read"
    with page.expect_download() as download:
        page.locator("#save").click()
    content = Path(download.value.path()).read_bytes()
    page.close()
    review = read_answers(content, [TEXT, EVIL], "ja", dt.date(2026, 11, 24), "", "a.csv").review
    assert review.sound == (EVIL.id,)
    assert [(fault.id, fault.severity, fault.better) for fault in review.faults] == [
        (TEXT.id, "major", 'モード, "x" 二行')
    ]


def test_the_command_writes_both_files_and_reads_one_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[reviews.Review] = []

    def record(review: reviews.Review) -> Path:
        kept.append(review)
        return tmp_path / "kept.json"

    monkeypatch.setattr(reviews, "record", record)
    out = tmp_path / "ja.html"
    run = CliRunner().invoke
    done = run(cli.main, ["review", "--language", "ja", "--page", "docs/index.md", "--out", str(out)])
    assert done.exit_code == 0, done.output
    filled = out.with_suffix(".csv").read_text("utf-8-sig").splitlines()
    assert all(line.split(",")[1] == "docs/index.md" for line in filled[1:3])
    back = tmp_path / "back.csv"
    back.write_text(f"id,score\n{filled[1].split(',')[0]},ok\n", "utf-8")
    done = run(cli.main, ["review", "--language", "ja", "--read", str(back), "--by", "A"])
    assert done.exit_code == 0, done.output
    assert "1 text read, 0 findings" in done.output
    assert [(review.by, len(review.sound)) for review in kept] == [("A", 1)]
