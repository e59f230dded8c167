"""Ray as the engine of a fleet: every task is the worker process that a local run starts, on the node it was meant for.

Ray carries the code to the nodes, reserves whole GPUs and cores, and tells what was lost. A task is bound to its node,
not to a type of accelerator: Ray would let it wait for a type that nobody has, and say nothing. Tries again are ours,
too, since they shall go elsewhere. Ray is imported by nobody else, and only by those who ask for it.

    pip install -e ".[ray]" && python -m bench run --executor ray
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Hashable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.errors import AtlasError
from bench.fleet.cluster import Look, Node, Reply, Work
from bench.measuring.doctor import examine, look
from bench.records.scrub import one_line
from bench.running.executors import ROOT, WORKER, Ended, LocalProcesses
from bench.running.sweep import look_at, measure

CONNECT_S = 30
"""For which a cluster may take to answer."""

CLEAN_S = 20.0
"""For removing compile caches in the end. What is not done by then is left to who cleans temporary folders."""

THREADS = "OMP_NUM_THREADS"
"""Ray sets it to the number of reserved cores; a local run leaves it to torch."""


class RayEngine:
    """A connection to a Ray cluster; to a new one on this machine without an `address`. `command` starts a
    worker, which else each node knows itself.

    Raises `AtlasError` where Ray is missing, or no cluster answers.
    """

    def __init__(
        self, address: str | None, command: tuple[str, ...] | None = None, *, with_doctor: bool = True
    ) -> None:
        self._ray: Any = _imported()
        self._command, self._with_doctor = command, with_doctor
        self._tasks: dict[Any, float] = {}  # by what Ray will answer with: when it was asked
        self._ids: dict[str, str] = {}  # Ray's, by name of node
        os.environ.setdefault("RAY_gcs_rpc_server_connect_timeout_s", str(CONNECT_S))
        os.environ.setdefault("RAY_gcs_server_request_timeout_seconds", str(CONNECT_S))
        # Nodes measure with the code that is here, whatever they have. Records need not travel.
        shipped = {"py_modules": [str(ROOT / "bench")], "excludes": ["results/", "__pycache__/"]}
        options: dict[str, Any] = {"runtime_env": shipped} if address else {"include_dashboard": False}
        try:
            self._ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
        except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
            raise AtlasError(
                f"no Ray cluster answers at {address}: {one_line(error)}" if address else one_line(error),
                where="--address",
                remedy="`ray status` there tells how it is; a cluster begins with `ray start --head`",
            ) from None

    def close(self) -> None:
        """Leave the cluster, and end one that was started for this run."""
        self._ray.shutdown()

    def clock(self) -> float:
        """See `Engine.clock`."""
        return time.monotonic()

    def nodes(self) -> list[Node]:
        """See `Engine.nodes`. A node is named after the number that Ray drew for it when it joined."""
        try:
            found = [each for each in self._ray.nodes() if each["Alive"]]
        except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
            raise _gone(error) from None
        nodes = {_node(each): each["NodeID"] for each in found}
        self._ids = {node.name: number for node, number in nodes.items()}
        return sorted(nodes)

    def start(self, task: Work | Look) -> Hashable:
        """See `Engine.start`."""
        name = task.request.__class__.__name__ if isinstance(task, Look) else task.step.planned.cell.model
        run = self._on(task.node, num_cpus=task.cpus, num_gpus=task.gpus, name=f"atlas: {name}")(_serve)
        answer = run.remote(task, self._command, self._with_doctor)
        self._tasks[answer] = time.monotonic()
        return answer  # type: ignore[no-any-return]

    def _on(self, node: Node, **options: Any) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy  # noqa: PLC0415 - as Ray itself

        place = NodeAffinitySchedulingStrategy(self._ids.get(node.name, "f" * 56), soft=False)
        return self._ray.remote(max_retries=0, scheduling_strategy=place, **options)

    def stop(self, handle: Hashable) -> None:
        """See `Engine.stop`."""
        self._tasks.pop(handle, None)
        with suppress(Exception):
            self._ray.cancel(handle, force=True)

    def wait(self, timeout_s: float) -> list[tuple[Hashable, Reply]]:
        """See `Engine.wait`."""
        if not self._tasks:
            time.sleep(timeout_s)
            return []
        try:
            ready, rest = self._ray.wait(list(self._tasks), num_returns=1, timeout=timeout_s)
            if ready and rest:
                ready += self._ray.wait(rest, num_returns=len(rest), timeout=0)[0]
        except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
            raise _gone(error) from None
        return [(answer, self._reply(answer, self._tasks.pop(answer))) for answer in ready]

    def _reply(self, answer: Any, since: float) -> Reply:
        from ray import exceptions  # noqa: PLC0415 - as Ray itself

        seconds = time.monotonic() - since
        try:
            reply: Reply = self._ray.get(answer)
        except exceptions.OutOfMemoryError:  # Ray ends what takes the last memory of a node
            return Reply(Ended(seconds=seconds, returncode=-signal.SIGKILL, out_of_memory=True))
        except exceptions.RayTaskError as error:
            return Reply(Ended(seconds=seconds, is_lost=True, last_words=one_line(error.cause or "")))
        except exceptions.RayError as error:  # its text tells addresses and folders
            return Reply(Ended(seconds=seconds, is_lost=True, last_words=type(error).__name__))
        return reply

    def clean(self, nodes: list[Node], run: str) -> None:
        """Remove the compile caches of a finished run, as far as nodes answer in time."""
        with suppress(Exception):
            done = [self._on(node, num_cpus=0)(_clean).remote(node.name, run) for node in nodes]
            self._ray.wait(done, num_returns=len(done), timeout=CLEAN_S)


def _imported() -> Any:
    try:
        import ray  # noqa: PLC0415 - most do without it
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise AtlasError(
            "Ray is not installed", where="--executor ray", remedy='pip install -e ".[ray]", here and on every node'
        ) from None
    return ray


def _gone(error: Exception) -> AtlasError:
    remedy = "the same command goes on once the cluster is there again"
    return AtlasError(f"the cluster answers no more: {one_line(error)}", where="--address", remedy=remedy)


def _node(told: dict[str, Any]) -> Node:
    resources: dict[str, float] = told["Resources"]
    types = [name.partition(":")[2] for name in sorted(resources) if name.startswith("accelerator_type:")]
    return Node(
        name=f"node-{told['NodeID'][:8]}",
        cpus=int(resources.get("CPU", 0)),
        gpus=int(resources.get("GPU", 0)),
        accelerator=types[0] if types else None,
        place=str(told.get("NodeManagerHostname") or told.get("NodeManagerAddress") or ""),
    )


# ── On a node ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _serve(task: Work | Look, command: tuple[str, ...] | None, with_doctor: bool) -> Reply:
    if f"{THREADS}=".encode() not in _environment_at_start():
        os.environ.pop(THREADS, None)
    executor = LocalProcesses(command or WORKER)
    if isinstance(task, Look):
        return Reply(look_at(executor, task.request))
    caches = _caches(task.node.name, task.run)
    complaints = tuple(examine(look(caches))) if with_doctor else ()
    ended = measure(task.step, task.profile, caches, executor, timeout_s=task.timeout_s, on_phase=lambda _: None)
    return Reply(ended, complaints)


def _environment_at_start() -> bytes:
    """Of this process, before anything was added to it; empty where the system doesn't tell."""
    try:
        return Path("/proc/self/environ").read_bytes()
    except OSError:
        return b""


def _caches(node: str, run: str) -> Path:
    """Below a folder of this user: others may have one of their own on the same machine."""
    return Path(tempfile.gettempdir()) / f"compile-atlas-{os.getuid()}" / node / run


def _clean(node: str, run: str) -> None:
    shutil.rmtree(_caches(node, run), ignore_errors=True)
