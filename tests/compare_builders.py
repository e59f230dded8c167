"""How fast the guide builds and shows a change, beside two other builders of the same pages. Run it by hand.

The others are Material with static-i18n, and Zensical with a project for each language. They get finished pages from
`python -m generator stage`, which is timed only where a new record changes them. Install them in an environment of
their own:

    python -m venv peers
    peers/bin/pip install mkdocs==1.6.1 mkdocs-material==9.8.1 jieba==0.42.1 mkdocs-static-i18n==1.3.1 zensical==0.0.73
    python -m tests.compare_builders --peers peers/bin

It prints the median of each time, and its ratio to that of this project. Nothing else should run meanwhile.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import os
import random
import shutil
import signal
import socket
import statistics
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from subprocess import DEVNULL, Popen, run

import msgspec
import yaml

from bench.records.record import Measurement, Samples, Status
from bench.records.run_file import encode, read, run_files
from generator.languages.language import SOURCE, name_of, published_languages

ROOT = Path(__file__).resolve().parents[1]
LEFT_OUT = shutil.ignore_patterns(".*", "staged", "tests", "site")
ACTIONS = "cold build", "first answer of the server", "text edit", "new record"
MODEL = "ViT"
LIMIT_S, REST_S = 600, 10  # it rests before a change: a server has more to do after its first answer


@dataclass(frozen=True)
class Builder:
    """A builder that runs in `folder`. `pages` holds the finished pages of each language, None for this project."""

    name: str
    project: Path
    folder: Path
    pages: Path | None
    builds: Sequence[Sequence[str]]
    serves: Sequence[Sequence[str]]


def ours(project: Path) -> Builder:
    """Return this project, as `make site` and `make serve` run it."""
    mkdocs = [*python(project), "mkdocs"]
    return Builder("Compile Atlas", project, project, None, [[*mkdocs, "build", "--strict"]], [[*mkdocs, "serve"]])


def static_i18n(project: Path, folder: Path, programs: Path) -> Builder:
    """Return Material with the plugin static-i18n, which builds all languages at once."""
    languages = []
    for code in published_languages():
        shutil.copytree(project / "staged" / code, folder / "docs" / code)
        settings = yaml.safe_load((project / "staged" / f"{code}.yml").read_text(encoding="utf-8"))
        own = {name: settings[name] for name in ("site_name", "site_description", "nav")}
        languages.append({"locale": code, "name": name_of(code), "default": code == SOURCE, "build": True, **own})
    settings = yaml.safe_load((project / "staged" / f"{SOURCE}.yml").read_text(encoding="utf-8"))
    plugins = ["search", {"i18n": {"docs_structure": "folder", "languages": languages}}]
    theme = {name: value for name, value in settings["theme"].items() if name not in {"custom_dir", "variant"}}
    settings |= {"docs_dir": "docs", "site_dir": "site", "extra": {}, "theme": theme, "plugins": plugins}
    (folder / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    mkdocs = str(programs / "mkdocs")
    return Builder("static-i18n", project, folder, folder / "docs", [[mkdocs, "build"]], [[mkdocs, "serve"]])


def zensical(project: Path, folder: Path, programs: Path) -> Builder:
    """Return Zensical, with a build and a server for each language."""
    shutil.copytree(project / "staged", folder)
    program, configs = str(programs / "zensical"), [f"--config-file={code}.yml" for code in published_languages()]
    builds, serves = ([[program, action, config] for config in configs] for action in ("build", "serve"))
    return Builder("Zensical", project, folder, folder, builds, serves)


def python(project: Path) -> list[str]:
    """Return the beginning of a command that runs a module with this copy of the project."""
    return ["env", f"PYTHONPATH={project}", sys.executable, "-m"]


def stage(project: Path) -> None:
    """Make the finished pages of each language anew."""
    run([*python(project), "generator", "stage", "--out", "staged"], cwd=project, capture_output=True, check=True)


def add_record(builder: Builder, digits: str) -> None:
    """Add a newer run of a cell whose eager latency begins with the digits, and replace the pages that it changes."""
    results = builder.project / "bench" / "results" / "measured"
    records = (record for path in run_files(results) for record in read(path))
    old = next(record for record in records if record.cell.model == MODEL and record.status is Status.PASS)
    eager_ms = float(f"{digits}5")  # one digit more, since a mean of logarithms may change the last one
    eager, compiled = (Samples(rounds_ms=((ms,),) * 30) for ms in (eager_ms, eager_ms / 2))
    now, made = datetime.now(UTC).replace(microsecond=0), Measurement(eager=eager, compiled=compiled)
    new = msgspec.structs.replace(old, run=f"again-{digits}", process=0, measured_at=now, measurement=made)
    (results / f"{new.run}.jsonl").write_bytes(encode(new))
    if builder.pages:
        stage(builder.project)
        staged = builder.project / "staged"
        for source in (file for code in published_languages() for file in (staged / code).rglob("*") if file.is_file()):
            target = builder.pages / source.relative_to(staged)
            if not (target.exists() and filecmp.cmp(source, target, shallow=False)):
                shutil.copy(source, target)


def times_of(builder: Builder) -> Iterator[float]:
    """Yield the seconds of each of the `ACTIONS`."""
    for name in ("site", ".cache"):
        shutil.rmtree(builder.folder / name, ignore_errors=True)
    start = time.perf_counter()
    for command in builder.builds:
        run(command, cwd=builder.folder, capture_output=True, check=True)
    yield time.perf_counter() - start
    with served(builder) as (address, first_s):
        yield first_s
        page = (builder.pages / SOURCE if builder.pages else builder.folder / "docs") / "methodology.md"
        text = page.read_text(encoding="utf-8")
        yield seconds_until(f"{address}methodology/", lambda digits: page.write_text(f"{text}\n{digits}\n", "utf-8"))
        yield seconds_until(f"{address}models/{MODEL.lower()}/", lambda digits: add_record(builder, digits))


@contextlib.contextmanager
def served(builder: Builder) -> Iterator[tuple[str, float]]:
    """Start the servers. Give the address of the first, and the seconds until it answered."""
    answers: list[tuple[str, float]] = []
    with contextlib.ExitStack() as stack:
        for serve in builder.serves:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                place = f"127.0.0.1:{free.getsockname()[1]}"
            start = time.perf_counter()
            command, quiet = [*serve, f"--dev-addr={place}"], DEVNULL
            server = Popen(command, cwd=builder.folder, stdout=quiet, stderr=quiet, start_new_session=True)
            stack.callback(server.wait)
            stack.callback(os.killpg, server.pid, signal.SIGKILL)
            if not answers:
                wait_for(f"http://{place}/", "")
            answers.append((f"http://{place}/", time.perf_counter() - start))
        yield answers[0]


def seconds_until(address: str, change: Callable[[str], object]) -> float:
    """Make a change after a rest, and return the seconds until the page shows its digits."""
    time.sleep(REST_S + random.random())
    digits, start = f"{random.uniform(100, 1000):.5f}", time.perf_counter()
    change(digits)
    wait_for(address, digits)
    return time.perf_counter() - start


def wait_for(address: str, digits: str) -> None:
    """Ask for a page until it has the digits."""
    until = time.monotonic() + LIMIT_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=LIMIT_S) as answer:
            if digits in answer.read().decode():
                return
        time.sleep(0.02)
    raise TimeoutError(f"{address} does not show {digits or 'anything'}")


def main() -> None:
    """Time everything and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", type=Path, help="the folder with the programs of the others; without, only ours")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="compare-builders-") as folder:
        builders = [ours(Path(shutil.copytree(ROOT, Path(folder, "ours"), ignore=LEFT_OUT)))]
        if options.peers:
            project = Path(shutil.copytree(ROOT, Path(folder, "source"), ignore=LEFT_OUT))
            stage(project)
            builders.append(static_i18n(project, Path(folder, "static-i18n"), options.peers.absolute()))
            builders.append(zensical(project, Path(folder, "zensical"), options.peers.absolute()))
        times: dict[str, list[list[float]]] = {builder.name: [] for builder in builders}
        for _ in range(options.repeats):
            for builder in random.sample(builders, len(builders)):
                times[builder.name].append(list(times_of(builder)))
                print(builder.name, times[builder.name][-1], file=sys.stderr, flush=True)
    print(f"{'':26}" + "".join(f"{builder.name:>24}" for builder in builders))
    for position, action in enumerate(ACTIONS):
        medians = [statistics.median(each[position] for each in times[builder.name]) for builder in builders]
        print(f"{action:26}" + "".join(f"{f'{median:.2f} s  {median / medians[0]:5.2f}×':>24}" for median in medians))


if __name__ == "__main__":
    main()
