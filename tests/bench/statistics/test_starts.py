"""Ways to start: medians by start, and which way is ahead after how many calls."""

from __future__ import annotations

import msgspec
from atlas_data import measured, measurement
from hypothesis import given, strategies as st

from bench.records.record import BUILDING_S, Compilation, Record, Start
from bench.statistics.starts import Starting, leaders, starts_of

WAYS = st.lists(st.tuples(st.floats(0.01, 500), st.floats(0.1, 500)), min_size=1, max_size=6)


def record(start: Start, first_s: float, process: int = 0) -> Record:
    plain = measurement(compilation=Compilation(ready_s={start: 9.0}, needs_gb={start: 0.5}, imports_s=2.0))
    assert plain.compiled
    figures = msgspec.structs.replace(
        plain,
        eager=msgspec.structs.replace(plain.eager, first_s=0.1),
        compiled=msgspec.structs.replace(plain.compiled, first_s=first_s),
    )
    return measured(figures=figures, process=process)


def test_each_start_has_the_median_of_its_processes() -> None:
    warm = [record("warm", first_s, process + 1) for process, first_s in enumerate((6.0, 7.0, 20.0))]
    found = starts_of([record("cold", 40.0), *warm])
    assert found[:1] == [Starting("eager", 0.1, 0.0)]
    assert found[1:] == [Starting("cold", 40.0, 2.0, 0.5), Starting("warm", 7.0, 2.0, 0.5)]


def test_a_program_that_is_loaded_says_what_building_it_took() -> None:
    first = msgspec.structs.replace(record("loaded", 1.0), costs_s={BUILDING_S: 141.0})
    assert starts_of([first, record("loaded", 1.2, 1)])[1] == Starting("loaded", 1.1, 2.0, 0.5, 141.0)


def test_older_records_know_no_first_answer() -> None:
    assert starts_of([measured()]) == []


@given(WAYS, st.integers(1, 10**6))
def test_the_leader_has_answered_all_calls_first(ways: list[tuple[float, float]], calls: int) -> None:
    found = leaders(ways)
    leader = max((begin, at) for at, begin in enumerate(found) if begin and begin <= calls)[1]
    seconds = [first_s + (calls - 1) * latency_ms / 1e3 for first_s, latency_ms in ways]
    assert seconds[leader] <= min(seconds) * (1 + 1e-9)
