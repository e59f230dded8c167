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
                _add_caption(table, caption, is_sortable="sortable" in classes)
                parent.remove(caption)
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


def _add_caption(table: Element, caption: Element, *, is_sortable: bool) -> None:
    table.set("class", "atlas")
    if is_sortable:
        table.set("data-sortable", "")
    caption.tag, caption.tail = "caption", None
    caption.attrib.clear()
    table.insert(0, caption)


class TablesExtension(Extension):
    """See the module."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        """Frame tables once their cells have their attributes."""
        md.treeprocessors.register(_Tables(md), "atlas-tables", 4)


def makeExtension(**settings: Any) -> TablesExtension:  # noqa: N802  # the name that Markdown looks for
    """Return the extension."""
    return TablesExtension(**settings)
