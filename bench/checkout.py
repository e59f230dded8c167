"""Which state of this project's code it is.

python -c "from bench.checkout import commit; print(commit())"
"""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def commit() -> str | None:
    """Short hash of this project's checkout, "-dirty" where the tree (records apart) has changes; None where there is
    none, as on the nodes of a fleet."""
    if _git("rev-parse", "--show-toplevel") != str(ROOT):
        return None
    found = _git("rev-parse", "--short=12", "HEAD")
    changes = _git("status", "--porcelain", "--", ":!bench/results")
    return f"{found}-dirty" if found and changes else found


def _git(*arguments: str) -> str | None:
    command = ("git", "-C", str(ROOT), *arguments)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
