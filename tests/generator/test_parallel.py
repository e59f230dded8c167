"""Calls in other processes: as many at a time as there are cores, and whoever ends their parent ends them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from conftest import ROOT
from test_worker_process import is_alive, wait_until

from generator.parallel import FORKS, CallError, ForkedCall

PARENT = """
import os, sys, time
from functools import partial
from pathlib import Path
from generator.parallel import mapped, start

def build(name):
    Path(sys.argv[1], name).write_text(str(os.getpid()))
    time.sleep(120)

if "mapped" in sys.argv:
    list(mapped(build, ("zh", "ar")))
calls = start(partial(build, name) for name in ("zh", "ar"))
time.sleep(120)
"""


@pytest.mark.skipif(not FORKS, reason="one after the other here")
@pytest.mark.parametrize("way", ["builds", "mapped"])
def test_a_parent_that_is_killed_leaves_no_call_at_work(tmp_path: Path, way: str) -> None:
    """It would go on writing into the site, while the next build makes it from newer sources."""
    with subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path), way], cwd=ROOT) as parent:
        wait_until(lambda: len(pids(tmp_path)) == 2, seconds=60.0)
        others = pids(tmp_path)
        assert all(map(is_alive, others))
        parent.kill()
    wait_until(lambda: not any(map(is_alive, others)))


def pids(folder: Path) -> list[int]:
    """The processes at work."""
    return [int(text) for path in folder.iterdir() if (text := path.read_text())]


TURNS = """
import os, signal, sys, time
from functools import partial
from pathlib import Path
from generator import parallel

parallel.cores = lambda: 2

def build(name):
    start = time.monotonic()
    time.sleep(0.3)
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
    Path(sys.argv[1], name).write_text(f"{start} {time.monotonic()}")

calls = parallel.start(partial(build, name) for name in ("zh", "ja", "ar"))
parallel.wait_for_core(calls)
build("en")
failed = False
for call in calls:  # all of them: this process ends those that it has not waited for
    try:
        call.result()
    except parallel.CallError:
        failed = True
sys.exit(failed)
"""


@pytest.mark.skipif(not FORKS, reason="one after the other here")
def test_a_call_that_is_killed_keeps_no_other_one_waiting(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", TURNS, str(tmp_path), "zh"], cwd=ROOT, check=False, timeout=60)
    assert done.returncode == 1
    assert {path.name for path in tmp_path.iterdir()} == {"en", "ja", "ar"}


def killed(process: int) -> int:
    """The process that runs this, if it is that one; every other one is killed for real."""
    if os.getpid() != process:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


@pytest.mark.skipif(not FORKS, reason="made here, and when it is asked for")
def test_a_result_comes_from_another_process_and_from_this_one_where_that_is_killed() -> None:
    assert ForkedCall(os.getpid).result_or_repeat() != os.getpid()
    assert ForkedCall(partial(killed, os.getpid())).result_or_repeat() == os.getpid()


@pytest.mark.skipif(not FORKS, reason="made here, and when it is asked for")
def test_a_call_that_is_killed_or_raises_has_failed() -> None:
    for function in (partial(killed, os.getpid()), partial(int, "none")):
        with pytest.raises(CallError):
            ForkedCall(function).result()


@pytest.mark.skipif(not FORKS, reason="made here, and when it is asked for")
def test_a_stopped_call_is_ended() -> None:
    call = ForkedCall(partial(time.sleep, 120))
    process = call._process
    assert process
    assert process.is_alive()
    call.stop()
    assert process.exitcode == -signal.SIGTERM


def touch(path: Path) -> None:
    path.touch()
    time.sleep(0.05)


LOGGING = """
import logging, sys
from generator.parallel import CallError, start

log = logging.getLogger("mkdocs.plugins")

def build(name):
    log.warning("built %s", name)
    return {}[name] if name == "zh" else name

logging.basicConfig(stream=sys.stdout, format="%(message)s")
calls = start([lambda: build("ar"), lambda: build("zh")], on_error=lambda error: log.error("failed %r", error))
try:
    for call in calls:
        call.result()
except CallError:
    print("some failed")
"""


@pytest.mark.skipif(not FORKS, reason="one after the other here")
def test_log_records_reach_the_parent_and_a_failure_is_logged_once() -> None:
    done = subprocess.run([sys.executable, "-c", LOGGING], cwd=ROOT, capture_output=True, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == ["built ar", "built zh", "failed KeyError('zh')", "some failed"]
    assert done.stderr == ""
