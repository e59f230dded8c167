"""The example programs: what they print, as captured, and as committed for the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import weekly

from bench.commands.examples import PROGRAMS, output_of
from bench.errors import AtlasError
from bench.records.documents import EXAMPLES, read_capture

COMMITTED = read_capture(EXAMPLES / "output.json")


def test_the_committed_output_is_that_of_the_programs_as_they_are() -> None:
    programs = {path.stem: path.read_text("utf-8") for path in PROGRAMS.glob("*.py")}
    assert COMMITTED.sources == programs, "capture the output again: python -m bench examples"
    assert COMMITTED.k_fold["difference"] < 1e-6, "eager and compiled training agree"
    text = (EXAMPLES / "output.json").read_text("utf-8")
    assert not re.search(r"(?<![\w.:/])/(?:home|root|usr|tmp|work|opt|var|Users)\b", text)


def test_a_function_with_a_branch_on_data_becomes_a_graph_on_each_side_of_the_break() -> None:
    found = output_of(PROGRAMS / "graphs.py")
    assert found.keys() == COMMITTED.graphs.keys()
    first, second = found["graphs"]
    assert "graphs.py" in first
    assert "torch.sin" in first
    assert "torch.relu" in second
    (only,) = found["breaks"]
    assert only["reason"] == "Data-dependent branching"
    assert re.fullmatch(r"graphs\.py:\d+", only["location"])
    assert "__resume_at" in found["rewritten"]
    assert "L['limit'] == 2.0" in found["guards"]
    assert found["recompile_reasons"][0] == "tensor 'x' size mismatch at index 0. expected 8, actual 12"
    assert "Sym(" in found["recompiled"][0], "the second size makes the size symbolic"


@weekly
def test_a_training_step_breaks_at_backward_and_at_the_optimizer() -> None:
    found = output_of(PROGRAMS / "training_step.py")
    assert found.keys() == COMMITTED.training_step.keys()
    assert [graph["operations"] for graph in found["graphs"]][::2] == [6, 1]
    assert "backward()" in found["breaks"][1]["reason"]
    assert found["breaks"][-1]["location"].startswith("torch/optim/optimizer.py:")
    assert "aten.addmm" in found["forward"]
    assert "aten.threshold_backward" in found["backward"]
    assert 0 < found["kernels"] < found["inductor_nodes"]


@weekly
def test_cross_validation_gives_the_same_errors_compiled() -> None:
    found = output_of(PROGRAMS / "k_fold.py")
    assert found.keys() == COMMITTED.k_fold.keys()
    assert len(found["eager"]["folds"]) == found["folds"]
    assert len(found["compiled"]["train_losses"]) == found["epochs"]
    assert found["difference"] < 1e-6


def test_a_program_that_fails_is_named_with_its_error(tmp_path: Path) -> None:
    program = tmp_path / "broken.py"
    program.write_text("import nothing_of_this_name")
    with pytest.raises(AtlasError, match="nothing_of_this_name") as error:
        output_of(program)
    assert error.value.where == str(program)
    assert "python" in error.value.remedy
