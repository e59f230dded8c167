"""Prepare what `mkdocs gh-deploy` publishes: the site of a commit, at an address that its pages state.

Takes the folder of the project, which git knows. Returns the address of the site, or refuses with a reason. MkDocs does
the rest: it builds, commits to the branch gh-pages, and pushes.

    make publish
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from bench.errors import AtlasError, counted
from bench.records.run_file import SUFFIX, run_of

SITE_URL = "SITE_URL"
"""The variable from which ``mkdocs.yml`` reads the address."""

GITHUB = re.compile(
    r"(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)github\.com[:/](?P<owner>[\w-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)
"""The addresses from which GitHub's repositories are cloned."""

SOURCES = ("docs", "bench/results")
"""Folders of which every file counts, even one that git ignores."""

MOST_NAMED = 10
"""Files that an error names."""

DOMAIN = Path("docs", "CNAME")
"""The file from which GitHub takes a custom domain; in the published site, and so among its sources."""


def address(root: Path, remote: str) -> str:
    """Return the address of the site of the project at `root`. Raises `AtlasError` where nothing names it."""
    if url := os.environ.get(SITE_URL):
        return url
    if (root / DOMAIN).is_file():
        return f"https://{(root / DOMAIN).read_text(encoding='utf-8').strip()}/"
    match = GITHUB.fullmatch(_git(root, "config", "--get", f"remote.{remote}.url"))
    if match is None:
        raise AtlasError(
            "the address of the site is unknown, but its pages need it",
            where=f"git remote {remote}",
            remedy="make publish SITE_URL=https://example.org/atlas/",
        )
    host = f"{match['owner'].lower()}.github.io"
    return f"https://{host}/" if match["name"].lower() == host else f"https://{host}/{match['name']}/"


def refuse_uncommitted(root: Path) -> None:
    """Raise `AtlasError` where files differ from the commit: nobody could build that site again."""
    if not _git(root, "rev-parse", "--verify", "HEAD"):
        raise AtlasError("there is no commit to publish", where=str(root), remedy="git init && git add . && git commit")
    status = ("-c", "core.quotePath=false", "status", "--porcelain", "--untracked-files=all")
    ignored = [line for line in _git(root, *status, "--ignored", "--", *SOURCES).splitlines() if line[:2] == "!!"]
    changes = [line[3:] for line in (*_git(root, *status).splitlines(), *ignored)]
    if changes:
        raise AtlasError(
            f"{counted(len(changes), 'file differs', 'files differ')} from the commit that the published site would "
            f"name: {', '.join(changes[:MOST_NAMED])}{' …' if len(changes) > MOST_NAMED else ''}",
            remedy="commit them, or set them aside: git stash --include-untracked",
        )


def uncommitted_runs(root: Path) -> frozenset[str]:
    """Return the names of the runs that nobody has committed yet: whoever serves the guide here has measured them."""
    try:
        listed = _git(root, "ls-files", "--others", "--exclude-standard", "--", "bench/results/measured")
    except AtlasError:
        return frozenset()
    return frozenset(run_of(Path(path)) for path in listed.splitlines() if SUFFIX in path)


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints, "" where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    except FileNotFoundError:
        raise AtlasError("git is not installed", remedy="install git, which pushes the site to its host") from None
    return done.stdout.strip("\n")
