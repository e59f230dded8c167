"""What a change does to the records: is it sound, and what became faster or slower by it?

In: the commit that the change is made to; the checkout has the change. Out: Markdown for whoever reviews it, and status
1 where a record is at fault, where a finished line was touched, or, with --nothing-else, where the change is not only
of records. It needs no torch and writes nothing.

    python .github/scripts/records.py origin/main
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))  # records are checked in an environment that need not have the project installed

from bench.commands.comparison_report import markdown  # noqa: E402
from bench.errors import AtlasError  # noqa: E402
from bench.exchange import check as sound  # noqa: E402
from bench.records.record import RESULTS, Record  # noqa: E402
from bench.records.run_file import read, run_files  # noqa: E402
from bench.statistics.compare import Side, compare, make_side  # noqa: E402

RECORDS = RESULTS.relative_to(ROOT).as_posix() + "/"
"""What a change of records may touch."""

MEASURED = f"{RECORDS}measured/"
"""Run files, whose finished lines stay as they are. Published figures and tours are made again as a whole."""

THRESHOLD = 0.05
"""Slower by more is told as a regression. It is a finding for the reviewer, and no fault of the record."""


@dataclass(frozen=True)
class Change:
    """One file that differs. `before` and `after` are its contents, None where there is no such file."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def is_run(self) -> bool:
        return self.path.startswith(RECORDS) and self.path.endswith(".jsonl")


@dataclass(frozen=True)
class Fault:
    """What stands in the way of a merge, and where."""

    path: str
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"`{self.path}:{self.line}` {self.what}. Remedy: {self.remedy}."

    @property
    def annotation(self) -> str:
        """For GitHub, which shows it in its place."""
        text = f"{self.what}. Remedy: {self.remedy}.".replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        path = self.path.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
        return f"::error file={path},line={self.line}::{text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status."""
    parser = argparse.ArgumentParser(description="Check what a change does to the records.", allow_abbrev=False)
    parser.add_argument("base", metavar="COMMIT", help="what the change is made to, such as origin/main")
    parser.add_argument("--nothing-else", action="store_true", help="the change may touch nothing but records")
    options = parser.parse_args(arguments)
    base = git("merge-base", options.base, "HEAD").decode().strip()
    changes = list(changed(base))
    faults = [fault for change in changes for fault in faults_of(change, nothing_else=options.nothing_else)]
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for fault in faults:
            print(fault.annotation, file=sys.stderr)
    try:
        print("\n".join(report(base, [change for change in changes if change.is_run], faults)))
    except AtlasError as error:  # of the records before the change
        sys.exit(f"error: {error}")
    return 1 if faults else 0


def git(*arguments: str) -> bytes:
    """What git prints. Raises `SystemExit` with its message."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def changed(base: str) -> Iterator[Change]:
    """The files that differ between `base` and HEAD."""
    fields = git("diff", "--name-status", "--no-renames", "-z", base, "HEAD").decode().split("\0")
    for status, path in zip(fields[:-1:2], fields[1::2], strict=True):
        before = None if status == "A" else git("show", f"{base}:{path}")
        yield Change(path, before, None if status == "D" else git("show", f"HEAD:{path}"))


def faults_of(change: Change, *, nothing_else: bool = False) -> Iterator[Fault]:
    """Whatever stands in the way of merging this file."""
    if nothing_else and not change.path.startswith(RECORDS):
        yield Fault(change.path, 1, "is no record", "bring it by a change of its own")
    if change.path.startswith(MEASURED) and change.before is not None:
        finished = change.before[: change.before.rfind(b"\n") + 1]  # the next run cuts a torn last line off
        after = change.after or b""
        if not after.startswith(finished):
            line = 1 + sum(old == new for old, new in zip(finished.split(b"\n"), after.split(b"\n"), strict=False))
            what = "changes or removes a record, and run files only grow"
            yield Fault(change.path, line, what, "restore it; a newer run of the same cell supersedes it")
    if (ROOT / change.path).is_symlink():
        yield Fault(change.path, 1, "is a link", "commit the file itself")
    elif change.is_run and change.after is not None:
        for finding in sound.check([ROOT / change.path]):
            if not finding.is_note:
                number = int(finding.where.rpartition(":")[2])
                what = f"{finding.field}: {finding.what}" if finding.field else finding.what
                yield Fault(change.path, number, what, finding.remedy)


# ── Report ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def report(base: str, runs: Sequence[Change], faults: Sequence[Fault]) -> Iterator[str]:
    """Lines of Markdown: faults, what is new, and how it compares with what was known."""
    yield f"## Records: {len(faults)} faults\n" if faults else "## Records: no faults\n"
    yield from (f"- {fault}" for fault in faults)
    added = [(change, new) for change in runs if (new := list(new_records(change)))]
    if not added:
        yield "No new record."
        return
    yield "\n| run | device | torch | new records | status |\n| --- | --- | --- | ---: | --- |"
    for change, records in added:
        yield row(change, records)
    with tempfile.TemporaryDirectory() as folder:
        known = side("earlier", extracted(base, Path(folder)))
    for change, _ in added:
        if change.path.startswith(MEASURED):
            yield from compared(known, ROOT / change.path)


def new_records(change: Change) -> Iterator[Record]:
    """Those that were not there; none of a file that cannot be read, since its faults say why."""
    if change.after is not None:
        try:
            records = list(read(ROOT / change.path))
        except AtlasError:
            return
        yield from records[(change.before or b"").count(b"\n") if change.path.startswith(MEASURED) else 0 :]


def row(change: Change, records: Sequence[Record]) -> str:
    """One run, and how its new cells came out."""
    devices = ", ".join(sorted({record.environment.device_name or "?" for record in records}))
    versions = ", ".join(sorted({record.environment.torch or "?" for record in records}))
    counts = Counter(record.status.value for record in records)
    outcome = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"| {Path(change.path).stem} | {devices} | {versions} | {len(records)} | {outcome} |"


def extracted(base: str, folder: Path) -> Path:
    """The records as they were, below `folder`."""
    archive = git("archive", "--format=tar", base, "--", RECORDS)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)  # noqa: S607
    return folder / RECORDS


def side(name: str, records: Path) -> Side:
    """Everything in a run file or a folder of them."""
    return make_side(name, (record for file in run_files(records) for record in read(file)))


def compared(known: Side, run: Path) -> Iterator[str]:
    """What became faster or slower, folded away; a line where no earlier run has these cells."""
    try:
        new = side(run.stem, run)
        earlier = replace(known, cells={key: cells for key, cells in known.cells.items() if key in new.cells})
        if not earlier.cells:
            yield f"\n{run.stem}: no earlier run has these cells, so there is nothing to compare."
            return
        table = markdown(compare(earlier, new, "compiled"), THRESHOLD)
    except AtlasError as error:
        yield f"\n{run.stem} is not compared with earlier runs: {error.what}."
        return
    yield f"\n<details><summary>{run.stem} (B) against the newest earlier run of each cell (A)</summary>\n\n{table}"
    yield "</details>"


if __name__ == "__main__":
    sys.exit(main())
