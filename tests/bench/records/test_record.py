"""Records: equal after a round trip, strictly decoded, upgraded exactly, and complete after an interrupted write."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import measured, telling
from hostile_values import changed
from hypothesis import example, given

from bench.errors import AtlasError
from bench.records.record import RESULTS, Record, Status, standing
from bench.records.run_file import append, decode, encode, lines, read, run_files

VIT, BEIT = measured(), measured(model="BeiT")
LINE: dict[str, Any] = json.loads(encode(measured(figures=telling())))


@pytest.mark.parametrize("record", [VIT, measured(figures=telling()), measured(status=Status.OOM, reason="too large")])
def test_a_record_survives_its_line(record: Record) -> None:
    line = encode(record)
    assert line.count(b"\n") == line.endswith(b"\n") == 1
    assert decode(line, "x:1") == record


def old(folder: str, number: int) -> dict[str, Any]:
    """Return a line of a committed file."""
    path = next(path for path in run_files(RESULTS / folder) if path.suffix == ".jsonl")
    line: dict[str, Any] = json.loads(path.read_text("utf-8").splitlines()[number])
    assert line["schema"] < 11
    return line


MEASURED, PUBLISHED = old("measured", 0), old("published", 0)


@pytest.mark.parametrize(
    ("dynamic", "variant"),
    [
        ({}, "compile:default"),
        ({"dynamic": True}, "compile:default:dynamic"),
        ({"dynamic": False}, "compile:default:static"),
    ],
)
def test_an_old_line_says_the_same_in_the_new_form(dynamic: dict[str, bool], variant: str) -> None:
    record = decode(json.dumps(MEASURED | {"cell": MEASURED["cell"] | dynamic}).encode(), "x:1")
    cost = MEASURED["measurement"]["compilation"]
    assert (record.cell.variant, record.cell.grad_mode) == (variant, "no_grad")
    assert record.measurement
    assert record.measurement.compilation
    assert record.measurement.compilation.ready_s == {
        start: cost[f"{start}_s"] for start in ("cold", "warm") if f"{start}_s" in cost
    }
    assert "--variant compile:default " in (record.command or "")
    same = msgspec.to_builtins(record)
    del same["cell"]["variant"], same["cell"]["grad_mode"], same["measurement"]["compilation"]["ready_s"]
    before = json.loads(json.dumps(MEASURED))
    before["command"] = same["command"]
    before["schema"] = same["schema"]
    del before["cell"]["compile_mode"]
    for start in ("cold_s", "warm_s"):
        before["measurement"]["compilation"].pop(start, None)
    assert json.loads(json.dumps(same)) == before


@given(changed(MEASURED) | changed(PUBLISHED) | changed(LINE))
@example(MEASURED | {"cell": MEASURED["cell"] | {"dynamic": 1}})
@example(MEASURED | {"measurement": MEASURED["measurement"] | {"compilation": {"cold_s": "long"}}})
def test_whatever_a_line_says_it_is_a_record_or_an_error_that_names_its_field(line: Any) -> None:
    found: AtlasError | None = None
    try:
        decode(json.dumps(line).encode(), "r.jsonl:7")
    except AtlasError as error:
        found = error
    if found:
        assert (found.where, bool(found.remedy)) == ("r.jsonl:7", True)
        assert any(word in found.what for word in ("`", "schema version", "not valid JSON", "Number out of range"))


def with_(place: str, value: Any) -> bytes:
    line = json.loads(json.dumps(LINE))
    *parents, name = place.split(".")
    part = line
    for parent in parents:
        part = part[parent]
    part[name] = value
    return json.dumps(line).encode()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not valid JSON"),
        (b'{"schema":3,"run":"\\ud800"}', "not valid JSON"),
        (b"[1]", "Expected `object`"),
        (b"{}", "missing required field `schema`"),
        (b'{"schema": 99}', "schema version 99 is not known"),
        (b'{"schema": 11}', "missing required field"),
        (with_("measurement.eagre", {}), "eagre"),
        (with_("status", "fine"), r"'fine' - at `\$.status`"),
        (with_("process", -1), r"\$.process"),
        (with_("measured_at", "2026-11-21T03:48:52"), r"\$.measured_at"),
        (with_("cell.device", "gpu"), r"\$.cell.device"),
        (with_("cell.batch_size", 2**24 + 1), r"\$.cell.batch_size"),
        (with_("cell.model", "<script>"), r"characters or a form that the field does not allow - at `\$.cell.model`"),
        (with_("measurement.eager.rounds_ms", [[-1.0]]), r"\$.measurement.eager.rounds_ms"),
        (with_("measurement.compilation.ready_s", {"hot": 1.0}), r"\$.measurement.compilation.ready_s"),
        (with_("source", {"title": "t", "url": "https://x.org", "date": "2023-02-31", "licence": "MIT"}), r"\$.source"),
        (with_("source", {"title": "t", "url": "javascript:x", "date": "2023", "licence": "MIT"}), r"\$.source.url"),
    ],
)
def test_a_broken_line_is_named_with_its_place_and_remedy(line: bytes, message: str) -> None:
    with pytest.raises(AtlasError, match=message) as error:
        decode(line, "run.jsonl:7")
    assert error.value.where == "run.jsonl:7"
    assert error.value.remedy


def test_the_key_tells_cells_processes_and_machines_apart() -> None:
    others = [BEIT, measured(process=1), measured(torch="2.12.0"), measured(device_name="NVIDIA T4")]
    assert VIT.key == measured(day=2).key
    assert len({record.key for record in (VIT, *others)}) == 5


@pytest.mark.parametrize(
    ("statuses", "gave", "expected"),
    [
        ("pass oom unstable", "yyy", "oom"),
        ("pass pass unstable", "yyy", "pass"),
        ("pass unstable", "yy", "unstable"),
        ("unstable throttled pass", "yyy", "throttled"),
        ("timeout pass pass", "nyy", "pass"),  # tried again, and it went well
        ("pass crash pass", "yny", "crash"),
        ("oom timeout", "nn", "oom"),
        ("skipped pass pass", "nyy", "pass"),
        ("pass skipped pass", "yny", "pass"),
        ("skipped", "n", "skipped"),
    ],
)
def test_a_cell_has_its_worst_status_but_noise_and_early_failures_count_less(
    statuses: str, gave: str, expected: str
) -> None:
    each = [Status(status) for status in statuses.split()]
    assert each[standing(each, [answer == "y" for answer in gave])] == expected


def models(path: Path) -> list[str]:
    return [record.cell.model for record in read(path)]


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
@pytest.mark.parametrize("zeros", [b"", bytes(100), bytes(100) + b"\n"])
def test_the_torn_end_of_an_interrupted_write_is_passed_over_and_cut_off(
    tmp_path: Path, kept: int, zeros: bytes
) -> None:
    """A power cut leaves zeros in place of unsynced data, and perhaps the end of the line."""
    path = tmp_path / "new" / "run.jsonl"
    append(path, [VIT])
    with path.open("ab") as file:
        file.write(encode(BEIT)[:-1][:kept] + zeros)
    assert models(path) == ["ViT"]
    assert lines(path)[1] is bool(kept or zeros)
    append(path, [BEIT])
    assert models(path) == ["ViT", "BeiT"]


def test_the_first_bad_line_and_a_repeated_one_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(encode(VIT) + b"\n" + encode(BEIT) + encode(VIT))
    found = read(path)
    assert [next(found).cell.model, next(found).cell.model] == ["ViT", "BeiT"]
    with pytest.raises(AtlasError, match=r"process 0 of ViT on NVIDIA H200 .* is already in line 1") as error:
        next(found)
    assert error.value.where.startswith(f"{path}:4")
    path.write_bytes(encode(VIT) + b"{\n")
    with pytest.raises(AtlasError, match="not valid JSON") as error:
        models(path)
    assert error.value.where == f"{path}:2"


WHOLE = gzip.compress(encode(VIT) + encode(BEIT))


def test_a_compressed_file_has_the_records_of_the_plain_one(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(WHOLE)
    assert list(read(path)) == [VIT, BEIT]
    with pytest.raises(AtlasError, match="is compressed") as error:
        append(path, [VIT])
    assert error.value.remedy == "unpack it first: gunzip run.jsonl.gz"
    assert path.read_bytes() == WHOLE


@pytest.mark.parametrize(
    "content", [WHOLE[:-30], WHOLE[:-8], WHOLE[:-8] + bytes(8), WHOLE + b"more", encode(VIT), b"{"]
)
def test_a_compressed_file_is_whole_or_refused_with_a_remedy(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(AtlasError, match="is not a complete gzip file") as error:
        models(path)
    assert (error.value.where, error.value.remedy) == (str(path), "import it from its source again")
