"""Exported trees say what the model says that they come from, also where values are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from bench.estimates.trees import DIGITS, evaluated, exported
from bench.records.estimates import Trees


def test_exported_trees_predict_what_the_model_predicts() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    random = np.random.default_rng(0)
    values = random.normal(size=(400, 3)).round(2)
    values[random.random(values.shape) < 0.2] = np.nan
    target = np.where(np.isnan(values[:, 0]), 0.5, np.sin(values[:, 1])) + random.normal(size=400) / 50
    target = np.nan_to_num(target)
    model = ensemble.HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8, random_state=0).fit(values, target)
    trees = exported(model, ("a", "b", "c"))
    found = evaluated(trees, pd.DataFrame(values, columns=["a", "b", "c"]))
    assert np.abs(found - model.predict(values)).max() < 40 * 10**-DIGITS


def test_a_branch_says_where_values_go() -> None:
    trees = Trees(features=("a", "b"), base=1.0, nodes="0L2 0.1 1R-1 0.2 0.4 0R0 -3 3")
    rows = pd.DataFrame({"a": [2.0, 2.1, 3.0, np.nan], "b": [0.0, -1.0, np.nan, 0.0]})
    assert evaluated(trees, rows).tolist() == pytest.approx([1 + 0.1 + 3, 1 + 0.2 + 3, 1 + 0.4 + 3, 1 + 0.1 + 3])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-5, 5, allow_nan=False), min_size=1, max_size=5), st.floats(-5, 5))
def test_a_forest_is_the_sum_of_its_trees(leaves: list[float], value: float) -> None:
    trees = Trees(features=("a",), base=0.0, nodes=" ".join(f"{leaf:g}" for leaf in leaves))
    expected = sum(float(f"{leaf:g}") for leaf in leaves)
    assert evaluated(trees, pd.DataFrame({"a": [value]})).tolist() == pytest.approx([expected])
