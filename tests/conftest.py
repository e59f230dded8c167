"""What several tests share: the site, built once as its users build it, and a browser to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser.chromium import HOW_TO_GET_ONE, executable, launched
from browser.hosting import hosted
from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parent.parent
PREFIX = "/atlas/"
"""The built site is hosted below a path, as on GitHub Pages: a link that only works at a root fails."""


@dataclass(frozen=True)
class BuiltSite:
    """The result of `mkdocs build --strict`, for the address at which `hosted_site` serves it."""

    folder: Path
    port: int
    log: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}{PREFIX}"

    def pages(self, prefix: str = "") -> dict[str, Path]:
        """Address below the language's root → file, of every page of one language (404 pages are none)."""
        root = self.folder / prefix
        other = {"zh", "ja", "ar"} if not prefix else set()
        files = (path for path in root.rglob("index.html") if path.relative_to(root).parts[0] not in other)
        return {path.relative_to(root).as_posix().removesuffix("index.html"): path for path in sorted(files)}


def copy_of_project(folder: Path) -> Path:
    """What a build reads, in a folder of its own. Charts and fonts made before are shared: making them takes long."""
    for name in ("bench", "docs", "generator", "locales"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "mkdocs.yml", folder)
    (ROOT / ".cache").mkdir(exist_ok=True)
    (folder / ".cache").symlink_to(ROOT / ".cache")
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> BuiltSite:
    """The real site, built once for all tests that read it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tmp_path_factory.mktemp("site") / "atlas"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "SITE_URL": f"http://127.0.0.1:{port}{PREFIX}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return BuiltSite(folder, port, done.stderr)


@pytest.fixture(scope="session")
def hosted_site(site: BuiltSite) -> Iterator[str]:
    """The address of the built site while tests run."""
    with hosted(site.folder, site.port, PREFIX) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium. Without one, tests in the browser are skipped, except in continuous integration."""
    if executable() is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(HOW_TO_GET_ONE)
    with launched() as browser:
        yield browser
