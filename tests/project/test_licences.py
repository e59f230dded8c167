"""Everything that the site ships has an owner and a licence in one list."""

from __future__ import annotations

import re
import subprocess
import tomllib
from fnmatch import fnmatchcase
from typing import Any

import pytest
from conftest import ROOT, BuiltSite

LISTED: list[dict[str, Any]] = tomllib.loads((ROOT / "docs/assets/licences.toml").read_text(encoding="utf-8"))[
    "shipped"
]
SHIPPED = ("docs/assets", "docs/theme", "generator/templates", "bench/assets")


def owners(path: str, kind: str) -> list[str]:
    return [each["name"] for each in LISTED if any(fnmatchcase(path, pattern) for pattern in each.get(kind, ()))]


def tracked() -> list[str]:
    listing = subprocess.run(["git", "ls-files", "-z", *SHIPPED], cwd=ROOT, capture_output=True, check=False)
    if listing.returncode:
        pytest.skip("not in a repository")
    return [path for path in listing.stdout.decode().split("\0") if path]


def test_every_file_that_ships_is_listed() -> None:
    assert [path for path in tracked() if not owners(path, "files")] == []


def test_every_file_of_the_site_is_listed(site: BuiltSite) -> None:
    names = (path.relative_to(site.folder).as_posix() for path in site.folder.rglob("*") if path.is_file())
    files = {re.sub(r"^\w\w/(?=assets/)", "", name) for name in names}  # each language has its own
    ours = {path.removeprefix("docs/") for path in tracked() if path.startswith("docs/assets/")}
    assert ours <= files
    assert sorted(path for path in files - ours if not owners(path, "site")) == []


def test_what_is_listed_is_there_with_its_licence() -> None:
    paths = tracked()
    for each in LISTED:
        assert re.fullmatch(r"[\w.+-]+(?: (?:AND|OR) [\w.+-]+)*", each["licence"])
        assert each["name"]
        assert each["copyright"]
        assert each["source"]
        for pattern in each.get("files", ()):
            assert any(fnmatchcase(path, pattern) for path in paths), pattern
        text = (ROOT / each["text"]).read_text(encoding="utf-8")
        assert {"Apache": "Apache License", "MIT": "Permission is hereby granted"}[
            re.split(r"[-\s]", each["licence"])[0]
        ].lower() in text.lower()
