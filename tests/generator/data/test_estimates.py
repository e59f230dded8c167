"""Estimates rest on the nearest relatives, and their intervals hold what they promise on rows that were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

from bench.records.record import RESULTS
from generator.data import estimates
from generator.data.estimates import CASE, Estimates, comparable, estimate, left_out_errors, reach


def row(**changes: Any) -> dict[str, Any]:
    """A comparison on the device A, twice as fast when compiled."""
    return {
        "device": "A",
        "model": "net-1",
        "input_size": "224×224",
        "family": "net",
        "torch": "2.9.1",
        "dtype": "autocast float16",
        "compile_mode": "default",
        "speedup": 2.0,
        **changes,
    }


@pytest.fixture(autouse=True)
def few_are_enough(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "shipped" not in request.node.name:
        monkeypatch.setattr(estimates, "ENOUGH", 1)


def found(*rows: dict[str, Any]) -> Estimates:
    return estimate(pd.DataFrame(rows))


def of(made: Estimates, **case: str) -> Mapping[Any, Any]:
    """The only estimate for a case."""
    rows = made.models[(made.models[list(case)] == pd.Series(case)).all(axis=1)]
    (only,) = rows.to_dict("records")
    return only


def test_the_same_model_at_the_nearest_other_size_comes_first() -> None:
    known = ("A", "224×224", 1.5), ("A", "320×320", 1.6), ("B", "384×384", 3.0), ("B", "224×224", 3.0)
    sizes = [row(device=device, input_size=size, speedup=speedup) for device, size, speedup in known]
    only = of(found(row(input_size="384×384", speedup=np.nan), *sizes), device="A")
    assert (only["input_size"], only["way"], only["speedup"]) == ("384×384", "other_size", pytest.approx(1.6))
    assert only["relatives"] == [["A", "320×320", 1.6]]


def test_the_same_model_on_another_device_is_corrected_by_their_usual_difference() -> None:
    both = [row(device=device, model=f"net-{n}", speedup=speedup)
            for n in (2, 3, 4) for device, speedup in (("A", 1.2), ("B", 1.8))]  # fmt: skip
    only = of(found(*both, row(device="B", speedup=3.0)), device="A")
    assert (only["model"], only["way"]) == ("net-1", "other_device")
    assert only["speedup"] == pytest.approx(3.0 * 1.2 / 1.8)
    assert only["relatives"] == [["B", "224×224", 3.0]]


def test_a_family_stands_for_its_models_and_for_those_that_nobody_knows() -> None:
    made = found(row(speedup=np.nan), *(row(model=f"net-{n}", speedup=n / 2) for n in (3, 4, 5)))
    assert of(made, model="net-1")["way"] == "family"
    assert of(made, model="net-1")["speedup"] == pytest.approx(2.0)
    assert made.families.to_dict("records") == [{"device": "A", "family": "net", "speedup": pytest.approx(2.0)}]


def test_where_nothing_is_known_there_is_no_estimate() -> None:
    made = found(row(model="other", family="other", speedup=np.nan), row(model="net-2"))
    assert (made.models.empty, made.families.empty, made.accuracy) == (True, True, {})
    assert estimate(pd.DataFrame([row()]).iloc[:0]).devices == ()


def test_a_device_with_few_comparisons_has_no_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "ENOUGH", 3)
    rows = [row(model=f"net-{n}") for n in (2, 3, 4)] + [row(device="B", speedup=9.0)]
    made = found(*rows)
    assert made.devices == ("A",)
    assert not (made.models["device"] == "B").any()


# ── The shipped records ─────────────────────────────────────────────────────────────────────────────────────────────


@cache
def shipped() -> pd.DataFrame:
    """The rows of the committed benchmarks of throughput, as the guide reads them."""
    from generator.data.load import load

    newest = load(RESULTS).newest
    return newest[newest["workload"] == "throughput"]


def held_shares(known: pd.DataFrame) -> Iterator[tuple[str, float, float]]:
    """For each way and share: how many of the rows are in intervals that the errors of other models have made."""
    folds = pd.Series(known["model"].factorize()[0] % 5, known.index)
    for way, errors in left_out_errors(known).items():
        fold = folds[errors.index]
        for share in (0.5, 0.9):
            held = [errors[fold == at].abs() <= reach(errors[fold != at], share) for at in range(5)]
            yield way, share, float(pd.concat(held).mean())


def test_shipped_intervals_hold_what_they_promise_of_the_models_left_out() -> None:
    known = comparable(shipped()).dropna(subset="speedup")
    shares = list(held_shares(known))
    assert len(shares) == 6
    for _, share, held in shares:
        assert held == pytest.approx(share, abs=0.02)


def test_shipped_estimates_are_for_cases_without_a_speedup_and_rest_on_cases_with_one() -> None:
    made, known = estimate(shipped()), comparable(shipped()).dropna(subset="speedup")
    compared = set(known[CASE].itertuples(index=False, name=None))
    assert len(made.models) > 700
    for each in made.models.to_dict("records"):
        assert tuple(each[name] for name in CASE) not in compared
        if each["way"] != "family":
            assert {(device, each["model"], size) for device, size, _ in each["relatives"]} <= compared
    errors = [made.accuracy[way].median_error for way in get_args(estimates.Way)]
    assert errors == sorted(errors), "the best way comes first"
