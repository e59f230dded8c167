"""Yield every record of a run file with its line number; refuse whatever is wrong within that one file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.errors import AtlasError
from bench.records.record import Record
from bench.records.run_file import decode, lines


def read(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the records of a run file, without what an interrupted write left behind.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, or a duplicate of another line of its
    run.
    """
    first: dict[Any, int] = {}
    for number, line in lines(path):
        if not line.endswith(b"\n"):
            continue
        where = f"{path}:{number}"
        record = decode(line, where)
        if (earlier := first.setdefault((record.run, *record.key), number)) != number:
            cell, environment = record.cell, record.environment
            raise AtlasError(
                f"process {record.process} of {cell.model} on {environment.device_name} (batch size {cell.batch_size}, "
                f"{cell.compile_mode}, {cell.precision}, torch {environment.torch}) is already in line {earlier}",
                where=f"{where}: $.cell, $.environment, $.process",
                remedy="remove one of the two lines",
            )
        yield number, record
