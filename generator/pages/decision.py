"""Should I compile? A form that answers from the records.

Takes `Results` and the words of a language. Returns HTML and the data for the script, one file per device. The script
computes the recommendation for the reader's number of calls: ``decision/recommend.js`` among the scripts. It asks for
the latency of a batch or for throughput first, because no answer is about both.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

import pandas as pd

from bench.records.record import COMPILE_MODES, TIMM, Status, Workload
from bench.statistics.verdicts import SAME
from generator.data.digits import digits
from generator.data.load import Results
from generator.data.names import location
from generator.data.selection import Row, Rows, records, trusted, where
from generator.figures import matrix
from generator.figures.markup import render
from generator.figures.sources import source_key, source_of
from generator.figures.words import Words
from generator.pages import sizes, ways
from generator.pages.atlas import Atlas, auto_class
from generator.pages.downloads import compact, rounded

SNIPPET = """\
import torch
from transformers import %(auto_class)s

device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
model = %(auto_class)s.from_pretrained("%(checkpoint)s"%(dtype)s).to(device).eval()
%(compile)s
with torch.inference_mode()%(autocast)s:
    outputs = model(**inputs)
"""
"""The code that readers paste. `%(compile)s` holds the lines that allow TF32 and that compile, with their newlines, or
nothing; `%(autocast)s` is the autocast of float32 weights, or nothing."""

TIMM_SNIPPET = """\
import timm
import torch

device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
model = timm.create_model("%(checkpoint)s", pretrained=True).to(device%(dtype)s).eval()
%(compile)s
with torch.inference_mode()%(autocast)s:
    outputs = model(images)
"""
"""The same for a model of timm."""

FAMILIAR = "resnet50"
"""A model that most readers know: where it has an answer, the form starts with it."""

CURRENT = "rtx-5090"
"""A GPU that many readers have: likewise."""

PRINTED = 2
"""Decimals of images per second, as sources print them."""


# ── Data ────────────────────────────────────────────────────────────────────────────────────────────────────────────


_PLAIN = (
    *("workload", "batch_size", "input_size", "compile_mode", "dtype", "dynamic", "torch", "origin", "status"),
    *("verdict", "processes"),
)

_FIGURES = {
    "eager_ms": ("eager_low_ms", "eager_high_ms"),
    "compiled_ms": ("compiled_low_ms", "compiled_high_ms"),
    "eager_images_s": (),
    "compiled_images_s": (),
    "speedup": ("speedup_low", "speedup_high"),
    "change": (),
    "compile_cold_s": (),
    "break_even_calls": ("break_even_calls_low", "break_even_calls_high"),
    "compile_warm_s": (),
    "break_even_warm_calls": ("break_even_warm_calls_low", "break_even_warm_calls_high"),
}
"""Figures with the ends of their intervals."""

_COLUMNS = (
    *("device", "model", "model_label", "checkpoint", "digest", "model_type", "task", "profile"),
    *_PLAIN,
    *_FIGURES,
)


def of_device(results: Results, device: str) -> str:
    """Return the newest rows of a device as the script reads them. They are the same in all languages."""
    cells = compared(results)
    return _as_json(results, cells[cells["device"] == device])


def compared(results: Results) -> pd.DataFrame:
    """Return the rows from which the form answers: of the modes of torch.compile."""
    return where(results.newest, results.newest["compile_mode"].isin(COMPILE_MODES))


def _as_json(results: Results, cells: pd.DataFrame, *, with_estimates: bool = True) -> str:
    """Return rows by column; unknown is null, and never is the text "inf".

    A column is a list of one value if all rows share it, ``{"of": values, "at": positions}`` if it has texts, and else
    a list. A figure is such a column of values, of each end of its interval if it has one, and of the decimals with
    which it is shown. `models` has the slug, label, checkpoint and class of each model, and `first` the model with
    which the form starts, for each question. `estimates` has those of models that nobody has compared on the device
    and of families, and `same` the share below which nobody cares for a difference.
    """
    names = [*_COLUMNS, *(end for ends in _FIGURES.values() for end in ends)]
    rows = records(cells[names].sort_values("model", kind="stable"))
    device = str(cells["device"].iloc[0]) if with_estimates else ""
    estimated = results.estimates.models
    estimated = estimated[estimated["device"] == device]
    slugs = list(dict.fromkeys([*(row["model"] for row in rows), *estimated["model"]]))
    elsewhere = results.newest[results.newest["model"].isin(estimated["model"])].drop_duplicates("model")
    columns = ["model", "model_label", "checkpoint", "digest", "model_type", "task"]
    known = {row["model"]: row for row in (*records(elsewhere[columns]), *rows)}
    at = {slug: position for position, slug in enumerate(slugs)}
    content = {
        "count": len(rows),
        "models": [_model(known[slug]) for slug in slugs],
        "first": {each: _first_model(cells[cells["workload"] == each]) for each in cells["workload"].unique()},
        "columns": {"model": [at[row["model"]] for row in rows], **_columns(results, rows)},
        "figures": {name: [*map(_packed, _figure(rows, name))] for name in _FIGURES},
        "same": SAME,
        "estimates": _estimates(results, device, at),
    }
    return compact(content)


def _estimates(results: Results, device: str, at: Mapping[str, int]) -> dict[str, Any]:
    """Return the estimates for a device as the script reads them: reaches are natural logarithms, errors shares.

    `at` is the position of each model.
    """
    known = results.estimates
    models, families = (each[each["device"] == device] for each in (known.models, known.families))
    return {
        "ways": {
            way: {"reach": [each.reach_50, each.reach_90], "error": each.median_error, "tried": each.count}
            for way, each in known.accuracy.items()
        },
        "models": [
            [
                *(at[each["model"]], each["input_size"], rounded(each["speedup"]), each["way"], each["family"]),
                # A family has too many relatives to name.
                [[*case, rounded(speedup)] for *case, speedup in each["relatives"] if each["way"] != "family"],
            ]
            for each in models.to_dict("records")
        ],
        "families": [[each["family"], rounded(each["speedup"])] for each in families.to_dict("records")],
    }


def _columns(results: Results, rows: Rows) -> dict[str, Any]:
    """Return what tells rows apart.

    `age` is 0 for the newest stable PyTorch. `leads` marks the rows from which the short form answers: of latencies,
    the rows of the matrix beside it in mode ``default``.
    """
    leading = frozenset(matrix.leading(results).values())
    newest = sorted({row["torch"] for row in rows}, key=matrix.release_order, reverse=True)
    doubts = {row["row"]: results.doubts[row["row"]][0].kind for row in rows if row["row"] in results.doubts}
    columns = {
        **{name: [row[name] for row in rows] for name in _PLAIN},
        "age": [newest.index(row["torch"]) for row in rows],
        "leads": [row["workload"] == "throughput" or row["row"] in leading for row in rows],
        "source": [source_key(row) for row in rows],
        "doubt": [doubts.get(row["row"]) for row in rows],
    }
    return {name: _packed(values) for name, values in columns.items()}


def _figure(rows: Rows, name: str) -> Iterable[list[Any]]:
    """Yield the values of a figure, both ends of its interval, and its decimals."""
    for column in (name, *_FIGURES[name]):
        yield [rounded(row[column]) for row in rows]
    printed = {"published": PRINTED} if name.endswith("_images_s") else {}
    yield [None if row[name] is None else printed.get(row["origin"], digits(row, name)) for row in rows]


def _packed(values: Sequence[Any]) -> Any:
    distinct = list(dict.fromkeys(values))
    if len(distinct) == 1:
        return distinct
    if not any(isinstance(value, str) and value != "inf" for value in distinct):
        return values
    positions = {value: position for position, value in enumerate(distinct)}
    return {"of": distinct, "at": [positions[value] for value in values]}


def _model(row: Row) -> tuple[str, str, str, str, str]:
    """Return slug and label of the model of a row, where it is loaded from, its class in transformers, "" for one of
    timm, and its task."""
    checkpoint = location(row["checkpoint"], row["digest"])
    is_of_timm = checkpoint.startswith(TIMM)
    loaded = "" if is_of_timm else auto_class(row["model_type"] or checkpoint, row["task"])
    return row["model"], row["model_label"], checkpoint.removeprefix(TIMM), loaded, row["task"]


def _first_model(cells: pd.DataFrame) -> str:
    """Return the model of which a reader who has chosen nothing sees an answer."""
    known = trusted(cells)
    answered = (cells if known.empty else known)["model"]
    return FAMILIAR if (answered == FAMILIAR).any() else str(answered.iloc[0])


# ── HTML ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def form(atlas: Atlas, addresses: Mapping[str, str], families: str, explorer: str, whole: str = "") -> str:
    """Return the form and the places for its answer. It stays hidden until its script has read a file of `of_device`.

    `addresses` has the address of each file. `whole` is the page with the whole answer, for a form that only
    has the short one. Such a form holds the rows of its first case, and reads a file when it is used; it starts with
    the workload of the matrix beside it.
    """
    words, cells = Words(atlas.language, html=False), compared(atlas.results)
    questions = [each for each in get_args(Workload) if (cells["workload"] == each).any()]
    leading = matrix.leading_workload(cells)
    first_question = leading if whole and leading in questions else questions[0]
    of_question = cells[cells["workload"] == first_question]
    answered = set(trusted(of_question)["device"]) or set(of_question["device"])
    first_devices = [device.slug for device in atlas.judged if device.slug in answered]
    first_device = CURRENT if CURRENT in first_devices else first_devices[0]
    on_first = of_question[of_question["device"] == first_device]
    rows = on_first[on_first["model"] == _first_model(on_first)]
    usual = on_first["input_size"].value_counts()[rows["input_size"].unique()].idxmax()
    rows = rows[rows["input_size"] == usual]
    answers_of = cells.groupby("device")["workload"].unique()
    told = _all_texts(atlas, words, whole)
    return render(
        "decision.html.jinja",
        whole=whole,
        varying=told["varying"],
        families=families,
        explorer=explorer,
        rows=_as_json(atlas.results, rows, with_estimates=False) if whole else "",
        _=words.language.gettext,
        one_process=words.one_process(),
        texts=json.dumps(told, ensure_ascii=False),
        snippets=json.dumps({} if whole else {"transformers": SNIPPET, "timm": TIMM_SNIPPET}),
        questions=questions,
        first_question=first_question,
        devices=[
            (device.slug, words.value(device.label), addresses[device.slug], " ".join(sorted(answers_of[device.slug])))
            for device in atlas.judged
        ],
        first_device=first_device,
        first_model=(rows["model"].iloc[0], rows["model_label"].iloc[0]),
        first_size=rows["batch_size"].min() if first_question == "latency" else 1,  # where it is hidden
        calls=1000,  # with which the form starts
    )


def _all_texts(atlas: Atlas, words: Words, whole: str) -> dict[str, Any]:
    cells = atlas.results.newest
    labels = cells[~cells[["origin", "profile"]].duplicated()].index
    rows = [atlas.results.by_label[label] for label in labels]
    known = {source_key(row): source_of(row, words.language) for row in rows}
    sources = {
        key: {
            "name": source.name,
            "latency": words.sentences((source.protocol, source.latency, source.unknown)),
            "throughput": words.sentences((source.protocol, source.throughput, source.unknown)),
        }
        for key, source in known.items()
    }
    doubts = {
        each.kind: words.named("fault", each.kind) for anomalies in atlas.results.doubts.values() for each in anomalies
    }
    varying, better = ({}, {}) if whole else (sizes.advice(atlas.results, words), ways.better(atlas.results, words))
    return {**texts(words), "sources": sources, "doubts": doubts, "varying": varying, "better": better}


# ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def texts(words: Words) -> dict[str, Any]:
    """Return the words of the script. Each outcome of recommend.js has a headline and a reason."""
    gettext = words.language.gettext
    no_mode = gettext("Don't compile in this mode")
    estimate = gettext(
        "Expect a speedup of about %(speedup)s on %(device)s: in 9 out of 10 cases like this one, it lies between "
        "%(low)s and %(high)s, and in 5 out of 10 between %(near_low)s and %(near_high)s."
    )
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
                gettext("Don't compile: you make too few calls"),
                gettext(
                    "The compiled model is faster, but the break-even point is at %(break_even)s calls, and you make "
                    "%(calls)s."
                ),
            ],
            "close-calls": [
                gettext("Inconclusive"),
                gettext(
                    "The compiled model is faster, but your %(calls)s calls lie within the interval of the break-even "
                    "point, %(break_even)s."
                ),
            ],
            "close": [
                gettext("Don't compile: no clear gain"),
                gettext(
                    "Eager and compiled do not clearly differ: the speedup is %(speedup)s. Without a clear gain, stay "
                    "with eager mode."
                ),
            ],
            "slower": [
                gettext("Don't compile"),
                gettext("The compiled model is slower: it has %(change)s more latency than eager."),
            ],
            "likely": [
                gettext("Probably faster: measure before you decide"),
                gettext("The source reports %(change)s less latency, but neither an interval nor the time to ready."),
            ],
            "cost-unknown": [
                gettext("Compile if the process makes many calls"),
                gettext(
                    "The compiled model has %(change)s less latency than eager. The time to ready was not recorded, so "
                    "the break-even point is unknown."
                ),
            ],
            "compiled-failed": [no_mode, "%(status)s"],
            "wrong": [no_mode, "%(status)s"],
            "eager-failed": [gettext("Neither eager nor compiled fits in memory"), "%(status)s"],
            "doubtful": [
                gettext("No recommendation: the record is doubtful"),
                gettext("The data lint marks this record as doubtful, so no recommendation is based on it."),
            ],
            "unknown": [gettext("Unknown"), "%(status)s"],
            "estimated-faster": [gettext("Estimate: compiling probably pays off"), estimate],
            "estimated-slower": [gettext("Estimate: the compiled model is probably slower"), estimate],
            "estimated-open": [gettext("Estimate: inconclusive"), estimate],
            "not-measured": [
                gettext("Not measured yet"),
                gettext("There is no record of %(model)s on %(device)s for this question. Choose a different model."),
            ],
        },
        "throughput": {
            "likely": [
                gettext("Compile if the process makes many calls"),
                gettext(
                    "The source reports %(compiled_images_s)s instead of %(eager_images_s)s, a speedup of "
                    "%(speedup)s, without an interval. The time to ready was not recorded: compare it with the "
                    "%(saved)s that your %(calls)s calls save."
                ),
            ],
            "slower": [
                gettext("Don't compile"),
                gettext(
                    "The compiled model is slower than eager: %(compiled_images_s)s instead of %(eager_images_s)s."
                ),
            ],
        },
        "with_cache": gettext(
            "With a warm cache, the break-even point is at %(warm)s calls instead of %(break_even)s."
        ),
        "nearest": gettext("Measured at batch size %(size)s, the nearest to your %(batch)s."),
        "statuses": {status.value: words.status_explained(status) for status in Status if status is not Status.PASS},
        "never": gettext("never"),
        "unknown": gettext("unknown"),
        "within": gettext("%(value)s (from %(low)s to %(high)s)"),
        "images_s": gettext("%(value)s images/s"),
        "about": gettext("Source: %(name)s."),
        "invalid_batch": gettext("Enter the batch size as a whole number, one or more."),
        "invalid_calls": gettext("Enter the number of calls as a whole number, one or more."),
        "failed": gettext("The records could not be loaded."),
        "estimate": {
            "unlisted": gettext("%(family)s: model not listed"),
            "ways": {
                "other_size": gettext(
                    "This estimate is based on the same model at a different image size on this device:"
                ),
                "other_device": gettext("This estimate is based on the same model on other devices:"),
                "family": gettext("This estimate is the median of the %(family)s family on this device."),
            },
            "error": gettext("Estimates of this kind had a median error of %(error)s over %(tried)s records."),
            "relative": gettext("%(model)s, %(size)s, on %(device)s: %(speedup)s"),
            "measure": gettext("To replace this estimate with a record, measure the model:"),
            "thin": gettext("Too little is known for an estimate. Measure the model instead:"),
        },
    }
