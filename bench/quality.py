"""How well do our numbers repeat, what do they cost, and are they biased? Beside other ways of timing, in one run.

Every repeat is a fresh run of the standard profile in processes of its own, and a fresh process for the rivals. What
comes out is a `Quality`: it is written as JSON, shown on the methodology page, and printed as ratios. No torch here.

    python -m bench.quality --repeats 5
"""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import click
import msgspec
import numpy as np
from rich.console import Console
from rich.table import Table

from bench.errors import AtlasError
from bench.executors import QUIET, ROOT
from bench.record import RESULTS, Environment, Measurement, read
from bench.statistics import speedup

MODELS = ("ResNet", "ViT", "Segformer")
"""One that is quick and scatters, one that does the same either way, one that compiling helps."""

OURS = "standard"
"""The way that is this harness's standard profile."""


class Repeat(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one way of timing said of one model in one repeat."""

    way: str
    model: str
    repeat: int
    speedup: float
    seconds: float  # spent in calls of the two arms, warm-up included for ours
    eager_ms: float
    compiled_ms: float
    low: float | None = None  # the 95% interval of the speedup, where the way gives one
    high: float | None = None
    processes: int = 1
    overhead: float | None = None  # share of the sampling time that was not spent in calls


class Quality(msgspec.Struct, frozen=True, kw_only=True):
    """All repeats of one evening, and the machine."""

    schema: int = 1
    measured_at: datetime
    environment: Environment
    command: str
    repeats: tuple[Repeat, ...]

    def spread(self, way: str, model: str) -> float:
        """Largest ÷ smallest speedup of the repeats, less one."""
        values = [each.speedup for each in self.of(way, model)]
        return max(values) / min(values) - 1

    def coverage(self, way: str = OURS) -> tuple[int, int]:
        """How many of the intervals hold the value that all repeats together give, and how many there are."""
        held = [
            each.low <= self.pooled(way, each.model) <= each.high
            for each in self.repeats
            if each.way == way and each.low is not None and each.high is not None
        ]
        return sum(held), len(held)

    def pooled(self, way: str, model: str) -> float:
        """The geometric mean of the repeats' speedups."""
        return math.exp(statistics.fmean(math.log(each.speedup) for each in self.of(way, model)))

    def seconds(self, way: str, model: str) -> float:
        """Median time spent measuring."""
        return statistics.median(each.seconds for each in self.of(way, model))

    def of(self, way: str, model: str) -> list[Repeat]:
        """The repeats of a way and a model."""
        return [each for each in self.repeats if (each.way, each.model) == (way, model)]

    @property
    def ways(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(each.way for each in self.repeats))

    @property
    def models(self) -> list[str]:
        """In the order of first appearance."""
        return list(dict.fromkeys(each.model for each in self.repeats))


# ── Measuring ───────────────────────────────────────────────────────────────────────────────────────────────────────


def ours(model: str, repeat: int) -> tuple[Repeat, Environment]:
    """One run of the standard profile of one model, with an empty compile cache."""
    with tempfile.TemporaryDirectory() as folder:
        _run("bench", "run", "--profile", OURS, "--model", model, "--device", "cpu", "--out", folder)
        records = [record for path in Path(folder).glob("*.jsonl") for record in read(path)]
    measurements = [each.measurement for each in records if each.measurement and each.measurement.compiled]
    if not measurements:
        raise AtlasError(f"{model} gave no latency: {records[0].reason if records else 'no record'}", where=OURS)
    ratio = speedup(measurements)
    eager, compiled = (_latency(measurements, arm) for arm in ("eager", "compiled"))
    found = Repeat(
        way=OURS,
        model=model,
        repeat=repeat,
        speedup=ratio.value,
        low=ratio.low,
        high=ratio.high,
        seconds=sum(_seconds(each) for each in measurements),
        eager_ms=eager,
        compiled_ms=compiled,
        processes=len(measurements),
    )
    return found, records[0].environment


def rivals(model: str, repeat: int, cache: Path) -> Iterator[Repeat]:
    """Every other way, in one fresh process that finds its compile cache filled by the first repeat."""
    answer = json.loads(_run("bench.rivals", model, TORCHINDUCTOR_CACHE_DIR=str(cache)).splitlines()[-1])
    for way, found in answer.items():
        yield Repeat(way=way, model=model, repeat=repeat, speedup=found["eager_ms"] / found["compiled_ms"], **found)


def _run(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, **QUIET, "HF_HUB_OFFLINE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise AtlasError(last[0], where=" ".join(arguments), remedy="run that command by itself")
    return done.stdout


def _latency(measurements: Sequence[Measurement], arm: str) -> float:
    medians = [
        float(np.median([np.median(calls) for calls in getattr(measurement, arm).rounds_ms]))
        for measurement in measurements
    ]
    return statistics.median(medians)


def _seconds(measurement: Measurement) -> float:
    """In rounds and in warm-up, whose calls were as long as later ones."""
    rounds = [calls for arm in (measurement.eager, measurement.compiled) if arm for calls in arm.rounds_ms]
    calls = sum(map(len, rounds))
    measured = sum(map(sum, rounds)) / 1e3
    return measured * (1 + (measurement.warmup_calls or 0) / calls)


# ── Telling ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def table(quality: Quality) -> Table:
    """A row for each way: spread and measuring time by model, as they are and as shares of the standard profile's."""
    shown = Table(title="Spread of the speedup over repeats, and seconds spent measuring")
    shown.add_column("way")
    for model in quality.models:
        shown.add_column(model, justify="right")
    for way in quality.ways:
        shown.add_row(way, *(_cell(quality, way, model) for model in quality.models))
    return shown


def _cell(quality: Quality, way: str, model: str) -> str:
    if not quality.of(way, model):
        return "—"
    spread, seconds = quality.spread(way, model), quality.seconds(way, model)
    return f"{spread:.1%}, {seconds:.0f} s ({seconds / quality.seconds(OURS, model):.2f} ×)"


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(2))
@click.option("--model", "models", multiple=True, default=MODELS, show_default=True)
@click.option("--without-rivals", is_flag=True, help="only the standard profile")
@click.option("--out", type=click.Path(path_type=Path), default=RESULTS / "quality", show_default=False)
def main(repeats: int, models: Sequence[str], out: Path, *, without_rivals: bool) -> None:
    """Measure, write and print."""
    console, found, environment = Console(), [], None
    with tempfile.TemporaryDirectory() as cache:
        for repeat in range(repeats):
            for model in random.sample(models, len(models)):
                console.print(f"repeat {repeat + 1} of {repeats}: {model}")
                one, environment = ours(model, repeat)
                found.append(one)
                if not without_rivals:
                    found += rivals(model, repeat, Path(cache))
    assert environment is not None
    now = datetime.now(UTC).replace(microsecond=0)
    quality = Quality(
        measured_at=now,
        environment=environment,
        command=shlex.join(["python", "-m", "bench.quality", *sys.argv[1:]]),
        repeats=tuple(found),
    )
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{now:%Y-%m-%d}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(quality), indent=1) + b"\n")
    console.print(table(quality))
    held, of = quality.coverage()
    console.print(f"{held} of {of} intervals of 95% hold the value of all repeats together\n{path}")


if __name__ == "__main__":
    main()
