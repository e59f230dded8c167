"""What the Content-Security-Policy of the site (``extra.policy`` in ``mkdocs.yml``) stops on a page.

Takes the HTML of a page and the policy; yields what the page asks for in vain, each with a remedy.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatch
from html import unescape

MERMAID = "https://unpkg.com/mermaid@11/dist/mermaid.min.js"
"""Where Material's script gets mermaid, which draws diagrams, unless the site has its own."""

INLINE = "'unsafe-inline'"
"""The source that allows code and styles within a page."""

_FETCHED = {
    "script": ("script-src", "src"),
    "link": ("style-src", "href"),
    "img": ("img-src", "src"),
    "iframe": ("frame-src", "src"),
    "video": ("media-src", "src"),
    "audio": ("media-src", "src"),
    "source": ("media-src", "src"),
    "object": ("object-src", "data"),
    "embed": ("object-src", "src"),
    "style": ("style-src", ""),
}
"""By element: the directive, and the attribute with the address."""

_ATTRIBUTES = r"""((?:[^<>"']|"[^"]*"|'[^']*')*+)>"""
_FETCHING = re.compile(rf"<({'|'.join(_FETCHED)})\b{_ATTRIBUTES}")
_ELEMENT = re.compile(rf"<[a-z][\w-]*{_ATTRIBUTES}")
_ATTRIBUTE = re.compile(r"""([\w-]+)(?:=(?:"([^"]*)"|'([^']*)'|([^\s"'>]+)))?""")
_HANDLER = re.compile(r"\s(style|on[a-z]+)=")
_CODE = re.compile(r"|module|.*(?:java|ecma)script")  # types of scripts that run


def stopped(html: str, policy: str, *, has_mermaid: bool = False) -> Iterator[tuple[str, str]]:
    """Yield what the policy stops on a page, and a remedy. `has_mermaid` says that the site has that script."""
    directives = (each.split() for each in policy.split(";"))
    allowed = {name: sources for name, *sources in filter(None, directives)}
    for directive, source, what in _asked(html, has_mermaid=has_mermaid):
        sources = allowed.get(directive, allowed.get("default-src", ["*", INLINE]))
        is_own = not re.match(r"\w*:?//|\w+:", source)
        own = {INLINE} if source == INLINE else {"'self'", "*"} if is_own else set[str]()
        if not any(each in own if own else fnmatch(source, f"*{each}*") for each in sources):
            origin = re.match(r"\w*:?//[^/]*|\w+:|.*", source)[0]  # type: ignore[index]
            setting = {"script-src": " and into `extra_javascript`", "style-src": " and into `extra_css`"}
            remedy = f"put it into a file below docs/{setting.get(directive, '')}"
            yield what, f"{remedy}, or add {origin} to {directive} in `extra.policy` of mkdocs.yml"


def _asked(html: str, *, has_mermaid: bool) -> Iterator[tuple[str, str, str]]:
    """Yield the directive for each thing that a page asks for, the source that it needs, and its name."""
    for element, written in _FETCHING.findall(html):
        attributes = {name: unescape("".join(values)) for name, *values in _ATTRIBUTE.findall(written)}
        directive, name = _FETCHED[element]
        if element == "style":
            yield directive, INLINE, "a <style>"
        elif name in attributes and (element != "link" or "stylesheet" in attributes.get("rel", "")):
            yield directive, attributes[name], attributes[name]
        elif element == "script" and _CODE.fullmatch(attributes.get("type", "")):
            yield directive, INLINE, "a <script> without a file"
    if _HANDLER.search(html):  # few pages: looking at every element takes a while
        names = {name for written in _ELEMENT.findall(html) for name, *_ in _ATTRIBUTE.findall(written)}
        for name in sorted(name for name in names if _HANDLER.fullmatch(f" {name}=")):
            yield "style-src" if name == "style" else "script-src", INLINE, f'an attribute {name}="…"'
    if 'class="mermaid"' in html and not has_mermaid:
        yield "script-src", MERMAID, MERMAID
