"""`bench check`: every fault is found and placed, not just the first."""

from __future__ import annotations

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
from bench.exchange import texts
from bench.exchange.check import Problem, check as check_beside
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.plans.checkpoints import LocalCheckpoint
from bench.plans.messages import Recipe
from bench.plans.plan import make_plan
from bench.plans.profiles import PRECISIONS, PROFILES, Profile
from bench.records.record import (
    RESULTS,
    Accuracy,
    Compilation,
    Environment,
    GraphBreak,
    Graphs,
    Record,
    Source,
    Status,
    Variant,
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
        process=6, measurement=msgspec.structs.replace(FOUND, eager=Variant(rounds_ms=((-1.0,),) * 8))
    ),
    "measurement.compiled.rounds_ms": good(
        process=7, measurement=msgspec.structs.replace(FOUND, compiled=Variant(rounds_ms=((9.0,),) * 7))
    ),
    "measurement.compilation.cold_s": good(
        process=8, measurement=msgspec.structs.replace(FOUND, compilation=Compilation(cold_s=-1.0))
    ),
}


def test_all_faults_are_listed_with_line_field_and_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, good(), *FAULTS.values())
    findings = check([path])
    assert [(finding.where, finding.field) for finding in findings] == [
        (f"{path}:{number}", field) for number, field in enumerate(FAULTS, start=2)
    ]
    assert all(finding.remedy for finding in findings)


def test_milliseconds_and_seconds_mixed_up_are_found(tmp_path: Path) -> None:
    mixed = msgspec.structs.replace(measurement(), compiled=Variant(rounds_ms=((0.01,),) * 8))
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
        FOUND, eager=Variant(published_mean_ms=9.3), compiled=Variant(published_mean_ms=7.5), compilation=None
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
    same_run = written(tmp_path / "other", good(process=3))
    (finding,) = check([same_run], atlas)
    assert (finding.field, "is already the name of the run in" in finding.what) == ("run", True)


def test_published_figures_of_one_source_are_there_once(tmp_path: Path) -> None:
    published = RESULTS / "published" / "huggingface-2023.jsonl"
    first = next(iter(read(published)))
    copied = written(tmp_path, msgspec.structs.replace(first, run="copy"), name="copy")
    (finding,) = check([copied], RESULTS)
    assert "bench/results/published/huggingface-2023.jsonl:1" in finding.what


def test_a_record_far_from_those_of_its_model_is_refused(tmp_path: Path) -> None:
    written(tmp_path / "atlas", good(), good(process=1))
    slow = msgspec.structs.replace(
        FOUND, eager=Variant(rounds_ms=((90_000.0,),) * 8), compiled=Variant(rounds_ms=((80_000.0,),) * 8)
    )
    path = written(tmp_path, good(run="mine", measurement=slow), name="mine")
    findings = check([path], tmp_path / "atlas")
    assert [finding.field for finding in findings] == ["measurement.eager", "measurement.compiled"]
    assert all("times the latency in other records of ViT" in finding.what for finding in findings)


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
UUID = "GPU-3f2504e0-4f89-41d3-9a0c-0305e82c3301"


@pytest.mark.parametrize(
    ("record", "field", "words"),
    [
        (good(status=Status.CRASH, reason="no /home/ann/models/x.bin"), "reason", "/home/ann/models/"),
        (good(status=Status.OOM, reason=f"out of memory on {UUID}"), "reason", UUID),
        (good(status=Status.OOM, reason="from 192.168.17.4 came nothing"), "reason", "192.168.17.4"),
        (good(status=Status.OOM, reason="rank 0 on gpu-7.cluster.internal"), "reason", "gpu-7.cluster.internal"),
        (good(command="python -m bench run --checkpoint /data/ann/vit"), "command", "/data/ann/vit"),
        (
            good(environment=msgspec.structs.replace(ENVIRONMENT, device_name="T4, serial number: 1560221000331")),
            "environment.device_name",
            "serial number: 1560221000331",
        ),
        (
            good(environment=msgspec.structs.replace(ENVIRONMENT, settings={"LD_PRELOAD": "/opt/ann/lib/x.so"})),
            "environment.settings.LD_PRELOAD",
            "/opt/ann/lib/",
        ),
        (
            good(
                measurement=msgspec.structs.replace(
                    FOUND, graphs=Graphs(graphs=2, breaks=(GraphBreak(reason="x", location="/home/ann/m.py:3"),))
                )
            ),
            "measurement.graphs.breaks.location",
            "/home/ann/",
        ),
    ],
)
def test_what_tells_one_machine_from_others_is_found(tmp_path: Path, record: Record, field: str, words: str) -> None:
    (finding,) = check([written(tmp_path, record)])
    assert finding.field == field
    assert repr(words) in finding.what
    assert words not in finding.remedy


def test_versions_hub_ids_and_what_a_contributor_says_are_no_identity(tmp_path: Path) -> None:
    environment = Environment(
        device_name="NVIDIA T4", torch="2.13.0+cu130", driver="32.0.15.60", accelerator="CUDA 13.0.1.2"
    )
    record = good(
        environment=environment,
        contributor="Ann of example.org",
        cell=msgspec.structs.replace(CELL, model="resnet-18", checkpoint="microsoft/resnet-18"),
        command="python -m bench run --checkpoint microsoft/resnet-18 --task image-classification",
    )
    assert check([written(tmp_path, record)]) == []


LOCALLY = LocalCheckpoint(directory="/home/ann/x", name="my vit", digest="ab" * 32, model_type="vit", has_weights=True)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=list(PROFILES))
@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(task="image-classification", model="ViT"),
        Recipe(task="object-detection", model="DETR", shrunken=True, weights="pretrained"),
        Recipe(task="image-classification", checkpoint="org/vit-x"),
        Recipe(task="image-classification", checkpoint=LOCALLY),
    ],
)
def test_every_command_that_a_plan_prints_is_sound(profile: Profile, recipe: Recipe) -> None:
    for dynamic in (None, True, False):
        made = msgspec.structs.replace(profile, dynamic=dynamic, allow_busy=bool(dynamic), dtypes=tuple(PRECISIONS))
        for planned in make_plan(made, [recipe], "cuda").planned:
            measured = msgspec.structs.replace(record(planned), profile=profile.name)
            assert list(texts.faults(measured)) == []


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "x" * 81])
def test_a_contributor_is_a_name_of_one_line(tmp_path: Path, name: str) -> None:
    (finding,) = check([written(tmp_path, good(contributor=name))])
    assert "contributor" in finding.field + finding.what


# ── Sealed ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("change", ["changed", "removed", "added", "gone", "new", "stranger", "no seals"])
def test_published_figures_are_as_they_were_imported(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "published"
    import_("huggingface-2023", ImportOptions(), folder)
    assert check([tmp_path], tmp_path) == []
    path, seal = folder / "huggingface-2023.jsonl", folder / "seals.toml"
    lines = path.read_bytes().splitlines(keepends=True)
    match change:
        case "changed":
            path.write_bytes(b"".join(lines).replace(b'"published_mean_ms":', b'"published_mean_ms":1', 1))
        case "removed":
            path.write_bytes(b"".join(lines[:-1]))
        case "added":
            path.write_bytes(b"".join([*lines, lines[0].replace(b'"batch_size":1,', b'"batch_size":2,')]))
        case "gone":
            path.unlink()
            (folder / "other.jsonl").write_bytes(b"")
        case "new":
            (folder / "other.jsonl").write_bytes(b"")
        case "stranger":
            (folder / "notes.txt").write_bytes(b"garbage")
        case "no seals":
            seal.unlink()
    said = {problem.what for problem in check([tmp_path], tmp_path)}
    expected = {
        "gone": "is missing",
        "new": "has no seal",
        "no seals": "has no seal",
        "stranger": "is neither a run file",
    }
    assert any(expected.get(change, "has changed since it was imported") in what for what in said)
