"""The search index: words without figures, with the cells of a table apart."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

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


def test_nothing_runs_together_and_choices_are_left_out() -> None:
    content = "<dl><dt>Mode</dt><dd>fast</dd></dl><td>one<br><small>two</small></td><select><option>A</option></select>"
    assert index_of(content).split() == ["Mode", "fast", "one", "two"]


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
