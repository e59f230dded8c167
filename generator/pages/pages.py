"""Renders the pages of one language: authored Markdown, its translation and the records become finished Markdown.

Takes a `Language`, its `Expressions` and the authored pages; `render_pages` yields a `PageFile` for each, which has its
charts and downloads.
A page is split into blocks, each block is replaced by its translation, and Jinja renders the result. A block without a
translation stays English and is marked as such; a notice on the page counts them.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from bench.errors import AtlasError
from generator.languages import blocks, front_matter, typography
from generator.languages.blocks import ATTRIBUTES_WITH_ID, EXPRESSION, STATEMENT, Block
from generator.languages.front_matter import EACH
from generator.languages.language import Language, Untranslated
from generator.languages.page_source import EACH_PAGE, PageSource
from generator.pages.expressions import Expressions
from generator.pages.site_file import CARDS, SiteFile, relative_address

if TYPE_CHECKING:
    from generator.data.load import Results


@dataclass(frozen=True)
class Page:
    """The page that evaluates an expression, as ``page``."""

    uri: str  # relative to the root of the language
    root: str  # from this page's folder to the root: "" or "../"


def expressions_of(results: Results, language: Language, *, has_folders: bool = True) -> Expressions:
    """Return the expressions for the pages of one language."""
    from generator.pages.vocabulary import vocabulary

    emitted: list[SiteFile] = []
    return Expressions(vocabulary(results, language, emitted.append, has_folders=has_folders), emitted)


def render_pages(language: Language, expressions: Expressions, sources: Iterable[PageSource]) -> Iterator[PageFile]:
    """Yield every page of one language. A page is rendered when its content is first read."""
    for source in sources:
        translated = translate(source, language)
        if source.front.for_each is None:
            yield PageFile(source.uri, translated=translated, expressions=expressions)
            continue
        name = EACH[source.front.for_each]
        for item in getattr(expressions.globals["atlas"], source.front.for_each):
            uri = source.uri.replace(EACH_PAGE, f"{item.slug}.md")
            yield PageFile(uri, translated=translated, expressions=expressions, item={name: item})


def emitted_by(pages: Iterable[PageFile]) -> Iterable[SiteFile]:
    """Return the charts and downloads that the pages use, each once."""
    emitted: dict[str, SiteFile] = {}
    for page in pages:
        for file in page.emitted:
            emitted.setdefault(file.uri, file)
    return emitted.values()


# --- Translation ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Translated:
    """A page as a Jinja template in one language, with the lines of the authored page after its front matter."""

    source: PageSource
    language: Language = field(compare=False)
    template: str
    front: Mapping[str, Any]
    missing: int
    total: int


def translate(source: PageSource, language: Language) -> Translated:
    """Return the page with every block replaced by its translation, or marked as untranslated."""
    total = 0
    missing = 0

    def translated(message: str, *, attribute: bool) -> str | None:
        nonlocal total, missing
        total += 1
        translation = language.translation(message)
        if translation is None:
            missing += 1
            return None
        if placeholders(message) != placeholders(translation):
            raise AtlasError(
                f"the expressions of the translation differ from those of {message[:60]!r}",
                where=f"{language.catalog}:{language.lines.get((None, message), 0)}",
                remedy=f"use each of these once: {' '.join(placeholders(message)) or 'none'}",
            )
        if language.direction == "rtl":  # an attribute can hold no elements
            return translation if attribute else typography.isolate_latin(translation)
        is_cjk = language.locale.language in typography.CJK_LANGUAGES
        return typography.mark_seams(translation, EXPRESSION) if is_cjk else translation

    def place(block: Block) -> str | None:
        text = translated(block.message, attribute=block.kind == "abbreviation") or _marked(block)
        # A translation is one line, while the English may have several. A Jinja comment adds the missing lines, so
        # that errors name the lines of the authored page.
        lost = block.source.count("\n") - text.count("\n")
        padding = "{#" + "\n" * lost + "+#}" if lost > 0 else ""
        return None if language.code == "en" else text + padding

    body = blocks.join(source.document, place).removeprefix(source.document.front)
    front = {key: value for key, value in source.front.values.items() if key not in {"for_each", "constants"}}
    for key, message in source.front.messages.items():
        front[key] = translated(message, attribute=True) or message
    return Translated(source, language, _template(body), front, missing, total)


_TEXT = re.compile(r"(?<![^ ])[^ ]*[\w`*_~\[<{&\\].*?(?= \{:?[^{}\n]*\}$|$)", re.DOTALL)
"""A message without signs before its first word, which may be the marker of an extension, and attributes of a cell."""


def _marked(block: Block) -> str:
    if block.kind == "abbreviation":  # a tooltip holds no elements
        return block.message
    return _TEXT.sub(lambda text: str(Untranslated(text[0]).__html__()), block.message, count=1)


def placeholders(message: str) -> list[str]:
    """Return the Jinja expressions and statements of a message, sorted, with their white space normalized."""
    code = [*EXPRESSION.findall(message), *STATEMENT.findall(typography.FORMULA.sub("", message))]
    return sorted(re.sub(r"\s+", " ", expression) for expression in code)


_BRACE = re.compile(r"\{(?=\{(?! )|[%#])")  # in TeX
_INDENTED_EXPRESSION = re.compile(rf"(?m)^([ \t]+)({EXPRESSION.pattern})[ \t]*$", EXPRESSION.flags)


def _template(body: str) -> str:
    """Return Markdown that Jinja understands: ids and TeX are text, and tables within a list item stay in it."""
    body = typography.FORMULA.sub(lambda formula: _BRACE.sub("{{ '{' }}", formula[0]), body)
    body = ATTRIBUTES_WITH_ID.sub(lambda attributes: "{: " + attributes[0][1:], body)
    return _INDENTED_EXPRESSION.sub(lambda line: f"{line[1]}{{{{ ({line[2][2:-2]}) | indent({line[1]!r}) }}}}", body)


# --- Rendering --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class PageFile(SiteFile):
    """A page with its figures, rendered when its content is first read. Its title alone takes far less time."""

    translated: Translated
    expressions: Expressions
    item: Mapping[str, Any] = field(default_factory=dict)  # the ``device`` or ``model`` of the page

    @property
    def content(self) -> str:
        """The finished Markdown with its front matter."""
        front, body, _ = self._rendered
        return front + body

    @cached_property
    def emitted(self) -> tuple[SiteFile, ...]:
        """The charts and downloads that the page uses, and its share card."""
        return (*self._rendered[2], *self._card())

    @property
    def card_uri(self) -> str:
        """The address of the share card. Devices and models have their own; other pages share the first page's."""
        return f"{CARDS}/{self.uri.removesuffix('.md') if self._has_card else 'index'}.png"

    @property
    def _has_card(self) -> bool:
        return bool(self.item.keys() & {"device", "model"})

    def _card(self) -> Iterator[SiteFile]:
        """Yield the card of the first page, or of a device or model."""
        atlas: Any = self.expressions.globals.get("atlas")
        shown: Any = self.item.get("device") or self.item.get("model") or (atlas if self.uri == "index.md" else None)
        if atlas is None or shown is None:
            return

        def made() -> bytes:
            from generator.figures.card import card

            labels = [*shown.latency.labels, *shown.throughput.labels]
            name = getattr(shown, "name", "") or getattr(shown, "label", "")
            return card(name, [atlas.results.by_label[label] for label in labels])

        yield SiteFile(self.card_uri, made)

    def twin(self, address: str, *, has_folders: bool = True) -> str:
        """Return the page as Markdown for readers without a browser: without forms, and without what only styles it.

        `address` is the page's own, to which the links are relative; "" if the site does not know its own.
        """

        def linked(link: re.Match[str]) -> str:
            path, mark, section = link["address"].partition("#")
            if path.endswith(".md") and "//" not in path:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(self.uri), path))
                path = relative_address(self.uri, path, has_folders=has_folders)
            return link["before"] + urljoin(address, f"{path}{mark}{section}")

        text = _LINK.sub(linked, _STYLING.sub("", typography.plain(self._rendered[1]))).lstrip()
        heading = _TITLE.match(text)
        head, rest = (heading[0], text[heading.end() :]) if heading else ("", text)
        here = self.translated.language.gettext("This page with its charts")
        return f"{head}\n[{here}]({address or './'})\n\n{rest.lstrip()}"

    @property
    def is_rendered(self) -> bool:
        """Whether the page has been rendered."""
        return "_rendered" in self.__dict__

    @cached_property
    def title(self) -> str | None:
        """The title in its front matter, None without one."""
        return self._front("title") if "title" in self.translated.front else None

    @cached_property
    def description(self) -> str:
        """The description in its front matter, "" without one."""
        return self._front("description") if "description" in self.translated.front else ""

    @cached_property
    def _rendered(self) -> tuple[str, str, tuple[SiteFile, ...]]:
        page, emitted = self.translated, self.expressions.emitted
        emitted.clear()
        body = self._evaluate(page.template, page.source.document.front.count("\n"))
        if page.language.code != "en":
            body = _ALTERNATIVE.sub(lambda text: typography.plain(text[0]), body)
        body = typography.close_seams(body)
        front = dict(page.front) | {key: self._front(key) for key in page.source.front.expressions}
        if "description" in front:
            front["description"] = page.language.alone(front["description"])
        if self._has_card:
            front["card"] = self.card_uri
        return front_matter.dump(front), _with_notice(body, page), tuple(emitted)

    def _front(self, key: str) -> str:
        text = self._evaluate(self.translated.front[key], self.translated.source.front.lines[key] - 1)
        return typography.close_seams(typography.plain(text)).strip()

    def _evaluate(self, template: str, first_line: int) -> str:
        page = Page(self.uri, "../" * self.uri.count("/"))
        context = {"page": page, "language": self.translated.language, **self.item}
        return self.expressions.evaluate(template, context, self.translated.source.where, first_line)


_STYLING = re.compile(
    r"<(form|template)\b.*?</\1>\n?|</?(?:bdi|small|span|wbr)\b[^<>]*>"
    r'|[ \n]\{:? ?(?:[.#]|data-sort)[^{}\n]*\}|\sdata-[\w-]+="[^"]*"',
    re.DOTALL,
)
_ALTERNATIVE = re.compile(r"!\[[^\]]*\](?=\()")  # of an image
_LINK = re.compile(r'(?P<before>\]\(| (?:href|src)=")(?P<address>[^()"\s]+)')


# --- Untranslated -----------------------------------------------------------------------------------------------------

_TITLE = re.compile(r"\A\s*# .*\n")


def shown(text: str) -> str:
    """Return an interface string as HTML, marked if it is English."""
    return str(text.__html__()) if isinstance(text, Untranslated) else text


def _with_notice(body: str, page: Translated) -> str:
    """Add a notice below the title that counts untranslated texts, if there are any."""
    if not page.missing:
        return body
    gettext = page.language.gettext
    text = page.language.ngettext(
        "%(missing)s of %(total)s text on this page is not translated yet and appears in English.",
        "%(missing)s of %(total)s texts on this page are not translated yet and appear in English.",
        page.missing,
    )
    isolate, number = page.language.isolate, page.language.number
    text = shown(text % {"missing": isolate(number(page.missing)), "total": isolate(number(page.total))})
    title = gettext("Translation in progress")
    notice = f'\n!!! info "{shown(title)}"\n    {text}\n'
    heading = _TITLE.match(body)
    head, rest = (heading[0], body[heading.end() :]) if heading else ("", body)
    return f"{head}{notice}{'' if rest.startswith(chr(10)) else chr(10)}{rest}"
