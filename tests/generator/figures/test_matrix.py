"""The matrix of the first page stays small. What it shows is in tests/golden/figures, and in the browser."""

from __future__ import annotations

from itertools import product

from generator.figures import matrix
from generator.figures.matrix import Matrix


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
