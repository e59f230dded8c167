"""Exchange catalogs with people who do not use gettext: XLIFF for translation tools, CSV for spreadsheets.

`export` takes a catalog and returns the bytes of a file; `import_` takes a catalog and a file, and returns the catalog
with the translations of the file. Unchanged entries stay the same to the byte: comments, order and headers come from
the catalog. Texts that the catalog no longer has are counted, never matched by guessing. translate-toolkit reads and
writes the formats.

    python -m generator export --language ja --format xliff
    python -m generator import ja.xlf --language ja
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import polib

from bench.errors import AtlasError
from bench.records.tabular import formula_of, no_formula
from generator.languages.pofile import forms

Format = Literal["xliff", "csv"]
SUFFIXES: dict[Format, str] = {"xliff": ".xlf", "csv": ".csv"}

COLUMNS = ["id", "source", "target", "fuzzy", "context", "location", "developer_comments"]
"""Columns of the CSV file. Import reads only `id`, `target` and `fuzzy`."""


@dataclass(frozen=True)
class _Unit:
    """One text of a file: a message, or one of its plural forms."""

    id: str
    source: str
    target: str
    fuzzy: bool
    entry: polib.POEntry


@dataclass(frozen=True)
class Imported:
    """A catalog after an import."""

    catalog: polib.POFile
    changed: int  # number of messages
    unknown: int  # number of texts in the file that the catalog does not have


def export(catalog: polib.POFile, code: str, layout: Format) -> bytes:
    """Return the file with all messages of the catalog, and the translations that exist."""
    store = _new_store(code, layout)
    for unit in _units(catalog):
        where = unit.entry.occurrences[0][0] if unit.entry.occurrences else "messages"
        text = str if layout == "xliff" else no_formula
        source = text(unit.source)
        made = store.addsourceunit(source, where, True) if layout == "xliff" else store.addsourceunit(source)
        made.setid(unit.id)
        if unit.target:
            made.target = text(unit.target)
            made.markfuzzy(unit.fuzzy)
        notes = "\n".join(filter(None, (unit.entry.msgctxt, unit.entry.comment)))
        if layout == "xliff":
            made.addnote(notes, origin="developer")
        else:
            made.addnote(text(notes), origin="programmer")
            made.location = where
            made.context = text(unit.entry.msgctxt or "")
    return bytes(store)


def import_(catalog: polib.POFile, content: bytes, layout: Format, where: str) -> Imported:
    """Return `catalog` with the translations in `content`. A text without one there keeps its translation."""
    new = copy.deepcopy(catalog)
    delivered = _delivered(content, layout, where)
    changed = 0
    for entry in _live(new):
        before = (forms(entry), entry.fuzzy)
        own = [unit for unit in _units_of(entry) if unit.id in delivered]
        for unit in own:
            index = _index(unit.id)
            if index is None:
                entry.msgstr = delivered[unit.id][0]
            else:
                entry.msgstr_plural[index] = delivered[unit.id][0]
        if own:
            _set_fuzzy(entry, fuzzy=any(delivered[unit.id][1] for unit in own))
        changed += (forms(entry), entry.fuzzy) != before
    known = {unit.id for unit in _units(catalog)}
    return Imported(new, changed, len(delivered.keys() - known))


def _set_fuzzy(entry: polib.POEntry, *, fuzzy: bool) -> None:
    if fuzzy and not entry.fuzzy:
        entry.flags = ["fuzzy", *entry.flags]
    elif entry.fuzzy and not fuzzy:
        entry.flags = [flag for flag in entry.flags if flag != "fuzzy"]
        entry.previous_msgctxt = entry.previous_msgid = entry.previous_msgid_plural = None


# --- Units ------------------------------------------------------------------------------------------------------------


def _live(catalog: polib.POFile) -> Iterator[polib.POEntry]:
    return (entry for entry in catalog if not entry.obsolete)


def _units(catalog: polib.POFile) -> Iterator[_Unit]:
    return (unit for entry in _live(catalog) for unit in _units_of(entry))


def _units_of(entry: polib.POEntry) -> Iterator[_Unit]:
    # A short id that changes only with the text.
    name = hashlib.sha256(f"{entry.msgctxt or ''}\4{entry.msgid}".encode()).hexdigest()[:16]
    if not entry.msgid_plural:
        yield _Unit(name, entry.msgid, entry.msgstr, entry.fuzzy, entry)
        return
    for index in sorted(entry.msgstr_plural):
        source = entry.msgid_plural if index or len(entry.msgstr_plural) == 1 else entry.msgid
        yield _Unit(f"{name}-{index}", source, entry.msgstr_plural[index], entry.fuzzy, entry)


def _index(unit: str) -> int | None:
    """Return the plural form of a unit, None if the message has no plural."""
    _, _, index = unit.partition("-")
    return int(index) if index else None


# --- Files ------------------------------------------------------------------------------------------------------------


def _new_store(code: str, layout: Format) -> Any:
    storage = _storage(layout)
    if layout == "csv":
        return storage.csvfile(fieldnames=COLUMNS)
    return storage.xlifffile(sourcelanguage="en", targetlanguage=code)


def _delivered(content: bytes, layout: Format, where: str) -> dict[str, tuple[str, bool]]:
    """Return (translation, whether it is fuzzy) by unit id."""
    storage = _storage(layout)
    try:
        store = (storage.csvfile if layout == "csv" else storage.xlifffile).parsestring(content)
        text = str if layout == "xliff" else formula_of
        return {
            unit.getid().rpartition("\4")[2]: (text(str(unit.target)), unit.isfuzzy())
            for unit in store.units
            if unit.target
        }
    except Exception as error:  # noqa: BLE001  # the toolkit documents no exception class
        raise AtlasError(
            f"the file cannot be read as {layout}: {error}",
            where=where,
            remedy="export it again, and save it in its original format",
        ) from None


def _storage(layout: Format) -> Any:
    try:
        if layout == "csv":
            from translate.storage import csvl10n as storage  # noqa: PLC0415
        else:
            from translate.storage import xliff as storage  # noqa: PLC0415
    except ImportError:
        raise AtlasError(
            "translate-toolkit, which reads and writes XLIFF and CSV, is not installed",
            where="python -m generator export, import",
            remedy="run `pip install 'compile-atlas[translate]'`, or `pip install translate-toolkit`",
        ) from None
    return storage
