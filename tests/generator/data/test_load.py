"""Loading: pooled rows, the newest run of each cell, devices told apart, and a clear word about every broken line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import KEEPING, ON_CPU, PUBLISHED, XEON, measured, measurement, rounds, telling, write

from bench.errors import AtlasError
from bench.plans.profiles import PRECISIONS
from bench.records.record import Measurement, Record, Samples, Status
from generator.data import selection
from generator.data.families import family_slug, slugify
from generator.data.load import Results, load
from generator.data.names import device_label, short_name
from generator.data.registry import COLUMNS
from generator.data.selection import comparisons, version_order


def loaded(tmp_path: Path, *records: object) -> Results:
    return load(write(tmp_path, records))  # type: ignore[arg-type]


def devices(results: Results) -> list[str]:
    return [row["device"] for row in results.by_label]


# ── Published rows ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_published_rows_keep_their_digits() -> None:
    results = load(PUBLISHED)
    assert (len(results.by_label), results.records) == (136, 136)
    key = ("a100", "detr", 1, "2.0.1")
    names = ("device", "model", "batch_size", "torch")
    row = next(row for row in results.by_label if tuple(row[name] for name in names) == key)
    assert (row["eager_ms"], row["compiled_ms"]) == (34.619, 19.040)
    assert row["change"] == pytest.approx(19.040 / 34.619 - 1)
    assert row["speedup"] == pytest.approx(34.619 / 19.040)
    assert row["speedup_low"] is None


def test_out_of_memory_is_a_row_with_status_and_reason() -> None:
    failed = [row for row in load(PUBLISHED).by_label if row["status"] != "pass"]
    assert len(failed) == 4
    assert {(row["status"], row["eager_ms"]) for row in failed} == {("eager_oom", None)}
    assert all("OOM" in row["reason"] for row in failed)


# ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_columns_are_those_declared(tmp_path: Path) -> None:
    for results in (load(PUBLISHED), loaded(tmp_path, measured())):
        for row in results.by_label:
            assert list(row) == ["row", *COLUMNS]
            for name, column in COLUMNS.items():
                assert type(row[name]) is column.type or (row[name] is None and column.type is not str), name


def test_no_records_are_an_empty_table(tmp_path: Path) -> None:
    results = load(tmp_path)
    assert (len(results.by_label), results.records, results.problems, results.runs) == (0, 0, (), ())


def test_processes_are_pooled_with_an_interval_over_them(tmp_path: Path) -> None:
    results = loaded(tmp_path, *(measured(process=process) for process in range(3)))
    (row,) = results.by_label
    assert (row["processes"], row["attempts"], results.records) == (3, 3, 3)
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
    assert row["eager_host_bound"] == pytest.approx(0.5, abs=0.01)
    assert row["eager_flop_s"] == pytest.approx(3.51e12, rel=0.01)
    assert row["eager_matmul_share"] == pytest.approx(0.0585, rel=0.01)
    assert row["compiled_copy_share"] == pytest.approx(1e8 / 8e-3 / 3e12, rel=0.01)
    assert (row["graph_breaks"], row["batch_size_recompiles"]) == (2, 2)
    assert json.loads(row["graph_break_reasons"])[0] == {"location": "transformers/vit.py:7", "reason": "call <print>"}
    assert [cause for cause, *_ in json.loads(row["causes"])] == ["host_bound", "cudagraph_skips", "graph_breaks"]
    assert row["break_even_warm_calls_low"] < row["break_even_warm_calls"] < row["break_even_warm_calls_high"]


def test_what_was_not_measured_is_unknown(tmp_path: Path) -> None:
    (row,) = loaded(tmp_path, measured()).by_label
    for name in ("eager_host_bound", "eager_flop_s", "batch_size_recompiles"):
        assert row[name] is None, name
    assert row["causes"] == ""


def test_a_gpu_is_the_same_device_on_every_host(tmp_path: Path) -> None:
    records = [measured(run=f"{cores}", batch_size=cores, environment={"cores": cores}) for cores in (8, 16)]
    assert {row["device"] for row in loaded(tmp_path, *records, measured()).by_label} == {"h200"}


def test_versions_and_modes_have_their_own_order(tmp_path: Path) -> None:
    records = [
        measured(torch=torch, compile_mode=mode)
        for mode in ("reduce-overhead", "max-autotune", "default")
        for torch in ("2.13.0+cu130", "2.9.1", "2.10.0.dev")
    ]
    rows = loaded(tmp_path, *records).by_label
    assert [row["torch"] for row in rows[::3]] == ["2.9.1", "2.10.0.dev", "2.13.0+cu130"]
    assert [row["compile_mode"] for row in rows[:3]] == ["default", "reduce-overhead", "max-autotune"]
    assert version_order("nightly") < version_order("2.0.1")


def test_compiled_out_of_memory_keeps_the_eager_latency(tmp_path: Path) -> None:
    eager_only = Measurement(eager=Samples(rounds_ms=rounds(10.0)))
    (row,) = loaded(tmp_path, measured(status=Status.OOM, reason="CUDA out of memory", figures=eager_only)).by_label
    assert row["eager_ms"] == pytest.approx(10, rel=0.02)
    assert (row["compiled_ms"], row["speedup"]) == (None, None)


def test_wrong_results_are_shown_and_never_compared(tmp_path: Path) -> None:
    wrong = measured(status=Status.FAIL_ACCURACY, figures=measurement(), model="BeiT", checkpoint="microsoft/beit")
    results = loaded(tmp_path, measured(), wrong)
    assert None not in {row["change"] for row in results.by_label}
    assert comparisons(results.table)["model"].tolist() == ["vit"]


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


def test_a_newer_run_in_another_precision_replaces_nothing(tmp_path: Path) -> None:
    others = [measured(run=name, day=2 + at, **PRECISIONS[name]) for at, name in enumerate(PRECISIONS)]
    results = loaded(tmp_path, measured(run="oldest", day=1), *others)
    shown = {(row["dtype"], row["run"]) for row in selection.records(results.newest)}
    assert shown == {(name.replace("-", " "), name) for name in PRECISIONS}


def test_a_measured_run_does_not_hide_published_rows(tmp_path: Path) -> None:
    (tmp_path / "published.jsonl").write_bytes(PUBLISHED.read_bytes())
    records = [measured(device_name="NVIDIA A100", torch="2.0.1", weights="pretrained", input_size=None)]
    results = load(write(tmp_path, records))
    assert len(selection.records(results.newest)) == 137


def test_order_does_not_depend_on_files_and_puts_accelerators_first(tmp_path: Path) -> None:
    records = [
        measured(run="r1", device="cpu", device_name="AMD EPYC 7763 64-Core Processor", environment={"cores": 8}),
        measured(run="r2", device_name="NVIDIA V100"),
        measured(run="r3", device_name="NVIDIA H200"),
    ]
    assert devices(loaded(tmp_path, *records)) == ["h200", "v100", "cpu-amd-epyc-8-cores"]


# ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("device_name", "expected"),
    [
        ("NVIDIA A100", "A100"),
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA H200", "H200"),
        ("Tesla T4", "T4"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("AMD Instinct MI300X", "AMD Instinct MI300X"),
        (XEON, "Intel Xeon 2.50 GHz"),
        ("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", "Intel Core i7-8650U 1.90 GHz"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC 7763"),
        ("Apple M2", "Apple M2"),
        ("CPU", "CPU"),
    ],
)
def test_devices_go_by_the_name_that_people_use(device_name: str, expected: str) -> None:
    assert short_name(device_name) == expected


@pytest.mark.parametrize(
    ("device_name", "expected"),
    [
        (XEON, "Intel Xeon"),
        ("Intel(R) Xeon(R) Processor", "Intel Xeon"),
        ("Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", "Intel Xeon Platinum"),
        ("Intel(R) Xeon(R) CPU E5-2670 0 @ 2.60GHz", "Intel Xeon E5"),
        ("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz", "Intel Xeon E5"),
        ("AMD EPYC 9B14", "AMD EPYC"),
        ("AMD EPYC 7B13", "AMD EPYC"),
        ("AMD EPYC 7763 64-Core Processor", "AMD EPYC"),
        ("AMD Ryzen 9 7950X 16-Core Processor", "AMD Ryzen 9"),
        ("Intel(R) Core(TM) i7-8650U CPU @ 1.90GHz", "Intel Core i7"),
        ("12th Gen Intel(R) Core(TM) i7-12700H", "12th Gen Intel Core i7"),
        ("Intel(R) Core(TM) Ultra 7 155H", "Intel Core Ultra 7"),
        ("Apple M1", "Apple M1"),
        ("Apple M3", "Apple M3"),
        ("Apple M3 Max", "Apple M3 Max"),
        ("Neoverse-N1", "Neoverse-N1"),
        ("Neoverse-V2", "Neoverse-V2"),
        ("7763", "7763"),
        ("CPU", "CPU"),
    ],
)
def test_a_cpu_goes_by_its_product_line(device_name: str, expected: str) -> None:
    assert device_label("cpu", device_name) == expected
    assert device_label("cuda", device_name) == short_name(device_name)


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


def test_slugs_are_safe_as_file_names(tmp_path: Path) -> None:
    cpu = measured(device="cpu", device_name=XEON, environment={"cores": 2})
    assert devices(loaded(tmp_path, cpu)) == ["cpu-intel-xeon-2-cores"]
    assert slugify("../../etc/passwd: “x”") == "etc-passwd-x"
    assert len(slugify("x" * 500)) <= 80


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
    first = loaded(tmp_path, measured(device_name="Foo+", run="z", day=1))
    both = loaded(tmp_path, measured(device_name="Foo-", run="a", day=2))
    (older,), _ = ([row for row in both.by_label if row["device_name"] == name] for name in ("Foo+", "Foo-"))
    assert [older["device"]] == devices(first) == ["foo"]


def test_the_same_device_under_two_brands_is_one(tmp_path: Path) -> None:
    both = loaded(tmp_path, measured(device_name="Tesla T4"), measured(device_name="NVIDIA T4", batch_size=4))
    assert devices(both) == ["t4", "t4"]


def test_two_checkpoints_of_one_label_are_told_apart(tmp_path: Path) -> None:
    rows = loaded(tmp_path, measured(), measured(checkpoint="me/vit-tiny")).by_label
    assert {row["model_label"] for row in rows} == {"ViT (google/vit-base-patch16-224)", "ViT (me/vit-tiny)"}
    assert len({row["model"] for row in rows}) == 2


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_broken_line_is_named_with_file_line_and_remedy(tmp_path: Path) -> None:
    path = write(tmp_path, [measured()]) / "run-1.jsonl"
    path.write_bytes(path.read_bytes() + b'\n{"schema": 1, "run"\n')
    with pytest.raises(AtlasError, match="not valid JSON") as raised:
        load(tmp_path)
    assert raised.value.where == f"{path}:3"
    assert raised.value.remedy


def test_an_unknown_schema_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"schema": 99}\n')
    with pytest.raises(AtlasError, match="schema version 99"):
        load(tmp_path)


def test_a_duplicate_names_both_lines(tmp_path: Path) -> None:
    path = write(tmp_path, [measured(), measured(batch_size=4)]) / "run-1.jsonl"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n", 1) + path.read_bytes().splitlines()[0] + b"\n")
    with pytest.raises(AtlasError, match=r"process 0 of ViT on NVIDIA H200 .* is already in line 1") as raised:
        load(tmp_path)
    assert raised.value.where.startswith(f"{path}:4: $.cell")
    assert "remove" in raised.value.remedy


def test_a_run_in_two_files_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, [measured()]) / "run-1.jsonl"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "copy.jsonl").write_bytes(path.read_bytes())
    with pytest.raises(AtlasError, match=r"'run-1' is already in .*run-1\.jsonl"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("variant", "field"),
    [
        (Samples(rounds_ms=((1.0, 0.0),)), "eager.rounds_ms"),
        (Samples(published_mean_ms=-1.0), "eager.published_mean_ms"),
    ],
)
def test_a_latency_that_cannot_be_is_named(tmp_path: Path, variant: Samples, field: str) -> None:
    write(tmp_path, [measured(figures=Measurement(eager=variant))])
    with pytest.raises(AtlasError, match=rf"Expected `float` >= .*\$\.measurement\.{field}") as raised:
        load(tmp_path)
    assert raised.value.where == f"{tmp_path / 'run-1.jsonl'}:1"


def test_a_line_that_is_still_being_written_is_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path, [measured()]) / "run-1.jsonl"
    path.write_bytes(path.read_bytes() + b'{"schema": 1, "ru')
    assert load(tmp_path).records == 1


def test_a_file_that_grows_is_read_again(tmp_path: Path) -> None:
    assert loaded(tmp_path, measured()).records == 1
    assert loaded(tmp_path, measured(batch_size=4)).records == 2


def test_rows_are_plain_values(tmp_path: Path) -> None:
    (row,) = loaded(tmp_path, measured(status=Status.CRASH, reason="exit code -11")).by_label
    assert row["row"] == 0
    assert (row["eager_ms"], row["threads"], row["graphs"], row["processes"]) == (None, None, None, 0)
    assert (type(row["batch_size"]), type(row["newest"]), row["measured_at"].isoformat()) == (
        int,
        bool,
        "2026-07-01T12:00:00+00:00",
    )


# ── Doubts ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_doubtful_within_a_row_is_so_in_older_runs_too(tmp_path: Path) -> None:
    busy = measured(run="old", day=1, status=Status.UNSTABLE, reason="busy", figures=measurement())
    results = loaded(tmp_path, busy, measured(run="new", day=2))
    verdicts = {row["run"]: (row["verdict"], row["break_even_calls"] is None) for row in results.by_label}
    assert verdicts == {"old": ("doubtful", True), "new": ("faster", False)}
    assert [anomaly.kind for anomaly in results.problems] == [], "nobody needs to mend an older run"


def test_five_rounds_are_too_few_for_an_interval(tmp_path: Path) -> None:
    short = Measurement(eager=Samples(rounds_ms=((20.0,),) * 5), compiled=Samples(rounds_ms=((10.0,),) * 5))
    results = loaded(tmp_path, measured(figures=short))
    assert [(row["speedup"], row["verdict"]) for row in results.by_label] == [(2.0, "doubtful")]
    assert [anomaly.kind for anomaly in results.problems] == ["no_interval"]


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


@pytest.mark.parametrize(("flag", "verdict"), [("doctor-load", "doubtful"), ("doctor-governor", "faster")])
def test_a_row_is_doubted_where_the_machine_was_disturbed(tmp_path: Path, flag: str, verdict: str) -> None:
    results = loaded(tmp_path, msgspec.structs.replace(measured(), flags=(flag,)))
    assert [row["verdict"] for row in results.by_label] == [verdict]


def test_a_command_from_before_memory_was_kept_says_so(tmp_path: Path) -> None:
    old, new = (
        msgspec.structs.replace(measured(**where, batch_size=size), command="python -m bench run")
        for size, where in ((1, ON_CPU), (2, KEEPING))
    )
    commands = {row["batch_size"]: row["command"] for row in loaded(tmp_path, old, new).by_label}
    assert commands == {1: "python -m bench run --malloc default", 2: "python -m bench run"}


def test_the_machine_of_the_reader_comes_first(tmp_path: Path) -> None:
    folder = write(tmp_path, [measured(), measured(run="mine", day=2, **ON_CPU)])
    assert load(folder).newest["device"].tolist() == ["h200", "cpu-intel-xeon-2-cores"]
    mine = load(folder, own_runs=frozenset({"mine"}))
    assert mine.newest["device"].tolist() == ["cpu-intel-xeon-2-cores", "h200"]
    assert mine.own_devices == {"cpu-intel-xeon-2-cores"}
    assert [row["device"] for row in mine.by_label] == ["h200", "cpu-intel-xeon-2-cores"], "labels stay the same"


@pytest.mark.parametrize(
    ("label", "family"),
    [
        ("vit_base_patch16_224", "vit"),
        ("resnet50", "resnet"),
        ("resnetv2_50", "resnet"),
        ("mobilenetv3_small_100", "mobilenet"),
        ("levit_128", "levit"),
        ("ViT", "vit"),
        ("Conditional-DETR", "conditional"),
        ("007", "007"),
        ("res2net50_26w_4s", "res2net"),
        ("resnext50_32x4d", "resnext"),
        ("tf_efficientnetv2_b0", "efficientnet"),
        ("eca_nfnet_l0", "nfnet"),
        ("convnextv2_atto", "convnext"),
    ],
)
def test_the_family_slug_a_model_is_how_its_name_begins(label: str, family: str) -> None:
    assert family_slug(label) == family


# ── Local checkpoints ───────────────────────────────────────────────────────────────────────────────────────────────


def local(name: str, digest: str, **changes: Any) -> Record:
    return measured(model=name, checkpoint=name, digest=digest * 64, model_type="vit", **changes)


def named(results: Results) -> list[tuple[str, str, str]]:
    rows = results.newest[["model", "model_label", "checkpoint"]]
    return sorted(rows.itertuples(index=False, name=None))


def test_two_local_checkpoints_of_one_name_are_two_models(tmp_path: Path) -> None:
    assert named(loaded(tmp_path, local("model", "a"), local("model", "b", run="other"))) == [
        ("model-aaaaaaaa", "model (aaaaaaaa)", "model"),
        ("model-bbbbbbbb", "model (bbbbbbbb)", "model"),
    ]


def test_one_local_checkpoint_of_two_names_is_one_model_under_the_newer(tmp_path: Path) -> None:
    results = loaded(tmp_path, local("old", "a"), local("new", "a", run="other", day=9))
    assert named(results) == [("new-aaaaaaaa", "new", "new")]
    assert len(results.table) == 2


def test_a_local_checkpoint_takes_neither_label_nor_address_from_a_known_model(tmp_path: Path) -> None:
    results = loaded(tmp_path, local("ViT", "a"), measured(run="other", day=9))
    assert named(results) == [
        ("vit", "ViT", "google/vit-base-patch16-224"),
        ("vit-aaaaaaaa", "ViT (aaaaaaaa)", "ViT"),
    ]
