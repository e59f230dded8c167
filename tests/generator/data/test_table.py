"""The figures of thousands of cells at once are those that a plain computation gives for each one."""

from __future__ import annotations

import json
import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import sub, truediv
from pathlib import Path
from statistics import NormalDist, fmean, median, variance
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from atlas_data import measured, write
from conftest import THOROUGH

from bench.records.record import (
    Compilation,
    GraphBreak,
    Graphs,
    Measurement,
    Peaks,
    Record,
    Samples,
    Start,
    Status,
    Work,
    worst,
)
from bench.records.run_file import append, read, run_files
from generator.data.load import load
from generator.data.selection import records as records_of

VARIANTS = ("eager", "compiled")
STARTS: tuple[Start, ...] = ("cold", "warm")

Figures = tuple[float, ...]
"""A value and the ends of its interval."""


def some(chance: float, value: Any) -> Any:
    return value if random.random() < chance else None


def samples(latency_ms: float, rounds: int, calls: int) -> Samples:
    """Any variant that a record may have: timed or published, with or without what a device tells."""
    timed = tuple(
        tuple(latency_ms * random.lognormvariate(0, 0.05) for _ in range(calls or random.randint(1, 4)))
        for _ in range(rounds)
    )
    return Samples(
        rounds_ms=timed,
        published_mean_ms=some(0.5, latency_ms) if not timed else None,
        published_median_ms=some(0.3, latency_ms * 0.99) if not timed else None,
        published_images_s=some(0.1, 1e3 / latency_ms),
        batch_size=some(0.1, 4),
        device_ms=tuple(latency_ms * random.uniform(0.3, 1.1) for _ in range(random.choice((0, 0, 3)))),
        peak_memory_gb=some(0.7, random.random()),
    )


def process(gain: float, rounds: int) -> Measurement:
    skips = tuple("reason" for _ in range(random.choice((0, 0, 0, 1))))
    breaks = tuple(GraphBreak(reason=f"break {n}") for n in range(random.choice((0, 0, 2))))
    graphs = Graphs(graphs=1, breaks=breaks, recompiles=random.choice((0, 0, 1)), cudagraph_skips=skips)
    work = Work(flop=1e9, traffic_bytes=some(0.8, 2e8), streamed_bytes=some(0.8, 1e8))
    ready: dict[Start, float] = {start: each for start in STARTS if (each := some(0.6, random.random()))}
    return Measurement(
        eager=samples(10.0, rounds, random.choice((0, 1, 2))),
        compiled=some(0.9, samples(10.0 * gain, max(rounds + random.choice((-1, 0, 0)), 0), 1)),
        compilation=some(0.6, Compilation(ready_s=ready)),
        graphs=some(0.8, graphs),
        work=some(0.6, msgspec.structs.replace(work, compiled_traffic_bytes=some(0.7, random.uniform(5e7, 3e8)))),
        peaks=some(
            0.6,
            Peaks(matmul_flop_s=random.choice((1.2e11, 1e13)), copy_bytes_s=3e11),
        ),
    )


# ── One cell, in plain Python ───────────────────────────────────────────────────────────────────────────────────────


def middle(values: Iterable[float | None]) -> float:
    known = [each for each in values if each is not None and not math.isnan(each)]
    return median(known) if known else math.nan


def medians(variant: Samples | None) -> list[float]:
    """Those of its rounds; a single one is a block of the protocol of 2023, which takes its mean."""
    rounds = variant.rounds_ms if variant else ()
    return [fmean(rounds[0])] if len(rounds) == 1 else [median(calls) for calls in rounds]


class Prior(NamedTuple):
    """What the cells of a run have in common: a variance, its degrees of freedom, and those of all cells."""

    variance: float = 0.0
    freedom: int = 0
    most: int = 0


NONE = Prior()


def prior(cells: Iterable[Sequence[float]]) -> Prior:
    """Smyth's prior of the variances, from the logarithms or shares of the processes of each cell."""
    from scipy.special import digamma, polygamma  # takes more than a second

    several = [each for each in cells if len(each) > 1]
    if len(several) < 6:
        return NONE
    squares = np.array([variance(each) for each in several])
    squares, freedom = np.maximum(squares, 1e-5 * np.median(squares)), np.array([len(each) - 1 for each in several])
    logs = np.log(squares) - digamma(freedom / 2) + np.log(freedom / 2)
    beyond = variance(logs.tolist()) - fmean(polygamma(1, freedom / 2).tolist())
    own = max((d for d in range(1, 61) if polygamma(1, d / 2) >= beyond), default=0)
    center = fmean(logs.tolist()) + digamma(own / 2) - math.log(own / 2) if own else -math.inf
    return Prior(math.exp(center), own, int(freedom.sum()))


def interval(values: Sequence[float], rounds: Sequence[float], prior: Prior, *, unit: float | None = None) -> Figures:
    """Of values of processes, on a scale of logarithms unless a unit is given; the rounds are those of one alone."""
    import scipy.stats

    if not values:
        return math.nan, math.nan, math.nan
    if len(values) == 1:
        n = len(rounds)
        if n < 6:
            return values[0], math.nan, math.nan
        reach = NormalDist().inv_cdf(0.975) * math.sqrt(n) / 2
        low, high = np.interp([n / 2 - reach, n / 2 + reach], np.arange(n) + 0.5, sorted(rounds))
        return values[0], min(float(low), values[0]), max(float(high), values[0])
    scale = scaled(values, unit)
    square, freedom = variance(scale), len(scale) - 1
    if len(scale) < 6 and prior.freedom:
        square = (freedom * square + prior.freedom * prior.variance) / (freedom + prior.freedom)
        freedom = min(freedom + prior.freedom, prior.most)
    reach = float(scipy.stats.t.ppf(0.975, freedom)) * math.sqrt(square / len(scale))
    ends = fmean(scale), fmean(scale) - reach, fmean(scale) + reach
    return tuple(math.exp(end) if unit is None else end * unit for end in ends)


def scaled(values: Sequence[float], unit: float | None) -> list[float]:
    return [math.log(each) if unit is None else each / unit for each in values]


def pairs(cell: Sequence[Measurement]) -> list[list[tuple[float, float]]]:
    comparable = [each for each in cell if each.compiled and each.compiled.batch_size == each.eager.batch_size]
    found = [list(zip(medians(each.eager), medians(each.compiled), strict=False)) for each in comparable]
    return [each for each in found if each]


def published(cell: Sequence[Measurement]) -> tuple[float, float]:
    comparable = [each for each in cell if each.compiled and each.compiled.batch_size == each.eager.batch_size]
    eager, compiled = (middle(getattr(each, name).published_ms for each in comparable) for name in VARIANTS)
    return eager, compiled


Priors = Mapping[str, Prior]


def latencies(cell: Sequence[Measurement], name: str) -> list[float]:
    return [median(found) for each in cell if (found := medians(getattr(each, name)))]


def ratios(cell: Sequence[Measurement], combine: Callable[[float, float], float]) -> list[float]:
    timed = [each for each in cell if pairs([each])]
    return [combine(median(medians(each.eager)), median(medians(each.compiled))) for each in timed]


def priors(run: Sequence[Sequence[Measurement]]) -> Priors:
    """Those of all that is averaged over the processes of each cell of a run."""
    found = {name: prior(scaled(latencies(cell, name), None) for cell in run) for name in VARIANTS}
    found["speedup"] = prior(scaled(ratios(cell, truediv), None) for cell in run)
    found["saving"] = prior(scaled(ratios(cell, sub), middle(latencies(cell, "eager"))) for cell in run)
    return found


def compared(
    cell: Sequence[Measurement], combine: Callable[[float, float], float], prior: Prior, unit: float | None
) -> Figures:
    """The figure of the latencies; one process alone has the interval of its pairs of rounds, widened to hold it."""
    if not pairs(cell):
        return combine(*published(cell)), math.nan, math.nan
    return interval(ratios(cell, combine), [combine(*pair) for pair in pairs(cell)[0]], prior, unit=unit)


def speedup(cell: Sequence[Measurement], of_run: Priors) -> Figures:
    return compared(cell, truediv, of_run["speedup"], None)


def saving(cell: Sequence[Measurement], of_run: Priors) -> Figures:
    return compared(cell, sub, of_run["saving"], middle(latencies(cell, "eager")))


def judged(cell: Sequence[Measurement], of_run: Priors) -> str:
    value, low, high = speedup(cell, of_run)
    if not pairs(cell) and not math.isnan(value):  # published, without an interval
        return "faster" if value > 1.05 else "slower" if value < 1 / 1.05 else "inconclusive"
    if math.isnan(low) or math.isnan(high):
        return "unknown"
    if low >= 1 / 1.01 and high <= 1.01:
        return "same"
    return "faster" if low > 1.01 else "slower" if high < 1 / 1.01 else "inconclusive"


def latency(cell: Sequence[Measurement], name: str) -> float:
    return middle(latencies(cell, name))


def host(cell: Sequence[Measurement], name: str, waits: Callable[[float, float], float]) -> float:
    variants = [one for each in cell if (one := getattr(each, name))]
    both = [(median(medians(one)), median(one.device_ms)) for one in variants if one.rounds_ms and one.device_ms]
    return middle(max(waits(wall, device), 0.0) for wall, device in both)


def share(wall: float, device: float) -> float:
    return 1 - device / wall


def efficiency(cell: Sequence[Measurement]) -> dict[str, float]:
    """What `causes` needs as well: the work of a call, and the best peaks."""
    work = next((each.work for each in cell if each.work), None)
    peaks = [each.peaks for each in cell if each.peaks]
    known: dict[str, float] = {}
    if work:
        names = ("flop", "traffic_bytes", "streamed_bytes", "compiled_traffic_bytes")
        known = {name: value for name in names if (value := getattr(work, name)) is not None}
    if peaks:
        known["copy"] = max(each.copy_bytes_s for each in peaks)
        known["matmul"] = max(each.matmul_flop_s for each in peaks)
    if work and peaks:
        known["computing_s"] = work.flop / known["matmul"]
    return known


def causes(cell: Sequence[Measurement], of_run: Priors) -> list[tuple[str, float, float | None]]:
    ratio, *_ = speedup(cell, of_run)
    known = efficiency(cell)
    gains: list[tuple[float, str, float]] = []
    waiting = host(cell, "eager", share)
    if waiting >= 0.2:
        waits = [host(cell, name, lambda wall, device: wall - device) for name in VARIANTS]
        gains.append((waits[0] - waits[1], "host_bound", waiting))
    if {"traffic_bytes", "streamed_bytes", "compiled_traffic_bytes", "copy"} <= known.keys():
        streaming_s = known["streamed_bytes"] / known["copy"]
        less = known["traffic_bytes"] - known["compiled_traffic_bytes"]
        if streaming_s >= 0.2 * (streaming_s + known["computing_s"]) and less >= 0.1 * known["traffic_bytes"]:
            gains.append((less / known["copy"] * 1e3, "memory_bound", less / known["traffic_bytes"]))
    graphs = [each.graphs for each in cell if each.graphs]
    obstacles: list[tuple[str, float, None]] = [
        ("cudagraph_skips", max((len(each.cudagraph_skips) for each in graphs), default=0), None),
        ("graph_breaks", max((len(each.breaks) for each in graphs), default=0), None),
        ("recompiles", max((each.recompiles for each in graphs), default=0), None),
    ]
    obstacles = [each for each in obstacles if each[1]]
    at_the_peak = known.get("computing_s", math.nan) / latency(cell, "eager") * 1e3
    obstacles += [("at_the_peak", at_the_peak, None)] if 0.7 <= at_the_peak <= 1 else []
    match judged(cell, of_run) if pairs(cell) else "unknown":
        case "faster":
            saved = saving(cell, of_run)[0]
            counting = sorted((each for each in gains if each[0] >= 0.05 * saved), key=lambda gain: -gain[0])
            return [*((name, figure, ms / saved) for ms, name, figure in counting), *obstacles]
        case "slower" | "same":
            waiting = host(cell, "compiled", share)
            obstacles += [("host_bound", waiting, None)] if waiting >= 0.2 else []
            return [*obstacles, ("never_pays_back", ratio, None)]
    return [*obstacles]


def calls(cost_s: float, saved_ms: float) -> float:
    if math.isnan(cost_s) or math.isnan(saved_ms):
        return math.nan
    return cost_s * 1e3 / saved_ms if saved_ms > 0 else math.inf


def expected_of(cell: Sequence[Measurement], of_run: Priors) -> dict[str, Any]:
    """The columns of one cell with a batch of one image."""
    verdict = judged(cell, of_run)
    found: dict[str, Any] = {
        "processes": len(cell),
        "causes": causes(cell, of_run),
        "verdict": verdict,
    }
    found |= zip(("speedup", "speedup_low", "speedup_high"), speedup(cell, of_run), strict=True)
    value, low, high = saving(cell, of_run)
    for cache, name in zip(STARTS, ("break_even_calls", "break_even_warm_calls"), strict=True):
        cost = middle(each.compilation.ready_s.get(cache) for each in cell if each.compilation)
        if math.isnan(value):
            cost = math.nan
        figures = {name: calls(cost, value), f"{name}_low": calls(cost, high), f"{name}_high": calls(cost, low)}
        never = math.nan if math.isnan(cost) or verdict not in {"slower", "same"} else math.inf
        found |= figures if verdict == "faster" else dict.fromkeys(figures, never)
    known = efficiency(cell)
    for name, moved in zip(VARIANTS, ("traffic_bytes", "compiled_traffic_bytes"), strict=True):
        variants = [one for each in cell if (one := getattr(each, name))]
        if middle([each.batch_size for each in variants if each.batch_size] or [1]) == 1:
            rounds = next((several for each in variants if (several := medians(each))), [])
            ms, ms_low, ms_high = interval(latencies(cell, name), rounds, of_run[name])
            ms = middle(each.published_ms for each in variants) if math.isnan(ms) else ms
            found |= {f"{name}_ms": ms, f"{name}_low_ms": ms_low, f"{name}_high_ms": ms_high}
        samples = sum(len(calls) for each in variants for calls in each.rounds_ms)
        found[f"{name}_samples"] = samples or math.nan
        found[f"{name}_host_bound"] = host(cell, name, share)
        found[f"{name}_matmul_share"] = known.get("computing_s", math.nan) / latency(cell, name) * 1e3
        found[f"{name}_copy_share"] = (
            known.get(moved, math.nan) / latency(cell, name) * 1e3 / known.get("copy", math.nan)
        )
    return found


def same(row: dict[str, Any], expected: dict[str, Any]) -> None:
    expected = dict(expected)
    found = json.loads(row["causes"] or "[]")
    assert [name for name, *_ in found] == [name for name, *_ in expected["causes"]]
    for (_, *figures), (_, *plain) in zip(found, expected.pop("causes"), strict=True):
        assert figures == pytest.approx(plain)
    assert row["verdict"] == expected.pop("verdict")
    known = {name: math.nan if row[name] is None else row[name] for name in expected}
    assert known == pytest.approx(expected, rel=1e-5, nan_ok=True)  # the quantiles of t have six digits


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_thousands_of_cells_at_once_have_the_figures_of_each(tmp_path: Path) -> None:
    random.seed(7)
    cells: dict[str, list[Measurement]] = {}
    records: list[Record] = []
    for number in range(400):
        gain, rounds = random.choice((0.7, 0.99, 1.0, 1.3)), random.choice((0, 1, 5, 6, 7, 20, 70, 400))
        checkpoint = f"c{number}"
        cells[checkpoint] = [process(gain, rounds) for _ in range(random.choice((1, 2, 3, 5)))]
        several = [
            measured(run="r", process=at, figures=each, batch_size=1, checkpoint=checkpoint)
            for at, each in enumerate(cells[checkpoint])
        ]
        random.shuffle(several)
        records += several
    append(tmp_path / "r.jsonl", records)
    rows = records_of(load(tmp_path).rows)
    assert len(rows) == len(cells)
    of_run = priors([*cells.values()])
    for row in rows:
        same(dict(row), expected_of(cells[row["checkpoint"]], of_run))


# ── The archive ─────────────────────────────────────────────────────────────────────────────────────────────────────


def newest_of(folder: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What pages should show, by what tells cells apart, one record after the other."""
    groups: dict[tuple[Any, ...], list[Record]] = {}
    for path in run_files(folder):
        for one in read(path):
            groups.setdefault((path, one.run, one.cell, one.environment.device_name, one.environment.torch), []).append(
                one
            )
    shown: dict[tuple[Any, ...], tuple[Any, dict[str, Any]]] = {}
    runs: dict[tuple[Any, ...], list[list[Measurement]]] = {}
    for (path, run, cell, device, _), group in groups.items():
        on_device = runs.setdefault((path, run, cell.device, device), [])
        on_device.append([one.measurement for one in sorted(group, key=lambda one: one.process) if one.measurement])
    of_run = {key: priors(cells) for key, cells in runs.items()}
    for (path, run, cell, device, _), group in groups.items():
        group.sort(key=lambda one: one.process)
        standing = worst(group)
        on = standing.environment
        cpu = (on.cores, on.threads) if cell.device == "cpu" else None
        key = (cell.model, cell.checkpoint, cell.batch_size, cell.compile_mode, on.device_name, on.torch, cpu)
        never = datetime.min.replace(tzinfo=UTC)
        age = (max(one.measured_at or never for one in group), standing.run)
        row = expected_of([one.measurement for one in group if one.measurement], of_run[path, run, cell.device, device])
        row |= {"run": standing.run, "status": standing.status.value, "reason": standing.reason or ""}
        carried = Counter(flag for one in group for flag in one.flags)
        kept = [flag for flag, times in carried.items() if flag == "unsure" or times >= len(group) / 2]
        row |= {"attempts": len(group), "flags": " ".join(sorted(kept))}
        if key not in shown or shown[key][0] < age:
            shown[key] = age, row
    return {key: row for key, (_, row) in shown.items()}


def some_records(dice: random.Random, run: str, night: int) -> list[Record]:
    """One run: a few cells, some of whose processes have failed."""
    records: list[Record] = []
    for batch_size in dice.sample(range(1, 25), dice.choice((1, 2, 24))):  # enough in some runs to pool their scatter
        cpu: dict[str, Any] = {"device": "cpu", "environment": {"cores": dice.choice((2, 4)), "threads": 2}}
        cell = {"checkpoint": dice.choice(("a", "b")), "torch": dice.choice(("2.9.1", "2.13.0"))}
        cell |= dice.choice(({}, {}, cpu))
        for at in range(dice.choice((1, 1, 2, 3))):
            status = dice.choice((Status.PASS, Status.PASS, Status.UNSTABLE, Status.CRASH))
            figures = process(dice.choice((0.7, 1.0)), 6) if status is not Status.CRASH else None
            one = measured(
                run=run,
                process=at,
                status=status,
                day=night,
                reason=None if status is Status.PASS else f"reason {dice.randrange(9)}",
                figures=figures,
                model="ViT",
                batch_size=batch_size,
                **dict[str, Any](cell),
            )
            flags = tuple(dice.sample(("doctor-load", "unsure"), dice.randrange(3)))
            records.append(msgspec.structs.replace(one, flags=flags))
    return list({(one.key, one.process): one for one in records}.values())


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(20 if THOROUGH else 2))
def test_whatever_becomes_of_the_files_the_newest_rows_are_those_of_their_records(tmp_path: Path, seed: int) -> None:
    """Files appear, grow, change and go, and each time the table is that of a plain reading."""
    random.seed(seed)
    dice = random.Random(seed)
    folder = tmp_path / "records"
    folder.mkdir()
    for step in range(8):
        for night in range(1, 4):
            run = f"r{step}-{night}"
            append(folder / f"{run}.jsonl", some_records(dice, run, dice.randrange(1, 28)))
        for path in dice.sample(sorted(folder.iterdir()), 2):
            lines = path.read_bytes().splitlines(keepends=True)
            dice.choice((path.unlink, lambda: path.write_bytes(b"".join(lines[1:]))))()  # noqa: B023
        expected = newest_of(folder)
        rows = load(folder).rows
        found = [dict(row) for row in records_of(rows[rows["newest"]])]
        assert len(found) == len(expected)
        on = {"H200": "NVIDIA H200"}
        for row in found:
            cpu = (row["cores"], row["threads"]) if row["device_type"] == "cpu" else None
            label = row["model_label"].partition(" ")[0]
            key = (
                label,
                row["checkpoint"],
                row["batch_size"],
                row["compile_mode"],
                on[row["device_name"]],
                row["torch"],
                cpu,
            )
            one = {**expected[key]}
            for name in ("run", "status", "reason", "flags"):
                assert row[name] == one.pop(name), name
            same(row, {name: value for name, value in one.items() if not name.endswith("_ms")})


@pytest.mark.parametrize(("flagged", "is_doubted"), [(1, False), (2, False), (3, True), (6, True)])
def test_a_look_at_the_machine_dooms_a_row_if_half_of_its_processes_had_it(
    flagged: int, is_doubted: bool, tmp_path: Path
) -> None:
    records = [
        msgspec.structs.replace(measured(process=at), flags=("doctor-load",) if at < flagged else ()) for at in range(6)
    ]
    newest = load(write(tmp_path, records)).newest
    assert (newest["flags"].tolist() == ["doctor-load"]) is is_doubted
    assert (newest["verdict"].tolist() == ["doubtful"]) is is_doubted


def test_statuses_and_flags_of_all_processes_count(tmp_path: Path) -> None:
    noisy = msgspec.structs.replace(measured(process=2, status=Status.UNSTABLE), flags=("b", "a"), reason="noise")
    (row,) = load(write(tmp_path, [measured(), measured(process=1), noisy])).by_label
    assert (row["status"], row["flags"], row["reason"], row["attempts"]) == ("pass", "a b", "", 3)


def test_the_interval_of_a_cell_stays_when_a_newer_run_repeats_the_others(tmp_path: Path) -> None:
    """Cells of a run tell of each other's scatter, even those that pages no longer show."""
    random.seed(3)

    def of_run(run: str, day: int, batch_sizes: Iterable[int]) -> list[Record]:
        return [
            measured(run=run, process=at, day=day, batch_size=size, figures=Measurement(eager=one, compiled=other))
            for size in batch_sizes
            for at in range(3)
            for one, other in [(samples(10.0, 7, 1), samples(8.0, 7, 1))]
        ]

    def ends(folder: Path, *runs: list[Record]) -> list[float]:
        for records in runs:
            append(folder / f"{records[0].run}.jsonl", records)
        [row] = (row for row in records_of(load(folder).rows) if row["batch_size"] == 7)
        return [row["speedup_low"], row["speedup_high"], row["eager_low_ms"]]

    older, newer = of_run("older", 1, range(1, 8)), of_run("newer", 2, range(1, 7))
    assert ends(tmp_path / "both", older, newer) == ends(tmp_path / "one", older)
