"""A rendered page as plain Markdown, for language models and for readers of text.

Takes the finished Markdown of a page, in which tables and charts are HTML. Returns Markdown that needs no extension but
pipe tables: tables stand below their captions, charts are images with their words, admonitions and tabs have a title.
What is hidden and forms are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from textwrap import indent
from typing import NamedTuple

from generator.languages.typography import plain

Address = Callable[[str], str]
"""Returns the address behind a link: of a page named as in Markdown (``../data.md#download``), else as in HTML."""


def plain_markdown(markdown: str, address: Address) -> str:
    """Return the Markdown of a page without front matter as plain Markdown, with each link replaced by its address."""

    def replaced(part: re.Match[str]) -> str:
        match part.lastgroup:
            case "html":
                return indent(_Block(part["html"], address).markdown, part["margin"])
            case "link":
                return f"]({address(part['link'])}"
            case "sign":
                return escaped(unescape(part["sign"]))
            case "fence" | "code":
                return part[0]
            case _:
                return ""

    text = _PART.sub(replaced, _TITLED.sub(_untitled, plain(markdown)))
    return _BLANK_LINES.sub("\n\n", text.translate(_SPACES)).strip() + "\n"


def escaped(text: str) -> str:
    """Escape what Markdown would read: a name of a record stays a name."""
    return _MARKUP.sub(r"\\\g<0>", text)


_TITLED = re.compile(
    r'^(?P<margin> *)(?:!!!|\?\?\?\+?|===)[^"\n]*"(?P<title>[^"\n]*)"\n(?P<body>(?:(?:(?P=margin) {4}.*)?\n)*)',
    re.MULTILINE,
)
"""An admonition or a tab: a title, and what is indented below it."""

_PART = re.compile(
    r"^(?P<fence>(?P<start>[ \t]*(?P<ticks>`{3,}))[^\n]*\n.*?^[ \t]*(?P=ticks)[ \t]*)$"
    r"|(?P<code>(?P<tick>`+)(?!`).+?(?<!`)(?P=tick)(?!`))"
    r"|^(?P<margin>[ \t]*)(?P<html></?(?:details|div|figure|ol|p|table|ul)\b(?:[^\n]+(?:\n|\Z))+)"
    r"|\]\((?P<link>[^()\s]+)"
    r"|(?P<sign>&#\d+;)"
    r"|(?P<attributes>[ \t]*\{:?[ \t]*[#.][^{}\n]*\})"
    r"|(?P<tag></?(?:abbr|b|bdi|kbd|small|span|wbr)\b[^<>]*>)",
    re.MULTILINE | re.DOTALL,
)

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_SPACES = {0x00A0: " ", 0x2060: None, 0x200B: None}
"""Where lines may break is no matter of plain text."""

_MARKUP = re.compile(r"[\\`*\[\]|<]")


def _untitled(part: re.Match[str]) -> str:
    margin = part["margin"]
    body = re.sub(rf"^{margin} {{4}}", margin, part["body"], flags=re.MULTILINE)
    return f"{margin}**{part['title']}**\n\n{_TITLED.sub(_untitled, body)}"


_WHITE_SPACE = re.compile(r"\s+")
_EMPTY = frozenset({"img", "input"})
"""Elements without an end, apart from line breaks, which are replaced before."""


class _Cell(NamedTuple):
    text: str
    is_number: bool


_LINE_BREAK = re.compile(r"<br ?/?>")
_LAYOUT = re.compile(r'</?(?:small|wbr|bdi(?: dir="ltr")?)>|<span class="doubt">([^<]*)</span>')
"""Markup that plain text has nothing for, around what it keeps."""

_PLAIN_CELL = re.compile(r'<t[dh](?: scope="\w+")?(?: class="([^"<>]*)")?(?: data-sort="[^"<>]*")?>([^<]*)</t[dh]>')
"""A cell without other markup, as nearly all are."""

_PLAIN_CELLS = re.compile(rf"(?:{_PLAIN_CELL.pattern}\s*)+")
"""Such cells beside each other."""


def _with_plain_cells(html: str) -> tuple[str, dict[str, list[_Cell]]]:
    """Replace plain cells beside each other by a processing instruction: the parser would take far longer. Returns the
    HTML, and the cells by their instruction."""
    cells: dict[str, list[_Cell]] = {}

    def named(match: re.Match[str]) -> str:
        name = f"cells {len(cells)}"
        cells[name] = [_plain_cell(classes, content) for classes, content in _PLAIN_CELL.findall(match[0])]
        return f"<?{name}>"

    return _PLAIN_CELLS.sub(named, html), cells


def _plain_cell(classes: str, content: str) -> _Cell:
    return _Cell(" ".join(escaped(unescape(content)).split()), "number" in classes)


class _Block(HTMLParser):
    """One block of HTML, read into `markdown`."""

    def __init__(self, html: str, address: Address) -> None:
        super().__init__()
        self._address = address
        self._texts: list[list[str]] = [[]]  # of the block, and of the elements in it that are open
        self._links: list[str] = []
        self._rows: list[list[_Cell]] = []
        self._caption = ""
        self._is_number = False  # within a cell of figures
        self._ends_line = False  # within a cell whose text is aligned at its end
        self._is_code = False
        self._left_out: list[str] = []  # the open elements that are left out
        html, self._plain_cells = _with_plain_cells(_LAYOUT.sub(r"\1", _LINE_BREAK.sub(" · ", html)))
        self.feed(html)
        self.close()

    @property
    def markdown(self) -> str:
        """The block, between blank lines."""
        lines = "".join(self._texts[0]).split("\n")
        return "\n".join(["", *(line.strip() for line in lines), ""])

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element, or leave out what it holds."""
        given = {name: value or "" for name, value in attrs}
        if self._left_out or "hidden" in given or tag in {"form", "script"}:
            if tag not in _EMPTY:
                self._left_out.append(tag)
            return
        match tag:
            case "a":
                self._links.append(given.get("href", ""))
                self._texts.append([])
            case "caption" | "td" | "th":
                self._is_number = tag == "td" and "number" in given.get("class", "")
                self._ends_line = "number" in given.get("class", "")
                self._texts.append([])
            case "table":
                self._rows = []
            case "tr":
                self._rows.append([])
            case "img":
                self._picture(given.get("src", ""), given.get("alt", ""))
            case "li":
                self._texts[-1].append("\n- ")
            case _:
                self._mark(tag)
        self._is_code = self._is_code or tag == "code"

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if self._left_out:
            if tag in self._left_out:
                while self._left_out.pop() != tag:
                    pass
            return
        match tag:
            case "a" if self._links:
                text, link = self._closed(), self._links.pop()
                # The links of a matrix would be most of it.
                self._texts[-1].append(text if self._is_number else f"[{text}]({self._address(link)})")
            case "caption":
                self._caption = self._closed()
            case "td" | "th":
                self._rows[-1].append(_Cell(self._closed(), self._ends_line))
                self._is_number = False
            case "table":
                self._texts[-1].append(self._table())
            case _:
                self._mark(tag)
        self._is_code = self._is_code and tag != "code"

    def handle_pi(self, data: str) -> None:
        """Add plain cells."""
        if not self._left_out and data in self._plain_cells:
            self._rows[-1] += self._plain_cells[data]

    def handle_data(self, data: str) -> None:
        """Add text to the innermost element."""
        if not self._left_out:
            text = _WHITE_SPACE.sub(" ", data)
            self._texts[-1].append(text.replace("|", r"\|") if self._is_code else escaped(text))

    def _picture(self, source: str, words: str) -> None:
        """Show one of the two colourings of a chart."""
        if not source.endswith("#only-dark"):
            self._texts[-1].append(f"\n\n![{escaped(words)}]({self._address(source.partition('#')[0])})\n\n")

    def _mark(self, tag: str) -> None:
        """Mark the beginning or the end of what is set apart."""
        self._texts[-1].append({"b": "**", "strong": "**", "code": "`"}.get(tag, "\n\n" if tag in _BLOCKS else ""))

    def _closed(self) -> str:
        """Return the text of the innermost element, which ends here."""
        return " ".join("".join(self._texts.pop() if len(self._texts) > 1 else []).split())

    def _table(self) -> str:
        head, *body = self._rows or [[]]
        rule = [_Cell("---:" if cell.is_number else "---", is_number=False) for cell in head]
        lines = ("| " + " | ".join(cell.text for cell in row) + " |" for row in (head, rule, *body))
        caption = f"**{self._caption}**\n\n" if self._caption else ""
        return f"\n\n{caption}{chr(10).join(lines)}\n\n"


_BLOCKS = frozenset({"details", "div", "figcaption", "figure", "ol", "p", "summary", "ul"})
