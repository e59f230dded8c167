"""Compressed run files: read like plain ones, whole or refused, the same bytes every time, and never appended to."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import msgspec
import pytest
from test_sweep import plan, record

from bench.errors import AtlasError
from bench.exchange import transfer
from bench.exchange.check import check
from bench.exchange.source_files import ImportOptions
from bench.records import run_file
from bench.records.record import Record
from bench.records.run_file import MAX_LINE_BYTES, append, compressed, encode, lines, name_of, read, run_files, run_of

VIT, BEIT = plan("ViT", "BeiT").planned


RECORDS = [record(VIT, process, run_name="run") for process in range(4)]


def records(count: int = 3) -> list[Record]:
    return RECORDS[:count]


LINES = b"".join(map(encode, records()))


def packed(folder: Path, content: bytes, name: str = "run.jsonl.gz") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content))
    return path


def test_a_compressed_file_has_the_records_of_the_plain_one(tmp_path: Path) -> None:
    path = packed(tmp_path, LINES)
    assert list(read(path)) == records()
    assert [number for number, _ in lines(path)] == [1, 2, 3]
    assert not list(check([path], tmp_path))


def test_it_is_the_same_for_the_same_lines_and_any_tool_unpacks_it(tmp_path: Path) -> None:
    assert compressed(LINES) == compressed(LINES)
    assert gzip.decompress(compressed(LINES)) == LINES
    assert compressed(LINES)[4:8] == bytes(4), "a time would change it"
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(compressed(LINES))
    assert subprocess.run(["gzip", "-dc", path], check=True, capture_output=True).stdout == LINES


def test_its_last_line_needs_no_end_since_no_write_was_interrupted(tmp_path: Path) -> None:
    assert list(read(packed(tmp_path, LINES.rstrip(b"\n")))) == records()


WHOLE = gzip.compress(LINES)


@pytest.mark.parametrize(
    "content",
    [
        WHOLE[: len(WHOLE) // 2],  # torn
        WHOLE[:-8],  # without its checksum
        WHOLE[:-3],
        WHOLE[:-8] + bytes(8),  # with another one
        WHOLE + b"more",
        LINES,  # not compressed at all
    ],
)
def test_what_is_no_whole_gzip_file_is_refused_with_a_remedy(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(AtlasError, match="is not a complete gzip file") as error:
        list(read(path))
    assert error.value.where == str(path)
    assert error.value.remedy == "import it from its source again"
    (fault,) = [problem for problem in check([path], tmp_path) if not problem.field]
    assert "is not a complete gzip file" in fault.what


@pytest.mark.parametrize("end", [b'{"schema":', b"\0" * 50, b"\0" * 50 + b"\n"])
def test_no_line_of_it_is_passed_over(tmp_path: Path, end: bytes) -> None:
    """What an interrupted write leaves in a plain file is a mistake in one that was written at once."""
    path = packed(tmp_path, LINES + end)
    with pytest.raises(AtlasError, match="not valid JSON") as error:
        list(read(path))
    assert error.value.where == f"{path}:4"


def test_what_unpacks_to_one_endless_line_is_refused_before_it_is_held(tmp_path: Path) -> None:
    path = packed(tmp_path, LINES + bytes(3 * MAX_LINE_BYTES))
    assert path.stat().st_size < MAX_LINE_BYTES / 100
    found: list[bytes] = []
    with pytest.raises(AtlasError, match="the line is longer than") as error:
        found.extend(line for _, line in lines(path))
    assert error.value.where == f"{path}:4"
    assert b"".join(found) == LINES


def test_what_unpacks_to_endless_lines_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_file, "MAX_UNPACKED_BYTES", 10 * len(LINES))
    assert len(list(read(packed(tmp_path, LINES * 10)))) == 30
    for content in (LINES * 11, LINES + b"\n" * 10 * len(LINES)):
        with pytest.raises(AtlasError, match="unpacks to more than") as error:
            list(read(packed(tmp_path, content)))
        assert error.value.remedy == "split it, and import the parts"
    plain = tmp_path / "plain.jsonl"
    plain.write_bytes(LINES * 11)
    assert len(list(read(plain))) == 33


def test_nothing_is_appended_to_it(tmp_path: Path) -> None:
    path = packed(tmp_path, LINES)
    before = path.read_bytes()
    with pytest.raises(AtlasError, match="is compressed") as error:
        append(path, records())
    assert error.value.remedy == "unpack it first: gunzip run.jsonl.gz"
    assert path.read_bytes() == before


def test_names_and_runs(tmp_path: Path) -> None:
    assert (name_of("a.b"), name_of("a.b", compressed=True)) == ("a.b.jsonl", "a.b.jsonl.gz")
    assert {run_of(tmp_path / name) for name in ("a.b.jsonl", "a.b.jsonl.gz")} == {"a.b"}
    for name in ("b/2.jsonl.gz", "a/1.jsonl", "a/notes.gz", "a/x.json.gz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in run_files(tmp_path)] == ["1.jsonl", "2.jsonl.gz"]


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """The records of a source, which a test fills; three of them are many."""
    found: list[Record] = []
    monkeypatch.setattr(transfer, "COMPRESS_FROM", 3)
    monkeypatch.setattr("bench.exchange.importers.timm.read", lambda _: iter(found))
    return found


def test_an_import_of_many_records_is_compressed_and_replaces_an_earlier_one(
    tmp_path: Path, source: list[Record]
) -> None:
    other = msgspec.structs.replace(record(BEIT), run="other")
    for count, name in ((2, "run.jsonl"), (3, "run.jsonl.gz"), (4, "run.jsonl.gz"), (1, "run.jsonl")):
        source[:] = [*records(count), other]
        written = transfer.import_("timm", ImportOptions(), tmp_path)
        assert [path.name for path in written] == [name, "other.jsonl"]
        assert run_files(tmp_path) == sorted(written)
        assert list(read(tmp_path / name)) == records(count)


def test_an_import_that_would_unpack_to_too_much_stays_plain(
    tmp_path: Path, source: list[Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_file, "MAX_UNPACKED_BYTES", len(LINES))
    for count, name in ((3, "run.jsonl.gz"), (4, "run.jsonl")):
        source[:] = records(count)
        assert [path.name for path in transfer.import_("timm", ImportOptions(), tmp_path)] == [name]
        assert len(list(read(tmp_path / name))) == count
