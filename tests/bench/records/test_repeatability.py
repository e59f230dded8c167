"""Repeatability: statistics of given repeats, and documents."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.harness import repeats
from bench.harness.repeats import remarks, table
from bench.records import repeatability as document
from bench.records.record import Environment
from bench.records.repeatability import SCHEMA, Agreement, Repeat, Repeatability


def repeat(way: str, speedup: float, number: int = 0, **changes: Any) -> Repeat:
    plain = Repeat(
        way=way, model="ViT", repeat=number, speedup=speedup, seconds=10.0, eager_ms=speedup, compiled_ms=1.0
    )
    return msgspec.structs.replace(plain, **changes)


def repeatability(*repeats: Repeat) -> Repeatability:
    return Repeatability(
        schema=SCHEMA,
        taken_at=datetime(2026, 1, 2, tzinfo=UTC),
        environment=Environment(device_name="x", torch="2.13.0+cpu"),
        command="python -m bench repeatability",
        repeats=repeats,
    )


OURS = [repeat("standard", value, number, low=value - 0.1, high=value + 0.1) for number, value in enumerate((1.0, 1.1))]


def test_the_spread_is_that_of_the_extremes() -> None:
    assert repeatability(*OURS).spread("standard", "ViT") == pytest.approx(0.1)


def test_intervals_that_miss_the_value_of_all_repeats_are_counted() -> None:
    far = repeat("standard", 2.0, 2, low=1.95, high=2.05)
    assert repeatability(*OURS).coverage() == (2, 2)
    assert repeatability(*OURS, far).coverage() == (0, 3)


def test_the_table_sets_the_measuring_time_beside_ours() -> None:
    console = Console(width=120, record=True)
    console.print(table(repeatability(*OURS, repeat("mean_of_300", 1.2, seconds=25.0), repeat("mean_of_300", 1.5, 1))))
    text = console.export_text()
    assert "10.0%, 10 s (1.00 ×)" in text
    assert "25.0%, 18 s (1.75 ×)" in text


def test_our_rounds_are_set_beside_the_timer_of_the_same_process() -> None:
    baselines = [repeat("interleaved", 2.0, number, overhead=share) for number, share in enumerate((0.01, 0.03, 0.02))]
    compared = [
        Agreement(model="ViT", repeat=number, variant=variant, way=way, ratio=ratio + off)
        for way, variant, ratio in (("alone", "eager", 1.0), ("alone", "compiled", 0.99), ("in turn", "eager", 1.04))
        for number, off in enumerate((0.0, 0.3, -0.1))  # one repeat was disturbed, and counts as one
    ]
    found = msgspec.structs.replace(repeatability(*OURS, *baselines), agreements=tuple(compared))
    assert found.distance("alone") == pytest.approx(0.01)
    assert found.distance("in turn") == pytest.approx(0.04)
    assert found.overhead == pytest.approx(0.02)
    assert [line.split()[0] for line in remarks(found)] == ["2", "1.0%", "4.0%", "2.0%"]
    assert (repeatability(*OURS).distance("in turn"), repeatability(*OURS).overhead) == (None, None)
    assert len(remarks(repeatability(*OURS))) == 1


def test_the_newest_document_is_read_back_whole(tmp_path: Path) -> None:
    old = msgspec.structs.replace(repeatability(*OURS[:1]), taken_at=datetime(2025, 1, 2, tzinfo=UTC))
    for each in (repeatability(*OURS), old):
        document.write(each, tmp_path / "repeatability")
    assert [path.name for path in sorted((tmp_path / "repeatability").iterdir())] == [
        "2025-01-02_torch-2.13.0_unknown.json",
        "2026-01-02_torch-2.13.0_unknown.json",
    ]
    assert document.newest(tmp_path) == repeatability(*OURS)
    assert document.newest(tmp_path / "nowhere") is None


def test_a_document_that_cannot_be_read_is_refused_with_the_command_that_makes_one(tmp_path: Path) -> None:
    path = document.write(repeatability(*OURS), tmp_path / "repeatability")
    assert not list(check([tmp_path]))
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 7'))
    with pytest.raises(AtlasError, match="schema version 7"):
        document.newest(tmp_path)
    (finding,) = check([path])
    assert "python -m bench repeatability" in finding.remedy


@pytest.mark.parametrize(("code", "again"), [("abc", 1), ("abc-dirty", 3), ("abd", 3)])
def test_an_interrupted_comparison_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, again: int
) -> None:
    environment = Environment(device_name="x", torch="2.13.0+cpu", commit="abc")
    measured: list[int] = []

    def ours(model: str, number: int) -> tuple[Repeat, Environment]:
        if len(measured) == 2:
            measured.append(-1)
            raise KeyboardInterrupt
        measured.append(number)
        return repeat("standard", 1.0, number, model=model), environment

    monkeypatch.setattr(repeats, "ours", ours)
    monkeypatch.setattr(repeats, "cpu_name", lambda: "x")

    def take() -> Repeatability:
        progress = tmp_path / "progress.json"
        return repeats.repeat(["ViT"], 3, command="c", tell=print, with_baselines=False, progress=progress)

    monkeypatch.setattr(repeats, "commit", lambda: "abc")
    with pytest.raises(KeyboardInterrupt):
        take()
    monkeypatch.setattr(repeats, "commit", lambda: code)
    found = take()
    assert [each.repeat for each in found.repeats] == [0, 1, 2]
    assert len(measured) == 3 + again
    assert not list(tmp_path.iterdir())
