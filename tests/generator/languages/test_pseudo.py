"""No English is left on a page that is rendered in a language without English words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from guide_figures import copy_of_guide, proper_names, real_pages, rendered
from pseudo import ACCENTED, CODES, english_words, write_catalogs

_NEVER_TRANSLATED = re.compile(
    r"```.*?```|`[^`]*`|<(?:style|code|bdi)\b.*?</(?:style|code|bdi)>|<span lang=.*?</span>"
    r"|\{:?[^{}]*\}|\]\([^()]*\)|&\w+;",
    re.DOTALL,
)
_SHOWN_ATTRIBUTES = re.compile(r"\b(?:alt|title|aria-label)=\"([^\"]*)\"")


def leaks(page: str, names: set[str]) -> list[str]:
    """English words that a reader of the page would see, apart from names."""
    front, body = re.match(r"(?s)(?:---\n(.*?)\n---\n)?(.*)", page).groups()  # type: ignore[union-attr]
    shown = [line.partition(": ")[2] for line in (front or "").split("\n") if line.startswith(("title", "description"))]
    shown += _SHOWN_ATTRIBUTES.findall(body)
    body = _NEVER_TRANSLATED.sub(" ", body.replace("&#95;", "_").replace("<wbr>", ""))
    text = "\n".join([*shown, re.sub(r"<[^<>]*>", " ", body)])
    text = re.sub(
        r"\u200e[^\u200e\n]*\u200e", " ", text.replace("\u00a0", " ").replace("\u2060", "")
    )  # names do not break
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, " ")
    return english_words(text)


@pytest.mark.parametrize("code", CODES)
def test_no_english_is_left_on_the_small_guide(code: str, tmp_path: Path) -> None:
    root = copy_of_guide(tmp_path)
    write_catalogs(root, root / "locales")
    names = {"NVIDIA", "Conditional-DETR", "March", "PyTorch", "note", "and", "tag", "hide", "toc"}
    for uri, page in rendered(code, root).items():
        assert leaks(page, names) == [], uri


def test_a_leak_is_found() -> None:
    assert leaks('---\ntitle: Ťíțłê\n---\n\nSome `code` and text <img alt="A chart">\n', {"and"}) == [
        "chart",
        "Some",
        "text",
    ]


def test_no_english_is_left_on_the_real_pages(tmp_path: Path) -> None:
    write_catalogs(ROOT, tmp_path)
    # CLDR joins lists in English.
    names = {*proper_names(), "torch.compile", "note", "warning", "decision-records", " and "}
    found = {uri: leaks(page, names) for uri, page in real_pages(ACCENTED, tmp_path).items()}
    assert {uri: sorted(set(words)) for uri, words in found.items() if words} == {}
