"""Notes of `python -m generator check` on the records: what the data lint doubts, and runs that are out of date.

Takes `Results` and a day, and yields lines of English. Notes are no errors: pages show a doubtful figure with its
doubt. `python -m bench check` refuses record files that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from bench.errors import AtlasError
from bench.records.estimates import COMMAND as ESTIMATE
from generator.data.lint import stale
from generator.data.load import Results
from generator.estimates.answers import compared
from generator.figures.words import Words
from generator.languages.catalogs import ROOT
from generator.languages.language import load_language

PINNED = Path("requirements/torch.txt")


def data_notes(results: Results, today: date, root: Path = ROOT) -> Iterator[str]:
    """Yield a line for each finding, the gravest first, then the runs to measure again."""
    words = Words(load_language("en"), html=False)
    for group in results.problem_groups:
        yield f"{words.fault(group[0].kind)}: {words.told(group, results.by_label)}"
    for finding in stale(results.newest, today, pinned_torch(root)):
        run, figures = results.by_label[finding.rows[0]]["run"], finding.figures
        yield f"Old run: {run}, {figures['days']} days old, with torch {figures['torch']}. Measure again."
    if results.estimates:
        fitted, now = results.estimates.comparisons, int(compared(results)["speedup"].notna().sum())
        if fitted != now:
            yield f"Old estimates: fitted to {fitted:,} comparisons, and there are {now:,}. Run {ESTIMATE}."


def pinned_torch(root: Path = ROOT) -> str:
    """Return the version of torch that the project installs. Raises `AtlasError` if none is pinned."""
    path = root / PINNED
    match = re.search(r"(?m)^torch==([\w.]+)", path.read_text(encoding="utf-8")) if path.is_file() else None
    if match is None:
        raise AtlasError("no version of torch is pinned", where=f"{path}:1", remedy="write torch==2.13.0")
    return match[1]
