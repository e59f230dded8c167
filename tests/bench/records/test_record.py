"""Records: equal after a round trip, strictly decoded, and complete after an interrupted write."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, strategies as st
from test_sweep import plan, record

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.importers import huggingface_2023
from bench.records.record import SCHEMA, Measurement, Samples, Status, standing, worst
from bench.records.run_file import MAX_LINE_BYTES, append, decode, encode, read, run_files

VIT, BEIT = plan("ViT", "BeiT").planned
latencies = st.floats(1e-3, 1e6)


def test_a_record_survives_its_line() -> None:
    for each in (record(VIT), record(BEIT, 3, Status.OOM)):
        line = encode(each)
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        assert decode(line, "x:1") == each


def test_a_line_of_an_older_schema_is_read_as_one_of_this() -> None:
    each = record(VIT)
    assert decode(encode(each).replace(f'"schema":{SCHEMA}'.encode(), b'"schema":1'), "x:1") == each


def test_fields_that_are_gone_are_left_out_of_older_lines_alone() -> None:
    each = record(VIT)
    line = json.loads(encode(each))
    line["environment"] |= {"triton": "3.5.0", "settings": {"libc": "glibc 2.36"}}
    line["measurement"]["eager"] |= {"energy_j": 3.0}
    old = decode(json.dumps(line | {"schema": 9, "contributor": "Ann"}).encode(), "x:1")
    assert old.environment.settings == {"libc": "glibc 2.36"}
    assert old.measurement == each.measurement
    with pytest.raises(AtlasError, match="unknown field"):
        decode(json.dumps(line).encode(), "x:1")


@given(st.lists(st.lists(latencies, min_size=1, max_size=5).map(tuple), max_size=5).map(tuple))
def test_every_latency_survives_to_the_last_digit(rounds: tuple[tuple[float, ...], ...]) -> None:
    each = msgspec.structs.replace(record(VIT), measurement=Measurement(eager=Samples(rounds_ms=rounds)))
    assert decode(encode(each), "x:1") == each


def test_the_key_tells_cells_processes_and_machines_apart() -> None:
    assert record(VIT).key == record(VIT).key
    assert len({record(VIT).key, record(BEIT).key, record(VIT, 1).key}) == 3


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ([Status.PASS, Status.OOM, Status.UNSTABLE], Status.OOM),
        ([Status.PASS, Status.PASS, Status.UNSTABLE], Status.PASS),
        ([Status.PASS, Status.UNSTABLE], Status.UNSTABLE),
        ([Status.UNSTABLE, Status.THROTTLED, Status.PASS], Status.THROTTLED),
    ],
)
def test_a_cell_has_its_worst_status_but_noise_counts_from_half_of_the_processes_on(
    statuses: list[Status], expected: Status
) -> None:
    assert statuses[standing(statuses, [True] * len(statuses))] is expected
    processes = [record(VIT, number, Status.OOM) for number in range(3)]
    assert worst(processes) is processes[0]


@pytest.mark.parametrize(
    ("statuses", "gave", "expected"),
    [
        ([Status.TIMEOUT, Status.PASS, Status.PASS], [False, True, True], 1),  # tried again, and it went well
        ([Status.PASS, Status.CRASH, Status.PASS], [True, False, True], 1),
        ([Status.OOM, Status.TIMEOUT], [False, False], 0),
        ([Status.SKIPPED, Status.PASS, Status.PASS], [False, True, True], 1),
        ([Status.PASS, Status.SKIPPED, Status.PASS], [True, False, True], 0),
        ([Status.SKIPPED], [False], 0),
    ],
)
def test_what_failed_before_the_first_figures_was_tried_again(
    statuses: list[Status], gave: list[bool], expected: int
) -> None:
    assert standing(statuses, gave) == expected


def test_appending_and_reading(tmp_path: Path) -> None:
    path = tmp_path / "new" / "run.jsonl"
    append(path, [record(VIT)])
    append(path, [record(BEIT), record(VIT, 1)])
    assert [(each.cell.model, each.process) for each in read(path)] == [("ViT", 0), ("BeiT", 0), ("ViT", 1)]


@pytest.mark.parametrize("lost", [0, 1, 40])
def test_a_line_that_never_reached_the_disk_is_passed_over_and_cut_off(tmp_path: Path, lost: int) -> None:
    """A power cut leaves zeros in place of unsynced data, and perhaps the end of the line."""
    path = tmp_path / "run.jsonl"
    append(path, [record(VIT, run_name="run")])
    line = encode(record(BEIT, run_name="run"))
    with path.open("ab") as file:
        file.write(line[:lost] + bytes(100) + line[lost + 100 :])
    assert [each.cell.model for each in read(path)] == ["ViT"]
    (finding,) = check([path], tmp_path)
    assert finding.is_note
    assert finding.where.endswith(":2")
    append(path, [record(BEIT, run_name="run")])
    assert [each.cell.model for each in read(path)] == ["ViT", "BeiT"]


@pytest.mark.parametrize("kept", [0, 1, 40, -1])
def test_whatever_an_interrupted_write_leaves_is_passed_over_and_cut_off(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "run.jsonl"
    append(path, [record(VIT)])
    torn = encode(record(BEIT))[:-1]
    with path.open("ab") as file:
        file.write(torn[:kept] if kept >= 0 else torn)
    assert [each.cell.model for each in read(path)] == ["ViT"]
    append(path, [record(BEIT)])
    assert [each.cell.model for each in read(path)] == ["ViT", "BeiT"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{", "not valid JSON"),
        (b"[1]", "Expected `object`"),
        (b"{}", "schema version None"),
        (b'{"schema": 99}', "schema version 99 is not known"),
        (b'{"schema": 1}', "missing required field"),
        (encode(record(VIT)).replace(b'"eager"', b'"eagre"'), "eagre"),
        (encode(record(VIT)).replace(b'"status":"pass"', b'"status":"fine"'), "fine"),
        (b" " * (MAX_LINE_BYTES + 1), "longer than"),
        (b'{"schema":' + b"[" * 100_000, "not valid JSON"),
    ],
)
def test_a_broken_line_is_named_with_its_place_and_remedy(line: bytes, message: str) -> None:
    with pytest.raises(AtlasError, match=message) as error:
        decode(line, "run.jsonl:7")
    assert error.value.where == "run.jsonl:7"
    assert error.value.remedy


def test_run_files_are_found_in_a_stable_order(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "a/1.jsonl", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert [path.name for path in run_files(tmp_path)] == ["1.jsonl", "2.jsonl"]
    assert run_files(tmp_path / "b" / "2.jsonl") == [tmp_path / "b" / "2.jsonl"]


def test_the_published_figures_are_kept_to_the_digit() -> None:
    records = list(huggingface_2023.read())
    assert len(records) == 136
    vit = records[0]
    assert vit.measurement is not None
    assert vit.measurement.compiled is not None
    assert (vit.cell.model, vit.measurement.eager.published_mean_ms) == ("ViT", 9.325)
    assert {each.status for each in records} == {Status.PASS, Status.OOM, Status.EAGER_OOM} & {
        each.status for each in records
    }
    assert all(each.reason for each in records if each.status is not Status.PASS)
