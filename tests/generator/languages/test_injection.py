"""Translations bring text and the markup of their English; whatever else could be code is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LANGUAGES
from hostile_values import CODE

from bench.errors import AtlasError
from generator.languages.injection import MAX_LENGTH, injections, injections_in_entry
from generator.languages.language import catalog_path, load_language
from generator.languages.pofile import parse

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
