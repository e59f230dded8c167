"""Exports: a table has one row per record."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from atlas_data import measured, rounds, telling
from test_command_line import bench

from bench.exchange.transfer import export
from bench.records.record import RESULTS, Measurement, Samples, Status
from bench.records.run_file import append, compressed

KINDS = [
    measured(figures=telling()),
    measured(
        process=1, status=Status.OOM, reason="too large", figures=Measurement(eager=Samples(rounds_ms=rounds(9.0)))
    ),
    measured(process=2, status=Status.CRASH, reason="killed by SIGSEGV"),
]


def test_a_table_has_a_column_a_field_and_figures_that_follow(tmp_path: Path) -> None:
    append(tmp_path / "run-1.jsonl", KINDS)
    published = RESULTS / "published" / "huggingface-2023.jsonl"
    out = tmp_path / "new" / "records.csv"
    assert export([tmp_path / "run-1.jsonl", published], out) == 3 + 136
    table = pd.read_csv(out)
    first, oom, crash = (table.iloc[row] for row in range(3))
    assert (first["cell.model"], first["cell.batch_size"], first["status"]) == ("ViT", 1, "pass")
    assert first["derived.speedup"] == pytest.approx(10 / 8, rel=0.05)
    samples = first["measurement.eager.rounds_ms"]
    assert list(json.loads(samples)[0]) == list(rounds(10.0)[0])
    assert (oom["reason"], crash["reason"]) == ("too large", "killed by SIGSEGV")
    assert pd.isna(crash["derived.eager_ms"])


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append(tmp_path / "run-1.jsonl", KINDS)
    out = tmp_path / "records.csv"
    assert bench("export", str(tmp_path / "run-1.jsonl"), "--out", str(out)) == 0
    assert f"3 records: {out}" in capsys.readouterr().out
    packed, plain = tmp_path / "run-1.jsonl.gz", out.read_bytes()
    packed.write_bytes(compressed((tmp_path / "run-1.jsonl").read_bytes()))
    assert bench("export", str(packed), "--out", str(out)) == 0
    assert out.read_bytes() == plain
    for arguments, says in (
        (("export", str(tmp_path / "nowhere"), "--out", str(out)), "no such file"),
        (("export", str(out), "--out", str(out)), "records.csv:1"),
        (("import", "timm"), "Missing argument 'FILES...'"),
    ):
        assert bench(*arguments) == 2
        assert says in capsys.readouterr().err
