"""Publishing a repository to the branch gh-pages of its remote, and the same bytes from every build of it.

A small guide is published by the command behind `make publish`, and built again elsewhere under other circumstances.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser.hosting import hosted
from browser.visit import visit
from conftest import ROOT, in_project, small_project, weekly
from playwright.sync_api import Browser

from bench.errors import AtlasError
from generator.site.publishing import address, is_published, pages_address, refuse_uncommitted, uncommitted_runs


def guide(folder: Path) -> Path:
    return small_project(folder, "explorer.md", "devices/each.md", "models/each.md", languages=("en", "ar"))


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    return subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


def repository(project: Path, remote: str) -> Path:
    patterns = (ROOT / ".gitignore").read_text(encoding="utf-8")
    (project / ".gitignore").write_text(patterns.replace(".cache/", ".cache"))  # a link here
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


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Published:
    """The small guide on the branch gh-pages of a bare repository, checked out again."""
    base = tmp_path_factory.mktemp("publish")
    git(base, "init", "-q", "--bare", "-b", "main", "remote.git")
    project = guide(base / "project")
    (project / "docs" / "CNAME").write_text("atlas.example.org\n")
    repository(project, str(base / "remote.git"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        home = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    done = in_project(project, "mkdocs", "gh-deploy", "--strict", SITE_URL=home, **WHO)
    assert done.returncode == 0, done.stdout + done.stderr
    git(base, "clone", "-q", "-b", "gh-pages", "remote.git", "site")
    return Published(project, base / "remote.git", base / "site", home)


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
    assert [name for name in names if name.endswith("CNAME")] == ["CNAME"]
    assert git(published.remote, "branch", "--format=%(refname:short)").split() == ["gh-pages"]


@pytest.mark.browser
def test_everything_works_at_a_root(published: Published, browser: Browser) -> None:
    port = int(published.address.rstrip("/").rpartition(":")[2])
    page = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    with hosted(published.folder, port) as home:
        assert home == published.address
        visit(page, home, "ViT")
    page.close()


def test_what_is_not_committed_is_not_published(published: Published) -> None:
    before = git(published.remote, "rev-parse", "gh-pages")
    (published.project / "docs" / "draft.md").write_text("# A draft {#draft}\n")
    done = in_project(published.project, "mkdocs", "gh-deploy", "--strict", SITE_URL=published.address)
    (published.project / "docs" / "draft.md").unlink()
    assert done.returncode != 0
    assert "docs/draft.md" in done.stderr
    assert "remedy: commit" in done.stderr
    assert "Traceback" not in done.stderr
    assert git(published.remote, "rev-parse", "gh-pages") == before


def test_every_file_that_differs_is_named_even_one_that_git_ignores(published: Published) -> None:
    changed, ignored = published.project / "docs/explorer.md", published.project / "docs/draft.mo"
    text = changed.read_text(encoding="utf-8")
    changed.write_text(f"{text}\n", encoding="utf-8")
    ignored.touch()
    with pytest.raises(AtlasError, match=r"2 files differ .*: docs/explorer\.md, docs/draft\.mo") as error:
        refuse_uncommitted(published.project)
    changed.write_text(text, encoding="utf-8")
    ignored.unlink()
    assert "commit them" in error.value.remedy
    refuse_uncommitted(published.project)


def test_what_is_published_already_is_not_published_again(published: Published) -> None:
    before = git(published.remote, "rev-parse", "gh-pages")
    done = in_project(published.project, "mkdocs", "gh-deploy", "--strict", SITE_URL=published.address, **WHO)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"Already published: {published.address} has this exact site" in done.stderr
    assert git(published.remote, "rev-parse", "gh-pages") == before


def test_any_difference_is_published(published: Published, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(published.folder, site, ignore=shutil.ignore_patterns(".git"))
    target = (published.project, "origin", "gh-pages")
    assert is_published(site, *target)
    (site / "index.html").write_text("changed", encoding="utf-8")
    assert not is_published(site, *target)
    shutil.copy(published.folder / "index.html", site / "index.html")
    (site / "404.html").unlink()
    assert not is_published(site, *target)
    assert not is_published(published.folder, published.project, "origin", "other-branch")


def test_runs_that_nobody_committed_are_those_of_the_reader(published: Published, tmp_path: Path) -> None:
    assert uncommitted_runs(published.project) == frozenset()
    mine = published.project / "bench/results/measured/mine.jsonl"
    mine.parent.mkdir(exist_ok=True)
    mine.touch()
    assert uncommitted_runs(published.project) == {"mine"}
    mine.unlink()
    assert uncommitted_runs(tmp_path) == frozenset(), "no repository"


def test_without_an_address_nothing_is_published(published: Published) -> None:
    git(published.project, "rm", "-q", "docs/CNAME")
    git(published.project, "commit", "-q", "-m", "No domain")
    done = in_project(published.project, "mkdocs", "gh-deploy", "--strict", SITE_URL="")
    git(published.project, "reset", "-q", "--hard", "HEAD^")
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


def test_a_domain_of_ones_own_goes_before_the_remote(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "CNAME").write_text("atlas.example.org\n")
    assert address(tmp_path, "origin") == "https://atlas.example.org/"


# ── Byte by byte ────────────────────────────────────────────────────────────────────────────────────────────────────


LATER = """
import time

real, shift = (time.time, time.time_ns, time.localtime, time.gmtime), 5 * 365 * 86_400
time.time = lambda: real[0]() + shift
time.time_ns = lambda: real[1]() + shift * 10**9
time.localtime = lambda seconds=None: real[2](time.time() if seconds is None else seconds)
time.gmtime = lambda seconds=None: real[3](time.time() if seconds is None else seconds)
"""
"""Python runs it first: this module then reports a time five years later."""

CIRCUMSTANCES = {
    "PYTHONHASHSEED": "4711",
    "TZ": "Asia/Kathmandu",
    "LC_ALL": "C",
    "LANG": "ar_EG",
    "LANGUAGE": "ar",
    "PYTHONCOERCECLOCALE": "0",
    "SOURCE_DATE_EPOCH": "1234567890",
    "COLUMNS": "40",
}


def elsewhere(published: Published, folder: Path) -> Path:
    """The same guide in another folder, with other file times and an empty cache."""
    project = guide(folder / "another folder, ünd longer")
    shutil.copy(published.project / "docs" / "CNAME", project / "docs")
    (project / ".cache").unlink()
    (project / "sitecustomize.py").write_text(LATER)
    for path in project.rglob("*"):
        if path.suffix not in (".pyc", ".py"):  # Python would compile these again
            os.utime(path, (1e9, 1e9))
    return project


@contextlib.contextmanager
def under_other_circumstances() -> Iterator[None]:
    """One core, and files that no other user may read."""
    cores, umask = os.sched_getaffinity(0), os.umask(0o077)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        os.umask(umask)


@weekly
def test_who_builds_it_again_elsewhere_gets_the_same_bytes(published: Published, tmp_path: Path) -> None:
    """Another folder, user, year, place, language, order of hashes and number of cores, and after a build that was
    killed on its way; charts and fonts are made again."""
    project = elsewhere(published, tmp_path)
    variables = {**CIRCUMSTANCES, "HOME": str(tmp_path), "SITE_URL": published.address}
    with under_other_circumstances():
        command = [sys.executable, "-m", "mkdocs", "build"]
        environment = {**os.environ, "PYTHONPATH": str(project), **variables}
        with subprocess.Popen(command, cwd=project, env=environment, stderr=subprocess.DEVNULL) as killed:
            while killed.poll() is None and not (project / "site" / "index.html").exists():
                time.sleep(0.02)
            killed.kill()
        done = in_project(project, "mkdocs", "build", "--strict", **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    here, there = files(published.folder), files(project / "site")
    del here[".nojekyll"]  # for the host, by gh-deploy
    assert here.keys() == there.keys()
    assert [name for name in here if here[name] != there[name]] == []


def test_nothing_tells_when_it_was_built(published: Published) -> None:
    for path in published.folder.rglob("*.gz"):
        assert path.read_bytes()[4:8] == bytes(4), "gzip keeps a time there"
