"""Import the inference benchmarks and accuracies that timm has published or corrected since they were last imported.

Asks GitHub for the folder of timm's results; writes run files and the table of accuracies, and prints Markdown for the
reviewer, or says that there is nothing new. A file is new if it was changed on a later day than the record that names
it is of, or, if none does, than the newest imported file: those that were older when the atlas began are left out. Both
variants of a setup are imported together. Only names that the importer knows are asked for, and only so many bytes are
read.

    python .github/scripts/import_timm.py
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))  # the environment need not have the project installed

from bench.errors import AtlasError  # noqa: E402
from bench.exchange.importers.timm import Setup, parse  # noqa: E402
from bench.exchange.transfer import ImportOptions, import_  # noqa: E402
from bench.records.record import RESULTS, TOY, UNEQUAL_BATCHES, Record, Status  # noqa: E402
from bench.records.run_file import read, run_files  # noqa: E402

REPOSITORY, FOLDER = "huggingface/pytorch-image-models", "results"

ACCURACIES, COPY = "results-imagenet.csv", "timm-imagenet.csv"
"""Timm's table of accuracies, and its copy, whose first line has the source, its date and licence."""

PREFIX = "benchmark-infer-"
"""What the names of the files begin with that are worth a word if they are left out."""

RAW = "application/vnd.github.raw+json"
"""The form in which GitHub answers with a file as it is."""

MAX_BYTES = 4 * 1024 * 1024
"""Limit for one answer. The largest file of today has 130 kB, the listing 60."""

Day = Annotated[str, msgspec.Meta(pattern=r"^20\d\d-[01]\d-[0-3]\dT")]
Answer = TypeVar("Answer")


class Entry(msgspec.Struct):
    """A file or folder in a listing."""

    name: str
    type: str


class Committer(msgspec.Struct):
    """Who committed, which does not matter, and when."""

    date: Day


class Details(msgspec.Struct):
    """What git knows of a commit."""

    committer: Committer


class Commit(msgspec.Struct):
    """A commit."""

    sha: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}\Z")]
    commit: Details

    @property
    def day(self) -> str:
        return self.commit.committer.date[:10]


@dataclass
class Setting:
    """The files of one setup, by variant, and the day of the newest of them."""

    files: dict[str, str] = field(default_factory=dict)
    day: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Import what is new, and print the report."""
    parser = argparse.ArgumentParser(description="Import what timm has published.", allow_abbrev=False)
    parser.add_argument("--out", type=Path, default=RESULTS / "published", metavar="DIR", help="the imported records")
    options = parser.parse_args(arguments)
    known = days_of(record for path in run_files(options.out) for record in read(path))
    (head,) = asked(f"commits?path={FOLDER}&per_page=1", list[Commit])
    entries = asked(f"contents/{FOLDER}?ref={head.sha}", list[Entry])
    settings, left_out = set_up([entry.name for entry in entries if entry.type == "file"])
    imported: dict[Path, list[Record]] = {}
    for setting in settings.values():
        names = setting.files.values()
        since = max((known[name] for name in names if name in known), default=max(known.values(), default=""))
        setting.day = max(published(name, head.sha) for name in names)
        if setting.day > since:
            try:
                imported |= importing(setting, head.sha, options.out)
            except AtlasError as error:
                left_out |= dict.fromkeys(names, error.what)
    print("\n".join(report(imported, left_out, head.sha)))
    copy_accuracies(head.sha, options.out / COPY)
    return 0


def days_of(records: Iterator[Record]) -> Mapping[str, str]:
    """Return the day of each imported file of timm."""
    ours = (record.source for record in records if record.profile == "timm" and record.source)
    return {name: source.date for source in ours for name in source.files}


def set_up(names: Sequence[str]) -> tuple[Mapping[Setup, Setting], dict[str, str]]:
    """Return the files by setup, and of those that the importer does not know why."""
    settings: defaultdict[Setup, Setting] = defaultdict(Setting)
    left_out = {}
    for name in sorted(names):
        if name.startswith(PREFIX):
            try:
                setup, variant = parse(Path(name.replace("/", "?")))  # a name, never a path
            except AtlasError as error:
                left_out[re.sub(r"[^\w.-]", "?", name)[:100]] = error.what
            else:
                settings[setup].files[variant] = name
    return settings, left_out


def copy_accuracies(commit: str, copy: Path) -> None:
    """Copy the table of accuracies if it is newer, and say so."""
    _, _, known, *_ = copy.read_text(encoding="utf-8").split(maxsplit=3)
    if (day := published(ACCURACIES, commit)) > known:
        head = f"# https://github.com/{REPOSITORY}/blob/main/{FOLDER}/{ACCURACIES} {day} Apache-2.0\n"
        copy.write_bytes(head.encode() + answer(f"contents/{FOLDER}/{ACCURACIES}?ref={commit}", RAW))
        print(f"\nThe accuracies on ImageNet are those of {day}.")


def importing(setting: Setting, commit: str, out: Path) -> dict[Path, list[Record]]:
    """Download the files of a setup, and write their records. Raises `AtlasError` for a file that is broken."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, name) for name in setting.files.values()]
        for path in paths:
            path.write_bytes(answer(f"contents/{FOLDER}/{path.name}?ref={commit}", RAW))
        return import_("timm", ImportOptions(files=tuple(paths), date=setting.day), out)


# ── GitHub ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def published(name: str, commit: str) -> str:
    """Return the day on which a file was last changed."""
    path = urllib.parse.quote(f"{FOLDER}/{name}")
    (last,) = asked(f"commits?path={path}&sha={commit}&per_page=1", list[Commit])
    return last.day


def asked(what: str, kind: type[Answer]) -> Answer:
    """Return GitHub's answer as a value. Raises `SystemExit` for one of another form."""
    try:
        return msgspec.json.decode(answer(what, "application/vnd.github+json"), type=kind)
    except msgspec.MsgspecError as error:
        sys.exit(f"error: {what}: GitHub answers in another form: {error}")


def answer(what: str, form: str) -> bytes:
    """Return GitHub's answer. Raises `SystemExit` if there is none, or if it is too large."""
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(f"{api}/repos/{REPOSITORY}/{what}", headers={"Accept": form})  # noqa: S310
    if token := os.environ.get("GITHUB_TOKEN"):
        request.add_unredirected_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            body: bytes = response.read(MAX_BYTES + 1)
    except (urllib.error.URLError, TimeoutError) as error:
        sys.exit(f"error: {what}: GitHub gives no answer: {error}")
    if len(body) > MAX_BYTES:
        sys.exit(f"error: {what}: has more than {MAX_BYTES:,} bytes")
    return body


# ── Report ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def report(imported: Mapping[Path, Sequence[Record]], left_out: Mapping[str, str], commit: str) -> Iterator[str]:
    """Yield lines of Markdown: the runs with their counts, their files and flags, and what was left out."""
    if not imported:
        yield "timm has published no new benchmarks."
    else:
        yield "## timm has published new benchmarks\n"
        yield "| run | device | torch | published | records | both variants | unequal batches | toys |"
        yield "| --- | --- | --- | --- | ---: | ---: | ---: | ---: |"
        yield from (row(records) for records in imported.values())
        yield "\nEach run was imported with `python -m bench import timm FILES --date DAY`, from these files:\n"
        base = f"https://github.com/{REPOSITORY}/blob/{commit}/{FOLDER}"
        names = sorted({name for records in imported.values() for name in files_of(records[0])})
        yield from (f"- [{name}]({base}/{name})" for name in names)
        yield "\nFlags:\n"
        yield from (f"- {records[0].run}: {flags(records)}" for records in imported.values())
    if left_out:
        yield "\nLeft out:\n"
        yield from (f"- `{name}` {what.replace('`', '')}" for name, what in left_out.items())


def row(records: Sequence[Record]) -> str:
    """Return a table row."""
    first, found = records[0], Counter(flag for record in records for flag in record.flags)
    pairs = sum(record.status is Status.PASS for record in records)
    day = first.source.date if first.source else "?"
    about = (first.run, first.environment.device_name, first.environment.torch, day)
    return f"| {' | '.join(about)} | {len(records)} | {pairs} | {found[UNEQUAL_BATCHES]} | {found[TOY]} |"


def files_of(record: Record) -> Sequence[str]:
    """Return the names of the files that a record is from."""
    return record.source.files if record.source else ()


def flags(records: Sequence[Record]) -> str:
    """Return how many records have each flag."""
    found = Counter(flag for record in records for flag in record.flags)
    return ", ".join(f"{count} {flag}" for flag, count in found.most_common())


if __name__ == "__main__":
    sys.exit(main())
