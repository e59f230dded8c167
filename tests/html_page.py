"""A built page as tests read it: language, title, head, links, headings and tables. No dependency, no browser."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@dataclass
class HtmlPage:
    """What `read` found."""

    lang: str = ""
    direction: str = ""
    title: str = ""
    h1: str = ""
    said: dict[str, str] = field(default_factory=dict)  # in the head: content by name, and the canonical address
    alternates: dict[str, str] = field(default_factory=dict)  # address by language
    links: list[str] = field(default_factory=list)  # every href and src, but not those of <a> to other hosts
    external: list[str] = field(default_factory=list)  # what a browser would fetch from elsewhere
    tables: list[list[list[str]]] = field(default_factory=list)  # rows of cells as text, the head first
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
        self._table: list[list[str]] | None = None
        self._cell: list[str] | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if tag not in VOID:
            self._open.append(tag)
        if tag == "html":
            self.page.lang = values.get("lang", "")
        elif tag == "body":
            self.page.direction = values.get("dir", "")
        elif tag == "meta":
            self.page.said[values.get("property") or values.get("name", "")] = values.get("content", "")
        elif tag == "table" and "highlighttable" not in values.get("class", ""):
            self._table = []
            self.page.tables.append(self._table)
        elif tag == "tr" and self._table is not None:
            self._table.append([])
        elif tag in {"td", "th"} and self._table is not None:
            self._cell = []
        self._address(tag, values)

    def _address(self, tag: str, values: dict[str, str]) -> None:
        address = values.get("href") or values.get("src") or ""
        if values.get("rel") == "canonical":
            self.page.said["canonical"] = address
        elif "hreflang" in values and tag == "link":
            self.page.alternates[values["hreflang"]] = address
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
            self._table[-1].append(" ".join("".join(self._cell).split()))
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
