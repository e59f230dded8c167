"""Adding a language takes one command, and gives a complete site to be translated."""

from __future__ import annotations

import re
from pathlib import Path

import polib
import pytest
from conftest import in_project, small_project
from guide_figures import copy_of_guide

from bench.errors import AtlasError
from generator.checks.rendered_checks import check_site
from generator.commands.new_language import add_language
from generator.languages.language import catalog_path, listed

LIST = '# Languages.\nlanguages = ["en", "zh", "ja", "ar"]\n'


@pytest.fixture
def guide(tmp_path: Path) -> Path:
    root = copy_of_guide(tmp_path)
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
        ("ko", ["Korean (한국어), ltr, below /ko/", "2024년 3월 1일", "search: en, ko", "none for its script (Kore)"]),
        ("fa", ["Persian (فارسی), rtl", "msgstr[0] for 0, 1; msgstr[1] for 2, 3", "one for its script (Arab)"]),
        ("pt-BR", ["português (Brasil)", "45,0%", "labels of the theme: pt-BR", "one for its script (Latn)"]),
        ("ckb", ["Material has none of its own", "3 terms of locales/glossary.toml"]),
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
    """The site of a copy of the project, in two languages, with two more, of two pages."""
    project = small_project(tmp_path_factory.mktemp("grown"), "translations.md")
    (project / "locales" / "languages.toml").write_text('languages = ["en", "ar"]\n', encoding="utf-8")
    settings = project / "mkdocs.yml"
    text = settings.read_text(encoding="utf-8")
    settings.write_text(f"{text}\nrepo_url: https://example.org/atlas\n", encoding="utf-8")
    for code in ("ko", "fa"):
        add_language(code, project)
    catalog = polib.pofile(str(catalog_path("ko", project / "locales")), wrapwidth=0)
    for entry in catalog:  # no title: no font has the letters to draw its card with
        if entry.msgid in {"Small", "Device"}:
            entry.msgstr = {"Small": "작음", "Device": "기기"}[entry.msgid]
    catalog.save()
    done = in_project(project, "mkdocs", "build", "--site-dir", str(project / "site"))
    assert done.returncode == 0, done.stderr
    return project / "site"


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
    assert "기기</" in page
    assert f"{marked}A paragraph that nobody translated.</span>" in page
    assert re.search(rf"<th[^>]*>{marked}Comparisons</span></th>", page), "a string of the interface"
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
