"""Pooling thousands of cells at once says what the definitions say of each one."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest
from atlas_data import measured, write

from bench.records.record import Compilation, GraphBreak, Graphs, Measurement, Peaks, Status, Variant, Work
from bench.records.run_file import encode
from bench.statistics import causes, statistics
from generator.data import lines as reading
from generator.data.lines import VARIANTS
from generator.data.pooling import Pooled, pool


def rows(pooled: Pooled) -> list[dict[str, Any]]:
    columns = {name: each.tolist() for name, each in pooled.figures.items()}
    columns |= {name: each.plain() for name, each in pooled.texts.items()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def some(chance: float, value: Any) -> Any:
    return value if random.random() < chance else None


def variant(latency_ms: float, rounds: int, calls: int) -> Variant:
    """Any variant that a record may have: timed or published, with or without what a device tells."""
    timed = tuple(
        tuple(latency_ms * random.lognormvariate(0, 0.05) for _ in range(calls or random.randint(1, 4)))
        for _ in range(rounds)
    )
    return Variant(
        rounds_ms=timed,
        published_mean_ms=some(0.5, latency_ms) if not timed else None,
        published_median_ms=some(0.3, latency_ms * 0.99) if not timed else None,
        published_images_s=some(0.1, 1e3 / latency_ms),
        batch_size=some(0.1, 4),
        device_ms=tuple(latency_ms * random.uniform(0.3, 1.1) for _ in range(random.choice((0, 0, 3)))),
        peak_memory_gb=some(0.7, random.random()),
        minor_faults_per_call=some(0.5, random.uniform(0, 1e5)),
        energy_j=some(0.3, random.random()),
    )


def process(gain: float, rounds: int) -> Measurement:
    skips = tuple("reason" for _ in range(random.choice((0, 0, 0, 1))))
    breaks = tuple(GraphBreak(reason=f"break {n}") for n in range(random.choice((0, 0, 2))))
    graphs = Graphs(graphs=1, breaks=breaks, recompiles=random.choice((0, 0, 1)), cudagraph_skips=skips)
    work = Work(flop=1e9, traffic_bytes=some(0.8, 2e8), streamed_bytes=some(0.8, 1e8), convolution_flop=some(0.7, 6e8))
    return Measurement(
        eager=variant(10.0, rounds, random.choice((0, 1, 2))),
        compiled=some(0.9, variant(10.0 * gain, max(rounds + random.choice((-1, 0, 0)), 0), 1)),
        compilation=some(0.6, Compilation(cold_s=some(0.8, random.random()), warm_s=some(0.5, random.random()))),
        graphs=some(0.8, graphs),
        work=some(0.6, msgspec.structs.replace(work, compiled_traffic_bytes=some(0.7, random.uniform(5e7, 3e8)))),
        peaks=some(
            0.6,
            Peaks(
                matmul_flop_s=random.choice((1.2e11, 1e13)),
                copy_bytes_s=3e11,
                page_fault_s=some(0.5, 1e-6),
                convolution_flop_s=some(0.4, 5e13),
            ),
        ),
    )


def said(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """What `bench.statistics.statistics` and `bench.statistics.causes` say of one cell."""
    ratio = statistics.speedup(measurements)
    found: dict[str, Any] = {
        "processes": len(measurements),
        "verdict": statistics.verdict(measurements),
        "causes": [[each.cause.value, each.figure] for each in causes.explain(measurements)],
        "speedup": ratio.value,
        "speedup_low": ratio.low,
        "speedup_high": ratio.high,
    }
    for warm, name in ((False, "break_even_calls"), (True, "break_even_warm_calls")):
        calls = statistics.break_even_calls(measurements, warm=warm)
        found |= {name: calls.value, f"{name}_low": calls.low, f"{name}_high": calls.high}
    for name in VARIANTS:
        variants = [one for each in measurements if (one := getattr(each, name))]
        of_row = median([each.batch_size for each in variants if each.batch_size] or [1]) == 1
        if variants and of_row:
            summary = statistics.summarize(variants)
            found |= {f"{name}_ms": summary.latency_ms, f"{name}_low_ms": summary.low_ms}
            found |= {f"{name}_high_ms": summary.high_ms, f"{name}_samples": summary.n or math.nan}
            found |= {f"{name}_p90_ms": summary.p90 or math.nan, f"{name}_p99_ms": summary.p99 or math.nan}
        found[f"{name}_host_bound"] = causes.host_bound(measurements, name)
        found[f"{name}_matmul_share"] = causes.peak_share(measurements, name)
        found[f"{name}_copy_share"] = causes.bandwidth_share(measurements, name)
        found[f"{name}_image_j"] = causes.energy_per_image_j(measurements, name, 1)
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_thousands_of_cells_at_once_say_what_each_says(tmp_path: Path) -> None:
    random.seed(7)
    cells: list[list[Measurement]] = []
    lines: list[bytes] = []
    for number in range(400):
        gain, rounds = random.choice((0.7, 0.99, 1.0, 1.3)), random.choice((0, 1, 5, 6, 7, 20, 70, 400))
        cells.append([process(gain, rounds) for _ in range(random.choice((1, 2, 3, 5)))])
        records = [
            measured(run="r", process=at, figures=each, batch_size=1, checkpoint=f"c{number}")
            for at, each in enumerate(cells[-1])
        ]
        random.shuffle(records)
        lines += map(encode, records)
    (tmp_path / "r.jsonl").write_bytes(b"".join(lines))
    found = rows(pool([tmp_path / "r.jsonl"]))
    assert len(found) == len(cells)
    for row, cell in zip(found, cells, strict=True):
        expected = said(cell)
        row["causes"] = json.loads(row["causes"] or "[]")
        assert [name for name, _ in row["causes"]] == [name for name, _ in expected["causes"]]
        assert [x for _, x in row.pop("causes")] == pytest.approx([x for _, x in expected.pop("causes")])
        assert row["verdict"] == expected.pop("verdict")
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-12, nan_ok=True)


def test_lines_are_made_arrays_of_some_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, [measured(process=number) for number in range(5)])
    whole = rows(pool([tmp_path / "run-1.jsonl"]))
    monkeypatch.setattr(reading, "TOGETHER", 2)
    assert repr(rows(pool([tmp_path / "run-1.jsonl"]))) == repr(whole)  # in which nan is like nan


def test_statuses_and_flags_of_all_processes_count(tmp_path: Path) -> None:
    noisy = msgspec.structs.replace(measured(process=2, status=Status.UNSTABLE), flags=("b", "a"), reason="noise")
    write(tmp_path, [measured(), measured(process=1), noisy])
    (row,) = rows(pool([tmp_path / "run-1.jsonl"]))
    assert (row["status"], row["flags"], row["reason"], row["attempts"]) == ("pass", "a b", "", 3)
