"""Attacks on honest records: what they are, and what `bench check` says of them."""

from __future__ import annotations

import copy
import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas_data import measured, telling

from bench.exchange.check import check
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
    "@copied": copied,
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
    path = folder / "r.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in attack.made()), encoding="utf-8")
    said = [str(problem) for problem in check([path], folder)]
    return said or sorted({f"marked: {each.kind}" for found in load(folder).doubts.values() for each in found})


# ── Plausible but false ─────────────────────────────────────────────────────────────────────────────────────────────


def invented(seed: int, count: int) -> Iterator[Attack]:
    """Yield random lies about the gain that a liar would find plausible: ``@slower_eager``, ``@faster`` or a copy."""
    choose = random.Random(seed)
    for _ in range(count):
        gain = choose.uniform(1.2, 8.0)
        kind = choose.choice(["@slower_eager", "@faster", "@copied"])
        value: Any = {"factor": gain, "digits": choose.choice([6, 9])} if kind == "@copied" else gain
        hidden = {"@without": choose.choice([[], ["measurement.work"], ["measurement.peaks"]])}
        name = choose.choice(["NVIDIA H200", "NVIDIA A100-SXM4-80GB", "NVIDIA Z900"])
        yield Attack("invented", "", {"environment.device_name": name, **hidden, kind: value}, "")


def share_unmarked(folder: Path, count: int, seed: int = 0) -> dict[str, tuple[int, int]]:
    """Return by kind of lie how many pass without a refusal and without a mark, and how many there were."""
    passed: dict[str, tuple[int, int]] = {}
    for number, attack in enumerate(invented(seed, count)):
        own = folder / str(number)
        own.mkdir()
        kind = next(name for name in attack.value if name in ("@slower_eager", "@faster", "@copied"))
        unmarked, tried = passed.get(kind, (0, 0))
        passed[kind] = (unmarked + (not accused(attack, own)), tried + 1)
    return passed
