"""Blocks of Markdown extensions stay what they are: in English, translated, and as untranslated text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from markdown import Markdown
from markdown_html import converter

from generator.languages.blocks import split
from generator.languages.language import Language, load_language, without_catalog
from generator.languages.page_source import parse_page
from generator.languages.pofile import Key
from generator.pages.expressions import Expressions
from generator.pages.pages import translate

WORDS = {"word": "词", "Tip": "提示"}

BLOCKS = [
    # the page, an element that it has in every language, and how many texts are marked where nothing is translated
    ("- [x] word\n- [ ] another word\n", '<input type="checkbox" disabled checked/>', 2),
    ("word\n\n$$ \\frac{\\text{a}_i}{b} $$\n", '<div class="arithmatex">', 1),
    ("$$\nx\n- \\text{so}\n$$\n\n\\[ \\text{so} \\]\n", r"- \text{so}", 0),
    ("\\begin{align}\na &= \\max \\\\\nb\n\\end{align}\n", "\\\\\nb\n", 0),
    ("A word $x_{max}$ and \\(y_i\\).\n", "(x_{max}", 1),
    ("So $\\frac{{a}}{b}$ and $x^{{-1}}$, $\\text{#}$, $\\text{#}$, word.\n\n$\\text{#}$\n", r"{{-1}}", 1),
    ("*[GPU]: a word\n*[CPU]: a second word\n\nGPU word\n", '<abbr title="a ', 1),
    ('word\n\n--8<-- "inc.md"\n\n--8<--\ninc.md\n--8<--\n\nanother word\n', "<em>included</em>", 2),
    ("/// note | A word\n    attrs: {class: c}\nword\n\nthe last word\n///\n", '<div class="admonition note c">', 3),
    ("//// note | A word\n\n/// tip\nword\n///\n////\n", '<div class="admonition tip">', 3),
    ("/// html | div.c\nword\n///\n", '<div class="c">', 1),
    ("| word |\n| --- |\n| 1 |\n\n/// caption\nA word\n///\n", "<figcaption>", 2),
    ("[TOC]\n\n## word {#w}\n", '<div class="toc">', 1),
    ('<figure markdown="span">\n  ![A word](a.png)\n  <figcaption>Its word</figcaption>\n</figure>\n', "<figcap", 2),
    ("| `a | b` word | `c` |\n| --- | --- |\n| `d | e` word | `f` |\n", "d | e</code>", 2),
    ("a word | b\n--- | ---\n`c | d` word { .e } | `f`\n", 'class="e"', 3),
    ("word[^1]\n\n[^1]:\n    The first word.\n\n    The second word.\n", "<p>The first ", 3),
    ('=== "A word"\n\n    word\n\n=== "A second word"\n\n    more of the word\n', "tabbed-labels", 4),
    ("/// tab | A word\nword\n///\n/// tab | A second word\nmore of the word\n///\n", "tabbed-set", 4),
    ("!!! tip\n    word\n\n??? tip inline end\n    another word\n", '<p class="admonition-title">', 4),
    ("> [!tip]\n> word\n\n> [!note] A word\n> another word\n", '<div class="admonition tip">', 4),
    ("%%% an unknown fence\n\n///Footnotes Go Here///\n\n++ signs before a word\n", "++ signs", 1),
]
EXTENSIONS = (
    *("abbr", "footnotes", "pymdownx.tasklist", "pymdownx.blocks.admonition", "pymdownx.blocks.html"),
    *("pymdownx.blocks.caption", "pymdownx.blocks.tab"),
)


@pytest.fixture(scope="module")
def markdown(tmp_path_factory: pytest.TempPathFactory) -> Markdown:
    folder = tmp_path_factory.mktemp("snippets")
    (folder / "inc.md").write_text("What is *included*.\n", encoding="utf-8")
    return converter(
        {name: {} for name in EXTENSIONS}
        | {"pymdownx.arithmatex": {"generic": True, "inline_tag": "var"}, "pymdownx.quotes": {"callouts": True}}
        | {"pymdownx.snippets": {"base_path": [str(folder)]}}
    )


def translating(code: str, translations: dict[str, str]) -> Language:
    messages: dict[Key, tuple[str, ...]] = {(None, message): (text,) for message, text in translations.items()}
    return replace(without_catalog(code), catalog=None if code == "en" else Path("po"), messages=messages)


@pytest.mark.parametrize(("code", "title"), [("zh", "提示"), ("ja", "ヒント"), ("ar", "نصيحة")])
def test_default_titles_of_admonitions_come_translated(code: str, title: str) -> None:
    page = parse_page("index.md", "!!! tip inline\n    1\n", "index.md")
    assert translate(page, load_language(code)).template == f'!!! tip inline "{title}"\n    1\n'


@pytest.mark.parametrize(("source", "element", "marks"), BLOCKS)
def test_a_block_stays_what_it_is(markdown: Markdown, source: str, element: str, marks: int) -> None:
    def html(code: str, translations: dict[str, str]) -> str:
        language = translating(code, translations)
        template = translate(parse_page("index.md", source, "index.md"), language).template
        return markdown.reset().convert(Expressions({}).evaluate(template, {}, "index.md", 0))

    def translated(text: str) -> str:
        return re.sub(r"\b(word|Tip)\b", lambda match: WORDS[match[0]], text)

    english = html("en", {})
    assert element in english
    assert re.subn(r'<span class="untranslated"[^>]*>(.*?)</span>', r"\1", html("zh", {})) == (english, marks)
    assert html("zh", {each.message: translated(each.message) for each in split(source).blocks}) == translated(english)
