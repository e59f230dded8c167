"""One build of the whole site: English in this process, each other language in one of its own, and their outcome.

Takes the configuration of the English build. A site whose stamp is current is not built; the stamp of one that was
built without a warning is written.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.plugins import get_plugin_logger
from mkdocs.utils import CountHandler

from generator.parallel import CallError, ForkedCall, results, start, wait_for_core
from generator.site import PLUGIN
from generator.site.build_stamp import BuildStamp
from generator.site.theme import Bytecode, Theme
from generator.site.web_fonts import cut_latin

Outlines = Mapping[str, bytes]
"""Digests of the structure of each page of a language, by its name."""

_log = get_plugin_logger(PLUGIN)


class SiteBuild:
    """The processes of one build, its warnings, and the stamp of the site."""

    def __init__(self, config: MkDocsConfig) -> None:
        self._stamp = BuildStamp(config)
        self._warnings = CountHandler(level=logging.WARNING)
        self._shared: ForkedCall[Bytecode] | None = None
        self._languages: list[ForkedCall[Outlines]] = []

    @property
    def is_current(self) -> bool:
        """Whether a build would give the site that is there."""
        return bool(self._stamp)

    def begin(self, config: MkDocsConfig, theme: Theme) -> None:
        """Make what all languages share, in another process, and count warnings from here on."""
        self._stamp.remove()
        logging.getLogger("mkdocs").addHandler(self._warnings)
        self._shared = ForkedCall(partial(_share, config, theme))

    def shared(self) -> Bytecode:
        """Wait for the templates that all languages share."""
        return self._shared.result_or_repeat() if self._shared else {}

    def start(self, builds: Iterable[Callable[[], Outlines]]) -> None:
        """Start the builds of the other languages."""
        self._languages = start(builds, on_error=_log_error)

    def wait_for_core(self) -> None:
        """Wait until there is a core for the build of this process."""
        wait_for_core(self._languages)

    def outlines(self) -> list[Outlines]:
        """Wait for the other languages and return their outlines. Raises `Abort` where a build failed."""
        try:
            return results(self._languages)
        except CallError:
            raise Abort("Aborted with an error in another language") from None

    def end(self) -> None:
        """Stamp the site, unless it has warnings, which the next build is to show again."""
        self.stop()
        if not self._warnings.get_counts():
            self._stamp.write()

    def stop(self) -> None:
        """End all processes of the build."""
        calls: list[ForkedCall[Any]] = [*self._languages, *([self._shared] if self._shared else [])]
        for call in calls:
            call.stop()
        logging.getLogger("mkdocs").removeHandler(self._warnings)


def concerns_site(error: OSError, site: str | Path) -> bool:
    """Whether an error is about a file of the site. Where there is no space left, the system names no file."""
    names = [str(name) for name in (error.filename, error.filename2) if name]
    return bool(site) and (not names or any(Path(name).is_relative_to(site) for name in names))


def _share(config: MkDocsConfig, theme: Theme) -> Bytecode:
    cut_latin()
    return theme.compiled(config)


def _log_error(error: Exception) -> None:
    """Log what ended the build of a language: only log records reach the process that waits for it."""
    if isinstance(error, Abort):  # its message is the last of what MkDocs has logged
        _log.error("%s", error)
    else:
        _log.error("The build failed", exc_info=error)
