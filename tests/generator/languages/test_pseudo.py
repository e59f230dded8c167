"""No English is left on a page that is rendered in a language without English words.

This language has accented letters. Code, placeholders, tags and link targets stay. An English word that is still
readable on a page was never a message.
"""

from __future__ import annotations

import re
from pathlib import Path

from conftest import ROOT
from guide_figures import proper_names, render, shipped

from generator.languages import catalogs
from generator.languages.language import LIST, catalog_path, load_language
from generator.languages.pofile import english
from generator.languages.typography import VERBATIM

CODE = "en-GB"
"""CLDR knows it, and it is no language of the guide."""

ACCENTS = str.maketrans("aeiouAEIOUcnyCNY", "áéíóúÁÉÍÓÚçñýÇÑÝ")

_NEVER_TRANSLATED = re.compile(
    r"```.*?```|`[^`]*`|<(?:style|code|bdi)\b.*?</(?:style|code|bdi)>|<span lang=.*?</span>"
    r"|\{:?[^{}]*\}|\]\([^()]*\)|&\w+;",
    re.DOTALL,
)
_SHOWN_ATTRIBUTES = re.compile(r"\b(?:alt|title|aria-label)=\"([^\"]*)\"")


def accented(message: str) -> str:
    pieces, done = [], 0
    for start, end in (match.span() for match in VERBATIM.finditer(message)):
        pieces += [message[done:start].translate(ACCENTS), message[start:end]]
        done = end
    return "".join([*pieces, message[done:].translate(ACCENTS)])


def write_catalog(locales: Path) -> None:
    """Write the catalog for the messages of the project, and list its language after English."""
    template = catalogs.extract(ROOT)
    catalog = catalogs.read(CODE, locales)
    for message in template:
        translated = tuple(map(accented, english(message)))
        if message.id:
            catalog.add(message.id, translated if len(translated) > 1 else translated[0], context=message.context)
    path = catalog_path(CODE, locales)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(catalogs.update(catalog, template, CODE), encoding="utf-8")
    (locales / LIST).write_text(f'languages = ["en", "{CODE}"]\n', encoding="utf-8")


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
    words = re.findall(r"[^\W\d_]+", text)
    return [word for word in words if re.fullmatch(r"[A-Z]?[a-z]{2,}", word) and word != word.translate(ACCENTS)]


def test_no_english_is_left_on_the_real_pages(tmp_path: Path) -> None:
    write_catalog(tmp_path)
    # CLDR joins lists in English.
    names = {*proper_names(), "torch.compile", "note", "warning", " and "}
    files = render(load_language(CODE, tmp_path), shipped())
    found = {file.uri: leaks(str(file.content), names) for file in files if file.uri.endswith(".md")}
    assert {uri: sorted(set(words)) for uri, words in found.items() if words} == {}
