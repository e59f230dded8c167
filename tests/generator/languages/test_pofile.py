"""Catalog files: what is refused, with its line."""

from __future__ import annotations

import pytest

from bench.errors import AtlasError
from generator.languages.pofile import forms, is_complete, parse

HEADER = 'msgid ""\nmsgstr ""\n"X-Complete: yes\\n"\n\n'  # four lines


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('msgid "a\nmsgstr "b"\n', 5),
        ('msgid "a"\nhello\nmsgstr "b"\n', 6),
        ('msgid "a"\nmsgstr "b"x\n', 6),
        ('msgid "say "hello""\nmsgstr "b"\n', 5),
        ('msgid "a\\q"\nmsgstr "b"\n', 5),
        ('<<<<<<< HEAD\nmsgid "a"\nmsgstr "b"\n=======\n', 5),
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[x] "c"\n', 7),
        ('msgid "a"\nmsgstr "b"\n\nmsgid "a"\nmsgstr "c"\n', 8),
        ('msgid "a"\n\nmsgid "b"\nmsgstr "c"\n', 7),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(AtlasError) as error:
        parse((HEADER + text).encode(), "zh.po")
    assert error.value.where == f"zh.po:{line}"
    assert error.value.what.startswith("not a valid catalog")
    assert error.value.remedy


def test_other_encodings_are_refused_with_their_line() -> None:
    with pytest.raises(AtlasError, match=r"zh\.po:2: .*UTF-8"):
        parse('msgid ""\nmsgstr "编"\n'.encode("gb18030"), "zh.po")


def test_what_gettext_allows_is_read() -> None:
    text = (
        '# note\n#. hint\n#: a.md\n#, fuzzy\n#| msgid "old"\n'
        'msgid ""\n"two "\n"lines\\n\\"quoted\\""\nmsgstr "x\\\\y"\n\n#~ msgid "o"\n#~ msgstr "p"\n'
    )
    entry = parse((HEADER + text).replace("\n", "\r\n").encode(), "zh.po")[0]
    assert (entry.msgid, entry.msgstr, entry.previous_msgid, entry.fuzzy) == (
        'two lines\n"quoted"',
        "x\\y",
        "old",
        True,
    )


def test_plural_forms_come_in_order() -> None:
    text = 'msgid "a"\nmsgid_plural "b"\nmsgstr[1] "two"\nmsgstr[0] "one"\n'
    assert forms(parse(text.encode(), "x")[0]) == ("one", "two")


def test_the_header_says_whether_it_is_complete() -> None:
    assert is_complete(parse(HEADER.encode(), "x"))
    assert not is_complete(parse(b"", "x"))
