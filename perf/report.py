"""Format build times as tables for a terminal: medians, and their ratios to other builders.

Takes `BuildTimes`; yields tables of `rich`.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from bench.records.build_times import BUILDS, EDITS, LOADS, OURS, START, BuildTimes, Figure

TITLES: dict[Figure, str] = {
    "wall_s": "Seconds on the wall",
    "cpu_s": "Seconds of CPU",
    "memory_gb": "Peak memory, GB",
}


def tables(build_times: BuildTimes) -> Iterator[Table]:
    """Yield a table for each figure of the builders, and one for loading records."""
    for figure, title in TITLES.items():
        if build_times.sizes((*BUILDS, START, *EDITS)):
            yield _builders(build_times, figure, f"{title} (ours ÷ theirs)")
    if build_times.sizes(LOADS):
        yield _loads(build_times)


def _builders(build_times: BuildTimes, figure: Figure, title: str) -> Table:
    actions = (*BUILDS, START, *EDITS)
    table = Table("pages", "action", title=title)
    for name in build_times.builders:
        table.add_column(name, justify="right")
    for size in build_times.sizes(actions):
        for action in actions:
            cells = [_cell(build_times, name, action, size, figure) for name in build_times.builders]
            table.add_row(f"{size:,}", action, *cells, end_section=action == actions[-1])
    return table


def _cell(build_times: BuildTimes, name: str, action: str, size: int, figure: Figure) -> str:
    if build_times.failed(name, action, size):
        return "failed"
    value = build_times.median(name, action, size, figure)
    if value is None:
        return "—"
    ratio = None if name == OURS else build_times.ratio(name, action, size, figure)
    return f"{value:.3g}" + (f" ({ratio:.2g} ×)" if ratio is not None else "")


def _loads(build_times: BuildTimes) -> Table:
    table = Table("records", "action", "seconds", "seconds of CPU", "peak memory, GB", title="Reading the records")
    for size in build_times.sizes(LOADS):
        for action in LOADS:
            table.add_row(f"{size:,}", action, *(_cell(build_times, OURS, action, size, each) for each in TITLES))
    return table
