"""Build the site in English and both pseudo-locales, to look at and for the browser tests.

Takes a folder, into which MkDocs writes the site as ``/``, ``/en-XA/`` and ``/ar-XB/``. It is never published: the real
site does not have these languages, and its folder is refused.

    python -m generator pseudo --out pseudo && python -m http.server --directory pseudo
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.commands.build import build as build_site

from bench.errors import AtlasError
from generator.languages.catalogs import ROOT
from generator.languages.language import PSEUDO, SOURCE
from generator.site import PLUGIN
from generator.site.mkdocs_internals import load_separate_config


def build(out: Path, root: Path = ROOT) -> None:
    """Build the site. Raises `AtlasError` for a folder that holds something else."""
    if out.resolve() == (root / "site").resolve() or (out.is_dir() and any(out.iterdir()) and not _is_ours(out)):
        raise AtlasError(
            "pseudo-locales need a separate folder, because they are never published",
            where=str(out),
            remedy="choose an empty or a new folder",
        )
    config = load_separate_config(str(root / "mkdocs.yml"), site_dir=str(out.resolve()), strict=True)
    config.plugins[PLUGIN].config.languages = [SOURCE, *PSEUDO]
    build_site(config)


def _is_ours(out: Path) -> bool:
    return all((out / code).is_dir() for code in PSEUDO)
