"""The walkthrough of TorchDynamo: what it captures, and a record without private details."""

from __future__ import annotations

import getpass
import re
import socket
from pathlib import Path

import msgspec
import pytest
from conftest import weekly

from bench.errors import AtlasError
from bench.records import walkthrough
from bench.records.walkthrough import WALKTHROUGHS

COMMITTED = sorted(WALKTHROUGHS.glob("*.json"))


def test_a_function_with_a_branch_on_data_becomes_a_graph_on_each_side_of_the_break() -> None:
    from bench.measuring.dynamo_walkthrough import _function

    found = _function()
    assert "if y.sum() > 0:" in found.source
    first, second = found.graphs
    assert (first.function, first.operations) == ("soften", 4)
    assert second.function.startswith("torch_dynamo_resume_in_soften")
    assert "torch.sin" in (first.code or "")
    assert "torch.relu" in (second.code or "")
    (only,) = found.breaks
    assert only.reason == "Data-dependent branching"
    assert re.fullmatch(r"dynamo_walkthrough\.py:\d+", only.location)
    assert re.search(r"__compiled_fn_\d+\n", found.rewritten)
    assert "__resume_at" in found.rewritten
    assert "L['limit'] == 2.0" in found.guards
    assert not any(re.search(r"\d{9}", guard) for guard in found.guards), "identities of objects"
    assert "size mismatch at index 0. expected 8, actual 12" in found.recompile_reasons[0]
    assert "Sym(" in (found.recompiled[0].code or ""), "the second size makes the size symbolic"


@weekly
def test_a_step_of_training_breaks_at_backward_and_at_the_optimizer() -> None:
    from bench.measuring.dynamo_walkthrough import _traced_step

    graphs, breaks, lowered = _traced_step()
    forward, adam, loss = graphs
    assert (forward.operations, adam.function, loss.operations) == (6, "step", 1)
    reasons = " ".join(f"{each.reason} {each.explanation}" for each in breaks)
    assert "zero_grad" in reasons
    assert "backward()" in reasons
    assert any(each.location.startswith("torch/optim/optimizer.py:") for each in breaks)
    assert "aten.addmm" in lowered["forward"]
    assert "aten.threshold_backward" in lowered["backward"]


def test_folds_are_disjoint_and_cover_everything() -> None:
    from bench.measuring.dynamo_walkthrough import k_fold

    folds = list(k_fold(20, 5))
    assert sorted(int(each) for _, validation in folds for each in validation) == list(range(20))
    assert all(not set(train.tolist()) & set(validation.tolist()) for train, validation in folds)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_walkthroughs_can_be_read_and_name_no_machine(path: Path) -> None:
    taken = walkthrough.read(path)
    assert taken.name == path.stem
    assert taken.example.agrees
    text = path.read_text("utf-8")
    assert not re.search(r"(?<![\w.:/])/(?:home|root|usr|tmp|work|opt|var|Users)\b", text)
    for private in (socket.gethostname(), getpass.getuser()):
        if len(private) > 2 and private not in ("root", "localhost"):
            assert private not in text


def test_a_walkthrough_survives_its_file_and_the_newest_is_taken(tmp_path: Path) -> None:
    old = walkthrough.read(COMMITTED[-1])
    new = msgspec.structs.replace(old, name="2999-01-01_torch-9", taken_at=old.taken_at.replace(year=2999))
    for each in (new, old):
        path = walkthrough.write(each, tmp_path / "walkthroughs")
        assert walkthrough.read(path) == each
    assert walkthrough.newest(tmp_path) == new
    assert {path.suffix for path in (tmp_path / "walkthroughs").iterdir()} == {".json"}, "nothing half written"
    assert walkthrough.newest(tmp_path / "elsewhere") is None


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"schema": 99}', b'{"schema": 1}'])
def test_a_file_that_is_no_walkthrough_is_refused_with_the_remedy(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(AtlasError, match="dynamo-walkthrough"):
        walkthrough.read(path)
