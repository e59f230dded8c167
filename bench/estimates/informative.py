"""What to measure next: the cells whose records would shrink the uncertainty of the atlas most, for one device.

`choose` takes the planned cells, the records there are, and the seconds that a cell takes; returns the cells to measure
in a given time, in order. How uncertain a cell is follows from the best evidence for it, as in an estimate:
`Estimates` knows from its validation how far off such evidence is.

    python -m bench run --most-informative --time-budget 30m
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bench.plans.plan import PlannedCell
from bench.records.estimates import Estimates
from bench.records.record import Cell, Environment, Record, gave_nothing


def choose(
    planned: Sequence[PlannedCell],
    records: Iterable[Record],
    environment: Environment,
    estimates: Estimates,
    seconds: Callable[[Cell], float],
    budget_s: float,
) -> list[PlannedCell]:
    """Return the cells that together remove most uncertainty within `budget_s`: each time the one that removes most for
    its seconds. A cell that the device has with this PyTorch is left out, since its uncertainty is gone."""
    known = [record for record in records if not gave_nothing(record)]
    here = {record.cell.identity for record in known if _is_of(record.environment, environment)}
    reaches = _Reaches(estimates, {cell.model for cell in here}, {record.cell.model for record in known})
    left = [each for each in planned if each.cell.identity not in here]
    chosen: list[PlannedCell] = []
    while affordable := [each for each in left if seconds(each.cell) <= budget_s]:
        best = max(affordable, key=lambda each: reaches.removed(each, left) / seconds(each.cell))
        chosen.append(best)
        left.remove(best)
        reaches.here.add(best.cell.model)
        budget_s -= seconds(best.cell)
    return chosen


def _is_of(one: Environment, other: Environment) -> bool:
    return (one.device_name, one.torch) == (other.device_name, other.torch)


class _Reaches:
    """How uncertain each cell is: half of its 90% interval, in natural logarithms of the speedup."""

    def __init__(self, estimates: Estimates, here: set[str], anywhere: set[str]) -> None:
        self.here = here  # models with a record on this device
        self._anywhere = anywhere
        self._same_model, self._other_device, self._nothing = (
            estimates.of(evidence).reach_90 or 0.0 for evidence in ("other_size", "other_device", "features")
        )

    def of(self, cell: Cell) -> float:
        if cell.model in self.here:
            return self._same_model
        return self._other_device if cell.model in self._anywhere else self._nothing

    def removed(self, candidate: PlannedCell, left: Iterable[PlannedCell]) -> float:
        """Return what a record of a cell removes: its own uncertainty, and part of that of the model's other cells."""
        others = [each.cell for each in left if each is not candidate and each.cell.model == candidate.cell.model]
        return self.of(candidate.cell) + sum(self.of(cell) - min(self.of(cell), self._same_model) for cell in others)
