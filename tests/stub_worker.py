"""A worker that needs no torch: it answers, or misbehaves as the model's name says. Started as a real process.

The protocol is the real one (`bench.worker`); only the measuring is replaced.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import bench.worker
from bench.job import Answer, Finding, Job, Machine, Phase, Refusal, Request, Survey, Tell
from bench.record import Arm, Compilation, Environment, Graphs, Measurement, Status

ENVIRONMENT = Environment(device_name="Test CPU @ 1GHz", torch="2.13.0+cpu", cores=2, threads=2)


def answer(request: Request, tell: Tell) -> Answer:
    if isinstance(request, Survey):
        if request.device == "cuda":
            return Refusal(what="no cuda device here", where="--device", remedy="present: cpu")
        return Machine(device="cpu", environment=ENVIRONMENT)
    assert isinstance(request, Job)
    tell(Phase(name="building"))
    time.sleep(float(os.environ.get("STUB_SECONDS", "0")))
    behaviour = request.cell.model
    if behaviour == "Segformer":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif behaviour == "Maskformer":
        os.kill(os.getpid(), signal.SIGKILL)
    elif behaviour == "DETR":
        with subprocess.Popen(["sleep", "600"]) as child:  # what a compile worker is: a child that must go with us
            Path(os.environ["STUB_CHILD"]).write_text(str(child.pid))
            child.wait()
    elif behaviour == "OwlViT":
        sys.stderr.write("Traceback …\nRuntimeError: nothing fits in /home/ann/lib/site-packages/torch/x.py\n")
        sys.exit(3)
    elif behaviour == "ConvNeXT":
        return Finding(status=Status.OOM, reason="out of memory", measurement=measurement(compiled=False))
    tell(Phase(name="measuring", done=1, of=2))
    return Finding(status=Status.PASS, measurement=measurement(warm=request.warm), input_size=(64, 64))


def measurement(*, compiled: bool = True, warm: bool = False) -> Measurement:
    def arm(latency_ms: float) -> Arm:
        return Arm(rounds_ms=tuple((latency_ms * random.lognormvariate(0, 0.01),) for _ in range(8)))

    return Measurement(
        eager=arm(20.0),
        compiled=arm(10.0) if compiled else None,
        compilation=Compilation(cold_s=None if warm else 5.0, warm_s=1.0 if warm else None),
        graphs=Graphs(graphs=1),
        stop_reason="rounds",
    )


if __name__ == "__main__":
    bench.worker._answer = answer
    bench.worker.main()
