"""A worker process without torch, which answers or misbehaves depending on the model's name.

It uses the real protocol (`bench.measuring.worker`) and replaces only the measuring.
"""

from __future__ import annotations

import math
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

import bench.measuring.worker
from bench.plans.messages import Answer, CellOutcome, Job, Machine, Phase, Preflight, Refusal, Request, Send
from bench.plans.models import find
from bench.records.record import Compilation, Environment, Graphs, Measurement, Samples, Status

ENVIRONMENT = Environment(device_name="Test CPU @ 1GHz", torch="2.13.0+cpu", cores=2, threads=2)


def answer(request: Request, send: Send) -> Answer:
    if isinstance(request, Preflight):
        if request.device == "cuda":
            return Refusal(what="no cuda device here", where="--device", remedy="present: cpu")
        return Machine(device="cpu", environment=ENVIRONMENT)
    assert isinstance(request, Job)
    return measured(request, send)


def measured(request: Job, send: Send) -> Answer:
    send(Phase(name="building"))
    time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    misbehaves = MISBEHAVIOUR.get(request.cell.model)
    if misbehaves and (outcome := misbehaves()):
        return outcome
    if roles := os.environ.get("STUB_ROLES"):
        with Path(roles).open("a") as file:
            file.write(f"{request.role}\n")
    send(Phase(name="measuring"))
    size = find(request.cell.checkpoint).input_size
    return CellOutcome(status=Status.PASS, measurement=measurement(warm=request.start == "warm"), input_size=size)


def die(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def hang() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:  # like a compile worker, it must end with this process
        Path(os.environ["STUB_CHILD"]).write_text(str(child.pid))
        child.wait()


def give_up() -> None:
    sys.stderr.write("Traceback …\nRuntimeError: nothing fits in /home/ann/lib/site-packages/torch/x.py\n")
    sys.exit(3)


def keep_eager() -> CellOutcome:
    return CellOutcome(status=Status.OOM, reason="out of memory", measurement=measurement(compiled=False))


def leave_a_daemon() -> None:
    """Die while a child survives that holds the pipes and has left the process group, as a daemon does."""
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    Path(os.environ["STUB_CHILD"]).write_text(str(child.pid))
    os.kill(os.getpid(), signal.SIGSEGV)


def chatter() -> None:
    """Print as models and libraries do: from Python and from below it, much, and not only text."""
    sys.stdout.write('{"type":"CellOutcome","status":"pass"}\n')
    sys.stdout.flush()
    for _ in range(int(os.environ.get("STUB_PRINTS", "1"))):
        os.write(1, bytes(range(256)) * 256)


def eat_memory() -> None:
    """Exceed a small memory limit."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    held = [bytearray(1 << 26) for _ in range(64)]
    del held


def nonsense() -> CellOutcome:
    """Return nans as latencies."""
    nans = Samples(rounds_ms=((math.nan,),) * 8)
    return CellOutcome(status=Status.PASS, measurement=msgspec.structs.replace(measurement(), eager=nans))


MISBEHAVIOUR: dict[str, Callable[[], CellOutcome | None]] = {
    "Segformer": lambda: die(signal.SIGSEGV),
    "Maskformer": lambda: die(signal.SIGKILL),
    "DETR": hang,
    "OwlViT": give_up,
    "ConvNeXT": keep_eager,
    "Mask2former": leave_a_daemon,
    "MobileNet": chatter,
    "Conditional-DETR": eat_memory,
    "Resnet-101": nonsense,
}
"""What the worker does, by model."""


def measurement(*, compiled: bool = True, warm: bool = False) -> Measurement:
    def variant(latency_ms: float) -> Samples:
        return Samples(rounds_ms=tuple((latency_ms * random.lognormvariate(0, 0.01),) for _ in range(8)))

    return Measurement(
        eager=variant(20.0),
        compiled=variant(10.0) if compiled else None,
        compilation=Compilation(ready_s={"warm": 1.0} if warm else {"cold": 5.0}),
        graphs=Graphs(graphs=1),
        stop_reason="rounds",
    )


if __name__ == "__main__":
    bench.measuring.worker.main(answer)
