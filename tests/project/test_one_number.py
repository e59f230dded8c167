"""The section “Follow one number” of README.md is true: the test measures a latency and follows it to an Arabic page.

README.md alone lists the stops. Each of them runs for real, in this process and under a profiler. Only the compiler and
the search for the machine's peaks are replaced, because they take long.
"""

from __future__ import annotations

import re
import statistics
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from unittest.mock import Mock

import msgspec
import pytest
import torch
from conftest import ROOT
from guide_figures import render
from markdown_html import to_html

from bench.measuring import roofline, worker
from bench.plans.messages import Job, Machine, Preflight, Recipe, Request
from bench.plans.plan import make_plan
from bench.plans.profiles import PROFILES, Sampling
from bench.records.record import Peaks, Record
from bench.running import resume, sweep
from bench.running.progress import Reporter
from bench.running.worker_process import WorkerExit, preflight
from generator.data.digits import digits
from generator.data.load import load
from generator.languages.language import load_language

MOST_MODULES = 12

SHORT = Sampling(max_s=0.1, min_s=0.02, warmup_s=0.02, warmup_cap_s=0.1)

PAGE = """---
title: One number
---

# One number {#one-number}

{{ latency_table() }}
"""


class Stop(NamedTuple):
    """One line of the section: a function, or `Class.method`, and the file that defines it."""

    file: str
    function: str


def stops() -> list[Stop]:
    section = re.search(r"(?ms)^## Follow one number\n(.*?)^## ", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert section
    found = re.findall(r"(?m)^\d+\. `([\w/]+\.py)`, `([\w.]+)`", section[1])
    assert len(found) == len(re.findall(r"(?m)^\d+\. ", section[1])), "each stop names a file and a function"
    return [Stop(*each) for each in found]


def test_the_stops_exist_and_are_few() -> None:
    for stop in stops():
        module = import_module(stop.file.removesuffix(".py").replace("/", "."))
        assert attrgetter(stop.function)(module), stop
    files = [stop.file for stop in stops()]
    assert files[0] == "bench/measuring/rounds.py", "it begins where the clock is read"
    assert 8 <= len(set(files)) <= MOST_MODULES


@contextmanager
def returns() -> Iterator[list[tuple[Stop, Any]]]:
    """The stops that return meanwhile, in that order and on any thread, with what they return."""
    seen: list[tuple[Stop, Any]] = []
    watched = {(f"{ROOT}/{stop.file}", stop.function): stop for stop in stops()}

    def note(frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and (stop := watched.get((frame.f_code.co_filename, frame.f_code.co_qualname))):
            seen.append((stop, value))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def in_this_process(request: Request, **_: Any) -> WorkerExit:
    """Measure here, where the profiler can see it. Messages are encoded as between processes."""
    received = msgspec.json.decode(msgspec.json.encode(request), type=Preflight | Job)
    return WorkerExit(1.0, worker._answer(received, lambda _: None))


def measure(folder: Path) -> Record:
    """Measure one process of one cell, as `python -m bench run` does. Returns the record in the file."""
    profile = msgspec.structs.replace(PROFILES["quick"], models=("ViT",), processes=1, sampling=SHORT)
    plan = make_plan(profile, [Recipe(model="ViT", task="image-classification", shrunken=True)], "cpu")
    machine = preflight(in_this_process, "cpu", (), profile)
    assert isinstance(machine, Machine)
    run_file = resume.find_run(plan, machine, folder, is_ordinary=False)
    (record,) = sweep.run(plan, machine, run_file, in_this_process, Mock(Reporter))
    return record


def test_a_number_takes_this_way_into_an_arabic_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(torch, "compile", lambda module, **_: module)
    monkeypatch.setattr(roofline, "peaks", lambda *_: Peaks(matmul_flop_s=1e11, copy_bytes_s=1e10))
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "compiled")
    docs = tmp_path / "docs"
    docs.mkdir()
    (tmp_path / "mkdocs.yml").touch()
    (docs / "index.md").write_text(PAGE, encoding="utf-8")
    arabic = load_language("ar")

    with returns() as seen:
        record = measure(tmp_path / "results")
        results = load(tmp_path / "results")
        (page, *_) = render(arabic, results, docs)
        html = to_html(str(page.content))

    returned = (stop for stop, _ in seen)
    for stop in stops():  # what one returns, the next one takes: they return in the order of README.md
        assert stop in returned, f"{stop.file}, {stop.function}: not called, or not after the stop before it"

    assert record.measurement
    rounds = record.measurement.eager.rounds_ms
    clocked = {tuple(round(call, 6) for call in value) for stop, value in seen if stop == stops()[0]}
    assert set(rounds) <= clocked, "the record holds what the first stop has timed"
    figure = statistics.median(map(statistics.median, rounds))
    shown = arabic.isolate(arabic.number(figure, digits(results.by_label[0], "eager_ms")))
    assert re.search(rf'<td class="number"[^>]*>{re.escape(shown)}', html), (shown, html)
