"""Ways to start and sizes that change: the figures of their pages, computed again from the lines of the run files."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from atlas_data import ON_CPU, measured, write
from guide_figures import shipped
from msgspec.structs import replace

from bench.records.record import RESULTS, Call, Status
from generator.data.load import Results, load
from generator.data.selection import records as plain
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages import sizes
from generator.pages.sizes import sequences_of
from generator.pages.startup import Startup, startups_of


def lines(pattern: str) -> list[dict[str, Any]]:
    files = sorted((RESULTS / "measured").glob(pattern))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def first() -> Startup:
    return startups_of(shipped())[0]


@pytest.mark.parametrize("start", ["eager", "cold", "warm", "artifacts", "loaded"])
def test_the_seconds_of_a_start_are_those_of_the_run_files(first: Startup, start: str) -> None:
    seconds = defaultdict[str, list[float]](list)
    known = lines("2026-11-28_intel-xeon-family-6-model-167-*_startup*.jsonl")
    begun = {line["cell"]["model"] for line in known if line["cell"]["variant"] != "compile:default"}
    for line in known:
        if line["cell"]["model"] not in begun:
            continue
        found, variant = line.get("measurement"), line["cell"]["variant"]
        if not found or not found.get("compiled") or variant != ("aoti" if start == "loaded" else "compile:default"):
            continue
        if start == "eager":
            seconds[line["cell"]["model"]].append(found["eager"]["first_s"])
        elif start in found["compilation"]["ready_s"]:
            seconds[line["cell"]["model"]].append(found["compiled"]["first_s"])
    by_model = [statistics.median(each) for each in seconds.values()]
    assert len(by_model) >= 5
    assert first.middle(start) == pytest.approx(statistics.median(by_model), abs=1e-6)


def test_who_is_ahead_answers_sooner_than_all_others_with_its_imports(first: Startup) -> None:
    for _, ways in first.rows[first.rows["first_s"].notna()].groupby("model"):
        eager_ms = shipped().by_label[ways.index[0]]["eager_ms"]
        for calls in filter(None, ways["leads_from"].dropna()):
            seconds = {
                way["start"]: way["imports_s"]
                + way["first_s"]
                + (calls - 1) * eager_ms / (way["own_speedup"] or 1.0) / 1e3
                for way in plain(ways)
            }
            [ahead] = ways["start"][ways["leads_from"] == calls]
            assert seconds[ahead] == pytest.approx(min(seconds.values()))


def test_the_first_sentence_compares_the_same_models_with_imports(first: Startup) -> None:
    lines = plain(first.rows.assign(total_s=first.rows["first_s"] + first.rows["imports_s"]))
    total_s = {(line["model"], line["start"]): line["total_s"] for line in lines if line["total_s"] is not None}
    ways = ("eager", "cold", "warm", "loaded")
    models = [model for model in {model for model, _ in total_s} if all((model, way) in total_s for way in ways)]
    expected = {way: statistics.median(total_s[model, way] for model in models) for way in ways}
    assert first.typical == pytest.approx(expected | {"count": len(models)})
    assert expected["eager"] < expected["loaded"] < expected["warm"] < expected["cold"]


def test_each_model_starts_sooner_or_later_by_regions(first: Startup) -> None:
    sooner, later = (first.by_regions(sooner=sooner) for sooner in (True, False))
    assert {"vit", "beit"} <= {*sooner}
    assert "mask2former" in later
    assert not {*sooner} & {*later}


def test_a_way_that_failed_says_why(first: Startup) -> None:
    assert first.failed["reason"].str.len().gt(0).all()
    assert not {*first.failed.index} & {*first.of("loaded").index}


# ── Sizes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def calls(first_ms: float, repeated_ms: float) -> tuple[Call, ...]:
    shapes = ((1 + number % 3, 224, 224) for number in range(6))
    return tuple(
        Call(shape=each, eager_ms=10.0, first_ms=first_ms, repeated_ms=repeated_ms, compilations=0) for each in shapes
    )


@pytest.fixture
def results(tmp_path: Path) -> Results:
    ways = {":static": calls(9000.0, 4.0), ":marked": calls(3000.0, 5.0), ":padded": calls(20.0, 1.0)}
    records = [
        measured(variant=f"compile:default{name}", sizes="batches", batch_size=8, run=f"run{name[1:]}", **ON_CPU)
        for name in ways
    ]
    made = [replace(each, measurement=None, calls=of) for each, of in zip(records, ways.values(), strict=True)]
    made[-1] = replace(made[-1], status=Status.FAIL_ACCURACY, reason="padded")
    return load(write(tmp_path, made))


def test_the_first_and_the_fastest_strategy_are_among_those_with_the_right_answer(results: Results) -> None:
    [found] = sequences_of(results)
    assert found.lines["strategy"].tolist() == ["false", "marked", "padded"]
    assert (found.soonest["strategy"], found.soonest["sequence_s"]) == ("marked", 18.0)
    assert (found.fastest["strategy"], found.fastest["own_speedup"]) == ("false", 2.5)
    assert results.newest.empty, "such a cell has no latency of one size"
    advice = sizes.advice(results, Words(load_language("en"), html=False))
    assert "mark_dynamic" in advice["batches"]
    assert "dynamic=False" in advice["batches"]
