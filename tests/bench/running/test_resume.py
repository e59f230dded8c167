"""Run files: their names, which run a plan resumes, and locking."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from stub_worker import ENVIRONMENT
from test_sweep import MACHINE, plan, record

from bench.errors import AtlasError
from bench.plans.messages import Machine
from bench.plans.plan import make_plan, pending
from bench.records.record import Environment
from bench.records.run_file import append
from bench.running.resume import RunFile, find_run, write


def test_a_run_is_named_after_day_machine_torch_and_profile(tmp_path: Path) -> None:
    assert find_run(plan("ViT"), MACHINE, tmp_path, is_ordinary=True, today="2026-01-02").name == (
        "2026-01-02_test-1ghz-2-cores_torch-2.13.0_quick"
    )
    assert find_run(plan("ViT"), MACHINE, tmp_path, is_ordinary=False).name != (
        find_run(plan("BeiT"), MACHINE, tmp_path, is_ordinary=False).name
    )


def test_an_unfinished_run_of_any_day_is_resumed_a_finished_one_only_of_today(tmp_path: Path) -> None:
    made = plan("ViT", "BeiT")

    def found(today: str, **options: bool) -> RunFile:
        return find_run(made, MACHINE, tmp_path, is_ordinary=True, today=today, **options)

    first = found("2026-01-02")
    append(first.path, [record(made.planned[0], run_name=first.name, of_plan=made)])
    assert found("2026-03-04").path == first.path
    assert len(found("2026-03-04").records) == 1
    append(first.path, [record(made.planned[1], run_name=first.name, of_plan=made)])
    assert found("2026-01-02").path == first.path
    assert found("2026-03-04").name.startswith("2026-03-04")
    assert found("2026-03-04", reopen=True).path == first.path
    assert found("2026-01-02", fresh=True).name == f"{first.name}_2"


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    append(path, [record(plan("ViT").planned[0])])
    before = path.read_bytes()
    with pytest.raises(AtlasError, match="not a record"):
        write(path, msgspec.structs.replace(record(plan("ViT").planned[0]), process="1"))
    assert path.read_bytes() == before


EPYC = "AMD EPYC (family 25, model 17)"


@pytest.mark.parametrize(
    "other",
    [
        {"cpu": "AMD EPYC (family 25, model 1)"},
        {"instruction_sets": ("avx512f", "amx_tile")},
        {"torch": "2.13.1+cpu"},
        {"settings": {"MALLOC_TRIM_THRESHOLD_": "-1"}},
    ],
    ids=str,
)
def test_another_chip_or_software_starts_a_run_of_its_own_and_leaves_the_first_to_be_continued(
    tmp_path: Path, other: dict[str, Any]
) -> None:
    made = plan("ViT", "BeiT")
    here = msgspec.structs.replace(ENVIRONMENT, cpu=EPYC, instruction_sets=("avx512f",))
    there = msgspec.structs.replace(here, **other)

    def found(environment: Environment) -> RunFile:
        return find_run(made, Machine(device="cpu", environment=environment), tmp_path, is_ordinary=True)

    first = found(here)
    for environment in (here, there):
        assert found(environment).records == ()
        of_kind = msgspec.structs.replace(record(made.planned[0], of_plan=made), environment=environment)
        append(found(environment).path, [of_kind])
    assert found(there).path != first.path
    assert found(here).path == first.path, "also after the other has begun a newer one"


def test_another_gradient_mode_or_changed_constants_are_another_plan(tmp_path: Path) -> None:
    made, changed = plan("ViT", "BeiT"), plan("ViT", "BeiT", max_s=0.2)
    profile = msgspec.structs.replace(made.profile, grad_mode="no_grad")
    no_grad = make_plan(profile, [each.recipe for each in made.planned], "cpu")
    first = find_run(made, MACHINE, tmp_path, is_ordinary=True)
    append(first.path, [record(made.planned[0], of_plan=made)])
    assert find_run(made, MACHINE, tmp_path, is_ordinary=True).path == first.path
    for other in (changed, no_grad):
        assert find_run(other, MACHINE, tmp_path, is_ordinary=True).path != first.path
    assert len(pending(no_grad, [record(each) for each in made.planned])) == 2
