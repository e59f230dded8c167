"""`check` and `import`: validate record files, and make them from other formats.

python -m bench check
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from bench.choices import folder
from bench.commands import FOUND_FAULTS, OK, PUBLISHED, OneOf, display_path
from bench.errors import AtlasError, counted
from bench.exchange.transfer import ImportOptions, import_, importers
from bench.records.record import COMPILE_MODES, DEVICES, DTYPES, RESULTS

PATH = click.Path(path_type=Path)


@click.command("check")
@click.argument("paths", nargs=-1, type=PATH)
def check_command(paths: Sequence[Path]) -> None:
    """Validate record files. PATHS are files or folders; without any, the whole atlas."""
    from bench.exchange.check import check, files

    paths = paths or [RESULTS]
    problems = list(check(paths))
    for problem in problems:
        click.echo(f"{'note' if problem.is_note else 'fault'}: {problem}")
    checked = sum(len(files(path)) for path in paths)
    if not checked:
        where = ", ".join(map(str, paths))
        raise AtlasError("contains no record file", where=where, remedy="measure something first: python -m bench run")
    faults = sum(not problem.is_note for problem in problems)
    click.echo(f"{counted(checked, 'record file')}, {counted(faults, 'fault') if faults else 'no faults'}")
    if faults:
        click.echo("To publish without a faulty record, remove its line: `bench run` then measures its case again.")
    sys.exit(FOUND_FAULTS if faults else OK)


@click.command("import")
@click.argument("source", metavar=f"[{'|'.join(importers())}]")
@click.argument("files", nargs=-1, type=PATH, required=True)
@click.option("--out", type=folder, default=PUBLISHED, metavar="DIR", help="Folder of run files.")
@click.option("--device-name", metavar="NAME", help='Such as "NVIDIA A100-SXM4-40GB".')
@click.option("--torch", metavar="VERSION", help="Such as 2.9.0.")
@click.option("--device", type=OneOf(DEVICES))
@click.option("--dtype", type=OneOf((*DTYPES, "amp")))
@click.option("--layout", type=OneOf(("nchw", "nhwc")))
@click.option("--compile-mode", type=OneOf(COMPILE_MODES))
@click.option("--date", metavar="DATE", help="When it was measured: 2026, 2026-11 or 2026-11-02.")
@click.option("--title", metavar="TITLE", help="The title of the source.")
@click.option("--url", metavar="URL", help="Where it was published.")
@click.option("--licence", metavar="NAME", help="The licence of the source.")
def import_command(source: str, files: tuple[Path, ...], out: Path, **details: Any) -> None:
    """Convert published results into records.

    There is one file per run. The options supply details that the FILES do not state; a missing value is an error, or
    is flagged in the records.
    """
    options = ImportOptions(files=files, log=lambda text: click.echo(f"note: {text}", err=True), **details)
    for path, records in import_(source, options, out).items():
        click.echo(f"{counted(len(records), 'record')}: {display_path(path)}")
        for status, count in Counter(record.status.value for record in records).most_common():
            click.echo(f"  {count} {status}")
        for flag, count in Counter(flag for record in records for flag in record.flags).most_common():
            click.echo(f"  {count} flagged {flag}")
