"""A language that is listed gets a catalog, and a complete site to be translated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import in_project, small_project
from guide_figures import copy_of_guide

from generator.languages.catalogs import refresh
from generator.languages.language import catalog_path


@pytest.mark.parametrize(
    ("code", "header"),
    [
        ("pl", ["# Polish translations of Compile Atlas.", "Plural-Forms: nplurals=4;"]),
        ("pt-BR", ["# Portuguese translations of Compile Atlas.", "Plural-Forms: nplurals=3;"]),
    ],
)
def test_a_listed_language_gets_a_catalog(tmp_path: Path, code: str, header: list[str]) -> None:
    root = copy_of_guide(tmp_path)
    (catalog,) = refresh(root, root / "locales", [code])
    text = catalog.read_text(encoding="utf-8")
    assert [line for line in header if line not in text] == []


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of a copy of the project, in two languages, with two more, of one page."""
    project = small_project(tmp_path_factory.mktemp("grown"))
    (project / "locales" / "languages.toml").write_text('languages = ["en", "ar", "ko", "fa"]\n', encoding="utf-8")
    home = project / "docs" / "index.md"
    chart = '{{ overview_chart(device="a100") }}'
    home.write_text(f"{home.read_text(encoding='utf-8')}\n{chart}\n", encoding="utf-8")
    refresh(project, project / "locales", ("ko", "fa"))
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
