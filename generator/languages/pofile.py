"""The one reader and writer of gettext catalogs.

The bytes of a ``.po`` file enter, a `polib.POFile` leaves, and the other way round. Unlike Babel's reader, polib
keeps what translators see beside a fuzzy entry (the previous text) and headers of our own.

    msgfmt --check locales/ar/LC_MESSAGES/messages.po
"""

from __future__ import annotations

import re

import polib

from bench.errors import AtlasError

Key = tuple[str | None, str]
"""Context (None for most) and msgid, singular: what identifies a message."""

_LINE = re.compile(
    r"|#(?!~).*|#~\|.*"
    r"|(?:#~\s*+)?(?:msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d{1,2}\])?\s*+"
    r"\"(?:[^\"\\]|\\[\\\"abfnrtv]|\\[0-7]{1,3}|\\x[0-9a-f]{2})*+\""
)
"""polib overlooks quotes that are not closed, and escapes that do not exist."""

NAMED = re.compile(r"%\(\w+\)[sd]")
"""A placeholder of a message that Python fills."""

MAX_BYTES = 8 * 1024 * 1024
"""A larger catalog is refused: the largest here has a thirtieth."""


def key(entry: polib.POEntry) -> Key:
    """What identifies an entry of a catalog."""
    return (entry.msgctxt, entry.msgid)


def forms(entry: polib.POEntry) -> tuple[str, ...]:
    """The translations of an entry: one, or one per plural form."""
    if entry.msgid_plural:
        return tuple(entry.msgstr_plural[index] for index in sorted(entry.msgstr_plural))
    return (entry.msgstr,)


def is_complete(catalog: polib.POFile) -> bool:
    """Whether the catalog declares that nothing is missing: header ``X-Complete: yes``."""
    return bool(catalog.metadata.get("X-Complete", "").strip().lower() == "yes")


def parse(content: bytes, where: str) -> polib.POFile:
    """The catalog in `content`. Raises `AtlasError` with the line of the first thing wrong in it."""
    if len(content) > MAX_BYTES:
        raise _broken(where, f"it has more than {MAX_BYTES:,} bytes")
    try:
        text = content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _broken(f"{where}:{line}", "the text is not UTF-8") from None
    for number, line_text in enumerate(text.split("\n"), start=1):
        if not _LINE.fullmatch(line_text.strip()):
            why = f"{line_text.strip()[:60]} is neither a keyword with a quoted text nor a comment"
            raise _broken(f"{where}:{number}", why)
    try:
        catalog = polib.pofile(text, wrapwidth=0) if text.strip() else polib.POFile(wrapwidth=0)
    except OSError as error:
        number_of = re.search(r"\(line (\d+)\)", str(error))
        place = f"{where}:{number_of[1]}" if number_of else where
        raise _broken(place, "a keyword is missing or out of order") from None
    _refuse_duplicates(catalog, where)
    return catalog


def _refuse_duplicates(catalog: polib.POFile, where: str) -> None:
    seen: dict[Key, int | None] = {}
    for entry in catalog:
        if entry.obsolete:
            continue
        if key(entry) in seen:
            raise _broken(f"{where}:{entry.linenum}", f"the message of line {seen[key(entry)]} stands here again")
        seen[key(entry)] = entry.linenum


def _broken(where: str, why: str) -> AtlasError:
    return AtlasError(
        f"not a valid catalog: {why}",
        where=where,
        remedy="correct the line; `msgfmt --check` tells more, and gettext editors write valid files",
    )
