"""Read gettext catalogs.

`parse` takes the bytes of a ``.po`` file and returns Babel's `Catalog`, without obsolete messages.
"""

from __future__ import annotations

import re
from typing import Any

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import PoFileError, PoFileParser, unescape

from bench.errors import AtlasError

Key = tuple[str | None, str]
"""Identifies a message: its context (None for most) and its English singular."""

NAMED = re.compile(r"%\(\w+\)[sd]")
"""A placeholder that Python's % operator fills."""

_TEXT = r"\"(?:[^\"\\]|\\[\\\"nrt])*+\""
_LINE = re.compile(rf"|#(?!~).*|#~\|.*|(?:#~\s*+)?(?:(?:msgctxt|msgid|msgid_plural|msgstr|msgstr\[\d\])\s++)?{_TEXT}")
"""A valid line. Babel itself accepts unclosed quotes."""


def english(message: Message) -> tuple[str, ...]:
    """Return the English text of a message: one, or singular and plural."""
    return (message.id,) if isinstance(message.id, str) else tuple(message.id)


def forms(message: Message) -> tuple[str, ...]:
    """Return the translations of a message: one, or one per plural form. A missing one is empty."""
    return (str(message.string or ""),) if isinstance(message.id, str) else tuple(message.string or ())


def key(message: Message) -> Key:
    """Return the key of a message."""
    return message.context, english(message)[0]


class _Strict(Catalog):
    """A catalog that refuses a second translation of a message, which Babel would drop."""

    def __setitem__(self, id: Any, message: Message) -> None:  # noqa: A002  # Babel's name
        if id and (first := self.get(id, message.context)):
            line = message.lineno or 1
            raise PoFileError(f"this message repeats the one in line {first.lineno}", self, "", line - 1)
        super().__setitem__(id, message)


def parse(content: bytes, where: str) -> Catalog:
    """Parse a catalog. Raises `AtlasError` with the line of the first mistake."""
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise _broken(where, content.count(b"\n", 0, error.start), "the text is not UTF-8") from None
    for index, line in enumerate(lines):
        if not _LINE.fullmatch(line.strip()):
            raise _broken(where, index, f"{line.strip()[:60]} is neither a keyword with a quoted text nor a comment")
    catalog = _Strict()
    try:
        PoFileParser(catalog, ignore_obsolete=True, abort_invalid=True).parse(lines)
    except PoFileError as error:
        raise _broken(where, error.lineno, str(error).removesuffix(f" on {error.lineno}")) from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _broken(where, 0, f"a keyword or a header is missing or out of order ({error})") from None
    for message in catalog:  # Babel takes ``#| msgid "…"`` beside a fuzzy translation for a comment of a translator
        comments = " ".join(comment for comment in message.user_comments if comment.startswith("|"))
        message.user_comments = [comment for comment in message.user_comments if not comment.startswith("|")]
        texts = re.split(r"\|\s*msgid(?:_plural)?\s", comments)[1:]
        message.previous_id = ["".join(map(unescape, re.findall(_TEXT, text))) for text in texts]
    return catalog


def _broken(where: str, index: int, why: str) -> AtlasError:
    return AtlasError(
        f"not a valid catalog: {why}",
        where=f"{where}:{index + 1}",
        remedy="correct the line; `msgfmt --check` shows more, and gettext editors write valid files",
    )
