"""Parse and validate gettext catalogs.

`parse` takes the bytes of a ``.po`` file and returns a `polib.POFile`. Unlike Babel, polib keeps custom headers and the
previous text that translators see beside a fuzzy entry.
"""

from __future__ import annotations

import re

import polib

from bench.errors import AtlasError

Key = tuple[str | None, str]
"""Identifies a message: context (None for most) and singular msgid."""

_LINE = re.compile(
    r"|#(?!~).*|#~\|.*"
    r"|(?:#~\s*+)?(?:msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d{1,2}\])?\s*+"
    r"\"(?:[^\"\\]|\\[\\\"abfnrtv]|\\[0-7]{1,3}|\\x[0-9a-f]{2})*+\""
)
"""A valid line. polib itself accepts unclosed quotes and unknown escapes."""

NAMED = re.compile(r"%\(\w+\)[sd]")
"""A placeholder that Python's % operator fills."""

MAX_BYTES = 8 * 1024 * 1024
"""Most bytes in a catalog: thirty times the largest one."""


def key(entry: polib.POEntry) -> Key:
    """Return the key of a catalog entry."""
    return (entry.msgctxt, entry.msgid)


def forms(entry: polib.POEntry) -> tuple[str, ...]:
    """Return the translations of an entry: one, or one per plural form."""
    if entry.msgid_plural:
        return tuple(entry.msgstr_plural[index] for index in sorted(entry.msgstr_plural))
    return (entry.msgstr,)


def is_complete(catalog: polib.POFile) -> bool:
    """Whether the catalog declares itself complete, with the header ``X-Complete: yes``."""
    return bool(catalog.metadata.get("X-Complete", "").strip().lower() == "yes")


def parse(content: bytes, where: str) -> polib.POFile:
    """Parse a catalog. Raises `AtlasError` with the line of the first mistake."""
    if len(content) > MAX_BYTES:
        raise _broken(where, f"it is larger than {MAX_BYTES:,} bytes")
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
        line_match = re.search(r"\(line (\d+)\)", str(error))
        place = f"{where}:{line_match[1]}" if line_match else where
        raise _broken(place, "a keyword is missing or out of order") from None
    _refuse_duplicates(catalog, where)
    return catalog


def _refuse_duplicates(catalog: polib.POFile, where: str) -> None:
    seen: dict[Key, int | None] = {}
    for entry in catalog:
        if entry.obsolete:
            continue
        if key(entry) in seen:
            raise _broken(f"{where}:{entry.linenum}", f"this message repeats the one in line {seen[key(entry)]}")
        seen[key(entry)] = entry.linenum


def _broken(where: str, why: str) -> AtlasError:
    return AtlasError(
        f"not a valid catalog: {why}",
        where=where,
        remedy="correct the line; `msgfmt --check` shows more, and gettext editors write valid files",
    )
