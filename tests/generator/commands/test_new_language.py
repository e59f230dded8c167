"""Adding a language takes one command, and gives a complete site to be translated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import in_project, small_project
from guide_figures import copy_of_guide

from bench.errors import AtlasError
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
    assert listed(guide / "locales").languages == ("en", "zh", "ja", "ar", "pl")
    assert (guide / "locales" / "languages.toml").read_text(encoding="utf-8").startswith("# Languages.\n")
    catalog = catalog_path("pl", guide / "locales").read_text(encoding="utf-8")
    assert catalog.startswith("# Polish translations of Compile Atlas.\n")
    assert '"Plural-Forms: nplurals=4;' in catalog


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("ko", ["Korean (한국어), ltr, below /ko/", "2024년 3월 1일", "search: en, ko"]),
        ("fa", ["Persian (فارسی), rtl", "msgstr[0] for 0, 1; msgstr[1] for 2, 3"]),
        ("pt-BR", ["português (Brasil)", "45,0%"]),
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
    chart = '{{ overview_chart(device="a100") }}'
    home.write_text(f"{home.read_text(encoding='utf-8')}\n{chart}\n", encoding="utf-8")
    for code in ("ko", "fa"):
        add_language(code, project)
    catalog = catalog_path("ko", project / "locales")
    text = catalog.read_text(encoding="utf-8")
    for english, translation in (("Small", "작음"), ("Property", "속성")):
        text = text.replace(f'msgid "{english}"\nmsgstr ""', f'msgid "{english}"\nmsgstr "{translation}"')
    catalog.write_text(text, encoding="utf-8")
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


def test_charts_and_cards_need_nothing_for_a_new_language(grown: Path) -> None:
    pages = {code: (grown / code / "index.html").read_text(encoding="utf-8") for code in ("ko", "fa")}
    assert '<html lang="ko"' in pages["ko"]
    assert '<body dir="rtl"' in pages["fa"]
    shown = {code: re.findall(r'src="../(assets/charts/[^"#]+)', page) for code, page in pages.items()}
    assert shown["ko"] == ["assets/charts/overview-device-a100.svg", "assets/charts/overview-device-a100.dark.svg"]
    assert shown["fa"] == [name.replace("a100.", "a100.rtl.") for name in shown["ko"]]
    for path in (*shown["ko"], *shown["fa"], "cards/index.png"):
        assert (grown / path).is_file()
        assert not (grown / "ko" / path).exists()
