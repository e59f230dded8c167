"""Repeat a measurement with our way of timing and with others, to compare how well each repeats. Imports no torch.

`repeat` returns a `Repeatability`. Each repeat is a new run of the standard profile, and a new process for the other
ways. An interrupted run resumes.

    python -m bench repeatability --repeats 5
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.table import Table

from bench.errors import AtlasError
from bench.machine import commit, cpu_name
from bench.plans.profiles import KEEP_MEMORY, STANDARD
from bench.records import document, repeatability
from bench.records.record import Environment, Measurement
from bench.records.repeatability import ALONE, IN_TURN, OURS, SCHEMA, Agreement, Repeat, Repeatability
from bench.records.run_file import read
from bench.running.executors import QUIET, ROOT
from bench.statistics.cells import speedup

MODELS = ("ResNet", "ViT", "Segformer")
"""A fast model with much scatter, one that compiling does not speed up, and one that it does."""

PROGRESS = ROOT / ".cache" / "repeatability.json"
"""File of an unfinished run."""


def repeat(
    models: Sequence[str],
    repeats: int,
    *,
    command: str,
    tell: Callable[[str], None],
    with_baselines: bool = True,
    progress: Path = PROGRESS,
) -> Repeatability:
    """Take all repeats, with the models of each in random order. `tell` receives a line for each measurement.

    The file `progress` keeps an unfinished run, which the same command at the same commit on the same machine resumes.
    Raises `AtlasError` if a model has no latency.
    """
    state = _unfinished(progress, command)
    taken = list(state.repeats) if state else []
    agreements = list(state.agreements) if state else []
    with tempfile.TemporaryDirectory() as cache:
        for number in range(repeats):
            known = {earlier.model for earlier in taken if earlier.repeat == number}
            for model in random.sample(models, len(models)):
                if model in known:
                    continue
                tell(f"repeat {number + 1} of {repeats}: {model}")
                mine, environment = ours(model, number)
                others, compared = baselines(model, number, Path(cache)) if with_baselines else ([], [])
                taken += [mine, *others]
                agreements += compared
                state = Repeatability(
                    schema=SCHEMA,
                    taken_at=datetime.now(UTC).replace(microsecond=0),
                    environment=environment,
                    command=command,
                    repeats=tuple(taken),
                    agreements=tuple(agreements),
                )
                document.write(state, progress)
    progress.unlink(missing_ok=True)
    assert state, "there is at least one model and one repeat"
    return state


def _unfinished(progress: Path, command: str) -> Repeatability | None:
    """Return the state of an interrupted run. A tree with changes has none, since its code may have changed since."""
    code = commit() or "-dirty"
    if code.endswith("-dirty") or not progress.is_file():
        return None
    state = repeatability.read(progress)
    environment = state.environment
    is_same = (environment.commit, environment.device_name, state.command) == (code, cpu_name(), command)
    return state if is_same else None


def ours(model: str, repeat: int) -> tuple[Repeat, Environment]:
    """Run the standard profile for one model, with an empty compile cache."""
    with tempfile.TemporaryDirectory() as folder:
        _run("bench", "run", "--profile", OURS, "--model", model, "--device", "cpu", "--out", folder)
        records = [record for path in Path(folder).glob("*.jsonl") for record in read(path)]
    measurements = [record.measurement for record in records if record.measurement and record.measurement.compiled]
    if not measurements:
        raise AtlasError(f"{model} has no latency: {records[0].reason if records else 'no record'}", where=OURS)
    ratio = speedup(measurements)
    eager, compiled = (_latency(measurements, variant) for variant in ("eager", "compiled"))
    taken = Repeat(
        way=OURS,
        model=model,
        repeat=repeat,
        speedup=ratio.value,
        low=ratio.low,
        high=ratio.high,
        seconds=sum(map(_seconds, measurements)),
        eager_ms=eager,
        compiled_ms=compiled,
        processes=len(measurements),
    )
    return taken, records[0].environment


def baselines(model: str, repeat: int, cache: Path) -> tuple[list[Repeat], list[Agreement]]:
    """Take every other way in one new process. Later repeats find the compile cache filled."""
    answer = json.loads(_run("bench.harness.baselines", model, TORCHINDUCTOR_CACHE_DIR=str(cache)).splitlines()[-1])
    ways = [
        Repeat(way=way, model=model, repeat=repeat, speedup=figures["eager_ms"] / figures["compiled_ms"], **figures)
        for way, figures in answer["ways"].items()
    ]
    return ways, [Agreement(model=model, repeat=repeat, **fields) for fields in answer["agreements"]]


def _run(*arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=ROOT,
        env={**KEEP_MEMORY, **os.environ, **QUIET, "HF_HUB_OFFLINE": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        raise AtlasError(last[0], where=" ".join(arguments), remedy="run this command by itself to see why")
    return done.stdout


def _latency(measurements: Sequence[Measurement], variant: str) -> float:
    medians = [
        float(np.median([np.median(calls) for calls in getattr(measurement, variant).rounds_ms]))
        for measurement in measurements
    ]
    return statistics.median(medians)


def _seconds(measurement: Measurement) -> float:
    """Return the seconds spent in calls. Calls without a recorded latency count with the mean of those with one."""
    rounds = [calls for variant in (measurement.eager, measurement.compiled) if variant for calls in variant.rounds_ms]
    calls = sum(map(len, rounds))
    measured = sum(map(sum, rounds)) / 1e3
    repeated = measurement.telemetry.repeated_rounds if measurement.telemetry else 0
    made = (calls + len(rounds) * STANDARD.sampling.lead_calls) * (1 + repeated / len(measurement.eager.rounds_ms))
    return measured * (made + (measurement.warmup_calls or 0)) / calls


def table(repeatability: Repeatability) -> Table:
    """Return a table with a row for each way: by model, the spread, the measuring time, and its ratio to ours."""
    shown = Table(title="Spread of the speedup over repeats, and seconds spent measuring")
    shown.add_column("way")
    for model in repeatability.models:
        shown.add_column(model, justify="right")
    for way in repeatability.ways:
        shown.add_row(way, *(_cell(repeatability, way, model) for model in repeatability.models))
    return shown


def remarks(repeatability: Repeatability) -> list[str]:
    """Return what the table does not show: coverage, deviation from torch's Timer, and overhead, if known."""
    covering, total = repeatability.coverage()
    bias, shift = repeatability.distance(ALONE), repeatability.distance(IN_TURN)
    known = {
        "at most between latencies of our rounds of one variant alone and of Timer.blocked_autorange": bias,
        "at most between latencies of both variants in turn and of one alone": shift,
        "of the time of our rounds spent outside of calls": repeatability.overhead,
    }
    return [
        f"{covering} of {total} 95% intervals contain the value of all repeats together",
        *(f"{share:.1%} {words}" for words, share in known.items() if share is not None),
    ]


def _cell(repeatability: Repeatability, way: str, model: str) -> str:
    if not repeatability.of(way, model):
        return "—"
    spread, seconds = repeatability.spread(way, model), repeatability.seconds(way, model)
    return f"{spread:.1%}, {seconds:.0f} s ({seconds / repeatability.seconds(OURS, model):.2f} ×)"
