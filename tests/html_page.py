"""A built page as tests read it: language, title, links, headings and tables. No dependency, no browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class Table:
    """Cells as text. `heading` is the id of the heading above it."""

    heading: str
    header: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)


@dataclass
class HtmlPage:
    """What `read` found."""

    lang: str = ""
    direction: str = ""
    title: str = ""
    h1: str = ""
    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)  # every href and src, but not those of <a> to other hosts
    external: list[str] = field(default_factory=list)  # what a browser would fetch from elsewhere
    tables: list[Table] = field(default_factory=list)
    text: str = ""  # of the content


def read(path: Path) -> HtmlPage:
    """Parse one file."""
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    reader.page.text = " ".join("".join(reader.words).split())
    return reader.page


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = HtmlPage()
        self.words: list[str] = []
        self._open: list[str] = []
        self._heading = ""
        self._table: Table | None = None
        self._cell: list[str] | None = None
        self._in_header = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag not in VOID:
            self._open.append(tag)
        if "id" in values:
            self.page.ids.add(values["id"])
        if tag == "html":
            self.page.lang = values.get("lang", "")
        elif tag == "body":
            self.page.direction = values.get("dir", "")
        elif tag in {"h1", "h2", "h3", "h4"}:
            self._heading = values.get("id", "")
        else:
            self._start_of_table(tag, values)
        self._address(tag, values)

    def _start_of_table(self, tag: str, values: dict[str, str]) -> None:
        if tag == "table" and "highlighttable" not in values.get("class", ""):
            self._table = Table(self._heading)
            self.page.tables.append(self._table)
        elif tag == "tr" and self._table is not None:
            self._in_header = "thead" in self._open
            if not self._in_header:
                self._table.rows.append([])
        elif tag in {"td", "th"} and self._table is not None:
            self._cell = []

    def _address(self, tag: str, values: dict[str, str]) -> None:
        address = values.get("href") or values.get("src") or ""
        if address.startswith(("http:", "https:", "//")):
            if tag != "a" and values.get("rel", "").strip() not in {"canonical", "alternate"}:
                self.page.external.append(address)
        elif address:
            self.page.links.append(address)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass
        if tag == "table":
            self._table = None
        elif tag in {"td", "th"} and self._table is not None and self._cell is not None:
            text = " ".join("".join(self._cell).split())
            (self._table.header if self._in_header else self._table.rows[-1]).append(text)
            self._cell = None

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"script", "style"}:
            return
        if self._cell is not None:
            self._cell.append(data)
        if "title" in self._open and "head" in self._open:
            self.page.title += data
        if "article" in self._open:
            self.words.append(data)
            if "h1" in self._open:
                self.page.h1 += data
