"""Catalogs: broken files, the extraction of messages, and updates that change only their own entries."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from guide_figures import copy_of_guide

from bench.errors import AtlasError
from generator.languages import catalogs
from generator.languages.catalogs import extract, refresh
from generator.languages.language import catalog_path, load_locale, plural_forms
from generator.languages.pofile import parse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return copy_of_guide(tmp_path)


def edit(root: Path, old: str, new: str, file: str = "docs/index.md") -> None:
    path = root / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def updated(root: Path, code: str = "zh") -> Catalog:
    refresh(root, root / "locales")
    return catalogs.read(code, root / "locales")


# --- files ------------------------------------------------------------------------------------------------------------

HEADER = 'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=n>1;\\n"\n\n'  # four lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('msgid "a\nmsgstr "b"\n', 5),
        ('msgid "a"\nhello\nmsgstr "b"\n', 6),
        ('msgid "a"\nmsgstr "b"x\n', 6),
        ('msgid "say "hello""\nmsgstr "b"\n', 5),
        ('msgid "a\\q"\nmsgstr "b"\n', 5),
        ('<<<<<<< HEAD\nmsgid "a"\nmsgstr "b"\n=======\n', 5),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[x] "c"\n', 7),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[2] "c"\n', 5),
        ('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', 8),
        ('msgid "a"\n\nmsgid "b"\nmsgstr "c"\n', 5),
    ],
)
def test_a_broken_catalog_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(AtlasError) as error:
        parse((HEADER + text).encode(), "zh.po")
    assert error.value.where == f"zh.po:{line}"
    assert error.value.what.startswith("not a valid catalog")
    assert error.value.remedy


def test_other_encodings_are_refused_with_their_line() -> None:
    with pytest.raises(AtlasError, match=r"zh\.po:2: .*UTF-8"):
        parse('msgid ""\nmsgstr "编"\n'.encode("gb18030"), "zh.po")


def test_gettext_syntax_is_read() -> None:
    text = (
        '# note\n#. hint\n#: a.md\n#, fuzzy\n#| msgid ""\n#| "old "\n#| "text"\n'
        'msgid ""\n"two "\n"lines\\n\\"quoted\\""\nmsgstr "x\\\\y"\n\n#~ msgid "o"\n#~ msgstr "p"\n\n'
        'msgid "a"\nmsgid_plural "b"\nmsgstr[1] "two"\nmsgstr[0] "one"\n'
    )
    _, fuzzy, plural = parse((HEADER + text).replace("\n", "\r\n").encode(), "zh.po")
    assert (fuzzy.id, fuzzy.string, fuzzy.previous_id) == ('two lines\n"quoted"', "x\\y", ["old text"])
    assert fuzzy.fuzzy
    assert plural.string == ("one", "two")


# --- extraction -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content", "where"),
    [
        ("mkdocs.yml", "nav:\n\t- index.md\n", "mkdocs.yml:2"),
        ("docs/theme/404.html", "<p>\n{% if %}\n", "docs/theme/404.html:2"),
        ("docs/index.md", "---\ntitle: a: b\n---\n", "docs/index.md:2"),
    ],
)
def test_a_source_that_cannot_be_parsed_is_named_with_its_line(file: str, content: str, where: str, root: Path) -> None:
    (root / file).write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError) as raised:
        extract(root)
    assert raised.value.where == where


# --- updating ---------------------------------------------------------------------------------------------------------


def test_refreshing_changes_nothing_but_the_entries_of_an_edit(root: Path) -> None:
    assert set(refresh(root, root / "locales").values()) == {False}
    before = {message.id: message.string for message in updated(root)}
    edit(root, "compiling changes the latency of", "compiling\nchanges the latency of")
    edit(root, '!!! note "On a CPU"\n    Smaller gains.\n\n', "")
    edit(root, "Sometimes it is", '!!! note "On a CPU"\n    Smaller gains.\n\nSometimes it is')
    assert {message.id: message.string for message in updated(root)} == before
    assert set(refresh(root, root / "locales").values()) == {False}


def test_another_figure_makes_no_translation_stale(root: Path) -> None:
    edit(root, "{{ atlas.best.change | signed_percent }}", "{{ atlas.best.speedup | number(2) }}")
    changed = next(each for each in updated(root) if "number(2)" in each.id)
    assert not changed.fuzzy
    assert "{{ atlas.best.speedup | number(2) }}" in str(changed.string)
    assert "signed_percent" not in str(changed.string)


def test_a_changed_text_becomes_fuzzy_beside_its_former_text_and_a_removed_one_goes(root: Path) -> None:
    edit(root, "Sometimes it is slower.", "Sometimes it is much slower.")
    edit(root, "Smaller gains.", "Nothing alike stood here before now.")
    for _ in range(2):
        catalog = updated(root)
        changed = catalog["Sometimes it is much slower."]
        assert (changed.fuzzy, changed.previous_id) == (True, ["Sometimes it is slower."])
        assert changed.string == "有时更慢。"
        assert "Smaller gains." not in catalog
    assert "收益较小" not in catalog_path("zh", root / "locales").read_text(encoding="utf-8")


def test_a_translator_s_comment_stays_and_python_format_is_marked_where_python_formats(root: Path) -> None:
    path = catalog_path("zh", root / "locales")
    text = path.read_text(encoding="utf-8").replace('msgid "Smaller gains."', '# mine\nmsgid "Smaller gains."')
    path.write_text(text, encoding="utf-8")
    assert updated(root)["Smaller gains."].user_comments == ["mine"]
    flagged = re.findall(r'#, python-format\nmsgid "(.*)"', path.read_text(encoding="utf-8"))
    assert flagged
    assert all("%(" in message for message in flagged)


@pytest.mark.parametrize("code", ["ar", "cy", "fa", "fr", "he", "ja", "ko", "lt", "pl", "pt", "ru", "sl", "zh"])
def test_the_plural_rule_of_a_header_is_that_of_cldr(code: str) -> None:
    count, rule = re.fullmatch(r"nplurals=(\d+); plural=(.*);", catalogs.plural_rule(code)).groups()  # type: ignore[union-attr]
    index, locale = gettext.c2py(rule), load_locale(code)
    forms = plural_forms(locale)
    assert int(count) == len(forms)
    assert all(index(n) == forms.index(locale.plural_form(n)) for n in range(1000))
