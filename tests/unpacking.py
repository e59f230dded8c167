"""Reads the files of Should I compile?, as docs/assets/javascripts/decision/recommend.js does."""

from __future__ import annotations

import json
from typing import Any

from generator.data.load import Results
from generator.pages import decision


def unpacked(text: str) -> list[dict[str, Any]]:
    """Return the rows of a file of `generator.pages.decision.by_device`; a figure is a list of its parts."""
    data = json.loads(text)
    slugs = [slug for slug, *_ in data["models"]]

    def figure(parts: list[Any], at: int) -> list[Any] | None:
        return None if _cell(parts[0], at) is None else [_cell(part, at) for part in parts]

    def row(at: int) -> dict[str, Any]:
        plain = {name: _cell(column, at) for name, column in data["columns"].items()}
        figures = {name: figure(parts, at) for name, parts in data["figures"].items()}
        return {**plain, **figures, "model": slugs[plain["model"]]}

    return [row(at) for at in range(data["count"])]


def _cell(column: Any, at: int) -> Any:
    if isinstance(column, dict):
        return column["of"][column["at"][at]]
    return column[at if len(column) > 1 else 0]


def by_device(results: Results) -> dict[str, str]:
    """Return the file of each device."""
    return {device: decision.of_device(results, device) for device in results.newest["device"].unique()}
