"""Build every language at once, each by MkDocs' own `build` in a process of its own.

Takes a function per language that loads its configuration. The processes are forks of this one, so records are loaded
once. A site is put into its place when every language is finished: a build that fails changes nothing.
"""

from __future__ import annotations

import logging
import multiprocessing
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path

import jinja2
from mkdocs.commands.build import build
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, MkDocsException
from mkdocs.utils import clean_directory

from bench.errors import AtlasError, unusable
from bench.machine import cores
from generator.languages.language import SOURCE, load_locale

Load = Callable[[], MkDocsConfig]
"""Loads the configuration of a language."""

FORKS = sys.platform == "linux"
"""Elsewhere, languages are built one after the other: libraries of macOS do not survive a fork."""


def build_all(languages: Mapping[str, Load]) -> None:
    """Build the languages, each into the folder that its configuration names. Raises `Abort` with all that is wrong."""
    faults = _in_processes(languages) if FORKS else {code: _fault(load) for code, load in languages.items()}
    if fault := faults.get(SOURCE):
        raise Abort(fault)  # the others lack the same
    named = {load_locale(code).get_language_name(SOURCE): code for code, fault in faults.items() if fault}
    if named:
        raise Abort("\n".join(f"{name} ({code}): {faults[code]}" for name, code in named.items()))


def _in_processes(languages: Mapping[str, Load]) -> dict[str, str]:
    """Return the fault of each language, "" where there is none. There are as many processes as cores; values
    that one has computed for a language serve its next one."""
    context = multiprocessing.get_context("fork")
    count = min(cores() or 1, len(languages))
    faults = dict.fromkeys(languages, "its process ended early; build again")
    running = []
    for first in range(count):
        receiver, sender = context.Pipe(duplex=False)
        share = [*languages.items()][first::count]
        process = context.Process(target=_build_share, args=(share, sender))
        process.start()
        sender.close()
        running.append((process, receiver))
    try:
        for _, receiver in running:
            with suppress(EOFError):
                faults |= receiver.recv()
    finally:
        for process, _ in running:
            process.terminate()
            process.join()
    return faults


def _build_share(share: Iterable[tuple[str, Load]], sender: Connection) -> None:
    sender.send({code: _fault(load) for code, load in share})


def _fault(load: Load) -> str:
    """Build a language. Returns the fault in its sources, "" if there is none."""
    logging.getLogger("mkdocs.commands.build").setLevel(logging.WARNING)  # MkDocs has told of the build of the site
    try:
        build(load())
    except (AtlasError, MkDocsException, jinja2.TemplateError, OSError) as error:
        return told(error)
    return ""


def told(error: Exception) -> str:
    """Return the message for an error that a source, a template or a folder can cause, "" for others."""
    if isinstance(error, AtlasError | MkDocsException):
        return str(error)
    if isinstance(error, jinja2.TemplateError):
        place = f"{error.filename}:{error.lineno}: " if isinstance(error, jinja2.TemplateSyntaxError) else ""
        return f"{place}{error.message}\n  remedy: correct the template below docs/theme"
    return str(unusable(error)) if isinstance(error, OSError) else ""


def put_into_place(built: Path, codes: Iterable[str], site: Path) -> None:
    """Replace the site by the folders of the languages. Hidden files stay, as MkDocs leaves them alone, too."""
    site.mkdir(parents=True, exist_ok=True)
    clean_directory(str(site))
    for code in codes:
        folder = site if code == SOURCE else site / code
        shutil.copytree(built / code, folder, copy_function=shutil.move, dirs_exist_ok=True)
