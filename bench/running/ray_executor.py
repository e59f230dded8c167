"""Measure on the nodes of a Ray cluster: each process of a cell is one task, with a device of its own.

Takes a plan and a run file; returns all records of the run. Ray places the tasks, repeats those of a lost node, and
shows them in its dashboard. Only the driver writes: it appends a record as soon as its task ends, so that an
interrupted run goes on where its file ends. The processes of a cell run one at a time. Ray takes the cluster at
RAY_ADDRESS, else one that runs on this machine, else starts one.

    pip install -e ".[ray]" && python -m bench run --executor ray --accelerator-type H100
"""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from bench.errors import AtlasError, Complaint
from bench.machine import ROOT, commit
from bench.measuring.doctor import examine, look
from bench.plans.messages import Machine, Recipe
from bench.plans.plan import Plan, Step, first_of_each_cell, pending
from bench.plans.profiles import Profile
from bench.records.record import Cell, Record
from bench.records.scrub import one_line
from bench.running.progress import Reporter
from bench.running.resume import RunFile, kind
from bench.running.step import measure, skipped
from bench.running.sweep import writing
from bench.running.worker_process import WorkerExit, preflight, run_worker


class RayCluster:
    """A connection to a Ray cluster, and what a task reserves there: a GPU, or all cores of a node without one.

    Raises `AtlasError` if Ray is missing, no cluster answers, or it lacks the device.
    """

    def __init__(self, device: str | None, accelerator_type: str | None) -> None:
        # All nodes measure with this code, whatever they have installed. They need no records.
        shipped = {"py_modules": [str(ROOT / "bench")], "excludes": ["results/", "__pycache__/"]}
        try:
            import ray  # noqa: PLC0415 - most do without it

            ray.init(runtime_env=shipped, log_to_driver=False, logging_level=logging.ERROR)
        except ModuleNotFoundError:
            remedy = 'pip install -e ".[ray]", here and on every node'
            raise AtlasError("Ray is not installed", where="--executor ray", remedy=remedy) from None
        except Exception as error:  # noqa: BLE001 - whatever Ray raises, it is not there
            raise AtlasError(f"no Ray cluster answers: {one_line(error)}", remedy="check RAY_ADDRESS") from None
        self._ray = ray
        present = ray.cluster_resources()
        types = sorted(name.partition(":")[2] for name in present if name.startswith("accelerator_type:"))
        self._device = device or ("cuda" if present.get("GPU") else "cpu")
        if (self._device != "cpu" and not present.get("GPU")) or accelerator_type not in (None, *types):
            remedy = f"the cluster has {', '.join(types) or 'no accelerator'}"  # Ray would wait without a word
            raise AtlasError("no node has this device", where=accelerator_type or self._device, remedy=remedy)
        cores = max(node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"])
        reserved = {"num_cpus": cores} if self._device == "cpu" else {"num_gpus": 1}
        # Ray repeats what a node lost. A failure of the model is an outcome. A process may serve any number of tasks.
        task = ray.remote(max_retries=3, max_calls=0, accelerator_type=accelerator_type, **reserved)
        self._survey, self._measure = task(_survey), task(_measure)

    def preflight(self, recipes: Sequence[Recipe], profile: Profile) -> Machine:
        """Return the machine of one of the nodes. Raises `AtlasError` for what cannot be measured there."""
        try:
            machine: Machine = self._ray.get(self._survey.remote(self._device, tuple(recipes), profile))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        return machine

    def run(
        self,
        plan: Plan,
        machine: Machine,
        run_file: RunFile,
        reporter: Reporter,
        *,
        deadline: float | None = None,
        retry_failed: bool = False,
    ) -> list[Record]:
        """Measure what is pending, until the deadline, and return all records of the run.

        A process that came to nothing, such as on a node of another kind, is told and left for the next run.
        """
        forgotten = run_file.forgotten(retry_failed=retry_failed)
        running, left_out, seconds = dict[Any, Step](), set[Cell](), list[float]()
        with writing(plan, run_file, reporter) as writer:
            while True:
                steps = pending(plan, writer.records, forgotten=forgotten)
                taken = left_out | {step.planned.cell for step in running.values()}
                for step in (each for each in first_of_each_cell(steps) if each.planned.cell not in taken):
                    task = self._measure.options(name=f"{step.planned.cell.title}, process {step.process + 1}")
                    running[task.remote(step, plan.profile, run_file.name, self._device)] = step
                left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
                ready, _ = self._ray.wait([*running], timeout=left_s) if running else ([], [])
                if not ready:
                    return writer.records
                step = running.pop(ready[0])
                try:
                    found, complaints, ended = self._ray.get(ready[0])
                    is_alike = kind(found.environment) == kind(machine.environment)
                    fault = skipped(ended) or ("" if is_alike else "its node differs in hardware or software")
                except self._ray.exceptions.RayError as error:
                    fault = one_line(getattr(error, "cause", None) or type(error).__name__)
                if fault:
                    left_out.add(step.planned.cell)
                    what = f"{step.planned.cell.title} was not measured: {fault}"
                    reporter.warn(Complaint("ray", what, "run the same command again for what is left"))
                    continue
                seconds.append(ended.seconds)
                reporter.begin(step, len(writer.records), len(steps), fmean(seconds) * len(steps) / (len(running) + 1))
                environment = msgspec.structs.replace(found.environment, commit=commit())  # of the code that was sent
                writer.warn(complaints)
                writer.append(step, ended, environment, complaints)


# ── On a node ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _survey(device: str, recipes: tuple[Recipe, ...], profile: Profile) -> Machine:
    if b"OMP_NUM_THREADS=" not in Path("/proc/self/environ").read_bytes():
        os.environ.pop("OMP_NUM_THREADS", None)  # Ray sets it to the reserved cores; a local run leaves it to torch
    return _preflight(os.environ.get("CUDA_VISIBLE_DEVICES"), device, recipes, profile)


_preflight = cache(lambda _visible, *given: preflight(run_worker, *given))
"""Kept while Ray keeps this process, for each GPU that it sees."""


def _measure(step: Step, profile: Profile, run: str, device: str) -> tuple[Machine, list[Complaint], WorkerExit]:
    """Run one process of a cell. A later one starts warm if one has filled the cell's compile cache on this device."""
    import ray  # noqa: PLC0415 - as above

    machine, context = _survey(device, (), profile), ray.get_runtime_context()
    place = "-".join([context.get_node_id()[:8], *context.get_accelerator_ids().get("GPU", ())])
    caches = Path(tempfile.gettempdir(), f"compile-atlas-{os.getuid()}", place, run)
    for other in {*caches.parent.glob("*")} - {caches}:  # of earlier runs, since nothing else uses this device
        shutil.rmtree(other, ignore_errors=True)
    complaints = examine(look(device))
    ended = measure(step, profile, caches, run_worker, timeout_s=profile.timeout_s)
    return machine, complaints, ended
