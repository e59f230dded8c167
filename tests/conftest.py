"""What several tests share: the site, built once as its users build it, copies of the project, and a browser."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from browser.chromium import HOW_TO_GET_ONE, executable, launched
from browser.hosting import hosted
from hypothesis import settings
from playwright.sync_api import Browser

from bench.records import record
from bench.records.run_file import COMPRESSED
from generator.languages.language import SOURCE, published_languages

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
PREFIX = "/atlas/"
"""The built site is hosted below a path, as on GitHub Pages: a link that only works at a root fails."""


def committed(results: Path) -> Path:
    """Return the folder of results; if this machine has measured since the last commit, a copy without that."""
    done = subprocess.run(
        ["git", "ls-files", "--others", results], cwd=ROOT, capture_output=True, text=True, check=False
    )
    new = {Path(line).name for line in done.stdout.splitlines()}
    if not new:
        return results
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return shutil.copytree(results, folder / "results", ignore=lambda _, names: new & {*names})


record.RESULTS = committed(record.RESULTS)  # before any test imports it

LANGUAGES = published_languages()

PREFIXES = {code: "" if code == SOURCE else f"{code}/" for code in LANGUAGES}
"""Below the root of the site: the folder of each language."""

THOROUGH = bool(os.environ.get("ATLAS_THOROUGH"))
"""For the weekly run: more random examples, every page in every language. By day, less of the same."""

weekly = pytest.mark.skipif(not THOROUGH, reason="other tests cover most of it by day: ATLAS_THOROUGH=1")

FOLDER, ADDRESS = "ATLAS_TESTS_FOLDER", "ATLAS_TESTS_ADDRESS"
"""Variables by which all processes of one run of the tests know where the built site lies, and where it is hosted."""

KEPT = ROOT / ".cache" / "tests"
"""Where the site stays from one run of the tests to the next: a build that would give the same ends at once."""

PORT = 20_000 + zlib.crc32(str(ROOT).encode()) % 10_000
"""Always the same for one checkout: the address is part of the site."""

LONG = (
    "bench/measuring/test_worker.py",
    "browser/test_accessibility.py",
    "bench/running/test_selfcheck.py",
    "browser/test_search.py",
    "bench/running/test_sweep.py",
    "generator/site/test_preview.py",
    "generator/site/test_on_demand.py",
    "project/test_snippets.py",
    "browser/test_serving.py",
    "generator/site/test_plugin.py",
    "bench/plans/test_models.py",
    "browser/test_kinds.py",
    "generator/site/test_publish.py",
    "bench/running/test_worker_process.py",
    "bench/commands/test_command_line.py",
    "generator/test_generator_cli.py",
    "generator/commands/test_new_language.py",
    "generator/site/test_stage.py",
)
"""The longest files, which start first. Otherwise one process still runs them when the others have finished.
The first two start together: only the second needs the site, whose build takes a while."""

settings.register_profile("day", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("weekly", deadline=None, max_examples=1000)
settings.load_profile("weekly" if THOROUGH else "day")


def pytest_configure(config: pytest.Config) -> None:
    """The process that starts the others hosts the site for all, even before it is built: a build has to know where."""
    # A process keeps to the vector instructions that it found first, and some tests switch them off. torch does not ask
    # whether code in its cache uses them: what another process left there would not compile.
    cache = tempfile.TemporaryDirectory(prefix="atlas-inductor-")
    config.add_cleanup(cache.cleanup)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache.name
    if hasattr(config, "workerinput"):
        os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes with as many threads as cores keep each other waiting
        return
    # Dozens of processes load the same modules: they are compiled once, also where Python is told to keep nothing.
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    stack = contextlib.ExitStack()
    config.add_cleanup(stack.close)
    try:
        address = stack.enter_context(hosted(KEPT / "site", PORT, PREFIX))
        KEPT.mkdir(parents=True, exist_ok=True)
        folder = str(KEPT)
    except OSError:  # another run of the tests is at it
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="atlas-tests-"))
        address = stack.enter_context(hosted(Path(folder, "site"), prefix=PREFIX))
    os.environ[FOLDER], os.environ[ADDRESS] = folder, address


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep the garbage collector off what modules create at import.

    This saves 1.6 of 7.5 s of CPU time in each process while it imports torch and pandas, and 4% of the time after.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        atexit.register(gc.unfreeze)  # DuckDB reports what is left at the very end as leaked
        gc.set_threshold(50_000)
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run long files first, then the other files that wait for a browser, then the many short ones."""

    def rank(item: pytest.Item) -> tuple[int, bool]:
        name = item.path.relative_to(TESTS).as_posix()
        return LONG.index(name) if name in LONG else len(LONG), "browser/" not in name

    items.sort(key=rank)


@dataclass(frozen=True)
class BuiltSite:
    """The result of `mkdocs build --strict`, for the address at which it is hosted."""

    folder: Path
    address: str

    def pages(self, prefix: str = "") -> dict[str, Path]:
        """Address below the language's root → file, of every page of one language (404 pages are none)."""
        root = self.folder / prefix
        other = {"zh", "ja", "ar"} if not prefix else set()
        files = (path for path in root.rglob("index.html") if path.relative_to(root).parts[0] not in other)
        return {path.relative_to(root).as_posix().removesuffix("index.html"): path for path in sorted(files)}


@pytest.fixture(scope="session")
def site() -> BuiltSite:
    """The real site, built once in a run of the tests, whichever process asks first. Nobody writes to it."""
    folder, address = Path(os.environ[FOLDER], "site"), os.environ[ADDRESS]
    with folder.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.seek(0)
        run = f"{address} {os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
        if lock.read() != run:
            project = ROOT
            if not record.RESULTS.is_relative_to(ROOT):
                project = copy_of_project(Path(tempfile.mkdtemp(dir=record.RESULTS.parent)), left_out="")
            done = in_project(project, "mkdocs", "build", "--strict", "--site-dir", str(folder), SITE_URL=address)
            assert done.returncode == 0, done.stdout + done.stderr
            lock.truncate(0)
            lock.write(run)
    return BuiltSite(folder, address)


@pytest.fixture(scope="session")
def hosted_site(site: BuiltSite) -> str:
    """The address of the built site."""
    return site.address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium. Without one, tests in the browser are skipped, except in continuous integration."""
    if executable() is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(HOW_TO_GET_ONE)
    with launched() as browser:
        yield browser


# ── Copies of the project, for tests that change it ─────────────────────────────────────────────────────────────────


def copy_of_project(folder: Path, left_out: str = f"*{COMPRESSED}") -> Path:
    """What a build reads, in a folder of its own. Charts drawn before are shared: drawing takes long.

    Large imports stay behind, because a build of all records takes ten times as long: the fixture `site` has them.
    """
    for name in ("bench", "docs", "generator", "locales"):
        results = shutil.ignore_patterns("results")
        shutil.copytree(ROOT / name, folder / name, ignore=results)  # with what Python has compiled
    shutil.copytree(record.RESULTS, folder / "bench" / "results", ignore=shutil.ignore_patterns(left_out))
    for name in ("mkdocs.yml", "babel.cfg"):
        shutil.copy(ROOT / name, folder)
    (ROOT / ".cache").mkdir(exist_ok=True)
    (folder / ".cache").symlink_to(ROOT / ".cache")
    return folder


def keep_few_records(project: Path) -> None:
    """Those of two models on an A100."""
    for path in (project / "bench" / "results").rglob("*.jsonl"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if "A100" in line and re.search(r'"model":"(?:ViT|DETR)"', line)]
        path.write_text("".join(kept), encoding="utf-8")
        if not kept:
            path.unlink()


SMALL_PAGE = """---
title: A small guide
description: A page.
---

# Small {#small}

A paragraph that nobody translated.

{{ environment_table() }}
"""


def small_project(folder: Path, *pages: str, languages: Sequence[str] = LANGUAGES) -> Path:
    """A copy that builds in a moment: few records, `SMALL_PAGE` for a home page, and these of the authored pages.

    Pages of a folder appear in the navigation as that folder. Each of the `languages` takes as long as the first.
    """
    project = copy_of_project(folder)
    keep_few_records(project)
    for path in (project / "docs").rglob("*.md"):
        if path.relative_to(project / "docs").as_posix() not in pages:
            path.unlink()
    (project / "docs" / "index.md").write_text(SMALL_PAGE, encoding="utf-8")
    entries = dict.fromkeys(f"{page.split('/')[0]}/" if "/" in page else page for page in ("index.md", *pages))
    settings = project / "mkdocs.yml"
    nav = "nav:\n" + "".join(f"  - {entry}\n" for entry in entries)
    text = re.sub(r"(?s)\nnav:\n.*?\n(?=\n\w)", f"\n{nav}", settings.read_text(encoding="utf-8"))
    settings.write_text(text, encoding="utf-8")
    (project / "locales" / "languages.toml").write_text(f"languages = {json.dumps(languages)}\n")
    return project


def in_project(project: Path, module: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """``python -m MODULE ARGUMENTS`` in the project and with its code."""
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), **variables},
        capture_output=True,
        text=True,
        check=False,
    )
