"""What measuring needs is installed once, in the pinned versions, and a torch of the user's own stays."""

from __future__ import annotations

import importlib.metadata
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.commands import install as module
from bench.commands.install import install

HERE, NOWHERE = importlib.metadata.version("msgspec"), "999.0"
ELSEWHERE = "nowhere-to-be-found==1 ; sys_platform == 'plan9'"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Sequence[str]]:
    """The arguments of each call of pip, which installs nothing."""
    calls: list[Sequence[str]] = []

    def run(command: Sequence[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        calls.append(command[command.index("install") + 2 :])
        return subprocess.CompletedProcess(command, int(NOWHERE in Path(command[-1]).read_text()))

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def requirements(folder: Path, packages: str) -> Path:
    hashed = "".join(f"{line} \\\n    --hash=sha256:00\n    # via torch\n" for line in packages.splitlines())
    (folder / "bench.txt").write_text(f"# pinned\n{hashed}")
    (folder / "torch.txt").write_text("torch==2.13.0")
    return folder


@pytest.mark.parametrize(
    ("torch", "is_installed"), [(None, True), ("2.13.0+rocm7.1", False), ("2.9.1+xpu", False), ("2.1.0", True)]
)
def test_only_what_is_missing_is_installed(
    asked: list[Sequence[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, torch: str | None, is_installed: bool
) -> None:
    monkeypatch.setattr(module, "version", lambda name: torch if name == "torch" else HERE)
    install(requirements(tmp_path, f"msgspec=={HERE}\n{ELSEWHERE}"))
    assert asked == [["-r", str(tmp_path / "torch.txt")]] * is_installed
