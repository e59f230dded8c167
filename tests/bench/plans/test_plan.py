"""Plans: what is pending is a function of plan and records."""

from __future__ import annotations

import math

import msgspec
from hypothesis import given, strategies as st
from test_sweep import paced, plan, record, todo

from bench.plans.checkpoints import LocalCheckpoint
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Recipe
from bench.plans.plan import Plan, duration_s, fitting, make_plan, pending
from bench.plans.profiles import PROFILES
from bench.records.record import Record, Status


def test_the_first_processes_of_all_cells_come_before_any_second() -> None:
    steps = todo(pending(plan("ViT", "BeiT", processes=2), []))
    assert steps == [("ViT", 0, True), ("BeiT", 0, True), ("ViT", 1, False), ("BeiT", 1, False)]


def test_a_sweep_goes_on_where_its_records_end() -> None:
    made = plan("ViT", "BeiT", processes=2)
    vit, beit = made.planned
    assert todo(pending(made, [record(vit), record(beit), record(vit, 1)])) == [("BeiT", 1, False)]
    assert pending(made, [record(each, n) for each in made.planned for n in range(2)]) == []


def test_a_cell_that_gave_nothing_is_not_tried_again_unless_asked() -> None:
    made = plan("ViT", "BeiT", processes=2)
    vit, beit = made.planned
    records = [record(vit, status=Status.OOM), record(beit), record(beit, 1)]
    assert pending(made, records) == []
    again = pending(made, records, forgotten=records[:1])
    assert todo(again) == [("ViT", 1, True), ("ViT", 2, False)]  # a new process number, since each record has its own


def test_one_crash_among_good_processes_does_not_end_the_cell() -> None:
    made = plan("ViT", processes=3)
    (vit,) = made.planned
    assert todo(pending(made, [record(vit), record(vit, 1, Status.CRASH)])) == [("ViT", 2, False)]


def test_a_foreign_checkpoint_is_recognised_although_its_input_size_was_unknown() -> None:
    recipe = Recipe(task="image-classification", checkpoint="someone/something", weights="pretrained")
    made = make_plan(PROFILES["quick"], [recipe], "cpu")
    (planned,) = made.planned
    measured = msgspec.structs.replace(planned.cell, input_size=(224, 224))
    assert pending(made, [record(msgspec.structs.replace(planned, cell=measured))]) == []


def local_plan(directory: str = "/home/me/my-model", name: str = "my-model", digest: str = "ab" * 32) -> Plan:
    local = LocalCheckpoint(directory=directory, name=name, digest=digest, model_type="vit")
    recipe = Recipe(task="image-classification", checkpoint=local, weights="pretrained")
    return make_plan(PROFILES["quick"], [recipe], "cpu")


def test_a_local_checkpoint_is_told_by_its_name_and_digest_and_not_by_its_folder() -> None:
    (planned,) = local_plan().planned
    assert planned.cell.checkpoint == planned.cell.model == "my-model"
    assert (planned.cell.digest, planned.cell.model_type) == ("ab" * 32, "vit")
    assert "--checkpoint path/to/my-model --name my-model" in planned.command
    assert "/home/me" not in msgspec.json.encode(record(planned)).decode()


def test_a_run_of_a_local_checkpoint_goes_on_wherever_it_lies() -> None:
    one, same, other = local_plan(), local_plan("/mnt/copy"), local_plan(digest="cd" * 32)
    assert one.digest == same.digest != other.digest
    (planned,) = one.planned
    assert pending(same, [record(planned)]) == []
    assert len(pending(other, [record(planned)])) == 1


def test_a_run_over_several_half_hours_measures_what_is_used_most_completely_first() -> None:
    recipes = [Recipe(model=name, task="image-classification") for name in ("ViT", "BeiT")]
    steps, first = [], make_plan(PROFILES["deploy"], recipes, "cuda")
    records: list[Record] = []
    while half_hour := pending(first, records)[:5]:
        steps += half_hour
        records += [record(step.planned, step.process) for step in half_hour]
    order = [(step.planned.cell.batch_size, step.process, step.planned.cell.variant) for step in steps[::2]]
    variants = ("compile:default", "compile:reduce-overhead")
    assert order == [(size, number, name) for size in (1, 4, 16) for number in range(3) for name in variants]
    assert [step.planned.cell.model for step in steps] == ["ViT", "BeiT"] * 18


@given(
    times=st.lists(st.floats(1, 500), min_size=1, max_size=12), left_s=st.floats(0, 2000), processes=st.integers(1, 3)
)
def test_whatever_the_limit_each_process_is_planned_once_and_the_limit_holds(
    times: list[float], left_s: float, processes: int
) -> None:
    names = PROFILES["standard"].models[: len(times)]
    made, pace = plan(*names, processes=processes), paced(dict(zip(names, times, strict=True)))
    steps = pending(made, [])
    assert [step.is_first for step in steps] == sorted((step.is_first for step in steps), reverse=True)
    held = fitting(steps, pace, left_s)
    assert duration_s(held, pace) <= left_s + 1e-6
    assert [step for step in steps if step in held] == held
    assert fitting(steps, pace, math.inf) == steps


def test_no_later_process_of_a_cell_begins_whose_first_does_not_fit() -> None:
    made = plan("ViT", "BeiT", processes=2)
    steps = pending(made, [])
    assert fitting(steps, DurationEstimates(made.profile), 15.0) == []  # only its second process would fit
