"""Attacks on honest records: what they are, and what `bench check` says of them."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas_data import measured, telling

from bench.exchange.check import check
from bench.records.run_file import encode

FOLDER = Path(__file__).parent

Lines = list[dict[str, Any]]
"""The lines of a run file."""

CHANGES: Mapping[str, Callable[[Lines, Any], Lines]] = {}
"""What cannot be said as one field and its value, by the name of the "field"."""


@dataclass(frozen=True)
class Attack:
    """One line of a table: `kind` is the name of its file."""

    kind: str
    field: str
    value: Any
    refusal: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.field} = {self.value!r}".encode("unicode_escape").decode()

    def made(self) -> Lines:
        """Return an honest run of three processes with the change in each of them."""
        lines = honest()
        if self.field.startswith("@"):
            return CHANGES[self.field](lines, self.value)
        for line in lines:
            for field, value in (self.value if self.field == "" else {self.field: self.value}).items():
                put(line, field, value)
        return lines


def cases() -> list[Attack]:
    """Return the attacks of all tables."""
    return [
        Attack(path.stem, *case)
        for path in sorted(FOLDER.glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["cases"]
    ]


def honest() -> Lines:
    """Return a run of three processes on a GPU."""
    return [
        json.loads(encode(measured(run="r", process=process, figures=telling(seed=process * 10))))
        for process in range(3)
    ]


def put(line: dict[str, Any], field: str, value: Any) -> None:
    """Set a field of a line. Steps may be numbers of a list: ``measurement.graphs.breaks.0.reason``."""
    *parents, name = field.split(".")
    branch: Any = line
    for parent in parents:
        branch = branch[int(parent)] if isinstance(branch, list) else branch.setdefault(parent, {})
    if isinstance(branch, list):
        branch[int(name)] = copy.deepcopy(value)
    else:
        branch[name] = copy.deepcopy(value)


def accused(attack: Attack, folder: Path) -> list[str]:
    """Return what `bench check` says of the attack, in a folder of its own."""
    path = folder / "r.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in attack.made()), encoding="utf-8")
    return [str(problem) for problem in check([path], folder)]
