r"""Split authored Markdown into translatable blocks. Extraction and rendering share this splitter.

Takes the source of a page and returns a `SplitPage`: the front matter, then literal text and `Block`s that add up to
the source exactly. A block's message is its text on one line, so re-wrapping a paragraph does not change it. Headings
(without ``{#id}``), paragraphs, list items, table cells, and admonition and tab titles are blocks. Fenced code, HTML
blocks, Jinja statements and text without words are literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.admon import admon_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.footnote import footnote_plugin

from generator.languages.typography import VERBATIM

Kind = Literal["heading", "paragraph", "list item", "table cell", "title"]


@dataclass(frozen=True)
class Block:
    """A part of the source that is one message."""

    kind: Kind
    message: str  # on one line; only a hard line break keeps its newline
    source: str  # unchanged text of the page
    line: int  # 1-based, in the page
    indent: str  # prefix of the continuation lines: spaces in a list, ">" in a quote
    start: int  # in the page after its front matter


@dataclass(frozen=True)
class Heading:
    """A heading of the page. The checks use it."""

    level: int
    text: str
    id: str | None
    line: int


@dataclass(frozen=True)
class SplitPage:
    """A page split into blocks. `front` is the front matter with both fences, "" if the page has none."""

    front: str
    parts: tuple[str | Block, ...]
    headings: tuple[Heading, ...]
    html: tuple[tuple[int, str], ...]  # (line, source) of each HTML block
    untitled: tuple[int, ...]  # lines of admonitions without a title

    @property
    def blocks(self) -> Iterator[Block]:
        """The translatable blocks, in order."""
        return (part for part in self.parts if isinstance(part, Block))


@lru_cache(maxsize=8192)
def split(source: str) -> SplitPage:
    """Split a page. This never fails: Markdown has no syntax errors."""
    match = _FRONT_MATTER.match(source)
    front = match[0] if match else ""
    body = source[len(front) :]
    return _Splitter(body, first_line=front.count("\n") + 1).document(front)


def join(document: SplitPage, translate: Callable[[Block], str | None] = lambda _: None) -> str:
    """Return the page with each block replaced by its translation, or unchanged if `translate` returns None."""
    text = document.front
    for part in document.parts:
        if isinstance(part, str):
            text += part
        else:
            message = translate(part)
            text += part.source if message is None else message.replace("\n", f"\n{part.indent}")
    return text


# --- Jinja ------------------------------------------------------------------------------------------------------------

_STRING = r"\"[^\"\n]*\"|'[^'\n]*'"
EXPRESSION = re.compile(rf"\{{\{{(?>{_STRING}|(?!\{{\{{).)*?\}}\}}", re.DOTALL)
"""A Jinja expression: a placeholder within a message. The atomic group and the lookahead prevent backtracking, which
takes exponential time on a row of quotes or braces."""

CODE = re.compile(r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""Inline code: its backticks, and the text between them."""

ATTRIBUTES_WITH_ID = re.compile(r"\{#(?=[\w{])(?:\{\{.*?\}\}|[^{}#\n])*\}")
"""``{#id}`` of Python-Markdown. Jinja would read it as the start of a comment."""

STATEMENT = re.compile(rf"\{{%(?>{_STRING}|(?!\{{%).)*?%\}}|\{{#.*?#\}}", re.DOTALL)
"""A Jinja statement or comment. Pages put these between messages, on separate lines."""

_JINJA = re.compile(
    rf"(?P<attributes>{ATTRIBUTES_WITH_ID.pattern})"
    rf"|(?P<statement>{STATEMENT.pattern})"
    rf"|(?P<expression>{EXPRESSION.pattern})",
    re.DOTALL,
)
_MASK, _STATEMENT_MASK = "\ue000", "\ue001"  # private use: no page holds them, and they mean nothing in Markdown
_ONLY_STATEMENTS = re.compile(rf"[ \t]*{_STATEMENT_MASK}[ \t{_STATEMENT_MASK}]*")
_TABLE_ROW = re.compile(r"[ \t>]*\|")
_TAB = re.compile(r"(?m)^([ \t>]*)===([!+]?[ \t]+)(\".*\"[ \t]*)$")


def _cover(text: str, mask: str) -> str:
    return re.sub(r"[^\n]", mask, text)


def _cover_jinja(match: re.Match[str]) -> str:
    if match["attributes"]:
        return EXPRESSION.sub(lambda expression: _cover(expression[0], _MASK), match[0])
    return _cover(match[0], _MASK if match["expression"] else _STATEMENT_MASK)


def _mask(source: str) -> str:
    """Return the source for the Markdown parser, with the same length and no Jinja.

    Expressions become opaque characters. Lines with only statements become blank, as they are after Jinja has run.
    Between two rows of a table they become a row, because a blank line would end the table. Content tabs become
    admonitions, which have the same shape.
    """
    text = source.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
    text = _JINJA.sub(_cover_jinja, text)
    text = _TAB.sub(lambda tab: f"{tab[1]}!!! {'t' * (len(tab[2]) - 1 + len(tab[3]))}", text)
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if _ONLY_STATEMENTS.fullmatch(line):
            below = next((line for line in lines[i + 1 :] if not _ONLY_STATEMENTS.fullmatch(line)), "")
            in_table = i > 0 and _TABLE_ROW.match(lines[i - 1]) and _TABLE_ROW.match(below)
            lines[i] = "|" + _MASK * (len(line) - 1) if in_table else " " * len(line)
    return "\n".join(lines)


# --- Markdown ---------------------------------------------------------------------------------------------------------

_FRONT_MATTER = re.compile(r"---[ \t]*\n(?:.*?\n)?(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING_ATTRIBUTES = re.compile(r"(?:^|[ \t]+)\{:?[ \t]*[^{}\n]*[^{}\s][ \t]*\}[ \t]*$")
_ID = re.compile(r"[{\s:]#((?:\{\{.*?\}\}|[^\s{}.])+)")
_ATTRIBUTES_LINE = re.compile(r"\{:?[^{}\n]*\}")
_CONTAINER_TITLE = re.compile(r"[^\"\n]*\"(?P<title>.*)\"[ \t]*$")
_WORD = re.compile(r"[^\W\d_]")


def has_words(text: str) -> bool:
    """Whether the text holds words besides expressions, code, tags and link targets."""
    return bool(_WORD.search(VERBATIM.sub("", text)))


def markdown() -> MarkdownIt:
    """Return a parser for the Markdown of the pages: CommonMark, tables, definitions, footnotes, admonitions."""
    parser = MarkdownIt("commonmark").enable("table")
    return parser.use(deflist_plugin).use(footnote_plugin, inline=False).use(admon_plugin)


_PARSER = markdown()
_PARSER.core.ruler.enableOnly(["block"])  # skips inline parsing, and leaves link definitions in place


class _Splitter:
    """Splits one page in one pass over its tokens. Offsets count from the start of the body."""

    def __init__(self, body: str, first_line: int) -> None:
        self.body = body
        self.first_line = first_line
        self.masked = _mask(body)
        self.lines = self.masked.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.cursor = 0  # end of the last table cell
        self.headings: list[Heading] = []
        self.html: list[tuple[int, str]] = []
        self.untitled: list[int] = []

    def document(self, front: str) -> SplitPage:
        parts: list[str | Block] = []
        done = 0
        for block in sorted(self.blocks(), key=lambda block: block.start):
            end = block.start + len(block.source)
            if block.start < done or not has_words(self.masked[block.start : end]):
                continue
            if block.start > done:
                parts.append(self.body[done : block.start])
            parts.append(block)
            done = end
        if done < len(self.body):
            parts.append(self.body[done:])
        return SplitPage(front, tuple(parts), tuple(self.headings), tuple(self.html), tuple(self.untitled))

    def block(self, kind: Kind, start: int, end: int, line: int, message: str = "", indent: str = "") -> Block:
        source = self.body[start:end]
        return Block(kind, message or source, source, line + self.first_line, indent, start)

    def blocks(self) -> Iterator[Block]:
        parents: list[Token] = []
        for token in _PARSER.parse(self.masked):
            if token.nesting == 1:
                parents.append(token)
            elif token.nesting == -1:
                parents.pop()
            if token.map is None:
                continue
            if token.type == "admonition_open":
                yield from self.container_title(token.map[0])
            elif token.type == "html_block":
                first, last = token.map
                self.html.append((first + self.first_line, self.body[self.starts[first] : self.starts[last]]))
            elif token.type == "inline" and token.content:
                yield from self.inline(token, token.map[0], parents)

    def inline(self, token: Token, line: int, parents: list[Token]) -> Iterator[Block]:
        """Yield the blocks of an inline token, depending on its parent."""
        parent = parents[-1]
        if parent.type in {"th_open", "td_open"}:
            yield from self.cell(token, line)
        elif parent.type == "heading_open":
            yield from self.heading(token, line, parent)
        elif parent.type != "admonition_title_open":  # `container_title` handles these
            in_item = any(holder.type in {"list_item_open", "dt_open", "dd_open"} for holder in parents[-2:])
            yield from self.paragraph(token, line, "list item" if in_item else "paragraph")

    def heading(self, token: Token, line: int, parent: Token) -> Iterator[Block]:
        """Yield a heading without its attributes, and record its level and id."""
        marker = parent.markup if parent.markup.startswith("#") else ""
        for block in self.paragraph(token, line, "heading", after=marker):
            attributes = _HEADING_ATTRIBUTES.search(self.masked[block.start : block.start + len(block.source)])
            cut = len(attributes[0]) if attributes else 0
            text, message = (whole[: len(whole) - cut] for whole in (block.source, block.message))
            identifier = _ID.search(block.source, len(text))
            level = int(parent.tag.removeprefix("h"))
            self.headings.append(Heading(level, message, identifier[1] if identifier else None, block.line))
            yield replace(block, source=text, message=message)

    def container_title(self, line: int) -> Iterator[Block]:
        """Yield the quoted title of ``!!! note "Title"`` or ``=== "Tab"``."""
        start = self.starts[line]
        text = _JINJA.sub(_cover_jinja, self.body[start : self.starts[line + 1]].rstrip("\n"))
        match = _CONTAINER_TITLE.match(text)
        if match is None:
            self.untitled.append(line + self.first_line)
        elif match["title"]:
            yield self.block("title", start + match.start("title"), start + match.end("title"), line)

    def cell(self, token: Token, line: int) -> Iterator[Block]:
        """Yield a table cell. The cells of a row arrive in order, so the search starts after the last one."""
        start = max(self.starts[line], self.cursor)
        content = re.escape(token.content).replace(r"\|", r"\\?\|")
        pattern = re.compile(rf"({content})(?=[ \t]*+(?:\||$))", re.MULTILINE)
        if match := pattern.search(self.masked, start, self.starts[line + 1]):
            self.cursor = match.end(1)
            yield self.block("table cell", match.start(1), match.end(1), line)

    def paragraph(self, token: Token, line: int, kind: Kind, after: str = "") -> Iterator[Block]:
        """Yield a paragraph: its lines without the prefix of their containers or of the heading marker `after`."""
        pieces: list[tuple[int, int]] = []
        for number, content in enumerate(token.content.split("\n"), start=line):
            whole, text = self.lines[number], content.strip()
            # An ATX heading may end with number signs; other text reaches the end of the line.
            end = whole.find(text, whole.index(after) + len(after)) + len(text) if after else len(whole.rstrip())
            if not text or whole[end - len(text) : end] != text:
                return
            pieces.append((self.starts[number] + end - len(text), self.starts[number] + end))
        if len(pieces) > 1 and _ATTRIBUTES_LINE.fullmatch(self.masked[slice(*pieces[-1])]):
            pieces.pop()
        start, end = pieces[0][0], pieces[-1][1]
        indent = self.body[self.starts[line + 1] : pieces[1][0]] if len(pieces) > 1 else ""
        yield self.block(kind, start, end, line, self.one_line(pieces), indent)

    def one_line(self, pieces: list[tuple[int, int]]) -> str:
        """Join the lines with spaces. A hard break (two spaces or a backslash) keeps its newline."""
        text = self.body[slice(*pieces[0])]
        for (_, before), (start, end) in pairwise(pieces):
            rest = self.masked[before : self.masked.index("\n", before)].expandtabs()
            is_hard = len(rest) >= 2 and not rest.strip()
            text += "  \n" if is_hard else "\n" if text.endswith("\\") else " "
            text += self.body[start:end]
        return text
