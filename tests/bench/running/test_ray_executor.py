"""A real Ray cluster of two nodes on this machine, with real workers: one node is lost, and every record arrives.

It takes minutes, so it belongs to the thorough tests, and needs Ray: `pip install -e ".[ray]"`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from conftest import ROOT, THOROUGH
from test_worker_process import NO_VECTORS, wait_until

from bench.commands import command_line
from bench.exchange.check import check
from bench.records.record import Status
from bench.records.run_file import read


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--executor", "ray"], 'pip install -e ".[ray]"'), (["--accelerator-type", "H100"], "add --executor ray")],
)
def test_what_cannot_be_done_is_said_with_its_remedy(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(SystemExit) as ended:
        command_line.main(["run", "--out", str(tmp_path), *arguments])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def measures(node: Any) -> bool:
    """Return whether a worker of ours runs on a node."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    for each in raylet.children(recursive=True):
        with suppress(psutil.Error):  # it has ended
            if "bench.measuring.worker" in each.cmdline():
                return True
    return False


@pytest.mark.skipif(not THOROUGH, reason="a real cluster is for the night: ATLAS_THOROUGH=1")
@pytest.mark.timeout(1200)
def test_a_node_is_lost_in_the_middle_and_every_record_arrives(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason='pip install -e ".[ray]"')
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 80 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    nodes = [cluster.add_node(num_cpus=1, **small) for _ in range(2)]
    command = [sys.executable, "-m", "bench", "run", "--executor", "ray", "--out", str(tmp_path), "--device", "cpu"]
    command += ["--model", "ViT", "ResNet", "--shrunken", "--processes", "2"]
    try:
        with subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **NO_VECTORS, "RAY_ADDRESS": cluster.address},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as driver:
            wait_until(lambda: list(tmp_path.glob("*.jsonl")) and all(map(measures, nodes)), seconds=300.0)
            cluster.remove_node(nodes[0], allow_graceful=False)
            said, _ = driver.communicate(timeout=900)
    finally:
        cluster.shutdown()
    assert driver.returncode == 0, said
    (path,) = tmp_path.glob("*.jsonl")
    records = list(read(path))
    assert Counter((each.cell.model, each.process) for each in records) == {
        (f"{model} (shrunken)", process): 1 for model in ("ViT", "ResNet") for process in range(2)
    }
    assert {each.status for each in records} <= {Status.PASS, Status.UNSTABLE}, said
    assert list(check([tmp_path])) == []
