"""Operations by kind, with results known by hand, of modules and of checkpoints without weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers
from torch import nn

from bench.commands.command_line import main
from bench.errors import AtlasError
from bench.measuring.operations import OperationCounter
from bench.plans.messages import CountOperations, Recipe
from bench.records import operations as records
from bench.records.operations import NOTHING, Operations, Tally
from bench.running.executors import LocalProcesses
from bench.running.operations import count

RESNET_50 = ("timm/resnet50", (224, 224))


def counted(module: nn.Module, *shape: int) -> Operations:
    module = module.to("meta").eval()
    with torch.no_grad(), OperationCounter() as counter:
        module(torch.empty(shape, device="meta"))
    operations: Operations = counter.operations()
    return operations


def test_each_kind_of_convolution_is_told_from_the_others() -> None:
    found = counted(
        nn.Sequential(
            nn.Conv2d(3, 8, 3, bias=False),
            nn.Conv2d(8, 8, 3, bias=False),
            nn.Conv2d(8, 8, 1, bias=False),
            nn.Conv2d(8, 8, 3, groups=2, bias=False),
            nn.Conv2d(8, 8, 3, groups=8, bias=False),
        ),
        1, 3, 9, 9,
    )  # fmt: skip
    per_pixel = {"stem": 3 * 9, "convolution": 8 * 9, "pointwise": 8, "grouped": 4 * 9, "depthwise": 9}
    pixels = {"stem": 49, "convolution": 25, "pointwise": 25, "grouped": 9, "depthwise": 1}
    assert {kind: found.of(kind).flop for kind in records.CONVOLUTIONS} == {
        kind: 2 * 8 * pixels[kind] * per_pixel[kind] for kind in records.CONVOLUTIONS
    }
    assert found.activations == 8 * sum(pixels.values())
    assert found.fusible == NOTHING


def test_what_a_compiler_can_fuse_is_counted_by_kind() -> None:
    module = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.GELU(), nn.Softmax(1), nn.LayerNorm([2, 2]))
    found = counted(module, 1, 4, 2, 2)
    kinds = ("batch_norm", "clamp", "activation", "softmax", "layer_norm")
    assert [found.of(kind).count for kind in kinds] == [1] * 5  # type: ignore[arg-type]
    assert found.of("activation") == Tally(1, 2 * 16 * 4, 0)
    assert (found.flop, found.activations) == (0, 0)
    assert found.bytes == found.fusible.bytes


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    written = {("b", (2, 3)): Operations(parameters=5, activations=7, tallies={"product": Tally(1, 2, 3)})}
    records.write(written, tmp_path / "a.csv")
    assert records.read(tmp_path) == written


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("stem_count", "stems", "a.csv:1: its columns"),
        ("b,2,3", "b,2,-3", "a.csv:2: "),
        ("b,2,3", "b,2,x", "a.csv:2: "),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, before: str, after: str, told: str) -> None:
    operations = Operations(parameters=5, activations=7, tallies={})
    path = records.write({("b", (2, 3)): operations}, tmp_path / "a.csv")
    path.write_text(path.read_text().replace(before, after))
    with pytest.raises(AtlasError, match=told) as error:
        records.read(tmp_path)
    assert records.COMMAND in str(error.value)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that has a configuration and no weights."""
    folder = tmp_path_factory.mktemp("checkpoint") / "my-resnet"
    transformers.ResNetConfig(num_labels=1000).save_pretrained(folder)
    transformers.ConvNextImageProcessorPil(size={"shortest_edge": 224}, crop_pct=1.0).save_pretrained(folder)
    return folder


def test_a_checkpoint_without_weights_counts_like_the_same_model_of_timm(checkpoint: Path) -> None:
    recipe = Recipe(task="image-classification", checkpoint=str(checkpoint))
    ((source, found),) = count(LocalProcesses(), CountOperations(recipe=recipe), lambda _: None).counted
    assert source == (str(checkpoint), (224, 224))
    known = records.read()[RESNET_50]
    assert (found.flop, found.activations, found.parameters) == (known.flop, known.activations, known.parameters)
    assert found.of("batch_norm") == known.of("batch_norm")


def test_describe_prints_the_line_to_paste(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["describe", "--checkpoint", str(checkpoint)])
    assert ended.value.code == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "8.18 GFLOP, 11.1 M activations per image of 224×224;"
    assert printed[-1].startswith('{"flop":8178368512,"activations":11114984,"parameters":25557032,"operations":{')


def test_a_checkpoint_that_cannot_be_built_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["describe", "--checkpoint", str(tmp_path)])
    assert ended.value.code == 2
    assert "its configuration cannot be read" in capsys.readouterr().err


def test_the_committed_counts_agree_with_those_that_timm_prints() -> None:
    """Of the models that are computed at one size, timm's own count of multiply-accumulates is the same but for what
    either counter leaves out."""
    from bench.estimates import comparisons

    rows = comparisons.read().drop_duplicates(["checkpoint", "height"])
    known = rows[rows["operations"].notna()]
    ratio = known["operations"].map(lambda each: each.flop) / known["flop"]
    assert len(known) > 1500
    assert 0.99 < ratio.median() < 1.01
    assert ratio.between(0.9, 1.1).mean() > 0.9
