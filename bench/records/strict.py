"""Every record of a run file with the number of its line; refuses what one file alone shows to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.errors import AtlasError
from bench.records.record import Measurement, Record
from bench.records.run_file import decode, lines

SHORTEST_MS, LONGEST_MS = 1e-9, 1e12
"""Between these a figure can be a latency or a throughput: a picosecond, and thirty years."""

PUBLISHED = ("published_mean_ms", "published_median_ms", "published_images_s")


def read(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield the records of a run file, without what an interrupted write left behind.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run.
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
        if field := _impossible(record.measurement):
            raise AtlasError(
                "a latency is not a positive number",
                where=f"{where}: $.measurement.{field}",
                remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
            )
        yield number, record


def _impossible(measurement: Measurement | None) -> str:
    """Return the first field with a latency that no call can take."""
    for name in ("eager", "compiled"):
        variant = getattr(measurement, name, None)
        if variant and any(not SHORTEST_MS <= call < LONGEST_MS for calls in variant.rounds_ms for call in calls):
            return f"{name}.rounds_ms"
        for figure in PUBLISHED:
            value = getattr(variant, figure, None)
            if value is not None and not SHORTEST_MS <= value < LONGEST_MS:
                return f"{name}.{figure}"
    return ""
