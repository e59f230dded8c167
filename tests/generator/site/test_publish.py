"""Publishing a small guide to the branch gh-pages of its remote, by the command behind `make publish`."""

from __future__ import annotations

import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import ROOT, in_project, small_project

from generator.site.publishing import uncommitted_runs

WHO = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> str:
    command, who = ["git", *arguments], {**os.environ, **WHO}
    return subprocess.run(command, cwd=folder, env=who, check=True, capture_output=True, text=True).stdout


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
    pages = ("explorer.md", "data.md", "methodology.md", "contribute.md", "devices/each.md", "models/each.md")
    project = small_project(base / "project", *pages, languages=("en", "ar"))
    for page, anchor in {"data": "download", "methodology": "published", "contribute": "measure"}.items():
        (project / "docs" / f"{page}.md").write_text(f"# The page {{#{anchor}}}\n", encoding="utf-8")
    (project / "docs" / "CNAME").write_text("atlas.example.org\n")
    repository(project, str(base / "remote.git"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        home = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    done = in_project(project, "mkdocs", "gh-deploy", "--strict", SITE_URL=home, **WHO)
    assert done.returncode == 0, done.stdout + done.stderr
    git(base, "clone", "-q", "-b", "gh-pages", "remote.git", "site")
    return Published(project, base / "remote.git", base / "site", home)


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


def test_runs_that_nobody_committed_are_those_of_the_reader(published: Published, tmp_path: Path) -> None:
    assert uncommitted_runs(published.project) == frozenset()
    mine = published.project / "bench/results/measured/mine.jsonl"
    mine.parent.mkdir(exist_ok=True)
    mine.touch()
    assert uncommitted_runs(published.project) == {"mine"}
    mine.unlink()
    assert uncommitted_runs(tmp_path) == frozenset(), "no repository"
