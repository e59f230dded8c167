"""`examples`: run the programs in ``docs/examples`` and capture their output for the page docs/dynamo.md.

python -m bench examples
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click
import msgspec

from bench import machine
from bench.commands import display_path
from bench.errors import AtlasError
from bench.plans.profiles import KEEP_MEMORY
from bench.records import documents
from bench.records.documents import EXAMPLES, SCHEMA, Capture

PROGRAMS = machine.ROOT / "docs" / "examples"


@click.command("examples")
def examples_command() -> None:
    """Capture the output of docs/examples."""
    programs = sorted(PROGRAMS.glob("*.py"))
    captured = {
        "schema": SCHEMA,
        "taken_at": datetime.now(UTC),
        "device_name": machine.cpu_name(),
        "torch": machine.version("torch"),
        "sources": {program.stem: program.read_text("utf-8") for program in programs},
        **{program.stem: output_of(program) for program in programs},
    }
    path = documents.write(msgspec.convert(captured, Capture), EXAMPLES / "output.json")
    click.echo(f"Output: {display_path(path)}")


def output_of(program: Path) -> dict[str, Any]:
    """Run a program with an empty compile cache, and return the JSON on its last line. Raises `AtlasError`."""
    click.echo(f"{program.name} …")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as cache:
        variables = os.environ | KEEP_MEMORY | {"TORCHINDUCTOR_CACHE_DIR": cache}
        command = [sys.executable, str(program)]
        ended = subprocess.run(command, env=variables, capture_output=True, check=False, encoding="utf-8")
    if ended.returncode:
        what = (ended.stderr.strip() or "no message").splitlines()[-1]
        remedy = f"run it alone: python {display_path(program)}"
        raise AtlasError(f"the program failed: {what}", where=str(program), remedy=remedy)
    last_line = ended.stdout.splitlines()[-1].replace(f"{program.parent}{os.sep}", "")
    output: dict[str, Any] = json.loads(re.sub(r"[^\s\"]*/site-packages/", "", last_line))  # no path of this machine
    return output
