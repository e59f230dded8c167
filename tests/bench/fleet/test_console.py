"""The display of a fleet: each process with its node, what every node measures, and what each has done."""

from __future__ import annotations

import re
from io import StringIO

import pytest
from rich.console import Console
from test_dispatch import MACHINE, A, B, site_of
from test_sweep import plan

from bench.fleet.console import ConsoleReporter
from bench.fleet.dispatch import Dispatcher
from bench.fleet.simulation import PASSED, SimulatedEngine
from bench.running.executors import WorkerExit


def said(*, is_terminal: bool) -> tuple[str, list[str]]:
    """Return the output while two nodes measure two models, with one crash, and the lines per node."""
    crashes = iter([WorkerExit(seconds=1.0, returncode=-11)])
    console = Console(file=StringIO(), force_terminal=is_terminal, width=120, color_system=None, highlight=False)
    site = site_of(plan("ViT", "BeiT", processes=2), A, B)
    engine = SimulatedEngine(
        dict.fromkeys([A, B], MACHINE), lambda _: 5.0, lambda *_: next(crashes, WorkerExit(seconds=5.0, answer=PASSED))
    )
    with ConsoleReporter(console, [site]) as reporter:
        Dispatcher([site], engine, reporter, lambda *_: None).run()
    return console.file.getvalue(), reporter.by_node()  # type: ignore[attr-defined]


def test_each_process_is_a_line_with_its_node() -> None:
    text, by_node = said(is_terminal=False)
    lines = text.splitlines()
    assert lines[0] == "node-a: the process was ended by SIGSEGV; ViT is measured again"
    for number, line in enumerate(lines[1:], start=1):
        assert re.match(rf"\[{number}/4\] node-b \(CPU\): (ViT|BeiT)\b.*, process [12]: .*\(5 s\)$", line), line
    assert len(lines) == 5
    assert by_node == ["node-b: 4 processes, 20 s"], "what failed on the other is measured elsewhere"


@pytest.mark.parametrize("words", ["2 nodes measure", "node-a (CPU): ViT", "node-b (CPU): BeiT", "4/4", "left"])
def test_a_terminal_shows_what_every_node_is_at(words: str) -> None:
    assert words in said(is_terminal=True)[0]
