"""What a document of the bench, made in one piece on one machine, looks like as a table.

Cells and the words of a language enter; HTML leaves, with a caption that says on what the document was made, and when.

    python -m pytest tests/generator/pages/test_walkthrough_page.py tests/generator/pages/test_repeatability_table.py
    tests/generator/pages/test_build_times.py
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from bench.records.build_times import Machine
from bench.records.record import Environment
from generator.data.names import short_name
from generator.figures.markup import Cell, Line, Table
from generator.figures.words import Words


class Document(Protocol):
    """Where and when something was recorded."""

    @property
    def environment(self) -> Environment | Machine:
        """On what."""

    @property
    def taken_at(self) -> datetime:
        """When, in UTC."""


def table(headline: str, head: Sequence[str], lines: Sequence[Sequence[Cell]], document: Document, words: Words) -> str:
    """Lines below their heads; a column is numeric where its first cell is."""
    numeric = [cell.classes == "number" for cell in lines[0]] if lines else [False] * len(head)
    cells = tuple(
        Cell(words.say(text), scope="col", classes="number" if is_number else "")
        for text, is_number in zip(head, numeric, strict=True)
    )
    caption = words.facts([words.say(headline), *facts(document, words)])
    return Table(caption, cells, tuple(Line(tuple(line)) for line in lines), sortable=False).html()


def facts(document: Document, words: Words) -> list[str]:
    """What it was recorded with, for a caption."""
    language, environment = words.language, document.environment
    taken = words.say(language.gettext("recorded on %(date)s"), date=language.date(document.taken_at))
    if isinstance(environment, Environment):
        versions = [f"PyTorch {environment.torch.partition('+')[0]}"]
    else:
        versions = [f"{name} {version}" for name, version in environment.versions.items()]
    return [*map(words.value, (short_name(environment.device_name), *versions)), taken]
