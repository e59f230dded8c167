"""A build shows its progress in a real terminal. (That it does so nowhere else: test_plugin.py.)"""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import small_project

NOT_THERE = "[a page](nowhere.md) that is not there"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = small_project(tmp_path_factory.mktemp("progress") / "project", languages=("en",))
    with (folder / "docs" / "index.md").open("a", encoding="utf-8") as page:
        page.write(f"\n{NOT_THERE}\n")
    return folder


def in_terminal(project: Path) -> str:
    """Return what a terminal shows of a build."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mkdocs", "build"]
    environment = {**os.environ, "PYTHONPATH": str(project), "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, cwd=project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # Linux: nobody writes any more
            part = b""
        if not part:
            break
        seen += part
    assert process.wait() == 0
    os.close(ours)
    return seen.decode()


def test_a_bar_in_a_terminal_with_warnings_in_lines_of_their_own(project: Path) -> None:
    seen = in_terminal(project)
    assert "building the guide" in seen
    assert "100%" in seen
    warnings = [line for line in seen.replace("\r", "\n").splitlines() if "nowhere.md" in line]
    assert warnings
    assert not any("building the guide" in line for line in warnings)
    assert seen.rstrip().endswith("\x1b[?25h") or "\x1b[?25h" in seen, "the cursor is back"
