"""A real Ray cluster of four nodes on this machine: workers are killed, a node is lost, the driver dies.

It takes minutes, so it belongs to the thorough tests, and needs Ray: `pip install -e ".[ray]"`.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import ROOT, THOROUGH
from test_executors import wait_until
from test_sweep import plan, sweep_with

from bench.commands import command_line
from bench.exchange.check import check
from bench.records.record import Record, Status
from bench.records.run_file import read
from bench.running import sweep
from bench.running.resume import kind

MODELS, PROCESSES = ("ViT", "BeiT"), 2

DRIVER = """
import functools, sys
from bench.commands import command_line
from bench.fleet import dispatch, ray_engine
dispatch.REFRESH_S = 2.0
ray_engine.RayEngine = functools.partial(ray_engine.RayEngine, command=(sys.executable, sys.argv[1]), with_doctor=False)
command_line.main(["run", "--executor", "ray", *sys.argv[2:]])
"""
"""`python -m bench run --executor ray` with the stub for a worker."""


def test_without_ray_the_remedy_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SystemExit) as ended:
        command_line.main(["run", "--executor", "ray"])
    assert ended.value.code == 2
    assert 'pip install -e ".[ray]"' in capsys.readouterr().err


def test_importing_the_command_line_does_not_import_ray() -> None:
    imports = "from bench.commands import command_line; from bench.fleet import dispatch, ray_engine"
    code = f"import sys; {imports}; sys.exit('ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Start a head that measures nothing, two nodes with a simulated T4 each, and one with two simulated A100s."""
    if not THOROUGH:
        pytest.skip("a real cluster is for the night: ATLAS_THOROUGH=1")
    pytest.importorskip("ray", reason='pip install -e ".[ray]"')
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    cluster.logs = tmp_path_factory.mktemp("logs")
    cluster.t4s = [
        cluster.add_node(
            num_cpus=gpus,
            num_gpus=gpus,
            resources={f"accelerator_type:{kind}": 1},
            env_vars={"STUB_DEVICE": f"Test {kind}", "STUB_SECONDS": "2", "STUB_LOG": str(cluster.logs / name)},
            wait=False,
            **small,
        )
        for name, kind, gpus in (("a", "A100", 2), ("b", "T4", 1), ("c", "T4", 1))
    ][1:]
    cluster.wait_for_nodes()
    yield cluster
    cluster.shutdown()


def driver(cluster: Any, out: Path, *arguments: str) -> subprocess.Popen[str]:
    stub = str(Path(__file__).resolve().parents[2] / "stub_worker.py")
    command = [sys.executable, "-u", "-c", DRIVER, stub, "--address", cluster.address, "--out", str(out), *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def until(process: subprocess.Popen[str], pattern: str) -> list[str]:
    """Return the output up to a line with the pattern."""
    assert process.stdout is not None
    said: list[str] = []
    for line in process.stdout:
        said.append(line)
        if re.search(pattern, line):
            return said
    pytest.fail(f"it never said {pattern!r}, but:\n{''.join(said)}")


def workers(device: str) -> list[int]:
    """Return the running worker processes on this kind of node."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"stub_worker" in (folder / "cmdline").read_bytes().split(b"\0")[1] and (
                f"STUB_DEVICE={device}".encode() in (folder / "environ").read_bytes()
            ):
                found.append(int(folder.name))
        except (OSError, IndexError):
            continue
    return found


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_type_that_the_cluster_lacks_is_said_at_once(cluster: Any, tmp_path: Path) -> None:
    with driver(cluster, tmp_path, "--accelerator", "H100") as process:
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "'H100' is not known" in said
    assert "1 × A100, 1 × CPU, 2 × T4" in said


def test_workers_a_node_and_the_driver_are_killed_and_no_cell_is_lost_or_doubled(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["--accelerator", "T4,A100", "--model", *MODELS, "--processes", str(PROCESSES)]
    with driver(cluster, tmp_path / "ray", *arguments) as process:
        until(process, r"^\[1/8\]")
        wait_until(lambda: workers("Test A100"))
        os.kill(workers("Test A100")[0], signal.SIGKILL)  # a worker
        until(process, "ended by SIGKILL; .* is measured again")
        process.kill()
    with driver(cluster, tmp_path / "ray", *arguments) as process:
        until(process, r"resuming after|into")
        wait_until(lambda: workers("Test T4"))
        os.kill(parent(workers("Test T4")[0]), signal.SIGKILL)  # Ray's own process above it
        until(process, "its machine was lost; .* is measured again")
        cluster.t4s[0].all_processes["raylet"][0].process.kill()  # as in a power failure
        said, _ = process.communicate(timeout=200)
    assert process.returncode == 0, said
    runs = {path: list(read(path)) for path in sorted((tmp_path / "ray").glob("*.jsonl"))}
    everything = {(model, number): 1 for model in MODELS for number in range(PROCESSES)}
    assert [records[0].environment.device_name for records in runs.values()] == ["Test A100", "Test T4"]
    for records in runs.values():
        assert Counter((each.cell.model, each.process) for each in records) == everything
        assert {each.status for each in records} == {Status.PASS}
        assert all(re.fullmatch(r"node-[0-9a-f]{8}", str(each.node)) for each in records)
    assert list(check([tmp_path / "ray"], atlas=tmp_path / "none")) == []
    used = {path.name: set(times(path)) for path in cluster.logs.iterdir()}
    assert used.pop("a") == {"0", "1"}, "each cell on its own of two devices"
    assert set(map(frozenset, used.values())) == {frozenset({"0"})}, "of the nodes of one device, one may end no cell"
    for path in cluster.logs.iterdir():
        for began_and_ended in times(path).values():
            moments = [moment for each in sorted(began_and_ended) for moment in each]
            assert moments == sorted(moments), "two cells were on one device"

    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")
    from test_executors import STUB

    alone = sweep_with(STUB, plan(*MODELS, processes=PROCESSES), tmp_path / "alone")
    for records in runs.values():
        assert {each.cell for each in records} == {each.cell for each in alone}
        assert {shape(each) for each in records} == {shape(each) for each in alone}
        assert {each.environment.torch for each in records} == {each.environment.torch for each in alone}


def times(log: Path) -> dict[str, list[tuple[float, float]]]:
    """Return when cells began and ended on each device of a node."""
    found: dict[str, list[tuple[float, float]]] = {}
    for line in log.read_text().splitlines():
        device, began, ended = line.split()
        found.setdefault(device, []).append((float(began), float(ended)))
    return found


@pytest.mark.skipif(not THOROUGH, reason="two real models are for the night: ATLAS_THOROUGH=1")
def test_a_model_measured_through_ray_gives_the_records_of_a_local_run(tmp_path: Path) -> None:
    """Uses a real worker. Comparing the latencies takes an idle machine and `python -m bench compare`."""
    pytest.importorskip("ray", reason='pip install -e ".[ray]"')
    runs: dict[str, list[Record]] = {}
    for executor in ("local", "ray"):
        out = ["--executor", executor, "--out", str(tmp_path / executor)]
        what = ["--device", "cpu", "--model", "ViT", "--shrunken", "--processes", "2", *out]
        done = bench("run", *what)
        assert done.returncode == 0, done.stdout + done.stderr
        (path,) = (tmp_path / executor).glob("*.jsonl")
        runs[executor] = list(read(path))
    local, ray = runs.values()
    assert [each.cell for each in ray] == [each.cell for each in local]
    assert [each.process for each in ray] == [each.process for each in local] == [0, 1]
    assert {each.plan for each in ray} == {each.plan for each in local}
    assert [layout(each) for each in ray] == [layout(each) for each in local]
    assert [kind(each.environment) for each in ray] == [kind(each.environment) for each in local]
    assert {each.node is None for each in local} == {True}
    assert {bool(each.node) for each in ray} == {True}
    compared = bench("compare", str(tmp_path / "local"), str(tmp_path / "ray"))
    assert compared.returncode in {0, 1}, compared.stderr


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bench", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def layout(record: Record) -> set[str]:
    """Return all nested fields of a record that are set, except those that depend on chance."""

    def names(value: object, place: str) -> Iterator[str]:
        if isinstance(value, dict):
            for name, each in value.items():
                yield from names(each, f"{place}.{name}")
        elif value is not None:
            yield place

    return set(names(msgspec.to_builtins(record), "")) - {".node", ".reason", ".flags"}


def shape(record: Record) -> frozenset[str]:
    """Return the fields of a record that are set, except those that a fleet adds."""
    found = {name for name, value in msgspec.to_builtins(record).items() if value is not None}
    return frozenset(found - {"node"})
