"""The small guide of the tests: its pages below tests/guide, and figures for their expressions."""

from __future__ import annotations

import calendar
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from generator.data.load import Results, load
from generator.data.names import short_name
from generator.data.registry import HeadingText
from generator.figures.words import NAMES
from generator.languages.glossary import load_glossary
from generator.languages.language import Language, load_language
from generator.languages.page_source import mkdocs_yml, read_pages
from generator.pages.expressions import Expressions
from generator.pages.pages import emitted_by, expressions_of, render_pages
from generator.pages.site_file import SiteFile

GUIDE, GOLDEN = (Path(__file__).parent / name for name in ("guide", "golden"))


class Device(NamedTuple):
    slug: str
    label: str
    batch_sizes: tuple[int, ...]


class Row(NamedTuple):
    model: str
    eager_ms: float
    change: float


class Atlas(NamedTuple):
    devices: tuple[Device, ...] = (Device("a100", "NVIDIA A100", (1, 16)), Device("t4", "NVIDIA T4", (1,)))
    models: tuple[str, ...] = ("ViT", "DETR", "BeiT")
    modes: tuple[str, ...] = ("reduce-overhead", "max-autotune")
    torch: str = "2.1.0"
    latest: date = date(2024, 3, 1)
    best: Row = Row("Conditional-DETR", 12.3456, -0.4512)
    slower: tuple[Row, ...] = ()


def figures(language: Language, atlas: Atlas | None = None) -> Mapping[str, Any]:
    """Return the names that pages of the small guide may use, formatted for `language`."""

    def isolated(formatter: Callable[..., str]) -> Callable[..., str]:
        return lambda *values, **options: language.isolate(formatter(*values, **options))

    def counted(n: int, noun: str) -> str:
        return language.ngettext(f"%(count)s {noun}", f"%(count)s {noun}s", n) % {"count": language.isolate(str(n))}

    return {
        "atlas": atlas or Atlas(),
        "name": isolated(str),
        "ms": isolated(language.milliseconds),
        "number": isolated(language.number),
        "signed_percent": isolated(lambda x: language.percent(x, signed=True)),
        "date": language.date,
        "names": lambda names: language.names([language.isolate(name) for name in names]),
        "counted": counted,
        "table": lambda device: f"<table>\n<tr><td>{device}</td></tr>\n</table>",
    }


def rendered(code: str, root: Path = GUIDE) -> dict[str, str]:
    """The pages of the small guide in one language: address → Markdown."""
    language = load_language(code, root / "locales")
    return {
        file.uri: text(file)
        for file in render_pages(language, Expressions(figures(language)), read_pages(root / "docs", {}))
    }


def text(file: SiteFile) -> str:
    assert isinstance(file.content, str)
    return file.content


@cache
def shipped() -> Results:
    """The committed records, which a process reads once."""
    return load()


def proper_names() -> set[str]:
    """Return names that no language translates: of the glossary, of the records, and of months in English."""
    columns = (
        *("device_name", "model_label", "checkpoint", "platform", "driver", "accelerator", "run", "torch"),
        *("compile_mode", "dtype", "family", "layout", "source_title", "source_licence"),
    )
    results = shipped()
    found = {row[column] for row in results.by_label for column in columns}
    documents = (each for each in results.selfchecks if each)
    found.update(short_name(each.environment.device_name) for each in documents)
    found.update([short_name(results.examples.device_name)] if results.examples else [])
    found.update(name for kind in NAMES.values() for name in kind.values() if not isinstance(name, HeadingText))
    return {*load_glossary().keep, *calendar.month_name, *found} - {""}


def expect_golden(folder: str, made: Mapping[str, str]) -> None:
    """Compare texts with the files of a folder below tests/golden.

    After a wanted change: ``UPDATE_GOLDEN=1 python -m pytest tests/generator/pages``, and look at the difference.
    """
    golden = GOLDEN / folder
    if os.environ.get("UPDATE_GOLDEN"):
        for name, content in made.items():
            (golden / name).parent.mkdir(parents=True, exist_ok=True)
            (golden / name).write_text(content, encoding="utf-8")
    assert made.keys() == {path.relative_to(golden).as_posix() for path in golden.rglob("*.md")}
    for name, content in made.items():
        assert content == (golden / name).read_text(encoding="utf-8"), name


def copy_of_guide(folder: Path) -> Path:
    """A guide that a test may change."""
    return Path(shutil.copytree(GUIDE, folder / "guide"))


def render(language: Language, results: Results, docs: Path = GUIDE.parents[1] / "docs") -> Iterator[SiteFile]:
    """Every page, chart and download of the real guide in one language, each once."""
    pages = tuple(render_pages(language, expressions_of(results, language), read_pages(docs, mkdocs_yml(docs.parent))))
    yield from pages
    yield from emitted_by(pages)
