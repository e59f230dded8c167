"""Pictures of the built site for people to look at: every language, light and dark, a screen and a phone.

mkdocs build --strict && python tests/browser/screenshots.py site shots index.html devices/a100/ models/vit/
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from conftest import LANGUAGES

from browser.chromium import launched
from browser.hosting import hosted

WIDTHS = (1280, 390)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def shoot(site: Path, out: Path, pages: list[str]) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with hosted(site) as address, launched() as browser:
        for width in WIDTHS:
            for scheme in SCHEMES:
                context = browser.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
                )
                for code in LANGUAGES:
                    for path in pages:
                        page = context.new_page()
                        page.goto(f"{address}{'' if code == 'en' else code + '/'}{path.removeprefix('index.html')}")
                        page.evaluate("document.querySelectorAll('img').forEach(image => { image.loading = 'eager' })")
                        page.wait_for_load_state("networkidle")
                        name = path.strip("/").removesuffix(".html").replace("/", "-")
                        page.screenshot(path=out / f"{name}.{code}.{scheme}.{width}.png", full_page=True)
                        page.close()
                context.close()


if __name__ == "__main__":
    site, out, *pages = sys.argv[1:]
    shoot(Path(site), Path(out), pages or ["index.html"])
