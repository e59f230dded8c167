"""`check`, `import`, `export`: validate record files, and convert them from and to other formats.

python -m bench check
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from bench.choices import named, pick
from bench.commands import FOUND_FAULTS, OK, PUBLISHED, Commands, display_path
from bench.errors import AtlasError, counted
from bench.exchange.transfer import import_, importers
from bench.records.record import COMPILE_MODES, DTYPES, RESULTS


def add(commands: Commands) -> None:
    """Add the commands and their options."""
    check = commands.add_parser("check", help="validate record files", allow_abbrev=False)
    check.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders (default: the atlas)")
    check.set_defaults(command=_check)
    importing = commands.add_parser(
        "import",
        help="convert published results into records",
        description="Convert published results into records, with one file per run. If anything fails, no file is "
        "written.",
        epilog="The options supply details that the files do not state. A missing value is an error, or is flagged in "
        "the records.",
        allow_abbrev=False,
    )
    importing.add_argument("source", metavar="SOURCE", help=", ".join(importers()))
    importing.add_argument("files", nargs="*", type=Path, metavar="FILE", help="the source files")
    importing.add_argument(
        "--out", type=named, default=PUBLISHED, metavar="DIR", help="folder of the run files (default: the atlas)"
    )
    missing = importing.add_argument_group("details that the files do not state")
    missing.add_argument("--device-name", metavar="NAME", help='such as "NVIDIA A100-SXM4-40GB"')
    missing.add_argument("--torch", metavar="VERSION", help="such as 2.9.0")
    missing.add_argument("--dtype", metavar="TYPE", help=f"{', '.join(DTYPES)}, amp")
    missing.add_argument("--compile-mode", metavar="MODE", help=", ".join(COMPILE_MODES))
    missing.add_argument("--date", metavar="DATE", help="when it was measured: 2026, 2026-11 or 2026-11-02")
    missing.add_argument("--title", metavar="TITLE", help="the title of the source")
    missing.add_argument("--url", metavar="URL", help="where it was published")
    missing.add_argument("--licence", metavar="NAME", help="the licence of the source")
    importing.set_defaults(command=_import)

    exporting = commands.add_parser(
        "export",
        help="write records as a table, with one row per record and one column per field",
        allow_abbrev=False,
    )
    exporting.add_argument("format", metavar="FORMAT", help="csv or parquet")
    exporting.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders (default: the atlas)")
    exporting.add_argument("--out", type=named, required=True, metavar="FILE", help="the file to write")
    exporting.set_defaults(command=_export)


def _check(options: argparse.Namespace) -> int:
    from bench.exchange.check import check, files

    paths = options.paths or [RESULTS]
    problems = list(check(paths))
    for problem in problems:
        print(f"{'note' if problem.is_note else 'fault'}: {problem}")
    checked = sum(len(files(path)) for path in paths)
    if not checked:
        where = ", ".join(map(str, paths))
        raise AtlasError("contains no record file", where=where, remedy="measure something first: python -m bench run")
    faults = sum(not problem.is_note for problem in problems)
    print(f"{counted(checked, 'record file')}, {counted(faults, 'fault') if faults else 'no faults'}")
    if faults:
        print("To publish without a faulty record, remove its line: the same `bench run` then measures its case again.")
    return FOUND_FAULTS if faults else OK


def _import(options: argparse.Namespace) -> int:
    from bench.exchange.source_files import ImportOptions

    names = ("device_name", "torch", "date", "title", "url", "licence")
    given = ImportOptions(
        files=tuple(options.files),
        dtype=options.dtype and pick("dtype", options.dtype, (*DTYPES, "amp")),
        compile_mode=options.compile_mode and pick("compile-mode", options.compile_mode, COMPILE_MODES),
        log=lambda text: print(f"note: {text}", file=sys.stderr),
        **{name: getattr(options, name) for name in names},
    )
    for path, records in import_(options.source, given, options.out).items():
        print(f"{counted(len(records), 'record')}: {display_path(path)}")
        for status, count in Counter(record.status.value for record in records).most_common():
            print(f"  {count} {status}")
        for flag, count in Counter(flag for record in records for flag in record.flags).most_common():
            print(f"  {count} flagged {flag}")
    return OK


def _export(options: argparse.Namespace) -> int:
    from bench.exchange.export import export

    count = export(options.format, options.paths or [RESULTS], options.out)
    print(f"{counted(count, 'record')}: {display_path(options.out)}")
    return OK
