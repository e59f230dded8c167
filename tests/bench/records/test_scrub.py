"""Messages keep what happened and lose private details."""

from __future__ import annotations

import getpass
import socket

import pytest

from bench.records.scrub import MAX_LENGTH, one_line, private


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("in /home/ann/venv/lib/python3.11/site-packages/torch/nn/x.py:3", "in torch/nn/x.py:3"),
        ('File "/usr/lib/python3/dist-packages/numpy/y.py"', 'File "numpy/y.py"'),
        ("[Errno 13] Permission denied: '/home/ann/my models/a.json'", "[Errno 13] Permission denied: 'a.json'"),
        ("cannot open /home/ann/models/model.safetensors", "cannot open model.safetensors"),
        (r"in C:\Users\ann\venv\Lib\site-packages\torch\x.py", r"in torch\x.py"),
        (r"in C:\Users\ann\models", "in <path>"),
        ("no ~/models and ../ann/x", "no <path> and <path>"),
        ("g++ -I/home/ann/include --out=/scratch/ann", "g++ -I<path> --out=<path>"),
        ("LD_PRELOAD /opt/ann/libjemalloc.so.2:/home/ann/x", "LD_PRELOAD libjemalloc.so.2:<path>"),
        ("on GPU-3f2504e0-4f89-41d3-9a0c-0305e82c3301 of ip-10-0-1-7", "on <serial> of <host>"),
        ("10.1.2.3 (aa:bb:cc:dd:ee:ff), ask ann@example.org", "<address> (<address>), ask <address>"),
        ("gpu-7.cluster.internal asks s3://bucket/ann", "<host> asks <address>"),
        ("token=abcd1234, hf_abcdefA1b2C3d4, Bearer abcdef", "<token> <token>, <token>"),
        ("HOME=/home/ann", "<user>"),
    ],
)
def test_no_private_detail_stays_and_each_is_found(told: str, expected: str) -> None:
    assert one_line(told) == expected
    assert private(told)
    assert private(expected) is None


@pytest.mark.parametrize(
    "told",
    [
        "torch 2.13.0, driver 580.95.05, at 12:30:45",
        "1/2 of microsoft/resnet-50 at https://huggingface.co/models/x",
        "c10::Error in at::native",
        "CUDA error: launch failed; try CUDA_LAUNCH_BLOCKING=1",
        "in torch/_inductor/codecache.py:1234, of torch._dynamo.exc",
        "FakeTensor(..., device='cuda:0', size=(1, 3, 224, 224), dtype=torch.float16)",
        "libcuda.so.1: cannot open shared object file",
    ],
)
def test_what_an_exception_says_of_the_fault_stays(told: str) -> None:
    assert one_line(told) == told
    assert private(told) is None


def test_names_of_host_and_user_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "annspc")
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    assert one_line("ann on annspc cannot, says annotation") == "<user> on <host> cannot, says annotation"


def test_a_message_is_one_short_line() -> None:
    assert one_line("two\n  lines\tand blanks at 0x7f3a2b4c5d6e") == "two lines and blanks at 0x…"
    assert len(one_line("x" * 100_000)) == MAX_LENGTH
