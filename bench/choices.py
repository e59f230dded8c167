"""Match what a user typed to a member of a closed set or a folder. Unknown names get suggestions."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

from bench.errors import FILE_IN_THE_WAY, AtlasError


def pick(kind: str, name: str, known: Collection[str], *, remedy: str = "", where: str = "") -> str:
    """Return the member of `known` that matches `name`, ignoring case, spaces, `-` and `_`.

    Raises `AtlasError` with the members of which `name` may be a misspelling, or else with all of them.
    """
    by_form = {_form(member): member for member in known}
    if _form(name) in by_form:
        return by_form[_form(name)]
    near = [by_form[form] for form in difflib.get_close_matches(_form(name), by_form, cutoff=0.7)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose one of {', '.join(known)}"
    raise AtlasError(f"{kind} {name!r} is not known", where=where or f"--{kind}", remedy=f"{hint}{remedy}")


def _form(name: str) -> str:
    return "".join(character for character in name.lower() if character not in " -_")


def folder(path: str | Path) -> Path:
    """Return `path` if a folder is or can be made there. Raises `AtlasError` for a file, or for an empty path."""
    if not str(path).strip():  # would be the current folder
        raise AtlasError("the path is empty", where="--out", remedy="choose a folder")
    nearest = next(each for each in (Path(path), *Path(path).absolute().parents) if each.exists())
    if not nearest.is_dir():
        raise AtlasError(FILE_IN_THE_WAY, where=str(nearest), remedy="choose a folder, or move the file")
    return Path(path)
