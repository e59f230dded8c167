"""What `check` tells about the records: everything that the data lint doubts, and runs that have grown old.

`Results` and a day enter, lines of English leave. They are notes, not mistakes: a doubtful figure is shown with its
doubt, never refused. What makes a record file wrong is for `python -m bench check` to say.

    python -m generator check
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from bench.errors import AtlasError
from generator.data.lint import stale
from generator.data.load import Results
from generator.figures.words import Words
from generator.languages.catalogs import ROOT
from generator.languages.language import load_language

PINNED = Path("requirements/torch.txt")


def data_notes(results: Results, today: date, root: Path = ROOT) -> Iterator[str]:
    """One line for each finding, the gravest first, then the runs to measure again."""
    words = Words(load_language("en"), html=False)
    for finding in results.problems:
        yield f"{words.fault(finding)}: {words.finding(finding, results.by_label)}"
    for finding in stale(results.newest, today, pinned_torch(root)):
        run, figures = results.rows[finding.rows[0]]["run"], finding.figures
        yield f"Old run: {run}, {figures['days']} days old, with torch {figures['torch']}. Measure again."


def pinned_torch(root: Path = ROOT) -> str:
    """The version of torch that the project installs. Raises `AtlasError` where none is pinned."""
    path = root / PINNED
    match = re.search(r"(?m)^torch==([\w.]+)", path.read_text(encoding="utf-8")) if path.is_file() else None
    if match is None:
        raise AtlasError("no version of torch is pinned", where=f"{path}:1", remedy="write torch==2.13.0")
    return match[1]
