"""Catalogs: what is extracted, in which order, and that an update changes only what changed."""

from __future__ import annotations

import gettext
import re
import shutil
import subprocess
from pathlib import Path

import polib
import pytest
from conftest import LANGUAGES
from guide_figures import GUIDE, copy_of_guide

from bench.errors import AtlasError
from generator.languages import catalogs
from generator.languages.catalogs import Message, extract, refresh, template, update
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


def test_translators_see_where_a_message_stands() -> None:
    messages = {message.id: message for message in extract(GUIDE)}
    assert messages["Mode"].comments == ("Is it faster? · table cell · /",)
    assert messages["Devices"].comments == (
        "Devices · page title · /devices/",
        "Devices · heading · /devices/",
        "title in the navigation",
    )
    assert messages["Devices"].files == ("docs/devices/index.md", "mkdocs.yml")
    assert messages["Device"].comments == ("heading of a column",)


def test_a_source_that_cannot_be_read_is_named(root: Path) -> None:
    (root / "docs" / "theme" / "404.html").write_text("<p>\n{% if %}</p>\n", encoding="utf-8")
    (root / "docs" / "index.md").write_text("---\ntitle: a: b\n---\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=r"docs/index\.md:2"):
        extract(root)


# --- updating ---------------------------------------------------------------------------------------------------------


def test_refreshing_twice_changes_nothing(root: Path) -> None:
    refresh(root, root / "locales")
    assert set(refresh(root, root / "locales").values()) == {False}


@pytest.mark.skipif(shutil.which("msgfmt") is None, reason="needs gettext: apt-get install gettext")
@pytest.mark.parametrize("code", LANGUAGES[1:])
def test_gettext_accepts_every_catalog(root: Path, code: str) -> None:
    path = catalog_path(code, root / "locales")
    done = subprocess.run(["msgfmt", "--check", "-o", "/dev/null", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


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


def test_a_new_text_is_empty(root: Path) -> None:
    edit(root, "Smaller gains.", "Nothing alike stood here before now.")
    assert entry(updated(root), "Nothing alike stood here before now.").msgstr == ""


def test_what_vanished_is_obsolete_and_comes_back(root: Path) -> None:
    edit(root, "Smaller gains.", "Nothing alike stood here before now.")
    gone = [each for each in updated(root) if each.obsolete]
    assert [(each.msgid, each.msgstr) for each in gone] == [("Smaller gains.", "收益较小。")]
    edit(root, "Nothing alike stood here before now.", "Smaller gains.")
    catalog = updated(root)
    assert entry(catalog, "Smaller gains.").msgstr == "收益较小。"
    assert not any(each.obsolete for each in catalog)


@pytest.mark.parametrize(
    ("uri", "address"),
    [("index.md", "/"), ("a.md", "/a/"), ("devices/index.md", "/devices/"), ("devices/each.md", "/devices/…/")],
)
def test_the_address_of_a_page(uri: str, address: str) -> None:
    assert catalogs.address_of(uri) == address


@pytest.mark.parametrize("code", ["ar", "cy", "fa", "fr", "he", "ja", "ko", "lt", "pl", "pt", "ru", "sl", "zh"])
def test_the_plural_rule_of_a_header_is_that_of_cldr(code: str) -> None:
    count, rule = re.fullmatch(r"nplurals=(\d+); plural=(.*);", catalogs.plural_rule(code)).groups()  # type: ignore[union-attr]
    index, locale = gettext.c2py(rule), load_locale(code)
    forms = plural_forms(locale)
    assert int(count) == len(forms)
    assert all(index(n) == forms.index(locale.plural_form(n)) for n in range(1000))


def test_an_edit_changes_the_lines_of_its_entry_only(root: Path) -> None:
    path = catalog_path("ja", root / "locales")
    before = path.read_text(encoding="utf-8").split("\n")
    edit(root, "Smaller gains.", "Nothing alike stood here before now.")
    refresh(root, root / "locales")
    after = path.read_text(encoding="utf-8").split("\n")
    assert [line for line in before if line not in after] == ['msgid "Smaller gains."', 'msgstr "効果は小さめです。"']


def test_notes_of_translators_stay() -> None:
    old = polib.POFile()
    old.append(polib.POEntry(msgid="a", msgstr="b", tcomment="think about it"))
    assert update(old, [Message(None, "a")], "zh")[0].tcomment == "think about it"


def test_a_message_that_became_plural_is_fuzzy() -> None:
    old = polib.POFile()
    old.append(polib.POEntry(msgid="%(n)s row", msgstr="%(n)s صف"))
    new = update(old, [Message(None, "%(n)s row", "%(n)s rows")], "ar")[0]
    assert (new.fuzzy, len(new.msgstr_plural), new.msgstr_plural[0]) == (True, 6, "%(n)s صف")


def test_the_template_has_no_date() -> None:
    assert "Date" not in str(template([Message(None, "a")]))


def test_headers_say_language_plurals_and_completeness(root: Path) -> None:
    metadata = {code: updated(root, code).metadata for code in LANGUAGES[1:]}
    assert [metadata[code]["Language"] for code in LANGUAGES[1:]] == ["zh_CN", "ja", "ar"]
    assert [metadata[code]["X-Complete"] for code in LANGUAGES[1:]] == ["yes", "yes", "no"]
    assert metadata["ar"]["Plural-Forms"].startswith("nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2")


def test_a_new_language_starts_with_an_empty_catalog(root: Path) -> None:
    refresh(root, root / "locales", ["ko"])
    catalog = catalogs.read(catalog_path("ko", root / "locales"))
    assert len(catalog) == len(extract(root))
    assert not any(each.msgstr for each in catalog)
    assert catalog.header.startswith("Korean")
