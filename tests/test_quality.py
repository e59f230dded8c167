"""What the comparison with other ways of timing says, from known repeats."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from rich.console import Console

from bench.quality import Quality, Repeat, table
from bench.record import Environment


def repeat(way: str, speedup: float, number: int = 0, **changes: Any) -> Repeat:
    plain = Repeat(
        way=way, model="ViT", repeat=number, speedup=speedup, seconds=10.0, eager_ms=speedup, compiled_ms=1.0
    )
    return msgspec.structs.replace(plain, **changes)


def quality(*repeats: Repeat) -> Quality:
    return Quality(
        measured_at=datetime(2026, 1, 2, tzinfo=UTC),
        environment=Environment(device_name="x", torch="2.13.0"),
        command="python -m bench.quality",
        repeats=repeats,
    )


OURS = [repeat("standard", value, number, low=value - 0.1, high=value + 0.1) for number, value in enumerate((1.0, 1.1))]


def test_the_spread_is_that_of_the_extremes() -> None:
    assert quality(*OURS).spread("standard", "ViT") == pytest.approx(0.1)


def test_intervals_that_miss_the_value_of_all_repeats_are_counted() -> None:
    far = repeat("standard", 2.0, 2, low=1.95, high=2.05)
    assert quality(*OURS).coverage() == (2, 2)
    assert quality(*OURS, far).coverage() == (0, 3)


def test_the_table_sets_the_measuring_time_beside_ours() -> None:
    console = Console(width=120, record=True)
    console.print(table(quality(*OURS, repeat("mean_of_300", 1.2, seconds=25.0), repeat("mean_of_300", 1.5, 1))))
    text = console.export_text()
    assert "10.0%, 10 s (1.00 ×)" in text
    assert "25.0%, 18 s (1.75 ×)" in text
