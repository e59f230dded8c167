"""Estimates come from earlier processes on this kind of machine: of the same cell, its model, or its variant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
from stub_worker import ENVIRONMENT, measurement
from test_sweep import MACHINE, plan, record

from bench.commands.selection import seconds_of
from bench.plans.duration import DurationEstimates
from bench.plans.messages import Machine, Recipe
from bench.plans.models import find
from bench.plans.plan import duration_s, fitting, make_plan, pending
from bench.plans.profiles import PROFILES, Profile
from bench.records.record import Cell, Record
from bench.records.run_file import append
from bench.running.resume import earlier

VIT, BEIT = (each for each in plan("ViT", "BeiT").planned)
TOMORROW = datetime.now(UTC) + timedelta(days=1)
QUICK, STANDARD, PAPER = PROFILES["quick"], PROFILES["standard"], PROFILES["paper-2023"]


def timed(seconds: float | None, *, cell: Cell = VIT.cell, profile: Profile = QUICK, warm: bool = False) -> Record:
    each = record(VIT, process=int(warm), found=measurement(warm=warm))
    return msgspec.structs.replace(each, cell=cell, profile=profile.name, seconds=seconds)


def variant(name: str, cell: Cell = VIT.cell) -> Cell:
    return msgspec.structs.replace(cell, variant=name)


def test_without_records_the_defaults_know_variant_and_cache_and_device() -> None:
    pace, search = DurationEstimates(QUICK), variant("compile:max-autotune")
    assert pace.is_guess
    assert pace.of(VIT.cell, is_first=True) > pace.of(VIT.cell, is_first=False) > 10.0
    assert pace.of(search, is_first=True) >= pace.of(VIT.cell, is_first=True) + 600
    assert pace.of(search, is_first=False) == pace.of(VIT.cell, is_first=False), "what was found is in the cache"


def test_the_nearest_relative_tells() -> None:
    seconds = [timed(30.0), timed(40.0), timed(38.0), timed(10.0, warm=True), timed(90.0, cell=BEIT.cell)]
    pace = DurationEstimates.from_records(QUICK, seconds)
    sixteen = msgspec.structs.replace(VIT.cell, batch_size=16)
    foreign = msgspec.structs.replace(VIT.cell, model="other")
    assert [pace.of(cell, is_first=True) for cell in (VIT.cell, sixteen, foreign)] == [38.0, 38.0, 64.0]
    assert pace.of(VIT.cell, is_first=False) == 10.0


def test_a_protocol_that_does_more_or_less_tells_nothing() -> None:
    others = [timed(200.0, profile=STANDARD), timed(20.0, profile=STANDARD, warm=True), timed(900.0, profile=PAPER)]
    pace = DurationEstimates.from_records(QUICK, others)  # the standard profile compiles twice in a cold process
    assert (pace.of(VIT.cell, is_first=True) < 100, pace.of(VIT.cell, is_first=False)) == (True, 20.0)


def test_a_search_is_not_expected_to_take_as_long_as_a_default_compilation_and_is_not_begun_in_vain() -> None:
    profile = msgspec.structs.replace(QUICK, variants=("compile:default", "compile:max-autotune"))
    made = make_plan(profile, [VIT.recipe], "cpu")
    pace = DurationEstimates.from_records(profile, [timed(45.0)])
    assert pace.of(made.planned[1].cell, is_first=True) > 600
    assert fitting(pending(made, []), pace, seconds_of("10m")) == [pending(made, [])[0]]


def test_a_gpu_without_records_is_promised_neither_minutes_too_few_nor_a_day() -> None:
    """Each process starts, creates a context, and tunes kernels or loads them, one after the other."""
    for name, low, high in (("standard", 10, 40), ("deploy", 60, 180)):  # for a dozen models
        profile = PROFILES[name]
        recipes = [Recipe(model=label, task=find(label).task) for label in profile.models]
        steps = pending(make_plan(profile, recipes, "cuda"), [])
        minutes = duration_s(steps, DurationEstimates(profile)) / 60
        assert low < 12 * minutes / len(recipes) < high


def test_records_of_this_kind_of_machine_are_found_wherever_they_lie(tmp_path: Path) -> None:
    def written(name: str, **changes: Any) -> None:
        append(tmp_path / f"{name}.jsonl", [msgspec.structs.replace(timed(30.0), run=Path(name).name, **changes)])

    written("a/2026-01-02_test-1ghz-2-cores_torch-2.12.0_quick")
    written("2026-01-02_test-1ghz-2-cores_torch-2.13.0_standard-123456")
    written("2026-01-02_test-1ghz-8-cores_torch-2.13.0_quick")
    (tmp_path / "2026-01-03_test-1ghz-2-cores_torch-2.13.0_quick.jsonl").write_bytes(b"oops\n")
    found = earlier(MACHINE, [tmp_path, tmp_path / "a", tmp_path / "nowhere"])
    assert [each.run[:10] for each in found] == ["2026-01-02"] * 2
    other = Machine(device="cpu", environment=msgspec.structs.replace(ENVIRONMENT, device_name="Another"))
    assert earlier(other, [tmp_path]) == []
