"""The display of a sweep: on a terminal a bar with model, phase and time left, elsewhere plain lines."""

from __future__ import annotations

import io
import re

import msgspec
from rich.console import Console
from stub_worker import measurement
from test_sweep import plan, record

from bench.plans.messages import Phase
from bench.plans.plan import pending
from bench.plans.profiles import PRECISIONS
from bench.records.record import Status
from bench.running.progress import Reporter, outcome, results_table


def told(*, is_terminal: bool) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, color_system=None, width=120)
    made = plan("ViT", "BeiT")
    step = pending(made, [])[0]
    with Reporter(console) as reporter:
        reporter.begin(step, done=3, left=5, left_s=600.0)
        reporter.phase(Phase(name="measuring"))
        reporter.end(record(made.planned[0]), 12.0)
    return out.getvalue()


def test_a_terminal_shows_the_model_its_phase_what_is_done_and_the_time_left() -> None:
    text = told(is_terminal=True)
    for part in ("[4/8] ViT, process 1", "about 10 min left", "measuring", "(12 s)"):
        assert part in text


def test_cells_in_another_precision_say_so() -> None:
    (planned,) = plan("ViT").planned
    made = {
        name: msgspec.structs.replace(planned, cell=msgspec.structs.replace(planned.cell, **PRECISIONS[name]))
        for name in ("float32", "TF32", "autocast-bfloat16")
    }
    assert [each.cell.title for each in made.values()] == ["ViT", "ViT, TF32", "ViT, autocast bfloat16"]
    rows = results_table([record(each) for each in made.values()]).splitlines()[1:]
    assert [re.split(r" {2,}", row)[0] for row in rows] == ["ViT", "ViT, TF32", "ViT, autocast bfloat16"]


def test_a_cell_that_was_not_compiled_shows_its_eager_latency() -> None:
    (planned,) = plan("ViT").planned
    skipped = record(planned, status=Status.SKIPPED, found=measurement(compiled=False))
    assert re.fullmatch(r"eager [\d.]+ ms; skipped: so it was", outcome(skipped))
    row = results_table([skipped]).splitlines()[1]
    assert re.fullmatch(r"ViT +[\d.]+( +–){3} +5.0( +–){2} +skipped", row)


def test_elsewhere_there_are_lines_without_controls() -> None:
    lines = told(is_terminal=False).splitlines()
    assert lines[0] == "[4/8] ViT, process 1 … about 10 min left"
    assert lines[1].endswith("(12 s)")
    assert len(lines) == 2
    assert "\x1b" not in "".join(lines)
