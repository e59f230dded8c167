"""What a run has found, as tables for a terminal: medians, and ours ÷ theirs.

A `Performance` enters; tables of `rich` leave.

    make perf
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from bench.records.performance import BUILDS, EDITS, LOADS, OURS, START, Figure, Performance

TITLES: dict[Figure, str] = {
    "wall_s": "Seconds on the wall",
    "cpu_s": "Seconds of CPU",
    "memory_gb": "Peak memory, GB",
}


def tables(performance: Performance) -> Iterator[Table]:
    """One for each figure of the builders, one of the loads."""
    for figure, title in TITLES.items():
        if performance.sizes((*BUILDS, START, *EDITS)):
            yield _builders(performance, figure, f"{title} (ours ÷ theirs)")
    if performance.sizes(LOADS):
        yield _loads(performance)


def _builders(performance: Performance, figure: Figure, title: str) -> Table:
    actions = (*BUILDS, START, *EDITS)
    shown = Table("pages", "action", title=title)
    for name in performance.builders:
        shown.add_column(name, justify="right")
    for size in performance.sizes(actions):
        for action in actions:
            cells = [_cell(performance, name, action, size, figure) for name in performance.builders]
            shown.add_row(f"{size:,}", action, *cells, end_section=action == actions[-1])
    return shown


def _cell(performance: Performance, name: str, action: str, size: int, figure: Figure) -> str:
    if performance.failed(name, action, size):
        return "failed"
    value = performance.median(name, action, size, figure)
    if value is None:
        return "—"
    ratio = None if name == OURS else performance.ratio(name, action, size, figure)
    return f"{value:.3g}" + (f" ({ratio:.2g} ×)" if ratio is not None else "")


def _loads(performance: Performance) -> Table:
    shown = Table("records", "action", "seconds", "seconds of CPU", "peak memory, GB", title="Reading the records")
    for size in performance.sizes(LOADS):
        for action in LOADS:
            shown.add_row(f"{size:,}", action, *(_cell(performance, OURS, action, size, each) for each in TITLES))
    return shown
