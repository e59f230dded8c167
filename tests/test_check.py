"""`bench check`: every fault is found and placed, not just the first."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stub_worker import measurement
from test_sweep import plan, record

from bench.check import check
from bench.errors import AtlasError
from bench.record import RESULTS, Accuracy, Arm, Compilation, Record, Source, Status, append, encode

VIT, BEIT = plan("ViT", "BeiT").planned


def good(**changes: Any) -> Record:
    return msgspec.structs.replace(record(VIT), **changes)


def written(folder: Path, *records: Record, name: str = "r") -> Path:
    path = folder / f"{name}.jsonl"
    append(path, records)
    return path


def test_the_committed_records_are_sound() -> None:
    assert [str(finding) for finding in check([RESULTS])] == []


def test_good_records_have_no_findings(tmp_path: Path) -> None:
    assert list(check([written(tmp_path, good(), record(BEIT), good(process=1))])) == []


CELL, FOUND = good().cell, measurement()
FAULTS = {
    "cell": good(),  # written twice
    "run": good(process=1, run="another"),
    "measured_at": good(process=2, measured_at=datetime.now(UTC) + timedelta(days=9)),
    "source": good(process=3, origin="published"),
    "reason": good(process=4, status=Status.CRASH, reason=None, measurement=None),
    "measurement": good(process=5, measurement=None),
    "cell.device": good(cell=msgspec.structs.replace(CELL, device="gpu")),
    "cell.dtype": good(cell=msgspec.structs.replace(CELL, dtype="float33")),
    "cell.compile_mode": good(cell=msgspec.structs.replace(CELL, compile_mode="fast")),
    "cell.batch_size": good(cell=msgspec.structs.replace(CELL, batch_size=0)),
    "cell.checkpoint": good(cell=msgspec.structs.replace(CELL, checkpoint="google/vit-large")),
    "process": good(process=-1),
    "measurement.eager": good(
        process=6, measurement=msgspec.structs.replace(FOUND, eager=Arm(rounds_ms=((-1.0,),) * 8))
    ),
    "measurement.compiled.rounds_ms": good(
        process=7, measurement=msgspec.structs.replace(FOUND, compiled=Arm(rounds_ms=((9.0,),) * 7))
    ),
    "measurement.compilation.cold_s": good(
        process=8, measurement=msgspec.structs.replace(FOUND, compilation=Compilation(cold_s=-1.0))
    ),
}


def test_all_faults_are_listed_with_line_field_and_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, good(), *FAULTS.values())
    findings = list(check([path]))
    assert [(finding.where, finding.field) for finding in findings] == [
        (f"{path}:{number}", field) for number, field in enumerate(FAULTS, start=2)
    ]
    assert all(finding.remedy for finding in findings)


def test_milliseconds_and_seconds_mixed_up_are_found(tmp_path: Path) -> None:
    mixed = msgspec.structs.replace(measurement(), compiled=Arm(rounds_ms=((0.01,),) * 8))
    (finding,) = check([written(tmp_path, good(measurement=mixed))])
    assert "milliseconds" in finding.remedy


def test_lines_that_are_no_records_do_not_hide_those_after_them(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    unknown = encode(good(schema=99))
    typo = encode(good()).replace(b'"process":0', b'"proces":0')
    path.write_bytes(b"not json\n" + unknown + typo + encode(good(run="another")))
    findings = list(check([path]))
    assert [finding.where for finding in findings] == [f"{path}:{number}" for number in (1, 2, 3, 4)]
    assert "schema version 99" in findings[1].what
    assert "proces" in findings[2].what


def test_a_torn_last_line_is_a_note(tmp_path: Path) -> None:
    path = written(tmp_path, good())
    with path.open("ab") as file:
        file.write(b'{"schema":1,"ru')
    (finding,) = check([path])
    assert finding.is_note
    assert finding.where == f"{path}:2"


def test_published_figures_need_no_raw_samples(tmp_path: Path) -> None:
    source = Source(title="t", url="https://example.org", date="2023", licence="Apache-2.0")
    figures = msgspec.structs.replace(
        FOUND, eager=Arm(published_mean_ms=9.3), compiled=Arm(published_mean_ms=7.5), compilation=None
    )
    published = good(origin="published", measured_at=None, source=source, measurement=figures)
    assert list(check([written(tmp_path, published)])) == []


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="no such file"):
        list(check([tmp_path / "nowhere"]))


def test_numbers_that_json_cannot_carry_are_found(tmp_path: Path) -> None:
    broken = msgspec.structs.replace(FOUND, accuracy=Accuracy(max_relative_error=float("inf")))
    (finding,) = check([written(tmp_path, good(measurement=broken))])
    assert "max_relative_error" in finding.what
