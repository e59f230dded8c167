"""The database of records: what comes out never depends on what is in it."""

from __future__ import annotations

import gzip
import os
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from archive import write_archive
from atlas_data import KEEPING, ON_CPU, PUBLISHED, measured, write
from conftest import ROOT, THOROUGH

from bench.errors import AtlasError
from bench.records import run_file
from bench.records.record import Measurement, Status
from generator.data import archive, load as loading, selection, table
from generator.data.lint import lint
from generator.data.load import Results, load


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records are kept like many."""
    monkeypatch.setattr(archive, "WORTH_KEEPING", 1)
    monkeypatch.setattr(archive, "BATCH", 100_000)


@pytest.fixture
def files_read(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose records are read because they are new."""
    read: list[Path] = []
    insert = archive._insert

    def noted(database: archive.Database, batch: Mapping[str, archive.Stamp]) -> None:
        read.extend(map(Path, batch))
        insert(database, batch)

    monkeypatch.setattr(archive, "_insert", noted)
    return read


def plain(records: Path) -> Results:
    """Without any cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(archive, "WORTH_KEEPING", 10**12)
        patch.setattr(table, "_LAST", {})
        return load(records)


def same(one: Results, other: Results) -> None:
    assert list(one.by_label) == list(other.by_label)
    assert one.table.equals(other.table)
    assert one.newest.equals(other.newest)
    assert one.problems == other.problems
    assert (one.records, one.runs, one.superseded) == (other.records, other.runs, other.superseded)
    assert one.rounds_ms == other.rounds_ms


def test_a_cached_archive_is_the_same_and_reads_no_file(tmp_path: Path, files_read: list[Path]) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    first = load(records, tmp_path / "cache")
    assert set(files_read) == set(records.iterdir())
    files_read.clear()
    same(load(records, tmp_path / "cache"), first)
    assert not files_read
    same(plain(records), first)


def test_a_new_record_reads_its_file_and_no_other(tmp_path: Path, files_read: list[Path]) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    load(records, tmp_path / "cache")
    files_read.clear()
    run = sorted(records.iterdir())[2]
    write(records, [measured(run=run.stem)])
    after = load(records, tmp_path / "cache")
    assert set(files_read) == {run}
    same(after, plain(records))


def test_rows_of_files_that_stay_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    before, read, measurements = load(records), list[Path](), archive.measurements

    def noted(path: str, stamp: archive.Stamp) -> Sequence[Measurement | None]:
        read.append(Path(path))
        return measurements(path, stamp)

    monkeypatch.setattr(table, "measurements", noted)
    same(load(records), before)
    assert not read
    run = sorted(records.iterdir())[2]
    write(records, [measured(run=run.stem)])
    after = load(records)
    assert read == [run]
    same(after, plain(records))


def test_a_new_measurement_leaves_the_published_rows_as_they_are(tmp_path: Path) -> None:
    """Its GPU stands before published ones, so their labels change, and what the lint finds in them does not."""
    records = write(tmp_path / "records", [measured(run="first")])
    shutil.copy(PUBLISHED, records)
    before = load(records, tmp_path / "cache")
    write(records, [measured(run="second", device_name="NVIDIA A10")])
    after = load(records, tmp_path / "cache")
    kept = [one is other for one, other in zip(before.parts, after.parts, strict=True)]
    assert kept == [False, True]
    assert any(each.kind == "device_order" for each in after.problems)
    assert all(each in after.problems for each in lint(after.rows[after.rows["newest"]]))
    same(after, plain(records))


@pytest.mark.parametrize("history", [20, 5_000])
def test_whatever_happens_to_files_and_cache_the_rows_are_those_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: int
) -> None:
    """Files grow, go, come back and are renamed; the database is cut, overwritten and removed."""
    monkeypatch.setattr(loading, "HISTORY", history)
    dice = random.Random(5)
    records, cache = write_archive(tmp_path / "records", 100, models=1), tmp_path / "cache"
    away: dict[Path, bytes] = {}
    for step in range(400 if THOROUGH else 8):
        paths = sorted(records.iterdir())
        match dice.randrange(6):
            case 0:
                write(records, [measured(run=dice.choice(paths).stem, checkpoint=f"c{step}")])
            case 1 if len(paths) > 2:
                path = dice.choice(paths)
                away[path] = path.read_bytes()
                path.unlink()
            case 2 if away:
                path, content = away.popitem()
                path.write_bytes(content)
            case 3:
                path = dice.choice(paths)
                path.rename(path.with_stem(f"{dice.randrange(10)}{path.stem}"))
            case _:
                kept = sorted(path for path in cache.rglob("*") if path.is_file())
                for path in dice.sample(kept, min(2, len(kept))):
                    flipped = bytearray(path.read_bytes())
                    for _ in range(20):
                        flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
                    dice.choice((path.unlink, lambda: os.truncate(path, 99), lambda: path.write_bytes(flipped)))()  # noqa: B023
        same(load(records, cache), plain(records))


def test_a_mistake_is_said_and_what_was_read_before_is_kept(tmp_path: Path, files_read: list[Path]) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    broken = max(records.iterdir())
    sound = broken.read_bytes()
    broken.write_bytes(sound + b"{}\n")
    with pytest.raises(AtlasError) as raised:
        load(records, tmp_path / "cache")
    assert raised.value.where.startswith(str(broken))
    files_read.clear()
    broken.write_bytes(sound)
    found = load(records, tmp_path / "cache")
    assert broken in files_read
    assert set(files_read) < set(records.iterdir())
    same(found, plain(records))


def test_a_file_without_records_adds_nothing(tmp_path: Path) -> None:
    records = write(tmp_path / "records", [measured()])
    whole = plain(records)
    (records / "blank.jsonl").write_text("\n")
    (records / "empty.jsonl").touch()
    (records / "torn.jsonl").write_bytes(b'{"schema":')
    same(load(records, tmp_path / "cache"), whole)


@pytest.mark.parametrize("end", [b'{"schema":', b"\0" * 50 + b"\n", b'{"schema":1}'])
def test_what_an_interrupted_write_left_is_no_record(tmp_path: Path, end: bytes) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    whole = plain(records)
    path = max(records.iterdir())
    path.write_bytes(path.read_bytes() + end)
    same(load(records, tmp_path / "cache"), whole)


def packed(records: Path) -> Path:
    """Compress one of the files, and return it."""
    plain_file = max(records.iterdir())
    path = plain_file.with_name(f"{plain_file.name}.gz")
    path.write_bytes(run_file.compressed(plain_file.read_bytes()))
    plain_file.unlink()
    return path


def test_a_compressed_file_gives_the_same_rows(tmp_path: Path, files_read: list[Path]) -> None:
    records = write_archive(tmp_path / "records", 60, models=3)
    whole = plain(records)
    path = packed(records)
    same(plain(records), whole)
    same(load(records, tmp_path / "cache"), whole)
    files_read.clear()
    same(load(records, tmp_path / "cache"), whole)
    assert files_read == []
    path.touch()
    same(load(records, tmp_path / "cache"), whole)
    assert files_read == [path]


@pytest.mark.parametrize("change", [lambda lines: lines.rstrip(b"\n"), lambda lines: lines.replace(b"\n", b"\n\n")])
def test_a_compressed_file_is_read_the_same_by_both_readers(tmp_path: Path, change: Callable[[bytes], bytes]) -> None:
    """What DuckDB refuses is read strictly: neither counts a line that the other does not."""
    records = write_archive(tmp_path / "records", 20, models=1)
    whole = plain(records)
    path = packed(records)
    path.write_bytes(gzip.compress(change(gzip.decompress(path.read_bytes()))))
    same(plain(records), whole)
    path.write_bytes(path.read_bytes() + bytes(9))  # padding, which Python's reader takes and DuckDB does not
    same(plain(records), whole)


@pytest.mark.parametrize("left", [-1, -8, 200])
def test_half_a_compressed_file_is_told_and_not_kept(tmp_path: Path, left: int) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    path = packed(records)
    path.write_bytes(path.read_bytes()[:left])
    for cache in (tmp_path / "cache", tmp_path / "cache", tmp_path / "other"):
        with pytest.raises(AtlasError, match="is not a complete gzip file") as error:
            load(records, cache)
        assert error.value.where == str(path)


def test_another_program_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files_read: list[Path]) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    load(records, tmp_path / "cache")
    files_read.clear()
    (old,) = (tmp_path / "cache").rglob("*.duckdb")
    monkeypatch.setattr(archive, "VERSION", "another")
    load(records, tmp_path / "cache")
    assert files_read
    assert not old.exists()


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    (tmp_path / "file").write_text("not a folder")
    assert load(records, tmp_path / "file").records == 20


def test_a_database_that_another_process_uses_is_done_without(tmp_path: Path) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    first = load(records, tmp_path / "cache")
    (database,) = (tmp_path / "cache").rglob("*.duckdb")
    program = f"import duckdb, time; c = duckdb.connect({str(database)!r}); print('here', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as other:
        assert other.stdout
        other.stdout.readline()
        same(load(records, tmp_path / "cache"), first)
        other.kill()
    same(load(records, tmp_path / "cache"), first)
    assert database.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_load_that_is_killed_at_any_moment_spoils_nothing(tmp_path: Path) -> None:
    records, cache = write_archive(tmp_path / "records", 400, models=1), tmp_path / "cache"
    program = (
        "from pathlib import Path; from generator.data import archive; from generator.data.load import load\n"
        f"archive.WORTH_KEEPING = 1; archive.BATCH = 50_000\n"
        f"print('here', flush=True); load(Path({str(records)!r}), Path({str(cache)!r}))"
    )
    whole = plain(records)
    for wait in (0.05, 0.15, 0.3):
        process = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE)
        assert process.stdout
        process.stdout.readline()
        threading.Timer(wait, process.kill).start()
        process.wait()
    same(load(records, cache), whole)


def test_no_connection_is_left_open(tmp_path: Path) -> None:
    """The generator forks processes after it has loaded."""
    records = write_archive(tmp_path / "records", 20, models=1)
    load(records, tmp_path / "cache")
    (database,) = (tmp_path / "cache").rglob("*.duckdb")
    program = f"import duckdb; duckdb.connect({str(database)!r})"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_long_history_leaves_the_newest_of_each_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = write_archive(tmp_path / "records", 250, models=1)
    whole = plain(records)
    monkeypatch.setattr(loading, "HISTORY", 60)
    short = load(records, tmp_path / "cache")
    assert short.superseded == len(whole.by_label) - len(short.by_label) > 0
    assert (short.records, short.runs) == (whole.records, whole.runs)
    assert list(short.by_label) == [{**row, "row": label} for label, row in enumerate(selection.records(whole.newest))]


def grow(path: Path) -> None:
    write(path.parent, [measured(run=path.stem)])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("change", [grow, empty])
def test_a_file_that_changes_while_it_is_read_is_told_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    """What it held then would be taken for what it held before, once that is back."""
    records = write_archive(tmp_path / "records", 100, models=1)
    last = max(records.iterdir())
    sound = last.read_bytes()
    read = archive._read

    def meanwhile(database: archive.Database, paths: Sequence[str]) -> Sequence[tuple[str, int, str]]:
        new = read(database, paths)
        if last.read_bytes() == sound:
            change(last)
        return new

    with monkeypatch.context() as patch:
        patch.setattr(archive, "_read", meanwhile)
        patch.setattr(archive, "BATCH", 10**9)
        with pytest.raises(AtlasError, match="changed while it was being read") as raised:
            load(records, tmp_path / "cache")
    assert raised.value.where == str(last)
    last.write_bytes(sound)
    same(load(records, tmp_path / "cache"), plain(records))


def with_threads(threads: int) -> dict[str, Any]:
    return {**ON_CPU, "environment": {"cores": 2, "threads": threads}}


@pytest.mark.parametrize("history", [0, 5_000])
def test_the_record_that_stands_for_a_cell_is_the_same_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: int
) -> None:
    """What failed before the first pair of latencies does not count, nor what it ran on."""
    monkeypatch.setattr(loading, "HISTORY", history)
    failed = measured(run="a", status=Status.CRASH, reason="out of threads", **with_threads(1))
    others = measured(run="a", process=1, **with_threads(2)), measured(run="b", day=2, **with_threads(2))
    records = write(tmp_path / "records", [failed, *others])
    results = load(records, tmp_path / "cache")
    same(results, plain(records))
    assert [row["threads"] for row in selection.records(results.newest)] == [2]


def test_a_long_history_leaves_both_ways_of_freeing_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "HISTORY", 0)
    runs = [("a", ON_CPU), ("b", ON_CPU), ("c", KEEPING), ("d", KEEPING)]
    write(tmp_path / "records", [measured(run=run, day=day, **way) for day, (run, way) in enumerate(runs, start=1)])
    results = load(tmp_path / "records", tmp_path / "cache")
    assert [(row["run"], row["newest"]) for row in results.by_label] == [("b", False), ("d", True)]
    assert results.superseded == 2


def test_many_rows_are_grouped_and_read_like_few(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = load(write_archive(tmp_path / "records", 100, models=1)).table
    cells = rows.assign(device=rows["device"].astype("object"))
    found = []
    for many in (1, 10**6):
        monkeypatch.setattr(selection, "MANY", many)
        groups = [selection.numbered(cells, names) for names in (("run", "batch_size"), ("threads", "eager_flop_s"))]
        found.append((selection.records(cells), [each.tolist() for each in groups]))
    assert found[0] == found[1]
    assert [dict(row) for row in selection.Records(cells)] == [selection.Records(cells)[at] for at in range(len(cells))]
