"""The edits that are timed: of a record, a message of a catalog, a paragraph, a title.

Takes a project grown by `perf.content`, or finished Markdown; returns `Edit`s by name. `add_record` is the only change
that stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.records.families import slugify
from bench.records.record import Measurement, Record, Status, Variant
from bench.records.run_file import encode, read, run_files
from generator.languages.language import SOURCE, catalog_path, published_languages, translated_languages
from perf.served import Edit, new_word

PAGE, NEIGHBOUR = "methodology", "data"
"""The page that is edited, and another page whose navigation shows its title."""

RUN = "edited"
"""The run of an edited record."""


def of_project(project: Path) -> dict[str, Edit]:
    """Return all four edits. Every language shows them, except the edited message."""
    page = project / "docs" / f"{PAGE}.md"
    roots = tuple("" if code == SOURCE else f"{code}/" for code in published_languages())
    translated = translated_languages()[0]
    results = project / "bench" / "results"
    record = _some_record(results)
    model = f"models/{slugify(record.cell.model)}/"
    return {
        "record": Edit(
            _run_file(results, RUN),
            lambda _, word: encode(_measured(record, word, RUN)).decode(),
            tuple(root + model for root in roots),
        ),
        "message": Edit(
            catalog_path(translated, project / "locales"),
            _in_message(_first_paragraph(page.read_text(encoding="utf-8"))),
            (f"{translated}/{PAGE}/",),
        ),
        "paragraph": Edit(page, _in_paragraph, tuple(f"{root}{PAGE}/" for root in roots)),
        "title": Edit(page, _in_title, tuple(f"{root}{NEIGHBOUR}/" for root in roots)),
    }


def of_markdown(folder: Path) -> dict[str, Edit]:
    """Return the edits for other builders, in one language, whose pages are in `folder`."""
    page = folder / f"{PAGE}.md"
    return {
        "paragraph": Edit(page, _in_paragraph, (f"{PAGE}/",)),
        "title": Edit(page, _in_title, (f"{NEIGHBOUR}/",)),
    }


# ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def add_record(project: Path) -> None:
    """Add a new measurement of one benchmark case to the records, in a run of its own."""
    results = project / "bench" / "results"
    run = f"{RUN}-{sum(1 for _ in _run_file(results, RUN).parent.glob(f'{RUN}-*')) + 1}"
    path = _run_file(results, run)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(_measured(_some_record(results), new_word(), run)))


def _run_file(results: Path, run: str) -> Path:
    return results / "measured" / f"{run}.jsonl"


def _some_record(results: Path) -> Record:
    """Return a passing record, measured if there is one."""
    records = [record for path in run_files(results) for record in read(path) if record.status is Status.PASS]
    return max(records, key=lambda record: record.origin == "measured")


def _measured(record: Record, word: str, run: str) -> Record:
    """Return a newer measurement of the same cell, whose latency begins with the digits of `word`."""
    eager_ms = float(f"{word}5")  # one more digit, because a mean of logarithms may change the last one
    return msgspec.structs.replace(
        record,
        run=run,
        origin="measured",
        profile="standard",
        process=0,
        source=None,
        measured_at=datetime.now(UTC).replace(microsecond=0),
        measurement=Measurement(
            eager=Variant(rounds_ms=((eager_ms,),) * 30), compiled=Variant(rounds_ms=((eager_ms / 2,),) * 30)
        ),
    )


# ── Texts ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_PARAGRAPH = re.compile(r"(?m)^# .*\n\n(?P<text>.+)$")
_TITLE = re.compile(r"(?m)^title: (?P<quote>['\"]?)(?P<text>.*?)(?P=quote)$")


def _first_paragraph(page: str) -> str:
    return _found(_PARAGRAPH, page)["text"]


def _in_paragraph(page: str | None, word: str) -> str:
    end = _found(_PARAGRAPH, page).end()
    return f"{page[:end]} {word}{page[end:]}"  # type: ignore[index]


def _in_title(page: str | None, word: str) -> str:
    title = _found(_TITLE, page)
    return f'{page[: title.start()]}title: "{title["text"]} {word}"{page[title.end() :]}'  # type: ignore[index]


def _in_message(message: str) -> Callable[[str | None, str], str]:
    """Return an edit that appends the word to the translation of a message. Catalogs have no wrapped lines."""
    quoted = message.replace("\\", "\\\\").replace('"', '\\"')
    pattern = re.compile(rf'(?m)^msgid "{re.escape(quoted)}"\nmsgstr "(?P<text>.+)"$')

    def made(catalog: str | None, word: str) -> str:
        end = _found(pattern, catalog).end("text")
        return f"{catalog[:end]} {word}{catalog[end:]}"  # type: ignore[index]

    return made


def _found(pattern: re.Pattern[str], text: str | None) -> re.Match[str]:
    match = pattern.search(text or "")
    if match is None:
        raise AtlasError(
            f"nothing to edit on this page: {pattern.pattern}",
            where=PAGE,
            remedy="choose a different page in perf/edits.py",
        )
    return match
