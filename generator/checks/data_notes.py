"""Notes of `python -m generator check` on the records: doubts of the data lint, and runs that are out of date.

Takes `Results` and a day, and yields lines of English. Notes are not errors: pages show a doubtful figure with its
doubt. `python -m bench check` refuses record files that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from bench.errors import counted
from generator.data.lint import Anomaly, stale
from generator.data.load import Results
from generator.data.selection import Rows
from generator.figures.findings import told
from generator.figures.words import Words
from generator.languages.catalogs import ROOT
from generator.languages.language import load_language

MOST_NAMED = 3
"""Rows that a note names; of others it gives the number."""

BY_COUNT = ("flag", "complaint")
"""Kinds of anomalies whose words give the number of their rows, without names."""

PINNED = ROOT / "requirements" / "torch.txt"
"""The version of torch that the project installs."""


def data_notes(results: Results, today: date) -> Iterator[str]:
    """Yield a line for each finding, the gravest first, then the runs to measure again."""
    words = Words(load_language("en"), html=False)
    for group in results.problem_groups:
        named = f" {_named(group, results.by_label)}" if len(group) > 1 or group[0].kind in BY_COUNT else ""
        yield f"{words.named('fault', group[0].kind)}: {told(group, results.by_label, words)}{named}"
    (pinned,) = re.findall(r"(?m)^torch==([\w.]+)", PINNED.read_text(encoding="utf-8"))
    for finding in stale(results.newest, today, pinned):
        run, figures = results.by_label[finding.rows[0]]["run"], finding.figures
        yield f"Old run: {run}, {counted(figures['days'], 'day')} old, with torch {figures['torch']}. Measure it again."


def _named(group: Sequence[Anomaly], rows: Rows) -> str:
    """Return the first rows of the anomalies by name, and how many others there are."""
    doubted = [rows[label] for label in dict.fromkeys(label for each in group for label in each.rows)]
    named = [
        f"{row['model_label']} on {row['processor']}, batch size {row['batch_size']}, mode {row['compile_mode']}, "
        f"run {row['run']}"
        for row in doubted[:MOST_NAMED]
    ]
    others = len(doubted) - len(named)
    return "; ".join([*named, *([f"and {counted(others, 'other row')}"] if others else [])]) + "."
