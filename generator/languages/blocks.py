r"""Split authored Markdown into translatable blocks. Extraction and rendering share this splitter.

Takes the source of a page and returns a `SplitPage`: the front matter, then literal text and `Block`s that add up to
the source exactly. A block's message is its text on one line, so re-wrapping a paragraph does not change it. Headings
(without ``{#id}``), paragraphs, list items, table cells, captions, and titles of admonitions and tabs are blocks, each
without the marker before it. Fenced code, formulas, HTML, Jinja statements, lines that only an extension of Markdown
reads, and text without words are literal.
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

from generator.data.registry import N_
from generator.languages.typography import FORMULA, VERBATIM

Kind = Literal["heading", "paragraph", "list item", "table cell", "title", "abbreviation", "caption"]


@dataclass(frozen=True)
class Block:
    """A part of the source that is one message."""

    kind: Kind
    message: str  # on one line; only a hard line break keeps its newline
    source: str  # unchanged text of the page
    line: int  # 1-based, in the page
    indent: str  # prefix of the continuation lines: spaces in a list, ">" in a quote
    start: int  # in the page after its front matter
    frame: str = "{}"  # holds the translation; the page lacks a default title, and what it stands in


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
            text += part.source if message is None else part.frame.format(message.replace("\n", f"\n{part.indent}"))
    return text


# --- Jinja ------------------------------------------------------------------------------------------------------------

_STRING = r"\"[^\"\n]*\"|'[^'\n]*'"
EXPRESSION = re.compile(rf"\{{\{{(?>{_STRING}|(?!\{{\{{).)*?\}}\}}", re.DOTALL)
"""A Jinja expression: a placeholder within a message. The atomic group and the lookahead prevent backtracking, which
takes exponential time on a row of quotes or braces."""

CODE = re.compile(r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""Inline code: its backticks, and the text between them."""

ATTRIBUTES_WITH_ID = re.compile(r"(?<!\$)\{#(?=[\w{])(?:\{\{.*?\}\}|[^{}#\n])*\}")
"""``{#id}`` of Python-Markdown. Jinja would read it as the start of a comment."""

STATEMENT = re.compile(rf"\{{%(?>{_STRING}|(?!\{{%).)*?%\}}|(?!{ATTRIBUTES_WITH_ID.pattern})\{{#.*?#\}}", re.DOTALL)
"""A Jinja statement or comment. Pages put these between messages, on separate lines."""

_OPAQUE = re.compile(
    rf"(?P<statement>{STATEMENT.pattern})|{EXPRESSION.pattern}|{FORMULA.pattern}"
    r"|(?<![`\\])(?P<ticks>`++)[^\n]+?(?<!`)(?P=ticks)(?!`)",  # code: a sign "|" within it ends no cell
    re.DOTALL,
)
_MASK, _STATEMENT_MASK = "\ue000", "\ue001"  # private use: no page holds them, and they mean nothing in Markdown
_ONLY_STATEMENTS = re.compile(rf"[ \t]*{_STATEMENT_MASK}[ \t{_STATEMENT_MASK}]*")
_TABLE_ROW = re.compile(r"[ \t>]*\|")


def _cover(text: str, mask: str) -> str:
    return re.sub(r"[^\n]", mask, text)


# --- Lines of extensions ----------------------------------------------------------------------------------------------

_TITLED = re.compile(
    r"(?m)^(?P<before>[ \t>]*)(?:"
    r"(?:!!!|\?\?\?\+?|===[!+]?)[ \t]*[^\"\n]*\"(?P<title>.*)\""
    r"|(?:!!!|\?\?\?\+?)[ \t]*(?P<type>[\w-]+)[^\"\n]*"
    r"|/{3,}[ ]*(?!html\b|[\w-]*caption\b)(?P<name>[\w-]+)[ ]*(?:\|[ ]*(?P<argument>.*?))?"
    r"|\[!(?P<alert>[\w-]+)\][-+]?[ ]*(?P<callout>.+?)?"
    r"|\*\[[^\]\n]*\][ ]?:[ ]*(?P<abbreviation>.+?)"
    r"|<(?P<element>\w+)[^<>\n]*>(?P<caption>.+)</(?P=element)>"
    r")[ \t]*$"
)
"""A line of which only a part is a message, or whose title is missing and comes from the type."""

_DEFAULT_TITLE = {"type": ' "{}"', "name": " | {}", "alert": " {}"}
"""By the last group of `_TITLED`: the title that such a line lacks."""

TITLES = (
    *(N_("Note"), N_("Abstract"), N_("Info"), N_("Tip"), N_("Success"), N_("Question"), N_("Warning")),
    *(N_("Failure"), N_("Danger"), N_("Bug"), N_("Example"), N_("Quote")),
)
"""Default titles of Material's admonitions."""

_OPTIONS = re.compile(r"(?m)^(([ \t>]*)[/:]{3,}[ ]*\w.*)((?:\n\2[ ]{4,}\S.*)+)")
_SYNTAX = re.compile(
    r"(?m)^([ \t>]*)(-+8<-+[ \t]*\n(?s:.*?)\n[ \t>]*-+8<-+[ \t]*$|-+8<-+(?:[ \t]+[\"'].*)?$|([/:@%+^&])\3\3.*$)"
)
"""Lines that only an extension reads: snippets, and what begins with three of one sign, as fences do."""

_MARKDOWN_IN_HTML = re.compile(
    r"(?ms)^([ \t>]*)(<(\w+)\b[^<>]*\smarkdown\b[^<>]*>)([ \t]*\n.*?^[ \t>]*)(</\3>)(?=[ \t]*$)"
)


def _as_admonition(line: re.Match[str]) -> str:
    return f"{line['before']}!!! {'t' * (len(line[0]) - len(line['before']) - 4)}"


def _mask(opaque: str) -> str:
    """Return the source for the Markdown parser, with the same length and no syntax that only an extension reads.

    Lines with only statements become blank, as they are after Jinja has run. Between two rows of a table they become
    a row, because a blank line would end the table. Lines with a title become admonitions, and other lines of
    extensions, and tags around Markdown, blank.
    """
    text = _OPTIONS.sub(lambda match: match[1] + _cover(match[3], " "), opaque)
    text = _TITLED.sub(lambda line: line[0] if line["element"] else _as_admonition(line), text)
    text = _SYNTAX.sub(lambda match: match[1] + _cover(match[2], " "), text)
    text = _MARKDOWN_IN_HTML.sub(
        lambda html: html[1] + _cover(html[2], " ") + _TITLED.sub(_as_admonition, html[4]) + _cover(html[5], " "), text
    )
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
_TASK = re.compile(r"\[[ xX]\][ \t]+")
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
        text = body.replace("\r\n", " \n").replace("\r", "\n").replace("\0", "\ufffd")
        self.opaque = _OPAQUE.sub(lambda part: _cover(part[0], _STATEMENT_MASK if part["statement"] else _MASK), text)
        self.masked = _mask(self.opaque)
        self.lines = self.masked.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.cursor = 0  # end of the last table cell
        self.headings: list[Heading] = []
        self.html: list[tuple[int, str]] = []

    def document(self, front: str) -> SplitPage:
        parts: list[str | Block] = []
        done = 0
        for block in sorted(self.blocks(), key=lambda block: block.start):
            end = block.start + len(block.source)
            if block.start < done or not has_words(self.opaque[block.start : end] or block.message):
                continue
            parts += self.body[done : block.start], block
            done = end
        parts.append(self.body[done:])
        return SplitPage(front, tuple(filter(None, parts)), tuple(self.headings), tuple(self.html))

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
            line, last = token.map or (0, 0)
            if token.type == "admonition_open":
                yield from self.titled(line)
            elif token.type == "html_block":
                self.html.append((line + self.first_line, self.body[self.starts[line] : self.starts[last]]))
            elif token.type != "inline" or not token.content:
                continue
            elif parents[-1].type in {"th_open", "td_open"}:
                yield from self.cell(token, line)
            elif parents[-1].type == "heading_open":
                yield from self.heading(token, line, parents[-1])
            elif parents[-1].type != "admonition_title_open":  # `titled` handles these
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

    def titled(self, line: int) -> Iterator[Block]:
        """Yield the part of a line that is a message, or its default title."""
        match = _TITLED.match(self.opaque, self.starts[line])
        if match is None or match.lastgroup is None:
            return
        first, last = match.span(match.lastgroup)
        title = self.body[first:last].capitalize()
        if frame := _DEFAULT_TITLE.get(match.lastgroup):
            if match["name"] is None or title in TITLES:
                yield replace(self.block("title", match.end(), match.end(), line, title), frame=frame)
        elif first < last:
            kind: Kind = "abbreviation" if match["abbreviation"] else "caption" if match["caption"] else "title"
            yield self.block(kind, first, last, line)

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
        if kind == "list item" and (task := _TASK.match(self.masked, *pieces[0])):
            pieces[0] = (task.end(), pieces[0][1])
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
