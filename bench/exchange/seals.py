"""Seals of published figures: the digest of each imported run file, and of the files that it was imported from.

`write` seals the run files of an import in ``seals.toml`` beside them; `faults` finds what has changed since, what is
missing and what was never sealed. Whoever has the source compares its digests with those of the seal.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import durable
from bench.errors import AtlasError
from bench.records.plausibility import Fault
from bench.records.run_file import lines, run_files, run_of

NAME, FOLDER = "seals.toml", "published"
"""The file of seals, and the folder whose run files all need one."""

HEAD = "# Digests (SHA-256) of imported run files, unpacked, and of their sources. Written by: python -m bench import\n"

_AGAIN = "restore the file, or import it from its source again: python -m bench import"

Seals = Mapping[str, Mapping[str, Any]]
"""By run: ``lines``, the digest of its lines, and ``sources``, the digests of its sources by the names of the files."""


def read(folder: Path) -> Seals:
    """Return the seals of a folder; none without a file. Raises `AtlasError` for a file that `write` did not make."""
    path = folder / NAME
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, UnicodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise AtlasError(f"is not a file of seals: {error}", where=str(path), remedy=_AGAIN) from None
    if not all(isinstance(seal, dict) and isinstance(seal.get("lines"), str) for seal in found.values()):
        raise AtlasError("is not a file of seals", where=str(path), remedy=_AGAIN)
    return found


def write(files: Mapping[Path, Iterable[str]], sources: Iterable[Path]) -> None:
    """Seal run files of one folder. `files` has the names of the sources of each, which are among `sources`."""
    folder = next(iter(files)).parent
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sources}
    seals = dict(read(folder))
    for path, names in files.items():
        known = {name: digests[name] for name in sorted(names) if name in digests}
        seals[run_of(path)] = {"lines": digest(path)} | ({"sources": known} if known else {})
    durable.write(folder / NAME, (HEAD + "".join(_table(run, seals[run]) for run in sorted(seals))).encode())


def _table(run: str, seal: Mapping[str, Any]) -> str:
    sources = "".join(f"{json.dumps(name)} = {json.dumps(each)}\n" for name, each in seal.get("sources", {}).items())
    part = f"[{json.dumps(run)}.sources]\n{sources}" if sources else ""
    return f"\n[{json.dumps(run)}]\nlines = {json.dumps(seal['lines'])}\n{part}"


def digest(path: Path) -> str:
    """Return the digest of the lines of a run file, however it is compressed. Raises `AtlasError`."""
    found = hashlib.sha256()
    for _, line in lines(path):
        found.update(line)
    return found.hexdigest()


def faults(folder: Path) -> Iterator[tuple[Path, Fault]]:
    """Yield what is wrong with the published run files of a folder. Raises `AtlasError` for a file that is no seal."""
    seals = read(folder)
    files = {run_of(path): path for path in run_files(folder)}
    for run, path in files.items():
        if run not in seals:
            yield path, ("", "has no seal: published results are added by importing them", _AGAIN)
        elif digest(path) != seals[run]["lines"]:
            yield path, ("", "has changed since it was imported: a line was edited, removed or added", _AGAIN)
    for run in seals.keys() - files.keys():
        yield folder / NAME, ("", f"the run {run} is missing", _AGAIN)
