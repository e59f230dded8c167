"""The front matter of a page: YAML between two lines of dashes.

`parse` takes its source and returns a `FrontMatter`; `dump` writes one. Title and description are messages like any
block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Any

import yaml

from bench.errors import AtlasError
from generator.languages.blocks import has_words

TRANSLATED = ("title", "description")
"""Keys whose values are messages."""

EACH = {"devices": "device", "models": "model", "families": "family"}
"""Values of `for_each`, and the variable that holds the device, model or family in the page's expressions."""


@dataclass(frozen=True)
class FrontMatter:
    """The values in a page's front matter, and the line of each key."""

    values: Mapping[str, Any]
    lines: Mapping[str, int]

    @property
    def messages(self) -> dict[str, str]:
        """Title and description, where present and not without words."""
        return {key: self.values[key] for key in self.expressions if has_words(self.values[key])}

    @property
    def expressions(self) -> tuple[str, ...]:
        """The keys whose values may hold Jinja expressions."""
        return tuple(key for key in TRANSLATED if self.values.get(key))

    @property
    def for_each(self) -> str | None:
        """``devices``, ``models`` or ``families`` if the page is rendered once for each, else None."""
        return self.values.get("for_each")


@lru_cache(maxsize=8192)
def parse(front: str, where: str) -> FrontMatter:
    """Parse the front matter of the page `where`. Raises `AtlasError` with the line of a mistake."""
    try:
        values = yaml.safe_load("\n".join(front.rstrip().split("\n")[1:-1])) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2024-02-30
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or getattr(error, "context", None) or str(error).split("\n")[0]
        raise AtlasError(
            f"the front matter is not valid YAML: {what}",
            where=f"{where}:{(mark.line if mark else 0) + 2}",
            remedy="correct the line; a value with {{ … }} or a colon needs quotes around it",
        ) from None
    starts = {match[1]: front.count("\n", 0, match.start()) + 1 for match in _KEY.finditer(front)}
    for key, what, remedy in _mistakes(values):
        raise AtlasError(what, where=f"{where}:{starts.get(key, 2)}", remedy=remedy)
    return FrontMatter(MappingProxyType(values), MappingProxyType(dict.fromkeys(values, 2) | starts))


_KEY = re.compile(r"(?m)^[\"']?(\w+)[\"']?\s*:")


def _mistakes(values: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the key, the mistake and a remedy."""
    if not isinstance(values, dict):
        yield "", "the front matter is not a list of keys and values", "write `title: …` and `description: …`"
        return
    for key in TRANSLATED:
        if not isinstance(values.get(key, ""), str):
            yield key, f"`{key}` is {values[key]!r}, not a text", "put it in quotes"
    if "for_each" in values and values["for_each"] not in [*EACH]:
        yield "for_each", f"`for_each: {values['for_each']}` is not known", f"use one of {', '.join(EACH)}"
    constants = values.get("constants", [])
    if not isinstance(constants, list) or not all(isinstance(constant, str) for constant in constants):
        yield "constants", "`constants` is not a list of texts", 'write it like this: `constants: ["95 %"]`'


def dump(values: Mapping[str, Any]) -> str:
    """Return front matter with both fences, "" if there are no values."""
    if not values:
        return ""
    # JSON is valid YAML, and json.dumps is a hundred times faster than PyYAML.
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False, default=str)}\n" for key, value in values.items())
    return f"---\n{''.join(lines)}---\n"
