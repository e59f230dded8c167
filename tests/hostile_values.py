"""Hostile content of untrusted files: unexpected values, texts that could run as code, broken bytes."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

CODE = (
    "<script>window.ran = 1</script>",
    '<img src="data:," onerror="window.ran = 1">',
    '"><svg onload="window.ran = 1">',
    "[a](javascript:window.ran=1)",
    "![a](x)[b][c]",
    '{: onclick="window.ran = 1" }',
    "{{ 7 * 7 }}",
    "{{ page.__class__.__mro__ }}",
    "{% for x in range(9) %}",
    "{# comment",
    "`code` **bold** _x_ | y",
    "\n\n# heading\n\n<b>",
    '=HYPERLINK("https://evil.test")',
    "%(model)999999999s",
    "$(touch ran)",
)
"""Texts that some program would run."""

NAMES = ("../../outside", "/etc/passwd", "CON", "a\0b", "x" * 300, "\u202eabc", "C:\\x", "\ue002", "\x1b[2J", " ", "")
"""Names of files in other folders, and invalid names."""

NUMBERS = (0, -1, 2**31, 2**63, 10**400, 1e308, -1e308, 5e-324, 0.5)

VALUES: tuple[Any, ...] = (None, True, [], {}, [[]], [{}], {"a": {}}, *NUMBERS, *CODE, *NAMES)


def places(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value of a JSON document, and of the first two items of lists."""
    yield place
    items = document[:2] if isinstance(document, list) else ()
    for step, value in document.items() if isinstance(document, dict) else enumerate(items):
        yield from places(value, (*place, step))


@st.composite
def changed(draw: st.DrawFn, document: Any) -> Any:
    """Draw the document with one to three values that are unexpected or missing."""
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(list(places(document))))
        if not place:
            return draw(st.sampled_from(VALUES))
        branch = document
        for step in place[:-1]:
            branch = branch[step]
        if draw(st.sampled_from([True, True, True, False])):
            branch[place[-1]] = draw(st.sampled_from(VALUES))
        else:
            del branch[place[-1]]
    return document


@st.composite
def broken(draw: st.DrawFn, content: bytes, pieces: tuple[bytes, ...] = ()) -> bytes:
    """Draw the content with some bytes removed, repeated or replaced, also by `pieces`."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(start + draw(st.sampled_from([0, 0, 1, 3, 40, 1000])), len(content))
        piece = draw(st.sampled_from([b"", *pieces, *_BYTES]) | st.binary(max_size=3))
        content = content[:start] + piece + content[end:] if piece != _TWICE else content[:end] + content[start:]
    return content


_TWICE = b"(twice)"
_BYTES = (
    *(_TWICE, b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\n", b"\r", b'"', b"\\", b"{", b"{{"),
    *(b'""' * 60, b" " * 5000, b"-" * 60, b"1" * 5000),
    *(text.encode() for text in CODE),
)

DEEP = b"[" * 5000
