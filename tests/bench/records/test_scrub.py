"""Messages keep what happened and lose private details."""

from __future__ import annotations

import getpass
import re
import socket
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from bench.records import wording
from bench.records.scrub import MAX_LENGTH, identifying, message, one_line
from bench.records.wording import LAST_WORDS, NO_ANSWER, exception, is_flag, is_reason, is_setting, setting


@pytest.mark.parametrize(
    ("told", "expected"),
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
def test_messages_are_one_line_without_private_parts(told: str, expected: str | None) -> None:
    assert one_line(told) == (told if expected is None else expected)


def test_names_of_host_and_user_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "annspc")
    monkeypatch.setattr(getpass, "getuser", lambda: "ann")
    assert one_line("ann on annspc cannot, says annotation") == "<user> on <host> cannot, says annotation"


def test_long_messages_are_cut() -> None:
    assert len(one_line("x" * 1000)) == MAX_LENGTH


WORD = st.from_regex(r"[b-df-hj-np-tv-xz]{5,9}", fullmatch=True)  # no word of English
KINDS = (
    *(
        "/home/{}",
        "file:///home/{}/x",
        "-I/home/{}/include",
        "/usr/lib:/home/{}",
        "'/data/a b/{}'",
        "--out=/scratch/{}",
    ),
    *(
        "C:/Users/{}",
        r"C:\Users\{}",
        r"\\\\files\\{}",
        r"\\{}\share",
        "~{}",
        "~{}/models",
        "../{}/x",
        "my/models/{}",
        "s3://{}/x",
    ),
    *("{}@example.org", "{}@host", "{}:29500", "gpu-7.{}.internal", "node17.{}.edu", "ssh://{}", "user {}", "USER={}"),
    *(
        "hf_{}A1b2C3d4",
        "ghp_{}0123456789",
        "AKIA{}ABCDEFGH0123",
        "Bearer {}",
        "password={}",
        "serial: {}77",
        "dgx-{}-12",
    ),
)
"""What says who or where, with a place for the word that must not come out."""


@pytest.mark.parametrize("kind", KINDS)
@given(WORD, st.sampled_from(["{}", "cannot open {}", "no {}: it is gone", "('{}',)", "at {}."]))
def test_no_secret_comes_out_of_any_message_and_each_is_found(kind: str, word: str, around: str) -> None:
    word = word.upper() if kind.startswith("AKIA") else word
    told = around.format(kind.format(word))
    for written in (message(told), exception(OSError(told)), NO_ANSWER(seconds=3) + LAST_WORDS(words=told)):
        assert word not in written
        assert identifying(written, is_message=True) is None
        assert message(written) == written
    assert is_reason(exception(OSError(told)))
    assert identifying(told, is_message=True)
    assert word not in setting(kind.format(word))


@given(
    st.lists(st.sampled_from([*"/\\~:.@-_' ab1", "https://", "home/", "::1", "hf_A1", "GPU-", "user ", "x.py"])).map(
        "".join
    )
)
def test_what_is_clean_stays_as_it_is(text: str) -> None:
    for cleaned in (message(text), exception(OSError(text))):
        assert identifying(cleaned, is_message=True) is None
    assert identifying(one_line(text)) is None
    assert is_reason(exception(OSError(text)))


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("no route to [2001:db8::7]:29500, fe80::1%eth0", "no route to <address>, <address>"),
        ("at 12:30:45, c10::Error in at::native", None),
        ("CUDA error: launch failed; try CUDA_LAUNCH_BLOCKING=1", None),
        ("see https://pytorch.org/docs/stable/notes/cuda.html#environment-variables).", None),
        ("in torch/_inductor/codecache.py:1234, of torch._dynamo.exc", None),
        ("Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB", None),
        ("FakeTensor(..., device='cuda:0', size=(1, 3, 224, 224), dtype=torch.float16)", None),
        ("mat1 and mat2 shapes cannot be multiplied (1x512 and 768x1000)", None),
        ("libcuda.so.1: cannot open shared object file", None),
        ("loaded from s3://bucket/ann/x", "loaded from <address>"),
    ],
)
def test_what_an_exception_says_of_the_fault_stays(told: str, expected: str | None) -> None:
    assert message(told) == (told if expected is None else expected)


def test_what_no_template_makes_is_no_reason() -> None:
    for text in ("out of memory", "Alice was here", "no answer within long s", "the source has no other figures"):
        assert not is_reason(text)
    assert is_reason(wording.DISTURBED(by="other programs and power cap", disturbed=3, rounds=4))
    assert not is_reason("Alice disturbed 3 of 4 rounds")
    assert exception(type("Odd", (Exception,), {})("x")) == "Exception: x"


def test_flags_and_checks_are_listed() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path("bench").rglob("*.py")]
    checks = {check for text in sources for check in re.findall(r'Complaint\(\s*"([a-z-]+)"', text)} - {
        "ray",
        "time-budget",
    }
    flags = {f"doctor-{check}" for check in checks}
    flags |= {flag for text in sources for flag in re.findall(r'(?m)^[A-Z_]+ = \(?"([a-z]+(?:-[a-z]+)+)"', text)}
    assert len(flags) > 30
    assert [flag for flag in sorted(flags) if not is_flag(flag) and flag != "reduce-overhead"] == []


def test_settings_are_words_that_are_known() -> None:
    assert setting("/usr/lib/libjemalloc.so.2:/opt/x/libtcmalloc.so.4") == "libjemalloc.so.2:libtcmalloc.so.4"
    for kept in (
        "granularity=fine,compact,1,0",
        "expandable_segments:True,max_split_size_mb:512",
        "17179869184",
        "glibc 2.36",
    ):
        assert setting(kept) == kept
    assert setting("/home/ann/tuned.json") == setting("ann") == "set"
    assert is_setting("OMP_NUM_THREADS")
    assert not is_setting("TORCHINDUCTOR_CACHE_DIR")
    assert not is_setting("HOME")
    assert wording.BUSY() == "another process was computing on the device"
