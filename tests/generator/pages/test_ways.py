"""Other ways to run a model: who is fastest, in the same precision and in a lower one, and when it pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import ON_CPU, measured, measurement, write

from bench.records.record import BUILDING_S, Accuracy, Compilation, Record, Start, Status
from generator.data.load import Results, load
from generator.figures.words import Words
from generator.languages.language import load_language
from generator.pages.ways import Ways, better, ways_of


def way(
    variant: str, own_ms: float, first_s: float, build_s: float = 0.0, error: float = 1e-6, **changes: Any
) -> Record:
    """A ViT that takes 10 ms in eager mode, whose first answer takes half a second there."""
    start: Start = "loaded" if build_s else "cold"
    found = measurement(10.0, own_ms, accuracy=Accuracy(max_relative_error=error))
    assert found.compiled is not None
    found = msgspec.structs.replace(
        found,
        eager=msgspec.structs.replace(found.eager, first_s=0.5),
        compiled=msgspec.structs.replace(found.compiled, first_s=first_s),
        compilation=Compilation(ready_s={start: first_s + 1.0}, imports_s=1.0),
    )
    made = measured(variant=variant, figures=found, **{**ON_CPU, **changes})
    return msgspec.structs.replace(made, costs_s={BUILDING_S: build_s} if build_s else {})


@pytest.fixture
def results(tmp_path: Path) -> Results:
    exported = way("onnxruntime", 4.0, 2.0, 60.0)
    failed = measured(variant="openvino", status=Status.FAIL_TO_RUN, reason="no such operation", **ON_CPU)
    wrong = way("compile:default:int8-weights", 1.0, 30.0, status=Status.FAIL_ACCURACY, reason="deviates")
    alone = way("compile:default", 5.0, 20.0, model="BeiT", checkpoint="microsoft/beit")
    others = [way("compile:default:int8", 2.0, 30.0, error=0.03), way("compile:default", 5.0, 20.0)]
    return load(write(tmp_path, [exported, failed, wrong, alone, *others]))


@pytest.fixture
def found(results: Results) -> Ways:
    [only] = ways_of(results)
    return only


def test_the_fastest_way_in_the_same_precision_is_named_apart_from_lower_ones(found: Ways) -> None:
    exact, lowered = found.leading(lowering=False), found.leading(lowering=True)
    assert exact is not None
    assert lowered is not None
    assert (exact["way"], lowered["way"]) == ("onnxruntime", "default:int8"), "a wrong answer is never the fastest"
    assert exact["own_speedup"] == pytest.approx(2.5, rel=0.02)
    assert (exact["fastest"], lowered["fastest"]) == (1, 1), "each of its own precision"
    assert lowered["max_relative_error"] == 0.03
    assert found.compiled_beside("onnxruntime") == pytest.approx(2.0, rel=0.02)


def test_compiling_is_compared_over_the_models_of_the_other_way(tmp_path: Path) -> None:
    other: dict[str, Any] = {"model": "DETR", "checkpoint": "facebook/detr-resnet-50"}
    records = [way("compile:default", 5.0, 20.0), way("onnxruntime", 4.0, 2.0, 60.0)]
    records += [way("compile:default", 20.0, 20.0, **other), way("openvino", 8.0, 2.0, 60.0, **other)]
    [found] = ways_of(load(write(tmp_path, records)))
    medians = [found.compiled_beside(each) for each in ("onnxruntime", "openvino", "aoti")]
    assert medians == [pytest.approx(2.0, rel=0.02), pytest.approx(0.5, rel=0.02), None]


def test_only_models_that_were_run_in_another_way_are_compared(found: Ways) -> None:
    assert set(found.rows["model"]) == {"vit"}
    assert [found.failed["way"].tolist(), found.failed["reason"].tolist()] == [
        ["openvino", "default:int8-weights"],
        ["no such operation", "deviates"],
    ]


def test_the_time_to_the_first_answer_includes_export_and_imports_and_is_what_must_pay(found: Ways) -> None:
    [exported] = found.rows[found.rows["way"] == "onnxruntime"].to_dict("records")
    assert exported["ready_s"] == 63.0
    saving_s = (10.0 - 10.0 / exported["own_speedup"]) / 1e3
    assert exported["pays_from"] == pytest.approx((63.0 - 0.5) / saving_s, rel=0.01)


def test_pages_about_modes_show_no_other_way(results: Results) -> None:
    assert set(results.current["compile_mode"]) == {"default"}


def test_the_form_names_a_way_that_is_faster_than_compiling(results: Results) -> None:
    told = better(results, Words(load_language("en"), html=False))
    [(case, sentence)] = told.items()
    assert case.endswith(" vit 1")
    assert "ONNX Runtime" in sentence
