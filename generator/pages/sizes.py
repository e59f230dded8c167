"""Sizes that change from call to call: which way to compile for them is ahead, and from which call.

Takes `Results`; returns a `Sequence` for each model and device, and for pages a table and a chart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence as Items
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any

import pandas as pd

from bench.records.record import Status
from generator.data.load import Results
from generator.data.registry import N_
from generator.data.selection import Row, by_value, records
from generator.figures.charts import Chart
from generator.figures.drawing import Curve, Role
from generator.figures.words import Words
from generator.pages.parts import Parts

STRATEGIES: dict[str, Role] = {
    "false": "compiled",
    "auto": "first",
    "marked": "second",
    "true": "fourth",
    "padded": "gain",
}
"""The ways to compile for several sizes, in their order, with their colours."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """Calls of several sizes on one device. `lines` has a line for each strategy, by the label of its row."""

    device: str
    model: str  # slug
    sizes: str  # batches or images
    lines: pd.DataFrame
    calls: dict[str, Items[Row]]  # by strategy

    count = property(lambda self: len(next(iter(self.calls.values()))))
    passing = property(lambda self: self.lines[self.lines["status"] == ""])

    @property
    def soonest(self) -> Row:
        """The strategy that is the first to finish all calls, from an empty cache."""
        return records(self.passing.nsmallest(1, "sequence_s"))[0]

    @property
    def fastest(self) -> Row:
        """The strategy with the largest speedup once all is compiled."""
        return records(self.passing.nlargest(1, "own_speedup"))[0]


@lru_cache(maxsize=2)
def sequences_of(results: Results) -> Items[Sequence]:
    """Return the sequences in which at least one strategy gave the right answers."""
    found = []
    setup = ["torch", "dtype", "threads"]
    for (device, model, sizes), every in results.sequences.groupby(["device", "model", "sizes"], sort=False):
        newest = every.sort_values("measured_at")[setup].iloc[-1]
        rows = every[(every[setup] == newest).all(axis=1)]
        ways = {_strategy(row): row for row in records(rows)}
        known = [ways[name] for name in STRATEGIES if name in ways]
        calls = {_strategy(row): json.loads(row["calls"]) for row in known if row["calls"]}
        if any(row["calls"] and row["status"] == Status.PASS for row in known):
            lines = pd.DataFrame([_line(row, calls.get(_strategy(row), ())) for row in known]).set_index("row")
            found.append(Sequence(str(device), str(model), str(sizes), lines, calls))
    return found


def _strategy(row: Row) -> str:
    return "padded" if row["compile_mode"].endswith(":padded") else str(row["dynamic"])


def _line(row: Row, calls: Items[Row]) -> dict[str, Any]:
    eager_s, sequence_s, repeated_s = (
        sum(each[name] for each in calls) / 1e3 for name in ("eager_ms", "first_ms", "repeated_ms")
    )
    return {
        "row": row["row"],
        "strategy": _strategy(row),
        "sequence_s": sequence_s or None,
        "own_speedup": eager_s / repeated_s if calls else None,
        "compilations": sum(each["compilations"] for each in calls),
        "repeated_s": repeated_s or None,
        "eager_s": eager_s or None,
        "status": "" if row["status"] == Status.PASS else row["status"],
    }


def advice(results: Results, words: Words) -> dict[str, str]:
    """Return a sentence about each kind of sizes: the strategies that most often answered first, and were fastest."""
    known, found = sequences_of(results), {}
    message = words.language.gettext(
        "For sizes that vary, %(soonest)s most often finished all calls first in our records. Once everything was "
        "compiled, %(fastest)s most often had the largest speedup."
    )
    for sizes, alike in by_value(known, (each.sizes for each in known)).items():
        soonest, fastest = (
            Counter(getattr(each, name)["strategy"] for each in alike).most_common(1)[0][0]
            for name in ("soonest", "fastest")
        )
        named = {"soonest": words.named("strategy", soonest), "fastest": words.named("strategy", fastest)}
        found[sizes] = words.say(message, **named)
    return found


# ── Functions for pages ─────────────────────────────────────────────────────────────────────────────────────────────

_HEADLINE = N_("48 calls of eight sizes, from an empty cache and repeated")


def sizes_table(parts: Parts, *, of: Sequence) -> str:
    """What each strategy takes."""
    return parts.tables.table(of.lines, parts.words.facts(_caption(parts, of)))


def sizes_chart(parts: Parts, *, of: Sequence) -> str:
    """Seconds until each call is answered, from an empty cache."""
    gettext, text = parts.language.gettext, Words(parts.language, html=False)
    first = next(iter(of.calls.values()))
    named: dict[str, tuple[Role, tuple[float, ...]]] = {
        text.named("variant", "eager"): ("eager", _sums(first, "eager_ms"))
    }
    named |= {
        text.named("strategy", name): (STRATEGIES[name], _sums(calls, "first_ms")) for name, calls in of.calls.items()
    }
    curves = [Curve(seconds, role) for role, seconds in named.values()]
    message = gettext("%(name)s: %(seconds)s for all calls.")
    ends = {name: parts.language.seconds(seconds[-1]) for name, (_, seconds) in named.items()}
    chart = Chart(
        tuple(curves),
        text.sentences(text.say(message, name=name, seconds=end) for name, end in ends.items()),
        parts.words.facts(_caption(parts, of)),
        gettext("seconds since the first call, logarithmic scale · call"),
        tuple((name, "eager dashed" if role == "eager" else role) for name, (role, _) in named.items()),
    )
    return parts.figure(f"{of.sizes}-{of.device}-{of.model}", chart, parts.in_explorer({"device": of.device}))


def _sums(calls: Items[Row], name: str) -> tuple[float, ...]:
    return tuple(accumulate(each[name] / 1e3 for each in calls))


def _caption(parts: Parts, of: Sequence) -> list[str]:
    gettext, row = parts.language.gettext, parts.results.by_label[of.lines.index[0]]
    varying = {"batches": gettext("1 to 8 images"), "images": gettext("one image of eight sizes")}[of.sizes]
    return [parts.words.phrase(gettext(_HEADLINE)), parts.words.fact("model", row), varying, parts.words.device(row)]


FUNCTIONS = (sizes_table, sizes_chart)
"""The functions for pages."""
