"""Compare the languages of a built site: headings, tables, rows, figures, code, links and ids must be the same.

`check_site` takes the folder of a site and returns `Finding`s, such as a table that one language lost. It reads only
the article of each page, because the theme makes the rest. Links and inline code may come in a different order,
because languages order their sentences differently.

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

from bench.errors import AtlasError, counted
from generator.languages.findings import Finding, short
from generator.languages.language import published_languages
from generator.pages.pages import HELP
from generator.parallel import mapped

PAGE = "index.html"


@dataclass(frozen=True)
class TableOutline:
    """The properties of a table that do not depend on the language: its place, size and sort values."""

    section: str  # id of the heading above it
    caption: str
    rows: tuple[int, ...]  # number of cells in each
    values: tuple[str, ...]  # by which rows are sorted

    @property
    def name(self) -> str:
        """A name by which a person finds the table."""
        caption = f" “{short(self.caption)}”" if self.caption else ""
        return f"table{caption} of the section #{self.section}"


@dataclass
class Structure:
    """The elements of one article, in their order."""

    headings: list[tuple[str, str]] = field(default_factory=list)  # tag, id
    tables: list[TableOutline] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # image addresses
    code: list[str] = field(default_factory=list)
    inline_code: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    items: int = 0  # number of list items


def check_site(site: Path, codes: Sequence[str] | None = None) -> list[Finding]:
    """Return every difference between the source language and the others. Raises `AtlasError` without a site."""
    codes = published_languages() if codes is None else codes
    if not (site / PAGE).is_file():
        raise AtlasError("there is no built site", where=str(site), remedy="run `mkdocs build --strict` first")
    return differences(site, dict(zip(codes, mapped(partial(outlines, site, codes), codes), strict=True)))


def differences(site: Path, languages: Mapping[str, Mapping[str, bytes]]) -> list[Finding]:
    """Return the same as `check_site`, from the `outlines` of each language, the source language first."""
    (_, source), *others = languages.items()
    findings: list[Finding] = []
    for code, other in others:
        findings += _check_pages({*source}, {*other}, code)
        for name in source.keys() & other.keys():
            if source[name] != other[name]:
                ours, theirs = (structure(_text_of(site / prefix / name), name) for prefix in ("", code))
                findings += compare(ours, theirs, f"{code}/{name}")
    return sorted(set(findings))


def outlines(site: Path, codes: Sequence[str], code: str) -> dict[str, bytes]:
    """Return the outline of each page of one language, by its file name below the root of that language."""
    prefix = "" if code == codes[0] else f"{code}/"
    return {name: outline(text) for name, text in _pages(site, prefix, codes)}


def _pages(site: Path, prefix: str, codes: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (file name below the root of the language, content) of each page."""
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
        yield Finding(f"{code}/{name}", 1, "", "the page does not exist in English", "build the site again", "page")


# --- Reading ----------------------------------------------------------------------------------------------------------

_ATTRIBUTES = r"[^<>\"']*+(?:(?:\"[^\"]*\"|'[^']*')[^<>\"']*+)*+"
_TAG = re.compile(rf"<(/?)([a-zA-Z][\w-]*)({_ATTRIBUTES})>")
_ATTRIBUTE = re.compile(r"([\w-]+)=(?:\"([^\"]*)\"|'([^']*)')")
_LINE_NUMBER_ID = re.compile(r"__(?:codelineno|span|tabbed)\w*-")
_HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}


def structure(page: str, name: str = PAGE) -> Structure:
    """Return the structure of a built page. Its links are relative to `name`, its file below the language's root."""
    return _Reader(_article(page), name).structure


def _article(page: str) -> str:
    begin = page.find("<article")
    end = page.find("</article>", begin)
    return page[begin:end] if 0 <= begin < end else ""


def outline(page: str) -> bytes:
    """Return a digest of the structure that is much faster to compute than `structure`.

    Pages with different structures have different digests. Nearly all pages with the same structure share one.
    """
    article = _article(page).replace(_DIRECTED, "")
    parts = [_PLACE.findall("".join(_PLACED.findall(article))), _PRE.findall(article), article.count("<li")]
    parts += [sorted(anywhere.findall(article)) for anywhere in (_CODE, _ADDRESS)]
    return hashlib.sha256(repr(parts).encode()).digest()


_PLACED = re.compile(rf"<(?i:h[1-6]|/?table|tr|td|th|img)\b{_ATTRIBUTES}>")
_PLACE = re.compile(r"<[/\w]+|\s(?:id|data-sort|src)=(?:\"[^\"]*\"|'[^']*')")
_DIRECTED = ' dir="ltr"'
"""What code has on right-to-left pages only."""

_PRE = re.compile(r"<pre\b.*?</pre>", re.DOTALL)
_CODE = re.compile(r"<code\b[^>]*>(.*?)</code>", re.DOTALL)
_ADDRESS = re.compile(r"\s(?:id|href)=(?:\"[^\"]*\"|'[^']*')")


class _Reader:
    """Reads the structure of an article in one pass over its tags."""

    def __init__(self, article: str, name: str) -> None:
        self.article, self.name = article, name
        self.structure = Structure()
        self.section = ""
        self.rows: list[int] = []
        self.values: list[str] = []
        self.caption = ""
        self.opened: dict[str, int] = {}  # tag → start of its content
        for tag in _TAG.finditer(article):
            name = tag[2].lower()
            if tag[1]:
                self._close(name, tag)
            else:
                self._open(name, tag)

    def _open(self, name: str, tag: re.Match[str]) -> None:
        structure = self.structure
        attributes = {match[1]: match[2] or match[3] or "" for match in _ATTRIBUTE.finditer(tag[3])}
        self.opened[name] = tag.end()
        if "id" in attributes and not _LINE_NUMBER_ID.match(attributes["id"]):
            structure.ids.append(attributes["id"])
        if name in _HEADINGS:
            self.section = attributes.get("id", "")
            structure.headings.append((name, self.section))
        elif name == "table":
            self.rows, self.values, self.caption = [], [], ""
        elif name == "tr":
            self.rows.append(0)
        elif name in {"td", "th"} and self.rows:
            self.rows[-1] += 1
            self.values.append(attributes.get("data-sort", ""))
        elif name == "img":
            shown = self._address(attributes.get("src", ""))
            structure.figures.append(shown.replace(".rtl.", "."))  # a mirror image is the same figure
        elif name == "li":
            structure.items += 1
        elif name == "a" and "href" in attributes and not self._may_differ(attributes):
            structure.links.append(self._address(attributes["href"]))

    def _close(self, name: str, tag: re.Match[str]) -> None:
        content = self.article[self.opened.get(name, tag.start()) : tag.start()]
        if name == "caption":
            self.caption = _text(content)
        elif name == "table":
            self.structure.tables.append(TableOutline(self.section, self.caption, tuple(self.rows), tuple(self.values)))
        elif name == "pre":
            self.structure.code.append(_text(content))
        elif name == "code" and self.opened.get("pre", -1) < self.opened.get("code", -1):
            self.structure.inline_code.append(_text(content))

    @staticmethod
    def _may_differ(link: dict[str, str]) -> bool:
        """Whether languages need not share a link: it leads to a line of code, or to a missing translation."""
        return link["href"].startswith("#__codelineno") or link.get("class") == HELP

    def _address(self, address: str) -> str:
        """Return an address relative to the language's root. All languages share the assets above it."""
        absolute = urljoin(f"http://site/language/{self.name}", html.unescape(address))
        return re.sub(r"^http://site/(?:language/)?", "", absolute)


def _text(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^<>]*>", "", markup)).split())


# --- Comparing --------------------------------------------------------------------------------------------------------

_REMEDY = "compare the page with the English one; a translation or a message may contain different markup"


def compare(source: Structure, other: Structure, file: str) -> Iterator[Finding]:
    """Yield the differences between two languages, the most noticeable kinds first."""

    def finding(what: str, about: str = "") -> Finding:
        return Finding(file, 1, short(about), what, _REMEDY, "structure")

    yield from _compare_lists(
        "heading", source.headings, other.headings, lambda heading: f"{heading[0]} #{heading[1]}", finding
    )
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
    for element in missing:
        yield finding(f"the {kind} {name(element)} is missing")
    for element in extra:
        yield finding(f"the {kind} {name(element)} does not exist in English")
    if not missing and not extra and list(expected) != list(actual):
        yield finding(f"the {kind}s are in a different order")


def _compare_tables(
    expected: Sequence[TableOutline], actual: Sequence[TableOutline], finding: Callable[..., Finding]
) -> Iterator[Finding]:
    """Match tables by their content, and report a table without an equal as missing or changed."""
    first, second = ([(table.section, table.rows, table.values) for table in tables] for tables in (expected, actual))
    for change, start, end, other_start, other_end in SequenceMatcher(None, first, second, False).get_opcodes():
        if change == "equal":
            continue
        ours, theirs = list(expected[start:end]), list(actual[other_start:other_end])
        for table in ours:
            match = next(
                (other for other in theirs if other.section == table.section and len(theirs) >= len(ours)), None
            )
            if match is None:
                yield finding(f"the {table.name} is missing")
                continue
            theirs.remove(match)
            yield finding(_difference(table, match))
        for table in theirs:
            yield finding(f"the {table.name} does not exist in English")


def _difference(table: TableOutline, other: TableOutline) -> str:
    if len(table.rows) != len(other.rows):
        return f"the {table.name} has {counted(len(other.rows), 'row')} instead of {len(table.rows)}"
    if table.rows != other.rows:
        return f"the {table.name} has a different number of cells in a row"
    return f"the {table.name} has different values"
