"""Evaluate and export boosted trees, so that whoever estimates needs neither scikit-learn nor Python.

`exported` takes a fitted `HistGradientBoostingRegressor` and returns `Trees`; `evaluated` takes these and features, and
returns the logarithm of the speedup of each row. docs/assets/javascripts/estimate.js does the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.records.estimates import Trees

DIGITS = 4
"""Significant digits of thresholds, and decimals of leaves. Both sides evaluate these trees, so they agree."""

_BRANCH = re.compile(r"(\d+)([LR])(.+)")


class _Nodes(NamedTuple):
    """All nodes of all trees. A leaf is its own child."""

    feature: np.ndarray
    value: np.ndarray  # threshold of a branch, value of a leaf
    left: np.ndarray
    right: np.ndarray
    missing: np.ndarray  # the child of a row without a value
    roots: np.ndarray


def exported(model: Any, features: Sequence[str]) -> Trees:
    """Return the trees of a fitted model; thresholds and leaves are rounded to `DIGITS`."""
    predictors = [stage[0].nodes for stage in model._predictors]  # noqa: SLF001 - there is no public way
    words = [word for nodes in predictors for word in _words(nodes, 0)]
    base = round(float(np.ravel(model._baseline_prediction)[0]), DIGITS)  # noqa: SLF001 - as above
    return Trees(features=tuple(features), base=base, nodes=" ".join(words))


def _words(nodes: Any, at: int) -> Iterator[str]:
    node = nodes[at]
    if node["is_leaf"]:
        yield f"{round(float(node['value']), DIGITS):g}"
        return
    side = "L" if node["missing_go_to_left"] else "R"
    yield f"{node['feature_idx']}{side}{float(node['num_threshold']):.{DIGITS}g}"
    yield from _words(nodes, int(node["left"]))
    yield from _words(nodes, int(node["right"]))


def evaluated(trees: Trees, features: pd.DataFrame) -> np.ndarray:
    """Return the logarithm of the speedup of each row; shape (rows,)."""
    nodes, values = _parsed(trees), features[list(trees.features)].to_numpy(float)
    rows = np.arange(len(values))[:, None]
    at = np.tile(nodes.roots, (len(values), 1))
    while True:
        value = values[rows, nodes.feature[at]]
        goes_left = value <= nodes.value[at]
        following = np.where(np.isnan(value), nodes.missing[at], np.where(goes_left, nodes.left[at], nodes.right[at]))
        if (following == at).all():
            total: np.ndarray = trees.base + nodes.value[at].sum(axis=1)
            return total
        at = following


@lru_cache(maxsize=4)
def _parsed(trees: Trees) -> _Nodes:
    words = trees.nodes.split()
    columns = np.zeros((5, len(words)))
    roots, position = [], 0

    def parse(at: int) -> int:
        """Enter the node at a position, with what is below it, and return the position after it."""
        branch = _BRANCH.fullmatch(words[at])
        if branch is None:
            columns[:, at] = 0, float(words[at]), at, at, at
            return at + 1
        right = parse(at + 1)
        missing = at + 1 if branch[2] == "L" else right
        columns[:, at] = int(branch[1]), float(branch[3]), at + 1, right, missing
        return parse(right)

    while position < len(words):
        roots.append(position)
        position = parse(position)
    feature, value, left, right, missing = columns
    return _Nodes(
        feature.astype(int), value, left.astype(int), right.astype(int), missing.astype(int), np.array(roots, int)
    )
