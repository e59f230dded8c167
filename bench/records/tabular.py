"""The mark that keeps a spreadsheet from running a text of a CSV file as a formula."""

from __future__ import annotations

FORMULA = frozenset("=+-@\t\r'")
"""First characters that make a spreadsheet run a text as a formula, and the apostrophe that marks text."""


def no_formula(text: str) -> str:
    """Return the text with an apostrophe before it if it would be a formula, as spreadsheets themselves mark text."""
    return f"'{text}" if text[:1] in FORMULA else text
