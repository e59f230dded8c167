"""An unchanged site is not built again, and any other is."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import in_project, small_project
from mkdocs.config import load_config

from generator.site.build_stamp import BuildStamp

NOTHING = "Nothing has changed"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = small_project(tmp_path_factory.mktemp("unchanged"), languages=("en", "zh"))
    first = in_project(project, "mkdocs", "build", "--strict")
    assert first.returncode == 0, first.stderr
    assert NOTHING not in first.stderr
    return project


def is_unchanged(project: Path) -> bool:
    return bool(BuildStamp(load_config(str(project / "mkdocs.yml"), strict=True)))


def test_a_second_build_ends_at_once_and_leaves_every_file_alone(project: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (project / "site").rglob("*")}
    again = in_project(project, "mkdocs", "build", "--strict")
    assert again.returncode == 0, again.stderr
    assert NOTHING in again.stderr
    assert {path: path.stat().st_mtime_ns for path in (project / "site").rglob("*")} == before


def page(project: Path) -> Path:
    return project / "docs" / "index.md"


def output(project: Path) -> Path:
    return project / "site" / "zh" / "index.html"


CHANGES: dict[str, tuple[Callable[[Path], Path], bytes | None]] = {
    "a page": (page, b"# Other words {#small}\n"),
    "a template": (lambda project: project / "docs/theme/404.html", b"changed"),
    "a record": (lambda project: next((project / "bench/results").rglob("*.jsonl")), b""),
    "a translation": (lambda project: project / "locales/zh/LC_MESSAGES/messages.po", b""),
    "the program": (lambda project: project / "generator/figures/tables.py", b"# changed"),
    "the settings": (lambda project: project / "mkdocs.yml", b"site_name: Other\n"),
    "a page that is gone": (page, None),
    "an output": (output, b"changed"),
    "an output that is gone": (output, None),
}


@pytest.mark.parametrize("name", CHANGES)
def test_any_change_of_a_source_or_of_the_site_is_seen(project: Path, name: str) -> None:
    find, content = CHANGES[name]
    path = find(project)
    whole, status = path.read_bytes(), path.stat()
    assert is_unchanged(project)
    path.unlink() if content is None else path.write_bytes(content)
    try:
        seen = (
            not BuildStamp(load_config(str(project / "mkdocs.yml"), strict=True)) if path.name != "mkdocs.yml" else True
        )
        assert seen
    finally:
        path.write_bytes(whole)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert is_unchanged(project)


def test_a_source_that_was_only_touched_is_the_same(project: Path) -> None:
    os.utime(page(project))
    assert is_unchanged(project)


def test_other_settings_are_another_site(project: Path) -> None:
    path = str(project / "mkdocs.yml")
    assert not BuildStamp(load_config(path, strict=True, site_url="https://example.org/"))
    assert not BuildStamp(load_config(path, strict=False))


def test_a_damaged_stamp_means_that_the_site_is_built(project: Path) -> None:
    config = load_config(str(project / "mkdocs.yml"), strict=True)
    stamp = BuildStamp(config)._path
    whole = stamp.read_bytes()
    for damaged in (b"", b"[]", b"{}", whole[:100]):
        stamp.write_bytes(damaged)
        assert not BuildStamp(config)
    stamp.write_bytes(whole)
    assert BuildStamp(config)
