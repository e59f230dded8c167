"""The builders that are compared: how each builds and serves the pages, and how its caches are removed.

Takes a project grown by `perf.content`, or its pages as `FinishedPages`; returns a `Builder`. To be fair, all have
the same pages and navigation, Material's features and a search. The other builders get finished charts and figures, and
each runs as its documentation recommends for several languages.
"""

from __future__ import annotations

import contextlib
import filecmp
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bench.records.build_times import OURS
from generator.languages.language import SOURCE, name_of, published_languages
from perf import edits
from perf.cost import Command, cost_of
from perf.served import Edit, LongPoll, Tab, WebSocket

STATIC_I18N, ZENSICAL = "static-i18n", "zensical"
PEERS: Mapping[str, str] = {STATIC_I18N: "mkdocs", ZENSICAL: "zensical"}
"""The other builders, with the program that each needs."""

FORGOTTEN = "forgotten-"
"""The prefix of folders that hold removed files until the end."""


@dataclass(frozen=True)
class Builder:
    """One builder with its pages in `folder`."""

    name: str
    folder: Path
    builds: Sequence[Command]
    serve: Callable[[Sequence[int]], Sequence[Command]]  # takes the ports
    ports: int
    open_tab: Callable[[str], Tab]
    edits: Mapping[str, Edit]
    add_record: Callable[[], None]  # or change the finished pages that show it
    caches: bool = True  # in .cache in its folder
    env: Mapping[str, str] = field(default_factory=lambda: {**os.environ})

    @property
    def is_cold(self) -> bool:
        """Return whether the builder has caches and they are empty."""
        return self.caches and not (self.folder / ".cache").exists()

    def forget(self, *, caches: bool) -> None:
        """Move the site away, and with `caches` also the caches.

        They are deleted after all builds: ext4 spends 5% of a build on the inodes of thousands of files that were just
        deleted.
        """
        aside = Path(tempfile.mkdtemp(dir=self.folder.parent, prefix=FORGOTTEN))
        for name in ["site", ".cache"] if caches else ["site"]:
            with contextlib.suppress(FileNotFoundError):
                (self.folder / name).rename(aside / name)


def ours(project: Path) -> Builder:
    """Return this project's builder, as `make site` and `make serve` run it."""
    mkdocs = (sys.executable, "-m", "mkdocs")
    return Builder(
        name=OURS,
        folder=project,
        builds=[(*mkdocs, "build", "--strict")],
        serve=lambda ports: [(*mkdocs, "serve", "--dev-addr", _address(ports[0]))],
        ports=1,
        open_tab=LongPoll,
        edits=edits.of_project(project),
        add_record=lambda: edits.add_record(project),
        env=environment_of(project),
    )


def environment_of(project: Path) -> dict[str, str]:
    """Return the environment variables with which Python imports a copy of the project."""
    return {**os.environ, "PYTHONPATH": str(project)}


@dataclass(frozen=True)
class FinishedPages:
    """Finished Markdown and settings of each language in `staged`, made from a `project` that no builder builds.

    So the caches of `ours` stay free of what only these pages have needed.
    """

    project: Path
    staged: Path
    limit_s: float

    def make(self) -> None:
        """Make the pages anew from the records."""
        shutil.rmtree(self.staged, ignore_errors=True)
        stage = (sys.executable, "-m", "generator", "stage", "--out", str(self.staged))
        log = self.staged.with_suffix(".log")
        cost_of([stage], self.project, environment_of(self.project), log, self.limit_s)

    def add_record(self, pages: Path) -> None:
        """Add a record, and replace the files that it changes in `pages`, a folder with a folder for each language."""
        edits.add_record(self.project)
        self.make()
        for code in published_languages():
            shutil.copytree(self.staged / code, pages / code, dirs_exist_ok=True, copy_function=_replace_if_changed)


def _replace_if_changed(source: str, target: str) -> None:
    if not (Path(target).exists() and filecmp.cmp(source, target, shallow=False)):
        shutil.copy(source, target)


def static_i18n(finished: FinishedPages, folder: Path, programs: Path) -> Builder:
    """Return Material for MkDocs with the plugin static-i18n, which builds all languages at once."""
    staged = finished.staged
    shutil.rmtree(folder, ignore_errors=True)
    for code in published_languages():
        shutil.copytree(staged / code, folder / "docs" / code)
    settings = yaml.safe_load((staged / f"{SOURCE}.yml").read_text(encoding="utf-8"))
    languages = [_language(code, staged) for code in published_languages()]
    plugin = {"docs_structure": "folder", "languages": languages}
    settings |= {"docs_dir": "docs", "site_dir": "site", "extra": {}, "plugins": ["search", {"i18n": plugin}]}
    _write(settings, folder / "mkdocs.yml")
    mkdocs = str(programs / PEERS[STATIC_I18N])
    return Builder(
        name=STATIC_I18N,
        folder=folder,
        builds=[(mkdocs, "build")],
        serve=lambda ports: [(mkdocs, "serve", "--dev-addr", _address(ports[0]))],
        ports=1,
        open_tab=LongPoll,
        edits=edits.of_markdown(folder / "docs" / SOURCE),
        add_record=lambda: finished.add_record(folder / "docs"),
        caches=False,
    )


def _language(code: str, staged: Path) -> dict[str, Any]:
    settings = yaml.safe_load((staged / f"{code}.yml").read_text(encoding="utf-8"))
    kept = {name: settings[name] for name in ("site_name", "site_description", "copyright", "nav")}
    return {"locale": code, "name": name_of(code), "default": code == SOURCE, "build": True, **kept}


def zensical(finished: FinishedPages, folder: Path, programs: Path) -> Builder:
    """Return Zensical, with a project, a build and a server for each language."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(finished.staged, folder)
    program = str(programs / PEERS[ZENSICAL])
    return Builder(
        name=ZENSICAL,
        folder=folder,
        builds=[(program, "build", "--config-file", f"{code}.yml") for code in published_languages()],
        serve=lambda ports: [
            (program, "serve", "--config-file", f"{code}.yml", "--dev-addr", _address(port))
            for code, port in zip(published_languages(), ports, strict=True)
        ],
        ports=len(published_languages()),
        open_tab=WebSocket,
        edits=edits.of_markdown(folder / SOURCE),
        add_record=lambda: finished.add_record(folder),
    )


def _address(port: int) -> str:
    return f"127.0.0.1:{port}"


def _write(settings: Mapping[str, Any], path: Path) -> None:
    path.write_text(yaml.safe_dump(dict(settings), allow_unicode=True, sort_keys=False), encoding="utf-8")
