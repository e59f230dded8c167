"""The matrix of the first page begins with current GPUs, and stays small. Its tables are in tests/golden/figures."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from atlas_data import ON_CPU, measured, write
from msgspec.structs import replace
from throughput_records import OTHER, SOURCE, throughput

from generator.data.load import load
from generator.figures import matrix
from generator.figures.matrix import Matrix

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


def test_many_models_devices_and_choices_are_limited() -> None:
    names = [(f"model-{m}", f"device-{d}") for m, d in product(range(50), range(14))]
    labels = {at: label for label, at in enumerate(names[1:])}
    few = {names[1]: 1}
    devices = [f"device-{d}" for d in range(14)]
    found = [Matrix(size, "default", few if size == 1 else labels, devices) for size in range(1, 27)]
    limited = matrix.limited(found)
    assert len(limited) == matrix.CHOICES
    assert limited[0].batch_size == 2, "choices with few rows are left out"
    assert (len(limited[0].models), len(limited[0].devices)) == (matrix.MODELS, matrix.DEVICES)
    assert "model-0" not in limited[0].models, "of the models, too, those with few rows"
    assert matrix.limited(limited) == limited
