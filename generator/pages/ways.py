"""Other ways to run a model than torch.compile: exported to another runtime, in another layout, in lower precision.

Takes `Results`; returns the `Ways` of each device, and for pages their tables.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import pandas as pd

from bench.records.record import COMPARABLE, COMPILE_MODES, lowers
from bench.statistics.starts import leaders
from generator.data.load import Results
from generator.data.registry import WAY
from generator.data.selection import Row, grouped, records, version_order
from generator.figures.words import NAMES, Words
from generator.pages.parts import Parts

WAYS = tuple(NAMES["way"])
"""The ways that are compared, in their order. The first is torch.compile as it is."""

CAPTURED = "default:scalars"
"""torch.compile with values of tensors in the graph."""


@dataclass(frozen=True, eq=False)
class Ways:
    """The ways to run on one device, with one version of PyTorch and number of threads. `rows` has a line for each
    model and way, by the label of its row; a way that failed has no speedup."""

    device: str
    torch: str
    threads: int
    rows: pd.DataFrame

    @cached_property
    def matrix(self) -> pd.DataFrame:
        """A line for each model, with the labels of its rows by way."""
        labels = self.rows.pivot_table("label", "model", "way", "first", sort=False)
        known = labels[[way for way in WAYS if way in labels]].astype("Int64")
        lines = known.rename(columns=lambda way: f"{WAY} {way}")
        return lines.reset_index().set_index(labels.bfill(axis=1).iloc[:, 0].astype(int))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A line for each way that ran: medians over its models, its largest error, and for how many it is the
        fastest of those in float32, or of those in lower precision."""
        passing = self.rows[self.rows["own_speedup"].notna()]
        of_way = passing.groupby("way", sort=False)
        wins = Counter(
            passing.loc[passing.groupby(["model", passing["way"].map(lowers)])["own_speedup"].idxmax(), "way"]
        )
        lines = of_way[["own_speedup", "ready_s"]].median()
        lines = lines.assign(max_relative_error=of_way["max_relative_error"].max(), models=of_way.size())
        lines = lines.assign(fastest=[wins[way] for way in lines.index]).reset_index()
        return lines.set_index(of_way["label"].first().to_numpy()).sort_values("own_speedup", ascending=False)

    def leading(self, *, lowering: bool) -> Row | None:
        """Return the way with the best median, of those that compute in float32 or of the others."""
        found = self.summary[self.summary["way"].map(lowers) == lowering]
        return records(found)[0] if len(found) else None

    def compiled_beside(self, way: str) -> float | None:
        """Return the median speedup of torch.compile as it is, over the models that also ran in this way."""
        speedups = self.rows.pivot_table("own_speedup", "model", "way").reindex(columns=[*WAYS])
        found = speedups.loc[speedups[way].notna(), WAYS[0]].dropna()
        return float(found.median()) if len(found) else None

    @property
    def failed(self) -> pd.DataFrame:
        """The ways that failed, with their reasons."""
        return self.rows[self.rows["own_speedup"].isna()][["model", "way", "reason"]]


@lru_cache(maxsize=2)
def ways_of(results: Results) -> Sequence[Ways]:
    """Return the ways of each CPU on which more than modes of torch.compile were measured, at batch size 1. The newest
    version of PyTorch comes first, then the most threads."""
    cells = results.ways
    cells = cells[cells["compile_mode"].isin(WAYS) & (cells["origin"] == "measured") & (cells["dtype"] == "float32")]
    cells = cells[(cells["device_type"] == "cpu") & (cells["batch_size"] == 1)]
    found = []
    for (device, torch, threads), rows in grouped(cells, "device", "torch", "threads"):
        apart = rows[~rows["compile_mode"].isin((*COMPILE_MODES, "default:freezing", "aoti"))]
        lines = [*map(_line, records(rows[rows["model"].isin(apart["model"])]))]
        if lines:
            lines.sort(key=lambda line: (line["model"], WAYS.index(line["way"])))
            of_device = pd.DataFrame(lines).set_index("label", drop=False)
            found.append(Ways(str(device), str(torch), int(threads), of_device))
    return sorted(found, key=lambda ways: (version_order(ways.torch), ways.threads), reverse=True)


def _line(row: Row) -> dict[str, Any]:
    first_s = {
        each["start"]: each["first_s"] + each["imports_s"] + (each["build_s"] or 0.0)
        for each in json.loads(row["starts"] or "[]")
    }
    ready_s = first_s.get("loaded", first_s.get("cold"))
    is_right = row["status"] in COMPARABLE and row["speedup"] is not None
    pays_from = None
    if is_right and ready_s is not None:
        pays_from = leaders([(first_s["eager"], row["eager_ms"]), (ready_s, row["eager_ms"] / row["speedup"])])[1]
    return {
        "label": row["row"],
        "model": row["model"],
        "way": row["compile_mode"],
        "own_speedup": row["speedup"] if is_right else None,
        "ready_s": ready_s,
        "pays_from": pays_from,
        "max_relative_error": row["max_relative_error"],
        "reason": row["reason"],
    }


def better(results: Results, words: Words) -> dict[str, str]:
    """Return a sentence for each device, model and batch size (``device model 1``) for which another way is faster than
    torch.compile in the same precision."""
    message = words.language.gettext("On this device, %(way)s is faster still: %(speedup)s as fast as eager mode.")
    found = dict[str, str]()
    for ways in ways_of(results):
        exact = ways.rows[~ways.rows["way"].map(lowers) & ways.rows["own_speedup"].notna()]
        for row in records(exact.loc[exact.groupby("model")["own_speedup"].idxmax()]):
            if row["way"] not in COMPILE_MODES:
                speedup = words.language.ratio(row["own_speedup"])
                way = words.named("way", row["way"])
                found.setdefault(f"{ways.device} {row['model']} 1", words.say(message, way=way, speedup=speedup))
    return found


# ── Functions for pages ─────────────────────────────────────────────────────────────────────────────────────────────


def ways_matrix(parts: Parts, *, of: Ways) -> str:
    """The speedup of each model in each way."""
    return parts.about(of.matrix, parts.language.gettext("Speedup against eager mode"), of.rows.index, "layout")


def ways_summary(parts: Parts, *, of: Ways) -> str:
    """Medians of each way."""
    headline = parts.language.gettext("Ways to run, medians over the models")
    return parts.about(of.summary, headline, of.rows.index, "layout")


def ways_table(parts: Parts, *, of: Ways) -> str:
    """Each way to run each model."""
    lines = of.rows[of.rows["own_speedup"].notna()].drop(columns=["label", "reason"])
    return parts.about(lines, parts.language.gettext("Ways to run each model"), of.rows.index, "layout")


def ways_failures(parts: Parts, *, of: Ways) -> str:
    """The ways that failed, with their reasons."""
    return parts.about(of.failed, parts.language.gettext("Ways to run that failed"), of.rows.index, "layout")


def captured_table(parts: Parts) -> str:
    """Models that read values of tensors, without and with these in the graph; "" without a record."""
    rows, cell = parts.results.ways, ["device", "torch", "dtype", "batch_size", "model"]
    rows = rows[rows["compile_mode"].isin(["default", CAPTURED])]
    captured = rows[rows["compile_mode"] == CAPTURED].set_index(cell).index
    rows = rows[rows.set_index(cell).index.isin(captured)].sort_values(["model", "compile_mode"])
    if rows.empty:
        return ""
    lines = rows[["model", "speedup", "compile_mode", "status", "graphs", "graph_breaks", "eager_ms", "compiled_ms"]]
    return parts.about(lines, parts.language.gettext("Values of tensors in the graph, or not"), rows.index)


FUNCTIONS = (ways_matrix, ways_summary, ways_table, ways_failures, captured_table)
"""The functions for pages."""
