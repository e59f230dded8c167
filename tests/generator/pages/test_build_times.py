"""What a record of builds says, and how the methodology page shows it in every language."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import LANGUAGES
from html_page import read

from bench.exchange.check import check
from bench.records import build_times as document
from bench.records.build_times import OURS, SCHEMA, BuildEnvironment, BuildTimes, Timing
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import build_times as shown


def timing(builder: str, action: str, wall_s: float | None, repeat: int = 0, **changes: Any) -> Timing:
    cpu_s = wall_s and wall_s * 2
    plain = Timing(builder=builder, action=action, size=80, repeat=repeat, wall_s=wall_s, cpu_s=cpu_s, memory_gb=0.5)
    return msgspec.structs.replace(plain, **changes)


TIMINGS = (
    timing("zensical", "cold", 1.0),
    timing(OURS, "cold", 2.0),
    timing(OURS, "cold", 9.0, 1),
    timing(OURS, "cold", 3.0, 2),
    timing("static-i18n", "cold", None, cpu_s=None, memory_gb=None, failure="exit status 1"),
    timing(OURS, "record", 0.05),
    timing(OURS, "first load", 4.0, size=10_000),
)


def build_times(*timings: Timing) -> BuildTimes:
    return BuildTimes(
        schema=SCHEMA,
        taken_at=datetime(2026, 1, 2, tzinfo=UTC),
        environment=BuildEnvironment(device_name="Xeon", commit="abc", versions={"mkdocs": "1.6.1"}),
        command="python -m perf",
        timings=timings or TIMINGS,
    )


def table(language: str, folder: Path, html: str) -> list[list[str]]:
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    return read(page).tables[0].rows


def builds(language: str, folder: Path, figure: document.Figure = "wall_s") -> list[list[str]]:
    return table(language, folder, shown.builds(build_times(), Words(load_language(language), html=True), figure))


# ── The record ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_figures_are_medians_and_ratios_are_ours_by_theirs() -> None:
    assert build_times().median(OURS, "cold", 80) == 3.0
    assert build_times().ratio("zensical", "cold", 80) == 3.0
    assert build_times().ratio("zensical", "cold", 80, "cpu_s") == 3.0
    assert build_times().builders == [OURS, "zensical", "static-i18n"]


def test_memory_that_nobody_saw_is_not_known() -> None:
    """It is 0 in old documents."""
    loads = [timing(OURS, "cached load", 0.1, repeat, memory_gb=seen) for repeat, seen in enumerate((0.0, 0.06, 0.0))]
    assert build_times(*loads).median(OURS, "cached load", 80, "memory_gb") == 0.06
    assert build_times(loads[0]).median(OURS, "cached load", 80, "memory_gb") is None


def test_what_failed_or_is_not_there_has_no_figure_and_no_ratio() -> None:
    assert build_times().failed("static-i18n", "cold", 80)
    assert not build_times().failed("zensical", "record", 80)
    assert build_times().median("static-i18n", "cold", 80) is None
    assert build_times().ratio("static-i18n", "cold", 80) is None
    assert build_times().ratio("zensical", "record", 80) is None


def test_what_a_further_page_takes_is_told_between_sizes() -> None:
    builds = [(800, 10.0), (80, 2.8), (800, 14.0), (4000, 60.0), (800, 12.0)]
    ours = (timing(OURS, "cold", wall_s, repeat, size=size) for repeat, (size, wall_s) in enumerate(builds))
    found = build_times(*ours, timing("zensical", "cold", 1.0, size=400))
    assert [(step.few, step.many) for step in found.growth()] == [(80, 800), (800, 4000)]
    assert [step.wall_s for step in found.growth()] == pytest.approx([9.2 / 720, 48 / 3200])


def test_a_timing_taken_again_replaces_the_older_one() -> None:
    again = build_times().with_timing(timing("zensical", "cold", 5.0))
    assert len(again.timings) == len(TIMINGS)
    assert again.median("zensical", "cold", 80) == 5.0


def test_the_newest_document_is_read_back_and_checked(tmp_path: Path) -> None:
    older = msgspec.structs.replace(build_times(TIMINGS[0]), taken_at=datetime(2025, 1, 2, tzinfo=UTC))
    for each in (build_times(), older):
        document.write(each, tmp_path / "build_times")
    assert document.newest(tmp_path) == build_times()
    assert list(check([tmp_path], tmp_path)) == []
    (tmp_path / "build_times" / "2026-01-02_abc.json").write_text("{}", encoding="utf-8")
    [finding] = check([tmp_path], tmp_path)
    assert "make perf" in finding.remedy


# ── The page ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_action_with_every_builder_beside_ours(tmp_path: Path) -> None:
    cold, record = builds("en", tmp_path)
    assert cold == ["80", "Build with empty caches", "3.00", "1.00", "3.00×", "failed", "—"]
    assert record[2:] == ["0.05", "—", "—", "—", "—"]


def test_a_build_with_one_more_record_has_a_line_if_it_was_timed(tmp_path: Path) -> None:
    """Documents from before it was timed have none."""
    words = Words(load_language("en"), html=True)
    with_publish = build_times(*TIMINGS, timing(OURS, "publish", 1.5))
    actions = [line[1] for line in table("en", tmp_path, shown.builds(with_publish, words, "wall_s"))]
    assert actions[:2] == ["Build with empty caches", "Build again, one record added"]
    assert "Build again, one record added" not in [line[1] for line in builds("en", tmp_path)]


def test_cpu_time_and_memory_are_those_of_builds(tmp_path: Path) -> None:
    [cold] = builds("en", tmp_path, "cpu_s")
    assert cold[2:5] == ["6.00", "2.00", "3.00×"]


def test_reading_records_has_its_own_table(tmp_path: Path) -> None:
    html = shown.loads(build_times(), Words(load_language("en"), html=True))
    assert table("en", tmp_path, html) == [
        ["10,000", "Read for the first time", "4.00", "8.00", "0.50"],
        ["10,000", "Read again in a new process", "—", "—", "—"],
    ]


def test_the_caption_names_machine_versions_and_day(tmp_path: Path) -> None:
    html = shown.loads(build_times(), Words(load_language("en"), html=True))
    assert all(fact in html for fact in ("Xeon", "mkdocs 1.6.1", "January 2, 2026"))
    assert "PyTorch" not in html


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_names_what_is_done(language: str, tmp_path: Path) -> None:
    english = {line[1] for line in builds("en", tmp_path)}
    assert not english & {line[1] for line in builds(language, tmp_path)}
