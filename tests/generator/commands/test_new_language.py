"""Adding a language takes one command, and gives a complete site to be translated."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polib
import pytest
from conftest import in_project, small_project
from guide_figures import copy_of_guide
from tiny_fonts import collection, pair

from bench.errors import AtlasError
from generator.checks.rendered_checks import check_site
from generator.commands.new_language import FONTS, add_language
from generator.drawing import faces, make_fonts
from generator.languages.language import catalog_path, listed

LIST = '# Languages.\nlanguages = ["en", "zh", "ja", "ar"]\n'


PHRASES = tomllib.loads(Path(__file__).with_name("phrases.toml").read_text(encoding="utf-8"))


@pytest.fixture(autouse=True, scope="module")
def _nothing_installed() -> Iterator[None]:
    """This machine may have the fonts of Noto, or not."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_fonts, "_installed", list)
        yield


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    root = copy_of_guide(tmp_path)
    (root / FONTS).mkdir()
    shutil.copy(faces.FONTS / faces.LIST, root / FONTS)
    (root / "locales" / "languages.toml").write_text(LIST, encoding="utf-8")
    return root


def test_it_is_listed_and_has_a_catalog(guide: Path) -> None:
    add_language("pl", guide)
    assert listed(guide / "locales") == ("en", "zh", "ja", "ar", "pl")
    assert (guide / "locales" / "languages.toml").read_text(encoding="utf-8").startswith("# Languages.\n")
    catalog = polib.pofile(str(catalog_path("pl", guide / "locales")))
    assert catalog.metadata["Plural-Forms"].startswith("nplurals=4;")
    assert catalog.metadata["X-Complete"] == "no"


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        (
            "ko",
            ["Korean (한국어), ltr, below /ko/", "2024년 3월 1일", "search: en, ko", "no font for the script Korean"],
        ),
        ("fa", ["Persian (فارسی), rtl", "msgstr[0] for 0, 1; msgstr[1] for 2, 3", "one for its script (Arabic)"]),
        ("pt-BR", ["português (Brasil)", "45,0%", "one for its script (Latin)"]),
        ("ckb", ["search: en", "3 terms of locales/glossary.toml"]),
    ],
)
def test_the_report_names_what_follows_from_the_code_and_what_is_left_to_do(
    guide: Path, code: str, parts: list[str]
) -> None:
    report = "\n".join(add_language(code, guide))
    assert [part for part in parts if part not in report] == []
    assert f"translate locales/{code}/LC_MESSAGES/messages.po" in report


@pytest.mark.parametrize("code", ["ja", "en", "klingon", "en-XA", "zh_TW"])
def test_a_code_that_is_none_or_is_there_is_refused(guide: Path, code: str) -> None:
    with pytest.raises(AtlasError):
        add_language(code, guide)
    assert (guide / "locales" / "languages.toml").read_text(encoding="utf-8") == LIST


# --- a fifth and a sixth language of the real guide -------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a copy of the project, in two languages, with two more, of one page."""
    project = small_project(tmp_path_factory.mktemp("grown"))
    (project / "locales" / "languages.toml").write_text('languages = ["en", "ar"]\n', encoding="utf-8")
    settings = project / "mkdocs.yml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}\nrepo_url: https://example.org/atlas\n", encoding="utf-8")
    home = project / "docs" / "index.md"
    home.write_text(f"{home.read_text(encoding='utf-8')}\n{CHART}\n", encoding="utf-8")
    for code in ("ko", "fa"):
        add_language(code, project)
    untranslated = ("A small guide", "A page.")
    translate(project, "ko", {text: PHRASES["ko"][text] for text in PHRASES["ko"] if text not in untranslated})
    translate(project, "ko", {"Property": "속성"})
    return built(project)


CHART = '{{ latency_chart(device="a100") }}'


def translate(project: Path, code: str, phrases: dict[str, str]) -> None:
    catalog = polib.pofile(str(catalog_path(code, project / "locales")), wrapwidth=0)
    for entry in catalog:
        entry.msgstr = phrases.get(entry.msgid, entry.msgstr)
    catalog.save()


def built(project: Path) -> Path:
    site = project / "site"
    done = in_project(project, "mkdocs", "build", "--site-dir", str(site))
    assert done.returncode == 0, done.stderr
    return site


def test_what_is_translated_is_shown_and_the_rest_is_marked_as_english(grown: Path) -> None:
    page = (grown / "ko" / "index.html").read_text(encoding="utf-8")
    marked = '<span class="untranslated" lang="en" dir="ltr">'
    assert ">작음<" in page.replace('<a class="headerlink"', "<")
    assert "속성</" in page
    assert f"{marked}A paragraph that nobody translated.</span>" in page
    assert re.search(rf"<caption>{marked}Environment of the records</span></caption>", page), (
        "a string of the interface"
    )
    assert f"{marked}Made with" in page, "a string of a template"


# --- fonts of four scripts --------------------------------------------------------------------------------------------

"""Folders of files that do not say which languages there are."""


@dataclass(frozen=True)
class Four:
    """The site with four more languages, and what was in it, and among the fonts, before three of them."""

    site: Path
    before: dict[str, bytes]
    shipped: dict[str, bytes]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def four(grown: Path, tmp_path_factory: pytest.TempPathFactory) -> Four:
    """By the documented steps: a command a language, with a font, and a translated catalog."""
    project, folder = grown.parent, tmp_path_factory.mktemp("fonts")
    before, shipped = contents(grown), contents(project / FONTS)
    japanese = {"Noto Sans CJK JP": "かな", "Noto Sans CJK KR": PHRASES["ko"].values()}
    collection(folder, "NotoSansCJK", japanese)
    for code, name in (("hi", "NotoSansDevanagari"), ("he", "NotoSansHebrew"), ("th", "NotoSansThai")):
        pair(folder, name, PHRASES[code].values())
    for code in PHRASES:
        done = in_project(project, "generator", "add-language", code, "--font", str(folder))
        assert done.returncode == 0, done.stderr
        translate(project, code, PHRASES[code])
    return Four(built(project), before, shipped)


@pytest.mark.parametrize("code", list(PHRASES))
def test_with_a_font_pages_charts_and_cards_are_in_the_language(code: str, four: Four) -> None:
    page = (four.site / code / "index.html").read_text(encoding="utf-8")
    assert f'<html lang="{code}"' in page
    assert f'<body dir="{"rtl" if code == "he" else "ltr"}"' in page
    assert f">{PHRASES[code]['Small']}<" in page.replace('<a class="headerlink"', "<")
    note = "The picture is in English because the guide has no font with all the letters of this language."
    assert PHRASES[code][note] not in page
    for name in (*(each for each in four.before if re.match("assets/charts/.*svg", each)), "cards/index.png"):
        assert (four.site / code / name).read_bytes() != (four.site / name).read_bytes(), name


def test_every_language_has_the_same_pages(four: Four) -> None:
    assert check_site(four.site, ("en", "ar", "ko", "fa", "hi", "he", "th")) == []
