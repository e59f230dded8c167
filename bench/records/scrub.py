"""Keep private details out of records: folders, tokens, addresses, serial numbers, names of user and host."""

from __future__ import annotations

import getpass
import re
import socket
from functools import partial

from bench.errors import attempt

MAX_LENGTH, LONGEST = 300, 2000

_HEX = "[0-9a-fA-F]"
_REST = r"[^\s\"'<>(){},;:|]*"
_PRIVATE = {
    "": r"(?:[A-Za-z]:)?[^\s\"'(<]*[/\\](?:site|dist)-packages[/\\]",
    "0x…": r"0x[0-9a-fA-F]{6,}",
    "<token>": r"\b(?:hf_|gh[pousr]_|github_pat_|glpat-|sk-|xox[a-z]-|AKIA|AIza|eyJ)[\w.-]{8,}"
    r"|(?i:\b\w*(?:token|secret|password|api[_-]?key|authorization)[\"']?\s*[=:]\s*|\bbearer\s+)[\"']?(?!<)[^\s\"'<]{4,}",
    "<serial>": rf"\b(?:GPU-|MIG-)?{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}\b",
    "<address>": r"\b[\w.+-]+@\w[\w.-]*|(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?(?![\d.]*\d)"
    rf"|\b(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}\b|\b(?!https?:)\w+://(?!<)[^\s\"'<>]+",
    "<host>": r"\bip-\d+-\d+-\d+-\d+\b|\b(?:[\w-]+\.)+(?:local|localdomain|internal|lan|corp|cluster)\b",
    "<user>": r"\b(?:USER|LOGNAME|HOME|HOSTNAME|PWD)=(?!<)[^\s\"'<]+",
    "<path>": r"(?<=[\"'])(?:[A-Za-z]:)?[/\\][^\"'\n]*(?=[\"'])"  # in quotes, with blanks
    rf"|(?<![\w/\\.:<])(?:[A-Za-z]:[/\\]|\\\\|~[\w.-]*/|\.\./|/(?=[\w.])){_REST}"
    rf"|(?:(?<=:)|(?<=-[A-Z])|(?<=\w))/(?:home|Users|root|mnt|media|data|scratch|work|tmp)/{_REST}",
}
_PATTERNS = {label: re.compile(pattern) for label, pattern in _PRIVATE.items()}
_FILE = re.compile(r"[\w+-]+\.(?:pyc?|json|toml|ya?ml|txt|log|csv|jsonl|safetensors|bin|pth?|cpp|cuh?|h|so(?:\.\d+)*)")


def one_line(text: object) -> str:
    """Return the `anonymous` text on one line: blanks folded, no control characters, at most `MAX_LENGTH` long."""
    printable = "".join(character if character.isprintable() else " " for character in str(text)[:LONGEST])
    line = anonymous(" ".join(printable.split()))
    return line if len(line) <= MAX_LENGTH else f"{line[: MAX_LENGTH - 1].rstrip()}…"


def anonymous(text: str) -> str:
    """Return the text with a label for each private detail. Of a path, the name of a common kind of file stays."""
    for label, pattern in _PATTERNS.items():
        text = pattern.sub(partial(_shown, label), text)
    for name, label in ((socket.gethostname(), "<host>"), (attempt(getpass.getuser) or "", "<user>")):
        if len(name) > 2 and name not in ("root", "localhost"):  # which many machines share
            text = re.sub(rf"\b{re.escape(name)}\b", label, text)
    return text


def private(text: str) -> str | None:
    """Return the first private detail in a text, or None. Names of this machine are not looked for."""
    return next((match[0] for pattern in _PATTERNS.values() if (match := pattern.search(text))), None)


def _shown(label: str, match: re.Match[str]) -> str:
    name = re.split(r"[/\\]", match[0])[-1]
    return name if label == "<path>" and _FILE.fullmatch(name) else label
