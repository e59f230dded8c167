"""After a kill or on a full disk, acknowledged data is complete, and writing can continue."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from atlas_data import measured

from bench import durable
from bench.errors import AtlasError
from bench.records import documents
from bench.records.run_file import append, encode, read

RECORDS = [measured(run="run"), measured(run="run", model="BeiT"), measured(run="run", process=1)]


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which nothing reaches the platter."""

    def fsync(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(durable, "sync_folder", lambda _: None)


@pytest.mark.usefixtures("full_disk")
def test_a_full_disk_leaves_all_files_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "selfcheck.json").write_bytes(b"old")
    with pytest.raises(AtlasError, match="cannot be written: No space") as error:
        documents.write({}, tmp_path / "selfcheck.json")
    assert "--out" in error.value.remedy
    assert files(tmp_path) == {"selfcheck.json": b"old"}


WRITES = """
import sys, pathlib
from bench import durable
while True:
    for letter in (b"a", b"b"):
        durable.write(pathlib.Path(sys.argv[1]), letter * 1_000_000)
        print("written", flush=True)
"""


def test_a_kill_at_any_moment_leaves_one_whole_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for writes in (1, 2, 3):
        with subprocess.Popen([sys.executable, "-c", WRITES, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout
            for _ in range(writes):
                process.stdout.readline()
            process.kill()
        content = path.read_bytes()
        assert len(content) == 1_000_000
        assert len(set(content)) == 1


@pytest.mark.parametrize("torn", [b"", encode(RECORDS[1])[:200], encode(RECORDS[1])[:100] + bytes(80)])
def test_an_interrupted_line_takes_no_earlier_record(tmp_path: Path, torn: bytes) -> None:
    run = tmp_path / "run.jsonl"
    run.write_bytes(encode(RECORDS[0]) + torn)
    assert list(read(run)) == RECORDS[:1]
    append(run, RECORDS[1:])
    assert list(read(run)) == RECORDS
