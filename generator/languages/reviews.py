"""Reviews of translations by people: the texts that they have read, and what they found.

`texts` gives what can be read, `unread` what nobody has read as it is now. `read_answers` takes the table that a
reviewer filled in and returns a `Review`, which `record` keeps as ``locales/<code>/reviews/<date>.json``. `standing`
returns for each page when it was last read, and its score.

    python -m generator review --language ja
"""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import io
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import polib

from bench import durable
from bench.errors import AtlasError, counted
from generator.languages.catalogs import read
from generator.languages.coverage import INTERFACE, count_words
from generator.languages.language import LOCALES, catalog_path
from generator.languages.pofile import MAX_BYTES, forms

FOLDER = "reviews"
"""Holds the reviews of a language, beside its catalog."""

SOUND = "ok"
POINTS = {SOUND: 0, "minor": 1, "major": 5, "critical": 25}
"""What a text costs by its gravest mistake. The score is the sum of points for every `PER` English words."""

PER = 1000

ENOUGH = 0.5
"""The share of a page's words, as they are now, from which on it counts as read: pages share some texts."""

COLUMNS = ("id", "page", "source", "translation", "score", "better", "why")
"""Columns of the table that a reviewer fills in. Only `id` and the last three are read back."""

LONGEST = 2000
"""Most characters of a wording or a reason."""

Line = Annotated[str, msgspec.Meta(max_length=LONGEST)]


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a reviewer found in one text."""

    id: Line  # of the text
    severity: Literal["minor", "major", "critical"]
    source: str
    translation: str
    better: Line = ""  # another wording
    why: Line = ""


class Review(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one person read on one day."""

    schema: Literal[1] = 1
    language: str
    date: dt.date
    by: Annotated[str, msgspec.Meta(max_length=100)] = ""  # a name of their choice, or none
    sound: tuple[Line, ...] = ()  # ids of texts without a fault
    faults: tuple[Fault, ...] = ()

    @property
    def scores(self) -> dict[str, str]:
        """The score of each text that was read, by its id."""
        return dict.fromkeys(self.sound, SOUND) | {fault.id: fault.severity for fault in self.faults}


@dataclass(frozen=True)
class TranslatedText:
    """A message with its translation. Its id changes with either of them."""

    id: str
    pages: tuple[str, ...]  # file names, or `INTERFACE`
    place: str  # comment of the catalog: title of the page, kind and address; "" in the interface
    source: str
    translation: str
    words: int  # in English, without code and expressions


@dataclass(frozen=True)
class Standing:
    """What people know of a page in one language."""

    date: dt.date  # when some of its present text was last read
    points: int  # of the texts that were read and stand unchanged
    words: int  # in these texts
    share: float  # of all words of the page

    @property
    def score(self) -> float:
        """Points for each thousand words that were read."""
        return self.points * PER / self.words if self.words else 0.0


def texts(code: str, locales: Path = LOCALES) -> list[TranslatedText]:
    """Return every text that readers see translated, in the order of the catalog."""
    return [
        _text(entry)
        for entry in read(catalog_path(code, locales))
        if not entry.obsolete and not entry.fuzzy and all(forms(entry))
    ]


def _text(entry: polib.POEntry) -> TranslatedText:
    parts = (entry.msgctxt or "", entry.msgid, entry.msgid_plural or "", *forms(entry))
    pages = dict.fromkeys(file if file.endswith(".md") else INTERFACE for file, _ in entry.occurrences)
    return TranslatedText(
        id=hashlib.sha256("\4".join(parts).encode()).hexdigest()[:16],
        pages=tuple(pages),
        place=entry.comment,
        source="\n".join(filter(None, (entry.msgid, entry.msgid_plural))),
        translation="\n".join(dict.fromkeys(forms(entry))),
        words=count_words(entry.msgid),
    )


# --- Kept reviews -----------------------------------------------------------------------------------------------------


def reviews(code: str, locales: Path = LOCALES) -> list[Review]:
    """Return the reviews of a language, the oldest first. Raises `AtlasError` for a file that is none."""
    found = []
    for path in sorted((locales / code / FOLDER).glob("*.json")):
        try:
            review = msgspec.json.decode(path.read_bytes(), type=Review)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _no_review(path, str(error)) from None
        if review.language != code:
            raise _no_review(path, f"its language is {review.language}")
        found.append(review)
    return sorted(found, key=lambda review: review.date)


def _no_review(path: Path, why: str) -> AtlasError:
    remedy = "restore the file; `python -m generator review --read` writes them, nobody edits them"
    return AtlasError(f"not a review: {why}", where=str(path), remedy=remedy)


def record(review: Review, locales: Path = LOCALES) -> Path:
    """Write a review beside the catalog, and return its path. Nothing is replaced."""
    folder, number = locales / review.language / FOLDER, 1
    path = folder / f"{review.date}.json"
    while path.exists():
        number += 1
        path = folder / f"{review.date}-{number}.json"
    return durable.write(path, msgspec.json.format(msgspec.json.encode(review), indent=1) + b"\n")


def unread(present: Iterable[TranslatedText], known: Iterable[Review]) -> list[TranslatedText]:
    """Return the texts that nobody has read as they are now."""
    seen = {id_ for review in known for id_ in review.scores}
    return [text for text in present if text.id not in seen]


def standing(present: Iterable[TranslatedText], known: Iterable[Review]) -> dict[str, Standing]:
    """Return what is known of each page that people have read, and of all texts together under the name ``""``."""
    scores = {id_: (review.date, score) for review in known for id_, score in review.scores.items()}
    by_page: dict[str, list[TranslatedText]] = {"": []}
    for text in present:
        for page in ("", *text.pages):
            by_page.setdefault(page, []).append(text)
    found = {page: _standing(own, scores) for page, own in by_page.items() if any(text.id in scores for text in own)}
    return {page: each for page, each in found.items() if not page or each.share >= ENOUGH}


def _standing(own: list[TranslatedText], scores: Mapping[str, tuple[dt.date, str]]) -> Standing:
    seen = [text for text in own if text.id in scores]
    words, all_words = (sum(text.words for text in each) for each in (seen, own))
    return Standing(
        date=max(scores[text.id][0] for text in seen),
        points=sum(POINTS[scores[text.id][1]] for text in seen),
        words=words,
        share=words / all_words if all_words else 1.0,
    )


# --- Answers ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answers:
    """A table that came back."""

    review: Review
    outdated: int  # rows about texts that have changed since the table was written


def read_answers(
    content: bytes, present: Iterable[TranslatedText], code: str, day: dt.date, by: str, where: str
) -> Answers:
    """Return the review in a table: CSV in UTF-8, with commas, semicolons or tabs. A row without a score was not read.

    Raises `AtlasError` with the line of the first mistake.
    """
    known = {text.id: text for text in present}
    sound: dict[str, None] = {}
    faults: dict[str, Fault] = {}
    outdated = 0
    for line, row in _rows(content, where):
        id_, score = row.get("id", "").strip(), row.get("score", "").strip().lower()
        if not score:
            continue
        if score not in POINTS:
            raise _wrong(f"{where}:{line}", f"{score[:40]!r} is not a score", f"write {', '.join(POINTS)}, or nothing")
        if id_ not in known:
            outdated += 1
            continue
        if id_ in sound or id_ in faults:
            raise _wrong(f"{where}:{line}", "this text appears more than once", "keep only one row for each text")
        if score == SOUND:
            sound[id_] = None
        else:
            faults[id_] = _fault(known[id_], score, row, f"{where}:{line}")
    if not sound and not faults:
        what = f"no score belongs to a current text of the language {code}"
        raise _wrong(where, what, f"fill in the column `score` with {', '.join(POINTS)}")
    review = Review(language=code, date=day, by=_line(by)[:100], sound=tuple(sound), faults=tuple(faults.values()))
    return Answers(review, outdated)


def _fault(text: TranslatedText, severity: str, row: Mapping[str, str], where: str) -> Fault:
    better, why = _line(row.get("better", "")), _line(row.get("why", ""))
    if not better and not why:
        what = f"a {severity} mistake has neither a better wording nor a reason"
        raise _wrong(where, what, "write one into the column `better` or `why`")
    if max(len(better), len(why)) > LONGEST:
        raise _wrong(where, f"more than {counted(LONGEST, 'character')} in a cell", "say it in fewer words")
    given = {"id": text.id, "severity": severity, "source": text.source, "translation": text.translation}
    return msgspec.convert({**given, "better": better, "why": why}, Fault)


def _line(text: str) -> str:
    """Return a text on one line, without characters that cannot be seen."""
    return " ".join("".join(sign if unicodedata.category(sign)[0] != "C" else " " for sign in text).split())


def _rows(content: bytes, where: str) -> list[tuple[int, dict[str, str]]]:
    if len(content) > MAX_BYTES:
        raise _wrong(where, f"it is larger than {MAX_BYTES:,} bytes", "give the table of a single language")
    try:
        lines = io.StringIO(content.decode("utf-8-sig"), newline="")
        delimiter = next((sign for sign in "\t;" if re.match(rf"\W?id\W?{sign}", lines.getvalue())), ",")
        reader = csv.DictReader(lines, delimiter=delimiter, restkey="", restval="")
        if not {"id", "score"} <= {*(reader.fieldnames or ())}:
            raise _wrong(
                f"{where}:1",
                "the columns `id` and `score` must both be present",
                "keep the header row as it was written",
            )
        return [(reader.line_num, {name: cell for name, cell in row.items() if name}) for row in reader]
    except UnicodeDecodeError:
        raise _wrong(where, "the text is not UTF-8", "save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise _wrong(where, f"is not a CSV file: {error}", "save it as CSV in UTF-8") from None


def _wrong(where: str, what: str, remedy: str) -> AtlasError:
    return AtlasError(what, where=where, remedy=remedy)
