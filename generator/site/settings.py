"""The settings of the site in one language, for every builder that reads ``mkdocs.yml``.

Takes an `Edition` and the settings in ``mkdocs.yml``; returns them with the words, addresses and navigation of the
language. Templates below ``docs/theme`` find all that they show in `extra`, so that any builder can render them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from babel.core import get_global
from mkdocs.utils import get_theme_dir

from generator.languages.language import SOURCE, Language
from generator.languages.typography import RIGHT_TO_LEFT_MARK
from generator.pages.guide import Edition
from generator.pages.pages import shown
from generator.site import PLUGIN, search


def settings_of(
    edition: Edition, languages: Iterable[Language], settings: Mapping[str, Any], *, serving: bool = False
) -> dict[str, Any]:
    """Return the settings of an edition, from the project's."""
    language, languages = edition.language, tuple(languages)
    keys = ("site_name", "site_description", "copyright")
    name, description, rights = (language.gettext(text) if (text := settings.get(key)) else "" for key in keys)
    root, extra = settings.get("site_url") or "", settings.get("extra") or {}
    policy = extra.get("policy", "")
    if serving:  # MkDocs' server writes a script into each page that reloads it
        policy = policy.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'")
    switch = (language.gettext("Switch to dark mode"), language.gettext("Switch to light mode"))
    theme = {**settings["theme"], "language": _of_material(language), "direction": language.direction}
    if isinstance(schemes := theme.get("palette"), list):
        for scheme, to in zip(schemes := [*map(dict, schemes)], switch, strict=False):
            scheme["toggle"] = {**scheme.get("toggle", {}), "name": str(to)}
        theme["palette"] = schemes
    options = {
        "toc": {"permalink_title": str(language.gettext("Link to this section"))},
        "generator.site.markdown": {"direction": language.direction},
        "search": search.settings(language.code),
        PLUGIN: {"language": language.code},
    }
    return {
        **settings,
        "site_name": str(name),
        "site_description": str(description),
        "copyright": shown(rights) or None,
        "site_url": urljoin(root, language.prefix) or None,
        "theme": theme,
        "nav": edition.navigation(settings.get("nav") or ()) or None,
        "not_in_nav": f"{settings.get('not_in_nav') or ''}\n{edition.unlisted}",
        "plugins": [*_with(options, settings["plugins"], language)],
        "markdown_extensions": [*_with(options, settings.get("markdown_extensions") or (), language)],
        "extra": {
            **extra,
            "policy": policy,
            "labels": labels(language, str(name)),
            "languages": [_offered(each) for each in languages],
            "language": language.code,
            "prefix": language.prefix,
            "up": "../" if language.prefix else "",  # from the language to the root of the site
            "locale": open_graph_locale(language),
            "mark": RIGHT_TO_LEFT_MARK if language.direction == "rtl" else "",  # before Latin text that stands alone
            "root": root,
            "scope": urlsplit(root).path or "/",  # light or dark is chosen for all languages
        },
    }


def _of_material(language: Language) -> str:
    """Return the language of Material's own words, which stand where ours are missing, and of dates by plugins."""
    folder = Path(get_theme_dir("material"), "partials", "languages")
    codes = (language.code, language.locale.language)
    return next((code for code in codes if (folder / f"{code}.html").is_file()), SOURCE)


def _with(options: Mapping[str, Any], listed: Any, language: Language) -> Iterator[dict[str, Any]]:
    """Yield extensions or plugins, listed or mapped as in ``mkdocs.yml``, with the options of the language.

    Ids, such as those of tabs, come from English titles, so that links to them are right in every language.
    """
    for entry in ({name: own} for name, own in listed.items()) if isinstance(listed, dict) else listed:
        name, own = (entry, None) if isinstance(entry, str) else next(iter(entry.items()))
        given = {**(own or {}), **options.get(name, {})}
        if callable(slugify := given.get("slugify")):
            english = {re.sub("[`*_]", "", forms[0]): message for (_, message), forms in language.messages.items()}
            given["slugify"] = partial(_english_id, slugify, english)
        yield {name: given}


def _english_id(slugify: Callable[[str, str], str], english: Mapping[str, str], title: str, separator: str) -> str:
    return slugify(english.get(title, title), separator)


def _offered(language: Language) -> dict[str, str]:
    """Return a language as pages in other languages show it."""
    gettext = language.gettext
    return {
        "code": language.code,
        "prefix": language.prefix,
        "name": language.name,
        "direction": language.direction,
        "locale": open_graph_locale(language),
        "offer": str(gettext("This guide is also available in %(language)s.") % {"language": language.name}),
        "dismiss": str(gettext("Do not show this again")),
        "missing": shown(gettext("Page not found")),
        "reason": shown(
            gettext(
                "There is no page at this address. The page may have moved, or the record that it was about may have "
                "been removed."
            )
        ),
        "home": shown(gettext("Go to the home page")),
    }


def labels(language: Language, site_name: str) -> dict[str, str]:
    """Return the labels of templates in a language: Material's, by its names for them, and our own."""
    gettext = language.gettext
    material = language.isolate(
        '<a href="https://squidfunk.github.io/mkdocs-material/" target="_blank" rel="noopener">Material for MkDocs</a>'
    )
    # Translators: # stands for a number
    found, more = gettext("Matching pages: #"), gettext("More matches on this page: #")
    plain = {
        "language": language.code,
        "direction": language.direction,
        "action.skip": gettext("Skip to content"),
        "clipboard.copied": gettext("Copied to clipboard"),
        "clipboard.copy": gettext("Copy to clipboard"),
        "footer": gettext("Footer"),
        "footer.next": gettext("Next page"),
        "footer.previous": gettext("Previous page"),
        "header": gettext("Header"),
        "nav": gettext("Navigation"),
        "search": gettext("Search"),
        "search.placeholder": gettext("Search"),
        "search.reset": gettext("Clear the search"),
        "search.result.initializer": gettext("Preparing the search"),
        "search.result.more.one": more.replace("#", "1"),
        "search.result.more.other": more,
        "search.result.none": gettext("No matching pages"),
        "search.result.one": found.replace("#", "1"),
        "search.result.other": found,
        "search.result.placeholder": gettext("Type to start searching"),
        # Translators: before words of a search that a page lacks
        "search.result.term.missing": gettext("Not found"),
        "search.share": gettext("Share this search"),
        "select.language": gettext("Select language"),
        "select.version": gettext("Select version"),
        "source": gettext("Go to the repository"),
        # Translators: names the tabs at the top of each page
        "tabs": gettext("Tabs"),
        "toc": gettext("Table of contents"),
        "top": gettext("Back to top"),
        "ascending": gettext("Sort in ascending order"),
        "descending": gettext("Sort in descending order"),
        "copied": gettext("Copied"),
        "copy": gettext("Copy as Markdown"),
        "logo": gettext("%(name)s logo") % {"name": site_name},
    }
    html = {
        "view": gettext("View as Markdown"),
        "made": gettext("Made with %(material)s") % {"material": material},
    }
    return {name: str(text) for name, text in plain.items()} | {name: shown(text) for name, text in html.items()}


def open_graph_locale(language: Language) -> str:
    """Return language and region, such as ``zh_CN``. Without a region it is the one where most speakers live."""
    if language.code == "ar":
        return "ar_AR"  # Open Graph has Arabic without a real region
    locale = language.locale
    likely = get_global("likely_subtags").get(locale.language, locale.language).split("_")[-1]
    return f"{locale.language}_{locale.territory or likely}"
