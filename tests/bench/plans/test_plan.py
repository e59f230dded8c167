"""Plans: what is pending is a function of plan and records, for one worker and for many."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from hypothesis import given, strategies as st
from test_sweep import paced, plan, record, todo

from bench.plans.checkpoints import LocalCheckpoint
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Recipe
from bench.plans.models import find
from bench.plans.plan import (
    Agenda,
    Plan,
    Step,
    compiles_ahead,
    duration_s,
    fitting,
    make_plan,
    pending,
    progress_by_cell,
)
from bench.plans.profiles import PRECISIONS, PROFILES
from bench.records.record import Record, Status

# ── What is pending ─────────────────────────────────────────────────────────────────────────────────────────────────


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
    local = LocalCheckpoint(directory=directory, name=name, digest=digest, model_type="vit", has_weights=True)
    recipe = Recipe(task="image-classification", checkpoint=local, weights="pretrained")
    return make_plan(PROFILES["quick"], [recipe], "cpu")


def test_a_local_checkpoint_is_told_by_its_name_and_digest_and_not_by_its_folder() -> None:
    (planned,) = local_plan().planned
    assert planned.cell.checkpoint == planned.cell.model == "my-model"
    assert (planned.cell.digest, planned.cell.model_type) == ("ab" * 32, "vit")
    assert "--checkpoint path/to/my-model --name my-model" in planned.command
    assert "/home/me" not in msgspec.json.encode(record(planned)).decode()


def test_a_run_of_a_local_checkpoint_goes_on_wherever_it_lies_and_whatever_it_is_called() -> None:
    one, same, other = local_plan(), local_plan("/mnt/copy", "copy"), local_plan(digest="cd" * 32)
    assert one.digest == same.digest != other.digest
    (planned,) = one.planned
    assert pending(same, [record(planned)]) == []
    assert len(pending(other, [record(planned)])) == 1


# ── Modes and batch sizes ───────────────────────────────────────────────────────────────────────────────────────────

GRID: dict[str, Any] = {"compile_modes": ("default", "reduce-overhead", "max-autotune"), "batch_sizes": (1, 4)}


def grid(*models: str, processes: int = 1, **changes: Any) -> Plan:
    """Return a plan for a GPU with several modes and batch sizes."""
    made = plan(*models, processes=processes)
    profile = msgspec.structs.replace(made.profile, **GRID | changes)
    return make_plan(profile, [planned.recipe for planned in made.planned], "cuda")


def brief(step: Step) -> str:
    """Return the batch size and the first letter of the mode."""
    return f"{step.planned.cell.batch_size}{step.planned.cell.compile_mode[0]}"


def test_autotuning_comes_last() -> None:
    steps = pending(grid("ViT", "BeiT", processes=2), [])
    assert [step.planned.cell.model for step in steps] == ["ViT", "BeiT"] * 12
    assert list(map(brief, steps[::2])) == ["1d", "1r", "4d", "4r"] * 2 + ["1m", "4m"] * 2
    assert [step.is_first for step in steps] == [True] * 8 + [False] * 8 + [True] * 4 + [False] * 4


def test_of_each_model_one_process_times_compiling_where_the_others_compile_before_their_turn() -> None:
    made = grid("ViT", processes=2, compiles_ahead=True)
    timed = [(brief(step), step.process) for step in pending(made, []) if not compiles_ahead(step, made.profile)]
    tuned = [("1m", 0), ("4m", 0), ("1m", 1), ("4m", 1)]
    assert timed == [("1d", 0), *tuned], "autotuning needs the device for itself"
    in_turn = grid("ViT")
    assert not any(compiles_ahead(step, in_turn.profile) for step in pending(in_turn, []))


def test_a_fleet_autotunes_last_too() -> None:
    agenda = Agenda(grid("ViT", "BeiT"))
    taken = [step.planned.cell.compile_mode for _ in range(12) if (step := agenda.take("a"))]
    assert taken == ["default", "default", "reduce-overhead", "reduce-overhead"] * 2 + ["max-autotune"] * 4


def test_a_gpu_has_fewer_processes_than_a_cpu() -> None:
    recipe = Recipe(model="ViT", task="image-classification")
    assert [make_plan(PROFILES["standard"], [recipe], device).profile.processes for device in ("cpu", "cuda")] == [6, 3]


# ── Limited time ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_limited_time_goes_to_the_quickest_model_of_every_task_first() -> None:
    made = plan("ConvNeXT", "DETR", "ViT", "Segformer", "ResNet", processes=2)
    pace = paced({"ConvNeXT": 60.0, "DETR": 90.0, "ViT": 40.0, "Segformer": 70.0, "ResNet": 50.0})
    models = [step.planned.cell.model for step in pending(made, [], durations=pace)]
    assert models == ["ViT", "Segformer", "DETR", "ResNet", "ConvNeXT"] * 2


def test_before_anything_is_known_small_models_are_taken_for_quick_ones() -> None:
    steps = pending(
        plan("ConvNeXT", "ResNet", "Maskformer", "Segformer"), [], durations=DurationEstimates(PROFILES["quick"])
    )
    assert [step.planned.cell.model for step in steps] == ["Segformer", "ResNet", "ConvNeXT", "Maskformer"]


def test_limited_time_goes_to_one_combination_after_the_other() -> None:
    profile = msgspec.structs.replace(PROFILES["quick"], models=("ConvNeXT", "ResNet"), batch_sizes=(1, 16))
    made = make_plan(profile, [Recipe(model=name, task=find(name).task) for name in profile.models], "cpu")
    steps = pending(made, [], durations=DurationEstimates(profile))
    assert [(step.planned.cell.model, step.planned.cell.batch_size) for step in steps] == [
        ("ResNet", 1),
        ("ConvNeXT", 1),
        ("ResNet", 16),
        ("ConvNeXT", 16),
    ]


def test_limited_time_goes_to_one_precision_after_the_other() -> None:
    """Also to TF32 and autocast, which share the data type of another one."""
    profile = msgspec.structs.replace(PROFILES["quick"], models=("ConvNeXT", "ResNet"), dtypes=tuple(PRECISIONS))
    made = make_plan(profile, [Recipe(model=name, task=find(name).task) for name in profile.models], "cuda")
    steps = pending(made, [], durations=DurationEstimates(profile))
    assert [(step.planned.cell.precision.replace(" ", "-"), step.planned.cell.model) for step in steps] == [
        (precision, model) for precision in PRECISIONS for model in ("ResNet", "ConvNeXT")
    ]
    assert len({msgspec.structs.replace(made, planned=made.planned[at : at + 2]).digest for at in range(0, 12, 2)}) == 6


@given(
    times=st.lists(st.floats(1, 500), min_size=1, max_size=12),
    left_s=st.floats(0, 2000),
    processes=st.integers(1, 3),
)
def test_whatever_the_limit_each_process_is_planned_once_and_the_limit_holds(
    times: list[float], left_s: float, processes: int
) -> None:
    names = PROFILES["standard"].models[: len(times)]
    made, pace = plan(*names, processes=processes), paced(dict(zip(names, times, strict=True)))
    steps = pending(made, [], durations=pace)
    assert sorted(todo(steps)) == sorted(todo(pending(made, [])))
    assert [step.is_first for step in steps] == sorted((step.is_first for step in steps), reverse=True)
    held = fitting(steps, pace, left_s)
    assert duration_s(held, pace) <= left_s + 1e-6
    assert [step for step in steps if step in held] == held
    assert fitting(steps, pace, math.inf) == steps


def test_no_later_process_of_a_cell_begins_whose_first_does_not_fit() -> None:
    made = plan("ViT", "BeiT", processes=2)
    steps = pending(made, [])
    assert fitting(steps, DurationEstimates(made.profile), 15.0) == []  # only its second process would fit


# ── Several workers ─────────────────────────────────────────────────────────────────────────────────────────────────


def ended(step: Step, node: str, status: Status = Status.PASS) -> Record:
    return msgspec.structs.replace(record(step.planned, step.process, status), node=node)


def test_later_processes_of_a_cell_wait_for_the_node_that_compiled_it() -> None:
    agenda = Agenda(plan("ViT", "BeiT", processes=2))
    agenda.keep_to(["a", "b"])
    vit, beit = agenda.take("a"), agenda.take("b")
    assert vit
    assert beit
    assert agenda.take("b") is None, "one process of a cell at a time"
    agenda.end(vit, ended(vit, "a"))
    assert agenda.take("b") is None
    assert todo([step for step in [agenda.take("a")] if step]) == [("ViT", 1, False)]
    assert agenda.left == 3


def test_what_a_lost_node_had_goes_to_others() -> None:
    agenda = Agenda(plan("ViT", processes=2))
    agenda.keep_to(["a", "b"])
    step = agenda.take("a")
    assert step
    agenda.end(step, ended(step, "a"))
    agenda.keep_to(["b"])
    again = agenda.take("b")
    assert again
    assert (again.process, again.is_first) == (1, False)


def test_what_came_to_nothing_is_tried_again_elsewhere_unless_there_is_no_elsewhere() -> None:
    agenda = Agenda(plan("ViT"))
    agenda.keep_to(["a", "b"])
    step = agenda.take("a")
    assert step
    agenda.give_back(step, "a")
    assert agenda.take("a") is None
    assert agenda.take("b") == step
    agenda.give_back(step, "b")
    agenda.keep_to(["b"])
    assert agenda.take("b") == step


def test_what_is_too_long_for_the_time_that_is_left_is_passed_over() -> None:
    agenda = Agenda(plan("ViT", "BeiT"))
    step = agenda.take("a", lambda step: step.planned.cell.model == "BeiT")
    assert step
    assert step.planned.cell.model == "BeiT"
    assert agenda.take("a") is None
    assert agenda.left == 2, "it is still to be done, another time"


FOUR = plan("ViT", "BeiT", "DETR", "ResNet", processes=3)


@given(
    nodes=st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
    fates=st.lists(st.sampled_from([Status.PASS, Status.OOM]), min_size=12, max_size=12),
    kills=st.lists(st.booleans(), min_size=5, max_size=5),
)
def test_any_number_of_nodes_does_all_that_one_would_and_nothing_twice(
    nodes: list[str], fates: list[Status], kills: list[bool]
) -> None:
    fate = iter(fates)
    records: list[Record] = []
    agenda, kill = Agenda(FOUR), iter(kills)
    while taken := [(node, step) for node in nodes if (step := agenda.take(node))]:
        for node, step in taken:
            records.append(ended(step, node, next(fate)))
            agenda.end(step, records[-1])
            if next(kill, False):  # the driver dies while nodes work, and restarts
                agenda = Agenda(FOUR, progress_by_cell(records))
                break
    assert agenda.left == 0
    assert pending(FOUR, records) == []
    assert len({(each.cell.model, each.process) for each in records}) == len(records)
