"""Run the tasks of a fleet with Ray, each as the same worker process that a local run starts.

Ray copies the code to the nodes, reserves whole GPUs and cores, and reports what was lost. A task is bound to its node
and not to a type of accelerator, because Ray waits silently for a type that no node has. The dispatcher retries failed
tasks, because a retry must go to another node. Only this module imports Ray, and only when it is asked for.

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
from bench.fleet.cluster import CellTask, Node, Reply, SurveyTask
from bench.measuring.doctor import examine, look
from bench.records.scrub import one_line
from bench.running.executors import ROOT, WORKER, LocalProcesses, WorkerExit
from bench.running.preflight import ask
from bench.running.sweep import measure

CONNECT_S = 30
"""How long a cluster may take to answer."""

CLEAN_S = 20.0
"""How long removing compile caches may take. The rest stays in the temporary folder."""

THREADS = "OMP_NUM_THREADS"
"""Ray sets it to the number of reserved cores; a local run leaves it to torch."""


class RayEngine:
    """A connection to the Ray cluster at `address`, or to a new one on this machine.

    `command` starts a worker; by default each node uses its own Python. Raises `AtlasError` if Ray is missing or no
    cluster answers.
    """

    def __init__(
        self, address: str | None, command: tuple[str, ...] | None = None, *, with_doctor: bool = True
    ) -> None:
        self._ray: Any = _imported()
        self._command, self._with_doctor = command, with_doctor
        self._tasks: dict[Any, float] = {}  # start times by Ray's object reference
        self._ids: dict[str, str] = {}  # Ray's node ids by our node names
        os.environ.setdefault("RAY_gcs_rpc_server_connect_timeout_s", str(CONNECT_S))
        os.environ.setdefault("RAY_gcs_server_request_timeout_seconds", str(CONNECT_S))
        # All nodes measure with this code, whatever they have installed. They need no records.
        shipped = {"py_modules": [str(ROOT / "bench")], "excludes": ["results/", "__pycache__/"]}
        options: dict[str, Any] = {"runtime_env": shipped} if address else {"include_dashboard": False}
        try:
            self._ray.init(address=address or "local", log_to_driver=False, logging_level=logging.ERROR, **options)
        except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
            raise AtlasError(
                f"no Ray cluster answers at {address}: {one_line(error)}" if address else one_line(error),
                where="--address",
                remedy="run `ray status` there to check it; `ray start --head` starts a cluster",
            ) from None

    def close(self) -> None:
        """Disconnect, and stop a cluster that was started for this run."""
        self._ray.shutdown()

    def clock(self) -> float:
        """See `Engine.clock`."""
        return time.monotonic()

    def nodes(self) -> list[Node]:
        """See `Engine.nodes`. A node's name comes from the random id that Ray gave it."""
        try:
            alive = [each for each in self._ray.nodes() if each["Alive"]]
        except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
            raise _gone(error) from None
        nodes = {_node(each): each["NodeID"] for each in alive}
        self._ids = {node.name: node_id for node, node_id in nodes.items()}
        return sorted(nodes)

    def start(self, task: CellTask | SurveyTask) -> Hashable:
        """See `Engine.start`."""
        name = task.request.__class__.__name__ if isinstance(task, SurveyTask) else task.step.planned.cell.model
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
        except exceptions.OutOfMemoryError:  # Ray kills the task that uses up a node's memory
            return Reply(WorkerExit(seconds=seconds, returncode=-signal.SIGKILL, out_of_memory=True))
        except exceptions.RayTaskError as error:
            return Reply(WorkerExit(seconds=seconds, is_lost=True, last_line=one_line(error.cause or "")))
        except exceptions.RayError as error:  # its text contains addresses and folders
            return Reply(WorkerExit(seconds=seconds, is_lost=True, last_line=type(error).__name__))
        return reply

    def clean(self, nodes: list[Node], run: str) -> None:
        """Remove the compile caches of a finished run on the nodes that answer in time."""
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
    remedy = "run the same command again once the cluster is back"
    return AtlasError(f"the cluster no longer answers: {one_line(error)}", where="--address", remedy=remedy)


def _node(description: dict[str, Any]) -> Node:
    resources: dict[str, float] = description["Resources"]
    types = [name.partition(":")[2] for name in sorted(resources) if name.startswith("accelerator_type:")]
    return Node(
        name=f"node-{description['NodeID'][:8]}",
        cpus=int(resources.get("CPU", 0)),
        gpus=int(resources.get("GPU", 0)),
        accelerator=types[0] if types else None,
        place=str(description.get("NodeManagerHostname") or description.get("NodeManagerAddress") or ""),
    )


# ── On a node ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _serve(task: CellTask | SurveyTask, command: tuple[str, ...] | None, with_doctor: bool) -> Reply:
    if f"{THREADS}=".encode() not in _environment_at_start():
        os.environ.pop(THREADS, None)
    executor = LocalProcesses(command or WORKER)
    if isinstance(task, SurveyTask):
        return Reply(ask(executor, task.request))
    caches = _caches(task.node.name, task.run)
    complaints = tuple(examine(look(caches))) if with_doctor else ()
    ended = measure(task.step, task.profile, caches, executor, timeout_s=task.timeout_s, on_phase=lambda _: None)
    return Reply(ended, complaints)


def _environment_at_start() -> bytes:
    """Return the environment that this process started with; empty where the system doesn't have it."""
    try:
        return Path("/proc/self/environ").read_bytes()
    except OSError:
        return b""


def _caches(node: str, run: str) -> Path:
    """Return the folder of compile caches. It belongs to this user, because others may measure on the same machine."""
    return Path(tempfile.gettempdir()) / f"compile-atlas-{os.getuid()}" / node / run


def _clean(node: str, run: str) -> None:
    shutil.rmtree(_caches(node, run), ignore_errors=True)
