"""Names for parts of the results: what a page may read, and what may have changed."""

from __future__ import annotations

import hashlib

Scope = tuple[str, str]
"""Some rows: a column of the table, and the value that they have there. Or one of the following."""

EVERYTHING: Scope = "", ""
DIRECTORY: Scope = "directory", ""
"""Which devices, models and families there are, and how they are named: what a link takes."""

CATALOGS: Scope = "catalogs", ""
"""The translations of all languages."""

THROUGHPUT: Scope = "workload", "throughput"


def digest(*parts: object) -> str:
    """Return a digest of values whose `repr` tells them apart."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
