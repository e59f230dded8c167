"""What the forward pass of a model does, by kind of operation, for one image. It is counted, not measured.

`read` takes a folder of CSV files, such as ``results/operations``, and returns the `Operations` of every model and
image size in them; `write` writes such a file. A model's name does not reveal what torch.compile can fuse; these counts
do.

    python -m bench operations
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from bench import durable
from bench.errors import AtlasError, unwritable
from bench.records.record import RESULTS

OPERATIONS = RESULTS / "operations"
"""The folder of committed files."""

COMMAND = "python -m bench operations"

Kind = Literal[
    "stem",  # a convolution of the image itself
    "convolution",  # one that mixes all channels over several pixels
    "pointwise",  # one of a single pixel
    "grouped",  # one within groups of channels
    "depthwise",  # one within each channel
    "product",  # of matrices
    "attention",  # a fused one
    "batch_norm",
    "layer_norm",  # and other normalization that depends on the image
    "softmax",
    "clamp",  # an activation function that compares alone, such as ReLU
    "activation",  # one that computes, such as GELU
    "reduction",  # a mean, pooling
    "move",  # a copy: concatenation, padding, indexing
    "elementwise",  # the rest: additions, products
]
KINDS: tuple[Kind, ...] = get_args(Kind)

CONVOLUTIONS: tuple[Kind, ...] = ("stem", "convolution", "pointwise", "grouped", "depthwise")

ARITHMETIC: tuple[Kind, ...] = (*CONVOLUTIONS, "product", "attention")
"""Kinds whose FLOP count; a compiler can fuse the others."""

Source = tuple[str, tuple[int, int]]
"""A checkpoint, and height and width of its image in pixels."""


class Tally(msgspec.Struct, frozen=True, array_like=True):
    """Sums over the operations of one kind."""

    count: int = 0
    bytes: int = 0  # read and written in float32, assuming no cache
    flop: int = 0  # a multiply-accumulate counts as two


NOTHING = Tally()


class Operations(msgspec.Struct, frozen=True, kw_only=True):
    """The operations of a forward pass with one image."""

    parameters: int
    activations: int  # elements that convolutions and matrix products write
    tallies: dict[Kind, Tally]  # without the kinds that do not occur

    def of(self, kind: Kind) -> Tally:
        """Return the sums of a kind."""
        return self.tallies.get(kind, NOTHING)

    @property
    def flop(self) -> int:
        """Floating-point operations."""
        return sum(self.of(kind).flop for kind in ARITHMETIC)

    @property
    def bytes(self) -> int:
        """Memory traffic of eager operations."""
        return sum(each.bytes for each in self.tallies.values())

    @property
    def fusible(self) -> Tally:
        """The sums of the kinds that a compiler can fuse."""
        fused = [self.of(kind) for kind in KINDS if kind not in ARITHMETIC]
        return Tally(sum(each.count for each in fused), sum(each.bytes for each in fused))

    @property
    def count(self) -> int:
        """How many operations there are."""
        return sum(each.count for each in self.tallies.values())


_COLUMNS = (
    *("checkpoint", "height", "width", "parameters", "activations"),
    *(f"{kind}_{what}" for kind in KINDS for what in ("count", "bytes", *(["flop"] if kind in ARITHMETIC else []))),
)


def read(folder: Path = OPERATIONS) -> dict[Source, Operations]:
    """Return the operations of every checkpoint and image size; those of the last file by name count.

    Raises `AtlasError` for a file that was not written by `write`.
    """
    files = map(read_file, sorted(folder.glob("*.csv")))
    return {source: each for file in files for source, each in file}


def read_file(path: Path) -> Sequence[tuple[Source, Operations]]:
    """Return the rows of one file. Raises `AtlasError` for one that was not written by `write`."""
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _read(path: Path, _modified_ns: int) -> Sequence[tuple[Source, Operations]]:
    """Return a file, which a preview needs again after each change of a record."""
    return tuple(_rows(path))


def _rows(path: Path) -> Iterator[tuple[Source, Operations]]:
    remedy = f"remove the file and create it again: {COMMAND}"
    try:
        rows = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8")), strict=True)
        lines = list(rows)
    except (OSError, UnicodeError, csv.Error) as error:
        raise AtlasError(f"cannot be read: {error}", where=str(path), remedy=remedy) from None
    if tuple(rows.fieldnames or ()) != _COLUMNS:
        raise AtlasError(f"its columns are not {', '.join(_COLUMNS)}", where=f"{path}:1", remedy=remedy)
    for line, row in enumerate(lines, start=2):
        try:
            yield _of_row(row)
        except (ValueError, TypeError) as error:
            raise AtlasError(str(error), where=f"{path}:{line}", remedy=remedy) from None


def _of_row(row: Mapping[str, str]) -> tuple[Source, Operations]:
    numbers = {name: int(text) for name, text in row.items() if name != "checkpoint"}
    if min(numbers.values()) < 0 or not numbers["height"] * numbers["width"]:
        raise ValueError("a count is negative, or a size is 0")
    tallies = {kind: Tally(*(numbers.get(f"{kind}_{what}", 0) for what in Tally.__struct_fields__)) for kind in KINDS}
    operations = Operations(
        parameters=numbers["parameters"],
        activations=numbers["activations"],
        tallies={kind: each for kind, each in tallies.items() if each.count},
    )
    return (row["checkpoint"], (numbers["height"], numbers["width"])), operations


def write(counted: Mapping[Source, Operations], path: Path) -> Path:
    """Write a file, sorted by checkpoint and size, and replace one of that name. Raises `AtlasError` if that fails."""
    text = io.StringIO()
    rows = csv.DictWriter(text, _COLUMNS, lineterminator="\n")
    rows.writeheader()
    rows.writerows(_row(source, operations) for source, operations in sorted(counted.items()))
    try:
        return durable.write(path, text.getvalue().encode())
    except OSError as error:
        raise unwritable(path, error) from None


def _row(source: Source, operations: Operations) -> dict[str, Any]:
    checkpoint, (height, width) = source
    row = {"checkpoint": checkpoint, "height": height, "width": width}
    row |= {"parameters": operations.parameters, "activations": operations.activations}
    for kind in KINDS:
        row |= {f"{kind}_{what}": value for what, value in msgspec.structs.asdict(operations.of(kind)).items()}
    return {name: row[name] for name in _COLUMNS}
