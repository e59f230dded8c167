"""Names that look like those of the atlas are refused, with the name that they look like."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import measured, write
from confusable_homoglyphs.confusables import confusables_data

from bench.exchange.check import check
from bench.exchange.lookalikes import name_fault, skeleton
from bench.plans.models import MODELS
from bench.records.record import RESULTS, Record
from bench.records.run_file import read, run_files


@pytest.mark.parametrize(
    "name",
    [
        *(
            "nvidia a100",
            "NVIDIA  A100",
            "NVIDIA-A100",
            "NVIDIA A1O0",
            "NVlDIA A100",
            "NV1DIA A100",
            "NVIDIA \u0410100",
        ),
        *("NVIDI\u00c1 A100", "NVIDIA A100_", "\u039d\u0475\u0406\u0501\u0406\u0391 \u0391100"),
    ],
)
def test_a_device_in_another_spelling_is_refused_with_the_known_one(tmp_path: Path, name: str) -> None:
    (path,) = write(tmp_path, [measured(device_name=name)]).glob("*.jsonl")
    found = [problem for problem in check([path], RESULTS) if problem.field == "environment.device_name"]
    assert found
    assert "NVIDIA A100" in str(found) or "several scripts" in str(found)


def test_among_new_names_the_one_of_most_records_is_known(tmp_path: Path) -> None:
    named = [
        *(measured(process=n, device_name="NVIDIA A6") for n in range(2)),
        measured(process=2, device_name="nvidia a6"),
    ]
    (problem,) = check([write(tmp_path, named)], tmp_path)
    assert "'nvidia a6' looks like the known name 'NVIDIA A6'" in problem.what


@pytest.mark.parametrize(
    "name",
    [
        *(
            "AMD Ryzen 7 7840U w/ Radeon 780M Graphics",
            "Intel® Xeon® @ 2.50GHz",
            "Apple M3 (mps)",
            "hf_hub:timm/vit.in1k",
        ),
        *(
            "山田 太郎",
            "Zoë Müller",
            "Анна Иванова",
            "Alice Иванова",
            "مریم",
            "กานต์",
            "김민수",
            "東京tower",
            "ViT 🚀",
            "Łukasz O'Neil",
        ),
    ],
)
def test_names_of_people_and_products_are_fine(name: str) -> None:
    assert name_fault(name) is None


def test_no_two_names_of_the_atlas_look_alike() -> None:
    records: list[Record] = [record for path in run_files(RESULTS) for record in read(path)]
    for names in (
        {record.environment.device_name for record in records},
        {record.cell.checkpoint for record in records} | {spec.checkpoint for spec in MODELS},
    ):
        assert len(set(map(skeleton, names))) == len(names)


def test_whoever_looks_like_a_prototype_has_its_skeleton() -> None:
    for letter in "abcdeghknopsuvwxyz":
        for alike in confusables_data[letter]:
            if len(alike["c"]) == 1 and alike["c"].isalpha():
                assert skeleton(alike["c"]) == skeleton(letter), alike
