"""How soon a model gives its first answer: eager, compiled from nothing, from caches, by regions, and ahead of time.

Takes `Results`; returns a `Startup` for each device, and for pages its tables and its chart.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import pandas as pd

from bench.statistics.starts import leaders
from generator.data.load import Results
from generator.data.registry import N_
from generator.data.selection import Row, records
from generator.figures.charts import Chart, factor
from generator.figures.drawing import Dots, Role
from generator.figures.words import Words
from generator.pages.parts import Parts

VARIANTS = {"default": "", "default:regions": "regions-", "aoti": ""}
"""The variants that are compared, with what distinguishes their starts."""

ROLES: dict[str, Role] = {
    "eager": "eager",
    "cold": "compiled",
    "warm": "first",
    "artifacts": "second",
    "regions-cold": "fourth",
    "regions-warm": "fifth",
    "loaded": "gain",
}
"""The ways to start, in their order, with their colours."""

COMPARED = ["eager", "cold", "warm", "loaded"]
"""Those that the page begins with."""


@dataclass(frozen=True, eq=False)
class Startup:
    """All ways to start the models of one device. `rows` has a line for each model and way, with the label of the row
    that it is of; where a variant failed, it has no figures."""

    device: str
    rows: pd.DataFrame

    labels = property(lambda self: [*dict.fromkeys(self.rows.index)])
    count = property(lambda self: self.rows["model"].nunique())

    @cached_property
    def total_s(self) -> pd.DataFrame:
        """Seconds until the first answer, imports included, by model and way."""
        lines = self.rows.assign(total_s=self.rows["first_s"] + self.rows["imports_s"])
        return lines.pivot_table("total_s", "model", "start", sort=False)

    @property
    def typical(self) -> dict[str, float]:
        """Medians of them over the models that were started in each of `COMPARED` ways, and the number of these."""
        known = self.total_s.reindex(columns=COMPARED).dropna()
        return {**known.median(), "count": len(known)}

    def by_regions(self, *, sooner: bool) -> list[str]:
        """Return the models that answer sooner, or later, if compiled by regions with an empty cache."""
        known = self.total_s.reindex(columns=["cold", "regions-cold"]).dropna()
        return [*known.index[(known["regions-cold"] < known["cold"]) == sooner]]

    def of(self, start: str) -> pd.DataFrame:
        """Return the lines of one way that have figures."""
        return self.rows[(self.rows["start"] == start) & self.rows["first_s"].notna()]

    def middle(self, start: str, column: str = "first_s") -> float | None:
        """Return the median of a column over the models that were started in this way."""
        known = self.of(start)[column].dropna()
        return float(known.median()) if len(known) else None

    @property
    def summary(self) -> pd.DataFrame:
        """A line for each way, with medians."""
        starts = [start for start in ROLES if len(self.of(start))]
        lines = pd.DataFrame({"start": starts}, [self.of(start).index[0] for start in starts])
        for name in ("first_s", "imports_s", "own_speedup", "max_relative_error", "needs_mb", "build_s"):
            lines[name] = [self.middle(start, name) for start in starts]
        return lines.assign(models=[len(self.of(start)) for start in starts])

    @property
    def failed(self) -> pd.DataFrame:
        """The variants that failed, with their reasons."""
        return self.rows[self.rows["first_s"].isna()][["model", "start", "reason"]]


@lru_cache(maxsize=2)
def startups_of(results: Results) -> Sequence[Startup]:
    """Return the ways to start of each device on which a program or artifacts were loaded, each from its newest run in
    this profile: other runs of a cell know fewer starts. The device with the most models comes first."""
    table = results.table
    is_compared = (table["profile"] == "startup") & table["compile_mode"].isin([*VARIANTS])
    cells = table[is_compared].sort_values("measured_at", kind="stable")
    found = []
    for device, rows in cells.groupby("device", sort=False):
        if rows["starts"].str.contains("loaded|artifacts").any():
            lines = [line for _, of_model in rows.groupby(["model", *_SETUP], sort=False) for line in _lines(of_model)]
            found.append(Startup(str(device), pd.DataFrame(lines).set_index("row")))
    return sorted(found, key=lambda startup: -startup.count)


_SETUP = ["torch", "dtype", "batch_size", "input_size", "weights", "grad_mode"]


def _lines(rows: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a line for each way to start one model, none where it was only compiled as usual."""
    if set(rows["compile_mode"]) <= {"default"} and not rows["starts"].str.contains("artifacts").any():
        return []
    lines, eager_ms = dict[str, dict[str, Any]](), None
    for row in sorted(records(rows), key=lambda row: [*VARIANTS].index(row["compile_mode"])):
        prefix, known = VARIANTS[row["compile_mode"]], json.loads(row["starts"] or "[]")
        eager_ms = eager_ms or row["eager_ms"]
        if not known:
            start = "loaded" if row["compile_mode"] == "aoti" else f"{prefix}cold"
            lines[start] = _line(row, start)
        for each in known:
            if each["start"] == "eager":
                lines.setdefault("eager", _line(row, "eager", each) | {"own_speedup": None, "max_relative_error": None})
            else:
                start = prefix + each["start"]
                lines[start] = _line(row, start, each)
    timed = [line for line in lines.values() if line["first_s"] is not None]
    ways = [(line["imports_s"] + line["first_s"], (eager_ms or 1.0) / (line["own_speedup"] or 1.0)) for line in timed]
    for line, calls in zip(timed, leaders(ways), strict=True):
        line["leads_from"] = calls
    return [lines[start] for start in ROLES if start in lines]


def _line(row: Row, start: str, figures: Row | None = None) -> dict[str, Any]:
    known = figures or {}
    needs_gb = known.get("needs_gb")
    return {
        "row": row["row"],
        "model": row["model"],
        "start": start,
        **{name: known.get(name) for name in ("first_s", "imports_s", "build_s")},
        "needs_mb": needs_gb and 1e3 * needs_gb,
        "own_speedup": row["speedup"] if figures else None,
        "max_relative_error": row["max_relative_error"],
        "leads_from": None,
        "reason": row["reason"],
    }


# ── Functions for pages ─────────────────────────────────────────────────────────────────────────────────────────────

_HEADLINE = N_("Seconds until the first answer, and latency after it")


def startup_table(parts: Parts, *, of: Startup) -> str:
    """Medians of each way to start."""
    return parts.about(of.summary, parts.language.gettext("Ways to start, medians over the models"), of.labels)


def startup_models_table(parts: Parts, *, of: Startup) -> str:
    """Each way to start each model."""
    lines = of.rows[of.rows["first_s"].notna()].drop(columns=["reason", "build_s"])
    return parts.about(lines, parts.language.gettext(_HEADLINE), of.labels)


def startup_failures_table(parts: Parts, *, of: Startup) -> str:
    """Variants that failed, with their reasons."""
    return parts.about(of.failed, parts.language.gettext("Ways to start that failed"), of.labels)


def startup_chart(parts: Parts, *, of: Startup) -> str:
    """Seconds until the first answer against the speedup after it, a dot for each model and way to start."""
    gettext, text = parts.language.gettext, Words(parts.language, html=False)
    message = gettext("%(name)s: %(first)s until the first answer, %(speedup)s as fast as eager.")
    points, told = list[tuple[float, float, Role]](), []
    for start, role in ROLES.items():
        rows = of.of(start)
        factors = rows["own_speedup"].fillna(1.0).tolist()
        points += zip(rows["first_s"].tolist(), factors, [role] * len(rows), strict=True)
        if len(rows):
            first = parts.language.seconds(of.middle(start))
            speedup = factor(of.middle(start, "own_speedup") or 1.0)
            told.append(text.say(message, name=text.named("start", start), first=first, speedup=speedup))
    chart = Chart(
        Dots(tuple(points)),
        text.sentences(told),
        parts.words.facts([parts.words.phrase(gettext(_HEADLINE)), parts.words.device(parts.rows_of(of.labels)[0])]),
        gettext("speedup after the first answer · seconds until the first answer, logarithmic scale"),
        tuple((text.named("start", start), role) for start, role in ROLES.items() if len(of.of(start))),
    )
    return parts.figure(f"startup-{of.device}", chart, parts.in_explorer({"device": of.device}))


FUNCTIONS = (startup_table, startup_models_table, startup_failures_table, startup_chart)
"""The functions for pages."""
