"""Adding a language takes one command, and gives a complete site to be translated."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import polib
import pytest
from conftest import in_project, small_project
from fontTools.ttLib import TTFont
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


def test_without_a_font_it_says_how_to_get_one_and_the_same_command_adds_it_later(guide: Path, tmp_path: Path) -> None:
    report = "\n".join(add_language("ko", guide))
    assert "apt install fonts-noto-cjk" in report
    assert "python -m generator add-language ko --font FILE" in report
    before = (guide / "locales" / "languages.toml").read_bytes()
    folder = collection(tmp_path / "fonts", "NotoSansCJK", {"Noto Sans CJK KR": PHRASES["ko"].values()})
    assert "korean-regular.ttf and korean-bold.ttf" in "\n".join(add_language("ko", guide, folder))
    assert (guide / "locales" / "languages.toml").read_bytes() == before
    with pytest.raises(AtlasError, match="ko is already a language of the guide"):
        add_language("ko", guide, folder)


def test_an_unusable_font_changes_nothing(guide: Path, tmp_path: Path) -> None:
    folder = pair(tmp_path / "fonts", "NotoSansHebrew", "abc")
    before = {path: path.read_bytes() for path in guide.rglob("*") if path.is_file()}
    for font in (folder, folder / "NotoSansHebrew-Regular.ttf", tmp_path / "none.ttf"):
        with pytest.raises(AtlasError):
            add_language("he", guide, font)
    assert {path: path.read_bytes() for path in guide.rglob("*") if path.is_file()} == before


# --- a fifth and a sixth language of the real guide -------------------------------------------------------------------


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a copy of the project, in two languages, with two more, of two pages."""
    project = small_project(tmp_path_factory.mktemp("grown"), "glossary.md")
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


def test_both_languages_are_built_with_their_direction(grown: Path) -> None:
    for code, direction in (("ko", "ltr"), ("fa", "rtl")):
        page = (grown / code / "index.html").read_text(encoding="utf-8")
        assert f'<html lang="{code}"' in page
        assert f'<body dir="{direction}"' in page
        assert re.findall(r'hreflang="([^"]+)" lang=', page) == ["en", "ar", "ko", "fa"]
    assert check_site(grown, ("en", "ar", "ko", "fa")) == []


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


def test_a_notice_counts_what_is_missing_and_leads_to_the_catalog(grown: Path) -> None:
    page = (grown / "ko" / "index.html").read_text(encoding="utf-8")
    assert "3 of 4 texts on this page are not translated yet" in re.sub(r"<[^<>]*>", "", page)
    (line,) = re.findall(r"https://example.org/atlas/blob/HEAD/locales/ko/LC_MESSAGES/messages.po#L(\d+)", page)
    catalog = (grown.parent / "locales" / "ko" / "LC_MESSAGES" / "messages.po").read_text(encoding="utf-8").split("\n")
    assert any("A small guide" in text or "A p" in text for text in catalog[int(line) - 1 : int(line) + 4])


def test_no_mark_gets_into_an_attribute_or_a_title(grown: Path) -> None:
    for path in (*grown.glob("ko/**/*.html"), *grown.glob("fa/**/*.html")):
        page = path.read_text(encoding="utf-8")
        assert not re.search(r'="[^"<>]*<span', page), path
        assert "<span" not in re.findall(r"<title>(.*?)</title>", page)[0]
        assert "&lt;span" not in page, path


# --- fonts of four scripts --------------------------------------------------------------------------------------------

SHARED = ("assets/charts", "cards", "fonts")
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


def test_without_a_font_pictures_are_in_english_and_the_page_says_so(grown: Path, four: Four) -> None:
    (chart,) = (
        name for name in four.before if re.fullmatch(r"assets/charts/latency[^/]*1?\.svg", name) and "dark" not in name
    )
    assert four.before[f"ko/{chart}"] == four.before[chart]
    assert "그림은 영어로 되어 있습니다." in four.before["ko/index.html"].decode()
    assert "korean" not in four.before["ko/fonts/fonts.css"].decode().lower()
    assert "그림은" not in (grown / "ko" / "index.html").read_text(encoding="utf-8"), "there is one by now"


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


@pytest.mark.parametrize("code", list(PHRASES))
def test_the_letters_of_a_page_are_served(code: str, four: Four) -> None:
    files = (four.site / code / "fonts").glob(f"{code}-regular*.woff2")
    letters = {chr(each) for file in files for each in TTFont(BytesIO(file.read_bytes())).getBestCmap()}
    assert {letter for letter in PHRASES[code]["Small"] if not letter.isspace()} <= letters


def test_other_languages_and_their_fonts_stay_byte_for_byte(four: Four) -> None:
    fonts = contents(four.site.parent / FONTS)
    assert {name: fonts[name] for name in four.shipped if name.endswith(".ttf")} == {
        name: content for name, content in four.shipped.items() if name.endswith(".ttf")
    }
    for name, content in four.before.items():
        prefix, _, rest = name.partition("/")
        if name.startswith(SHARED) or (prefix in {"ar", "fa"} and rest.startswith(SHARED)):
            assert (four.site / name).read_bytes() == content, name


def test_every_language_has_the_same_pages(four: Four) -> None:
    assert check_site(four.site, ("en", "ar", "ko", "fa", "hi", "he", "th")) == []
