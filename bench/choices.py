"""Resolve what a user typed: a member of a closed set, or an existing path. Unknown names get suggestions."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

from bench.errors import AtlasError


def pick(kind: str, name: str, known: Collection[str], *, remedy: str = "") -> str:
    """Return the member of `known` that matches `name`, ignoring case, spaces, `-` and `_`.

    Raises `AtlasError` with the closest members, or with all of them if none is close.
    """
    by_form = {_form(member): member for member in known}
    if _form(name) in by_form:
        return by_form[_form(name)]
    near = [by_form[form] for form in difflib.get_close_matches(_form(name), by_form, n=3, cutoff=0.5)]
    hint = f"did you mean {' or '.join(near)}?" if near else f"choose among {', '.join(known)}"
    raise AtlasError(f"{kind} {name!r} is not known", where=f"--{kind}", remedy=f"{hint}{remedy}")


def _form(name: str) -> str:
    return "".join(character for character in name.lower() if character not in " -_")


def existing(path: Path) -> Path:
    """Return `path`. Raises `AtlasError` if it does not exist."""
    if not path.exists():
        raise AtlasError("there is no such file or directory", where=str(path), remedy="check the path")
    return path
