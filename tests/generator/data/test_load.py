"""Loading: pooled rows, the newest run of each cell, devices told apart, and a clear word about every broken line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import ON_CPU, PUBLISHED, XEON, measured, measurement, telling, write

from bench.errors import AtlasError
from bench.records.record import Measurement, Samples, Status
from generator.data import selection
from generator.data.load import Results, load
from generator.data.names import short_name
from generator.data.registry import COLUMNS
from generator.data.selection import is_comparison


def loaded(tmp_path: Path, *records: object) -> Results:
    return load(write(tmp_path, records))  # type: ignore[arg-type]


def devices(results: Results) -> list[str]:
    return [row["device"] for row in results.by_label]


# ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_columns_are_those_declared(tmp_path: Path) -> None:
    for results in (load(PUBLISHED), loaded(tmp_path, measured())):
        dtypes = {str(name): str(dtype) for name, dtype in results.table.dtypes.items()}
        assert dtypes == {name: column.dtype for name, column in COLUMNS.items()}
        for row in results.by_label:
            for name, column in COLUMNS.items():
                assert type(row[name]) is column.type or (row[name] is None and column.type is not str), name


def test_no_records_are_an_empty_table(tmp_path: Path) -> None:
    results = load(tmp_path)
    assert (len(results.by_label), results.problems) == (0, ())


def test_processes_are_pooled_with_an_interval_over_them(tmp_path: Path) -> None:
    (row,) = loaded(tmp_path, *(measured(process=process) for process in range(3))).by_label
    assert (row["processes"], row["attempts"]) == (3, 3)
    assert row["eager_samples"] == 3 * 40 * 2
    assert row["speedup_low"] < row["speedup"] < row["speedup_high"]
    assert row["speedup"] == pytest.approx(1.25, rel=0.02)
    assert (row["change"], row["change_low"]) == pytest.approx((1 / row["speedup"] - 1, 1 / row["speedup_high"] - 1))
    assert (row["compile_cold_s"], row["graphs"], row["verdict"]) == (20.0, 1, "faster")
    assert row["break_even_calls"] == pytest.approx(10_000, rel=0.05)
    assert (row["eager_peak_memory_gb"], row["weights"], row["input_size"]) == (0.5, "random", "224×224")


def test_a_process_that_failed_marks_its_cell_and_hides_no_figure(tmp_path: Path) -> None:
    crash = measured(process=1, status=Status.CRASH, reason="exit code -11")
    (row,) = loaded(tmp_path, measured(), crash).by_label
    assert (row["status"], row["reason"]) == ("crash", "exit code -11")
    assert (row["attempts"], row["processes"]) == (2, 1)
    assert row["eager_ms"] == pytest.approx(10, rel=0.02)


def test_all_that_a_gpu_tells_is_a_column(tmp_path: Path) -> None:
    (row,) = loaded(tmp_path, *(measured(process=p, figures=telling(seed=p), batch_size=2) for p in range(3))).by_label
    assert (row["eager_host_bound"], row["eager_matmul_share"]) == pytest.approx((0.5, 0.0585), rel=0.01)
    assert (row["graph_breaks"], row["batch_size_recompiles"]) == (2, 2)
    assert json.loads(row["graph_break_reasons"])[0] == {"location": "transformers/vit.py:7", "reason": "call <print>"}
    assert [cause for cause, *_ in json.loads(row["causes"])] == ["host_bound", "cudagraph_skips", "graph_breaks"]
    assert row["break_even_warm_calls_low"] < row["break_even_warm_calls"] < row["break_even_warm_calls_high"]


def test_wrong_results_are_shown_and_never_compared(tmp_path: Path) -> None:
    wrong = measured(status=Status.FAIL_ACCURACY, figures=measurement(), model="BeiT", checkpoint="microsoft/beit")
    results = loaded(tmp_path, measured(), wrong)
    assert None not in {row["change"] for row in results.by_label}
    assert results.table[is_comparison(results.table)]["model"].tolist() == ["vit"]


def test_the_newest_run_of_each_cell_is_shown(tmp_path: Path) -> None:
    results = loaded(
        tmp_path,
        measured(run="b-older", day=1),
        measured(run="a-newer", day=2),
        measured(run="b-older", day=1, batch_size=4),
        measured(run="c-other-version", day=1, torch="2.12.0"),
    )
    assert len(results.by_label) == 4
    shown = {(row["run"], row["batch_size"]) for row in selection.records(results.newest)}
    assert shown == {("a-newer", 1), ("b-older", 4), ("c-other-version", 1)}


def test_order_does_not_depend_on_files_and_puts_accelerators_first(tmp_path: Path) -> None:
    records = [
        measured(run="r1", device="cpu", device_name="AMD EPYC 7763 64-Core Processor", environment={"cores": 8}),
        measured(run="r2", device_name="NVIDIA V100"),
        measured(run="r3", device_name="NVIDIA H200"),
    ]
    assert devices(loaded(tmp_path, *records)) == ["h200", "v100", "cpu-amd-epyc-8-cores"]


# ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cpus_that_differ_only_in_a_number_are_one_device(tmp_path: Path) -> None:
    names = (XEON, "Intel(R) Xeon(R) Processor", "AMD EPYC 9B14", "AMD EPYC 7B13", "Apple M1", "Apple M3")
    cpus = [
        measured(run=f"c{day}", day=day, device="cpu", device_name=name, batch_size=day, environment={"cores": 8})
        for day, name in enumerate(names, start=1)
    ]
    more = measured(run="more", device="cpu", device_name="AMD EPYC 7B13", environment={"cores": 16})
    rows = loaded(tmp_path, *cpus, more).by_label
    assert {row["device"] for row in rows} == {
        "cpu-intel-xeon-8-cores",
        "cpu-amd-epyc-8-cores",
        "cpu-amd-epyc-16-cores",
        "cpu-apple-m1-8-cores",
        "cpu-apple-m3-8-cores",
    }
    assert {row["processor"] for row in rows} == {short_name(name) for name in names}, "records keep the exact name"


def test_distinct_devices_never_share_a_page(tmp_path: Path) -> None:
    names = ["Foo+", "Foo-", "foo", "摩尔线程", "寒武纪", "index", "NUL"]
    records = [measured(device_name=name, run=f"r{day}", day=day) for day, name in enumerate(names, start=1)]
    cpus = [
        measured(run=f"c{cores}", device="cpu", device_name=XEON, environment={"cores": cores})
        for cores in (2, 4, None)
    ]
    slugs = devices(loaded(tmp_path, *records, *cpus))
    assert len(set(slugs)) == len(slugs) == 10
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]*", slug) for slug in slugs)
    assert not {"index", "nul"}.intersection(slugs)
    assert "foo" in slugs


def test_a_newcomer_does_not_take_over_an_address(tmp_path: Path) -> None:
    assert devices(loaded(tmp_path, measured(device_name="Foo+", run="z", day=1))) == ["foo"]
    both = loaded(tmp_path, measured(device_name="Foo-", run="a", day=2))
    assert [row["device"] for row in both.by_label if row["device_name"] == "Foo+"] == ["foo"]


def test_two_checkpoints_of_one_label_are_told_apart(tmp_path: Path) -> None:
    rows = loaded(tmp_path, measured(), measured(checkpoint="me/vit-tiny")).by_label
    assert {row["model_label"] for row in rows} == {"ViT (google/vit-base-patch16-224)", "ViT (me/vit-tiny)"}
    assert len({row["model"] for row in rows}) == 2


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("added", "what", "where"),
    [
        (b'\n{"schema": 1, "run"\n', "not valid JSON", ":3"),
        (b'{"schema": 99}\n', "schema version 99", ":2"),
        (b"\n(again)\n", r"process 0 of ViT on NVIDIA H200 .* is already in line 1", ":3: $.cell"),
    ],
)
def test_a_bad_line_is_named_with_file_line_and_remedy(tmp_path: Path, added: bytes, what: str, where: str) -> None:
    path = write(tmp_path, [measured()]) / "run-1.jsonl"
    path.write_bytes(path.read_bytes() + added.replace(b"(again)", path.read_bytes().strip()))
    with pytest.raises(AtlasError, match=what) as raised:
        load(tmp_path)
    assert raised.value.where.startswith(f"{path}{where}")
    assert raised.value.remedy


def test_a_run_in_two_files_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, [measured()]) / "run-1.jsonl"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "copy.jsonl").write_bytes(path.read_bytes())
    with pytest.raises(AtlasError, match=r"'run-1' is already in .*run-1\.jsonl"):
        load(tmp_path)


def test_a_file_that_grows_is_read_again_up_to_its_last_whole_line(tmp_path: Path) -> None:
    assert len(loaded(tmp_path, measured()).by_label) == 1
    assert len(loaded(tmp_path, measured(batch_size=4)).by_label) == 2
    path = tmp_path / "run-1.jsonl"
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "ru')
    assert len(load(tmp_path).by_label) == 2


# ── Doubts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_doubtful_within_a_row_is_so_in_older_runs_too(tmp_path: Path) -> None:
    busy = measured(run="old", day=1, status=Status.UNSTABLE, reason="busy", figures=measurement())
    results = loaded(tmp_path, busy, measured(run="new", day=2))
    verdicts = {row["run"]: (row["verdict"], row["break_even_calls"] is None) for row in results.by_label}
    assert verdicts == {"old": ("doubtful", True), "new": ("faster", False)}
    assert [anomaly.kind for anomaly in results.problems] == [], "nobody needs to mend an older run"


def test_rounds_that_contradict_the_latencies_are_doubted(tmp_path: Path) -> None:
    # The machine slows down in the middle: each latency is the median of fast and slow rounds, and falls apart.
    eager, compiled = ((10.0,),) * 20 + ((20.0,),) * 21, ((9.5,),) * 21 + ((19.0,),) * 20
    results = loaded(
        tmp_path, measured(figures=Measurement(eager=Samples(rounds_ms=eager), compiled=Samples(rounds_ms=compiled)))
    )
    (row,) = results.by_label
    assert row["speedup"] == pytest.approx(20 / 9.5)
    assert row["paired_speedup"] == pytest.approx(10 / 9.5)
    assert row["verdict"] == "doubtful"


def test_the_machine_of_the_reader_comes_first(tmp_path: Path) -> None:
    folder = write(tmp_path, [measured(), measured(run="mine", day=2, **ON_CPU)])
    assert load(folder).newest["device"].tolist() == ["h200", "cpu-intel-xeon-2-cores"]
    mine = load(folder, own_runs=frozenset({"mine"}))
    assert mine.newest["device"].tolist() == ["cpu-intel-xeon-2-cores", "h200"]
    assert mine.own_devices == {"cpu-intel-xeon-2-cores"}
    assert [row["device"] for row in mine.by_label] == ["h200", "cpu-intel-xeon-2-cores"], "labels stay the same"


# ── Local checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("others", "names"),
    [
        (
            {"model": "model", "checkpoint": "model", "digest": "b" * 64, "model_type": "vit"},
            [("model-aaaaaaaa", "model (aaaaaaaa)", "model"), ("model-bbbbbbbb", "model (bbbbbbbb)", "model")],
        ),
        (
            {"model": "model", "checkpoint": "google/model", "day": 9},
            [("model", "model", "google/model"), ("model-aaaaaaaa", "model (aaaaaaaa)", "model")],
        ),
    ],
)
def test_a_local_checkpoint_takes_neither_label_nor_address_from_another_model(
    tmp_path: Path, others: dict[str, Any], names: list[tuple[str, ...]]
) -> None:
    local = measured(model="model", checkpoint="model", digest="a" * 64, model_type="vit")
    rows = loaded(tmp_path, local, measured(run="other", **others)).newest[["model", "model_label", "checkpoint"]]
    assert sorted(rows.itertuples(index=False, name=None)) == names


# ── Processes ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("flag", "flagged", "is_kept", "verdict"),
    [
        ("doctor-load", 2, False, "faster"),
        ("doctor-load", 3, True, "doubtful"),
        ("doctor-governor", 6, True, "faster"),
    ],
)
def test_a_look_at_the_machine_dooms_a_row_if_half_of_its_processes_had_it(
    flag: str, flagged: int, is_kept: bool, verdict: str, tmp_path: Path
) -> None:
    flags = [(flag,) if at < flagged else () for at in range(6)]
    records = [msgspec.structs.replace(measured(process=at), flags=each) for at, each in enumerate(flags)]
    (row,) = loaded(tmp_path, *records).by_label
    assert (row["flags"], row["verdict"]) == (flag if is_kept else "", verdict)


def test_statuses_and_flags_of_all_processes_count(tmp_path: Path) -> None:
    noisy = msgspec.structs.replace(measured(process=2, status=Status.UNSTABLE), flags=("b", "a"), reason="noise")
    (row,) = loaded(tmp_path, measured(), measured(process=1), noisy).by_label
    assert (row["status"], row["flags"], row["reason"], row["attempts"]) == ("pass", "a b", "", 3)
