"""What nothing independent confirms is unconfirmed; what others have found, or a second run, confirms it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import PUBLISHED, measured, measurement, write

from bench.records.record import Record
from generator.data.confirmation import unconfirmed
from generator.data.load import load

FOUND = 1.23
"""The median of what others have found for ViT in float32 at batch size 1; the largest one of all is 1.75."""


def run(speedup: float, name: str = "r", contributor: str | None = None, **changes: Any) -> list[Record]:
    """A run of three processes."""
    seed = sum(map(ord, name))
    figures = (measurement(10.0, 10.0 / speedup, seed=seed + process * 10) for process in range(3))
    made = [measured(run=name, process=process, figures=each, **changes) for process, each in enumerate(figures)]
    return [msgspec.structs.replace(record, contributor=contributor) for record in made]


def why(folder: Path, *runs: Sequence[Record], published: bool = True) -> dict[str, str]:
    """Return why rows are unconfirmed, by run."""
    if published:
        (folder / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    results = load(write(folder, [record for each in runs for record in each]))
    rows = results.rows
    return {str(rows.loc[each.rows[0], "run"]): each.figures["why"] for each in unconfirmed(rows)}


def test_one_run_counts_up_to_what_others_have_found(tmp_path: Path) -> None:
    assert why(tmp_path, run(FOUND * 1.1)) == {}


def test_beyond_a_second_run_has_to_agree(tmp_path: Path) -> None:
    assert why(tmp_path, run(1.7)) == {"r": "repeat"}
    assert why(tmp_path, run(1.71, "again")) == {}


def test_a_run_that_does_not_agree_confirms_nothing(tmp_path: Path) -> None:
    assert why(tmp_path, run(1.7), run(1.0, "other")) == {"r": "repeat"}


def test_beyond_all_that_others_have_found_another_contributor_has_to_agree(tmp_path: Path) -> None:
    assert why(tmp_path, run(2.5), run(2.51, "again")) == {"r": "speedup", "again": "speedup"}


@pytest.mark.parametrize(("names", "counts"), [(("a", "b"), True), (("a", "a"), False), (("a", None), False)])
def test_contributors_are_two_if_both_have_a_name(tmp_path: Path, names: tuple[str, str | None], counts: bool) -> None:
    runs = (run(2.5, f"r{number}", name) for number, name in enumerate(names))
    assert (why(tmp_path, *runs) == {}) is counts


def test_noise_of_ones_own_making_excuses_no_lie(tmp_path: Path) -> None:
    wide = [
        measured(run="r", process=at, figures=measurement(10.0, 10.0 / gain, seed=at * 10))
        for at, gain in enumerate((1.1, 4, 5))
    ]
    assert why(tmp_path, wide) == {"r": "speedup"}


def test_without_anyone_else_the_usual_bound_holds(tmp_path: Path) -> None:
    assert why(tmp_path, run(2.5), run(3.8, "large", batch_size=4), published=False) == {"large": "speedup"}


def test_what_nothing_confirms_raises_no_doubt_about_others(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    honest = load(tmp_path)
    slow = [measured(run="r", device_name="NVIDIA A100-SXM4-80GB", figures=measurement(40.0, 20.0))]
    results = load(write(tmp_path, slow))
    published = results.rows["origin"] == "published"
    assert len([row for row in results.doubts if published[row]]) == len(honest.doubts)
    assert results.doubts[results.rows.index[~published][0]]
