"""Material for MkDocs in a language: our words for its labels, the settings of its search, corrections of its script.

Takes a `Language`. `wording` returns the labels of Material's templates and script, from our catalogs; `search` returns
the settings of its search. `apply_language` puts a language into the configuration of a build.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.utils import get_theme_dir

from bench.errors import AtlasError
from generator.languages.language import Language, plural_examples, plural_forms

FALLBACK = "en"
"""The labels for a language into which Material has not been translated."""


class Wording(dict[str, str]):
    """Labels by Material's names for them. One that is missing is an error: Material's own would not be checked."""

    def __missing__(self, name: str) -> str:
        raise AtlasError(
            f"a template asks for the label {name!r}, which the guide does not define",
            where="generator/site/material.py",
            remedy="add it to `wording`, and run `python -m generator messages`",
        )


def wording(language: Language) -> Mapping[str, str]:
    """Return the labels of Material's templates and script in a language."""
    gettext, ngettext = language.gettext, language.ngettext
    unused = dict.fromkeys(("search.result.one", "search.result.more.one"), "")  # by the `mended` script
    return Wording(
        unused
        | {
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
            "search.result.more.other": _by_form(
                language,
                lambda n: ngettext("%(count)s more match on this page", "%(count)s more matches on this page", n),
            ),
            "search.result.none": gettext("No matching pages"),
            "search.result.other": _by_form(
                language, lambda n: ngettext("%(count)s matching page", "%(count)s matching pages", n)
            ),
            "search.result.placeholder": gettext("Type to start searching"),
            # Translators: words of a search that a page lacks
            "search.result.term.missing": gettext("Not found: %(words)s"),
            "search.share": gettext("Share this search"),
            "select.language": gettext("Select language"),
            "select.version": gettext("Select version"),
            "source": gettext("Go to the repository"),
            # Translators: names the tabs at the top of each page
            "tabs": gettext("Tabs"),
            "toc": gettext("Table of contents"),
            "top": gettext("Back to top"),
        }
    )


def _by_form(language: Language, message: Callable[[int], str]) -> str:
    """Return the plural forms of a message as JSON, by their names in CLDR, for a number that the reader's browser
    counts."""
    served = zip(plural_forms(language.locale), plural_examples(language.locale), strict=True)
    return json.dumps({form: message(numbers[0]) for form, numbers in served if numbers}, ensure_ascii=False)


_OTHER_LETTERS = r"\u0590-\u06ff\u0900-\u0eff\u3040-\u9fff\uac00-\ud7a3"

WORD_BREAKS = (
    r"&(?:lt|gt|amp);|\.(?!\d)"
    r"|[\s\-−–—…·,:;!?=\[\](){}<>\"'`“”‘’«»/|\\*#@%&×†≥≤≈→"
    r"\u200b-\u200f\u2066-\u2069\u3000、。，．：；？！（）「」『』《》〜～・،؛؟]+"
    rf"|(?<=\w)(?=[{_OTHER_LETTERS}])|(?<=[{_OTHER_LETTERS}])(?=\w)"
)
"""Where search splits text in every language: within ``torch.compile``, not within ``2.0.1``; between Latin letters and
those of another script, which are often written without a space. The zero-width space is what jieba leaves between
Chinese words."""

WITHOUT_LUNR = ("zh", "ar")
"""Languages without lunr's support: jieba cuts Chinese when the index is built, and the Arabic stemmer would merge
different words. ``workers/words.js`` among the scripts does the rest."""


def labels(code: str) -> str:
    """Return the name of Material's labels for a language: its own, those without the region, else English."""
    return next((name for name in _candidates(code) if labels_file(name).is_file()), FALLBACK)


def labels_file(name: str) -> Path:
    """Return the path of Material's labels of that name."""
    return _theme() / "partials" / "languages" / f"{name}.html"


def search(code: str) -> dict[str, Any]:
    """Return the settings of the search in a language. All include English: every page has English names and code."""
    known = (name for name in _candidates(code) if (_theme() / _LUNR / f"lunr.{name}.min.js").is_file())
    own = next((name for name in known if name not in (FALLBACK, *WITHOUT_LUNR)), None)
    fields = {"title": {"boost": TITLE}}
    return {"lang": [FALLBACK, own] if own else [FALLBACK], "separator": WORD_BREAKS, "fields": fields}


PIPELINE = ["stopWordFilter"]
"""No stemmer: Material searches for beginnings of words (``happens*``), which stems would not match. The worker finds
other forms of a word by itself."""

TITLE = 20.0
"""How much more a word in a title counts. Material's thousand puts a title with a part of a name before a text with all
of it."""


def apply_language(config: MkDocsConfig, language: Language) -> None:
    """Set the words and the search of a language. Raises `AtlasError` for a configuration without room for them."""
    search_settings, headings, light, dark = _places(config)
    config.theme["language"], config.theme["direction"] = labels(language.code), language.direction
    search_settings.update(search(language.code), pipeline=PIPELINE)
    config.site_name = str(language.gettext(config.site_name))
    if config.site_description:
        config.site_description = str(language.gettext(config.site_description))
    headings["permalink_title"] = str(language.gettext("Link to this section"))
    light["name"] = str(language.gettext("Switch to dark mode"))
    dark["name"] = str(language.gettext("Switch to light mode"))


def _places(config: MkDocsConfig) -> tuple[Any, Any, Any, Any]:
    """Return the settings of the search, of headings, and of the switches to dark and to light mode."""
    try:
        light, dark = (palette["toggle"] for palette in config.theme["palette"] if palette["toggle"]["icon"])
        return config.plugins["material/search"].config, config.mdx_configs["toc"], light, dark
    except (LookupError, TypeError, ValueError) as error:
        raise AtlasError(
            f"the guide needs Material with two palettes, its search, and permanent links ({error})",
            where=str(config.config_file_path),
            remedy="compare it with the one that was committed: git diff mkdocs.yml",
        ) from None


BUNDLE = re.compile(r"assets/javascripts/bundle\.\w+\.min\.js")
"""Material's own script, with a hash in its name."""

_MENDED = {
    # It takes links to translations, to Markdown and to the feed for roots of other versions of the site, and requests
    # a sitemap below each, where there is none.
    r"link\[rel=alternate\]": r"\g<0>:not([hreflang],[type])",
    # It rewrites all addresses of a page as soon as it is loaded, so that they hold after the next navigation: every
    # stylesheet and picture is loaded twice, and the page laid out again. On navigation is early enough.
    r'\$\(document\)\.subscribe\((\w+)\);(.{0,400}?)(?=history\.replaceState\(\w+,""\),history\.pushState)': (
        r"\2\1(document),"
    ),
    # It sets the colour scheme twice, each time with a new style of every element. The stylesheet sets it sooner.
    (
        r'let (\w+)=\w+\("meta",\{name:"color-scheme"\}\);document\.head\.appendChild\(\1\);'
        r"(.{0,2000}?)\1\.content=\w+\.colorScheme,"
    ): r"\2",
    # It knows one and many. Languages have up to six forms, their own digits, and their own colon.
    r'typeof (\w)!="undefined"\?(\w+\.translations\[\w\])\.replace\("#",\1\.toString\(\)\):\2': (
        r"\1===void 0?\2:(e=>(e[new Intl.PluralRules(document.documentElement.lang).select(\1)]||e.other)"
        r'.replace("%(count)s",new Intl.NumberFormat(document.documentElement.lang+"-u-nu-latn").format(\1)))'
        r"(JSON.parse(\2))"
    ),
    r'case 1:\w\.textContent=\w+\("search\.result\.one"\);break;default:let (\w)=\w+\((\w\.length)\);'
    r"(.{0,50}?)\1\)": r"default:\3\2)",
    r'\w\.length>0&&\w\.length===1\?\w+\("search\.result\.more\.one"\):': "",
    r'(\w+\("search\.result\.term\.missing"\)),": ",\.\.\.(\w)\b': (
        r'...\1.split("%(words)s").flatMap((e,t)=>t?[...\2,e]:[e])'
    ),
}


def mended(bundle: str) -> str:
    """Return Material's script, without what it does in vain on our pages.

    Raises `AtlasError` where the script has changed.
    """
    for pattern, replacement in _MENDED.items():
        bundle, count = re.subn(pattern, replacement, bundle)
        if count != 1:
            raise AtlasError(
                f"Material's script has {count} places that match {pattern}, instead of one",
                where="mkdocs-material",
                remedy="see what this version does in those places, and correct generator/site/material.py",
            )
    return bundle


_LUNR = Path("assets", "javascripts", "lunr", "min")


def _candidates(code: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((code, code.split("-", maxsplit=1)[0])))


@cache
def _theme() -> Path:
    return Path(get_theme_dir("material"))
