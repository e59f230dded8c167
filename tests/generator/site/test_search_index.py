"""The search index: words without figures, with the cells of a table apart."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies as st
from material.plugins.search.plugin import SearchIndex as MaterialIndex

from generator.site.material import search
from generator.site.search_index import SearchIndex

TABLE = """<table class="atlas" data-sortable>
<caption>Latency</caption>
<tr><th scope="col">Model</th><th scope="col" class="number">Eager (ms)</th></tr>
<tr><th scope="row"><a href="../vit/">ViT</a></th><td>A100</td><td class="number">9.325<br><small>9–10</small></td></tr>
<tr><th scope="row"><a href="../vit/">ViT</a></th><td>T4</td><td class="number">–</td></tr>
<tr><th scope="row">DETR</th><td>T4</td><td class="number">OOM</td></tr>
</table>"""


def page(content: str, **meta: object) -> SimpleNamespace:
    """A page with what the index reads of it."""
    file = SimpleNamespace(src_uri="page.md")
    return SimpleNamespace(content=content, meta=meta, toc=[], title="Title", url="page/", file=file)


def index_of(content: str, code: str = "en") -> str:
    settings = search(code) | {"pipeline": [], "fields": {}}
    index = SearchIndex(code, **settings)
    index.add_entry_from_context(page(content))
    return str(json.loads(index.generate_search_index(None))["docs"][0]["text"])


def test_a_table_is_searched_for_its_words_each_said_once() -> None:
    assert index_of(TABLE).split() == ["Latency", "Model", "Eager", "(ms)", "ViT", "A100", "T4", "DETR", "OOM"]


def test_code_in_a_table_is_shown_as_code() -> None:
    table = TABLE.replace("DETR", "<code>detr-r50</code> of <b>5 GFLOP</b>")
    assert "T4 <code>detr-r50</code> of 5 GFLOP OOM" in " ".join(index_of(table).split())


def test_nothing_runs_together_and_choices_are_left_out() -> None:
    content = "<dl><dt>Mode</dt><dd>fast</dd></dl><td>one<br><small>two</small></td><select><option>A</option></select>"
    assert index_of(content).split() == ["Mode", "fast", "one", "two"]


def test_authored_tables_keep_all_they_say() -> None:
    authored = "<table><tr><td>2.0</td><td>2.0</td></tr></table>"
    assert index_of(authored).split() == ["2.0", "2.0"]


def test_rows_with_an_address_are_entries_in_place_of_their_table() -> None:
    row = '<tr id="vit-tiny"><th scope="row" data-sort="1">vit_tiny<br><small>224×224</small></th><td>−9%</td></tr>'
    index = SearchIndex("en", **(search("en") | {"pipeline": [], "fields": {}}))
    index.add_entry_from_context(page(f'<h1 id="vit">vit</h1>\n<table class="atlas">{row}</table>\n<p>Text</p>'))
    name, model = json.loads(index.generate_search_index(None))["docs"]
    assert model == {"location": "page/#vit-tiny", "title": "vit_tiny", "text": ""}
    assert "tiny" not in name["text"]
    assert "Text" in name["text"]


def test_what_a_page_excludes_stays_out() -> None:
    assert index_of("<p>one</p><div data-search-exclude><p>two <b>three</b></p></div>").split() == ["<p>one</p>"]


def test_titles_come_without_their_permanent_links() -> None:
    linked = '<h2 id="modes">The <em>modes</em><a class="headerlink" href="#modes">&para;</a></h2>\n<p>Text</p>'
    index = SearchIndex("en", **(search("en") | {"pipeline": [], "fields": {}}))
    index.add_entry_from_context(page(f"<h1 id='title'>Title</h1>{linked}"))
    *_, entry = json.loads(index.generate_search_index(None))["docs"]
    assert entry == {"location": "page/#modes", "title": "The modes", "text": "<p>Text</p>"}


def test_a_page_that_counts_less_is_still_found_by_its_name() -> None:
    index = SearchIndex("en", **(search("en") | {"pipeline": []}))
    sections = '<h1 id="t4">T4</h1><p>A GPU.</p><h2 id="mode">Mode reduce-overhead</h2><p>A table.</p>'
    index.add_entry_from_context(page(sections, search={"boost": 0.1}))
    name, mode = json.loads(index.generate_search_index(None))["docs"]
    assert "boost" not in name
    assert mode["boost"] == 0.1


@pytest.mark.parametrize("code", ["ar", "en"])
def test_the_worker_learns_the_plurals_of_the_language(code: str) -> None:
    index = SearchIndex(code, **(search(code) | {"pipeline": []}))
    plurals = json.loads(index.generate_search_index(None))["config"].get("plurals", [])
    assert (["جهاز", "أجهزة"] in plurals) == (code == "ar")


@pytest.mark.parametrize(("code", "cut"), [("zh", True), ("ja", False), ("en", False)])
def test_only_chinese_is_cut_into_chinese_words(code: str, cut: bool) -> None:
    assert ("\u200b" in index_of("<p>编译时间的中位数，推論の検出</p>", code)) == cut


@given(st.text("编译时间的中位数々〇𠮷㐀豈， aT4ひ・한", max_size=30))
def test_chinese_is_cut_as_material_cuts_it(text: str) -> None:
    index = SearchIndex("zh", **search("zh"))
    assert index._segment_chinese(text) == MaterialIndex._segment_chinese(index, text)


def test_letters_are_not_escaped() -> None:
    index = SearchIndex("ar", **(search("ar") | {"pipeline": [], "fields": {}}))
    index.add_entry_from_context(page("<p>زمن</p>"))
    assert "زمن" in index.generate_search_index(None)


def test_a_page_that_comes_again_takes_the_place_of_what_it_was() -> None:
    index = SearchIndex("en", **(search("en") | {"pipeline": [], "fields": {}}))
    for words in ("first", "second"):
        index.add_entry_from_context(page(f"<p>{words}</p>"))
        assert [entry["text"] for entry in json.loads(index.generate_search_index(None))["docs"]] == [f"<p>{words}</p>"]
