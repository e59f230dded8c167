"""Comparisons of invented models, for tests of estimates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from bench.estimates.comparisons import COLUMNS
from bench.records.estimates import EstimateAccuracy, Estimates, Scheme, Trees
from bench.records.operations import Operations, Tally

MOMENT = pd.Timestamp("2026-11-23", tz="UTC").to_pydatetime()


def row(**changes: Any) -> dict[str, Any]:
    """A comparison on a device A, twice as fast when compiled."""
    return {
        "device": "A",
        "torch": "2.9.1",
        "dtype": "autocast float16",
        "compile_mode": "default",
        "checkpoint": "timm/net_1",
        "family": "net",
        "height": 224,
        "batch_size": 256,
        "operations": None,
        "flop": 4e9,
        "activations": 1e7,
        "eager_ms": 0.5,
        "parameters": 2e7,
        "speedup": 2.0,
        **changes,
    }


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype(COLUMNS)


def benchmark(models: int = 240, devices: tuple[str, ...] = ("A", "B"), seed: int = 0) -> pd.DataFrame:
    """Models of twelve families on each device, whose speedup follows from how much of them can be fused."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(models):
        flop, share = float(random.lognormal(22, 1)), float(random.uniform(0.1, 0.8))
        moved = int(flop / random.uniform(20, 80))
        tallies = {
            "convolution": Tally(40, int(moved * (1 - share)), int(flop)),
            "clamp": Tally(40, int(moved * share)),
        }
        operations = Operations(parameters=1, activations=int(flop / 400), tallies=tallies)  # type: ignore[arg-type]
        family = f"family{number % 12}"
        for at, device in enumerate(devices):
            speedup = float(np.exp(share + 0.05 * at + random.normal(0, 0.03)))
            rows.append(
                row(
                    device=device,
                    checkpoint=f"timm/{family}_{number}",
                    family=family,
                    flop=flop,
                    activations=flop / 400,
                    parameters=flop / 200,
                    eager_ms=flop / 1e10 * (1 + share),
                    operations=operations,
                    speedup=speedup,
                )
            )
    return table(*rows)


def accuracy(scheme: Scheme, reach: float, *, operations: bool = True, eager: bool = True) -> EstimateAccuracy:
    return EstimateAccuracy(
        scheme=scheme,
        operations=operations,
        eager=eager,
        models=9,
        count=90,
        median_error=reach / 3,
        p90_error=reach,
        reach_50=reach / 2,
        reach_90=reach,
    )


def document(**changes: Any) -> Estimates:
    """Estimates for the devices A and B; their trees say a speedup of e."""
    learned_reaches: dict[Scheme, float] = {"family": 0.15, "features": 0.2}
    learned = [
        accuracy(scheme, reach, operations=operations, eager=eager)
        for scheme, reach in learned_reaches.items()
        for operations in (True, False)
        for eager in (True, False)
    ]  # fmt: skip
    known: dict[str, Any] = {
        "schema": 1,
        "taken_at": MOMENT,
        "command": "python -m bench estimate",
        "commit": None,
        "versions": {"scikit-learn": "1.9.1"},
        "devices": {"A": "2.9.1", "B": "2.9.1"},
        "dtype": "autocast float16",
        "compile_mode": "default",
        "comparisons": 400,
        "models": 200,
        "families": ("net",),
        "trees": Trees(features=("flop",), base=1.0, nodes="0"),
        "accuracy": (accuracy("other_size", 0.05), accuracy("other_device", 0.1), *learned),
    }
    return Estimates(**known | changes)
