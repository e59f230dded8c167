"""Catalogs: what is extracted, in which order, and that an update changes only what changed."""

from __future__ import annotations

import gettext
import re
from pathlib import Path

import polib
import pytest
from guide_figures import GUIDE, copy_of_guide

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


def updated(root: Path, code: str = "zh") -> polib.POFile:
    refresh(root, root / "locales")
    return catalogs.read(catalog_path(code, root / "locales"))


def entry(catalog: polib.POFile, msgid: str) -> polib.POEntry:
    (found,) = (each for each in catalog if each.msgid == msgid and not each.obsolete)
    return found


# --- extraction -------------------------------------------------------------------------------------------------------


def test_messages_come_in_the_order_of_pages() -> None:
    messages = extract(GUIDE)
    files = list(dict.fromkeys(message.files[0] for message in messages))
    assert files == [
        "docs/index.md",
        "docs/devices/index.md",
        "docs/devices/each.md",
        "mkdocs.yml",
        "docs/theme/404.html",
        "generator/figures/words.py",
    ]
    assert [message.id for message in messages[:4]][::3] == ["Is it faster?", "**First:** warm up."]


def test_everything_that_readers_see_is_a_message() -> None:
    messages = {message.id: message for message in extract(GUIDE)}
    assert messages["%(count)s page"].plural == "%(count)s pages"  # a template
    assert messages["%(count)s model"].plural == "%(count)s models"  # a source
    assert messages["round"].context == "unit"
    assert {"Guide", "A small guide.", "Compile Atlas"} <= messages.keys()  # mkdocs.yml
    assert "python" not in " ".join(messages)
    assert not {"{{ device.label }}", "not a message"} & messages.keys()


@pytest.mark.parametrize(
    ("file", "content", "where"),
    [
        ("mkdocs.yml", "nav:\n\t- index.md\n", "mkdocs.yml:2"),
        ("docs/theme/404.html", "<p>\n{% if %}\n", "docs/theme/404.html:2"),
    ],
)
def test_a_source_that_is_none_is_told_with_its_line(file: str, content: str, where: str, tmp_path: Path) -> None:
    root = copy_of_guide(tmp_path)
    (root / file).write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError) as raised:
        extract(root)
    assert raised.value.where == where


def test_a_source_that_cannot_be_read_is_named(root: Path) -> None:
    (root / "docs" / "theme" / "404.html").write_text("<p>\n{% if %}</p>\n", encoding="utf-8")
    (root / "docs" / "index.md").write_text("---\ntitle: a: b\n---\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"docs/index\.md:2"):
        extract(root)


# --- updating ---------------------------------------------------------------------------------------------------------


def test_refreshing_twice_changes_nothing(root: Path) -> None:
    refresh(root, root / "locales")
    assert set(refresh(root, root / "locales").values()) == {False}


def test_rewrapping_and_moving_a_paragraph_changes_no_catalog(root: Path) -> None:
    before = catalog_path("zh", root / "locales").read_bytes()
    edit(root, "compiling changes the latency of", "compiling\nchanges the   latency of".replace("   ", " "))
    edit(root, '!!! note "On a CPU"\n    Smaller gains.\n\n', "")
    edit(root, "Sometimes it is", '!!! note "On a CPU"\n    Smaller gains.\n\nSometimes it is')
    assert updated(root)
    after = catalogs.read(catalog_path("zh", root / "locales"))
    assert sorted(map(str, after)) == sorted(map(str, parse(before, "before")))


def test_another_figure_makes_no_translation_stale(root: Path) -> None:
    edit(root, "{{ atlas.best.change | signed_percent }}", "{{ atlas.best.speedup | number(2) }}")
    changed = next(each for each in updated(root) if "number(2)" in each.msgid)
    assert not changed.fuzzy
    assert "{{ atlas.best.speedup | number(2) }}" in changed.msgstr
    assert "signed_percent" not in changed.msgstr


def test_a_changed_text_becomes_fuzzy_beside_its_former_text(root: Path) -> None:
    edit(root, "Sometimes it is slower.", "Sometimes it is much slower.")
    changed = entry(updated(root), "Sometimes it is much slower.")
    assert changed.fuzzy
    assert (changed.previous_msgid, changed.msgstr) == ("Sometimes it is slower.", "有时更慢。")
    assert entry(updated(root), "Sometimes it is much slower.").previous_msgid == "Sometimes it is slower."


def test_what_vanished_is_obsolete_and_comes_back(root: Path) -> None:
    edit(root, "Smaller gains.", "Nothing alike stood here before now.")
    gone = [each for each in updated(root) if each.obsolete]
    assert [(each.msgid, each.msgstr) for each in gone] == [("Smaller gains.", "收益较小。")]
    edit(root, "Nothing alike stood here before now.", "Smaller gains.")
    catalog = updated(root)
    assert entry(catalog, "Smaller gains.").msgstr == "收益较小。"
    assert not any(each.obsolete for each in catalog)


@pytest.mark.parametrize("code", ["ar", "cy", "fa", "fr", "he", "ja", "ko", "lt", "pl", "pt", "ru", "sl", "zh"])
def test_the_plural_rule_of_a_header_is_that_of_cldr(code: str) -> None:
    count, rule = re.fullmatch(r"nplurals=(\d+); plural=(.*);", catalogs.plural_rule(code)).groups()  # type: ignore[union-attr]
    index, locale = gettext.c2py(rule), load_locale(code)
    forms = plural_forms(locale)
    assert int(count) == len(forms)
    assert all(index(n) == forms.index(locale.plural_form(n)) for n in range(1000))
