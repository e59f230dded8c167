"""Comparisons of the throughput of models, eager against compiled, as a table.

`read` takes the folder of records and returns a DataFrame with a row for each model, image size and device of the
published benchmarks of throughput, with `COLUMNS`. A row without a speedup was not compared, or at unequal batch sizes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bench.records import run_file
from bench.records.families import family_slug
from bench.records.operations import OPERATIONS, Operations, Source, read as read_operations
from bench.records.record import COMPARABLE, RESULTS, THROUGHPUT_PROFILES, TOY, Record
from bench.statistics.cells import Cells
from bench.statistics.processes import Processes

COLUMNS = {
    "device": "str",  # its full name
    "torch": "str",
    "dtype": "str",  # with "autocast" before it, where weights stay in float32
    "compile_mode": "str",
    "checkpoint": "str",
    "family": "str",
    "height": "int64",  # of the image, in pixels
    "batch_size": "int64",
    "operations": "object",  # `Operations` of one image, or None
    "flop": "float64",  # of one image, as the next two
    "activations": "float64",
    "eager_ms": "float64",
    "parameters": "float64",
    "speedup": "float64",
}

PER_IMAGE = ("flop", "activations", "eager_ms")


def read(results: Path = RESULTS) -> pd.DataFrame:
    """Return the rows of all runs in the order of their files, without toys. Raises `AtlasError` for a line that is no
    record."""
    counted = read_operations(results / OPERATIONS.name)
    records = (record for path in run_file.run_files(results / "published") for record in run_file.read(path))
    of_throughput = (each for each in records if each.profile in THROUGHPUT_PROFILES and TOY not in each.flags)
    known = [(each, each.measurement) for each in of_throughput if each.measurement]
    images = np.array([record.cell.batch_size for record, _ in known], np.float64)
    processes = Processes([measurement for _, measurement in known])
    figures = Cells(processes, np.arange(len(known))[:, None], images).figures()
    is_compared = np.array([record.status in COMPARABLE for record, _ in known], bool)
    rows = pd.DataFrame([_named(record, counted) for record, _ in known], columns=list(COLUMNS))
    return rows.assign(
        **{name: figures[name] / images for name in PER_IMAGE},
        parameters=figures["parameters"],
        speedup=np.where(is_compared, figures["speedup"], np.nan),
    ).astype(COLUMNS)


def newest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the newest PyTorch of each device, in the data type and mode that most of them have."""
    from packaging.version import Version  # noqa: PLC0415 - needed here alone

    last = {device: max(versions, key=Version) for device, versions in rows.groupby("device")["torch"].unique().items()}
    rows = rows[rows["torch"] == rows["device"].map(last)]
    compared = rows[rows["speedup"].notna()]
    usual = {
        device: group[["dtype", "compile_mode"]].value_counts().index[0] for device, group in compared.groupby("device")
    }
    setting = zip(rows["device"], zip(rows["dtype"], rows["compile_mode"], strict=True), strict=True)
    return rows[np.array([own == usual.get(device) for device, own in setting], bool)]


def _named(record: Record, counted: dict[Source, Operations]) -> dict[str, Any]:
    cell, size = record.cell, record.cell.input_size or (0, 0)
    return {
        "device": record.environment.device_name,
        "torch": record.environment.torch,
        "dtype": cell.precision,
        "compile_mode": cell.compile_mode,
        "checkpoint": cell.checkpoint,
        "family": family_slug(cell.model),
        "height": size[0],
        "batch_size": cell.batch_size,
        "operations": counted.get((cell.checkpoint, size)),
    }
