"""Detection of other programs: from given CPU times, and with a real busy program."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from bench.measuring import interference
from bench.measuring.interference import (
    PROGRAMS,
    CpuReading,
    CpuWatch,
    RoundWatch,
    look,
)


def readings(*rounds: tuple[float, float, float]) -> Iterator[CpuReading]:
    """Yield running totals, from the wall time, busy time and own time of each round."""
    now = CpuReading(100.0, 5000.0, 7.0)
    yield now
    for each in rounds:
        now = CpuReading(*(before + more for before, more in zip(now, each, strict=True)))
        yield now


def watch(monkeypatch: pytest.MonkeyPatch, *rounds: tuple[float, float, float], cores: int, threads: int) -> CpuWatch:
    monkeypatch.setattr(interference, "cores", lambda: cores)
    told = readings(*rounds)
    return CpuWatch(threads, lambda: next(told))


def test_a_round_is_disturbed_when_others_take_cores_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [(1.0, 2.0, 2.0), (1.0, 2.0, 1.8), (1.0, 1.9, 1.88), (0.1, 0.2, 0.18), (0.1, 0.2, 0.15)]
    seen = watch(monkeypatch, *rounds, cores=2, threads=2)
    each = RoundWatch([seen])
    assert [each.is_disturbed() for _ in rounds] == [False, True, False, False, True]
    told = each.telemetry(kept=1)
    assert (told.repeated_rounds, told.throttled_rounds, told.throttle_reasons) == (1, 1, {PROGRAMS: 2})


def test_a_round_that_two_things_disturb_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [(1.0, 2.0, 1.0), (1.0, 2.0, 2.0)]
    every = RoundWatch([watch(monkeypatch, *rounds, cores=2, threads=2) for _ in range(2)])
    assert [every.is_disturbed(), every.is_disturbed()] == [True, False]
    told = every.telemetry(kept=0)
    assert (told.repeated_rounds, told.throttle_reasons) == (1, {PROGRAMS: 1})


def test_others_are_welcome_on_the_cores_that_it_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = [(1.0, 7.0, 4.0), (1.0, 8.5, 4.0)]
    seen = watch(monkeypatch, *rounds, cores=8, threads=4)
    assert [seen.is_disturbed() for _ in rounds] == [False, True]


def test_without_an_account_nothing_is_disturbed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: bool) -> None:
        raise OSError

    monkeypatch.setattr("psutil.cpu_times", refuse)
    before, after = look(), look()
    assert after.busy - before.busy == after.own - before.own


def test_a_program_that_really_computes_is_seen() -> None:
    alone = look()
    time.sleep(0.1)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
        time.sleep(0.3)  # let it start
        before = look()
        time.sleep(1.0)
        after = look()
        busy.kill()
    assert alone.at < before.at
    assert after.busy - before.busy - (after.own - before.own) > 0.4
