"""A Markdown extension that makes accessible tables: for builders of the site, which find it by its dotted name.

Each table gets a frame that scrolls by itself, header cells with a scope, and the first cell of a row as its header. A
paragraph of the class ``table-caption`` before it becomes its caption, and a list that begins with an item of the class
``table-notes`` after it keeps that class. An ``id`` or the class ``doubtful`` of a first cell belong to its row.
"""

from __future__ import annotations

import re
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER_RE


class _Tables(Treeprocessor):
    def run(self, root: Element) -> None:
        for parent in list(root.iter()):
            for place in reversed(range(len(parent))):
                if parent[place].tag == "table":
                    self._frame(parent, place)

    def _frame(self, parent: Element, place: int) -> None:
        table = parent[place]
        frame = Element("div", {"class": "table", "role": "group", "tabindex": "0"})
        table.set("class", "atlas authored")
        label = " · ".join(map(self._text, table.iter("th")))
        for heading in table.iter("th"):
            heading.set("scope", "col")
        for row in table.findall("tbody/tr"):
            _head_row(row)
        for cell in table.iter():
            if cell.attrib.pop("align", "") == "right":
                _add_class(cell, "number")
        if len(parent) > place + 1 and parent[place + 1].tag == "ul" and len(parent[place + 1]):
            first = parent[place + 1][0]
            if first.get("class") == "table-notes":
                parent[place + 1].set("class", first.attrib.pop("class"))
        if place and "table-caption" in (caption := parent[place - 1]).get("class", ""):
            label = self._text(caption)
            table.set("class", "atlas")
            if "sortable" in caption.get("class", ""):
                table.set("data-sortable", "")
            caption.tag = "caption"
            caption.attrib.clear()
            caption.tail = None
            table.insert(0, caption)
            parent.remove(caption)
        frame.set("aria-label", label)
        frame.tail, table.tail = table.tail, None
        parent[list(parent).index(table)] = frame
        frame.append(table)

    def _text(self, element: Element) -> str:
        """Return the text of an element, with its entities and without its tags."""

        def raw(placeholder: re.Match[str]) -> str:
            html = str(self.md.htmlStash.rawHtmlBlocks[int(placeholder[1])])
            return " · " if html.startswith("<br") else "" if html.startswith("<") else html

        return HTML_PLACEHOLDER_RE.sub(raw, "".join(element.itertext())).strip()


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


def _add_class(element: Element, name: str) -> None:
    element.set("class", " ".join(filter(None, (name, element.get("class")))))


class TablesExtension(Extension):
    """See the module."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        """Frame tables once their cells have their attributes."""
        md.treeprocessors.register(_Tables(md), "atlas-tables", 4)


def makeExtension(**settings: Any) -> TablesExtension:  # noqa: N802  # the name that Markdown looks for
    """Return the extension."""
    return TablesExtension(**settings)
