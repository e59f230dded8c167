"""`make perf`: the cost of commands, growing the atlas, a real server with real edits, and the report."""

from __future__ import annotations

import compileall
import os
import sys
import time
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from atlas_data import PUBLISHED
from conftest import LANGUAGES, ROOT, small_project, weekly
from rich.console import Console

from bench.errors import AtlasError
from bench.machine import commit
from bench.records.build_times import BUILDS, EDITS, OURS, START, BuildEnvironment, BuildTimes, Timing, nothing_yet
from bench.records.run_file import read
from generator.data.load import load
from generator.data.selection import records
from generator.languages.language import load_language
from generator.pages.pages import pages_of
from perf import content, edits, run as timing_run, served
from perf.builders import ZENSICAL, Builder, FinishedPages
from perf.content import grown
from perf.cost import Cost, cost_of
from perf.report import tables
from perf.run import TimingPlan, TimingRun

MB = 1e-3
"""A megabyte in GB."""


def cost(tmp_path: Path, *programs: str, limit_s: float = 60) -> Cost:
    commands = [(sys.executable, "-c", program) for program in programs]
    return cost_of(commands, tmp_path, os.environ, tmp_path / "log.txt", limit_s)


# ── Costs ───────────────────────────────────────────────────────────────────────────────────────────────────────────

BUSY = "import time; end = time.process_time() + .3\nwhile time.process_time() < end: pass"
LARGE = "import time; held = bytearray(b'x') * 200_000_000; time.sleep(.6)"
WITH_CHILD = "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {!r}]); {}; child.wait()"


def test_the_cpu_time_of_children_counts(tmp_path: Path) -> None:
    assert cost(tmp_path, WITH_CHILD.format(BUSY, "pass")).cpu_s > 0.3


def test_sleeping_costs_no_cpu_time_and_commands_add_up(tmp_path: Path) -> None:
    slept = cost(tmp_path, "import time; time.sleep(.4)", "import time; time.sleep(.4)")
    assert slept.wall_s > 0.8
    assert slept.cpu_s < slept.wall_s


def test_the_memory_of_processes_that_run_at_once_counts_together(tmp_path: Path) -> None:
    held = bytearray(b"x") * 500_000_000  # the memory of this process must not count
    del held
    assert 200 * MB < (cost(tmp_path, LARGE).memory_gb or 0) < 300 * MB
    assert 400 * MB < (cost(tmp_path, WITH_CHILD.format(LARGE, LARGE)).memory_gb or 0) < 500 * MB


def test_no_process_needs_no_memory(tmp_path: Path) -> None:
    """The memory of a process that ends before the first sample is unknown."""
    assert cost(tmp_path, "import time; time.sleep(.1)").memory_gb
    assert cost_of([("true",)], tmp_path, os.environ, tmp_path / "log.txt", 60).memory_gb != 0


def test_a_command_that_fails_is_named_with_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="exit status 3: no such page"):
        cost(tmp_path, "print('no such page'); raise SystemExit(3)")


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "late.txt"
    late = f"import time; time.sleep(1.5); open({str(mark)!r}, 'w')"
    with pytest.raises(AtlasError, match="over 0"):
        cost(tmp_path, WITH_CHILD.format(late, "pass"), limit_s=0.5)
    time.sleep(1.5)
    assert not mark.exists()


# ── Content ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("entities", [2, 4, 15, 16, 17, 21, 184])
def test_the_atlas_grows_to_any_number_of_devices_and_models(entities: int) -> None:
    records = list(grown(list(read(PUBLISHED)), entities))
    models = {record.cell.model for record in records}
    devices = {record.environment.device_name for record in records}
    assert len(models) + len(devices) == entities
    assert len({(each.run, each.key) for each in records}) == len(records)


def test_a_page_has_as_much_on_it_however_many_there_are() -> None:
    records = list(read(PUBLISHED))
    largest = max(sum(each.cell.model == name for each in records) for name in {each.cell.model for each in records})
    many = list(grown(records, 300))
    assert max(sum(each.cell.model == name for each in many) for name in {each.cell.model for each in many}) <= (
        largest * 2
    )


@pytest.mark.parametrize("pages", [100, 800])  # with 800 pages, models have pages of families too
def test_there_are_as_many_pages_as_were_asked_for(pages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compileall, "compile_dir", lambda *_, **__: True)
    project = content.grow(ROOT, tmp_path / "grown", pages)
    results = load(project / "bench" / "results", tmp_path / "cache")
    assert any(row["origin"] == "published" for row in records(results.newest))  # authored pages quote these
    assert len(pages_of(load_language("en"), results, project / "docs")) * len(LANGUAGES) == pages


def test_too_few_pages_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="cannot have 8 pages") as refused:
        content.grow(ROOT, tmp_path / "grown", 8)
    assert "multiple of 4" in str(refused.value.remedy)


# ── Builds ──────────────────────────────────────────────────────────────────────────────────────────────────────────

BUILD = """
import pathlib
site, cache = pathlib.Path("site"), pathlib.Path(".cache")
found = [site.exists() * "site", cache.exists() * "caches", pathlib.Path("records").read_text()]
print(*filter(None, found), sep=", ", file=open("builds", "a"))
site.mkdir(exist_ok=True), cache.mkdir(exist_ok=True)
"""
"""A builder that keeps a line about what each build has found, timed or not."""


def found_by_builds(folder: Path, monkeypatch: pytest.MonkeyPatch, *actions: str, repeats: int = 1) -> list[str]:
    """Return what each build has found, one after the other."""
    folder.mkdir()
    records = folder / "records"
    records.write_text("records", encoding="utf-8")

    def add_record() -> None:
        records.write_text(records.read_text(encoding="utf-8") + " + 1", encoding="utf-8")

    command = (sys.executable, "-c", BUILD)
    builder = Builder(OURS, folder, [command], lambda _: [], 0, served.LongPoll, {}, add_record)
    monkeypatch.setattr(timing_run, "lay_out", lambda *_: [builder])
    plan = TimingPlan([20], [], repeats, folder.parent, folder, 60, names=[OURS], actions=actions)
    times, _ = run(plan)
    assert [(each.action, each.failure) for each in times.timings] == [*[(each, None) for each in actions] * repeats]
    return (folder / "builds").read_text(encoding="utf-8").splitlines()


def test_each_build_finds_what_it_is_named_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A published record is the only difference from the build before, and each repeat has another one."""
    assert found_by_builds(tmp_path / "all", monkeypatch, *BUILDS, repeats=2) == [
        "records",
        "caches, records",
        "site, caches, records",
        "site, caches, records + 1",
        "records + 1",
        "caches, records + 1",
        "site, caches, records + 1",
        "site, caches, records + 1 + 1",
    ]


@pytest.mark.parametrize("actions", [["publish"], ["cold", "publish"], ["warm", "publish"]])
def test_a_record_is_published_into_a_finished_site(
    actions: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else is timed, nothing but the record has changed since the last build."""
    *_, before, last = found_by_builds(tmp_path / "few", monkeypatch, *actions)
    assert before.endswith("records")
    assert last == "site, caches, records + 1"


def test_every_added_record_is_another_run_of_the_same_case(tmp_path: Path) -> None:
    content.write(read(PUBLISHED), tmp_path / "bench" / "results")
    for _ in range(3):
        edits.add_record(tmp_path)
    added = [record for path in sorted(tmp_path.rglob("edited-*.jsonl")) for record in read(path)]
    assert [record.run for record in added] == ["edited-1", "edited-2", "edited-3"]
    assert len({record.cell for record in added}) == 1
    assert len({str(record.measurement) for record in added}) == 3


def test_other_builders_get_only_the_files_that_a_record_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, finished = tmp_path / "pages", FinishedPages(tmp_path / "source", tmp_path / "staged", 60)
    for code in LANGUAGES:
        (pages / code).mkdir(parents=True)
        for name in ("changed", "same"):
            (pages / code / f"{name}.md").write_text("old", encoding="utf-8")
            os.utime(pages / code / f"{name}.md", (1, 1))

    def make(_: FinishedPages) -> None:
        for code in LANGUAGES:
            for name, text in (("changed", "new"), ("same", "old"), ("data/more", "new")):
                path = finished.staged / code / f"{name}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")

    monkeypatch.setattr(FinishedPages, "make", make)
    monkeypatch.setattr(edits, "add_record", lambda _: None)
    finished.add_record(pages)
    for code in LANGUAGES:
        assert (pages / code / "changed.md").read_text(encoding="utf-8") == "new"
        assert (pages / code / "data" / "more.md").exists()
        assert (pages / code / "same.md").stat().st_mtime == 1


# ── A real server ───────────────────────────────────────────────────────────────────────────────────────────────────

TEXT = "---\ntitle: {0}\ndescription: A page.\n---\n\n# {0} {{#top}}\n\nA paragraph of the page {0}.\n"


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TimingPlan:
    """Return a plan with twenty small pages, which shares the cache of charts and fonts."""
    each = ("devices/each.md", "models/each.md")
    project = small_project(tmp_path / "small", "methodology.md", "data.md", *each)
    for name in ("methodology", "data"):
        (project / "docs" / f"{name}.md").write_text(TEXT.format(name), encoding="utf-8")
    catalog = project / "locales" / "zh" / "LC_MESSAGES" / "messages.po"
    with catalog.open("a", encoding="utf-8") as file:
        file.write('\nmsgid "A paragraph of the page methodology."\nmsgstr "方法页上的一段话。"\n')
    copied = content.copy

    def copy(project: Path, folder: Path) -> Path:
        copied(project, folder)
        (folder / ".cache").symlink_to(ROOT / ".cache")
        return folder

    monkeypatch.setattr(content, "copy", copy)
    monkeypatch.setattr(served, "REST_S", (0.1, 0.2))
    return TimingPlan(
        pages=[20],
        records=[],
        repeats=1,
        work=tmp_path / "work",
        programs=tmp_path / "none",
        limit_s=120,
        names=[OURS],
        actions=[START, *EDITS],
        project=project,
    )


def run(plan: TimingPlan, known: BuildTimes | None = None) -> tuple[BuildTimes, Sequence[BuildTimes]]:
    saved: list[BuildTimes] = []
    begun = known or nothing_yet(BuildEnvironment(device_name="x", commit=commit()), "python -m perf")
    return TimingRun(plan, begun, saved.append, print).all(), saved


@weekly
def test_every_edit_is_shown_timed_and_undone(plan: TimingPlan) -> None:
    found, saved = run(plan)
    assert [each.failure for each in found.timings] == [None] * 5
    assert {each.action for each in found.timings} == {START, *EDITS}
    assert all(each.wall_s and each.memory_gb for each in found.timings)
    assert [len(each.timings) for each in saved] == [1, 2, 3, 4, 5]  # each is saved at once
    project = plan.work / "pages-20" / OURS
    assert "bench/results" not in "".join(map(str, project.rglob("edited.jsonl")))
    assert (project / "docs" / "methodology.md").read_text(encoding="utf-8") == TEXT.format("methodology")
    assert run(plan, found) == (found, [])  # nothing is timed twice


def test_the_report_shows_medians_ratios_and_failures() -> None:
    known = nothing_yet(BuildEnvironment(device_name="x"), "python -m perf")
    for name, seconds in ((OURS, 1.0), (ZENSICAL, 4.0)):
        known = known.with_timing(Timing(builder=name, action="cold", size=80, repeat=0, wall_s=seconds, cpu_s=1.0))
    known = known.with_timing(Timing(builder=ZENSICAL, action="warm", size=80, repeat=0, failure="no such page"))
    console = Console(file=StringIO(), width=120)
    for table in tables(known):
        console.print(table)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    (cold, *_), (warm, *_) = ([line for line in lines if action in line] for action in ("cold", "warm"))
    assert "4 (0.25 ×)" in cold
    assert "failed" in warm
