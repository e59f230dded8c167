"""What a container may use of its machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import machine


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8.0),
        ({"cpu.max": "150000 100000\n"}, 1.5),
        ({"cpu.max": "max 100000\n"}, 8.0),
        ({"cpu.max": "9900000 100000\n"}, 8.0),
        ({"cpu/cpu.cfs_quota_us": "250000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 2.5),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 8.0),
    ],
)
def test_the_limits_of_a_container_are_read_in_both_versions(
    files: dict[str, str], cores: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(machine, "GROUP", tmp_path)
    monkeypatch.setattr(machine, "cores", lambda: 8)
    assert machine.quota_cores() == cores
