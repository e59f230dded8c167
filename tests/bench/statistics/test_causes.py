"""From measurements to causes: each from the figures that make it one, none from what was not measured."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from bench.records.record import GraphBreak, Graphs, Measurement, Peaks, Samples, Work
from bench.statistics import causes as definition
from bench.statistics.causes import Cause, Explanation
from bench.statistics.cells import Cells

ROUNDS = (0.99, 1.0, 1.01) * 10
PEAKS = Peaks(matmul_flop_s=1e12, copy_bytes_s=1e11, page_fault_s=1e-6)


def variant(latency_ms: float, **known: Any) -> Samples:
    return Samples(rounds_ms=tuple((latency_ms * each,) for each in ROUNDS), **known)


def cell(eager: Samples | float, compiled: Samples | float, **known: Any) -> list[Measurement]:
    """Three processes that agree within a permille."""
    variants = [each if isinstance(each, Samples) else variant(each) for each in (eager, compiled)]
    return [Measurement(eager=variants[0], compiled=variants[1], **known) for _ in range(3)]


def explain(measurements: list[Measurement]) -> tuple[Explanation, ...]:
    (found,) = definition.explain(Cells.of(measurements))
    return tuple(found)


def figures(measurements: list[Measurement], batch_size: float = math.nan) -> dict[str, float]:
    return {name: float(values[0]) for name, values in Cells.of(measurements, batch_size).figures().items()}


def causes(measurements: list[Measurement]) -> list[Cause]:
    return [each.cause for each in explain(measurements)]


def test_latencies_alone_explain_no_gain() -> None:
    assert explain(cell(20.0, 10.0)) == ()
    assert explain([]) == ()


def test_published_means_explain_nothing() -> None:
    published = [Measurement(eager=Samples(published_mean_ms=5.0), compiled=Samples(published_mean_ms=6.0))]
    assert explain(published) == ()
    assert math.isnan(figures(published)["eager_host_bound"])


@pytest.mark.parametrize("compiled_ms", [10.0, 12.0])
def test_what_is_not_faster_never_pays_back(compiled_ms: float) -> None:
    (found,) = explain(cell(10.0, compiled_ms))
    assert found.cause is Cause.NEVER_PAYS_BACK
    assert found.figure == pytest.approx(10.0 / compiled_ms)


def test_a_device_that_waits_for_python_is_why_compiling_helps() -> None:
    found = explain(cell(variant(10.0, device_ms=(4.0, 4.1, 3.9)), variant(5.0, device_ms=(3.9,))))
    assert [each.cause for each in found] == [Cause.HOST_BOUND]
    assert found[0].figure == pytest.approx(0.6)


def test_a_device_that_hardly_waits_is_not() -> None:
    assert explain(cell(variant(10.0, device_ms=(9.0,)), variant(8.0, device_ms=(7.9,)))) == ()


def test_a_compiled_model_that_still_waits_tells_why_it_gained_nothing() -> None:
    measurements = cell(variant(10.0, device_ms=(4.0,)), variant(10.5, device_ms=(4.0,)))
    assert causes(measurements) == [Cause.HOST_BOUND, Cause.NEVER_PAYS_BACK]


def test_memory_bound_takes_much_data_to_move_and_less_of_it_when_compiled() -> None:
    memory_bound = Work(flop=4e9, traffic_bytes=1e9, streamed_bytes=8e8, compiled_traffic_bytes=5e8)
    (found,) = explain(cell(40.0, 34.0, work=memory_bound, peaks=PEAKS))
    assert found == Explanation(Cause.MEMORY_BOUND, 0.5)
    for other in (
        msgspec.structs.replace(memory_bound, flop=36e9),
        msgspec.structs.replace(memory_bound, streamed_bytes=None),
        msgspec.structs.replace(memory_bound, compiled_traffic_bytes=9.5e8),
        msgspec.structs.replace(memory_bound, compiled_traffic_bytes=None),
    ):
        assert explain(cell(80.0, 75.0, work=other, peaks=PEAKS)) == ()
    assert explain(cell(40.0, 34.0, work=memory_bound)) == ()


def test_page_faults_count_by_what_they_cost_here() -> None:
    def faults(eager: float, compiled: float) -> list[Measurement]:
        variants = variant(20.0, minor_faults_per_call=eager), variant(15.0, minor_faults_per_call=compiled)
        return cell(*variants, peaks=PEAKS)

    assert explain(faults(4000.0, 1000.0)) == (Explanation(Cause.PAGE_FAULTS, 3000.0),)
    assert explain(faults(120.0, 20.0)) == ()
    assert explain(faults(1000.0, 4000.0)) == ()
    assert (
        explain(cell(*(each for each in (variant(20.0, minor_faults_per_call=4000.0), variant(15.0))), peaks=PEAKS))
        == ()
    )


def test_the_cause_that_saves_most_comes_first() -> None:
    work = Work(flop=1e8, traffic_bytes=1e9, streamed_bytes=9e8, compiled_traffic_bytes=7e8)  # 3 ms at copy speed

    def both(faults: float) -> list[Measurement]:
        variants = variant(20.0, minor_faults_per_call=faults), variant(10.0, minor_faults_per_call=0.0)
        return cell(*variants, work=work, peaks=PEAKS)

    assert causes(both(1000.0)) == [Cause.MEMORY_BOUND, Cause.PAGE_FAULTS]
    assert causes(both(6000.0)) == [Cause.PAGE_FAULTS, Cause.MEMORY_BOUND]


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


def test_convolutions_that_may_use_tf32_are_held_against_a_peak_of_their_own() -> None:
    """Else a model of convolutions would seem to be at the peak, and its traffic not to matter."""
    tf32 = msgspec.structs.replace(PEAKS, convolution_flop_s=8e12)
    work = Work(flop=8e9, traffic_bytes=1e9, streamed_bytes=1e8, compiled_traffic_bytes=5e8, convolution_flop=8e9)
    plain, fast = (Cells.of(cell(10.0, 10.0, work=work, peaks=peaks)) for peaks in (PEAKS, tf32))
    unknown = msgspec.structs.replace(work, convolution_flop=None)
    assert plain.computing_s == pytest.approx([8e-3])
    assert fast.computing_s == pytest.approx([1e-3])
    assert Cells.of(cell(10.0, 10.0, work=unknown, peaks=tf32)).computing_s == pytest.approx([8e-3])
    assert (plain.memory_bound()[0], fast.memory_bound()[0]) == pytest.approx((1 / 9, 1 / 2))
    assert Cause.AT_THE_PEAK in causes(cell(10.0, 10.0, work=work, peaks=PEAKS))
    assert Cause.AT_THE_PEAK not in causes(cell(10.0, 10.0, work=work, peaks=tf32))


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
    measurements[2] = msgspec.structs.replace(
        measurements[2], peaks=Peaks(matmul_flop_s=2e12, copy_bytes_s=1e10, page_fault_s=None)
    )
    peaks = {name: best[0] for name, best in Cells.of(measurements).peaks.items()}
    assert math.isnan(peaks.pop("convolution_flop_s"))
    assert peaks == {"matmul_flop_s": 2e12, "copy_bytes_s": 1e11, "page_fault_s": 1e-6}
    found = figures(measurements)
    assert found["eager_flop_s"] == pytest.approx(2e11)
    assert found["compiled_matmul_share"] == pytest.approx(0.2)
    assert found["eager_copy_share"] == pytest.approx(0.4)
    assert found["compiled_copy_share"] == pytest.approx(0.2)


def test_causes_need_no_torch() -> None:
    program = "import bench.statistics.causes, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
