"""Should I compile? A form that answers from the records, and a plain table for readers without scripts.

Takes `Results` and the words of a language. Returns HTML and the data of the script, which computes the recommendation
for the reader's number of calls: docs/assets/javascripts/recommend.js.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import pandas as pd

from bench.records.record import Status
from generator.data.digits import digits
from generator.data.load import Results
from generator.data.selection import Row, records
from generator.figures import matrix, tables
from generator.figures.markup import render
from generator.figures.tables import shown
from generator.figures.words import Words
from generator.pages.atlas import Atlas, Device, Model

SNIPPET = """\
import torch
from transformers import %(auto_class)s

device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
model = %(auto_class)s.from_pretrained("%(checkpoint)s"%(dtype)s).to(device).eval()
%(compile)s
with torch.inference_mode()%(autocast)s:
    outputs = model(**inputs)
"""
"""The code that readers paste. `%(compile)s` is the line that compiles, with its newline, or nothing; `%(autocast)s` is
the autocast of float32 weights, or nothing."""

CALLS = 1000
"""The number of calls with which the form starts."""


# ── Data ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=2)
def as_json(results: Results) -> str:
    """Return the newest rows as the script reads them, one per line: unknown is null, and never is the text "inf".

    A figure with an interval is a list of value, low, high, and the decimals with which it is shown. `leads` marks the
    rows of the matrix in mode ``default``, from which the short form answers.
    """
    return _as_json(results, results.newest)


def _as_json(results: Results, cells: pd.DataFrame) -> str:
    leading = frozenset(matrix.leading(results).values())
    rows = (_record(row) | {"leads": row["row"] in leading} for row in records(cells))
    texts = (json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    return "[\n" + ",\n".join(texts) + "\n]\n"


def _record(row: Row) -> dict[str, Any]:
    names = (
        *("device", "model", "task", "batch_size", "compile_mode", "dtype", "dynamic", "torch", "origin", "status"),
        *("verdict", "processes"),
    )
    return {
        **{name: row[name] for name in names},
        "eager_ms": _interval(row, "eager_ms", "eager_low_ms", "eager_high_ms"),
        "compiled_ms": _interval(row, "compiled_ms", "compiled_low_ms", "compiled_high_ms"),
        "speedup": _interval(row, "speedup", "speedup_low", "speedup_high"),
        "change": None if row["change"] is None else [row["change"], digits(row, "change")],
        "cold": _cost(row, "compile_cold_s", "break_even_calls"),
        "warm": _cost(row, "compile_warm_s", "break_even_warm_calls"),
    }


def _cost(row: Row, ready_s: str, calls: str) -> dict[str, Any]:
    """Return the time to ready and the break-even point, with an empty or with a filled cache."""
    return {"ready_s": _interval(row, ready_s), "calls": _interval(row, calls, f"{calls}_low", f"{calls}_high")}


def _interval(row: Row, value: str, *ends: str) -> list[float | str | None] | None:
    if row[value] is None:
        return None
    figures = [row[value], *(row[end] for end in ends)]
    return [*("inf" if each is not None and math.isinf(each) else each for each in figures), digits(row, value)]


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def form(atlas: Atlas, data: str, whole: str = "") -> str:
    """Return the form and the places for its answer. It stays hidden until its script has read `data`, an address.

    `whole` is the address of the page with the whole answer, for a form that only has the short one. Such a form holds
    the rows of its first case, and reads `data` when it is used.
    """
    words, cells = Words(atlas.language, html=False), atlas.results.newest
    devices = _devices(atlas)
    on_first = cells[cells["device"] == devices[0].slug]
    answered = tables.trusted(on_first)  # a reader who has chosen nothing shall see an answer
    first_model = (on_first if answered.empty else answered)["model"].iloc[0]
    rows = on_first[on_first["model"] == first_model]
    failed = {"failed": words.language.gettext("The records could not be loaded.")} if whole else {}
    return render(
        "decision.html.jinja",
        data=data,
        whole=whole,
        rows=_as_json(atlas.results, rows) if whole else "",
        label=_labels(words),
        texts=json.dumps(texts(words) | failed, ensure_ascii=False),
        snippet=json.dumps(SNIPPET),
        code=json.dumps({} if whole else {model.slug: _code(model) for model in atlas.models}),
        devices=[(device.slug, words.value(device.label)) for device in devices],
        first_model=first_model,
        first_size=rows["batch_size"].min(),
        tasks=[_task(task, models, words) for task, models in _by_task(atlas.models).items()],
        batch_sizes=[(size, words.language.number(size)) for size in sorted(cells["batch_size"].unique())],
        calls=CALLS,
    )


def _devices(atlas: Atlas) -> Sequence[Device]:
    """Return the devices, measured ones first: only their answers include what compiling costs."""
    return sorted(atlas.devices, key=lambda device: device.origins != ("measured",))


def _by_task(models: Sequence[Model]) -> Mapping[str, Sequence[Model]]:
    by_task: dict[str, list[Model]] = {}
    for model in models:
        by_task.setdefault(model.task, []).append(model)
    return by_task


def _task(task: str, models: Sequence[Model], words: Words) -> tuple[str, str, str, list[tuple[str, str]]]:
    """Return the slug of a task, its name, the name of all its models together, and each model's slug and name."""
    name = words.task(task)
    every = words.say(words.language.gettext("All models for %(task)s"), task=name)
    return task, name, every, [(model.slug, words.value(model.label)) for model in models]


def _code(model: Model) -> dict[str, str]:
    return {"auto_class": model.auto_class, "checkpoint": model.checkpoint}


def lines(cells: pd.DataFrame) -> pd.DataFrame:
    """The table: what compiling changes, when it has paid, and both latencies."""
    decisive = ("change", "break_even_calls", "break_even_warm_calls")
    figures = ("speedup_low", "eager_ms", "compiled_ms", "compile_cold_s", "compile_warm_s")
    return shown(cells, decisive, *figures).rename(columns={"speedup_low": "interval"})


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _labels(words: Words) -> dict[str, str]:
    """Return the labels of the form."""
    gettext = words.language.gettext
    return {
        "form": gettext("Your case"),
        "device": gettext("Device"),
        "model": gettext("Model or task"),
        "one_model": gettext("Model"),
        "batch": gettext("Batch size"),
        "calls": gettext("Calls per process start"),
        "cache": gettext("Compile cache"),
        "cold": gettext("cold: empty at the start"),
        "warm": gettext("warm: filled by an earlier process"),
        "answer": gettext("The answer"),
        "helper": gettext("Should I compile?"),
        "whole": gettext("All figures behind this answer"),
    }


def texts(words: Words) -> dict[str, Any]:
    """Return the words of the script. Each outcome of recommend.js has a headline and a reason."""
    gettext = words.language.gettext
    too_close, no_mode = gettext("Too close to call"), gettext("Don't compile in this mode")
    return {
        "outcomes": {
            "compile": [
                gettext("Compile"),
                gettext(
                    "You make %(calls)s calls, and the break-even point is at %(break_even)s. From there on, each call "
                    "saves %(saving)s."
                ),
            ],
            "few-calls": [
                gettext("Don't compile: it does not pay back within your calls"),
                gettext(
                    "The compiled model is faster, but the break-even point is at %(break_even)s calls, and you make "
                    "%(calls)s."
                ),
            ],
            "close-calls": [
                too_close,
                gettext(
                    "The compiled model is faster, but your %(calls)s calls lie within the interval of the break-even "
                    "point, %(break_even)s."
                ),
            ],
            "close": [
                too_close,
                gettext(
                    "Eager and compiled do not clearly differ: the speedup is %(speedup)s. Without a clear gain, leave "
                    "compilation out."
                ),
            ],
            "slower": [
                gettext("Don't compile"),
                gettext("The compiled model is slower than eager: the latency changes by %(change)s."),
            ],
            "likely": [
                gettext("Probably faster: measure before you decide"),
                gettext(
                    "The source reports that the latency changes by %(change)s, without an interval and without the "
                    "time to ready."
                ),
            ],
            "cost-unknown": [
                gettext("Compile if the process makes many calls"),
                gettext(
                    "The compiled model is faster: the latency changes by %(change)s. How long it takes until it is "
                    "ready was not recorded, so the break-even point is unknown."
                ),
            ],
            "compiled-failed": [no_mode, "%(status)s"],
            "wrong": [no_mode, "%(status)s"],
            "eager-failed": [gettext("Neither eager nor compiled"), "%(status)s"],
            "doubtful": [
                gettext("No recommendation: the record is doubtful"),
                gettext("The data lint doubts this record, so it supports no recommendation."),
            ],
            "unknown": [gettext("Unknown"), "%(status)s"],
            "not-measured": [
                gettext("Not measured yet"),
                gettext("There is no record for this choice. Batch sizes with a record: %(sizes)s."),
            ],
        },
        "statuses": {status.value: words.status_explained(status) for status in Status if status is not Status.PASS},
        "figures": {
            "eager_ms": gettext("Eager latency"),
            "compiled_ms": gettext("Compiled latency"),
            "speedup": gettext("Speedup"),
            "ready_s": gettext("Time to ready"),
            "break_even": gettext("Break-even point (calls)"),
            "eager_total": gettext("All your calls, eager"),
            "compiled_total": gettext("All your calls, compiled, with the time to ready"),
        },
        "headings": {
            "model": words.heading("model"),
            "compile_mode": words.heading("compile_mode"),
            "origin": words.heading("origin"),
            "eager_ms": words.heading("eager_ms"),
            "compiled_ms": words.heading("compiled_ms"),
            "break_even": words.heading("break_even_calls"),
            "recommendation": gettext("Recommendation"),
        },
        "origins": {origin: words.origin(origin) for origin in ("measured", "published")},
        "never": gettext("never"),
        "none": gettext("none"),
        "unknown": gettext("unknown"),
        "within": gettext("%(value)s (from %(low)s to %(high)s)"),
        "no_interval": gettext("The source gives no interval, so how certain this is remains unknown."),
        "one_process": words.one_process(),
        "invalid_calls": gettext("Give a whole number of calls, one or more."),
        "records": gettext("Records for this choice"),
        "tally": gettext("%(outcome)s: %(count)s"),
        "snippet": gettext("The code to paste"),
        "copy": gettext("Copy"),
        "copied": gettext("Copied"),
        "link": gettext("Link to this answer"),
        "failed": gettext("The records could not be loaded. The table below has them all."),
    }
