"""Pages: translation, figures, fallback, errors; golden pages of a small guide in four languages."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import measured, write
from conftest import LANGUAGES
from guide_figures import Atlas, expect_golden, figures, rendered, text

from bench.errors import AtlasError
from generator.data.load import load
from generator.languages.language import catalog_path, load_language
from generator.languages.page_source import read_pages
from generator.pages.expressions import Expressions
from generator.pages.pages import expressions_of, render_pages


def page(source: str, folder: Path, code: str = "en", catalog: str = "", atlas: Atlas | None = None) -> str:
    """One page of a guide of one page."""
    docs = folder / "docs"
    docs.mkdir(exist_ok=True)
    (docs / "index.md").write_text(source, encoding="utf-8")
    path = catalog_path(code, folder / "locales")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(catalog, encoding="utf-8")
    language = load_language(code, folder / "locales")
    (file,) = render_pages(language, Expressions(figures(language, atlas)), read_pages(docs, {}))
    return text(file)


# --- golden pages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", LANGUAGES)
def test_pages_are_as_they_were(code: str) -> None:
    expect_golden(code, rendered(code))


# --- translation ------------------------------------------------------------------------------------------------------

HEADER = 'msgid ""\nmsgstr "Language: zh\\n"\n\n'
ZH = 'msgid "It takes {{ 7 | ms }}."\nmsgstr "耗时{{ 7 | ms }}。"\n'


def test_a_missing_translation_is_marked_and_counted(tmp_path: Path) -> None:
    html = page("# Title {#t}\n\nIt takes {{ 7 | ms }}.\n\nMore\ntext.\n", tmp_path, "zh", ZH)
    assert "# <span" in html
    assert '<span class="untranslated" lang="en" dir="ltr">More text.</span>' in html
    mark = '<span class="untranslated" lang="en" dir="ltr">'
    assert f'!!! info "{mark}Translation in progress</span>"\n    {mark}2 of 3 texts' in html
    assert html.index("# <span") < html.index("!!! info") < html.index("耗时")


def test_a_translation_with_other_expressions_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(AtlasError) as error:
        page("It takes {{ 7 | ms }}.\n", tmp_path, "zh", HEADER + ZH.replace("耗时{{ 7", "耗时{{ 8"))
    assert error.value.where.endswith("messages.po:4")
    assert "{{ 7 | ms }}" in error.value.remedy


# --- figures ----------------------------------------------------------------------------------------------------------


def test_a_table_within_a_list_item_stays_in_it(tmp_path: Path) -> None:
    expected = "- x\n\n    <table>\n    <tr><td>a</td></tr>\n    </table>\n"
    assert page('- x\n\n    {{ table(device="a") }}\n', tmp_path) == expected


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place", "what", "remedy"),
    [
        ("Text\n{{ atlas.lates }}\n", 2, "no figure 'lates' in Atlas", "latest"),
        ("Text\n\n{{ atlass.latest }}\n", 3, "no figure 'atlass'", "atlas"),
        ("Text {{ 3 | mss }}\n", 1, "no filter 'mss'", "ms"),
        ("---\ntitle: T\n---\n\nText {{ device.label }}\n", 5, "no figure 'device'", ""),
        ("---\ntitle: T\ndescription: D {{ atlas.lates }}\n---\n", 3, "no figure 'lates'", "latest"),
        ("{% for x in y %}\n", 1, "", "raw"),
        ("Text\n\n```yaml\na: ${{ secrets.TOKEN }}\n```\n", 4, "no figure 'secrets'", "{% raw %}"),
        ("```jinja\n{{ latest }}\n```\n", 2, "no figure 'latest'", "{% raw %}"),
        ("Use `${#array}`.\n", 0, "end of comment", "{% raw %}"),
        ("\n\n{{ table() }}\n", 3, "cannot be evaluated", "arguments"),
        ("{{ [] | first | ms }}\n", 1, "sequence was empty", "arguments"),
        ("---\ntitle: a: b\n---\n", 2, "not valid YAML", "quotes"),
        ("---\ntitle: {{ x }}\n---\n", 2, "", "quotes"),
        ("---\n- a\n---\n", 2, "not a list of keys", "title"),
        ("---\ntitle: 3\n---\n", 2, "not a text", "quotes"),
        ("---\nfor_each: planets\n---\n", 2, "planets", "devices"),
        ("---\nfor_each: devices\n---\n", 0, "many pages", "each.md"),
        ("---\nconstants: 3\n---\n", 2, "not a list of texts", "constants"),
    ],
)
def test_a_mistake_is_named_with_place_and_remedy(
    tmp_path: Path, source: str, place: int, what: str, remedy: str
) -> None:
    with pytest.raises(AtlasError) as error:
        page(source, tmp_path)
    assert error.value.where == f"docs/index.md{f':{place}' if place else ''}"
    assert what in error.value.what
    assert remedy in error.value.remedy


@pytest.mark.parametrize(
    "expression",
    [
        "atlas.results.table.speedup.to_csv('written')",
        "atlas.results.table['speedup'].to_pickle('written')",
        "atlas.results.table.speedup.array.tofile('written')",
        "[atlas.results.table.speedup] | map(attribute='to_csv') | list",
        "language.catalog.write_text('written')",
        "atlas.__class__.__mro__",
        "''.__class__.__mro__[1].__subclasses__()",
        "(''|attr('__class__')).mro()",
        "atlas.devices.append(1)",
        "atlas.device.clear()",
    ],
)
def test_expressions_run_no_code_write_no_file_and_change_nothing(
    expression: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"Text\n\n{{{{ {expression} }}}}\n", encoding="utf-8")
    results = load(write(tmp_path / "records", [measured()]))
    chinese = load_language("zh")
    (page,) = render_pages(chinese, expressions_of(results, chinese), read_pages(tmp_path / "docs", {}))
    with pytest.raises(AtlasError) as error:
        page.content  # noqa: B018  # which renders it
    assert error.value.where == "docs/index.md:3"
    assert not (tmp_path / "written").exists()


def test_lines_of_errors_are_those_of_the_page_in_every_language(tmp_path: Path) -> None:
    with pytest.raises(AtlasError) as error:
        page("It takes\n{{ 7 | ms }}.\n\n{{ atlas.lates }}\n", tmp_path, "zh", ZH)
    assert error.value.where == "docs/index.md:4"
