"""What stands beside a page: the navigation, and the list of its sections.

In: a page, and the template of both. Out: their HTML. The navigation is the same for all pages of a folder that it
leaves out, as it does thousands of models and devices: it is made once for them, and their sections are put into it.

    python -m pytest tests/generator/site/test_sidebars.py
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Hashable

from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page


def sidebars() -> Callable[..., str]:
    """For ``{% call %}`` in the template of every page, as long as titles and navigation stay as they are."""
    known: dict[Hashable, tuple[str, str]] = {}

    def beside(page: Page | None, nav: Navigation, sections: str, caller: Callable[[], str]) -> str:
        """What `caller` makes, which contains the HTML `sections`."""
        if page is None or page in nav.pages:
            return caller()
        place = posixpath.dirname(page.url.rstrip("/")), repr(page.meta.get("hide"))
        if place not in known:
            before, found, after = (whole := caller()).partition(sections)
            if not found:
                return whole
            known[place] = before, after
        return sections.join(known[place])

    return beside
