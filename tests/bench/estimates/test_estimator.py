"""An estimate rests on the best evidence there is, and on nothing that it estimates."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from estimates_data import benchmark, document, row, table
from hypothesis import given, settings, strategies as st

from bench.estimates import relatives
from bench.estimates.estimator import SpeedupEstimate, estimate

UNKNOWN = {"speedup": math.nan}


def only(rows: pd.DataFrame, device: str = "A") -> SpeedupEstimate:
    (found,) = [each for each in estimate(document(), rows) if each.device == device]
    return found


def test_the_same_model_at_another_size_comes_first() -> None:
    rows = table(
        row(height=384, **UNKNOWN),
        row(height=224, speedup=1.5),
        row(height=320, speedup=1.6),
        row(device="B", height=384, speedup=3.0),
        row(device="B", height=320, speedup=3.0),
        row(device="B", height=224, speedup=3.0),
    )
    found = only(rows)
    assert found.evidence == "other_size"
    assert found.speedup == pytest.approx(1.6)
    assert found.relatives == (("A", "timm/net_1", 320),)
    assert found.accuracy.reach_90 == 0.05


def test_the_same_model_on_another_device_is_corrected_for_the_usual_difference() -> None:
    both = [row(device=device, checkpoint=f"timm/net_{n}", speedup=speedup)
            for n in (2, 3, 4) for device, speedup in (("A", 1.2), ("B", 1.8))]  # fmt: skip
    found = only(table(*both, row(device="B", speedup=3.0)))
    assert found.evidence == "other_device"
    assert found.speedup == pytest.approx(3.0 * 1.2 / 1.8)
    assert found.relatives == (("B", "timm/net_1", 224),)


def test_the_trees_answer_where_no_record_of_the_model_does() -> None:
    others = [row(checkpoint=f"timm/net_{n}", flop=4e9 * n) for n in (2, 3, 4, 5)]
    found = only(table(row(**UNKNOWN), row(device="B", **UNKNOWN), *others))
    assert found.evidence == "family"
    assert found.speedup == pytest.approx(math.e)
    assert [checkpoint for _, checkpoint, _ in found.relatives] == ["timm/net_2", "timm/net_3", "timm/net_4"]
    assert not found.accuracy.operations  # nobody has counted them
    assert found.accuracy.eager
    unseen = {"family": "other", "eager_ms": math.nan, **UNKNOWN}
    stranger = only(table(row(**unseen), row(device="B", **unseen)))
    assert (stranger.evidence, stranger.relatives, stranger.accuracy.eager) == ("features", (), False)


def test_there_is_no_estimate_where_nothing_is_known_of_the_model() -> None:
    unknown = {"flop": math.nan, **UNKNOWN}
    assert list(estimate(document(), table(row(**unknown), row(device="B", **unknown)))) == []


def test_measured_models_have_no_estimate() -> None:
    assert list(estimate(document(), table(row(), row(device="B")))) == []


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 479), st.floats(0.1, 20))
def test_what_relatives_say_of_a_row_does_not_depend_on_its_own_speedup(at: int, speedup: float) -> None:
    rows = benchmark()
    changed = rows.assign(speedup=rows["speedup"].where(rows.index != at, speedup))
    for way in (relatives.other_size, relatives.other_device):
        before, after = (way(each)[at].log_speedup for each in (rows, changed))
        assert math.isnan(before) or before == pytest.approx(after, abs=0.01)  # a median may move by a rank
