"""Pseudo-locales: what they change, and that no English is left on a page that is rendered in them."""

from __future__ import annotations

import re

import pytest
from guide_figures import proper_names, real_pages, rendered

from generator.languages.language import PSEUDO, load_language
from generator.languages.pseudo import english_words, pseudo

MESSAGE = "**The most, here:** {{ best | name }} with `torch.compile` is [very](a.md){ .b } <b class='x'>fast</b> %(n)s"


@pytest.mark.parametrize("code", PSEUDO)
def test_placeholders_code_tags_and_links_stay(code: str) -> None:
    strange = load_language(code).gettext(MESSAGE)
    for part in ("{{ best | name }}", "`torch.compile`", "](a.md){ .b }", "<b class='x'>", "</b>", "%(n)s", "**"):
        assert strange.count(part) == MESSAGE.count(part)
    assert english_words(MESSAGE.replace("torch.compile", "").replace("best", "").replace("class", ""))
    assert not english_words(re.sub(r"`.*?`|\{.*?\}+|<.*?>|%\(n\)s|\]\(.*?\)", "", strange))


def test_accented_text_is_forty_per_cent_longer() -> None:
    english = "Compiling changes the latency of a model on a device, and costs time once."
    assert 1.3 <= len(pseudo("en-XA")(english)) / len(english) <= 1.5


def test_right_to_left_text_has_its_letters_and_direction() -> None:
    language = load_language("ar-XB")
    assert language.direction == "rtl"
    assert not re.search("[A-Za-z]", language.gettext("The latency, of course; or not?"))
    assert "،" in language.gettext("one, two")


def test_plural_forms_are_chosen_as_in_english() -> None:
    language = load_language("en-XA")
    assert language.ngettext("one row", "many rows", 1) == language.gettext("one row")
    assert language.ngettext("one row", "many rows", 2) == language.gettext("many rows")


# --- no English leaks through -----------------------------------------------------------------------------------------

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


@pytest.mark.parametrize("code", PSEUDO)
def test_no_english_is_left_on_the_small_guide(code: str) -> None:
    names = {"NVIDIA", "Conditional-DETR", "March", "PyTorch", "note", "and", "tag", "hide", "toc"}
    for uri, page in rendered(code).items():
        assert leaks(page, names) == [], uri


def test_a_leak_is_found() -> None:
    assert leaks('---\ntitle: Ťíțłê\n---\n\nSome `code` and text <img alt="A chart">\n', {"and"}) == [
        "chart",
        "Some",
        "text",
    ]


@pytest.mark.parametrize("code", PSEUDO)
def test_no_english_is_left_on_the_real_pages(code: str) -> None:
    names = {
        *proper_names(),
        "torch.compile",
        "note",
        "warning",
        " and ",
    }  # Babel joins lists of the accented locale in English
    found = {uri: leaks(page, names) for uri, page in real_pages(code).items()}
    assert {uri: sorted(set(words)) for uri, words in found.items() if words} == {}
