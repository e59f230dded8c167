"""Beside a page stands what its template makes, whether it is made for the page or for another of its folder."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from generator.site.sidebars import sidebars


def page(url: str, **meta: Any) -> Any:
    return SimpleNamespace(url=url, meta=meta)


class Template:
    """As Material's: where links lead depends on the folder, and what is hidden on the page."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self, beside: Any, page: Any, nav: Any, sections: str = "<nav>sections</nav>") -> str:
        def caller() -> str:
            self.made.append(page.url)
            folders = page.url.rstrip("/").split("/")[:-1]
            return f"<nav>{'../' * len(folders)}{folders} {page.meta}</nav>{sections}<p>"

        made: str = beside(page, nav, sections, caller)
        assert made == caller()
        self.made.pop()
        return made


def test_the_navigation_is_made_once_for_the_pages_of_a_folder_that_it_leaves_out() -> None:
    beside, template = sidebars(), Template()
    home = page("")
    nav = SimpleNamespace(pages=[home])
    template(beside, page("models/vit/"), nav, "<nav>of ViT</nav>")
    template(beside, page("models/beit/"), nav, "<nav>of BeiT</nav>")
    assert template.made == ["models/vit/"]
    template(beside, page("devices/a100/"), nav)
    template(beside, page("models/detr/", hide=["navigation"]), nav)
    template(beside, home, nav)
    template(beside, home, nav)
    assert template.made == ["models/vit/", "devices/a100/", "models/detr/", "", ""]


def test_without_the_sections_in_it_nothing_is_kept() -> None:
    beside, nav = sidebars(), SimpleNamespace(pages=[])
    for text in ("one", "two"):
        assert beside(page("models/vit/"), nav, "sections", lambda text=text: text) == text
    assert beside(None, nav, "sections", lambda: "404") == "404"
