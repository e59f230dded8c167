"""Lower the power limit of an NVIDIA GPU for as long as a context lasts. Imports no torch.

A separate process lowers the limit, and restores it when its standard input closes, even if the process that uses
the GPU is killed.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class LimitError(Exception):
    """The power limit cannot be lowered, or could not be restored."""


@contextmanager
def lowered(uuid: str) -> Iterator[float]:
    """Lower the limit of the GPU with this UUID to the lowest that it takes, and yield it in W. Raises `LimitError`."""
    command = [sys.executable, "-m", __name__, uuid]
    with subprocess.Popen(  # a group of its own, which no signal for this one reaches
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as keeper:
        assert keeper.stdin is not None
        assert keeper.stdout is not None
        told = keeper.stdout.readline().strip()
        if not told.endswith(" W"):
            raise LimitError(f"the power limit cannot be lowered: {told or 'no answer'}")
        try:
            yield float(told.removesuffix(" W"))
        finally:
            keeper.stdin.close()
            keeper.wait()
            if keeper.returncode:
                raise LimitError(f"the power limit could not be restored: {keeper.stdout.readline().strip()}")


def _keep(uuid: str) -> None:
    """Lower the limit, wait for the end of standard input, and restore what was set before."""
    import pynvml  # noqa: PLC0415 - optional

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the end of the input follows
    pynvml.nvmlInit()
    gpu = pynvml.nvmlDeviceGetHandleByUUID(uuid)
    usual = pynvml.nvmlDeviceGetPowerManagementLimit(gpu)
    lowest = pynvml.nvmlDeviceGetPowerManagementLimitConstraints(gpu)[0]
    if lowest >= usual:
        raise LimitError(f"{usual / 1e3:g} W is the lowest already")
    pynvml.nvmlDeviceSetPowerManagementLimit(gpu, lowest)
    try:
        with suppress(OSError):  # whoever asked may have ended
            sys.stdout.write(f"{lowest / 1e3:g} W\n")
            sys.stdout.flush()
        sys.stdin.read()
    finally:
        pynvml.nvmlDeviceSetPowerManagementLimit(gpu, usual)


if __name__ == "__main__":
    try:
        _keep(sys.argv[1])
    except Exception as error:  # noqa: BLE001 - whatever it is, the other end tells it
        sys.exit(sys.stdout.write(f"{error}\n") and 1)
