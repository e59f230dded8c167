"""Coverage: what is counted as translated, by page and language."""

from __future__ import annotations

from pathlib import Path

from guide_figures import copy_of_guide

from generator import catalogs
from generator.coverage import INTERFACE, Coverage, coverage


def test_only_what_readers_see_counts(tmp_path: Path) -> None:
    root = copy_of_guide(tmp_path)
    rows = {(row.language, row.page): row for row in coverage(root)}
    assert rows["zh", "docs/index.md"] == Coverage("zh", "docs/index.md", 14, 14, 0, declared_complete=True)
    arabic = rows["ar", "docs/index.md"]
    assert (arabic.translated, arabic.fuzzy, arabic.missing, arabic.declared_complete) == (12, 1, 1, False)


def test_pages_come_in_the_order_of_the_navigation_and_the_interface_last(tmp_path: Path) -> None:
    pages = [row.page for row in coverage(copy_of_guide(tmp_path), ["ja"])]
    assert pages == ["docs/index.md", "docs/devices/index.md", "docs/devices/each.md", INTERFACE]


def test_a_language_without_a_catalog_has_nothing(tmp_path: Path) -> None:
    root = copy_of_guide(tmp_path)
    rows = list(coverage(root, ["ko"]))
    assert sum(row.translated for row in rows) == 0
    assert {message for row in rows for message in [row.missing == row.messages]} == {True}
    assert len(catalogs.extract(root)) <= sum(row.messages for row in rows)
