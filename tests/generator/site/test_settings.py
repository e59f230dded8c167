"""The settings of a language: its words in place of Material's, its plugins and extensions with their options."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import LANGUAGES, PREFIXES, BuiltSite
from markdown import Markdown
from mkdocs.utils import get_theme_dir
from pymdownx.slugs import slugify  # type: ignore[import-untyped]

from generator.languages.language import load_language
from generator.pages.guide import Edition
from generator.site.settings import labels, settings_of


def test_no_page_has_words_of_the_theme_that_are_not_ours(site: BuiltSite) -> None:
    english = labels(load_language("en"), "Compile Atlas")
    material = Path(get_theme_dir("material"), "partials", "languages")
    for code, prefix in PREFIXES.items():
        ours = labels(load_language(code), "Compile Atlas")
        theirs = set(re.findall(r'": "([^"]{2,})"', (material / f"{code}.html").read_text("utf-8")))
        theirs -= {*ours.values(), code}
        assert code == "en" or {name for name in ours if ours[name] == english[name]} <= {"direction"}, code
        assert len(theirs) > 20, code
        for address in ("index.html", "compile/index.html", "404.html"):
            html = (site.folder / prefix / address).read_text("utf-8")
            settings = json.loads(html.partition('<script id="__config" type="application/json">')[2].partition("<")[0])
            own = settings["translations"]
            assert own == {name: ours[name] for name in own}
            frame = re.sub(r"(?s)<article.*</article>", "", html)
            assert [text for text in theirs if re.search(rf'[">]\s*{re.escape(text)}\s*(?:: |["<])', frame)] == [], code


SETTINGS: dict[str, Any] = {
    "site_name": "Compile Atlas",
    "site_url": "https://example.org/atlas/",
    "theme": {"name": "material", "palette": [{"scheme": "default", "toggle": {"icon": "material/x"}}]},
    "nav": ["index.md"],
    "plugins": ["search", {"redirects": {"maps": {"a.md": "b.md"}}}, "compile-atlas"],
    "markdown_extensions": ["tables", {"toc": {"permalink": True}}],
    "extra": {"analytics": "none"},
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_plugins_extensions_and_settings_of_others_are_kept(code: str) -> None:
    language = load_language(code)
    found = settings_of(Edition(language, ()), [language], SETTINGS)
    assert found["site_url"] == f"https://example.org/atlas/{language.prefix}"
    assert found["plugins"][1] == {"redirects": {"maps": {"a.md": "b.md"}}}
    assert found["plugins"][2] == {"compile-atlas": {"language": code}}
    assert found["markdown_extensions"][0] == {"tables": {}}
    assert found["markdown_extensions"][1]["toc"]["permalink"] is True
    assert found["extra"]["analytics"] == "none"
    assert found["theme"]["palette"][0]["toggle"]["icon"] == "material/x"
    assert SETTINGS["plugins"][0] == "search", "settings are not changed"


def test_ids_of_tabs_are_the_same_in_every_language() -> None:
    chinese = replace(load_language("zh"), messages={(None, "On `a` GPU"): ("在 `a` GPU 上",)})
    tabbed = {"pymdownx.tabbed": {"slugify": slugify(case="lower"), "alternate_style": True}}
    found = settings_of(Edition(chinese, ()), [chinese], SETTINGS | {"markdown_extensions": [tabbed]})
    (options,) = found["markdown_extensions"]
    page = '=== "在 <b>`a`</b> GPU 上"\n\n    x\n\n=== "<bdi>Untranslated</bdi>"\n\n    x\n'
    html = Markdown(extensions=[*options], extension_configs=options).convert(page)
    assert re.findall(r' id="(.*?)"', html) == ["on-a-gpu", "untranslated"]
