"""The cells that tell most about others are measured first."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from estimates_data import document

from bench.estimates.informative import choose
from bench.plans.messages import Recipe
from bench.plans.plan import PlannedCell, make_plan
from bench.plans.profiles import PROFILES
from bench.records.record import Cell, Environment, Measurement, Record, Status, Variant

HERE = Environment(device_name="NVIDIA H100", torch="2.13.0")
ELSEWHERE = Environment(device_name="Tesla T4", torch="2.13.0")
MODELS = ("ViT", "ResNet", "Segformer")
PROFILE = msgspec.structs.replace(
    PROFILES["standard"], batch_sizes=(1, 4), compile_modes=("default",), dtypes=("float32",), models=MODELS
)
PLANNED = make_plan(
    PROFILE, [Recipe(model="ViT", task="image-classification"), Recipe(model="ResNet", task="image-classification"),
              Recipe(model="Segformer", task="image-segmentation")], "cuda",
).planned  # fmt: skip


def record(planned: PlannedCell, environment: Environment) -> Record:
    measurement = Measurement(eager=Variant(published_mean_ms=2.0), compiled=Variant(published_mean_ms=1.0))
    return Record(
        schema=6, run="r", origin="measured", profile="standard", process=0, status=Status.PASS, cell=planned.cell,
        environment=environment, measurement=measurement,
    )  # fmt: skip


def chosen(
    records: Sequence[Record], budget_s: float, seconds: dict[str, float] | None = None
) -> list[tuple[str, int]]:
    def duration(cell: Cell) -> float:
        return (seconds or {}).get(cell.model, 60.0)

    found = choose(PLANNED, records, HERE, document(), duration, budget_s)
    return [(each.cell.model, each.cell.batch_size) for each in found]


def test_each_model_comes_once_before_any_comes_again() -> None:
    assert [model for model, _ in chosen([], 360)] == [*MODELS, *MODELS]


def test_a_model_that_nobody_has_measured_tells_more_than_one_known_elsewhere() -> None:
    assert chosen([record(PLANNED[0], ELSEWHERE)], 120)[0][0] == "ResNet"


def test_what_the_device_has_is_left_out() -> None:
    first = PLANNED[0]
    assert (first.cell.model, first.cell.batch_size) not in chosen([record(first, HERE)], 3600)
    older = msgspec.structs.replace(HERE, torch="2.9.1")
    assert (first.cell.model, first.cell.batch_size) in chosen([record(first, older)], 3600)


def test_cheap_cells_come_before_dear_ones_that_tell_as_much() -> None:
    assert chosen([], 200, {"ViT": 90, "ResNet": 30})[0][0] == "ResNet"


@pytest.mark.parametrize("budget_s", [0, 59, 60, 130, 10_000])
def test_the_chosen_cells_fit_into_the_time(budget_s: float) -> None:
    assert len(chosen([], budget_s)) == min(int(budget_s // 60), len(PLANNED))
