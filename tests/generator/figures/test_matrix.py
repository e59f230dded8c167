"""The matrix of the first page: which rows it shows, in which colours, and what its cells are called."""

from __future__ import annotations

import re
from html import unescape
from itertools import product
from pathlib import Path

import pytest
from atlas_data import ON_CPU, PUBLISHED, measured, write

from generator.data.load import Results, load
from generator.figures import matrix
from generator.figures.markup import Table
from generator.figures.matrix import Matrix, MatrixTables
from generator.figures.words import Words
from generator.languages.language import load_language


@pytest.fixture(scope="module")
def published() -> Results:
    return load(PUBLISHED)


def tables(results: Results, code: str = "en") -> MatrixTables:
    words = Words(load_language(code), html=True)
    return MatrixTables(words, results, "{}/{}".format, lambda row: f"{row['device']}#{row['torch']}")


def table(results: Results, which: int = 0) -> Table:
    return tables(results).table(matrix.matrices(results.newest)[which])


def cells(shown: Table) -> dict[tuple[str, str], tuple[str, str, str]]:
    """Class, name and text of each cell, by its row and column."""

    def text(html: str) -> str:
        return unescape(re.sub(r"<small>.*?</small>|<[^>]*>", "", html))

    names = [text(head.html) for head in shown.head[1:]]
    return {
        (text(line.cells[0].html), name): (
            cell.classes.removeprefix("number").strip(),
            unescape("".join(re.findall(r'aria-label="([^"]*)"', cell.html))),
            text(cell.html),
        )
        for line in shown.body
        for name, cell in zip(names, line.cells[1:], strict=True)
    }


# ── Which rows ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_there_is_one_for_each_mode_and_batch_size(published: Results) -> None:
    found = matrix.matrices(published.newest)
    assert [(each.compile_mode, each.batch_size) for each in found] == [
        *(("default", size) for size in (1, 4, 16)),
        *(("reduce-overhead", size) for size in (1, 4)),
    ]
    first = found[0]
    assert [*first.devices] == ["a100", "t4", "v100"]
    assert len(first.models) == 12
    assert len(found[-1].models) == 4, "models without a row have no line"


def test_cpus_stand_apart_behind_accelerators(tmp_path: Path) -> None:
    shown = table(load(write(tmp_path, [measured(**ON_CPU), measured(device_name="NVIDIA Z9")])))
    for gpu, cpu in (shown.head[1:], shown.body[0].cells[1:]):
        assert "apart" not in gpu.classes
        assert cpu.classes.endswith(" apart")


def test_the_model_with_the_largest_gain_comes_first(published: Results) -> None:
    shown = [name for name, device in cells(table(published)) if device == "A100"]
    assert (shown[0], shown[-1]) == ("MobileNet", "ConvNeXT")
    assert shown.index("Segformer") > shown.index("Conditional-DETR"), "a doubtful gain does not count"


def test_many_models_devices_and_choices_are_limited() -> None:
    names = [(f"model-{m}", f"device-{d}") for m, d in product(range(50), range(14))]
    labels = {at: label for label, at in enumerate(names[1:])}
    few = {names[1]: 1}
    devices = [f"device-{d}" for d in range(14)]
    found = [Matrix(size, "default", few if size == 1 else labels, devices) for size in range(1, 27)]
    limited = matrix.limited(found)
    assert len(limited) == matrix.CHOICES
    assert limited[0].batch_size == 2, "choices with few rows are left out"
    assert (len(limited[0].models), len(limited[0].devices)) == (matrix.MODELS, matrix.DEVICES)
    assert "model-0" not in limited[0].models, "of the models, too, those with few rows"
    assert matrix.limited(limited) == limited


# ── Cells ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_cell_says_in_words_what_its_colour_and_mark_say(published: Results) -> None:
    found = cells(table(published))
    assert found["MobileNet", "A100"][:2] == ("gain-4", f"MobileNet on A100: {found['MobileNet', 'A100'][2]} (faster)")
    tone, name, text = found["Segformer", "V100"]
    assert (tone, name.split(": ")[0], text[-1]) == ("doubtful", "Segformer on V100", "†")
    assert name.endswith("(doubtful)")
    assert found["ConvNeXT", "A100"][1].endswith("(inconclusive)"), "a published difference within noise"


def test_each_cell_leads_to_its_row_and_the_head_to_devices_and_models(published: Results) -> None:
    shown = table(published)
    assert re.findall(r'href="([^"]*)"', shown.head[1].html) == ["device/a100"]
    first = shown.body[0].cells
    assert [re.findall(r'href="([^"]*)"', cell.html)[0] for cell in first[:2]] == ["model/mobilenet", "a100#2.0.1"]
    assert "PyTorch 2.0.1<br>published" in shown.head[1].html


@pytest.mark.parametrize("code", ["en", "ar"])
def test_the_other_choices_wait_in_templates(code: str, published: Results) -> None:
    html = tables(published, code).html(matrix.matrices(published.newest))
    assert "\n\n" not in html
    assert re.findall(r'<template data-batch="(\d+)" data-mode="([\w-]+)">', html) == [
        ("4", "default"),
        ("16", "default"),
        ("1", "reduce-overhead"),
        ("4", "reduce-overhead"),
    ]
    assert html.count("<table") == 5
    assert "<form hidden" in html
    assert not re.search(r"<script|style=|\son\w+=", html), "nothing that a strict policy forbids"
    assert not re.findall(r'="[^"<>]*<', html), "no markup in an attribute"
