"""The self-check: on this CPU, with a worker whose eager runs differ, its document and its command."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from test_worker_process import NO_VECTORS

from bench.commands import command_line
from bench.exchange import check as exchange
from bench.plans.messages import CellOutcome, CheckSelf, Job, Machine, Preflight, Recipe, SelfChecked
from bench.plans.profiles import QUICK
from bench.records import documents
from bench.records.documents import SCHEMA, Check, Selfcheck
from bench.records.record import Compilation, Environment, Graphs, Measurement, Samples, Status
from bench.running import selfcheck as running
from bench.running.worker_process import WorkerExit, run_worker

RECIPE = Recipe(model="ViT", task="image-classification", shrunken=True)


def selfcheck(*, device: str = "cpu", day: int = 2, **changes: Any) -> Selfcheck:
    plain = Selfcheck(
        schema=SCHEMA,
        taken_at=datetime(2026, 1, day, tzinfo=UTC),
        environment=Environment(device_name=f"Some {device}", torch="2.13.0+cpu", commit="abc"),
        device=device,
        model="ViT",
        checks=(
            Check(name="eager_against_eager", has_passed=True, figure=1.002, low=0.996, high=1.008),
            Check(name="timer", has_passed=False, variant="compiled", figure=1.2, low=1.1, high=1.3),
            Check(name="replays", has_passed=None),
        ),
    )
    return msgspec.structs.replace(plain, **changes)


def test_on_this_cpu_every_check_that_a_cpu_allows_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in NO_VECTORS.items():  # compiling takes half the time
        monkeypatch.setenv(variable, value)
    sampling = msgspec.structs.replace(QUICK.sampling, max_s=0.3, min_s=0.1, warmup_s=0.1, warmup_cap_s=0.2)
    profile = msgspec.structs.replace(QUICK, sampling=sampling)
    found = running.check(run_worker, "cpu", RECIPE, print, profile)
    checks = {(each.name, each.variant): each for each in found.checks}
    assert checks.keys() == {
        *(("eager_against_eager", None), ("timer", "eager"), ("timer", "compiled")),
        *(("busy_time", "eager"), ("busy_time", "compiled"), ("replays", None), ("caches", None)),
    }
    assert checks["replays", None].has_passed is None
    assert checks["caches", None].has_passed, "a warm start compiles nothing"
    for variant in ("eager", "compiled"):
        assert checks["busy_time", variant].has_passed, "operators take no longer than the call"
    documents.write_selfcheck(found, tmp_path / "selfcheck")
    assert documents.newest_of_each_device(tmp_path) == (found,)
    assert not list(exchange.check([tmp_path]))


class Stub:
    """A worker on a GPU that answers at once. `twin` is the latency of eager as its own rival, which has 10 ms."""

    def __init__(self, *, twin_ms: float = 10.0, warm_s: float = 1.0, replays: int = 1) -> None:
        self.twin_ms, self.warm_s, self.replays = twin_ms, warm_s, replays

    def __call__(self, request: Any, **_: Any) -> WorkerExit:
        return WorkerExit(1.0, answer=self.answer(request), returncode=0)

    def answer(self, request: Any) -> Machine | CellOutcome | SelfChecked:
        if isinstance(request, Preflight):
            return Machine(device="cuda", environment=Environment(device_name="H100", torch="2.13.0"))
        if isinstance(request, CheckSelf):
            return SelfChecked(measurement=rounds(10.0, self.twin_ms))
        assert isinstance(request, Job)
        measurement = msgspec.structs.replace(
            rounds(10.0, 5.0),
            compilation=Compilation(ready_s={"warm": self.warm_s} if request.start == "warm" else {"cold": 5.0}),
            graphs=Graphs(graphs=1, replays=self.replays if request.cell.compile_mode == "reduce-overhead" else None),
        )
        return CellOutcome(status=Status.PASS, measurement=measurement)


def rounds(eager_ms: float, compiled_ms: float) -> Measurement:
    noise = [0.998, 1.002, 1.001, 0.999, 1.003, 0.997]
    eager, compiled = (
        Samples(rounds_ms=tuple((latency_ms * each,) for each in order))
        for latency_ms, order in ((eager_ms, noise), (compiled_ms, noise[::-1]))
    )
    return Measurement(eager=eager, compiled=compiled)


@pytest.mark.parametrize(
    ("wrong", "failed"),
    [
        ({}, []),
        ({"twin_ms": 9.5}, ["eager_against_eager"]),
        ({"warm_s": 6.0}, ["caches"]),
        ({"replays": 0}, ["replays"]),
    ],
)
def test_what_is_wrong_fails_and_nothing_else(wrong: dict[str, Any], failed: list[str]) -> None:
    found = running.check(Stub(**wrong), None, RECIPE, print, QUICK)
    assert [each.name for each in found.checks if not each.has_passed] == failed


def test_the_command_names_what_failed_and_writes_the_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(running, "check", lambda *_: selfcheck())
    with pytest.raises(SystemExit) as ended:
        command_line.main(["selfcheck", "--out", str(tmp_path / "selfcheck")])
    assert ended.value.code == 1
    assert (tmp_path / "selfcheck" / "2026-01-02_some-cpu.json").is_file()
    passed, wrong, absent, _ = capsys.readouterr().out.splitlines()
    assert passed.split() == ["passed", "eager", "against", "eager", "1.002", "(0.996", "to", "1.008)"]
    assert wrong.split() == ["FAILED", "timer", "(compiled)", "1.200", "(1.100", "to", "1.300)"]
    assert absent.split() == ["not", "applicable", "replays"]


def test_the_newest_of_each_device_is_read_back(tmp_path: Path) -> None:
    old, new, other = selfcheck(day=1), selfcheck(day=2), selfcheck(device="cuda", day=1)
    for each in (new, old, other):
        documents.write_selfcheck(each, tmp_path / "selfcheck")
    assert documents.newest_of_each_device(tmp_path) == (other, new)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('"has_passed": true', '"has_passed": "yes"', "has_passed"),
        ('"device": "cpu"', '"device": "cpu", "host": "x"', "host"),
        ('"schema": 1', '"schema": 7', "$.schema"),
    ],
)
def test_a_document_is_checked(tmp_path: Path, before: str, after: str, problem: str) -> None:
    path = documents.write_selfcheck(selfcheck(), tmp_path / "selfcheck")
    path.write_text(json.dumps(json.loads(path.read_bytes())).replace(before, after))
    [found] = exchange.check([path])
    assert problem in found.what
    assert "python -m bench selfcheck" in found.remedy
