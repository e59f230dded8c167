"""Publishing: from a repository onto the branch gh-pages of its remote, and the same bytes from anybody who builds it.

A small guide is published by the command behind `make publish`, and built again elsewhere under other circumstances.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser.hosting import hosted
from browser.visit import visit
from conftest import ROOT
from playwright.sync_api import Browser

from generator.publishing import pages_address

PAGES = ("devices/each.md", "explorer.md")
"""Of the real guide. The small one has them for one device, and a first page of its own."""

HOME = """---
title: A small guide
description: Few records.
---

# A small guide {#small}

What compiling does: see the [explorer](explorer.md).
"""

NAVIGATION = "nav:\n  - index.md\n  - explorer.md\n  - Devices: devices/\n\n"


def small_guide(folder: Path) -> Path:
    """A project with three pages and twelve records, in two languages: making fonts for the others takes long."""
    for name in ("bench", "generator", "locales", "docs/assets", "docs/theme"):
        ignored = shutil.ignore_patterns("__pycache__", "measured", "published")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    for name in PAGES:
        (folder / "docs" / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs" / name, folder / "docs" / name)
    (folder / "docs" / "index.md").write_text(HOME)
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings = re.sub(r"nav:\n(?:  .*\n)+\n", NAVIGATION, settings)
    settings = settings.replace("\nextra:\n", "\nextra:\n  editions: [en, ar]\n")
    (folder / "mkdocs.yml").write_text(settings, encoding="utf-8")
    shutil.copy(ROOT / ".gitignore", folder)
    published = "bench/results/published/huggingface-2023.jsonl"
    lines = (ROOT / published).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if all(part in line for part in ('"NVIDIA T4"', '"2.0.1"', '"batch_size":1,'))]
    (folder / published).parent.mkdir(parents=True)
    (folder / published).write_text("".join(kept), encoding="utf-8")
    return folder


def mkdocs(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("SITE_URL", "SOURCE_DATE_EPOCH")}
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", *arguments],
        cwd=project,
        env={**inherited, "PYTHONPATH": str(project), **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(project: Path, remote: str) -> Path:
    git(project, "init", "-q", "-b", "main")
    git(project, "remote", "add", "origin", remote)
    git(project, "add", "--all")
    git(project, "commit", "-q", "-m", "A small guide")
    return project


@dataclass(frozen=True)
class Published:
    project: Path
    remote: Path
    folder: Path  # what the branch holds, as a host serves it
    address: str
    log: str


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """The small guide on the branch gh-pages of a bare repository, checked out again."""
    base = tmp_path_factory.mktemp("publish")
    git(base, "init", "-q", "--bare", "-b", "main", "remote.git")
    project = repository(small_guide(base / "project"), str(base / "remote.git"))
    (ROOT / ".cache").mkdir(exist_ok=True)
    (project / ".cache").symlink_to(ROOT / ".cache")
    git(project, "config", "core.excludesFile", str(base / "excluded"))
    (base / "excluded").write_text(".cache\n")  # a link, which the pattern for the folder misses
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    done = mkdocs(project, "gh-deploy", "--strict", SITE_URL=address, **WHO)
    assert done.returncode == 0, done.stdout + done.stderr
    git(base, "clone", "-q", "-b", "gh-pages", "remote.git", "site")
    return Published(project, base / "remote.git", base / "site", address, done.stderr)


WHO = {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.org", "GIT_AUTHOR_NAME": "A"}


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.relative_to(folder).parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


# ── Publish ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_branch_holds_the_site_and_names_its_commit(published: Published) -> None:
    names = files(published.folder).keys()
    assert {"index.html", "404.html", ".nojekyll", "ar/explorer/index.html", "sitemap.xml.gz"} <= names
    commit = git(published.project, "rev-parse", "--short", "HEAD").strip()
    assert commit in git(published.remote, "log", "-1", "--format=%s", "gh-pages")
    assert git(published.remote, "branch", "--format=%(refname:short)").split() == ["gh-pages"]


@pytest.mark.browser
def test_everything_works_at_a_root(published: Published, browser: Browser) -> None:
    port = int(published.address.rstrip("/").rpartition(":")[2])
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    with hosted(published.folder, port) as address:
        assert address == published.address
        visit(page, address, "ConvNeXT")
    page.close()


def test_what_is_not_committed_is_not_published(published: Published) -> None:
    before = git(published.remote, "rev-parse", "gh-pages")
    (published.project / "docs" / "draft.md").write_text("# A draft {#draft}\n")
    done = mkdocs(published.project, "gh-deploy", "--strict", SITE_URL=published.address)
    (published.project / "docs" / "draft.md").unlink()
    assert done.returncode != 0
    assert "docs/draft.md" in done.stderr
    assert "remedy: commit" in done.stderr
    assert "Traceback" not in done.stderr
    assert git(published.remote, "rev-parse", "gh-pages") == before


def test_without_an_address_nothing_is_published(published: Published) -> None:
    done = mkdocs(published.project, "gh-deploy", "--strict")
    assert done.returncode != 0
    assert "make publish SITE_URL=" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("remote", "expected"),
    [
        ("https://github.com/Some-One/atlas.git", "https://some-one.github.io/atlas/"),
        ("https://token@github.com/some-one/atlas", "https://some-one.github.io/atlas/"),
        ("git@github.com:some-one/Atlas.js.git", "https://some-one.github.io/Atlas.js/"),
        ("ssh://git@github.com/some-one/some-one.github.io.git", "https://some-one.github.io/"),
        ("https://example.org/some-one/atlas.git", None),
        ("https://example.org/github.com/some-one/atlas", None),
        ("", None),
    ],
)
def test_the_address_follows_from_the_remote(remote: str, expected: str | None) -> None:
    assert pages_address(remote) == expected


# ── Byte by byte ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_who_builds_it_again_elsewhere_gets_the_same_bytes(published: Published, tmp_path: Path) -> None:
    """Another folder, user, place, language and order of hashes; charts and fonts are made anew."""
    project = small_guide(tmp_path / "another folder, ünd longer")
    circumstances = {"PYTHONHASHSEED": "4711", "TZ": "Asia/Kathmandu", "LC_ALL": "C", "HOME": str(tmp_path)}
    umask = os.umask(0o077)
    try:
        done = mkdocs(project, "build", "--strict", SITE_URL=published.address, **circumstances)
    finally:
        os.umask(umask)
    assert done.returncode == 0, done.stdout + done.stderr
    here, there = files(published.folder), files(project / "site")
    del here[".nojekyll"]  # for the host, by gh-deploy
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_nothing_tells_when_it_was_built(published: Published) -> None:
    for path in published.folder.rglob("*.gz"):
        assert path.read_bytes()[4:8] == bytes(4), "gzip keeps a time there"
