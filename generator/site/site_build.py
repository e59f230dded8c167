"""One build of the whole site: each language in a process of its own, and their outcome.

Takes MkDocs' configuration. A site is built beside the one that is there, and
takes its place when every language is finished: a build that fails changes nothing.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

if sys.platform != "win32":  # where builds are not kept apart
    import fcntl

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, PluginError
from mkdocs.plugins import get_plugin_logger
from mkdocs.utils import CountHandler

from bench.errors import AtlasError
from generator.parallel import CallError, ForkedCall, start
from generator.site import PLUGIN
from generator.site.theme import compile_templates

Outcome = Mapping[str, bytes] | str
"""The outlines of the pages of a language, by file, or why it could not be built."""

_log = get_plugin_logger(PLUGIN)


class SiteBuild:
    """The processes of one build, and its warnings."""

    def __init__(self, config: MkDocsConfig) -> None:
        self._site = Path(config.site_dir)
        real = self._site.resolve()  # beside the target of a link, on its disk
        self.unfinished = real.with_name(f".{real.name}.unfinished")
        self._strict = bool(config.strict)
        self._warnings = CountHandler(level=logging.WARNING)
        self._shared: ForkedCall[None] | None = None
        self._names: list[str] = []
        self._languages: list[ForkedCall[Outcome]] = []
        self._lock: int | None = None

    def begin(self, config: MkDocsConfig) -> None:
        """Make what all languages share, in another process, and count warnings from here on. The site is written into
        the folder `unfinished`."""
        self._lock = _only_build(self.unfinished, self._site)
        for left in self.unfinished.iterdir():  # of a build that was killed
            shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink()
        config.site_dir = str(self.unfinished)
        logging.getLogger("mkdocs").addHandler(self._warnings)
        self._shared = ForkedCall(partial(compile_templates, config))

    def wait_for_shared(self) -> None:
        """Wait for the templates that all languages share."""
        if self._shared:
            self._shared.result_or_repeat()

    def start(self, builds: Mapping[str, Callable[[], Outcome]]) -> None:
        """Start the builds of the languages, each by its name, the source language first."""
        self._names = [*builds]
        self._languages = start(builds.values(), on_error=_log_error)

    def outlines(self) -> list[Mapping[str, bytes]]:
        """Wait for the languages. Raises `PluginError` with what is wrong with the source language, which all languages
        share, or else `Abort` with all that is wrong with the others."""
        outcomes: list[Outcome] = []
        for name, language in zip(self._names, self._languages, strict=True):
            try:
                outcomes.append(language.result())
            except CallError:
                outcomes.append(f"{name}: its process failed or was stopped; build again")
            if isinstance(outcomes[0], str):
                raise PluginError(outcomes[0])
        if faults := [outcome for outcome in outcomes if isinstance(outcome, str)]:
            raise Abort("\n".join((*faults, f"Aborted with errors in {len(faults)} of the languages; {self._kept}")))
        return [outcome for outcome in outcomes if not isinstance(outcome, str)]

    @property
    def _kept(self) -> str:
        return f"{self._site} stays as it was"

    def end(self, config: MkDocsConfig) -> None:
        """Put the site into its place. A strict build with warnings fails, so its site is not published."""
        warnings = bool(self._warnings.get_counts())
        if not (warnings and self._strict):
            _replace(self._site, self.unfinished)
        config.site_dir = str(self._site)
        self.stop()

    def stop(self) -> None:
        """End all processes of the build, and remove what is unfinished."""
        calls: list[ForkedCall[Any]] = [*self._languages, *([self._shared] if self._shared else [])]
        for call in calls:
            call.stop()
        logging.getLogger("mkdocs").removeHandler(self._warnings)
        if self._lock is not None:  # otherwise the folder is another build's
            shutil.rmtree(self.unfinished, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _only_build(unfinished: Path, site: Path) -> int:
    """Lock the folder of a build, and return its descriptor. The system unlocks it when all processes of the build have
    ended. Raises `AtlasError` if another build is under way."""
    unfinished.mkdir(parents=True, exist_ok=True)
    folder = os.open(os.devnull if sys.platform == "win32" else unfinished, os.O_RDONLY)
    try:
        if sys.platform != "win32":
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(folder)
        remedy = "wait until it has finished, or build into a different folder: mkdocs build --site-dir FOLDER"
        raise AtlasError("another build of the site is running", where=str(site), remedy=remedy) from None
    return folder


def _replace(site: Path, new: Path) -> None:
    """Replace what is in a folder by what is in another, apart from hidden files, which MkDocs leaves alone, too."""
    site.mkdir(parents=True, exist_ok=True)
    for old in {path.name for path in site.glob("[!.]*")} | {path.name for path in new.iterdir()}:
        if (site / old).is_dir() and not (site / old).is_symlink():
            shutil.rmtree(site / old)
        else:
            (site / old).unlink(missing_ok=True)
        with suppress(FileNotFoundError):  # a file that the new site lacks
            shutil.move(new / old, site / old)


def concerns_site(error: OSError, *sites: str | Path) -> bool:
    """Whether an error is about a file of these folders. Where there is no space left, the system names no file."""
    names = [str(name) for name in (error.filename, error.filename2) if name]
    return not names or any(Path(name).is_relative_to(site) for name in names for site in sites if site)


def _log_error(error: Exception) -> None:
    """Log what ended the build of a language: only log records reach the process that waits for it."""
    if isinstance(error, Abort):  # its message is the last of what MkDocs has logged
        _log.error("%s", error)
    else:
        _log.error("The build failed", exc_info=error)
