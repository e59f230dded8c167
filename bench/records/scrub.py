"""Keep private details out of records: paths, host and user names, addresses, tokens, serial numbers.

`anonymous` cleans any text while measuring, including code; `message` cleans the words of an exception, which may
hold more.
`identifying` says what either of them would remove from a text of a finished record.
"""

from __future__ import annotations

import getpass
import ipaddress
import re
import socket
from collections.abc import Callable, Iterator
from functools import lru_cache

MAX_LENGTH = 300

LONGEST = 2 * MAX_LENGTH
"""Characters of a text that are looked at: patterns take long for longer ones. Records hold none."""

_POINTER = re.compile(r"0x[0-9a-fA-F]{6,}")
_SITE_PACKAGES = re.compile(r"(?:[A-Za-z]:)?[^\s\"'(<]*?[/\\](?:site|dist)-packages[/\\]")

_HOMES = "home|Users|root|mnt|media|scratch|lustre|gpfs|nfs"
_REST = r"[^\s\"'<>(){},;:|]*"
_PATH = re.compile(
    r"(?<=[\"'])(?:/|~|[A-Za-z]:[\\/]|\\\\)[^\"'\n]*(?=[\"'])"  # in quotes, with blanks
    rf"|(?<![\w/.\\:~])(?:[A-Za-z]:[\\/]|\\\\+(?=\w)|~[\w.-]*/|\.{{1,2}}[\\/](?=\w)|/(?=[A-Za-z_.])){_REST}"
    rf"|(?:(?<=:)|(?<=-[A-Za-z]))/(?=[A-Za-z_.]){_REST}"  # the next of a list; -I/usr/include
    rf"|(?<=\w)/(?=(?:{_HOMES})/\w){_REST}"
)
_FILE = re.compile(
    r"[\w+-]+\.(?:py|pyc|json|toml|ya?ml|txt|log|csv|jsonl|safetensors|bin|pth?|ckpt|pkl|onnx|cpp|cuh?|c|h|o|a"
    r"|cubin|ptx|ttg?ir|dylib|dll|so(?:\.\d+)*)"
)
"""The name of a file that says what it holds: it may stay of a path."""

_PUBLIC = re.compile(
    r"(https?://(?:huggingface\.co/|(?:\w+\.)?pytorch\.org/|meta-pytorch\.github\.io/"
    r"|github\.com/(?:pytorch|huggingface|triton-lang)/)[\w./#-]*)"
)
"""Addresses that error messages point to."""

_HEX = "[0-9a-fA-F]"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_PRIVATE = {
    "token": re.compile(
        r"\bhf_(?=[a-zA-Z]*[A-Z0-9]|\w{20})[A-Za-z0-9]{6,}|\bgh[pousr]_\w{6,}|\bgithub_pat_\w+|\bglpat-[\w-]{6,}"
        r"|\b(?:AKIA|ASIA|AROA|AIDA|AGPA)[A-Z0-9]{8,}|\bsk-[\w-]{16,}|\bxox[abeoprs]-[\w-]{6,}|\bAIza[\w-]{20,}"
        r"|\beyJ[\w-]{8,}\.[\w.-]+"
        r"|(?i:\b(?:\w*token|\w*secret|password|passwd|\w*api[_-]?key|authorization)[\"']?\s*[=:]\s*|\bbearer\s+)"
        r"[\"']?(?!<)[^\s\"'<]{4,}"
    ),
    "serial number": re.compile(
        rf"\b(?:GPU-|MIG-)?{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}\b|\b(?:GPU|MIG)-{_HEX}{{8}}[\w-]*"
        r"|(?i:\b(?:serial(?:\s*(?:no\.?|number))?|S/N))(?:\s*[:=#]\s*[\w-]{5,}|\s+(?=[A-Za-z-]*\d)[\w-]{5,})"
    ),
    "network address": re.compile(
        rf"\b(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}\b|(?<![\d.])(?:{_BYTE}\.){{3}}{_BYTE}(?:/\d+|:\d+)?(?![\d.]*\d)"
        rf"|(?<![\w.:])\[?(?:{_HEX}{{0,4}}:){{2,7}}(?:{_HEX}{{1,4}}|(?:{_BYTE}\.){{3}}{_BYTE})?(?:%\w+)?\]?(?::\d+)?(?![\w:])"
        r"|\b[a-z][a-z0-9+.-]*://(?!<)[^\s\"'<>]+"
    ),
    "e-mail address": re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"),
    "host": re.compile(
        r"\b(?:ip-\d{1,3}(?:-\d{1,3}){3}"
        r"|(?:[\w-]+\.)+(?:local|localdomain|internal|lan|corp|intranet|compute|home|arpa|cluster))\b(?::\d+)?"
    ),
}
"""Patterns of private details in any text, by their name."""

_IN_MESSAGES = {
    "folder": re.compile(
        r"(?<![\w/:.])(?!(?:torch|torchvision|transformers|timm|triton|numpy|scipy|PIL|safetensors|huggingface_hub"
        r"|tokenizers|ray|bench|python3?[\d.]*)[\\/])(?:[\w.+-]+[\\/]){2,}[\w.+-]*"
        rf"|(?<![\w/:.])(?:{_HOMES}|work|data|tmp)[\\/][\w.+-]+|(?<!\w)~[A-Za-z][\w.-]*|\\\\[\w.$-]+(?:\\+[\w.$-]+)*"
    ),
    "network address": re.compile(r"\b[\w.+-]+@[A-Za-z][\w-]*\b"),
    "host": re.compile(
        r"\b(?=[\w.-]*[A-Za-z])(?!(?:cuda|xpu|mps|cpu|line|rank|stage|device):)[\w-]+(?:\.[\w-]+)*:\d{2,5}\b(?<!\.py:\d)"
        r"(?<!\.py:\d\d)(?<!\.py:\d\d\d)(?<!\.py:\d{4})(?<!\.py:\d{5})"
        r"|\b(?:[a-z0-9](?:[\w-]*[a-z0-9])?\.)+(?:com|org|net|io|ai|edu|gov|mil|int|info|dev|cloud|app|name|lab|host"
        r"|de|uk|fr|cn|jp|kr|in|ru|ch|at|nl|se|no|fi|dk|it|es|pl|br|ca|au|nz|us|eu|be|cz|ir|il|sg|tw|hk)\b(?!\()"
        r"|(?i:\b(?:dgx|gpu|node|compute|worker|login|head|hpc|server|srv|host|vm|box|rack|desktop|laptop|workstation|ws|pc)"
        r"(?:-[\w-]*\d[\w-]*|\d{2,}[\w-]*)|\b[\w-]*(?:macbook|imac|thinkpad)[\w-]*)"
        r"|(?i:(?<=\bhost )|(?<=\bhostname )|(?<=\bmachine )|(?<=\bserver )|(?<=\bnode ))"
        r"[\"']?[\w.-]*[\d-][\w.-]*[\"']?"
    ),
    "user": re.compile(
        r"(?<=\buser )[\"']?[\w.-]+[\"']?|\b(?:USER|USERNAME|LOGNAME|HOME|HOSTNAME|PWD)=(?!<)[^\s\"'<]+"
    ),
    "token": re.compile(r"\b(?=[\w-]*[a-z])(?=[\w-]*[A-Z])(?=[\w-]*\d)[A-Za-z0-9-]{20,}\b|\b[0-9a-f]{24,}\b"),
}
"""Patterns of private details in the words of an exception, where they cost no more than a word too many."""

_LABELS = {
    "token": "<token>",
    "serial number": "<serial>",
    "network address": "<address>",
    "e-mail address": "<address>",
    "host": "<host>",
    "folder": "<path>",
    "user": "<user>",
}


def one_line(text: object) -> str:
    """Return an `anonymous` text on one line: blanks folded, no control characters, at most `MAX_LENGTH` long."""
    return _cleaned(_cut(anonymous(_folded(text))))


def message(text: object) -> str:
    """Return the words of an exception or of another program on one line, with nothing that may say who or where."""
    return _cleaned(_cut(_cleaned(_folded(text), is_message=True)), is_message=True)


def anonymous(text: str) -> str:
    """Return the text without names of host and user, addresses, tokens and serial numbers.

    Paths become relative to site-packages. Of other paths only the name of a file stays, if it says what it holds.
    """
    return _cleaned(text)


@lru_cache(maxsize=65_536)
def identifying(
    text: str, *, is_message: bool = False, ignored: frozenset[str] = frozenset()
) -> tuple[str, str] | None:
    """Return the first private detail in the text as (kind, words), or None. Kinds in `ignored` are left alone: of
    versions, four numbers look like an address."""
    for part in _PUBLIC.split(text)[::2]:
        for kind, pattern, label in _patterns(is_message=is_message):
            for match in pattern.finditer(part) if kind not in ignored else ():
                if (kept := label(match)) != match[0]:
                    return kind, match[0].removesuffix(kept)
    return None


def _cleaned(text: str, *, is_message: bool = False) -> str:
    before = None
    while text != before:  # what takes the place of one detail may complete another
        before, parts = text, _PUBLIC.split(text)
        for _, pattern, label in _patterns(is_message=is_message):
            parts[::2] = [pattern.sub(label, part) for part in parts[::2]]
        text = "".join(parts)
    return text


_Label = Callable[[re.Match[str]], str]


def _patterns(*, is_message: bool) -> Iterator[tuple[str, re.Pattern[str], _Label]]:
    """Yield what to look for, in this order: the kind, its pattern, and what returns the words in its place."""
    yield "path", _SITE_PACKAGES, lambda _: ""
    for kind, pattern in _PRIVATE.items():
        yield kind, pattern, _address if kind == "network address" else _always(_LABELS[kind])
    yield "folder", _PATH, _file
    yield "pointer", _POINTER, _always("0x…")
    for kind, pattern in _IN_MESSAGES.items() if is_message else ():
        yield kind, pattern, _always(_LABELS[kind])
    for private, label in _own_names():
        yield f"name of the {label.strip('<>')}", _word(private), _always(label)


def _always(label: str) -> _Label:
    return lambda _: label


def _address(match: re.Match[str]) -> str:
    """Return what takes the place of an address, or the words themselves: a time of day has colons, too."""
    words = match[0]
    has_colons = words.count(":") > 1 and "://" not in words
    return words if has_colons and not _is_address(words) else _LABELS["network address"]


def _is_address(words: str) -> bool:
    """Return whether words with colons are an address, and no time of day or C++ name."""
    if re.fullmatch(rf"(?:{_HEX}{{2}}:){{5}}{_HEX}{{2}}", words):
        return True
    bare = re.sub(r"^\[|\](?::\d+)?$|%\w+", "", words)
    try:
        return ipaddress.ip_address(bare).version == 6 and len(bare) > 2
    except ValueError:
        return False


def _file(match: re.Match[str]) -> str:
    """Return the name of the file that a path ends with, if it may stay."""
    name = re.split(r"[\\/]", match[0])[-1]
    if _FILE.fullmatch(name):
        return name
    return "<path>" + match[0][len(match[0].rstrip(".")) :]


def _folded(text: object) -> str:
    printable = "".join(character if character.isprintable() else " " for character in str(text))
    return " ".join(printable.split())[:LONGEST]


def _cut(text: str) -> str:
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1].rstrip()}…"


@lru_cache
def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(name)}\b")


def _own_names() -> list[tuple[str, str]]:
    """Return the names of this host and user with their labels, except names that many machines share."""
    names = ((socket.gethostname(), "<host>"), (_user(), "<user>"))
    return [(name, label) for name, label in names if len(name) > 2 and name not in ("root", "localhost")]


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without an entry, as in many containers
        return ""
