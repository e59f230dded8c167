"""Measure the cost of a command: wall time, CPU time and peak memory of all its processes.

Takes commands; returns a `Cost`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.errors import AtlasError
from bench.machine import lines

FIRST_S, INTERVAL_S = 0.0125, 0.2
"""The first and the longest pause between two samples of memory; each pause is twice the one before. A sample takes a
millisecond, half a percent of a core."""

Command = Sequence[str]


@dataclass(frozen=True)
class Cost:
    """Wall time, CPU time, and peak resident memory in GB (1e9 bytes; None if it ended before the first sample)."""

    wall_s: float
    cpu_s: float
    memory_gb: float | None


def cost_of(commands: Sequence[Command], folder: Path, env: Mapping[str, str], log: Path, limit_s: float) -> Cost:
    """Run the commands one after the other, and return the sum of their times and the largest of their peaks.

    Raises `AtlasError` with the last line of output if a command fails or takes longer than `limit_s` seconds.
    """
    costs = [_cost(command, folder, env, log, limit_s) for command in commands]
    wall_s, cpu_s = (sum(getattr(each, name) for each in costs) for name in ("wall_s", "cpu_s"))
    return Cost(wall_s, cpu_s, max((each.memory_gb for each in costs if each.memory_gb is not None), default=None))


def _cost(command: Command, folder: Path, env: Mapping[str, str], log: Path, limit_s: float) -> Cost:
    with log.open("wb") as file:
        start = time.perf_counter()
        child = subprocess.Popen(command, cwd=folder, env=env, stdout=file, stderr=file, start_new_session=True)
        watch = _Watch(child.pid, limit_s)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:  # on an interrupt, leave no process behind
            kill(child.pid)
            raise
        wall_s = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    # Linux starts a child's peak at its parent's memory, so the value is valid only if the child used more.
    own_peak = usage.ru_maxrss if usage.ru_maxrss > resource.getrusage(resource.RUSAGE_SELF).ru_maxrss else 0
    peak_gb = watch.stop() or own_peak * (1 if sys.platform == "darwin" else 1024) / 1e9 or None
    if child.returncode:
        raise failure(command, log, f"exit status {child.returncode}" if wall_s < limit_s else f"over {limit_s:g} s")
    return Cost(wall_s, usage.ru_utime + usage.ru_stime, peak_gb)


def failure(command: Command, log: Path, what: str) -> AtlasError:
    """Return an error with the last line that a command wrote."""
    last = [line.strip() for line in lines(log) if line.strip()][-1:]
    name = " ".join([Path(command[0]).name, *command[1:3]])
    return AtlasError(": ".join([what, *last]), where=name, remedy=f"read {log}")


class _Watch:
    """Samples the memory of a process group in a thread, keeps its peak, and kills the group at its time limit.

    The kernel keeps the peak of a single process, but not of a group. In a group, shared pages count once (PSS).
    """

    def __init__(self, group: int, limit_s: float) -> None:
        self._peak_gb = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, args=(group, time.monotonic() + limit_s), daemon=True)
        self._thread.start()

    def _sample(self, group: int, end: float) -> None:
        pause_s = FIRST_S
        while not self._over.wait(pause_s):
            pause_s = min(2 * pause_s, INTERVAL_S)
            members = list(group_of(group))
            sizes = map(_proportional_gb if len(members) > 1 else _peak_gb, members)
            self._peak_gb = max(self._peak_gb, sum(sizes))
            if time.monotonic() > end:
                kill(group)

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return self._peak_gb


# ── Groups of processes ─────────────────────────────────────────────────────────────────────────────────────────────


def group_of(leader: int) -> Iterator[Path]:
    """Yield the /proc folders of the processes in the group of `leader`; none without /proc."""
    for status in Path("/proc").glob("[0-9]*/stat"):
        fields = _fields(status)
        if len(fields) > 2 and int(fields[2]) == leader:
            yield status.parent


def cpu_s(leader: int) -> float | None:
    """Return the CPU time of the group and its ended children; None without /proc."""
    ticks = [sum(map(int, fields[11:15])) for each in group_of(leader) if (fields := _fields(each / "stat"))]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def peak_gb(leader: int) -> float | None:
    """Return the sum of the peaks of the group's processes; None without /proc."""
    peaks = [*map(_peak_gb, group_of(leader))]
    return sum(peaks) if peaks else None


def kill(group: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to every process of a group that still exists."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, number)


def _fields(status: Path) -> list[str]:
    """Return the fields of /proc/*/stat after the process name, which may contain anything."""
    return "".join(lines(status)).rpartition(")")[2].split()


def _peak_gb(process: Path) -> float:
    return _kilobytes(process / "status", "VmHWM:") * 1024 / 1e9


def _proportional_gb(process: Path) -> float:
    return _kilobytes(process / "smaps_rollup", "Pss:") * 1024 / 1e9


def _kilobytes(path: Path, name: str) -> int:
    return next((int(line.split()[1]) for line in lines(path) if line.startswith(name)), 0)
