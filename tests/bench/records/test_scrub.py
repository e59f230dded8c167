"""Messages keep what happened and lose private details."""

from __future__ import annotations

import getpass
import socket

import pytest

from bench.records.scrub import MAX_LENGTH, one_line


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("in /home/ann/venv/lib/python3.11/site-packages/torch/nn/x.py:3", "in torch/nn/x.py:3"),
        ('File "/usr/lib/python3/dist-packages/numpy/y.py"', 'File "numpy/y.py"'),
        ("cannot open /home/ann/models/model.safetensors", "cannot open model.safetensors"),
        (r"in C:\Users\ann\venv\Lib\site-packages\torch\x.py", r"in torch\x.py"),
        ("two\n  lines\tand blanks", "two lines and blanks"),
        ("<object at 0x7f3a2b4c5d6e>", "<object at 0x…>"),
        ("on GPU-3f2504e0-4f89-41d3-9a0c-0305e82c3301 of ip-10-0-1-7", "on <serial> of <host>"),
        ("10.1.2.3 (aa:bb:cc:dd:ee:ff), ask ann@example.org", "<address> (<address>), ask <address>"),
        ("torch 2.13.0, driver 580.95.05, at 12:30:45", None),
        ("1/2 of microsoft/resnet-50 at https://huggingface.co/models/x", None),
    ],
)
def test_messages_are_one_line_without_private_parts(message: str, expected: str | None) -> None:
    assert one_line(message) == (message if expected is None else expected)


def test_names_of_host_and_user_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "annspc")
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    assert one_line("ann on annspc cannot, says annotation") == "<user> on <host> cannot, says annotation"


def test_long_messages_are_cut() -> None:
    assert len(one_line("x" * 1000)) == MAX_LENGTH
