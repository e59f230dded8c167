"""Keep private details out of records: paths, host and user names, addresses, serial numbers.

`one_line` and `anonymous` clean a text while measuring; `identifying` checks a text of a finished record.
"""

from __future__ import annotations

import getpass
import re
import socket
from functools import lru_cache

MAX_LENGTH = 300

_SITE_PACKAGES = re.compile(r"(?:[A-Za-z]:)?[^\s\"'(<]*?[/\\](?:site|dist)-packages[/\\]")
_ABSOLUTE = re.compile(r"(?<![\w:/.\\])(?:[A-Za-z]:\\|/)(?:[\w.+@-]+[/\\])+(?=[\w.+@-])")
_POINTER = re.compile(r"0x[0-9a-fA-F]{6,}")

_HEX = "[0-9a-fA-F]"
_PRIVATE = {
    "serial number": re.compile(
        rf"\b(?:GPU-|MIG-)?{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}\b"
        r"|(?i:\bserial(?:\s*(?:no\.?|number))?\s*[:=#]\s*)[\w-]{5,}"
    ),
    "network address": re.compile(
        rf"\b(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}\b"
        r"|(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])"
    ),
    "e-mail address": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
    "host": re.compile(
        r"\b(?:ip-\d{1,3}(?:-\d{1,3}){3}|(?:[\w-]+\.)+(?:local|localdomain|internal|lan|corp|intranet|compute))\b"
    ),
}
"""Patterns of private details other than paths, by their name."""

LABELS = {"serial number": "<serial>", "network address": "<address>", "e-mail address": "<address>", "host": "<host>"}


def one_line(message: object) -> str:
    """Return an `anonymous` message on one line: blanks folded, no control characters, at most `MAX_LENGTH` long."""
    printable = "".join(character if character.isprintable() else " " for character in str(message))
    text = anonymous(" ".join(printable.split()))
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1].rstrip()}…"


def anonymous(text: str) -> str:
    """Return the text without names of host and user, addresses and serial numbers.

    Paths become relative to site-packages; other paths are cut to the file name.
    """
    text = _ABSOLUTE.sub("", _SITE_PACKAGES.sub("", text))
    text = _POINTER.sub("0x…", text)
    for what, pattern in _PRIVATE.items():
        text = pattern.sub(LABELS[what], text)
    for private, label in _own_names():
        text = re.sub(rf"\b{re.escape(private)}\b", label, text)
    return text


@lru_cache(maxsize=65_536)
def identifying(text: str, *, is_version: bool = False) -> tuple[str, str] | None:
    """Return the first private detail in the text as (kind, words), or None.

    With `is_version`, network addresses are ignored, since a version of four numbers looks like one.
    """
    for what, pattern in {"path": _SITE_PACKAGES, "folder": _ABSOLUTE, **_PRIVATE}.items():
        if (match := pattern.search(text)) and not (is_version and what == "network address"):
            return what, match[0]
    for private, label in _own_names():
        if re.search(rf"\b{re.escape(private)}\b", text):
            return f"name of the {label.strip('<>')}", private
    return None


def _own_names() -> list[tuple[str, str]]:
    """Return the names of this host and user with their labels, except names that many machines share."""
    names = ((socket.gethostname(), "<host>"), (_user(), "<user>"))
    return [(name, label) for name, label in names if len(name) > 2 and name not in ("root", "localhost")]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry, as in many containers
        return ""
