"""Translations bring text and the markup of their English; whatever else could be code is refused."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jinja2
import pytest
from conftest import LANGUAGES
from hostile_values import CODE
from hypothesis import given, strategies as st

from bench.errors import AtlasError
from generator.checks.message_checks import check_translation
from generator.languages.glossary import load_glossary
from generator.languages.injection import MAX_LENGTH, injections, injections_in_entry
from generator.languages.language import catalog_path, load_language
from generator.languages.pofile import parse

ENGLISH = 'See <b>{{ x }}</b> in [here](a.md){ .b }, `<user>` and `{{ y }}` "so".'

REFUSED = [
    # English, translation, by which rule
    ("A", '<img src=x title="<" onerror="alert(1)">', "tag"),
    ("A", "<svg/onload=alert(1)", "tag"),
    ("A", '<bdi onclick="x">a</bdi>', "tag"),
    ("A", "<!-- a", "tag"),
    ("`<b>`", "<i>", "tag"),
    ("<b>A</b>", '<b class="x">A</b>', "tag"),
    ("A", "[x](javascript:alert(1))", "link-target"),
    ("[A](b.md)", "[A](b.md 'c')", "link-target"),
    ("A", "[x]: javascript:alert(1)", "link-target"),
    ("A", "a {{ ['", "expression"),
    ("A", "'] | evil }} b", "expression"),
    ("{{ x }}", "{{ x.__class__ }}", "expression"),
    ("A", "{% set x = 1", "expression"),
    ("A", "{# the rest of the page", "expression"),
    ("A", '{: onclick="1%2" }', "attribute-list"),
    ("%(n)s rows", "%(n)999999999s", "placeholder"),
    ("%(n)s rows", "%(m)s", "placeholder"),
    ("A", "%(n)s", "placeholder"),
    ("A", 'a" onfocus="alert(1)', "character"),
    ("A", "x" * (MAX_LENGTH + 1), "character"),
    ("A", "- " * 900 + "x", "nesting"),
    ("A", "> 1. * " * 20 + "x", "nesting"),
    ("A", "[" * 1999, "brackets"),
    ("A", "`" * 1999, "brackets"),
    *(("A", f"x{sign}", "character") for sign in "\0\x07\x1b\x7f\x9b\ufffe\ue000\U000e0041\U000e007f"),
]


@pytest.mark.parametrize(("english", "translation", "rule"), REFUSED)
def test_what_the_english_has_not_is_foreign(english: str, translation: str, rule: str) -> None:
    assert {found.rule for found in injections([english], translation)} == {rule}


@pytest.mark.parametrize(
    "translation",
    [
        "“so” `{{ y }}` `<user>` [此处](a.md){ .b } <b>{{ x }}</b>",
        'See <bdi dir="ltr">ViT</bdi> <b>{{  x }}</b>',
        "小于 < 大于 > 95% & 100%",
        "[没有链接] (a)",
        "> - 一",
        "[<`" * 10,
        "",
    ],
)
def test_the_markup_of_the_english_and_isolates_are_not(translation: str) -> None:
    assert not list(injections([ENGLISH], translation))


def test_no_catalog_of_ours_has_anything_foreign() -> None:
    entries = [entry for code in LANGUAGES[1:] for entry in parse(catalog_path(code).read_bytes(), code)]
    assert len(entries) > 1000
    assert not [found for entry in entries for found in injections_in_entry(entry)]


@pytest.mark.parametrize("code", CODE)
def test_a_catalog_with_code_is_not_loaded(code: str, tmp_path: Path) -> None:
    if not list(injections(["A"], code)):
        pytest.skip("harmless where a translation stands")
    path = catalog_path("zh", tmp_path)
    path.parent.mkdir(parents=True)
    quoted = code.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    path.write_text(f'msgid ""\nmsgstr ""\n\nmsgid "A"\nmsgstr "{quoted}"\n', encoding="utf-8")
    with pytest.raises(AtlasError, match=r"not in the English|quotation") as error:
        load_language("zh", tmp_path)
    assert error.value.where.endswith(":4")


@pytest.mark.parametrize("translation", ["- " * 900 + "x", "[" * 19_990, "\x1b[31m", "\U000e0041"])
def test_a_catalog_that_no_parser_can_take_is_not_loaded_and_soon_checked(translation: str, tmp_path: Path) -> None:
    path = catalog_path("zh", tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(f'msgid ""\nmsgstr ""\n\nmsgid "A"\nmsgstr "{translation}"\n', encoding="utf-8")
    with pytest.raises(AtlasError) as error:
        load_language("zh", tmp_path)
    assert error.value.where.endswith(":4")
    assert {found.rule for found in check_translation("A", translation, "zh", load_glossary())} <= {
        *("character", "nesting", "brackets")
    }


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str | None] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(self.get_starttag_text())

    def handle_comment(self, data: str) -> None:
        self.found.append(data)

    def handle_decl(self, decl: str) -> None:
        self.found.append(decl)

    unknown_decl = handle_pi = handle_comment


PIECES = (
    *("<b>", "</b>", "{{ x }}", "](a.md)", "[", "{ .b }", "`<user>`", "`", "`{{ y }}`", '"', "'", "\\"),
    *(
        "<",
        ">",
        "/",
        "!",
        "--",
        "a",
        "img ",
        "onerror=x",
        " ",
        "{",
        "}",
        "%",
        "#",
        ":",
        "]",
        "(",
        ")",
        "\n",
        "=",
        "<bdi>",
    ),
)


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_is_let_through_has_no_element_and_no_expression_of_its_own(translation: str) -> None:
    if list(injections([ENGLISH], translation)):
        return
    parser = _Elements()
    parser.feed(f"{translation} <i>")
    parser.close()
    assert {*parser.found} <= {"<b>", "<bdi>", "<user>", "<i>"}
    lexed = list(jinja2.Environment().lex(f"{translation} {{{{ end }}}}"))
    names = {value for _, kind, value in lexed if kind == "name"}
    assert names <= {"x", "y", "end"}
    assert "end" in names, "what follows on the page was swallowed"
