"""Check what a change does to the records: faults, new records, and what became faster or slower.

Takes the base commit of the change that is checked out; prints Markdown for the reviewer. Exits with status 1 if a
record is at fault, if a finished line was changed, or, with --nothing-else, if the change touches other files. It needs
no torch and writes nothing.

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
sys.path.insert(0, str(ROOT))  # the environment need not have the project installed

from bench.commands.comparison_report import markdown  # noqa: E402
from bench.errors import AtlasError  # noqa: E402
from bench.exchange.check import check  # noqa: E402
from bench.records.record import RESULTS, Record  # noqa: E402
from bench.records.run_file import COMPRESSED, SUFFIX, read, run_files, run_of  # noqa: E402
from bench.statistics.compare import Side, compare, make_side  # noqa: E402

RECORDS = RESULTS.relative_to(ROOT).as_posix() + "/"
"""The folder of the records."""

MEASURED = f"{RECORDS}measured/"
"""The folder of run files, whose finished lines never change: they are plain, so that a reviewer sees what is new.
Other records are replaced as a whole, and may be compressed."""

THRESHOLD = 0.05
"""The slowdown that the report calls a regression. It informs the reviewer and is no fault."""


@dataclass(frozen=True)
class Change:
    """One file that differs. `before` and `after` are its contents; None means that it does not exist."""

    path: str
    before: bytes | None
    after: bytes | None

    @property
    def is_run(self) -> bool:
        return self.path.startswith(RECORDS) and self.path.removesuffix(COMPRESSED).endswith(SUFFIX)


@dataclass(frozen=True)
class Fault:
    """A reason not to merge, and its place."""

    path: str
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"`{self.path}:{self.line}` {self.what}. Remedy: {self.remedy}."

    @property
    def annotation(self) -> str:
        """A workflow command, by which GitHub shows the fault in its place."""
        text = f"{self.what}. Remedy: {self.remedy}.".replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        path = self.path.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
        return f"::error file={path},line={self.line}::{text}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status."""
    parser = argparse.ArgumentParser(description="Check what a change does to the records.", allow_abbrev=False)
    parser.add_argument("base", metavar="COMMIT", help="the base of the change, such as origin/main")
    parser.add_argument("--nothing-else", action="store_true", help="refuse changes of other files")
    options = parser.parse_args(arguments)
    base = git("merge-base", options.base, "HEAD").decode().strip()
    changes = list(changed(base))
    faults = [fault for change in changes for fault in faults_of(change, nothing_else=options.nothing_else)]
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for fault in faults:
            print(fault.annotation, file=sys.stderr)
    try:
        print("\n".join(report(base, [change for change in changes if change.is_run], faults)))
    except AtlasError as error:  # in the records before the change
        sys.exit(f"error: {error}")
    return 1 if faults else 0


def git(*arguments: str) -> bytes:
    """Return the output of git. Raises `SystemExit` with git's message if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def changed(base: str) -> Iterator[Change]:
    """Yield the files that differ between `base` and HEAD."""
    fields = git("diff", "--name-status", "--no-renames", "-z", base, "HEAD").decode().split("\0")
    for status, path in zip(fields[:-1:2], fields[1::2], strict=True):
        before = None if status == "A" else git("show", f"{base}:{path}")
        yield Change(path, before, None if status == "D" else git("show", f"HEAD:{path}"))


def faults_of(change: Change, *, nothing_else: bool = False) -> Iterator[Fault]:
    """Yield the reasons not to merge this file."""
    if nothing_else and not change.path.startswith(RECORDS):
        yield Fault(change.path, 1, "is not a record", "move it to a change of its own")
    if change.path.startswith(MEASURED) and change.path.endswith(COMPRESSED) and change.after is not None:
        yield Fault(change.path, 1, "is compressed, and run files grow line by line", "unpack it: gunzip")
    if change.path.startswith(MEASURED) and change.before is not None:
        finished = change.before[: change.before.rfind(b"\n") + 1]  # the next run removes a torn last line
        after = change.after or b""
        if not after.startswith(finished):
            line = 1 + sum(old == new for old, new in zip(finished.split(b"\n"), after.split(b"\n"), strict=False))
            what = "changes or removes a record, and run files only grow"
            yield Fault(change.path, line, what, "restore it; a newer run of the same cell supersedes it")
    if (ROOT / change.path).is_symlink():
        yield Fault(change.path, 1, "is a link", "commit the file itself")
    elif change.is_run and change.after is not None:
        for problem in check([ROOT / change.path]):
            if not problem.is_note:
                _, _, number = problem.where.rpartition(":")  # none if the file as a whole cannot be read
                what = f"{problem.field}: {problem.what}" if problem.field else problem.what
                yield Fault(change.path, int(number) if number.isdecimal() else 1, what, problem.remedy)


# ── Report ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def report(base: str, runs: Sequence[Change], faults: Sequence[Fault]) -> Iterator[str]:
    """Yield lines of Markdown: faults, new records, and comparisons with earlier runs."""
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
    """Yield the records that the change adds; none if the file cannot be read, which is a fault of its own."""
    if change.after is not None:
        try:
            records = list(read(ROOT / change.path))
        except AtlasError:
            return
        yield from records[(change.before or b"").count(b"\n") if change.path.startswith(MEASURED) else 0 :]


def row(change: Change, records: Sequence[Record]) -> str:
    """Return a table row: a run and the statuses of its new records."""
    devices = ", ".join(sorted({record.environment.device_name or "?" for record in records}))
    versions = ", ".join(sorted({record.environment.torch or "?" for record in records}))
    counts = Counter(record.status.value for record in records)
    outcome = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"| {run_of(Path(change.path))} | {devices} | {versions} | {len(records)} | {outcome} |"


def extracted(base: str, folder: Path) -> Path:
    """Extract the records of the base commit below `folder`, and return their folder."""
    archive = git("archive", "--format=tar", base, "--", RECORDS)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)  # noqa: S607
    return folder / RECORDS


def side(name: str, records: Path) -> Side:
    """Return one side of a comparison, with all records of a run file or a folder."""
    return make_side(name, (record for file in run_files(records) for record in read(file)))


def compared(known: Side, run: Path) -> Iterator[str]:
    """Yield a folded comparison with earlier runs, or a line that says why there is none."""
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
