"""The news of the atlas in one language: an entry for each run that was measured or published, the newest first.

Takes `Results` and a `Language`; returns what ``docs/theme/feed.xml`` writes as Atom. The same records give the same
feed: no date comes from a build.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import NAMESPACE_URL, uuid5

import pandas as pd

from generator.data.load import Results
from generator.data.selection import grouped, is_comparison, version_order
from generator.figures.words import Words
from generator.languages.language import Language

MOST_ENTRIES = 50
"""Entries of a feed: who reads it has seen the others."""

FIRST_MOMENT = "1970-01-01T00:00:00Z"
"""When a feed without an entry was updated."""


@dataclass(frozen=True)
class Entry:
    """One run."""

    id: str
    title: str
    summary: str
    updated: str  # in the notation of RFC 3339
    page: str  # its address below the root of the language


def entries(results: Results, language: Language) -> Sequence[Entry]:
    """Return an entry for each of the newest runs."""
    runs = [_entry(str(run), rows, results, language) for (run,), rows in grouped(results.table, "run")]
    return sorted(runs, key=lambda entry: (entry.updated, entry.id), reverse=True)[:MOST_ENTRIES]


def urn(*names: str) -> str:
    """Return an identifier that is the same in every build, wherever the site is."""
    return uuid5(NAMESPACE_URL, "/".join(("compile-atlas", *names))).urn


def _entry(run: str, rows: pd.DataFrame, results: Results, language: Language) -> Entry:
    words = Words(language, html=False)
    first = results.by_label[rows.index[0]]
    gettext, ngettext, number = language.gettext, language.ngettext, language.number
    devices = [results.by_label[label] for label in rows.drop_duplicates("device").index]
    message = {
        "measured": gettext("Measured on %(devices)s, with PyTorch %(versions)s"),
        "published": gettext("Published for %(devices)s, with PyTorch %(versions)s"),
    }[first["origin"]]
    title = words.say(
        message,
        devices=words.names([words.device(row) for row in devices]),
        versions=words.names(sorted(rows["torch"].unique(), key=version_order)),
    )
    models, compared = rows["model"].nunique(), int(is_comparison(rows).sum())
    counts = [
        words.say(ngettext("%(count)s model", "%(count)s models", models), count=number(models)),
        words.say(ngettext("%(count)s comparison", "%(count)s comparisons", compared), count=number(compared)),
        words.value(run),
    ]
    page = f"devices/{devices[0]['device']}/" if len(devices) == 1 else "data/#provenance"
    last, day = rows["measured_at"].max(), max(rows["source_date"])  # which may be a month or a year
    moment = f"{day}{FIRST_MOMENT[len(day) :]}" if last is pd.NaT else f"{last:%Y-%m-%dT%H:%M:%SZ}"
    return Entry(urn(language.code, run), title, words.facts(counts), moment, page)
