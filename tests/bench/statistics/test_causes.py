"""From measurements to causes: each from the figures that make it one, none from what was not measured."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from bench.records.record import GraphBreak, Graphs, Measurement, Peaks, Samples, Work
from bench.statistics import causes as definition
from bench.statistics.causes import Cause, Explanation
from bench.statistics.cells import Cells

ROUNDS = (0.99, 1.0, 1.01) * 10
PEAKS = Peaks(matmul_flop_s=1e12, copy_bytes_s=1e11)


def variant(latency_ms: float, **known: Any) -> Samples:
    return Samples(rounds_ms=tuple((latency_ms * each,) for each in ROUNDS), **known)


def cell(eager: Samples | float, compiled: Samples | float, **known: Any) -> list[Measurement]:
    """Three processes that agree within a permille."""
    variants = [each if isinstance(each, Samples) else variant(each) for each in (eager, compiled)]
    return [Measurement(eager=variants[0], compiled=variants[1], **known) for _ in range(3)]


def explain(measurements: list[Measurement]) -> tuple[Explanation, ...]:
    (found,) = definition.explain(Cells([measurements]))
    return tuple(found)


def figures(measurements: list[Measurement], batch_size: float = math.nan) -> dict[str, float]:
    return {name: float(values[0]) for name, values in Cells([measurements], [batch_size]).figures().items()}


def causes(measurements: list[Measurement]) -> list[Cause]:
    return [each.cause for each in explain(measurements)]


def test_latencies_alone_explain_no_gain() -> None:
    assert explain(cell(20.0, 10.0)) == ()
    assert explain([]) == ()


@pytest.mark.parametrize("compiled_ms", [10.0, 12.0])
def test_what_is_not_faster_never_pays_back(compiled_ms: float) -> None:
    (found,) = explain(cell(10.0, compiled_ms))
    assert found.cause is Cause.NEVER_PAYS_BACK
    assert found.figure == pytest.approx(10.0 / compiled_ms)


def test_a_device_that_waits_for_python_is_why_compiling_helps() -> None:
    found = explain(cell(variant(10.0, device_ms=(4.0, 4.1, 3.9)), variant(5.0, device_ms=(3.9,))))
    assert [each.cause for each in found] == [Cause.HOST_BOUND]
    assert found[0].figure == pytest.approx(0.6)


def test_a_compiled_model_that_still_waits_tells_why_it_gained_nothing() -> None:
    measurements = cell(variant(10.0, device_ms=(4.0,)), variant(10.5, device_ms=(4.0,)))
    assert causes(measurements) == [Cause.HOST_BOUND, Cause.NEVER_PAYS_BACK]


def test_memory_bound_takes_much_data_to_move_and_less_of_it_when_compiled() -> None:
    memory_bound = Work(flop=4e9, traffic_bytes=1e9, streamed_bytes=8e8, compiled_traffic_bytes=5e8)
    (found,) = explain(cell(40.0, 34.0, work=memory_bound, peaks=PEAKS))
    assert (found.cause, found.figure) == (Cause.MEMORY_BOUND, 0.5)
    assert found.share == pytest.approx(5 / 6)
    for other in (
        msgspec.structs.replace(memory_bound, flop=36e9),
        msgspec.structs.replace(memory_bound, streamed_bytes=None),
        msgspec.structs.replace(memory_bound, compiled_traffic_bytes=9.5e8),
        msgspec.structs.replace(memory_bound, compiled_traffic_bytes=None),
    ):
        assert explain(cell(80.0, 75.0, work=other, peaks=PEAKS)) == ()
    assert explain(cell(40.0, 34.0, work=memory_bound)) == ()


def layouts(eager_ms: float, compiled_ms: float, given_layout_ms: float, channels_last_ms: float) -> dict[str, Samples]:
    """Return the latencies of all four in turn, as the first process of a cell measures them."""
    names = ("eager", "compile:default", "compile:default:given-layout", "eager:channels_last")
    latencies_ms = (eager_ms, compiled_ms, given_layout_ms, channels_last_ms)
    return {name: variant(each) for name, each in zip(names, latencies_ms, strict=True)}


def test_a_cause_says_its_share_and_the_one_that_saves_most_comes_first() -> None:
    """On two cores, Segformer moves 25% fewer bytes, which is 6% of its saving; of MobileNet, the layout saves more."""
    work = Work(flop=1e8, traffic_bytes=1e9, streamed_bytes=9e8, compiled_traffic_bytes=7e8)  # 3 ms at copy speed
    (traffic,) = explain(cell(100.0, 50.0, work=work, peaks=PEAKS, others=layouts(100.0, 50.0, 52.0, 98.0)))
    assert traffic.cause is Cause.MEMORY_BOUND
    assert traffic.share == pytest.approx(0.06)
    first, second = explain(cell(10.0, 5.0, work=work, peaks=PEAKS, others=layouts(10.0, 5.0, 9.0, 8.0)))
    assert (first.cause, second.cause) == (Cause.LAYOUT, Cause.MEMORY_BOUND)
    assert [first.figure, first.share, second.share] == pytest.approx([1.25, 0.8, 0.6])


def test_a_layout_that_saves_nothing_is_no_cause() -> None:
    assert explain(cell(10.0, 5.0, others=layouts(10.0, 5.0, 4.9, 11.0))) == ()


def test_what_went_wrong_while_compiling_comes_after_a_gain_and_before_a_loss() -> None:
    graphs = Graphs(
        graphs=3, breaks=(GraphBreak(reason="a"), GraphBreak(reason="b")), recompiles=4, cudagraph_skips=("cpu device",)
    )
    wrong = [Cause.CUDAGRAPH_SKIPS, Cause.GRAPH_BREAKS, Cause.RECOMPILES]
    assert causes(cell(10.0, 12.0, graphs=graphs)) == [*wrong, Cause.NEVER_PAYS_BACK]
    faster = cell(variant(10.0, device_ms=(4.0,)), variant(5.0, device_ms=(4.0,)), graphs=graphs)
    assert causes(faster) == [Cause.HOST_BOUND, *wrong]
    assert [each.figure for each in explain(faster)][1:] == [1, 2, 4]


def test_eager_at_the_peak_leaves_little_to_win() -> None:
    work = Work(flop=8e9, traffic_bytes=1e8)
    found = explain(cell(10.0, 10.0, work=work, peaks=PEAKS))
    assert [each.cause for each in found] == [Cause.AT_THE_PEAK, Cause.NEVER_PAYS_BACK]
    assert found[0].figure == pytest.approx(0.8)
    assert Cause.AT_THE_PEAK not in causes(cell(20.0, 20.0, work=work, peaks=PEAKS))


def test_memory_is_compared_as_reserved_where_cuda_graphs_hide_what_is_allocated() -> None:
    eager = variant(10.0, peak_memory_gb=2.0, peak_reserved_gb=4.0)
    plain = variant(5.0, peak_memory_gb=1.5, peak_reserved_gb=5.0)
    graphs = variant(5.0, peak_reserved_gb=6.0)
    assert figures(cell(eager, plain))["memory_change"] == pytest.approx(-0.25)
    assert figures(cell(eager, graphs))["memory_change"] == pytest.approx(0.5)
    assert math.isnan(figures(cell(variant(10.0, peak_memory_gb=2.0), graphs))["memory_change"])


def test_efficiency_is_work_over_time_and_the_best_peak() -> None:
    work = Work(flop=2e9, traffic_bytes=4e8, compiled_traffic_bytes=1e8)
    measurements = cell(10.0, 5.0, peaks=PEAKS)
    measurements[1] = msgspec.structs.replace(measurements[1], work=work)
    measurements[2] = msgspec.structs.replace(measurements[2], peaks=Peaks(matmul_flop_s=2e12, copy_bytes_s=1e10))
    peaks = {name: best[0] for name, best in Cells([measurements]).peaks.items()}
    assert peaks == {"matmul_flop_s": 2e12, "copy_bytes_s": 1e11}
    found = figures(measurements)
    assert found["eager_flop_s"] == pytest.approx(2e11)
    assert found["compiled_matmul_share"] == pytest.approx(0.2)
    assert found["eager_copy_share"] == pytest.approx(0.4)
    assert found["compiled_copy_share"] == pytest.approx(0.2)
