"""Attacks on honest records: what they are, and what `bench check` says of them."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from atlas_data import PUBLISHED, measured, telling

from bench.exchange.check import check
from bench.plans.models import find
from bench.records.run_file import encode
from generator.data.load import load

FOLDER = Path(__file__).parent

Lines = list[dict[str, Any]]
"""The lines of a run file."""


def faster(lines: Lines, times: float) -> Lines:
    """Divide the latencies of compiled by a number."""
    for line in lines:
        compiled = line["measurement"]["compiled"]
        compiled["rounds_ms"] = [[call / times for call in calls] for calls in compiled["rounds_ms"]]
    return lines


def slower_eager(lines: Lines, times: float) -> Lines:
    """Multiply the latencies of eager, so that compiling seems to gain."""
    for line in lines:
        eager = line["measurement"]["eager"]
        eager["rounds_ms"] = [[call * times for call in calls] for calls in eager["rounds_ms"]]
    return lines


def copied(lines: Lines, changes: Mapping[str, Any]) -> Lines:
    """Make each process a copy of the first, with the samples multiplied by a factor and cut to digits or rounds."""
    first = lines[0]["measurement"]
    for number, line in enumerate(lines[1:], start=1):
        line["measurement"] = copy.deepcopy(first)
        for variant in ("eager", "compiled"):
            rounds = line["measurement"][variant]["rounds_ms"]
            factor = changes.get("factor", 1.0) ** number
            rounds = [[round(call * factor, changes.get("digits", 12)) for call in calls] for calls in rounds]
            line["measurement"][variant]["rounds_ms"] = (
                rounds[: changes.get("rounds")] + rounds[: changes.get("more", 0)]
            )
    return lines


def shuffled(lines: Lines, factor: float) -> Lines:
    """Make each process a copy of the first in another order, multiplied by a factor."""
    return _remade(lines, lambda calls, random: random.permutation(calls) * factor)


def jittered(lines: Lines, noise: float) -> Lines:
    """Make each process a copy of the first, with noise that is a share of the scatter."""
    return _remade(lines, lambda calls, random: calls + random.normal(0, noise * calls.std(), len(calls)))


def _remade(lines: Lines, change: Callable[[Any, np.random.Generator], Any]) -> Lines:
    first = copy.deepcopy(lines[0]["measurement"])
    for number, line in enumerate(lines[1:], start=1):
        random = np.random.default_rng(number)
        for variant in ("eager", "compiled"):
            calls = np.array(first[variant]["rounds_ms"])
            made = change(calls.ravel(), random).reshape(calls.shape)
            line["measurement"][variant]["rounds_ms"] = made.tolist()
    return lines


def of_model(lines: Lines, case: tuple[str, int, float, float]) -> Lines:
    """Make the run one of another model and batch size, with these latencies of eager and compiled."""
    label, batch_size, *latencies = case
    spec = find(label)
    for line in lines:
        named = {"model": label, "checkpoint": spec.checkpoint, "task": spec.task, "batch_size": batch_size}
        line["cell"] |= {**named, "input_size": list(spec.input_size)}
        line["command"] = f"python -m bench run --model {label}"
        for variant, now_ms, then_ms in zip(("eager", "compiled"), latencies, (10.0, 8.0), strict=True):
            rounds = line["measurement"][variant]["rounds_ms"]
            line["measurement"][variant]["rounds_ms"] = [[call * now_ms / then_ms for call in each] for each in rounds]
        line["measurement"]["work"] = {"flop": spec.flop * batch_size}
    return lines


def still(lines: Lines, ms: float) -> Lines:
    """Let each call of compiled take the same time."""
    for line in lines:
        rounds = line["measurement"]["compiled"]["rounds_ms"]
        line["measurement"]["compiled"]["rounds_ms"] = [[ms] * len(calls) for calls in rounds]
        line["measurement"]["eager"]["rounds_ms"] = [[2 * ms] * len(calls) for calls in rounds]
    return lines


def compiled_is_eager(lines: Lines, factor: float) -> Lines:
    """Let compiled have the samples of eager in the next process, times a factor."""
    rounds = [line["measurement"]["eager"]["rounds_ms"] for line in lines]
    for number, line in enumerate(lines):
        theirs = rounds[(number + 1) % len(rounds)]
        line["measurement"]["compiled"]["rounds_ms"] = [[call * factor for call in calls] for calls in theirs]
    return lines


def without(lines: Lines, fields: Sequence[str]) -> Lines:
    """Leave parts of the measurement out."""
    for line in lines:
        for field in fields:
            line["measurement"].pop(field.rpartition(".")[2])
    return lines


CHANGES: Mapping[str, Callable[[Lines, Any], Lines]] = {
    "@without": without,
    "@faster": faster,
    "@slower_eager": slower_eager,
    "@of": of_model,
    "@copied": copied,
    "@shuffled": shuffled,
    "@jittered": jittered,
    "@still": still,
    "@compiled_is_eager": compiled_is_eager,
}
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
                if not field.startswith("@"):
                    put(line, field, value)
        for field, value in self.value.items() if self.field == "" else ():
            lines = CHANGES[field](lines, value) if field.startswith("@") else lines
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
    """Return what `bench check` says of the attack, in a folder of its own; if nothing, how pages mark its rows."""
    (folder / PUBLISHED.name).write_bytes(PUBLISHED.read_bytes())  # what others have found
    path = folder / "r.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in attack.made()), encoding="utf-8")
    said = [str(problem) for problem in check([path], folder)]
    if said:
        return said
    results = load(folder)
    own = results.rows.index[results.rows["run"] == "r"]
    return sorted({f"marked: {each.kind}" for row in own for each in results.doubts.get(row, ())})
