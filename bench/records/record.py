"""The values that travel from a measurement to a page, and their JSON Lines form.

A `Record` is what one process learned about one `Cell` (or what a publication says about it). A run
file holds one record a line and only ever grows; who reads it pools the processes of a cell.
Units are in the names: ``_ms``, ``_s``, ``_gb`` (1e9 bytes). Medians, intervals and speedups are not stored:
they are derived from the raw samples by `bench.statistics.cells`, so a better statistic needs no new run.

    python -m bench check bench/results
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from enum import StrEnum
from itertools import count
from pathlib import Path
from typing import IO, Annotated, Any, Literal

import msgspec

from bench import durable
from bench.errors import AtlasError

SCHEMA = 5
"""Version of the line format. Raise it when old readers would misread new lines; `_upgrade` converts old ones.

1: the first. 2: telemetry, work, peaks, energy, recompilations by batch size, and the seconds that a process took.
3: what other people's figures need: layout and autocast of a cell, published medians, throughput, an variant with a
batch
of its own, files of a source; and who contributed a record. 4: the node of a fleet that measured it.
5: convolutions apart from other work, and a peak of their own.
"""

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
DEVICES = ("cuda", "xpu", "mps", "cpu")  # by torch's device type; the first that is present is the best
DTYPES = ("float32", "float16", "bfloat16")

RESULTS = Path(__file__).resolve().parent.parent / "results"
"""Where committed records live: ``published/`` for imported figures, ``measured/`` for our own runs."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is refused: the raw samples of the longest permitted cell need less than a tenth of it."""

# What a field may hold, whoever wrote the record: names become addresses, headings and commands that readers copy.

_NO_TEXT = r"\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ue000-\uf8ff\ufeff"
"""Controls, marks that turn the direction of text, and what fonts have no letters for."""
_MARKUP = r"<>`{}\\|$\";"

MAX_NAME, MAX_TEXT = 200, 4000
"""Longest name and longest text, in characters."""

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_NAME, pattern=rf"^(?=\S)[^{_NO_TEXT}{_MARKUP}]+\Z")]
"""Of a model, device or version: one line, without what would be markup, or another command, wherever it is shown."""
Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT, pattern=rf"^[^{_NO_TEXT}]*\Z")]
"""One line."""
Slug = Annotated[
    str,
    msgspec.Meta(
        max_length=MAX_NAME,
        pattern=r"^(?!(?i:con|prn|aux|nul|com\d|lpt\d)(?:\.|\Z))[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z",
    ),
]
"""Safe as the name of a file, on Windows too, and of a flag."""
Url = Annotated[str, msgspec.Meta(max_length=2000, pattern=r"^https?://[^\s<>\"'`{}\\]+\Z")]
Day = Annotated[str, msgspec.Meta(pattern=r"^(?:19|2[01])\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?\Z")]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
Whole = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e30)]
Number = Annotated[float, msgspec.Meta(ge=-1e30, le=1e30)]

Task = Literal["image-classification", "object-detection", "image-segmentation"]
Origin = Literal["measured", "published"]


class Status(StrEnum):
    """How a cell ended. Everything but `PASS` keeps its reason in `Record.reason`; none of them is a gap."""

    PASS = "pass"  # noqa: S105 - not a password
    FAIL_ACCURACY = "fail_accuracy"
    EAGER_TWO_RUNS_DIFFER = "eager_two_runs_differ"
    FAIL_TO_RUN = "fail_to_run"
    OOM = "oom"
    EAGER_OOM = "eager_oom"
    TIMEOUT = "timeout"
    CRASH = "crash"
    THROTTLED = "throttled"
    UNSTABLE = "unstable"
    SKIPPED = "skipped"


WORST_FIRST = (
    Status.EAGER_OOM,
    Status.OOM,
    Status.CRASH,
    Status.TIMEOUT,
    Status.FAIL_TO_RUN,
    Status.FAIL_ACCURACY,
    Status.THROTTLED,
    Status.UNSTABLE,
    Status.EAGER_TWO_RUNS_DIFFER,
    Status.SKIPPED,
    Status.PASS,
)
"""A cell has the worst status of its processes: see `worst`."""

NOISY = frozenset({Status.THROTTLED, Status.UNSTABLE, Status.SKIPPED})
"""What the machine did to one process, and need not have done to the next."""

COMPARABLE = (Status.PASS, Status.UNSTABLE, Status.EAGER_TWO_RUNS_DIFFER)
"""Statuses whose latencies mean something: a wrong or throttled result keeps its figures, and is compared with none."""


UNEQUAL_BATCHES = "arms-differ-in-batch-size"
"""What an importer flags whose source measured the two variants with different batches: no speedup follows from
these."""

DOCTOR = "doctor-"
"""Begins the flags that the complaints of `bench.measuring.doctor` become, such as ``doctor-load``."""


class _Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Frozen, compared by value, strict about unknown fields so that a typo in a record is found."""


class Cell(_Value, frozen=True):
    """One point of the grid: what is measured, apart from where and when."""

    model: Name  # the label in tables, such as "ViT"
    checkpoint: Name  # hub id, or the directory name of a local checkpoint
    task: Task
    device: Name  # torch device type: cuda, xpu, mps, cpu
    dtype: Name  # float32, float16, bfloat16; under autocast that of the operations which it chooses
    batch_size: Whole  # 0 where a source does not say with what batch it failed
    compile_mode: Name  # default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs
    dynamic: bool | None = None  # the `dynamic` argument of torch.compile; None lets Dynamo decide
    weights: Literal["random", "pretrained"] = "random"
    input_size: tuple[Whole, Whole] | None = None  # height and width in pixels
    autocast: bool = False  # weights stay float32, and operations choose between that and `dtype`
    channels_last: bool = False  # memory layout of weights and images: NHWC in place of NCHW

    @property
    def identity(self) -> Cell:
        """The cell apart from its input size, which for a foreign checkpoint is known only once it was measured."""
        return msgspec.structs.replace(self, input_size=None)


class Environment(_Value, frozen=True):
    """What a record was measured on. No host name, user, path or serial number."""

    device_name: Name  # "NVIDIA A100-SXM4-80GB"; on a CPU its model name
    torch: Name
    transformers: Name | None = None
    python: Name | None = None
    platform: Name | None = None  # such as "Linux x86_64"
    memory_gb: Number | None = None  # of the device; of the machine on a CPU
    cores: Whole | None = None  # CPU cores available to the process
    threads: Whole | None = None  # torch.get_num_threads()
    accelerator: Name | None = None  # CUDA, ROCm, XPU… with version, such as "CUDA 13.0"
    driver: Name | None = None
    triton: Name | None = None
    commit: Name | None = None  # of this project, with "-dirty" where the tree had changes
    settings: dict[Text, Text] = {}  # allocator, TF32, cuDNN, matmul precision: whatever moves a latency


class Variant(_Value, frozen=True):
    """Eager, or compiled: the latency of ``forward → synchronize`` on the wall clock.

    `rounds_ms` holds every call of every round, in order; round *i* of both variants was measured
    back to back. A published variant has what its source printed: a mean or a median, seldom its calls, in a single
    round.
    """

    rounds_ms: tuple[Annotated[tuple[Number, ...], msgspec.Meta(min_length=1)], ...] = ()
    published_mean_ms: Number | None = None
    published_median_ms: Number | None = None
    published_images_s: Number | None = None  # throughput as printed: kept, and not what a latency is worked out from
    batch_size: Whole | None = None  # of this variant, where a source measured it with another than the cell's
    device_ms: tuple[Number, ...] = ()  # CUDA events around an unsynchronised block, per call
    peak_memory_gb: Number | None = None  # allocated by the variant on an accelerator; resident set on a CPU
    peak_reserved_gb: Number | None = None
    minor_faults_per_call: Number | None = None  # CPU only
    energy_j: Number | None = None  # of the device, for one call of the whole batch

    @property
    def published_ms(self) -> float | None:
        """What the source printed for the latency: the median where there is one, else the mean."""
        return self.published_mean_ms if self.published_median_ms is None else self.published_median_ms


PHASES = ("dynamo", "aot_autograd", "inductor")
"""Of compiling: tracing Python, lowering to a joint graph, and generating code."""


class Compilation(_Value, frozen=True):
    """What it costs until the compiled model is in steady state.

    `time_to_ready_s` is the first compiled calls minus what they cost in steady state, with an empty
    compile cache (cold) and in another process that finds the cache filled (warm). `phases_s` says for each of `PHASES`
    how many of these seconds it took.
    """

    cold_s: Number | None = None
    warm_s: Number | None = None
    phases_s: dict[Text, Number] = {}


class GraphBreak(_Value, frozen=True):
    """Why Dynamo ended a graph: its reason, and the line of model code."""

    reason: Text
    location: Text | None = None  # module path and line, below site-packages


class Graphs(_Value, frozen=True):
    """What Dynamo saw of the forward pass."""

    graphs: Whole
    breaks: tuple[GraphBreak, ...] = ()
    recompiles: Whole = 0
    cudagraph_skips: tuple[Text, ...] = ()
    batch_size_recompiles: Whole | None = None  # frames that Dynamo traces again when other batch sizes follow


class Accuracy(_Value, frozen=True):
    """The compiled output against eager and against a higher-precision reference, worst output tensor."""

    max_relative_error: Number
    rmse_eager: Number | None = None
    rmse_compiled: Number | None = None
    reference_dtype: Name | None = None


class Work(_Value, frozen=True):
    """What one call of the whole batch has to do, counted while eager runs once."""

    flop: Number  # floating-point operations: two for each multiply-accumulate
    traffic_bytes: Number | None = None  # that eager's operations read and write, as if no cache held anything between
    streamed_bytes: Number | None = (
        None  # of that, by operations without a product or convolution: what fusing can save
    )
    compiled_traffic_bytes: Number | None = None  # of the compiled kernels, by Inductor's own account
    convolution_flop: Number | None = None  # of `flop`, those of convolutions


class Peaks(_Value, frozen=True):
    """What the device reaches in this process and data type: the ceiling of any model."""

    matmul_flop_s: Positive  # of a large matrix product
    copy_bytes_s: Positive  # of a large copy: bytes read plus bytes written
    page_fault_s: Number | None = None  # CPU only: the least that a minor page fault takes
    convolution_flop_s: Positive | None = None  # of a large matrix product in TF32, where convolutions alone may use it


class Telemetry(_Value, frozen=True):
    """What an accelerator said of itself between rounds, one reading after the other; empty where it says nothing.

    Of a CPU only how many rounds other programs disturbed.
    """

    clock_mhz: tuple[Whole, ...] = ()
    temperature_c: tuple[Whole, ...] = ()
    power_w: tuple[Number, ...] = ()
    throttle_reasons: dict[Text, Whole] = {}  # how many readings gave each
    repeated_rounds: Whole = 0  # thrown away, because the device was throttled or used by others meanwhile
    throttled_rounds: Whole = 0  # kept although it was
    unreadable: tuple[Text, ...] = ()  # what could not be asked for


class Measurement(_Value, frozen=True):
    """What one process measured. Present whenever at least one variant has samples."""

    eager: Variant
    compiled: Variant | None = None
    compilation: Compilation | None = None
    graphs: Graphs | None = None
    accuracy: Accuracy | None = None
    warmup_calls: Whole | None = None
    stop_reason: Name | None = None  # precision, rounds, time, published
    load_average: tuple[Number, Number] | None = None  # before and after, CPU only
    work: Work | None = None
    peaks: Peaks | None = None
    telemetry: Telemetry | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether both variants were measured, with the same batch."""
        return self.compiled is not None and self.compiled.batch_size == self.eager.batch_size


class Source(_Value, frozen=True):
    """Where a published figure comes from."""

    title: Text
    url: Url
    date: Day  # ISO 8601, as exact as it is known: 2023, 2023-07, 2023-07-13
    licence: Text
    note: Text | None = None
    files: tuple[Text, ...] = ()  # names of the files that it was read from, without folders


class Record(_Value, frozen=True):
    """One line of a run file: one process of one cell."""

    schema: int
    run: Slug  # name of the run, and of its file
    origin: Origin
    profile: Name
    process: Whole  # 0-based; the processes of a cell are pooled by the reader
    status: Status
    cell: Cell
    environment: Environment
    measured_at: Moment | None = None  # UTC; published records have Source.date
    reason: Text | None = None  # one line, for every status but pass
    measurement: Measurement | None = None
    seconds: Number | None = None  # that the process took from its start to its end: what a schedule is estimated from
    source: Source | None = None
    command: Text | None = None  # what reproduces this cell
    contributor: Text | None = None  # who brought it, as they want to be called
    node: Name | None = None  # of a fleet: tells which records share a machine, and nothing else of it
    plan: Name | None = None  # digest of profile and cells: another protocol under the same name is another plan
    flags: tuple[
        Slug, ...
    ] = ()  # what its importer could not know or found wrong, what spoils a measurement: closed identifiers

    @property
    def key(self) -> tuple[Any, ...]:
        """What may occur only once in a run: the cell on its environment, and the process."""
        environment = self.environment
        return (self.cell, environment.device_name, environment.torch, self.process)


def gave_nothing(record: Record) -> bool:
    """Whether the process gave no pair of latencies."""
    return record.measurement is None or record.measurement.compiled is None


def worst(processes: Sequence[Record]) -> Record:
    """The record that stands for its cell, whose processes are in the order in which they ran: see `standing`."""
    return processes[standing([each.status for each in processes], [not gave_nothing(each) for each in processes])]


def standing(statuses: Sequence[Status], gave: Sequence[bool]) -> int:
    """The position of the process that stands for its cell: that of the worst status. `gave` says which of them gave a
    pair of latencies.

    Noise counts where half of the processes or more had it: what it does to fewer is in the interval over processes.
    What failed before the first pair does not count: nothing follows a failure unless somebody asks for it again.
    """
    first = next((at for at, is_pair in enumerate(gave) if is_pair), 0)
    counted = range(first, len(statuses))
    noisy = sum(statuses[at] in NOISY for at in counted)
    kept = [at for at in counted if statuses[at] not in NOISY or 2 * noisy >= len(counted)]
    return min(kept, key=lambda at: WORST_FIRST.index(statuses[at]))


def _upgrade(line: dict[str, Any]) -> dict[str, Any]:
    """Convert a line of an older schema."""
    if line["schema"] < SCHEMA:  # every version so far only added what is unknown of older lines
        line = {**line, "schema": SCHEMA}
    return line


class _Versioned(msgspec.Struct):
    schema: Any = None


def decode(line: bytes, where: str) -> Record:
    """One line as a `Record`; `where` is ``file:line`` for the message of the `AtlasError`."""
    if len(line.rstrip(b"\n")) > MAX_LINE_BYTES:
        raise _too_long(where)
    try:
        schema = msgspec.json.decode(line, type=_Versioned).schema
        if type(schema) is not int or not 1 <= schema <= SCHEMA:
            shown = f"{schema!r:.40}"
            raise AtlasError(
                f"schema version {shown} is not known; this version reads 1 to {SCHEMA}",
                where=where,
                remedy="update Compile Atlas, or measure the cell again with this version",
            )
        if schema == SCHEMA:  # straight into its type, which takes no more memory than a record has
            record = msgspec.json.decode(line, type=Record)
        else:
            record = msgspec.convert(_upgrade(msgspec.json.decode(line)), Record)
    except msgspec.ValidationError as error:
        raise no_record(error, where, "measure the cell again") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise AtlasError(
            f"not valid JSON: {error}",
            where=where,
            remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
        ) from None
    _refuse_other_days(record, where)
    return record


def no_record(error: msgspec.ValidationError, where: str, otherwise: str) -> AtlasError:
    """What is wrong with something that should be a record: the advice is to correct the field, or what is said."""
    what = _PATTERN.sub("a sign that has no place there, or another form than it has to have", str(error))
    return AtlasError(
        f"not a record: {what}", where=where, remedy=f"correct the field named after `$.`, or {otherwise}"
    )


_PATTERN = re.compile(r"Expected `str` matching regex .*?(?= - at |\Z)", re.DOTALL)


def _refuse_other_days(record: Record, where: str) -> None:
    """Dates that no calendar has, and times that no computer will have measured at."""
    try:
        if record.source:
            date(*[*map(int, record.source.date.split("-")), 1, 1][:3])
        is_fine = record.measured_at is None or 2000 <= record.measured_at.year < 2200
    except ValueError:
        is_fine = False
    if not is_fine:
        field = "$.source.date" if record.source else "$.measured_at"
        raise AtlasError(
            f"not a record: no such day - at `{field}`",
            where=where,
            remedy="correct the date, or measure the cell again",
        )


def _too_long(where: str) -> AtlasError:
    return AtlasError(
        f"the line has more than {MAX_LINE_BYTES:,} bytes",
        where=where,
        remedy="remove the line, or measure the cell again",
    )


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a run file that hold something, with their numbers: no more than two are in memory.

    What an interrupted write leaves behind (see `finished`) has no newline. Raises `AtlasError` for a file that can't
    be read, and for a line that is too long.
    """
    before = b""
    try:
        with path.open("rb") as file:
            for number in count(1):
                line = file.readline(MAX_LINE_BYTES + 2)
                is_last = not line.endswith(b"\n")
                if before.strip():
                    yield number - 1, before.rstrip(b"\n") if is_last and b"\0" in before else before
                if len(line) > MAX_LINE_BYTES + 1:
                    raise _too_long(f"{path}:{number}")
                if is_last:
                    break
                before = line
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    if line.strip():
        yield number, line


def read(path: Path) -> Iterator[Record]:
    """The records of one run file, in order.

    Raises `AtlasError` at the first bad line. What an interrupted write leaves behind is passed over: `append` cuts it
    off before it writes again.
    """
    for number, line in lines(path):
        if line.endswith(b"\n"):
            yield decode(line, f"{path}:{number}")


def finished(content: bytes) -> list[bytes]:
    """The lines of a run file that were written to their end, without their newlines.

    A write that was interrupted leaves a last line without a newline; or, where the power went before all of it was on
    the disk, one with bytes of zero, as which the file system shows what it never received.
    """
    lines = content.split(b"\n")[:-1]
    return lines[:-1] if lines and b"\0" in lines[-1] else lines


def encode(record: Record) -> bytes:
    """One line, newline included: compact JSON with fields in their declared order."""
    return msgspec.json.encode(record) + b"\n"


def append(path: Path, records: Iterable[Record]) -> None:
    """Add records to a run file so that a kill or a power cut at any moment loses at most the line being written.

    Each line is written whole and fsynced; the torn last line of an earlier, interrupted write is cut off first. Raises
    `OSError`, and leaves no more than such a line.
    """
    durable.make_folder(path.parent)
    with path.open("a+b") as file:
        if not _cut_torn_line(file):
            durable.sync_folder(path.parent)  # the file is new, and so is its name
        for record in records:
            file.write(encode(record))
            file.flush()
            os.fsync(file.fileno())


def _cut_torn_line(file: IO[bytes]) -> int:
    """How many bytes are left."""
    file.seek(0)
    content = file.read()
    keep = sum(len(line) + 1 for line in finished(content))
    if keep != len(content):
        file.truncate(keep)
    file.seek(keep)
    return keep


def file_slug(text: str) -> str:
    """A name for a run, and so for a file: small letters, digits, points and hyphens."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())[:MAX_NAME].strip("-.")


_NO_NAME = re.compile(f"[{_NO_TEXT}{_MARKUP}]")


def as_name(text: str) -> str:
    """`text` as a `Name`: what a machine or a folder calls itself, less what names can't have."""
    return " ".join(_NO_NAME.sub(" ", text).split())[:MAX_NAME].strip() or "?"


def run_files(results: Path) -> list[Path]:
    """Every run file below `results`, in a stable order. An existing file stands for itself."""
    return [results] if results.is_file() else sorted(path for path in results.rglob("*.jsonl") if path.is_file())
