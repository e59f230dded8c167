"""The finished site in English and both pseudo-locales, to look at and for the tests in a browser.

A folder enters; the site is written into it by MkDocs, as ``/``, ``/en-XA/`` and ``/ar-XB/``. It is never published:
`mkdocs build` does not know these languages, and the folder of the real site is refused.

    python -m generator pseudo --out pseudo && python -m http.server --directory pseudo
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.commands.build import build as build_site
from mkdocs.config import load_config

from bench.errors import AtlasError
from generator.languages.catalogs import ROOT
from generator.languages.language import PSEUDO, SOURCE

EDITIONS = "editions"
"""The setting below `extra` in which the hook finds the languages of a site."""


def build(out: Path, root: Path = ROOT) -> None:
    """Build it. Raises `AtlasError` for a folder that holds something else."""
    if out.resolve() == (root / "site").resolve() or (out.is_dir() and any(out.iterdir()) and not _is_ours(out)):
        raise AtlasError(
            "pseudo-locales go into a folder of their own, since they are never published",
            where=str(out),
            remedy="name an empty or a new folder",
        )
    config = load_config(str(root / "mkdocs.yml"), site_dir=str(out.resolve()), strict=True)
    config.extra[EDITIONS] = [SOURCE, *PSEUDO]
    build_site(config)


def _is_ours(out: Path) -> bool:
    return all((out / code).is_dir() for code in PSEUDO)
