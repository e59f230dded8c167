"""Which model to run: what enters the comparison, who is on a frontier, and what the form can answer from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from atlas_data import write
from guide_figures import shipped
from throughput_records import OLD, OTHER, throughput

from bench.errors import AtlasError
from bench.records.record import RESULTS, TOY, Record
from generator.data.load import Results, load
from generator.pages.frontier import BEST, Frontier, as_json, frontiers_of

ACCURACIES = ("quick.a,224,70", "quick.b,224,75", "quick.b,288,77", "good.a,224,80", "slow.a,224,80", "best.a,224,90")
THREE = throughput("quick", 900.0, 1000.0), throughput("good", 200.0, 900.0), throughput("slow", 400.0, 800.0)


def loaded(folder: Path, *records: Record, accuracies: tuple[str, ...] = ACCURACIES) -> Results:
    (folder / "published").mkdir()
    text = "\n".join(("# https://example.org 2026-08", "model,img_size,top1", *accuracies, "test_vit.a,224,95"))
    (folder / "published" / "timm-imagenet.csv").write_text(text)
    return load(write(folder, records))


def names(frontier: Frontier, labels: list[int]) -> list[str]:
    return frontier.rows["model_label"][labels].tolist()


@pytest.fixture(scope="module")
def committed() -> Mapping[str, Frontier]:
    return {frontier.device: frontier for frontier in frontiers_of(shipped())}


def test_the_numbers_are_those_that_were_computed_by_hand(committed: Mapping[str, Frontier]) -> None:
    found = committed["rtx-5090"]
    assert (found.count, len(found.eager), len(found.compiled), len(found.both)) == (1180, 30, 34, 22)
    assert {"caformer_s36", "convnext_tiny", "convnextv2_base", "hgnetv2_b2", "nextvit_base"} <= {*found.entering}
    assert set(found.rows["torch"]) == {"2.9.1"}


@pytest.mark.parametrize(
    "row",  # as the file of timm has them: others of the same architecture and size are less accurate
    [
        "hgnetv2_b4.ssld_stage2_ft_in1k,288,83.952,16.048",
        "convnext_tiny.in12k_ft_in1k,224,84.192,15.808",
        "tinynet_e.in1k,106,59.874,40.126",
    ],
)
def test_the_best_weights_count_as_the_source_gives_them(row: str) -> None:
    weights, size, top1, _ = row.split(",")
    assert f"\n{row}," in (RESULTS / "published" / "timm-imagenet.csv").read_text()
    best, share = shipped().accuracies[weights.partition(".")[0], f"{size}×{size}"]
    assert (best, f"{100 * share:.3f}") == (weights, top1)


def test_the_form_answers_as_all_models_would(committed: Mapping[str, Frontier]) -> None:
    """For many accuracies and throughputs."""
    data = json.loads(as_json(shipped(), lambda kind, slug: f"{kind}/{slug}"))
    for device, frontier in committed.items():
        sound = frontier.rows.dropna(subset="eager_better")
        for column, variant in ((1, "eager"), (2, "compiled")):
            every = [*zip(sound["top1"].round(5), sound[f"{variant}_images_s"], strict=True)]
            few = [(data["models"][row[0]][2], row[column]) for row in data["devices"][device]]
            for needed, wanted in ((0, 1), (1, 0)):
                for least in sorted(each[needed] for each in every)[::20]:
                    reaching = ([each[wanted] for each in some if each[needed] >= least] for some in (every, few))
                    expected, actual = (sorted(each, reverse=True)[:BEST] for each in reaching)
                    assert actual == expected, (device, variant, least)


def test_no_model_on_a_frontier_has_one_that_is_as_fast_and_as_accurate(tmp_path: Path) -> None:
    unequal = throughput("best", 100.0, 200.0, compiled_batch_size=64)
    (found,) = frontiers_of(loaded(tmp_path, *THREE, unequal))
    assert names(found, found.eager) == ["best", "slow", "quick"]
    assert names(found, found.compiled) == ["best", "good", "quick"], "good is as accurate as slow, and faster"
    assert (found.entering, found.leaving) == (["good"], ["slow"])
    assert found.lines["pretrained"].iloc[-1] == "quick.b"
    assert found.lines["speedup"].isna().tolist() == [True, False, False, False], "none between unequal batches"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("test_vit", {"flags": (TOY,)}),
        ("unknown", {}),
        ("best", {"input_size": (288, 288)}),
        ("best", {"channels_last": True}),
        ("best", {**OLD}),
        ("best", {**OTHER}),
        ("best", {"eager": None}),
        ("best", {"compiled": 9000.0}),  # which the data lint doubts
    ],
)
def test_what_cannot_be_compared_is_on_no_frontier(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    other = throughput(name, **{"eager": 500.0, "compiled": 600.0, **changes})
    found, *_ = frontiers_of(loaded(tmp_path, *THREE, other))
    assert names(found, found.compiled) == ["good", "quick"]


def test_a_broken_file_of_accuracies_is_named(tmp_path: Path) -> None:
    with pytest.raises(AtlasError, match="many") as error:
        loaded(tmp_path, accuracies=("good.a,224,many",))
    assert "timm-imagenet.csv" in error.value.where
