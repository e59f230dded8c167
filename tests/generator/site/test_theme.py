"""The sidebars of a page are those of its template, whether rendered for the page or for another of its folder.
Templates show translations as they are."""

from __future__ import annotations

import dataclasses
from functools import partial
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest

from generator.languages.language import load_language
from generator.site.theme import SidebarCache, translate


def page(url: str, **meta: Any) -> Any:
    return SimpleNamespace(url=url, meta=meta)


class Template:
    """A template like Material's: its links depend on the folder, and on what the page hides."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, sidebars: Any, page: Any, nav: Any, sections: str = "<nav>sections</nav>") -> str:
        def caller() -> str:
            self.made.append(page.url)
            folders = page.url.rstrip("/").split("/")[:-1]
            return f"<nav>{'../' * len(folders)}{folders} {page.meta}</nav>{sections}<p>"

        made: str = sidebars(page, nav, sections, caller)
        assert made == caller()
        self.made.pop()
        return made


def test_the_navigation_is_made_once_for_the_pages_of_a_folder_that_it_leaves_out() -> None:
    sidebars, template = SidebarCache(), Template()
    home = page("")
    nav = SimpleNamespace(pages=[home])
    template(sidebars, page("models/vit/"), nav, "<nav>of ViT</nav>")
    template(sidebars, page("models/beit/"), nav, "<nav>of BeiT</nav>")
    assert template.made == ["models/vit/"]
    template(sidebars, page("devices/a100/"), nav)
    template(sidebars, page("models/detr/", hide=["navigation"]), nav)
    template(sidebars, home, nav)
    template(sidebars, home, nav)
    assert template.made == ["models/vit/", "devices/a100/", "models/detr/", "", ""]


def test_without_the_sections_in_it_nothing_is_kept() -> None:
    sidebars, nav = SidebarCache(), SimpleNamespace(pages=[])
    for text in ("one", "two"):
        assert sidebars(page("models/vit/"), nav, "sections", partial(str, text)) == text
    assert sidebars(None, nav, "sections", lambda: "404") == "404"


@pytest.mark.parametrize(
    ("message", "translation", "shown"),
    [("Copy", "100% da", "100% da"), ("%(n)s of it", "%(n)s 100%% da", "3 100% da"), ("Copy", "da", "da")],
)
def test_a_translation_may_hold_a_percent_sign(message: str, translation: str, shown: str) -> None:
    environment = jinja2.Environment(extensions=["jinja2.ext.i18n"], autoescape=True)
    language = dataclasses.replace(load_language("ar"), messages={(None, message): (translation,)})
    translate(environment, language)
    assert environment.from_string(f'{{{{ _("{message}", n=3) }}}}').render() == shown
