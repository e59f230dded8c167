"""`bench check`: every mistake of a contributor is found and placed, not just the first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import measured, measurement

from bench.errors import AtlasError
from bench.exchange import check as checks
from bench.exchange.check import Problem
from bench.records.record import RESULTS, Accuracy, GraphBreak, Graphs, Record, Samples, Source, Status
from bench.records.run_file import append, encode

FOUND = measurement()
CELL = measured().cell


def check(paths: Iterable[Path]) -> list[Problem]:
    return list(checks.check(paths))


def good(**changes: Any) -> Record:
    return msgspec.structs.replace(measured(), **changes)


def found(**changes: Any) -> Record:
    return good(measurement=msgspec.structs.replace(FOUND, **changes))


def written(folder: Path, *records: Record, name: str = "run-1") -> Path:
    path = folder / f"{name}.jsonl"
    append(path, records)
    return path


def test_the_committed_records_are_sound() -> None:
    assert [str(problem) for problem in check([RESULTS])] == []


SOURCE = Source(title="t", url="https://example.org", date="2023", licence="Apache-2.0")
PRINTED = msgspec.structs.replace(
    FOUND, eager=Samples(published_mean_ms=9.3), compiled=Samples(published_mean_ms=7.5), compilation=None
)


@pytest.mark.parametrize(
    "record",
    [
        measured(),
        measured(process=1, status=Status.OOM, reason="too large"),
        measured(model="model", checkpoint="model", digest="ab" * 32, model_type="vit"),
        good(origin="published", measured_at=None, source=SOURCE, measurement=PRINTED),
        measured(
            device_name="NVIDIA T4",
            torch="2.13.0+cu130",
            environment={"driver": "580.95.05", "accelerator": "CUDA 13.0"},
            model="resnet-18",
            checkpoint="microsoft/resnet-18",
        ),
    ],
)
def test_a_good_record_has_no_fault(tmp_path: Path, record: Record) -> None:
    assert check([written(tmp_path, record)]) == []


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (good(run="another"), "run"),
        (good(measured_at=None), "measured_at"),
        (good(origin="published"), "source"),
        (good(status=Status.CRASH, reason=None, measurement=None), "reason"),
        (good(measurement=None), "measurement"),
        (found(compiled=None), "measurement"),
        (found(compiled=Samples()), "measurement.compiled"),
        (found(eager=Samples(published_mean_ms=9.0)), "measurement.eager.rounds_ms"),
        (found(compiled=Samples(rounds_ms=((9.0,),) * 7)), "measurement.compiled.rounds_ms"),
        (found(compiled=Samples(rounds_ms=((0.01,),) * 40)), "measurement"),  # seconds for milliseconds
        (found(accuracy=Accuracy(max_relative_error=float("inf"))), "$.measurement.accuracy.max_relative_error"),
        (good(process=-1), "$.process"),
    ],
)
def test_a_fault_is_told_with_line_field_and_remedy(tmp_path: Path, record: Record, field: str) -> None:
    path = written(tmp_path, measured(process=5), record)
    problem = check([path])[0]
    assert problem.where == f"{path}:2"
    assert problem.field == field or f"`{field}`" in problem.what
    assert problem.remedy


def printed(
    eager_ms: float, compiled_ms: float, *, images_s: float | None = None, batch_size: int | None = None
) -> Record:
    eager = Samples(published_mean_ms=eager_ms, published_images_s=images_s)
    compiled = Samples(published_mean_ms=compiled_ms, batch_size=batch_size)
    figures = msgspec.structs.replace(FOUND, eager=eager, compiled=compiled)
    return good(origin="published", measured_at=None, source=SOURCE, measurement=figures)


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (printed(10.0, 9.0, images_s=5000.0), "measurement.eager.published_images_s"),
        (printed(10.0, 5e6), "measurement.compiled"),
        (printed(500.0, 1.0), "measurement"),
        (printed(0.01, 10.0), "measurement"),
        (printed(500.0, 10.0), None),
        (printed(500.0, 1.0, batch_size=8), None),  # of two batch sizes
    ],
)
def test_mistakes_of_units_are_refused_and_surprises_are_not(tmp_path: Path, record: Record, field: str | None) -> None:
    assert [problem.field for problem in check([written(tmp_path, record)])] == [field] * bool(field)


@pytest.mark.parametrize(
    ("record", "field", "words"),
    [
        (good(status=Status.CRASH, reason="no /home/ann/models/x.bin"), "reason", "/home/ann/models/x.bin"),
        (good(status=Status.OOM, reason="token hf_AbCdEfGhIjKlMnOp"), "reason", "hf_AbCdEfGhIjKlMnOp"),
        (good(command="python -m bench run --checkpoint /data/ann/vit"), "command", "/data/ann/vit"),
        (measured(environment={"settings": {"LD_PRELOAD": "/opt/ann/x.so"}}), "environment", "/opt/ann/x.so"),
        (
            found(graphs=Graphs(graphs=2, breaks=(GraphBreak(reason="x", location="/home/ann/m.py:3"),))),
            "measurement",
            "/home/ann/m.py",
        ),
    ],
)
def test_a_private_detail_is_found(tmp_path: Path, record: Record, field: str, words: str) -> None:
    (problem,) = check([written(tmp_path, record)])
    assert problem.field == field
    assert repr(words) in problem.what
    assert words not in problem.remedy


def test_lines_that_are_no_records_do_not_hide_those_after_them(tmp_path: Path) -> None:
    path = tmp_path / "run-1.jsonl"
    typo = encode(good()).replace(b'"process":0', b'"proces":0')
    path.write_bytes(b"not json\n" + encode(good(schema=99)) + typo + encode(good(run="another")) + b'{"schema":1,"ru')
    problems = check([path])
    assert [problem.where for problem in problems] == [f"{path}:{number}" for number in range(1, 6)]
    assert [problem.is_note for problem in problems] == [False, False, False, False, True]
    assert "schema version 99" in problems[1].what
    assert "proces" in problems[2].what
    assert "incomplete" in problems[4].what


@pytest.mark.parametrize("content", ['{"schema": 8}\n'.encode("utf-16"), bytes(1000), b"<html>\n", b"torn"])
def test_a_file_that_is_no_run_file_is_a_fault(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    assert not any(problem.is_note for problem in check([path]))
    assert check([path])


def test_a_path_that_is_not_there_or_no_record_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    for name, says in (("nowhere", "no such file"), ("notes.txt", "is not a run file")):
        with pytest.raises(AtlasError, match=says):
            check([tmp_path / name])
