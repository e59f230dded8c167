"""The explorer: every row of the results in one table that is filtered, sorted, grouped and compared in the browser.

`Results` and the words of a language enter; its data as JSON and the place where its script builds it leave. What the
script does is in docs/assets/javascripts/explorer/; all that it says comes from here.

    python -m pytest tests/generator/pages/test_explorer.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from bench.exchange.importers import huggingface_2023
from bench.records.record import Status
from bench.statistics.verdicts import NOISE
from generator.data.load import COLUMNS, Results
from generator.data.rows import ORDERS
from generator.figures import causes
from generator.figures.markup import render
from generator.figures.tables import cause_rows
from generator.figures.words import Words
from generator.languages.language import Language
from generator.pages.atlas import Atlas

FILTERS = ("device", "model", "task", "batch_size", "compile_mode", "dtype", "torch", "status", "origin")
"""Columns that a reader filters by."""

COMPARED = ("device", "torch", "compile_mode")
"""Columns of which two values can be set against each other."""

DIGITS = 7
"""Significant digits of a figure: those of the published latencies, and more than any measurement has."""

ROUNDS = 120
"""Most rounds of an variant in the strip of a row: more dots than that would cover each other."""


# ── Data ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=8)
def as_json(results: Results, language: Language) -> str:
    """All rows by column, for the script; a column of which nothing is known is left out.

    A column of text is ``{"of": values, "at": the position of each row's value}``, any other one a list. Unknown is
    null, and a break-even point that is never reached the text "inf". ``why`` is told in `language`, ``doubtful`` marks
    rows that the data lint doubts; the other columns are those of `load.COLUMNS`.
    """
    rows = results.rows
    words = Words(language, html=False)
    explained = {row["row"] for row in cause_rows(rows)}
    columns = {name: [_plain(row[name]) for row in rows] for name in COLUMNS}
    columns["doubtful"] = [row["row"] in results.doubts for row in rows]
    columns["why"] = [
        causes.why(row["causes"], row["verdict"], words) if row["row"] in explained else None for row in rows
    ]
    known = {name: _packed(values) for name, values in columns.items() if any(value is not None for value in values)}
    return json.dumps(known, ensure_ascii=False, separators=(",", ":")) + "\n"


def devices_with_rounds(results: Results) -> list[str]:
    """The devices that `rounds_as_json` knows something of."""
    return list(
        dict.fromkeys(row["device"] for row, variants in zip(results.rows, results.rounds_ms, strict=True) if variants)
    )


def rounds_as_json(results: Results, device: str) -> str:
    """The medians of the rounds of the rows of a device, by the position of the row in `as_json` and by variant.

    At most `ROUNDS` of an variant, evenly spaced, in the order of time, one process after the other.
    """
    rows = {
        row["row"]: {variant: _thinned(rounds) for variant, rounds in variants.items()}
        for row, variants in zip(results.rows, results.rounds_ms, strict=True)
        if variants and row["device"] == device
    }
    return json.dumps(rows, separators=(",", ":")) + "\n"


def _thinned(rounds_ms: Sequence[float]) -> list[float]:
    step = max(1, math.ceil(len(rounds_ms) / ROUNDS))
    return [_plain(ms) for ms in rounds_ms[::step]]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return "inf" if math.isinf(value) else float(f"{value:.{DIGITS}g}")
    if isinstance(value, datetime):
        return value.isoformat()
    return None if value == "" else value


def _packed(values: Sequence[Any]) -> Any:
    """A column; its texts once each."""
    if not any(isinstance(value, str) and value != "inf" for value in values):
        return values
    positions = {value: position for position, value in enumerate(dict.fromkeys(values))}
    return {"of": list(positions), "at": [positions[value] for value in values]}


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def place(atlas: Atlas, data: str, rounds: str, link: Callable[[str, str], str]) -> str:
    """Where the script builds the explorer of `data`, an address; a plain list of links for who has no scripts.

    `rounds` is the address of the folder of `rounds_as_json`; `link` gives the address of a page from its kind (device,
    model) and slug.
    """
    words = Words(atlas.language, html=False)
    html = Words(atlas.language, html=True)
    devices = [(link("device", device.slug), html.value(device.label)) for device in atlas.devices]
    return render(
        "explorer.html.jinja",
        data=data,
        rounds=rounds,
        texts=json.dumps(texts(atlas, words, link), ensure_ascii=False),
        loading=atlas.language.gettext("The records are being read…"),
        by_device=atlas.language.gettext("The same records as tables, by device"),
        devices=devices,
    )


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def texts(atlas: Atlas, words: Words, link: Callable[[str, str], str]) -> dict[str, Any]:
    """What the script says, and in which order it offers values."""
    gettext = words.language.gettext
    return {
        "names": _names(atlas, words),
        "links": {
            "device": {device.slug: link("device", device.slug) for device in atlas.devices},
            "model": {model.slug: link("model", model.slug) for model in atlas.models},
        },
        "filters": FILTERS,
        "compared": COMPARED,
        "noise": 1 + NOISE,
        "headings": _headings(words),
        "explained": {status.value: words.status_explained(status) for status in Status if status is not Status.PASS},
        "details": _details(words),
        # Notes of other sources stay in English.
        "notes": {huggingface_2023.SOURCE.note: gettext("mean of 300 inferences on one image, after a warm-up")},
        "says": {
            "any": gettext("all"),
            "none": gettext("none"),
            "unknown": gettext("unknown"),
            "never": gettext("never"),
            "search": gettext("Search"),
            "search_in": gettext("model, version…"),
            "group": gettext("Group by"),
            "measure": gettext("Chart"),
            "compare": gettext("Compare two"),
            "first": gettext("First"),
            "second": gettext("Second"),
            "superseded": gettext("older runs of the same cell as well"),
            "filters": gettext("Filters and view"),
            "reset": gettext("Reset"),
            "previous": gettext("Previous"),
            "next": gettext("Next"),
            "pages": gettext("Pages of the table"),
            "download_csv": gettext("What is shown, as CSV"),
            "download_json": gettext("What is shown, as JSON"),
            "link": gettext("Link to this view"),
            "range": gettext("Rows %(first)s to %(last)s of %(count)s"),
            "nothing": gettext("There is no record for this selection yet."),
            "failed": gettext("The records could not be loaded. The pages below show them as tables."),
            "caption": gettext("Records that fit the filters"),
            "pairs": gettext("Cells that both have, apart from what is compared"),
            "compiled_change": gettext("Compiled, second against first"),
            "eager_change": gettext("Eager, second against first"),
            "eager": gettext("Eager (ms)"),
            "compiled": gettext("Compiled (ms)"),
            "sort": gettext("Sort by this column"),
            "log": gettext("%(axis)s, logarithmic scale"),
            "chart": gettext("%(y)s over %(x)s. Points: %(count)s. The table has the same figures."),
            "hollow": gettext("Hollow points are records that the data lint doubts."),
            "no_chart": gettext("No row has both figures of the chart."),
            "others": gettext("others"),
            "with_interval": gettext("%(value)s (from %(low)s to %(high)s)"),
            "doubtful": gettext("The data lint doubts this record, so it supports no recommendation."),
            "no_command": gettext("The source gives no command. This one measures the same cell on your device:"),
            "strip": gettext(
                "Median of each round in the order of time, processes one after the other; from %(low)s to %(high)s"
            ),
            "samples": gettext("Timed calls: %(count)s. Processes: %(processes)s."),
        },
    }


def _names(atlas: Atlas, words: Words) -> dict[str, dict[str, str]]:
    """What to call the values of a column, in the order in which they are offered."""
    cells = atlas.results.rows
    found = {name: dict.fromkeys(str(row[name]) for row in sorted(cells, key=_order(name))) for name in FILTERS}
    shown: dict[str, Callable[[str], str]] = {
        "device": lambda slug: atlas.device[slug].label if slug in atlas.device else slug,
        "model": lambda slug: atlas.model[slug].label if slug in atlas.model else slug,
        "task": words.task,
        "status": lambda status: words.status_in_words(status) or words.language.gettext("passed"),
        "origin": words.origin,
    }
    return {name: {value: str(shown.get(name, str)(value)) for value in found[name]} for name in FILTERS}


def _order(name: str) -> Callable[[Any], Any]:
    if name == "device":
        return lambda _: 0  # in the order of the records: accelerators first
    order: Callable[[Any], Any] = ORDERS.get(name, lambda value: value)
    return lambda row: order(row[name])


def _headings(words: Words) -> dict[str, str]:
    """Columns of the table. What it has of one column alone is in their name."""
    gettext = words.language.gettext
    same = (*FILTERS, "eager_ms", "compiled_ms", "speedup", "break_even_calls", "change")
    own = {
        "status": gettext("Status"),
        "compiled_images_s": gettext("Throughput (images/s)"),
        "compile_cold_s": gettext("Compile time (s)"),
        "compiled_peak_memory_gb": gettext("Peak memory (GB)"),
        "compiled_matmul_share": gettext("Share of the peak"),
    }
    return {name: words.heading(name) for name in same if name not in own} | own


def _details(words: Words) -> dict[str, str]:
    """What an opened row tells besides its columns."""
    gettext = words.language.gettext
    same = ("checkpoint", "weights", "dynamic", "input_size", "layout", "threads", "date", "verdict", "reason", "why")
    environment = ("torch", "transformers", "python", "platform", "accelerator", "driver", "triton", "cores", "commit")
    return {
        "figures": gettext("Figures with their intervals"),
        "graph": gettext("Graphs and causes"),
        "environment": gettext("Environment"),
        "command": gettext("The command that reproduces it"),
        "source": gettext("Source"),
        **{name: words.heading(name) for name in (*same, *environment, "memory_gb", "settings", "run", "contributor")},
        **{name: words.heading(name) for name in ("graphs", "graph_breaks", "recompiles", "compile_warm_s")},
        "break_even_warm_calls": words.heading("break_even_warm_calls"),
        "eager_p90_ms": gettext("90th percentile, eager (ms)"),
        "compiled_p90_ms": gettext("90th percentile, compiled (ms)"),
        "eager_p99_ms": gettext("99th percentile, eager (ms)"),
        "compiled_p99_ms": gettext("99th percentile, compiled (ms)"),
        "dynamo_s": gettext("Compile time in TorchDynamo (s)"),
        "aot_autograd_s": gettext("Compile time in AOTAutograd (s)"),
        "inductor_s": gettext("Compile time in Inductor (s)"),
        "eager_peak_memory_gb": gettext("Peak memory, eager (GB)"),
        "compiled_peak_memory_gb": gettext("Peak memory, compiled (GB)"),
        "cudagraph_skips": gettext("Skipped CUDA graphs"),
        "eager_host_bound": gettext("Eager, share of waiting for the host"),
        "compiled_host_bound": gettext("Compiled, share of waiting for the host"),
        "eager_images_s": gettext("Throughput, eager (images/s)"),
        "compiled_images_s": gettext("Throughput, compiled (images/s)"),
        "samples": gettext("Samples"),
        "status": gettext("Status"),
    }
