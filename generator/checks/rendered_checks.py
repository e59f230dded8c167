"""Whether a built site has the same in every language: headings, tables, rows, figures, code, links and ids.

The folder of a site enters, `Finding`s leave: a table that one language lost is named. Only the article of a page is
read; what surrounds it comes from the theme. The languages may order their sentences differently, so links and inline
code are compared by what they are, not by where they stand.

    mkdocs build --strict && python -m generator check --site site
"""

from __future__ import annotations

import hashlib
import html
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from urllib.parse import urljoin

from bench.errors import AtlasError
from generator.languages.findings import Finding, short
from generator.languages.language import published_languages
from generator.pages.pages import HELP
from generator.parallel import mapped

PAGE = "index.html"


@dataclass(frozen=True)
class Table:
    """A table by what does not depend on the language: its place, its size, and the values it can be sorted by."""

    section: str  # id of the heading above it
    caption: str
    rows: tuple[int, ...]  # cells in each
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """How a person finds it."""
        named = f" “{short(self.caption)}”" if self.caption else ""
        return f"table{named} of the section #{self.section}"


@dataclass
class Structure:
    """What an article is made of."""

    headings: list[tuple[str, str]] = field(default_factory=list)  # tag, id
    tables: list[Table] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # addresses of the pictures
    code: list[str] = field(default_factory=list)
    inline_code: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: int = 0  # of lists


def check_site(site: Path, codes: Sequence[str] | None = None) -> list[Finding]:
    """Every difference in structure between the source language and another one. Raises `AtlasError` without a site."""
    codes = published_languages() if codes is None else codes
    if not (site / PAGE).is_file():
        raise AtlasError("there is no built site", where=str(site), remedy="run `mkdocs build --strict` first")
    return differences(site, dict(zip(codes, mapped(partial(outlines, site, codes), codes), strict=True)))


def differences(site: Path, languages: Mapping[str, Mapping[str, bytes]]) -> list[Finding]:
    """The same where the outlines of each language, the source first, are known."""
    (_, source), *others = languages.items()
    findings: list[Finding] = []
    for code, other in others:
        findings += _check_pages({*source}, {*other}, code)
        for name in source.keys() & other.keys():
            if source[name] != other[name]:
                ours, theirs = (structure(_text_of(site / each / name), name) for each in ("", code))
                findings += compare(ours, theirs, f"{code}/{name}")
    return sorted(set(findings))


def outlines(site: Path, codes: Sequence[str], code: str) -> dict[str, bytes]:
    """Of each page of one language of a site, by its name below the root of that language."""
    prefix = "" if code == codes[0] else f"{code}/"
    return {name: outline(text) for name, text in _pages(site, prefix, codes)}


def _pages(site: Path, prefix: str, codes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name below the root of the language, and content."""
    root = site / prefix
    for path in sorted(root.rglob(PAGE)):
        name = path.relative_to(root).as_posix()
        if prefix or name.split("/")[0] not in {*codes, *published_languages()}:
            yield name, _text_of(path)


def _text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _check_pages(expected: set[str], actual: set[str], code: str) -> Iterator[Finding]:
    for name in sorted(expected - actual):
        yield Finding(f"{code}/{name}", 1, "", "the page is missing", "build the site again", "page")
    for name in sorted(actual - expected):
        yield Finding(f"{code}/{name}", 1, "", "the page is not there in English", "build the site again", "page")


# --- Reading ----------------------------------------------------------------------------------------------------------

_ATTRIBUTES = r"[^<>\"']*+(?:(?:\"[^\"]*\"|'[^']*')[^<>\"']*+)*+"
_TAG = re.compile(rf"<(/?)([a-zA-Z][\w-]*)({_ATTRIBUTES})>")
_ATTRIBUTE = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|'([^']*)')")
_LINE_NUMBER_ID = re.compile(r"__(?:codelineno|span|tabbed)\w*-")
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


def structure(page: str, name: str = PAGE) -> Structure:
    """The structure of a built page; `name` is its file below the root of its language, which links start from."""
    return _Reader(_article(page), name).structure


def _article(page: str) -> str:
    begin = page.find("<article")
    end = page.find("</article>", begin)
    return page[begin:end] if 0 <= begin < end else ""


def outline(page: str) -> bytes:
    """A digest that pages of another structure do not share. Nearly all that have the same do, and it takes a fraction
    of the time to compute."""
    article = _article(page)
    parts = [_PLACE.findall("".join(_PLACED.findall(article))), _PRE.findall(article), article.count("<li")]
    parts += [sorted(anywhere.findall(article)) for anywhere in (_CODE, _ADDRESS)]
    return hashlib.sha256(repr(parts).encode()).digest()


_PLACED = re.compile(rf"<(?i:h[1-6]|/?table|tr|td|th|img)\b{_ATTRIBUTES}>")
_PLACE = re.compile(r"<[/\w]+|\s(?:id|data-sort|src)=(?:\"[^\"]*\"|'[^']*')")
_PRE = re.compile(r"<pre\b.*?</pre>", re.DOTALL)
_CODE = re.compile(r"<code\b[^>]*>(.*?)</code>", re.DOTALL)
_ADDRESS = re.compile(r"\s(?:id|href)=(?:\"[^\"]*\"|'[^']*')")


class _Reader:
    """One pass over the tags of one article."""

    def __init__(self, article: str, name: str) -> None:
        self.article, self.name = article, name
        self.structure = Structure()
        self.section = ""
        self.rows: list[int] = []
        self.values: list[str] = []
        self.caption = ""
        self.opened: dict[str, int] = {}  # tag → where its content begins
        for tag in _TAG.finditer(article):
            name = tag[2].lower()
            if tag[1]:
                self._close(name, tag)
            else:
                self._open(name, tag)

    def _open(self, name: str, tag: re.Match[str]) -> None:
        found = self.structure
        attributes = {each[1]: each[2] or each[3] or "" for each in _ATTRIBUTE.finditer(tag[3])}
        self.opened[name] = tag.end()
        if "id" in attributes and not _LINE_NUMBER_ID.match(attributes["id"]):
            found.ids.append(attributes["id"])
        if name in _HEADINGS:
            self.section = attributes.get("id", "")
            found.headings.append((name, self.section))
        elif name == "table":
            self.rows, self.values, self.caption = [], [], ""
        elif name == "tr":
            self.rows.append(0)
        elif name in {"td", "th"} and self.rows:
            self.rows[-1] += 1
            self.values.append(attributes.get("data-sort", ""))
        elif name == "img":
            found.figures.append(self._address(attributes.get("src", "")))
        elif name == "li":
            found.items += 1
        elif name == "a" and "href" in attributes and not self._is_own(attributes):
            found.links.append(self._address(attributes["href"]))

    def _close(self, name: str, tag: re.Match[str]) -> None:
        content = self.article[self.opened.get(name, tag.start()) : tag.start()]
        if name == "caption":
            self.caption = _text(content)
        elif name == "table":
            self.structure.tables.append(Table(self.section, self.caption, tuple(self.rows), tuple(self.values)))
        elif name == "pre":
            self.structure.code.append(_text(content))
        elif name == "code" and self.opened.get("pre", -1) < self.opened.get("code", -1):
            self.structure.inline_code.append(_text(content))

    @staticmethod
    def _is_own(link: dict[str, str]) -> bool:
        """Whether a link is one that languages need not share: to a line of code, or to a missing translation."""
        return link["href"].startswith("#__codelineno") or link.get("class") == HELP

    def _address(self, address: str) -> str:
        """An address as seen from the root of the language; assets are shared, and stand above it."""
        absolute = urljoin(f"http://site/language/{self.name}", html.unescape(address))
        return re.sub(r"^http://site/(?:language/)?", "", absolute)


def _text(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^<>]*>", "", markup)).split())


# --- Comparing --------------------------------------------------------------------------------------------------------

_REMEDY = "compare the page with the English one; a translation or a message may hold other markup"


def compare(source: Structure, other: Structure, file: str) -> Iterator[Finding]:
    """What is different in another language, in the order in which a reader would miss it."""

    def finding(what: str, about: str = "") -> Finding:
        return Finding(file, 1, short(about), what, _REMEDY, "structure")

    yield from _compare_lists("heading", source.headings, other.headings, lambda each: f"{each[0]} #{each[1]}", finding)
    yield from _compare_tables(source.tables, other.tables, finding)
    yield from _compare_lists("figure", source.figures, other.figures, str, finding)
    yield from _compare_lists("code block", source.code, other.code, short, finding)
    for kind, expected, actual in (
        ("inline code", source.inline_code, other.inline_code),
        ("link", source.links, other.links),
        ("id", source.ids, other.ids),
    ):
        yield from _compare_lists(kind, sorted(expected), sorted(actual), short, finding)
    if source.items != other.items:
        yield finding(f"{other.items} list items instead of {source.items}")


def _compare_lists(
    kind: str,
    expected: Sequence[Hashable],
    actual: Sequence[Hashable],
    name: Callable[..., str],
    finding: Callable[..., Finding],
) -> Iterator[Finding]:
    missing, extra = Counter(expected) - Counter(actual), Counter(actual) - Counter(expected)
    for each in missing:
        yield finding(f"the {kind} {name(each)} is missing")
    for each in extra:
        yield finding(f"the {kind} {name(each)} is not there in English")
    if not missing and not extra and list(expected) != list(actual):
        yield finding(f"the {kind}s stand in another order")


def _compare_tables(
    expected: Sequence[Table], actual: Sequence[Table], finding: Callable[..., Finding]
) -> Iterator[Finding]:
    """Tables are told apart by what is in them; one that has no equal is lost, or has changed."""
    first, second = ([(each.section, each.rows, each.values) for each in tables] for tables in (expected, actual))
    for change, start, end, other_start, other_end in SequenceMatcher(None, first, second, False).get_opcodes():
        if change == "equal":
            continue
        ours, theirs = list(expected[start:end]), list(actual[other_start:other_end])
        for table in ours:
            match = next((each for each in theirs if each.section == table.section and len(theirs) >= len(ours)), None)
            if match is None:
                yield finding(f"the {table.name} is missing")
                continue
            theirs.remove(match)
            yield finding(_difference(table, match))
        for table in theirs:
            yield finding(f"the {table.name} is not there in English")


def _difference(table: Table, other: Table) -> str:
    if len(table.rows) != len(other.rows):
        return f"the {table.name} has {len(other.rows)} rows instead of {len(table.rows)}"
    if table.rows != other.rows:
        return f"the {table.name} has another number of cells in a row"
    return f"the {table.name} has other values"
