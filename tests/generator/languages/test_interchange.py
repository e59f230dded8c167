"""XLIFF and CSV: there and back changes nothing, and what a translator did arrives."""

from __future__ import annotations

import copy
import csv
import io
from pathlib import Path

import polib
import pytest
from conftest import LANGUAGES

from bench.errors import AtlasError
from bench.records.tabular import FORMULA
from generator.languages.catalogs import read
from generator.languages.interchange import Format, export, import_
from generator.languages.language import catalog_path

pytest.importorskip("translate", reason="needs translate-toolkit: pip install translate-toolkit")

FORMATS: tuple[Format, ...] = ("xliff", "csv")


@pytest.fixture(params=FORMATS)
def layout(request: pytest.FixtureRequest) -> Format:
    assert request.param in FORMATS
    return request.param  # type: ignore[no-any-return]


def small(**changes: object) -> polib.POFile:
    catalog = polib.POFile(wrapwidth=0)
    catalog.append(polib.POEntry(msgid='A "b", <c>\n`d` {{ e }}', msgstr="= é,\n«b»", comment="Page · heading · /"))
    catalog.append(polib.POEntry(msgid="Old", msgstr="Vieux", flags=["fuzzy"], previous_msgid="Older"))
    catalog.append(polib.POEntry(msgid="Models", msgctxt="column", msgstr=""))
    plural = {0: "", 1: "un", 2: "deux", 3: "%(n)s", 4: "", 5: "-x"}
    catalog.append(polib.POEntry(msgid="%(n)s x", msgid_plural="%(n)s xs", msgstr_plural=plural))
    catalog.append(polib.POEntry(msgid="Gone", msgstr="Parti", obsolete=True))
    return catalog


@pytest.mark.parametrize("code", LANGUAGES[1:])
def test_a_round_trip_changes_nothing_in_a_catalog_of_the_project(code: str, layout: Format) -> None:
    catalog = read(catalog_path(code))
    imported = import_(catalog, export(catalog, code, layout), layout, "file")
    assert str(imported.catalog) == str(catalog)
    assert (imported.changed, imported.unknown) == (0, 0)


def test_a_round_trip_keeps_signs_fuzzy_marks_contexts_and_gaps(layout: Format) -> None:
    assert str(import_(small(), export(small(), "fr", layout), layout, "file").catalog) == str(small())


FORMULAS = ("=1+1", "+1", "-1", "@a", "\ta", "'=a", "'a", "'", "''")


def test_no_text_is_a_formula_for_a_spreadsheet_and_all_come_back() -> None:
    catalog = polib.POFile(wrapwidth=0)
    for number, text in enumerate(FORMULAS):
        catalog.append(polib.POEntry(msgid=f"{text} {number}", msgstr=text, msgctxt=text, comment=text))
    content = export(catalog, "fr", "csv")
    assert not [cell for row in csv.reader(io.StringIO(content.decode())) for cell in row if cell[:1] in FORMULA]
    empty = copy.deepcopy(catalog)
    for entry in empty:
        entry.msgstr = ""
    assert [entry.msgstr for entry in import_(empty, content, "csv", "file").catalog] == [*FORMULAS]


def test_what_a_translator_changed_arrives(layout: Format) -> None:
    delivered = small()
    old, models, plural = delivered[1], delivered[2], delivered[3]
    old.msgstr, old.flags = "Ancien", []
    models.msgstr = "Modèles"
    plural.msgstr_plural[0] = "aucun"
    imported = import_(small(), export(delivered, "fr", layout), layout, "file")
    entries = list(imported.catalog)
    assert (entries[1].msgstr, entries[1].fuzzy, entries[1].previous_msgid) == ("Ancien", False, None)
    assert (entries[2].msgstr, entries[3].msgstr_plural[0]) == ("Modèles", "aucun")
    assert imported.changed == 3


def test_texts_that_are_no_longer_there_are_counted(layout: Format) -> None:
    now = small()
    now.remove(now[0])
    assert import_(now, export(small(), "fr", layout), layout, "file").unknown == 1


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match=r"ja\.xlf"):
        import_(small(), b"not XML at all", "xliff", "ja.xlf")
