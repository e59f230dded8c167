"""A guide of a thousand models: no page and no navigation grows with them, and every model is found."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import get_args

import pytest
from atlas_data import measured, measurement, write
from conftest import ROOT
from markdown_html import to_html

from generator.data.families import family_slug
from generator.data.lint import Kind
from generator.data.load import Results, load
from generator.figures.markup import MOST_NOTES
from generator.figures.sources import sources
from generator.languages.language import load_language
from generator.languages.page_source import read_pages
from generator.pages import atlas, parts
from generator.pages.atlas import Atlas
from generator.pages.guide import Edition
from generator.pages.pages import expressions_of, render_pages

FAMILIES = ("beit", "convnext", "detr", "levit", "resnet", "segformer", "swin", "vit")
TASKS = ("image-classification", "object-detection", "image-segmentation")

MODELS = 10
"""Of the smaller of two guides that have many models. For them, more than eight are many, and so are forty lines."""

NAV = [{"Models": "models/"}, {"Devices": "devices/"}]
SEEN = ("models/index.md", "models/families/each.md", "devices/each.md", "devices/index.md")


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(atlas, "FEW", 8)
        patch.setattr(parts, "MOST_LINES", 40)
        yield


@pytest.fixture(scope="module")
def docs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages that list models, and models without their charts: there is one for each."""
    folder = tmp_path_factory.mktemp("project") / "docs"
    for uri in SEEN:
        (folder / uri).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "docs" / uri, folder / uri)
    page = (ROOT / "docs" / "models" / "each.md").read_text(encoding="utf-8")
    (folder / "models" / "each.md").write_text(page.split("\n## ")[0], encoding="utf-8")
    return folder


def edition(results: Results, docs: Path, code: str = "en") -> Edition:
    language = load_language(code)
    return Edition(language, tuple(render_pages(language, expressions_of(results, language), read_pages(docs, {}))))


def pages(found: Edition) -> dict[str, str]:
    return {page.uri: page.content for page in found.pages}


def archive(folder: Path, models: int) -> Results:
    """Some models of all families on two devices, at three batch sizes, with two versions of PyTorch."""
    records = [
        measured(
            run=f"gpu-{device}-{torch}",
            device_name=f"NVIDIA GPU {device}",
            torch=torch,
            model=f"{FAMILIES[number % len(FAMILIES)]}_{number // len(FAMILIES)}",
            checkpoint=f"someone/{number}",
            task=TASKS[number % len(TASKS)],
            batch_size=batch_size,
            dtype="float16",
            figures=measurement(float(10 + number), 8.0 if number % 7 else 20.0),
        )
        for device, torch, batch_size in product((0, 1), ("2.12.0", "2.13.0"), (1, 4, 16))
        for number in range(models)
    ]
    return load(write(folder, records))


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory, docs: Path) -> Sequence[dict[str, str]]:
    """The pages of two guides, the second of twice as many models."""
    return [pages(edition(archive(tmp_path_factory.mktemp("r"), models), docs)) for models in (MODELS, 2 * MODELS)]


def test_no_page_that_lists_grows_with_the_models(many: Sequence[dict[str, str]]) -> None:
    small, large = many
    for uri in ("models/index.md", "devices/index.md", "devices/gpu-0.md"):
        assert len(large[uri]) < 1.1 * len(small[uri]), uri


def test_every_model_is_linked_from_the_page_of_its_family_and_back(many: Sequence[dict[str, str]]) -> None:
    large = many[1]
    families = {uri for uri in large if uri.startswith("models/families/")}
    assert families == {f"models/families/{family}.md" for family in FAMILIES}
    index = re.findall(r"\]\((families/[^()]+)\)", large["models/index.md"])
    assert {f"models/{uri}" for uri in index} == families
    models = {uri for uri in large if re.fullmatch(r"models/[^/]+\.md", uri)} - {"models/index.md"}
    assert {f"models/{uri}" for each in families for uri in re.findall(r"\]\(\.\./([^()/]+)\)", large[each])} == models
    assert all(f"](families/{family_slug(uri[7:-3])}.md)" in large[uri] for uri in models)


def test_the_navigation_has_families_in_place_of_models(tmp_path: Path, docs: Path) -> None:
    from pathspec.gitignore import GitIgnoreSpec

    found = edition(archive(tmp_path, MODELS), docs)
    ((_, listed),) = found.navigation(NAV[:1])[0].items()
    uris = [uri for entry in listed for uri in entry.values()]
    assert uris == ["models/index.md", *(f"models/families/{family}.md" for family in sorted(FAMILIES))]
    left_out = set(GitIgnoreSpec.from_lines(found.unlisted.splitlines()).match_files(pages(found)))
    assert left_out == {uri for uri in pages(found) if re.fullmatch(r"models/(?!index)[^/]+\.md", uri)}


# ── The 1,443 models of timm ────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The rows of one GPU with two versions of PyTorch."""
    folder = tmp_path_factory.mktemp("imported")
    for path in (ROOT / "bench" / "results" / "published").glob("timm-*4090-*"):
        shutil.copy(path, folder)
    return load(folder)


@pytest.fixture(scope="module")
def found(imported: Results, docs: Path) -> dict[str, str]:
    """The pages of these rows."""
    return pages(edition(imported, docs))


def test_models_known_from_throughput_have_a_row_with_an_address_on_the_page_of_their_family(
    imported: Results, found: dict[str, str]
) -> None:
    models = Atlas(imported, load_language("en")).model
    places = {model.place for model in models.values()}
    rows = {f"{uri}#{row}" for uri, text in found.items() for row in re.findall(r"(?m)^\|[^|]* \{ #(\S+) ", text)}
    assert places == rows
    assert not any(re.fullmatch(r"models/(?!index)[^/]+\.md", uri) for uri in found)
    links = {link for text in found.values() for link in re.findall(r"\]\(\.\./(models/[^()]+)\)", text)}
    assert {link for link in links if "#" in link} <= places


def test_pages_of_one_source_explain_it_and_count_their_doubts(found: dict[str, str]) -> None:
    texts = sources(load_language("en"))
    device, family = found["devices/rtx-4090.md"], found["models/families/vit.md"]
    for text in (device, family):
        assert f"Source: {texts['timm'].name} ([how it measures](" in text
        assert texts["paper-2023"].name not in text
    (notes,) = re.findall(r'<ul class="table-notes">(.*?)</ul>', to_html(family), re.DOTALL)
    kinds = len(get_args(Kind))
    assert 1 <= notes.count("<li>") <= kinds * MOST_NOTES
    assert notes.count("not show the effect of compiling alone") == 1
    assert family.count('class="doubt"') > notes.count("<li>")
