"""Why a cell came out as it did: causes computed from its measurements.

Takes `Cells`; returns for each cell its `Explanation`s, the one that explains the verdict best first. What was not
measured is nan, and nan causes nothing: there is no guessing here.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from bench.statistics.cells import Cells
from bench.statistics.intervals import Array

HOST_BOUND = 0.2
"""Share of a call that the device waits for Python, from which it is worth naming: less is what a launch costs."""

MEMORY_BOUND = 0.2
"""Share of the least time of eager, from which it is called so, that goes to operations which only move data: without a
product or convolution, at the speed of a copy. Whether the whole model's intensity is below the machine's balance would
be asking too much: a model may do most of its arithmetic in one layer, and spend its time in the others."""

LESS_TRAFFIC = 0.9
"""Compiled moves at most so much of what eager moves; counting differs by some percent between the two."""

AT_THE_PEAK = 0.7
"""Share of the measured matmul peak that leaves nothing to win: real layers are no large square matrices."""

WORTH_NAMING = 0.05
"""Share of what a call saves that a cause must account for to be named, with this share."""


class Cause(StrEnum):
    """A closed set. What the figure of each says stands beside it."""

    LAYOUT = "layout"  # the speedup of eager alone in channels last, which Inductor turns convolutions to by itself
    HOST_BOUND = "host_bound"  # share of a call that the device waits: of eager if that is slower, else of compiled
    MEMORY_BOUND = "memory_bound"  # share of eager's memory traffic that compiled does without
    CUDAGRAPH_SKIPS = "cudagraph_skips"  # reasons for which CUDA graphs were left out
    GRAPH_BREAKS = "graph_breaks"  # how many
    RECOMPILES = "recompiles"  # how many, with inputs of one shape
    AT_THE_PEAK = "at_the_peak"  # share of the measured matmul peak that eager already reaches: little is left to win
    NEVER_PAYS_BACK = "never_pays_back"  # the speedup: compiled isn't faster, so no number of calls repays compiling


@dataclass(frozen=True)
class Explanation:
    """A cause and the figure behind it; of a gain, also its share of what a call saves, estimated."""

    cause: Cause
    figure: float
    share: float | None = None


def explain(cells: Cells) -> list[list[Explanation]]:
    """Return why compiled is faster, or isn't, for each cell; the cause that explains it best comes first.

    Faster: what accounts for the saving, by its share; then what stands in the way of more. Otherwise: what went wrong
    while compiling, then what left nothing to win, then that it never pays back. Which of the two it is, the verdict
    says; where it says neither, only what went wrong or left nothing to win is known.
    """
    with np.errstate(all="ignore"):
        judged = np.where(cells.were_timed, cells.verdicts, "unknown")
        found: list[list[Explanation]] = [[] for _ in judged]
        for cause, figures, share in _gains(cells):
            counts = (judged == "faster") & (share >= WORTH_NAMING) & ~np.isnan(figures)
            for row in np.flatnonzero(counts).tolist():
                found[row].append(Explanation(cause, float(figures[row]), float(share[row])))
        for gains in found:
            gains.sort(key=lambda each: -(each.share or 0))
        for cause, figures, holds in _obstacles(cells, (judged == "slower") | (judged == "same")):
            for row in np.flatnonzero(holds).tolist():
                found[row].append(Explanation(cause, float(figures[row])))
    return found


def _gains(cells: Cells) -> list[tuple[Cause, Array, Array]]:
    """Return the figure of each cause, nan for none, and its share of what a call saves, estimated."""
    work, peaks, saving_ms = cells.work, cells.peaks, cells.saving[0]
    waiting = cells.host_bound("eager")
    host_ms = cells.host_ms("eager") - cells.host_ms("compiled")
    less = work["traffic_bytes"] - work["compiled_traffic_bytes"]
    streams = cells.memory_bound() >= MEMORY_BOUND
    moves_less = work["compiled_traffic_bytes"] <= LESS_TRAFFIC * work["traffic_bytes"]
    copy_ms = less / peaks["copy_bytes_s"] * 1e3
    return [
        (Cause.LAYOUT, cells.middle("channels_last_speedup"), cells.middle("layout_share")),
        (Cause.HOST_BOUND, np.where(waiting >= HOST_BOUND, waiting, np.nan), host_ms / saving_ms),
        (Cause.MEMORY_BOUND, np.where(streams & moves_less, less / work["traffic_bytes"], np.nan), copy_ms / saving_ms),
    ]


def _obstacles(cells: Cells, lost: NDArray[np.bool_]) -> list[tuple[Cause, Array, NDArray[np.bool_]]]:
    """Return what stands in the way: its figures, and the cells where it does. `lost`: compiled is not faster."""
    names = {Cause.CUDAGRAPH_SKIPS: "cudagraph_skips", Cause.GRAPH_BREAKS: "breaks", Cause.RECOMPILES: "recompiles"}
    counts = [(cause, cells.most(name)) for cause, name in names.items()]
    share, waiting = cells.peak_share("eager"), cells.host_bound("compiled")
    return [
        *((cause, most, most > 0) for cause, most in counts),
        # Beyond the peak, fewer operations were done than counted, or the peak was disturbed: nothing follows.
        (Cause.AT_THE_PEAK, share, (share >= AT_THE_PEAK) & (share <= 1)),
        (Cause.HOST_BOUND, waiting, lost & (waiting >= HOST_BOUND)),
        (Cause.NEVER_PAYS_BACK, cells.speedup[0], lost),
    ]
