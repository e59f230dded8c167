"""Print how far off estimates are: the tables of `python -m bench estimate`."""

from __future__ import annotations

from rich.console import Group
from rich.table import Table

from bench.records.estimates import EstimateAccuracy, Estimates

_FIGURES = ("comparisons", "median error", "90% below", "50% interval holds", "90% interval holds")


def tables(estimates: Estimates) -> Group:
    """Return a table of all ways to estimate, one by device, and the families in which the 90% interval holds least."""
    every = [each for each in estimates.accuracy if each.share is None]
    devices = [each for each in estimates.accuracy if each.share == "device" and each.scheme != "next_version"]
    families = sorted(estimates.groups("features", "family"), key=lambda each: each.coverage_90 or 0)
    return Group(
        _table("How far off", ("estimated from",), [((_way(each),), each) for each in every]),
        _table("By device", ("estimated from", "device"), [((_way(each), each.name), each) for each in devices]),
        _table("Families left out, the worst ten", ("family",), [((each.name,), each) for each in families[:10]]),
    )


def _way(accuracy: EstimateAccuracy) -> str:
    lacking = [name for name in ("operations", "eager") if not getattr(accuracy, name)]
    without = f" without {' and '.join(lacking)}" if lacking else ""
    return f"{accuracy.scheme}{without}".replace("_", " ")


def _table(title: str, heads: tuple[str, ...], lines: list[tuple[tuple[str, ...], EstimateAccuracy]]) -> Table:
    table = Table(title=title, title_justify="left")
    for head in heads:
        table.add_column(head)
    for head in _FIGURES:
        table.add_column(head, justify="right")
    for names, each in lines:
        shares = (each.median_error, each.p90_error, each.coverage_50, each.coverage_90)
        figures = ("—" if share is None else f"{share:.1%}" for share in shares)
        table.add_row(*names, f"{each.count:,}", *figures)
    return table
