"""A build that keeps pages of the last one writes, after any edits, byte for byte what a new build writes."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import THOROUGH, in_project, small_project
from test_edition_site import EDITORS, insert

from generator.cache import CACHE

ROUNDS, EDITS = (25, 12) if THOROUGH else (1, 5)
PATIENCE_S = 3.0
"""About what a build takes: it is killed before, or has ended."""

PAGES = (
    "devices/each.md",
    "devices/index.md",
    "models/each.md",
    "models/index.md",
    "models/families/each.md",
    "modes.md",
    "versions.md",
    "when-not.md",
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small guide without the links to pages that it lacks: nothing is kept of a build with warnings."""
    project = small_project(tmp_path / "project", *PAGES, languages=("en", "zh", "ar"))
    for path in (project / "docs").rglob("*.md"):
        path.write_text(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", path.read_text("utf-8")), "utf-8")
    build(project, "site")
    return project


def build(project: Path, site: str) -> None:
    done = in_project(project, "mkdocs", "build", "--strict", "--site-dir", site)
    assert done.returncode == 0, done.stderr


def files_of(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def killed(project: Path, chance: random.Random) -> None:
    """Kill a build with all its processes at any moment, after another edit."""
    chance.choice(EDITORS)(project, chance)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", "site"]
    with subprocess.Popen(
        command,
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        time.sleep(chance.uniform(0, PATIENCE_S))
        os.killpg(process.pid, signal.SIGKILL)


def stylesheet(project: Path, chance: random.Random) -> None:
    path = project / "docs/assets/stylesheets/atlas.css"
    path.write_text(f"{path.read_text('utf-8')}\n.edit-{chance.randrange(100)} {{ color: red }}\n", "utf-8")


def figure(project: Path, chance: random.Random) -> None:
    """Another run of a cell measures something else."""
    for path in sorted((project / "bench/results/measured").glob("run-*.jsonl")):
        path.write_text(path.read_text("utf-8").replace('"process":0', f'"process":{chance.randrange(1, 4)}'), "utf-8")


def glossary(project: Path, _: random.Random) -> None:
    insert(project / "locales/glossary.toml", "# ", "# # ")


def language(project: Path, _: random.Random) -> None:
    """A language comes or goes."""
    settings = project / "mkdocs.yml"
    had = "languages: [en, zh, ar]" in settings.read_text("utf-8")
    insert(settings, *("[en, zh, ar]", "[en, ar]") if had else ("[en, ar]", "[en, zh, ar]"))


def output(project: Path, chance: random.Random) -> None:
    """Somebody edits the site itself, or removes a file of it."""
    path = chance.choice(sorted((project / "site").rglob("*.html")))
    path.unlink() if chance.random() < 0.5 else path.write_text("gone", "utf-8")


def memory(_: Path, chance: random.Random) -> None:
    """What was remembered is damaged, or of a version with other fields."""
    for path in (CACHE / "sites").glob("*.editions"):
        path.write_bytes(chance.choice((b"", b"\x80", path.read_bytes()[:1000])))


EDITS_OF_A_BUILD: tuple[Callable[[Path, random.Random], None], ...] = (
    *(*EDITORS, killed, killed, stylesheet, figure, figure, glossary, language, output, memory),
)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_after_random_edits_and_kills_a_site_is_that_of_a_new_build(seed: int, project: Path) -> None:
    chance = random.Random(seed)
    edits = [killed, *chance.choices(EDITS_OF_A_BUILD, k=EDITS - 1)]
    chance.shuffle(edits)
    for number, edit in enumerate(edits):
        edit(project, chance)
        build(project, "site")
        build(project, f"new-{number}")  # nothing is remembered of it
        kept, new = files_of(project / "site"), files_of(project / f"new-{number}")
        assert kept.keys() == new.keys(), edit
        assert [name for name in new if kept[name] != new[name]] == [], edit
        shutil.rmtree(project / f"new-{number}")


def test_a_new_record_rebuilds_the_pages_that_show_it_and_no_others(project: Path) -> None:
    before = {path: path.stat().st_ino for path in (project / "site").rglob("index.html")}
    published = (project / "bench/results/published/huggingface-2023.jsonl").read_text("utf-8").splitlines()
    line = next(line for line in published if '"model":"ViT"' in line and '"status":"pass"' in line)
    path = project / "bench/results/measured/run-1.jsonl"
    slower = line.replace("huggingface-2023", "run-1").replace(
        '"compiled":{"published_mean_ms":', '"compiled":{"published_mean_ms":1'
    )
    path.write_text(slower + "\n", "utf-8")
    build(project, "site")
    changed = {
        path.relative_to(project / "site").as_posix() for path, inode in before.items() if path.stat().st_ino != inode
    }
    assert "models/vit/index.html" in changed
    assert "ar/models/vit/index.html" in changed
    assert "models/detr/index.html" not in changed
