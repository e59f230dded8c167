"""The block splitter finds the messages of a page, and loses nothing."""

from __future__ import annotations

import re

import jinja2
import pytest
from hypothesis import example, given, strategies as st
from markdown_html import to_html

from generator.languages import blocks
from generator.languages.blocks import Block, join, split


def messages(source: str) -> list[tuple[str, str]]:
    return [(block.kind, block.message) for block in split(source).blocks]


# --- what is a message ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("# Title {#title}\n", [("heading", "Title")]),
        ("Title\n===\n", [("heading", "Title")]),
        ("## Closed ##\n", [("heading", "Closed")]),
        ("### The `fast` way { #way .x }\n", [("heading", "The `fast` way")]),
        ("## {{ name }} and more {#{{ slug }}-more}\n", [("heading", "{{ name }} and more")]),
        ("One\nparagraph.\n\nAnother.\n", [("paragraph", "One paragraph."), ("paragraph", "Another.")]),
        ("With a break  \nkept.\n", [("paragraph", "With a break  \nkept.")]),
        ("Styled.\n{: .lead }\n", [("paragraph", "Styled.")]),
        ("- one\n- two\n  more\n\n  and more\n", [("list item", m) for m in ("one", "two more", "and more")]),
        ("1. one\n    - deep\n", [("list item", "one"), ("list item", "deep")]),
        ("> quoted\n> text\n", [("paragraph", "quoted text")]),
        (
            "| Mode | Cost |\n| --- | --- |\n| `default` | low |\n| a \\| b | {{ x | ms }} |\n",
            [("table cell", m) for m in ("Mode", "Cost", "low", "a \\| b")],
        ),
        ("| A | A |\n|---|---|\n|  | A |\n", [("table cell", "A")] * 3),
        ('!!! note "A title"\n    Its text.\n', [("title", "A title"), ("paragraph", "Its text.")]),
        ('???+ tip "Open"\n\n    Its text.\n', [("title", "Open"), ("paragraph", "Its text.")]),
        ('=== "Tab"\n\n    Its text.\n', [("title", "Tab"), ("paragraph", "Its text.")]),
        ("Term\n:   What it\n    means.\n", [("list item", "Term"), ("list item", "What it means.")]),
        ("See.[^1]\n\n[^1]: The note.\n", [("paragraph", "See.[^1]"), ("paragraph", "The note.")]),
        ("![A chart](a.svg)\n", [("paragraph", "![A chart](a.svg)")]),
        ("Text with ![an icon](a.svg) inside.\n", [("paragraph", "Text with ![an icon](a.svg) inside.")]),
        ("<div markdown>\n\nInside.\n\n</div>\n", [("paragraph", "Inside.")]),
    ],
)
def test_a_block_is_a_message(source: str, expected: list[tuple[str, str]]) -> None:
    assert messages(source) == expected
    assert join(split(source)) == source


def test_statements_stand_between_messages() -> None:
    source = "{% if a %}\nYes.\n{% else %}\nNo.\n{% endif %}\nAlways.\n"
    assert messages(source) == [("paragraph", m) for m in ("Yes.", "No.", "Always.")]


def test_a_loop_over_the_rows_of_a_table_keeps_the_table() -> None:
    source = "| Name | Note |\n|---|---|\n{% for r in rows %}\n| {{ r }} | a word |\n{% endfor %}\n| all | sum |\n"
    assert messages(source) == [("table cell", m) for m in ("Name", "Note", "a word", "all", "sum")]


def test_lines_count_from_the_top_of_the_page() -> None:
    document = split("---\ntitle: T\n---\n\n# Title {#t}\n\ntext\ntext\n\n- item\n")
    assert [block.line for block in document.blocks] == [5, 7, 10]
    assert document.front == "---\ntitle: T\n---\n"


def test_a_replacement_keeps_its_container() -> None:
    source = "- one\n  two  \n  three\n\n> four\n> five\n"
    replaced = {"one two  \nthree": "uno  \ndue", "four five": "tre"}
    assert join(split(source), lambda block: replaced[block.message]) == "- uno  \n  due\n\n> tre\n"


# --- nothing is lost --------------------------------------------------------------------------------------------------

PLAIN = ["word", "Latency", "1.5", "a_b", "2×3", "—", "(x)", "it's", '"so"', "é中文ع", "\\*", "&amp;", ":smile:"]
MARKED = ["**bold**", "*stress*", "`code  x`", "<b>tag</b>", "[a](b.md#c)", "[a](b.md){ .button }", "![alt](a.svg)"]
WORD = st.sampled_from([*PLAIN, *MARKED, "{{ x | ms }}", "{{ f('a|b', c=\"}\") }}"])
LINE = st.lists(WORD, min_size=1, max_size=6).map(" ".join)
PARAGRAPH = st.lists(LINE, min_size=1, max_size=4).flatmap(
    lambda lines: st.lists(
        st.sampled_from(["\n", "\n", "\n", "  \n"]), min_size=len(lines) - 1, max_size=len(lines) - 1
    ).map(lambda ends: "".join(a + b for a, b in zip(lines, [*ends, ""], strict=True)))
)


def indented(text: str, by: str = "    ") -> str:
    return "\n".join(f"{by}{line}" if line.strip() else line for line in text.split("\n"))


def listed(items: list[str], marker: str) -> str:
    return "\n".join(marker.ljust(4) + indented(item).lstrip(" ") for item in items)


def tables(cells: list[str]) -> str:
    cells = [cell.replace("|", "\\|") if "{{" not in cell else cell for cell in cells]
    rows = "".join(f"| {a} | {b} |\n" for a, b in zip(cells, reversed(cells), strict=True))
    return f"| One | {cells[0]} |\n| --- | :-: |\n{rows}".rstrip("\n")


LEAF = st.one_of(
    PARAGRAPH,
    LINE.map(lambda line: f"## {line} {{#an-id}}"),
    LINE.map(lambda line: f"# {line}"),
    st.lists(LINE, min_size=1, max_size=3).map(tables),
    st.just("```python\nx = '{{ x }}'\n\n# words\n```"),
    st.just('<div class="c">\n<p>HTML</p>\n</div>'),
    st.just("{{ table(a='b') }}"),
    st.just("![A lone chart](a.svg)"),
    st.just("---"),
    LINE.map(lambda line: f"{{% if x %}}\nstarts {line}\n{{% endif %}}"),
    LINE.map(lambda line: f"Term\n:   {line}"),
    LINE.map(lambda line: f"- [x] {line}\n- [ ] more"),
    LINE.map(lambda line: f"!!! tip\n    {line}"),
    LINE.map(lambda line: f"/// note | A title\n{line}\n///"),
    st.just("$$\nx_i\n- \\text{so}\n$$"),
    st.just("<figure markdown>\n  ![A chart](a.svg)\n  <figcaption>A caption</figcaption>\n</figure>"),
)
BLOCK = st.recursive(
    LEAF,
    lambda inner: st.one_of(
        st.lists(inner.filter(lambda text: "{%" not in text), min_size=1, max_size=3).map(
            lambda items: listed(items, "-")
        ),
        st.lists(PARAGRAPH, min_size=1, max_size=3).map(lambda items: listed(items, "1.")),
        inner.filter(lambda text: "{%" not in text).map(lambda text: indented(text, "> ")),
        st.lists(inner, min_size=1, max_size=2).map(
            lambda texts: '!!! note "A title"\n\n' + indented("\n\n".join(texts))
        ),
    ),
    max_leaves=6,
)
PAGE = st.lists(BLOCK, min_size=1, max_size=6).map(lambda parts: "\n\n".join(parts) + "\n")

JINJA = jinja2.Environment(trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, autoescape=False)
JINJA.filters["ms"] = lambda x: f"{x} ms"
VALUES = {"x": 7, "f": lambda *_, **__: "value", "table": lambda **_: "<table><tr><td>1</td></tr></table>"}


def rendered(source: str) -> str:
    text = JINJA.from_string(blocks.ATTRIBUTES_WITH_ID.sub(lambda m: "{: " + m[0][1:], source)).render(VALUES)
    # Python-Markdown misreads a wrapped quote within a list.
    has_quote = re.search(r"(?m)^[ \d.-]*> ", source)
    return " ".join((blocks.markdown().render(text) if has_quote else to_html(text)).split())


@given(st.one_of(st.text(), st.text(alphabet="# -*_>|`{}%\n\t\r\\[]()!:\"'=+?1.ab<&^~/$@8"), PAGE))
@example("\0\n- \ta\r\n\tb\rc\n")
def test_splitting_and_joining_any_text_gives_it_back(source: str) -> None:
    document = split(source)
    assert join(document) == source
    assert document.front + "".join(p.source if isinstance(p, Block) else p for p in document.parts) == source


@given(PAGE)
def test_substituting_each_message_by_itself_renders_the_same(source: str) -> None:
    assert rendered(join(split(source), lambda block: block.message)) == rendered(source)


@given(PARAGRAPH.filter(lambda text: "  \n" not in text), st.integers(10, 60))
def test_wrapping_a_paragraph_anew_changes_no_message(text: str, width: int) -> None:
    words = re.split(r"\s+(?![^{]*\}\})(?![^`]*`(?:[^`]*`[^`]*`)*[^`]*$)", text)
    lines, line = [], ""
    for word in words:
        line = f"{line} {word}".strip()
        if len(line) > width:
            lines.append(line)
            line = ""
    wrapped = "\n".join([*lines, line] if line else lines)
    assert messages(f"- x\n\n{wrapped}\n") == messages(f"- x\n\n{text}\n")
