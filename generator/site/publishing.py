"""What is published can be built again: it names its address, comes from a commit, and does not tell when it was built.

In: the folder of the project, which git knows. Out: the address of the site, or the reason why it is not published. A
hook of MkDocs, whose `gh-deploy` does the rest: build, commit to the branch gh-pages, push.

    make publish
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority

from bench.errors import AtlasError

SITE_URL = "SITE_URL"
"""The variable that `mkdocs.yml` reads the address from."""

GITHUB = re.compile(
    r"(?:https://(?:[^@/]+@)?|(?:ssh://)?git@)github\.com[:/](?P<owner>[\w-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?"
)
"""The addresses from which GitHub's repositories are cloned."""

DOMAIN = Path("docs", "CNAME")
"""Where GitHub looks for a domain of one's own, in the published site and so among its sources."""


@dataclass
class _Deployment:
    requested: bool = False


_deployment = _Deployment()
"""Whether this process publishes, until the first configuration has been looked at."""


def on_startup(*, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:  # noqa: ARG001
    """Remember the command, and keep the day of the build out of what is built: MkDocs dates sitemap.xml.gz."""
    _deployment.requested = command == "gh-deploy"
    os.environ["SOURCE_DATE_EPOCH"] = "0"


@event_priority(110)  # type: ignore[untyped-decorator]  # before the address is used
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Before anything is built for publishing: is it committed, and where will it be?"""
    if _deployment.requested:
        _deployment.requested = False  # the other languages have configurations of their own, made from this one
        root = Path(config.config_file_path).parent
        try:
            refuse_uncommitted(root)
            config.site_url = os.environ.get(SITE_URL) or address(root, config.remote_name)
        except AtlasError as error:
            raise PluginError(str(error)) from None
    return config


def pages_address(remote: str) -> str | None:
    """Where GitHub Pages shows what is pushed to `remote`; None where that is not GitHub."""
    match = GITHUB.fullmatch(remote)
    if match is None:
        return None
    host = f"{match['owner'].lower()}.github.io"
    return f"https://{host}/" if match["name"].lower() == host else f"https://{host}/{match['name']}/"


def address(root: Path, remote: str) -> str:
    """Where the site of the project at `root` will be. Raises `AtlasError` where nothing says it."""
    if (root / DOMAIN).is_file():
        return f"https://{(root / DOMAIN).read_text(encoding='utf-8').strip()}/"
    found = pages_address(_git(root, "config", "--get", f"remote.{remote}.url"))
    if found is None:
        raise AtlasError(
            "nothing says at which address the site will be, and its pages name it",
            where=f"git remote {remote}",
            remedy="make publish SITE_URL=https://example.org/atlas/",
        )
    return found


def refuse_uncommitted(root: Path) -> None:
    """Raise `AtlasError` where the site would show what no commit has: nobody could build it again."""
    changes = _git(root, "status", "--porcelain").splitlines()
    if changes:
        raise AtlasError(
            f"{len(changes)} files differ from the commit that the published site would name",
            where=changes[0][3:],
            remedy="commit them, or set them aside with git stash",
        )


def _git(root: Path, *arguments: str) -> str:
    """What git prints, "" where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    except FileNotFoundError:
        raise AtlasError("there is no git", remedy="install git, which brings the site to its host") from None
    return done.stdout.strip("\n")
