"""After a power cut, a kill or on a full disk, acknowledged data is complete, and writing can continue."""

from __future__ import annotations

import errno
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import polib
import pytest
from conftest import in_project, small_project
from power_cut import Disk
from test_record import BEIT, VIT
from test_selfcheck import selfcheck
from test_sweep import MACHINE, Scripted, Silent, plan, record

from bench import durable
from bench.errors import AtlasError
from bench.exchange import transfer
from bench.exchange.check import check
from bench.exchange.source_files import ImportOptions
from bench.plans.messages import CellOutcome
from bench.records import document, selfcheck as selfchecks
from bench.records.record import Measurement, Record, Samples, Status
from bench.records.run_file import append, encode, read
from bench.running import resume, sweep
from bench.running.executors import WorkerExit
from generator.cache import Cache
from generator.languages import catalogs

RECORDS = [record(VIT, run_name="run"), record(BEIT, run_name="run"), record(VIT, 1, run_name="run")]


def cut(folder: Path, program: Callable[[Disk], object]) -> Iterator[tuple[Path, Any]]:
    """Return all states that power cuts could have left."""
    disk = Disk(folder)
    disk.watch(program)
    return disk.after_power_cuts(folder.with_name("after"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "disk"
    made.mkdir()
    return made


# ── Power cuts ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_simulated_disk_loses_what_was_not_synced(folder: Path) -> None:
    """The simulation catches a careless program."""

    def careless(disk: Disk) -> None:
        (folder / "new").write_bytes(b"content")
        disk.acknowledge("written")

    left = cut(folder, careless)
    found = {
        (state / "new").read_bytes() if (state / "new").exists() else None
        for state, acknowledged in left
        if acknowledged
    }
    assert found >= {None, b"", b"content", b"con", bytes(7)}


def test_a_power_cut_takes_no_record_that_was_acknowledged(folder: Path) -> None:
    run = folder / "results" / "run.jsonl"

    def program(disk: Disk) -> None:
        append(run, RECORDS[:1])
        disk.acknowledge(1)
        append(run, RECORDS[1:])
        disk.acknowledge(3)

    left = cut(folder, program)
    for state, acknowledged in left:
        path = state / "results" / run.name
        found = list(read(path)) if path.exists() else []
        assert len(found) >= (acknowledged or 0)
        assert found == RECORDS[: len(found)]
        append(path, RECORDS[len(found) :])
        assert list(read(path)) == RECORDS
        assert list(check([path], state)) == []


def test_a_power_cut_after_a_torn_line_takes_nothing_either(folder: Path) -> None:
    run = folder / "run.jsonl"
    run.write_bytes(encode(RECORDS[0]) + encode(RECORDS[1])[:200])

    def program(disk: Disk) -> None:
        append(run, RECORDS[1:2])
        disk.acknowledge(2)

    left = cut(folder, program)
    for state, acknowledged in left:
        found = list(read(state / run.name))
        assert len(found) >= (acknowledged or 1)
        assert found == RECORDS[: len(found)]


def test_a_run_goes_on_after_a_power_cut_at_any_moment(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole run: lock its file, append, resume. Its compile caches are elsewhere."""
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")
    made = plan("ViT", "BeiT", processes=2)
    answered = WorkerExit(seconds=1.0, answer=CellOutcome(status=Status.PASS, measurement=RECORDS[0].measurement))

    class Telling(Silent):
        def __init__(self, disk: Disk) -> None:
            super().__init__()
            self.disk = disk

        def end(self, record: Record, seconds: float) -> None:
            self.disk.acknowledge([*(self.disk.acknowledged or []), (record.cell.model, record.process)])

    def go(out: Path, reporter: Silent) -> list[Record]:
        found = resume.find_run(made, MACHINE, out, is_ordinary=True)
        return sweep.run(made, MACHINE, found, Scripted(*[answered] * 4), reporter)

    left = cut(folder, lambda disk: go(folder / "out", Telling(disk)))
    for state, acknowledged in left:
        before = [each for path in (state / "out").glob("*.jsonl") for each in read(path)]
        assert [(each.cell.model, each.process) for each in before][: len(acknowledged or [])] == (acknowledged or [])
        after = go(state / "out", Silent())
        assert after[: len(before)] == before
        assert [(each.cell.model, each.process) for each in after] == [
            *(("ViT", 0), ("BeiT", 0)),
            *(("ViT", 1), ("BeiT", 1)),
        ]


@pytest.mark.parametrize("has_old", [False, True])
def test_a_document_is_the_new_one_or_the_one_before(folder: Path, has_old: bool) -> None:
    old, new = selfcheck(day=1), selfcheck(day=1, model="BeiT")
    if has_old:
        selfchecks.write(old, folder / "selfcheck")

    def program(disk: Disk) -> None:
        selfchecks.write(new, folder / "selfcheck")
        disk.acknowledge("written")

    left = cut(folder, program)
    for state, acknowledged in left:
        found = selfchecks.newest_of_each_device(state)
        assert found in ([(new,)] if acknowledged else [(new,), (old,) if has_old else ()])


def test_imported_files_are_each_new_or_as_they_were(folder: Path) -> None:
    out = folder / "published"
    transfer.import_("huggingface-2023", ImportOptions(), out)
    (path,) = out.glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    new, old = b"".join(lines), lines[0]
    path.write_bytes(old)

    def program(disk: Disk) -> None:
        transfer.import_("huggingface-2023", ImportOptions(), out)
        disk.acknowledge("written")

    left = cut(folder, program)
    for state, acknowledged in left:
        found = (state / "published" / path.name).read_bytes()
        assert found in ([new] if acknowledged else [new, old])


def test_a_catalog_is_the_new_one_or_the_one_before(folder: Path) -> None:
    path = folder / "messages.po"
    old, new = polib.POFile(), polib.POFile()
    old.append(polib.POEntry(msgid="One", msgstr="Un"))
    new.extend([*old, polib.POEntry(msgid="Two", msgstr="Deux")])
    catalogs.write(old, path)
    before = path.read_bytes()

    def program(disk: Disk) -> None:
        catalogs.write(new, path)
        disk.acknowledge("written")

    left = cut(folder, program)
    after = path.read_bytes()
    assert after != before
    for state, acknowledged in left:
        assert (state / path.name).read_bytes() in ([after] if acknowledged else [before, after])


def test_a_cache_that_a_power_cut_spoiled_is_made_again(folder: Path) -> None:
    content = bytes(range(256)) * 20

    def program(disk: Disk) -> None:
        Cache("charts", root=folder).get("key", lambda: content)

    left = cut(folder, program)
    for state, _ in left:
        assert Cache("charts", root=state).get("key", lambda: content) == content
        assert Cache("charts", root=state).get("key", lambda: b"never") == content


# ── No room, no permission ──────────────────────────────────────────────────────────────────────────────────────────


def mount(place: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "small"
    place.mkdir()
    mount(place, "size=64k")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


LONG = msgspec.structs.replace(RECORDS[1], measurement=Measurement(eager=Samples(rounds_ms=((1.234567,) * 4500,))))


def fill(folder: Path) -> None:
    """Fill up the file system."""
    with (folder / "filler").open("ab", buffering=0) as file, pytest.raises(OSError, match="No space"):
        all(file.write(bytes(1024)) for _ in range(100))


def test_a_full_disk_takes_no_record(small_disk: Path) -> None:
    run = small_disk / "run.jsonl"
    kept = [RECORDS[0]]
    append(run, kept)
    append(run, [LONG])
    with pytest.raises(OSError, match="No space"):
        append(run, [LONG])
    kept.append(LONG)
    assert list(read(run)) == kept
    run.write_bytes(b"".join(map(encode, kept[:1])) + encode(RECORDS[1])[:100])
    fill(small_disk)
    assert list(read(run)) == kept[:1]
    (small_disk / "filler").unlink()
    append(run, [RECORDS[1]])
    assert list(read(run)) == RECORDS[:2]


def test_a_full_disk_leaves_documents_and_catalogs_as_they_were(small_disk: Path) -> None:
    path = selfchecks.write(selfcheck(), small_disk / "selfcheck")
    before = path.read_bytes()
    fill(small_disk)
    with pytest.raises(AtlasError, match="cannot be written: No space") as error:
        selfchecks.write(selfcheck(checks=selfcheck().checks * 500), small_disk / "selfcheck")
    assert "--out" in error.value.remedy
    with pytest.raises(OSError, match="No space"):
        durable.write(path, bytes(20_000))
    with pytest.raises(AtlasError, match="cannot be written: No space"):
        transfer.import_("huggingface-2023", ImportOptions(), small_disk / "published")
    content = bytes(range(256)) * 200
    assert Cache("charts", root=small_disk).get("key", lambda: content) == content
    assert path.read_bytes() == before
    assert {each.name for each in small_disk.rglob("*") if each.is_file()} == {path.name, "filler"}


def test_a_site_that_does_not_fit_is_told_in_a_line(small_disk: Path, tmp_path: Path) -> None:
    project = small_project(tmp_path / "project", languages=("en", "ar"))
    done = in_project(project, "mkdocs", "build", "--site-dir", str(small_disk / "site"))
    assert done.returncode == 1
    said = done.stdout + done.stderr  # which of the two depends on the version of MkDocs
    assert f"{small_disk / 'site'}: cannot be read or written: No space left on device" in said
    assert "remedy: free up disk space" in said
    assert "Traceback" not in said


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder with one run on a read-only file system."""
    place = tmp_path / "read-only"
    place.mkdir()
    mount(place, "size=1m")
    append(place / "run.jsonl", RECORDS)
    selfchecks.write(selfcheck(), place / "selfcheck")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_results_that_cannot_be_written_are_refused_before_anything_is_measured(read_only: Path) -> None:
    made = plan("ViT")
    attempts: list[Callable[[], object]] = [
        lambda: sweep.run(
            made, MACHINE, resume.find_run(made, MACHINE, read_only, is_ordinary=True), Scripted(), Silent()
        ),
        lambda: document.check_writable(read_only / "selfcheck"),
        lambda: selfchecks.write(selfcheck(), read_only / "selfcheck"),
        lambda: transfer.import_("huggingface-2023", ImportOptions(), read_only),
    ]
    for attempt in attempts:
        with pytest.raises(AtlasError, match="cannot be written: Read-only") as error:
            attempt()
        assert str(read_only) in error.value.where
        assert "--out" in error.value.remedy
    assert list(read(read_only / "run.jsonl")) == RECORDS


def test_a_write_that_is_cut_short_leaves_the_record_before_it(tmp_path: Path) -> None:
    """The kernel limits the file size, which needs no file system of its own."""
    run = tmp_path / "run.jsonl"
    append(run, RECORDS[:1])
    code = (
        "import sys, msgspec, pathlib; from bench.records.run_file import append, read;"
        "path = pathlib.Path(sys.argv[1]);"
        "append(path, [msgspec.structs.replace(next(read(path)), process=1, reason='x' * 30_000)])"
    )
    limit = run.stat().st_size + 10_000

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    command = [sys.executable, "-B", "-c", code, str(run)]
    done = subprocess.run(command, preexec_fn=limited, capture_output=True, text=True, check=False)
    assert f"[Errno {errno.EFBIG}]" in done.stderr
    assert run.stat().st_size == limit
    assert list(read(run)) == RECORDS[:1]
    append(run, RECORDS[1:])
    assert list(read(run)) == RECORDS
