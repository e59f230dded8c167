"""The cache of pooled rows: what comes out never depends on what is in it."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from archive import write_archive
from atlas_data import KEEPING, ON_CPU, measured, write
from conftest import THOROUGH

from bench.errors import AtlasError
from bench.records.record import Status
from generator.data import load as loading
from generator.data import pool_cache, pooling
from generator.data.load import Results, load
from generator.data.pool_cache import look_at
from generator.parallel import FORKS


@pytest.fixture(autouse=True, params=["all at once", "names first"])
def _small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few records count as many, or as very many, and a file is settled as soon as it is written."""
    if request.param == "names first":
        monkeypatch.setattr(pool_cache, "WORTH_NAMING", 1)
    monkeypatch.setattr(pool_cache, "WORTH_KEEPING", 1)
    monkeypatch.setattr(pool_cache, "BATCH", 100_000)
    monkeypatch.setattr(pool_cache, "SETTLED_NS", -(10**12))


@pytest.fixture
def pooled_files(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that are pooled, as they are read."""
    return noted(monkeypatch, "pool")


@pytest.fixture
def named_files(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files of which only the names are read."""
    return noted(monkeypatch, "named")


def noted(monkeypatch: pytest.MonkeyPatch, name: str) -> list[Path]:
    """The files that the function of this name reads: all of them in this process."""
    made: Callable[[Iterable[Path]], pooling.Pooled] = getattr(pooling, name)
    read: list[Path] = []

    def make(paths: Iterable[Path]) -> pooling.Pooled:
        read.extend(paths := list(paths))
        return made(paths)

    make.__name__ = name
    monkeypatch.setattr(pool_cache, "mapped", map)
    monkeypatch.setattr(pool_cache, name, make)
    return read


def index_of(cache: Path) -> pool_cache._Index:
    (path,) = cache.rglob("index.json")
    return pool_cache._read_index(path.parent)


def plain(records: Path) -> Results:
    """Without any cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool_cache, "WORTH_KEEPING", 10**12)
        return load(records)


def same(one: Results, other: Results) -> None:
    assert one.rows == other.rows
    assert (one.records, one.runs, one.superseded) == (other.records, other.runs, other.superseded)
    assert one.rounds_ms == other.rounds_ms


def test_a_cached_archive_is_the_same_and_reads_no_file(
    tmp_path: Path, pooled_files: list[Path], named_files: list[Path]
) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    first = load(records, tmp_path / "cache")
    assert sorted(pooled_files) == sorted(records.iterdir())
    assert sorted(named_files) in ([], sorted(records.iterdir()))
    pooled_files.clear()
    named_files.clear()
    same(load(records, tmp_path / "cache"), first)
    assert not pooled_files + named_files
    same(plain(records), first)


def test_a_new_record_reads_its_file_and_no_other(
    tmp_path: Path, pooled_files: list[Path], named_files: list[Path]
) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    load(records, tmp_path / "cache")
    pooled_files.clear()
    if is_large := bool(named_files):
        named_files.clear()
    run = sorted(records.iterdir())[2]
    write(records, [measured(run=run.stem)])
    after = load(records, tmp_path / "cache")
    assert pooled_files == [run]
    assert named_files == ([run] if is_large else [])
    same(after, plain(records))


def test_names_are_read_first_where_records_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named_files: list[Path]
) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    monkeypatch.setattr(pool_cache, "WORTH_NAMING", sum(path.stat().st_size for path in records.iterdir()))
    load(records, tmp_path / "cache")
    assert not named_files
    write(records, [measured()])
    load(records, tmp_path / "cache")
    assert sorted(named_files) == sorted(records.iterdir())


@pytest.mark.parametrize("history", [20, 5_000])
def test_whatever_happens_to_files_and_cache_the_rows_are_those_of_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, history: int
) -> None:
    """Files grow, go, come back and are renamed; parts of the cache are cut, overwritten and removed."""
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
                    flipped[dice.randrange(len(flipped))] ^= 1 << dice.randrange(8)
                    dice.choice((path.unlink, lambda: os.truncate(path, 99), lambda: path.write_bytes(flipped)))()  # noqa: B023
        same(load(records, cache), plain(records))


READ_HERE: list[Path] = []


def pool(paths: Iterable[Path]) -> pooling.Pooled:
    """Other processes find it by its name, and note what they read in a list of their own."""
    READ_HERE.extend(paths := list(paths))
    return pooling.pool(paths)


def test_several_processes_make_the_same_rows_as_one_and_tell_the_same_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_cache, "BATCH", 60_000)
    monkeypatch.setattr(pool_cache, "pool", pool)
    records = write_archive(tmp_path / "records", 100, models=1)
    broken = max(records.iterdir())
    sound = broken.read_bytes()
    broken.write_bytes(sound + b"{}\n")
    with pytest.raises(AtlasError) as raised:
        load(records, tmp_path / "cache")
    assert raised.value.where.startswith(str(broken))
    assert list((tmp_path / "cache").rglob("*.npz")), "what was pooled before that is kept"
    broken.write_bytes(sound)
    READ_HERE.clear()  # the call that failed was repeated here
    found = load(records, tmp_path / "cache")
    assert bool(READ_HERE) is not FORKS, "others have read them"
    same(found, plain(records))


def test_a_file_without_records_adds_nothing(tmp_path: Path) -> None:
    records = write(tmp_path / "records", [measured()])
    (tmp_path / "blank.jsonl").write_text("\n")
    empty, whole = (pooling.pool([path]) for path in (tmp_path / "blank.jsonl", *records.glob("*.jsonl")))
    assert pool_cache.concatenated([empty]) is empty
    assert pool_cache.concatenated([empty, whole, empty]) is whole


def test_another_program_makes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pooled_files: list[Path]
) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    load(records, tmp_path / "cache")
    pooled_files.clear()
    monkeypatch.setattr(pool_cache, "version", lambda: "another")
    load(records, tmp_path / "cache")
    assert pooled_files


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    records = write_archive(tmp_path / "records", 20, models=1)
    (tmp_path / "file").write_text("not a folder")
    assert load(records, tmp_path / "file").records == 20


def test_many_small_parts_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_cache, "FEW_PARTS", 3)
    records = write_archive(tmp_path / "records", 100, models=1)
    for step in range(5):
        write(records, [measured(run="grows", checkpoint=f"c{step}")])
        load(records, tmp_path / "cache")
        kinds = Counter(name.partition("-")[0] for name in index_of(tmp_path / "cache").parts)
        assert max(kinds.values()) <= 4


def test_a_long_history_leaves_the_newest_of_each_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = write_archive(tmp_path / "records", 250, models=1)
    whole = plain(records)
    monkeypatch.setattr(loading, "HISTORY", 60)
    short = load(records, tmp_path / "cache")
    assert short.superseded == len(whole.rows) - len(short.rows) > 0
    assert (short.records, short.runs) == (whole.records, whole.runs)
    assert short.rows == [{**row, "row": label} for label, row in enumerate(whole.newest_rows)]


@pytest.mark.parametrize("_small", ["names first"], indirect=True)
def test_of_many_records_only_those_are_pooled_that_pages_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pooled_files: list[Path]
) -> None:
    monkeypatch.setattr(loading, "HISTORY", 0)
    records = write_archive(tmp_path / "records", 250, models=1)
    results = load(records, tmp_path / "cache")
    assert {path.stem for path in pooled_files} == {row["run"] for row in results.rows} < set(results.runs)
    newest = max(pooled_files)
    pooled_files.clear()
    newest.unlink()
    same(load(records, tmp_path / "cache"), plain(records))
    assert pooled_files, "the run before that is shown now"


def grow(path: Path) -> None:
    write(path.parent, [measured(run=path.stem)])


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("change", [grow, empty])
def test_a_file_that_changes_while_it_is_read_is_told_and_not_kept(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """What it held then would be taken for what it held before, once that is back."""
    records = write_archive(tmp_path / "records", 100, models=1)
    last = max(records.iterdir())
    sound = last.read_bytes()
    archive = look_at(records, tmp_path / "cache")
    change(last)
    with pytest.raises(AtlasError, match="has changed while it was read") as raised:
        archive.named()
    assert raised.value.where == str(last)
    last.write_bytes(sound)
    same(load(records, tmp_path / "cache"), plain(records))


@pytest.mark.parametrize("_small", ["names first"], indirect=True)
def test_names_and_measurements_are_of_the_same_content(tmp_path: Path) -> None:
    records = write_archive(tmp_path / "records", 100, models=1)
    archive = look_at(records, tmp_path / "cache")
    found = archive.named()
    max(records.iterdir()).write_bytes(b"")
    with pytest.raises(AtlasError, match="has changed while it was read"):
        archive.pooled(found, np.arange(len(found)))


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
    assert [row["threads"] for row in results.newest_rows] == [2]


def test_a_long_history_leaves_both_ways_of_freeing_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "HISTORY", 0)
    runs = [("a", ON_CPU), ("b", ON_CPU), ("c", KEEPING), ("d", KEEPING)]
    write(tmp_path / "records", [measured(run=run, day=day, **way) for day, (run, way) in enumerate(runs, start=1)])
    results = load(tmp_path / "records", tmp_path / "cache")
    assert [(row["run"], row["newest"]) for row in results.rows] == [("b", False), ("d", True)]
    assert results.superseded == 2
