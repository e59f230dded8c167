"""`bench check`: every fault is found and placed, not just the first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from stub_worker import measurement
from test_sweep import plan, record

from bench.errors import AtlasError
from bench.exchange.check import Problem, check as check_beside
from bench.records.record import (
    RESULTS,
    Accuracy,
    Compilation,
    Environment,
    GraphBreak,
    Graphs,
    Record,
    Samples,
    Source,
    Status,
)
from bench.records.run_file import append, encode, read

VIT, BEIT = plan("ViT", "BeiT").planned


def check(paths: Iterable[Path], atlas: Path = RESULTS / "measured", *, now: datetime | None = None) -> list[Problem]:
    """What `bench check` finds. Few tests need the imported records, too: to read them takes a second."""
    return list(check_beside(paths, atlas, now=now))


def good(**changes: Any) -> Record:
    return msgspec.structs.replace(record(VIT), **changes)


def written(folder: Path, *records: Record, name: str = "r") -> Path:
    path = folder / f"{name}.jsonl"
    append(path, records)
    return path


def test_the_committed_records_are_sound() -> None:
    assert [str(finding) for finding in check([RESULTS], RESULTS)] == []


def test_good_records_have_no_findings(tmp_path: Path) -> None:
    assert check([written(tmp_path, good(), record(BEIT), good(process=1))]) == []


def test_what_was_measured_later_than_now_is_refused_but_for_clocks_that_differ(tmp_path: Path) -> None:
    now = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
    elsewhere = timezone(timedelta(hours=14))
    times = (now, now + timedelta(minutes=9), now.astimezone(elsewhere), now + timedelta(minutes=11))
    path = written(tmp_path, *(good(process=at, measured_at=each) for at, each in enumerate(times)))
    (problem,) = check([path], now=now)
    assert (problem.where, problem.field) == (f"{path}:4", "measured_at")
    assert "2026-03-01 12:11 is in the future: it is 2026-03-01 12:00 (UTC)" in problem.what
    assert "set the clock" in problem.remedy


CELL, FOUND = good().cell, measurement()
LOCAL = msgspec.structs.replace(CELL, model="model", checkpoint="model", digest="ab" * 32, model_type="vit")


def test_a_local_checkpoint_is_sound_whatever_its_name(tmp_path: Path) -> None:
    named_like_a_known_one = msgspec.structs.replace(LOCAL, model="ViT", checkpoint="ViT", digest="cd" * 32)
    assert check([written(tmp_path, good(cell=LOCAL), good(cell=named_like_a_known_one))]) == []


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"model_type": None}, "cell.digest"),
        ({"digest": None}, "cell.digest"),
        ({"model": "other"}, "cell.model"),
        ({"model": "org/model", "checkpoint": "org/model"}, "cell.checkpoint"),
        ({"model": "x" * 81, "checkpoint": "x" * 81}, "cell.checkpoint"),
    ],
)
def test_a_local_checkpoint_has_one_short_name_and_says_what_it_is(
    tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    cell = msgspec.structs.replace(LOCAL, **changes)
    assert [problem.field for problem in check([written(tmp_path, good(cell=cell))])] == [field]


@pytest.mark.parametrize("digest", ["", "AB" * 32, "ab" * 31, "ab" * 32 + "\n", "<script>"])
def test_a_digest_is_64_hexadecimal_digits(tmp_path: Path, digest: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(encode(good(cell=LOCAL)).replace(b"ab" * 32, msgspec.json.encode(digest)[1:-1]))
    (problem,) = check([path])
    assert "$.cell.digest" in problem.what


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
    "measurement.eager.rounds_ms": good(
        process=6, measurement=msgspec.structs.replace(FOUND, eager=Samples(rounds_ms=((-1.0,),) * 8))
    ),
    "measurement.compiled.rounds_ms": good(
        process=7, measurement=msgspec.structs.replace(FOUND, compiled=Samples(rounds_ms=((9.0,),) * 7))
    ),
    "measurement.compilation.cold_s": good(
        process=8, measurement=msgspec.structs.replace(FOUND, compilation=Compilation(ready_s={"cold": -1.0}))
    ),
}


def test_all_faults_are_listed_with_line_field_and_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, good(), *FAULTS.values())
    findings = check([path])
    for finding, (number, field) in zip(findings, enumerate(FAULTS, start=2), strict=True):
        assert finding.where == f"{path}:{number}"
        assert field == finding.field or f"$.{field}" in finding.what
        assert finding.remedy


def test_milliseconds_and_seconds_mixed_up_are_found(tmp_path: Path) -> None:
    mixed = msgspec.structs.replace(measurement(), compiled=Samples(rounds_ms=((0.01,),) * 8))
    (ratio, *others) = [each.remedy for each in check([written(tmp_path, good(measurement=mixed))])][::-1]
    assert "milliseconds" in ratio
    assert all("milliseconds" in each for each in others), "nor can any device do that"


def test_lines_that_are_no_records_do_not_hide_those_after_them(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    unknown = encode(good(schema=99))
    typo = encode(good()).replace(b'"process":0', b'"proces":0')
    path.write_bytes(b"not json\n" + unknown + typo + encode(good(run="another")))
    findings = check([path])
    assert [finding.where for finding in findings] == [f"{path}:{number}" for number in (1, 2, 3, 4)]
    assert "schema version 99" in findings[1].what
    assert "proces" in findings[2].what


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('{"schema": 8}\n'.encode("utf-16"), "is UTF-16 text"),
        ('{"schema": 8}\n'.encode("utf-16-le"), "is UTF-16 text"),
        (bytes(1000), "ends with zero bytes"),
        (b"\n" * 30_000_000, "has more than 100,000 empty lines"),
    ],
    ids=["UTF-16", "UTF-16 without a mark", "zero bytes", "empty lines"],
)
def test_what_is_no_run_file_is_a_fault_that_says_what_it_is(content: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    (problem,) = check([path], tmp_path / "atlas")
    assert what in problem.what
    assert not problem.is_note


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.jsonl")
    with pytest.raises(AtlasError, match="is not a regular file"):
        check([tmp_path / "r.jsonl"], tmp_path / "atlas")


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
        FOUND, eager=Samples(published_mean_ms=9.3), compiled=Samples(published_mean_ms=7.5), compilation=None
    )
    published = good(origin="published", measured_at=None, source=source, measurement=figures)
    assert check([written(tmp_path, published)]) == []


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="no such file"):
        check([tmp_path / "nowhere"])


def test_numbers_that_json_cannot_carry_are_found(tmp_path: Path) -> None:
    broken = msgspec.structs.replace(FOUND, accuracy=Accuracy(max_relative_error=float("inf")))
    (finding,) = check([written(tmp_path, good(measurement=broken))])
    assert "max_relative_error" in finding.what


# ── Contributions ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_the_atlas_has_already_is_refused(tmp_path: Path) -> None:
    atlas, first = tmp_path / "atlas", good()
    written(atlas, first)
    assert check([atlas], atlas) == []
    same = msgspec.structs.replace(first, run="mine")
    again = written(tmp_path / "mine", same, good(run="mine", process=1), name="mine")
    (finding,) = check([again], atlas)
    assert (finding.where, finding.field) == (f"{again}:1", "cell")
    assert f"{atlas / 'r.jsonl'}:1" in finding.what


def test_published_figures_of_one_source_are_there_once(tmp_path: Path) -> None:
    published = RESULTS / "published" / "huggingface-2023.jsonl"
    first = next(iter(read(published)))
    copied = written(tmp_path, msgspec.structs.replace(first, run="copy"), name="copy")
    (finding,) = check([copied], RESULTS)
    assert "results/published/huggingface-2023.jsonl:1" in finding.what


@pytest.mark.parametrize(
    ("changes", "is_sound"),
    [
        ({"device": "cuda"}, True),
        ({}, False),
        ({"device": "cuda", "dtype": "float16"}, False),
        ({"device": "cuda", "dtype": "float16", "autocast": True}, False),
    ],
)
def test_tf32_is_for_float32_on_cuda(tmp_path: Path, changes: dict[str, Any], is_sound: bool) -> None:
    cell = msgspec.structs.replace(VIT.cell, tf32=True, **changes)
    fields = [finding.field for finding in check([written(tmp_path, good(cell=cell))])]
    assert fields == ([] if is_sound else ["cell.tf32"])


ENVIRONMENT = good().environment


@pytest.mark.parametrize(
    ("record", "field", "words"),
    [
        (good(status=Status.CRASH, reason="no /home/ann/models/x.bin"), "reason", "/home/ann/models/x.bin"),
        (good(status=Status.OOM, reason="from 192.168.17.4 came nothing"), "reason", "192.168.17.4"),
        (good(status=Status.OOM, reason="token hf_AbCdEfGhIjKlMnOp"), "reason", "hf_AbCdEfGhIjKlMnOp"),
        (good(command="python -m bench run --checkpoint /data/ann/vit"), "command", "/data/ann/vit"),
        (
            good(environment=msgspec.structs.replace(ENVIRONMENT, settings={"LD_PRELOAD": "/opt/ann/lib/x.so"})),
            "environment",
            "/opt/ann/lib/x.so",
        ),
        (
            good(
                measurement=msgspec.structs.replace(
                    FOUND, graphs=Graphs(graphs=2, breaks=(GraphBreak(reason="x", location="/home/ann/m.py:3"),))
                )
            ),
            "measurement",
            "/home/ann/m.py",
        ),
    ],
)
def test_what_tells_one_machine_from_others_is_found(tmp_path: Path, record: Record, field: str, words: str) -> None:
    path = written(tmp_path, record)
    (finding,) = check([path])
    assert (finding.where, finding.field) == (f"{path}:1", field)
    assert repr(words) in finding.what
    assert words not in finding.remedy


def test_versions_and_hub_ids_are_no_identity(tmp_path: Path) -> None:
    environment = Environment(
        device_name="NVIDIA T4", torch="2.13.0+cu130", driver="580.95.05", accelerator="CUDA 13.0"
    )
    record = good(
        environment=environment,
        cell=msgspec.structs.replace(CELL, model="resnet-18", checkpoint="microsoft/resnet-18"),
        command="python -m bench run --checkpoint microsoft/resnet-18 --task image-classification",
    )
    assert check([written(tmp_path, record)]) == []


@pytest.mark.parametrize("name", ["NVIDIA Ｈ100", "NVIDIA Н100", "NVIDIA H100®"])
def test_a_device_has_a_name_in_ascii(tmp_path: Path, name: str) -> None:
    environment = msgspec.structs.replace(ENVIRONMENT, device_name=name)
    (finding,) = check([written(tmp_path, good(environment=environment))])
    assert finding.field == "environment.device_name"
    assert ascii(name) in finding.what


@pytest.mark.parametrize("name", ["Vi\u200bT", "\u202eTiV", "Vi\u00adT", "ViT\u3164"])
def test_a_model_has_a_name_without_invisible_or_direction_characters(tmp_path: Path, name: str) -> None:
    path = written(tmp_path, good(cell=msgspec.structs.replace(LOCAL, model=name)))
    (finding,) = check([path])
    assert finding.where == f"{path}:1"
    assert "$.cell.model" in finding.what
    assert finding.remedy


def test_a_model_in_a_folder_with_a_japanese_name_is_sound(tmp_path: Path) -> None:
    cell = msgspec.structs.replace(LOCAL, model="モデル", checkpoint="モデル")
    assert check([written(tmp_path, good(cell=cell))]) == []


@pytest.mark.parametrize(("field", "value"), [("batch_size", 2**24 + 1), ("batch_size", -1), ("input_size", [0, 224])])
def test_a_number_out_of_its_range_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    line = json.loads(encode(good()))
    line["cell"][field] = value
    path = tmp_path / "r.jsonl"
    path.write_text(f"{json.dumps(line)}\n")
    (finding,) = check([path])
    assert finding.where == f"{path}:1"
    assert f"$.cell.{field}" in finding.what
