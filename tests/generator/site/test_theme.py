"""The sidebars of a page are those of its template, whether rendered for the page or for another of its folder.
Templates show translations as they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from generator.site.theme import SidebarCache


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
