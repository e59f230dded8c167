"""Which state of this project's code it is.

python -c "from bench.checkout import commit; print(commit())"
"""

from __future__ import annotations

from pathlib import Path

from bench.machine import output

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
    return output("git", "-C", str(ROOT), *arguments)
