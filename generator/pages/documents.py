"""Tables of what `bench` records as one document on one machine, such as a self-check.

Takes cells and the words of a language. Returns HTML whose caption names the machine and the day.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from bench.records.record import Environment
from generator.data.names import short_name
from generator.figures.markup import Line, Table, TableCell
from generator.figures.words import Words


class Recorded(Protocol):
    """Something that was recorded on one machine at one time."""

    @property
    def environment(self) -> Environment:
        """The machine and its software."""

    @property
    def taken_at(self) -> datetime:
        """When it was recorded, in UTC."""


def table(
    headline: str,
    head: Sequence[str],
    lines: Sequence[Sequence[TableCell]],
    recorded: Recorded,
    words: Words,
) -> str:
    """Return a table. A column is numeric if its first cell is."""
    numeric = [cell.classes == "number" for cell in lines[0]] if lines else [False] * len(head)
    cells = tuple(
        TableCell(words.say(text), scope="col", classes="number" if is_number else "")
        for text, is_number in zip(head, numeric, strict=True)
    )
    caption = words.facts([words.say(headline), *facts(recorded, words)])
    return Table(caption, cells, tuple(Line(tuple(line)) for line in lines), sortable=False).html()


def facts(recorded: Recorded, words: Words) -> list[str]:
    """Return the device, the version of PyTorch and the date, for a caption."""
    language, environment = words.language, recorded.environment
    taken = words.say(language.gettext("recorded on %(date)s"), date=language.date(recorded.taken_at))
    torch = f"PyTorch {environment.torch.partition('+')[0]}"
    return [words.value(short_name(environment.device_name)), words.value(torch), taken]
