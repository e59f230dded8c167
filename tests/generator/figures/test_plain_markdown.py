"""Pages as plain Markdown: nothing is lost, and nothing of our own HTML is left."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from generator.figures.markup import Line, Table, TableCell
from generator.figures.plain_markdown import escaped, plain_markdown
from generator.pages.examples import listing


def as_plain(markdown: str) -> str:
    return plain_markdown(markdown, lambda link: f"<{link}>")


def test_a_table_stands_below_its_caption_with_its_links_and_notes() -> None:
    def cell(html: str) -> TableCell:
        return TableCell(Markup(html))

    table = Table(
        Markup("Latency<br>one process"),
        (TableCell("Model"), TableCell("Eager (ms)", classes="number")),
        (
            Line((cell('<a href="../vit/">ViT</a>'), cell("7.5<br><small>7.1–7.9</small>"))),
            Line((cell("a|b &lt;i&gt; [x](y) <code>c|d</code>"), cell("1 | &lt; 2"))),
        ),
        notes=(Markup("<b>oom</b> – out of memory"),),
    )
    expected = """**Latency · one process**

| Model | Eager (ms) |
| --- | ---: |
| [ViT](<../vit/>) | 7.5 · 7.1–7.9 |
| a\\|b \\<i> \\[x\\](y) `c\\|d` | 1 \\| \\< 2 |

- **oom** – out of memory
"""
    assert as_plain(table.html()) == expected


def test_a_chart_is_one_picture_with_its_words() -> None:
    chart = """<figure class="chart">
<img src="c.svg#only-light" alt="A &amp; B">
<img src="c.dark.svg#only-dark" alt="A &amp; B">
<figcaption>Caption
<span class="chart-data"><a href="explorer/#a=b&amp;c">Open</a></span></figcaption>
</figure>"""
    assert as_plain(chart) == "![A & B](<c.svg>)\n\nCaption [Open](<explorer/#a=b&c>)\n"


def test_forms_and_what_is_hidden_are_left_out() -> None:
    block = (
        "<div>\n<form hidden><select><option>no</option></select><br></form>\n<p hidden>no"
        "<br><span>no</span></p>\n<script>no</script>yes\n</div>"
    )
    assert as_plain(block) == "yes\n"


def test_prose_keeps_its_words_without_what_only_our_builder_reads() -> None:
    page = """# Title {: #title }

Text with <bdi dir="ltr">7&#95;a&#91;b</bdi>, `<code> {#id}` and [a link](data.md#cite){ .md-button }.

- a list with 7.5\u00a0ms
"""
    assert as_plain(page) == (
        "# Title\n\nText with \u200e7_a\\[b\u200e, `<code> {#id}` and [a link](<data.md#cite>).\n\n"
        "- a list with 7.5 ms\n"
    )


@pytest.mark.parametrize("mark", ["!!! note", "??? note", "???+ note", "==="])
def test_admonitions_and_tabs_have_titles_and_no_indentation(mark: str) -> None:
    page = f'Before.\n\n{mark} "Title"\n    Text.\n\n    ```python\n    if x:\n        y\n    ```\n\nAfter.\n'
    assert as_plain(page) == "Before.\n\n**Title**\n\nText.\n\n```python\nif x:\n    y\n```\n\nAfter.\n"


def test_a_table_within_a_list_stays_in_it() -> None:
    assert as_plain("1. One\n\n    <p>Inside</p>\n\n2. Two\n") == "1. One\n\n    Inside\n\n2. Two\n"


def test_code_stays_as_it_is() -> None:
    code = listing("<div>\n\n\n&#95; [a](b) {#c}\n```\nx\u00b2", "text")
    assert as_plain(f"Text.\n\n{code}\n").count("&#95; [a](b) {#c}\n```\nx²") == 1


def test_a_name_is_no_markup() -> None:
    name = "[a](b) `c` *d* <e> |"
    assert re.sub(r"\\(.)", r"\1", escaped(name)) == name
    assert not re.search(r"(?<!\\)[\[\]`*<|]", escaped(name))
