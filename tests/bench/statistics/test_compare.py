"""Comparing runs: verdicts cell by cell, whatever else differs said loudly, and an exit status to rely on."""

from __future__ import annotations

import gzip
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stub_worker import ENVIRONMENT
from test_command_line import bench
from test_sweep import plan, record

from bench.commands.comparison_report import report
from bench.errors import AtlasError
from bench.records.record import Environment, Measurement, Record, Samples, Status
from bench.records.run_file import append
from bench.statistics.compare import Comparison, Side, compare, make_side, read_side

PLANNED = {each.cell.model: each for each in plan("ViT", "BeiT", "ResNet", "DETR").planned}


def measured(
    model: str, latencies_ms: Sequence[float], *, eager_ms: Sequence[float] = (), **changes: Any
) -> list[Record]:
    """One record a process, of eight rounds each."""
    records = []
    for process, latency_ms in enumerate(latencies_ms):
        one = eager_ms[process] if eager_ms else 20.0 + 0.01 * process
        found = Measurement(eager=variant(one), compiled=variant(latency_ms))
        records.append(msgspec.structs.replace(record(PLANNED[model], process, found=found), **changes))
    return records


def variant(latency_ms: float) -> Samples:
    return Samples(rounds_ms=((latency_ms,),) * 8)


def failed(model: str, status: Status = Status.OOM) -> Record:
    return record(PLANNED[model], status=status)


def side(name: str, *groups: Sequence[Record]) -> Side:
    return make_side(name, [each for group in groups for each in group])


def compared(before: Sequence[Sequence[Record]], after: Sequence[Sequence[Record]], **options: Any) -> Comparison:
    return compare(side("a", *before), side("b", *after), **options)


STEADY = (10.0, 10.01, 10.02)
TENTH_MORE = tuple(1.1 * each for each in STEADY)


def told(comparison: Comparison) -> str:
    return "\n".join(report(comparison, 0.05))


def verdicts(comparison: Comparison) -> dict[str, str]:
    return dict(zip([cell.model for cell in comparison.cells["cell"]], comparison.cells["verdict"], strict=True))


def test_every_cell_of_both_has_a_change_and_a_verdict() -> None:
    comparison = compared(
        [measured("ViT", STEADY), measured("BeiT", STEADY), measured("ResNet", STEADY), measured("DETR", STEADY)],
        [
            measured("ViT", TENTH_MORE),
            measured("BeiT", [each / 1.1 for each in STEADY]),
            measured("ResNet", STEADY),
            measured("DETR", (9.0, 10.5, 12.0)),
        ],
    )
    assert verdicts(comparison) == {"ViT": "slower", "BeiT": "faster", "ResNet": "same", "DETR": "inconclusive"}
    vit = comparison.cells.iloc[0]
    assert vit["change"] == pytest.approx(0.10)
    assert vit["change_low"] < 0.10 < vit["change_high"]
    assert (vit["before_ms"], vit["after_ms"]) == pytest.approx((10.01, 11.011), rel=1e-4)
    assert comparison.overall.low < comparison.overall.value < comparison.overall.high
    assert comparison.control.value == pytest.approx(0.0)  # eager is what it was


def test_the_other_variant_can_be_asked_for() -> None:
    before, after = measured("ViT", STEADY), measured("ViT", STEADY, eager_ms=(25.0, 25.01, 25.02))
    assert compared([before], [after], variant="eager").cells["change"][0] == pytest.approx(0.25, abs=0.001)
    assert compared([before], [after]).cells["change"][0] == pytest.approx(0.0)


def test_a_change_of_eager_is_not_put_down_to_the_compiler() -> None:
    slow = [2 * each for each in STEADY]
    found = compared([measured("ViT", STEADY)], [measured("ViT", slow, eager_ms=(40.0, 40.1, 40.2))])
    assert "Eager changed too" in told(found)
    found = compared([measured("ViT", STEADY)], [measured("ViT", slow)])
    assert "Eager changed" not in told(found)


def test_one_process_on_each_side_has_no_verdict_and_says_what_to_do() -> None:
    comparison = compared([measured("ViT", [10.0])], [measured("ViT", [20.0])])
    change = comparison.cells.iloc[0]
    assert change["change"] == pytest.approx(1.0)
    assert math.isnan(change["change_low"])
    assert change["verdict"] == "unknown"
    assert "--processes 3" in told(comparison)


def test_a_wrong_or_throttled_result_counts_in_no_comparison() -> None:
    wrong = measured("ViT", TENTH_MORE, status=Status.FAIL_ACCURACY, reason="outputs differ")
    comparison = compared([measured("ViT", STEADY), measured("BeiT", STEADY)], [wrong, measured("BeiT", STEADY)])
    assert verdicts(comparison) == {"ViT": "unknown", "BeiT": "same"}
    assert comparison.overall.value == pytest.approx(0.0)


def test_cells_of_one_run_and_changed_statuses_are_named() -> None:
    comparison = compared(
        [measured("ViT", STEADY), measured("BeiT", STEADY), [failed("DETR")]],
        [measured("ViT", STEADY), [failed("BeiT")], measured("DETR", STEADY), measured("ResNet", STEADY)],
    )
    assert [cell.model for cell in comparison.regressions(0.05)["cell"]] == ["BeiT"]
    text = told(comparison)
    assert "Only in B: 1 case." in text
    assert "Only in A" not in text
    assert "Status changed: BeiT: pass → oom (so it was)." in text
    assert "Status changed: DETR: oom → pass." in text
    assert "now failing: BeiT (oom)." in text


def on(**changes: Any) -> Environment:
    return msgspec.structs.replace(ENVIRONMENT, **changes)


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        (on(threads=4), "threads is 2 in A and 4 in B."),
        (on(settings={"MALLOC_TRIM_THRESHOLD_": "-1"}), "MALLOC_TRIM_THRESHOLD_ is unknown in A and -1 in B."),
    ],
)
def test_other_conditions_are_said_loudly(environment: Environment, says: str) -> None:
    comparison = compared([measured("ViT", STEADY)], [measured("ViT", STEADY, environment=environment)])
    assert told(comparison).startswith(f"Not like for like: {says}")


def test_other_versions_are_what_a_comparison_is_for() -> None:
    comparison = compared([measured("ViT", STEADY)], [measured("ViT", STEADY, environment=on(torch="2.14.0"))])
    assert "Not like for like" not in told(comparison)
    assert "Other changes: torch 2.13.0+cpu → 2.14.0." in told(comparison)


OF_CUDA = {"cell": msgspec.structs.replace(PLANNED["ViT"].cell, device="cuda", tf32=True)}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"environment": on(device_name="Another CPU")}, "Another CPU"),
        ({"environment": on(cores=8)}, "8"),
        ({"environment": on(instruction_sets=("amx_tile", "avx2"))}, "amx_tile"),
        ({"cell": msgspec.structs.replace(PLANNED["ViT"].cell, grad_mode="no_grad")}, "no_grad"),
        (OF_CUDA, "TF32"),
        ({"cell": PLANNED["BeiT"].cell}, "BeiT"),
    ],
)
def test_another_chip_mode_or_model_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(AtlasError, match=f"no case is in both: .* in A, .*{says}.* in B"):
        compared([measured("ViT", STEADY)], [measured("ViT", STEADY, **changes)])


def test_of_a_cell_measured_twice_the_newest_run_counts() -> None:
    earlier = datetime.now(UTC) - timedelta(days=1)
    older = measured("ViT", TENTH_MORE, run="older", measured_at=earlier)
    pooled = side("a", older, measured("ViT", STEADY))
    assert {each.run for (group,) in [pooled.cells.values()] for each in group} == {"r"}


def test_a_variant_of_another_batch_size_is_no_latency_of_the_cell() -> None:
    """A source may have measured eager at 1024 images and compiled at 256: its times say nothing of each other."""
    found = Measurement(eager=variant(20.0), compiled=msgspec.structs.replace(variant(1.0), batch_size=256))
    cell = compared([measured("ViT", STEADY)], [[record(PLANNED["ViT"], found=found)]]).cells.iloc[0]
    assert math.isnan(cell["after_ms"])
    assert math.isnan(cell["change"])
    assert cell["verdict"] == "unknown"
    same = Measurement(eager=found.eager, compiled=msgspec.structs.replace(variant(1.0), batch_size=1))
    assert compared([measured("ViT", STEADY)], [[record(PLANNED["ViT"], found=same)]]).cells["after_ms"][0] == 1.0


def test_a_side_is_a_path_or_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results"
    append(results / "measured" / "2026-01-02_some.jsonl", measured("ViT", STEADY))
    named = [results, results / "measured", "measured", "measured/2026-01-02_some.jsonl", "2026-01-02_some"]
    assert {len(read_side(str(each), results).cells) for each in named} == {1}
    lines = (results / "measured" / "2026-01-02_some.jsonl").read_bytes()
    (results / "published").mkdir()
    (results / "published" / "packed-2.9.1.jsonl.gz").write_bytes(gzip.compress(lines))
    for name in ("packed-2.9.1", "published/packed-2.9.1.jsonl.gz"):
        assert len(read_side(name, results).cells) == 1
    with pytest.raises(AtlasError, match="is not known") as error:
        read_side("2026-01-02_same", results)
    assert "2026-01-02_some" in error.value.remedy


@pytest.fixture
def runs(tmp_path: Path) -> tuple[str, str]:
    """ViT slower by 10%, BeiT as it was."""
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    append(paths[0], [*measured("ViT", STEADY), *measured("BeiT", STEADY)])
    append(paths[1], [*measured("ViT", TENTH_MORE), *measured("BeiT", STEADY)])
    return str(paths[0]), str(paths[1])


def test_the_status_tells_a_regression(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("compare", *runs) == 1
    text = capsys.readouterr().out
    assert "Regressions, slower by more than 5% or now failing: ViT (+10.0%)." in text
    assert re.search(r"ViT on Test CPU @ 1GHz +10\.0 +11\.0 +\+10\.0% +\+9\.\d% to \+10\.\d% +3 \+ 3 +slower\n", text)
    assert bench("compare", *runs, "--threshold", "15") == 0
    assert "No regression: of 2 cases with a verdict, none is slower by more than 15%" in capsys.readouterr().out
    assert bench("compare", *reversed(runs)) == 0
    assert bench("compare", *runs, "--variant", "eager") == 0


def test_a_broken_file_is_bad_input(runs: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(runs[1]).write_bytes(b"oops\n")
    assert bench("compare", *runs) == 2
    assert f"{runs[1]}:1: not valid JSON" in capsys.readouterr().err
    Path(runs[1]).write_bytes(b"")
    assert bench("compare", *runs) == 2
    assert "contains no records" in capsys.readouterr().err


def published(folder: Path, name: str, eager_ms: float | None, compiled_ms: float | None = None) -> str:
    """A run file with one published row."""
    sides = [Samples(published_mean_ms=each) if each else None for each in (eager_ms, compiled_ms)]
    found = Measurement(eager=sides[0] or Samples(), compiled=sides[1])
    status = Status.PASS if eager_ms and compiled_ms else Status.SKIPPED
    row = record(PLANNED["ViT"], found=found, status=status)
    append(folder / f"{name}.jsonl", [msgspec.structs.replace(row, origin="published", run=name)])
    return str(folder / f"{name}.jsonl")


@pytest.mark.parametrize(
    ("before", "after", "status", "says"),
    [
        ((50.0, 102.0), (50.0, 205.0), 1, "Regressions, slower by more than 5% or now failing: ViT (+101.0%)."),
        ((50.0, 102.0), (50.0, 103.0), 0, "No regression: of 1 case with a verdict"),
        ((102.0, None), (205.0, None), 1, "Eager latency, A → B: 1 slower"),
        ((102.0, None), (None, 205.0), 2, "Nothing can be judged: no case has a verdict."),
    ],
)
def test_published_files_are_judged_without_an_interval(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    before: tuple[float | None, float | None],
    after: tuple[float | None, float | None],
    status: int,
    says: str,
) -> None:
    assert bench("compare", published(tmp_path, "a", *before), published(tmp_path, "b", *after)) == status
    assert says in capsys.readouterr().out


def test_a_csv_is_to_be_imported_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("model\n")
    assert bench("compare", str(tmp_path / "a.csv"), str(tmp_path / "a.csv")) == 2
    assert "import it first: python -m bench import" in capsys.readouterr().err
