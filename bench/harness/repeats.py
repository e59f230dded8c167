"""Repeat a measurement, ours and others', to see how well each repeats: a `Repeatability` leaves.

Every repeat is a fresh run of the standard profile in processes of its own, and a fresh process for the rivals. An
interrupted run goes on where it stopped. No torch here.

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
from bench.records.record import Environment, Measurement, read
from bench.records.repeatability import ALONE, IN_TURN, OURS, SCHEMA, Agreement, Repeat, Repeatability
from bench.running.executors import QUIET, ROOT
from bench.statistics.cells import speedup

MODELS = ("ResNet", "ViT", "Segformer")
"""One that is quick and scatters, one that does the same either way, one that compiling helps."""

PROGRESS = ROOT / ".cache" / "quality.json"
"""Where an unfinished run is kept."""


def repeat(
    models: Sequence[str],
    repeats: int,
    *,
    command: str,
    tell: Callable[[str], None],
    with_baselines: bool = True,
    progress: Path = PROGRESS,
) -> Repeatability:
    """Take all repeats, the models of each in random order. `tell` hears what is being measured.

    What is measured is kept in the file `progress` until all of it is: the same command of the same commit on the same
    machine goes on from there. Raises `AtlasError` where a model gives no latency.
    """
    begun = _begun(progress, command)
    found = list(begun.repeats) if begun else []
    agreements = list(begun.agreements) if begun else []
    with tempfile.TemporaryDirectory() as cache:
        for number in range(repeats):
            known = {each.model for each in found if each.repeat == number}
            for model in random.sample(models, len(models)):
                if model in known:
                    continue
                tell(f"repeat {number + 1} of {repeats}: {model}")
                mine, environment = ours(model, number)
                others, compared = baselines(model, number, Path(cache)) if with_baselines else ([], [])
                found += [mine, *others]
                agreements += compared
                begun = Repeatability(
                    schema=SCHEMA,
                    taken_at=datetime.now(UTC).replace(microsecond=0),
                    environment=environment,
                    command=command,
                    repeats=tuple(found),
                    agreements=tuple(agreements),
                )
                document.write(begun, progress)
    progress.unlink(missing_ok=True)
    assert begun, "there is at least one model and one repeat"
    return begun


def _begun(progress: Path, command: str) -> Repeatability | None:
    """What was measured before an interruption. In a tree with changes that may have been by other code: it is left."""
    code = commit() or "-dirty"
    if code.endswith("-dirty") or not progress.is_file():
        return None
    known = repeatability.read(progress)
    about = known.environment
    return known if (about.commit, about.device_name, known.command) == (code, cpu_name(), command) else None


def ours(model: str, repeat: int) -> tuple[Repeat, Environment]:
    """One run of the standard profile of one model, with an empty compile cache."""
    with tempfile.TemporaryDirectory() as folder:
        _run("bench", "run", "--profile", OURS, "--model", model, "--device", "cpu", "--out", folder)
        records = [record for path in Path(folder).glob("*.jsonl") for record in read(path)]
    measurements = [each.measurement for each in records if each.measurement and each.measurement.compiled]
    if not measurements:
        raise AtlasError(f"{model} gave no latency: {records[0].reason if records else 'no record'}", where=OURS)
    ratio = speedup(measurements)
    eager, compiled = (_latency(measurements, variant) for variant in ("eager", "compiled"))
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


def baselines(model: str, repeat: int, cache: Path) -> tuple[list[Repeat], list[Agreement]]:
    """Every other way, in one fresh process; all but the first find their compile cache filled."""
    answer = json.loads(_run("bench.harness.baselines", model, TORCHINDUCTOR_CACHE_DIR=str(cache)).splitlines()[-1])
    ways = [
        Repeat(way=way, model=model, repeat=repeat, speedup=found["eager_ms"] / found["compiled_ms"], **found)
        for way, found in answer["ways"].items()
    ]
    return ways, [Agreement(model=model, repeat=repeat, **each) for each in answer["agreements"]]


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
        raise AtlasError(last[0], where=" ".join(arguments), remedy="run that command by itself")
    return done.stdout


def _latency(measurements: Sequence[Measurement], variant: str) -> float:
    medians = [
        float(np.median([np.median(calls) for calls in getattr(measurement, variant).rounds_ms]))
        for measurement in measurements
    ]
    return statistics.median(medians)


def _seconds(measurement: Measurement) -> float:
    """In rounds, also those that were repeated, and in warm-up; taken to be as long as the calls that were kept."""
    rounds = [calls for variant in (measurement.eager, measurement.compiled) if variant for calls in variant.rounds_ms]
    calls = sum(map(len, rounds))
    measured = sum(map(sum, rounds)) / 1e3
    repeated = measurement.telemetry.repeated_rounds if measurement.telemetry else 0
    made = (calls + len(rounds) * STANDARD.sampling.lead_calls) * (1 + repeated / len(measurement.eager.rounds_ms))
    return measured * (made + (measurement.warmup_calls or 0)) / calls


def table(repeatability: Repeatability) -> Table:
    """A row for each way: spread and measuring time by model, as they are and as shares of the standard profile's."""
    shown = Table(title="Spread of the speedup over repeats, and seconds spent measuring")
    shown.add_column("way")
    for model in repeatability.models:
        shown.add_column(model, justify="right")
    for way in repeatability.ways:
        shown.add_row(way, *(_cell(repeatability, way, model) for model in repeatability.models))
    return shown


def remarks(repeatability: Repeatability) -> list[str]:
    """What the table does not say: coverage, and how far our rounds are from torch's Timer, as far as it is known."""
    held, of = repeatability.coverage()
    bias, shift = repeatability.distance(ALONE), repeatability.distance(IN_TURN)
    known = {
        "of a latency at most between our rounds of one arm alone and Timer.blocked_autorange": bias,
        "of a latency at most between both arms in turn and one alone": shift,
        "of the time of our rounds not spent in calls": repeatability.overhead,
    }
    return [
        f"{held} of {of} intervals of 95% hold the value of all repeats together",
        *(f"{share:.1%} {words}" for words, share in known.items() if share is not None),
    ]


def _cell(repeatability: Repeatability, way: str, model: str) -> str:
    if not repeatability.of(way, model):
        return "—"
    spread, seconds = repeatability.spread(way, model), repeatability.seconds(way, model)
    return f"{spread:.1%}, {seconds:.0f} s ({seconds / repeatability.seconds(OURS, model):.2f} ×)"
