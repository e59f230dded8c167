"""Check what a change does to the records: faults, new records, and what became faster or slower.

Takes the base commit of a change, and the change, by default what is checked out; prints Markdown for the reviewer.
Exits with status 1 if a record or document is at fault, if a finished line or a document was changed, or, with
--nothing-else, if the change touches other files. It reads the change from the object database alone, so the base can
stay checked out: its checker then judges a change that brings another checker. It needs no torch and writes nothing
into the repository.

    python .github/scripts/records.py origin/main
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))  # the environment need not have the project installed

from bench.commands.comparison_report import markdown  # noqa: E402
from bench.errors import AtlasError  # noqa: E402
from bench.exchange import seals, signatures  # noqa: E402
from bench.exchange.check import READERS, Problem, check, check_document, check_signatures, is_document  # noqa: E402
from bench.records.record import RESULTS, Record  # noqa: E402
from bench.records.run_file import COMPRESSED, SUFFIX, read, run_files, run_of  # noqa: E402
from bench.statistics.compare import Side, compare, make_side  # noqa: E402

RECORDS = RESULTS.relative_to(ROOT).as_posix() + "/"
"""The folder of the records."""

SEALS = f"{RECORDS}{seals.FOLDER}/{seals.NAME}"
"""The digests of imported records, which are checked with them."""

SIGNERS = RECORDS + signatures.NAME
"""The keys by which contributors sign their run files."""

MEASURED = f"{RECORDS}measured/"
"""The folder of run files, whose finished lines never change: they are plain, so that a reviewer sees what is new.
Other records are replaced as a whole, and may be compressed."""

THRESHOLD = 0.05
"""The slowdown that the report calls a regression. It informs the reviewer and is no fault."""


ODD = re.compile(r"[^A-Za-z0-9._/-]")
"""What no name of a record file contains, and no output shows as it is: it could be a command to GitHub, or markup."""

FILES = frozenset({"100644", "100755"})
"""The modes of files in a tree of git. Others are links and commits of other repositories."""


@dataclass(frozen=True)
class Change:
    """One file that differs. `before` and `after` are its contents; None means that it does not exist as a file.

    `root` is a folder with all records after the change.
    """

    path: str
    before: bytes | None
    after: bytes | None
    is_link: bool
    root: Path

    @property
    def is_run(self) -> bool:
        return self.path.startswith(RECORDS) and self.path.removesuffix(COMPRESSED).endswith(SUFFIX)

    @property
    def is_signing(self) -> bool:
        return self.path == SIGNERS or (self.path.startswith(RECORDS) and self.path.endswith(signatures.SUFFIX))

    @property
    def is_document(self) -> bool:
        return self.path.startswith(RECORDS) and is_document(PurePosixPath(self.path))

    @property
    def is_known(self) -> bool:
        """Whether something reads the file, if it is one of the results."""
        return self.is_run or self.is_signing or self.is_document or self.path == SEALS

    @property
    def file(self) -> Path:
        return self.root / self.path


@dataclass(frozen=True)
class Fault:
    """A reason not to merge, and its place."""

    path: str
    line: int
    what: str
    remedy: str

    def __str__(self) -> str:
        return f"`{shown(self.path)}:{self.line}` {' '.join(self.what.split())}. Remedy: {self.remedy}."

    @property
    def annotation(self) -> str:
        """A workflow command, by which GitHub shows the fault in its place."""
        text = f"{self.what}. Remedy: {self.remedy}.".replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        return f"::error file={shown(self.path).replace('%', '%25')},line={self.line}::{text}"


def shown(path: str) -> str:
    """Return a path as others may see it: percent-encoded, as in an address, where it has odd characters."""
    return ODD.sub(lambda odd: "".join(f"%{byte:02X}" for byte in os.fsencode(odd[0])), path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report and return the exit status."""
    parser = argparse.ArgumentParser(description="Check what a change does to the records.", allow_abbrev=False)
    parser.add_argument("base", metavar="BASE", help="the base of the change, such as origin/main")
    parser.add_argument("change", metavar="COMMIT", nargs="?", default="HEAD", help="the change (default: HEAD)")
    parser.add_argument("--author", metavar="LOGIN", help="whoever proposes the change: new records name nobody else")
    parser.add_argument("--nothing-else", action="store_true", help="refuse changes of other files")
    options = parser.parse_args(arguments)
    base = git("merge-base", options.base, options.change).decode().strip()
    with tempfile.TemporaryDirectory() as folder:
        earlier = extracted(base, Path(folder, "earlier"))
        changes = list(changed(base, options.change, shutil.copytree(earlier, Path(folder, "later"))))
        faults = [fault for change in changes for fault in faults_of(change, nothing_else=options.nothing_else)]
        if options.author:
            faults += [fault for change in changes if change.is_run for fault in others_named(change, options.author)]
            faults += [fault for change in changes for fault in others_keys(change, options.author)]
        if os.environ.get("GITHUB_ACTIONS") == "true":
            for fault in faults:
                print(fault.annotation, file=sys.stderr)
        try:
            lines = report(earlier, [change for change in changes if change.is_run], faults)
            print("\n".join(lines).replace("##[", "##\\["))  # GitHub reads commands of this older form in any place
        except AtlasError as error:  # in the records before the change
            sys.exit(f"error: {error}")
    return 1 if faults else 0


def git(*arguments: str) -> bytes:
    """Return the output of git. Raises `SystemExit` with git's message if it fails."""
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, check=False)  # noqa: S607
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def changed(base: str, change: str, root: Path) -> Iterator[Change]:
    """Yield the files that differ between two commits, and change the copy of the records of `base` in `root`."""
    fields = os.fsdecode(git("diff", "--raw", "--no-renames", "--no-abbrev", "-z", base, change)).split("\0")
    for about, path in zip(fields[:-1:2], fields[1::2], strict=True):
        old_mode, mode, old, new, _ = about.removeprefix(":").split()
        before = git("cat-file", "blob", old) if old_mode in FILES else None
        after = git("cat-file", "blob", new) if mode in FILES else None
        found = Change(path, before, after, mode not in {*FILES, "000000"}, root)
        if found.is_known and not ODD.search(path):
            found.file.unlink(missing_ok=True)
            if after is not None:
                found.file.parent.mkdir(parents=True, exist_ok=True)
                found.file.write_bytes(after)
        yield found


def faults_of(change: Change, *, nothing_else: bool = False) -> Iterator[Fault]:
    """Yield the reasons not to merge this file."""
    if change.path.startswith(RECORDS) and ODD.search(change.path) and (change.is_link or change.after is not None):
        yield Fault(
            change.path, 1, "has a name with odd characters", "name it with letters, digits, points and hyphens"
        )
        return
    if nothing_else and not change.path.startswith(RECORDS):
        yield Fault(change.path, 1, "is not a record", "move it to a change of its own")
    yield from edits(change)
    if change.is_link:
        yield Fault(change.path, 1, "is a link", "commit the file itself")
    elif change.path.startswith(RECORDS) and change.after is not None:
        for problem in problems(change):
            if not problem.is_note:
                _, _, number = problem.where.rpartition(":")  # none if the file as a whole cannot be read
                what = f"{problem.field}: {problem.what}" if problem.field else problem.what
                what = what.replace(f"{change.root.resolve()}{os.sep}", "")
                yield Fault(change.path, int(number) if number.isdecimal() else 1, what, problem.remedy)


def edits(change: Change) -> Iterator[Fault]:
    """Yield what the change does to results that stay as they are."""
    if change.path.startswith(MEASURED) and change.path.endswith(COMPRESSED) and change.after is not None:
        yield Fault(change.path, 1, "is compressed, and run files grow line by line", "unpack it: gunzip")
    if change.path.startswith(MEASURED) and change.before is not None and not change.is_signing:
        finished = change.before[: change.before.rfind(b"\n") + 1]  # the next run removes a torn last line
        after = change.after or b""
        if not after.startswith(finished):
            line = 1 + sum(old == new for old, new in zip(finished.split(b"\n"), after.split(b"\n"), strict=False))
            what = "changes or removes a record, and run files only grow"
            yield Fault(change.path, line, what, "restore it; a newer run of the same cell supersedes it")
    if change.is_document and change.before is not None and not keeps(change.before, change.after, change.path):
        what = "changes or removes a document, and documents are only added"
        yield Fault(change.path, 1, what, "restore it, and add the new one under another name; the newest is shown")


def keeps(before: bytes, after: bytes | None, path: str) -> bool:
    """Return whether a document says all that it said before. One of lines may have more of them."""
    lines = set((after or b"").splitlines())
    return lines.issuperset(before.splitlines()) if path.endswith(".csv") else after == before


def problems(change: Change) -> Iterator[Problem]:
    """Yield what the checker says of a file below the results, by its kind."""
    if change.is_document:
        yield from check_document(change.file)
    elif change.is_run or change.is_signing:
        yield from (check if change.is_run else check_signatures)([change.file], change.root / RECORDS)
    elif not change.is_known:
        remedy = f"remove it; run files end with {SUFFIX}, and documents are in {', '.join(READERS)}"
        yield Problem(change.path, "", "is neither a run file nor a known document", remedy)


def others_named(change: Change, author: str) -> Iterator[Fault]:
    """Yield the new records whose contributor is somebody else than the author of the change."""
    for number, record in enumerate(new_records(change), start=first_new(change) + 1):
        if record.contributor and record.contributor.casefold() != author.casefold():
            what = f"contributor: {record.contributor!a} is not {author}, who proposes the record"
            yield Fault(change.path, number, what, f"measure with --by {author}, or let them propose it")


def others_keys(change: Change, author: str) -> Iterator[Fault]:
    """Yield the keys that the change adds or removes, and that are not those of the author of the change."""
    if change.path == SIGNERS:
        before, after = ((content or b"").splitlines() for content in (change.before, change.after))
        for line in sorted({*before} ^ {*after}):
            login = line.decode(errors="replace").partition(" ")[0]
            if login and not login.startswith("#") and login.casefold() != author.casefold():
                number = after.index(line) + 1 if line in after else 1
                what = f"{login!a} is not {author}, who adds or removes the key"
                yield Fault(change.path, number, what, f"change keys of {author} alone, or let them propose it")


# ── Report ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def report(earlier: Path, runs: Sequence[Change], faults: Sequence[Fault]) -> Iterator[str]:
    """Yield lines of Markdown: faults, new records, and comparisons with the records in the folder `earlier`."""
    yield f"## Records: {len(faults)} faults\n" if faults else "## Records: no faults\n"
    yield from (f"- {fault}" for fault in faults)
    added = [(change, new) for change in runs if (new := list(new_records(change)))]
    if not added:
        yield "No new record."
        return
    yield "\n| run | device | torch | new records | status |\n| --- | --- | --- | ---: | --- |"
    for change, records in added:
        yield row(change, records)
    known = side("earlier", earlier / RECORDS)
    for change, _ in added:
        if change.path.startswith(MEASURED):
            yield from compared(known, change.file)


def new_records(change: Change) -> Iterator[Record]:
    """Yield the records that the change adds; none if the file cannot be read, which is a fault of its own."""
    if change.after is not None and not ODD.search(change.path):
        try:
            records = list(read(change.file))
        except AtlasError:
            return
        yield from records[first_new(change) :]


def first_new(change: Change) -> int:
    """Return how many records the file had before, of those that stay."""
    return (change.before or b"").count(b"\n") if change.path.startswith(MEASURED) else 0


def row(change: Change, records: Sequence[Record]) -> str:
    """Return a table row: a run and the statuses of its new records."""
    devices = ", ".join(sorted({record.environment.device_name or "?" for record in records}))
    versions = ", ".join(sorted({record.environment.torch or "?" for record in records}))
    counts = Counter(record.status.value for record in records)
    outcome = ", ".join(f"{count} {status}" for status, count in counts.most_common())
    return f"| {run_of(Path(change.path))} | {devices} | {versions} | {len(records)} | {outcome} |"


def extracted(base: str, folder: Path) -> Path:
    """Extract the records of the base commit below `folder`, and return `folder`."""
    folder.mkdir()
    archive = git("archive", "--format=tar", base, "--", RECORDS)
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)  # noqa: S607
    return folder


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
