"""The Markdown extension of the guide, for any builder: accessible tables, unbroken code, both directions of writing.

Each table gets a frame that scrolls by itself, header cells with a scope, and the first cell of a row as its header. A
paragraph of the class ``table-caption`` before it becomes its caption, and a list that begins with an item of the class
``table-notes`` after it keeps that class. An ``id`` or the class ``doubtful`` of a first cell belong to its row.

The option `direction` is the page's. From right to left, code has its own direction, and in the list of sections
direction marks replace the markup of names.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE
from markupsafe import Markup, escape

from generator.figures.markup import unbroken
from generator.languages.typography import code_from_the_left, plain
from generator.pages.site_file import FINISHED


class _Tables(Treeprocessor):
    def run(self, root: Element) -> None:
        for parent in list(root.iter()):
            for place in reversed(range(len(parent))):
                if parent[place].tag == "table":
                    self._frame(parent, place)

    def _frame(self, parent: Element, place: int) -> None:
        table = parent[place]
        table.set("class", "atlas authored")
        label = " · ".join(map(self._text, table.iter("th")))
        for heading in table.iter("th"):
            heading.set("scope", "col")
        for row in table.findall("tbody/tr"):
            _head_row(row)
        for cell in table.iter():
            if cell.attrib.pop("align", "") == "right":
                cell.set("class", f"number {cell.get('class', '')}".strip())
        for notes in parent[place + 1 : place + 2]:
            if len(notes) and notes[0].get("class") == "table-notes":
                notes.set("class", notes[0].attrib.pop("class"))
        frame = Element("div", {"class": "table", "role": "group", "tabindex": "0"})
        frame.tail, table.tail = table.tail, None
        parent[place] = frame
        frame.append(table)
        for caption in parent[place - 1 : place] if place else ():
            classes = caption.get("class", "").split()
            if "table-caption" in classes:
                label = self._text(caption)
                table.attrib |= {"class": "atlas"} | ({"data-sortable": ""} if "sortable" in classes else {})
                parent.remove(caption)
                caption.tag, caption.tail = "caption", None
                caption.attrib.clear()
                table.insert(0, caption)
        frame.set("aria-label", label)

    def _text(self, element: Element) -> str:
        """Return the text of an element, with its entities and without its tags."""

        def raw(placeholder: re.Match[str]) -> str:
            html = str(self.md.htmlStash.rawHtmlBlocks[int(placeholder[1])])
            return " · " if html.startswith("<br") else "" if html.startswith("<") else html

        return " ".join(HTML_PLACEHOLDER_RE.sub(raw, "".join(element.itertext())).split())


def _head_row(row: Element) -> None:
    head = row[0]
    head.tag = "th"
    head.set("scope", "row")
    if "id" in head.attrib:
        row.set("id", head.attrib.pop("id"))
    classes = head.get("class", "").split()
    if "doubtful" in classes:
        row.set("class", "doubtful")
        classes.remove("doubtful")
        head.set("class", " ".join(classes)) if classes else head.attrib.pop("class")


class _Finished(Preprocessor):
    """Takes charts, forms and lists of ours as they are: reading their HTML takes most of the time of many pages."""

    def run(self, lines: list[str]) -> list[str]:
        text = "\n".join(lines)
        return FINISHED.sub(lambda html: self.md.htmlStash.store(html[0]), text).split("\n")


class _Code(Postprocessor):
    """Keeps lines from breaking within short code. From right to left, gives code its own direction, and names in the
    list of sections direction marks, where they had elements."""

    is_mirrored = False

    def run(self, text: str) -> str:
        if not self.is_mirrored:
            return unbroken(text)
        self._mark(getattr(self.md, "toc_tokens", []))
        return code_from_the_left(unbroken(text))

    def _mark(self, tokens: list[dict[str, Any]]) -> None:
        for token in tokens:
            token["name"] = str(escape(Markup(plain(token["html"])).striptags()))  # noqa: S704  # made by Markdown
            self._mark(token["children"])


class AtlasExtension(Extension):
    """See the module."""

    def __init__(self, **settings: Any) -> None:
        self.config = {"direction": ["ltr", "the direction of the page, ltr or rtl"]}
        super().__init__(**settings)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        """Add the steps, each after those that it needs: tables after the attributes of their cells."""
        md.preprocessors.register(_Finished(md), "atlas-finished", 22)  # before MkDocs reads all HTML for ids
        md.treeprocessors.register(_Tables(md), "atlas-tables", 4)
        code = _Code(md)
        code.is_mirrored = self.getConfig("direction") == "rtl"
        md.postprocessors.register(code, "atlas-code", 0)


makeExtension = AtlasExtension  # noqa: N816  # the name that Markdown looks for
