"""The theme's templates in every language: compiled once, with the texts and functions that they use.

Takes MkDocs' configuration of a language; its Jinja environments then keep their compiled templates. Most of the time
of a page without tables goes into its navigation, which `SidebarCache` renders once for the pages of a folder.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from glob import glob
from typing import Any

import jinja2
from jinja2.meta import find_referenced_templates
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page

from generator.compiled import CompiledTemplates
from generator.languages.language import Language, Untranslated
from generator.languages.typography import in_markdown
from generator.site.mkdocs_internals import asset_url_filter


def install(config: MkDocsConfig, *, publish_files: bool) -> None:
    """Let a configuration keep its compiled templates. One language publishes the files of the theme for all."""
    config.theme.get_env = partial(_environment, config.theme.get_env, config.theme.dirs if publish_files else [])


def compile_templates(config: MkDocsConfig) -> None:
    """Compile the templates that pages use, for any process."""
    environment = config.theme.get_env()
    waiting = ["main.html", *config.theme.static_templates]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        with suppress(jinja2.TemplateNotFound):
            environment.get_template(name)
            source, *_ = environment.loader.get_source(environment, name)
            names = {name for name in find_referenced_templates(environment.parse(source)) if name} - seen
            waiting += names
            seen |= names


def _environment(make: Callable[[], jinja2.Environment], published: Iterable[str]) -> jinja2.Environment:
    environment = make()
    environment.bytecode_cache = CompiledTemplates()
    environment.filters["marked"] = lambda text: text.__html__() if isinstance(text, Untranslated) else text
    environment.filters["in_markdown"] = in_markdown
    environment.list_templates = partial(_files, published)  # type: ignore[method-assign]
    return environment


def _files(folders: Iterable[str], filter_func: Callable[[str], bool]) -> list[str]:
    """Return the files of some folders that MkDocs asks for. Unlike Jinja, pass over hidden ones: thousands of icons,
    which MkDocs leaves out."""
    names = {name for folder in folders for name in glob("**", root_dir=folder, recursive=True)}  # noqa: PTH207  # Path has icons, too
    return sorted(filter(filter_func, (name.replace(os.sep, "/") for name in names)))


def translate(environment: jinja2.Environment, language: Language) -> None:
    """Let the templates of an environment use the messages of a language, and the assets that all languages share."""
    environment.install_gettext_callables(  # type: ignore[attr-defined]
        _formattable(language.gettext),
        _formattable(language.ngettext),
        newstyle=True,
        pgettext=_formattable(language.pgettext),
    )
    environment.filters["url"] = asset_url_filter(language.prefix)


def _formattable(translate: Callable[..., str]) -> Callable[..., str]:
    """Return the lookup with doubled percent signs where the English has none: Jinja formats every message."""

    def lookup(*arguments: Any) -> str:
        text = translate(*arguments)
        is_plain = "%" in text and not any("%" in each for each in arguments if isinstance(each, str))
        return text.replace("%", "%%") if is_plain else text

    return lookup


def offers(languages: Iterable[Language]) -> Mapping[str, tuple[str, str]]:
    """Return how each language offers itself to readers of another one, and how they refuse, by its code."""
    return {
        each.code: (
            str(each.gettext("This guide is also available in %(language)s.") % {"language": each.name}),
            str(each.gettext("Do not show this again")),
        )
        for each in languages
    }


class SidebarCache:
    """The navigation and the list of sections of each page, for ``{% call %}`` in its template.

    The navigation is the same for all pages of a folder that it does not list, as it is for thousands of models and
    devices: it is rendered once for them, and their sections are inserted. Valid while titles and navigation stay.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, tuple[str, str]] = {}

    def __call__(self, page: Page | None, nav: Navigation, sections: str, caller: Callable[[], str]) -> str:
        """Return what `caller` renders, which contains the HTML `sections`."""
        if page is None or any(page is each for each in nav.pages):  # MkDocs compares titles and texts
            return caller()
        place = posixpath.dirname(page.url.rstrip("/")), repr(page.meta.get("hide"))
        if place not in self._known:
            before, separator, after = (whole := caller()).partition(sections)
            if not separator:
                return whole
            self._known[place] = before, after
        return sections.join(self._known[place])
