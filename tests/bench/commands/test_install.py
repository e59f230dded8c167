"""What measuring needs is installed once, in the pinned versions, and a torch of the user's own stays."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.commands import install as module
from bench.commands.install import REQUIREMENTS, install
from bench.errors import AtlasError

HERE, NOWHERE = importlib.metadata.version("msgspec"), "999.0"


class Pip:
    """Notes what pip is asked for."""

    def __init__(self, status: int = 0) -> None:
        self.status = status
        self.calls: list[Sequence[str]] = []

    def __call__(self, command: Sequence[str], *, check: bool) -> subprocess.CompletedProcess[str]:
        assert command[:4] == [sys.executable, "-m", "pip", "install"]
        self.calls.append(command)
        return subprocess.CompletedProcess(command, self.status)


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Pip:
    made = Pip()
    monkeypatch.setattr(subprocess, "run", made)
    return made


def requirements(folder: Path, packages: str, torch: str) -> Path:
    hashed = "".join(f"{line} \\\n    --hash=sha256:00\n    # via torch\n" for line in packages.splitlines())
    (folder / "bench.txt").write_text(f"# pinned\n{hashed}")
    (folder / "torch.txt").write_text(torch)
    return folder


def test_nothing_is_asked_of_pip_where_all_is_there(pip: Pip, tmp_path: Path) -> None:
    said: list[str] = []
    install(requirements(tmp_path, f"msgspec=={HERE}", "torch>=2"), said.append)
    assert not pip.calls
    assert said == ["The dependencies for measuring are installed."]


def test_a_missing_or_other_version_is_installed_with_its_hash(pip: Pip, tmp_path: Path) -> None:
    install(requirements(tmp_path, f"msgspec=={NOWHERE}", "torch>=2"), lambda _: None)
    (call,) = pip.calls
    assert call[-3:] == ["--require-hashes", "-r", str(tmp_path / "bench.txt")]


def test_what_another_system_needs_is_not_missed(pip: Pip, tmp_path: Path) -> None:
    lines = f"msgspec=={HERE}\nnowhere-to-be-found==1 ; sys_platform == 'plan9'"
    install(requirements(tmp_path, lines, "torch>=2"), lambda _: None)
    assert not pip.calls


@pytest.mark.parametrize(
    ("present", "is_installed"), [(None, True), ("2.13.0+rocm7.1", False), ("2.9.1+xpu", False), ("2.1.0", True)]
)
def test_a_torch_that_the_project_permits_stays(
    pip: Pip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: str | None, is_installed: bool
) -> None:
    monkeypatch.setattr(module, "version", lambda name: present if name == "torch" else HERE)
    install(requirements(tmp_path, f"msgspec=={HERE}", "torch==2.13.0"), lambda _: None)
    assert [call[-1] for call in pip.calls] == [str(tmp_path / "torch.txt")] * is_installed


def test_the_pins_of_this_project_are_read(pip: Pip) -> None:
    pins = module._pins(REQUIREMENTS / "bench.txt")
    assert any(pin.startswith("transformers==") for pin in pins)
    assert all("==" in pin and "--hash" not in pin and "\\" not in pin for pin in pins)


def test_a_failure_of_pip_has_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", Pip(status=1))
    with pytest.raises(AtlasError, match="pip could not install") as raised:
        install(requirements(tmp_path, f"msgspec=={NOWHERE}", "torch>=2"), lambda _: None)
    assert "PIP_INDEX_URL" in raised.value.remedy
    with pytest.raises(AtlasError, match="cannot be read"):
        install(tmp_path / "nowhere", lambda _: None)
