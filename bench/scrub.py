"""Messages of libraries as one line that tells nothing about the machine they were written on.

python -c "from bench.scrub import one_line; print(one_line('/home/me/venv/lib/python3.11/site-packages/torch/x.py'))"
"""

from __future__ import annotations

import getpass
import re
import socket

MAX_LENGTH = 300

_SITE_PACKAGES = re.compile(r"(?:[A-Za-z]:)?[^\s\"'(<]*?[/\\](?:site|dist)-packages[/\\]")
_ABSOLUTE = re.compile(r"(?<![\w:/.\\])(?:[A-Za-z]:\\|/)(?:[\w.+@-]+[/\\])+(?=[\w.+@-])")
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")


def one_line(message: object) -> str:
    """The message, `anonymous`, with its blanks folded and cut to `MAX_LENGTH`."""
    text = anonymous(" ".join(str(message).split()))
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1].rstrip()}…"


def anonymous(text: str) -> str:
    """The text with its paths cut to below site-packages (elsewhere to the file name), and without names of host and
    user."""
    text = _ABSOLUTE.sub("", _SITE_PACKAGES.sub("", text))
    text = _ADDRESS.sub("0x…", text)
    for private, label in ((socket.gethostname(), "<host>"), (_user(), "<user>")):
        if len(private) > 2 and private not in ("root", "localhost"):
            text = re.sub(rf"\b{re.escape(private)}\b", label, text)
    return text


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry, as in many containers
        return ""
