"""The matrix of the first page begins with current GPUs. Its tables are in tests/golden/figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from atlas_data import ON_CPU, measured, write
from msgspec.structs import replace
from throughput_records import OTHER, SOURCE, throughput

from generator.data.load import load
from generator.figures import matrix

ON_5090, ON_4090 = throughput("vit_b", 100.0, 180.0), throughput("vit_b", 100.0, 150.0, **OTHER)
OLD_4090 = replace(ON_4090, source=replace(SOURCE, date="2024-09-04"))
ONLY_EAGER = throughput("vit_b", 100.0, None, **OTHER)


@pytest.mark.parametrize(
    ("records", "leads"),
    [
        ([ON_5090, ON_4090, measured(), measured(**ON_CPU)], "throughput"),
        ([ON_5090, measured()], "latency"),
        ([ON_5090, OLD_4090, measured()], "latency"),
        ([ON_5090, ONLY_EAGER, measured()], "latency"),
    ],
    ids=["two current GPUs against one", "as many", "one is old", "one has no comparison"],
)
def test_the_matrix_begins_where_there_are_more_current_gpus(records: list[Any], leads: str, tmp_path: Path) -> None:
    assert matrix.leading_workload(load(write(tmp_path, records)).newest) == leads
