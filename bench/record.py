"""The values that travel from a measurement to a page, and their JSON Lines form.

A `Record` is what one process learned about one `Cell` (or what a publication says about it). A run
file holds one record a line and only ever grows; who reads it pools the processes of a cell.
Units are in the names: ``_ms``, ``_s``, ``_gb`` (1e9 bytes). Medians, intervals and speedups are not stored:
they are derived from the raw samples by `bench.statistics`, so a better statistic needs no new run.

    python -m bench check bench/results
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from bench import durable
from bench.errors import AtlasError

SCHEMA = 4
"""Version of the line format. Raise it when old readers would misread new lines; `_upgrade` converts old ones.

1: the first. 2: telemetry, work, peaks, energy, recompilations by batch size, and the seconds that a process took.
3: what other people's figures need: layout and autocast of a cell, published medians, throughput, an arm with a batch
of its own, files of a source; and who contributed a record. 4: the node of a fleet that measured it.
"""

RESULTS = Path(__file__).parent / "results"
"""Where committed records live: ``published/`` for imported figures, ``measured/`` for our own runs."""

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A longer line is refused: the raw samples of the longest permitted cell need less than a tenth of it."""

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

NOISY = frozenset({Status.THROTTLED, Status.UNSTABLE})
"""What the machine did to one process, and need not have done to the next."""

COMPARABLE = (Status.PASS, Status.UNSTABLE, Status.EAGER_TWO_RUNS_DIFFER)
"""Statuses whose latencies mean something: a wrong or throttled result keeps its figures, and is compared with none."""


UNEQUAL_BATCHES = "arms-differ-in-batch-size"
"""What an importer flags whose source measured the two arms with different batches: no speedup follows from these."""

DOCTOR = "doctor-"
"""Begins the flags that the complaints of `bench.doctor` become, such as ``doctor-load``."""


class _Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Frozen, compared by value, strict about unknown fields so that a typo in a record is found."""


class Cell(_Value, frozen=True):
    """One point of the grid: what is measured, apart from where and when."""

    model: str  # the label in tables, such as "ViT"
    checkpoint: str  # hub id, or the directory name of a local checkpoint
    task: Task
    device: str  # torch device type: cuda, xpu, mps, cpu
    dtype: str  # float32, float16, bfloat16; under autocast that of the operations which it chooses
    batch_size: int  # 0 where a source does not say with what batch it failed
    compile_mode: str  # default, reduce-overhead, max-autotune, max-autotune-no-cudagraphs
    dynamic: bool | None = None  # the `dynamic` argument of torch.compile; None lets Dynamo decide
    weights: Literal["random", "pretrained"] = "random"
    input_size: tuple[int, int] | None = None  # height and width in pixels
    autocast: bool = False  # weights stay float32, and operations choose between that and `dtype`
    channels_last: bool = False  # memory layout of weights and images: NHWC in place of NCHW

    @property
    def identity(self) -> Cell:
        """The cell apart from its input size, which for a foreign checkpoint is known only once it was measured."""
        return msgspec.structs.replace(self, input_size=None)


class Environment(_Value, frozen=True):
    """What a record was measured on. No host name, user, path or serial number."""

    device_name: str  # "NVIDIA A100-SXM4-80GB"; on a CPU its model name
    torch: str
    transformers: str | None = None
    python: str | None = None
    platform: str | None = None  # such as "Linux x86_64"
    memory_gb: float | None = None  # of the device; of the machine on a CPU
    cores: int | None = None  # CPU cores available to the process
    threads: int | None = None  # torch.get_num_threads()
    accelerator: str | None = None  # CUDA, ROCm, XPU… with version, such as "CUDA 13.0"
    driver: str | None = None
    triton: str | None = None
    commit: str | None = None  # of this project, with "-dirty" where the tree had changes
    settings: dict[str, str] = {}  # allocator, TF32, cuDNN, matmul precision: whatever moves a latency


class Arm(_Value, frozen=True):
    """Eager, or compiled: the latency of ``forward → synchronize`` on the wall clock.

    `rounds_ms` holds every call of every round, in order; round *i* of both arms was measured
    back to back. A published arm has what its source printed: a mean or a median, seldom its calls, in a single round.
    """

    rounds_ms: tuple[tuple[float, ...], ...] = ()
    published_mean_ms: float | None = None
    published_median_ms: float | None = None
    published_images_s: float | None = None  # throughput as printed: kept, and not what a latency is worked out from
    batch_size: int | None = None  # of this arm, where a source measured it with another than the cell's
    device_ms: tuple[float, ...] = ()  # CUDA events around an unsynchronised block, per call
    peak_memory_gb: float | None = None  # allocated by the arm on an accelerator; resident set on a CPU
    peak_reserved_gb: float | None = None
    minor_faults_per_call: float | None = None  # CPU only
    energy_j: float | None = None  # of the device, for one call of the whole batch

    @property
    def published_ms(self) -> float | None:
        """What the source printed for the latency: the median where there is one, else the mean."""
        return self.published_mean_ms if self.published_median_ms is None else self.published_median_ms


class Compilation(_Value, frozen=True):
    """What it costs until the compiled model is in steady state.

    `time_to_ready_s` is the first compiled calls minus what they cost in steady state, with an empty
    compile cache (cold) and in another process that finds the cache filled (warm).
    """

    cold_s: float | None = None
    warm_s: float | None = None
    phases_s: dict[str, float] = {}


class GraphBreak(_Value, frozen=True):
    """Why Dynamo ended a graph: its reason, and the line of model code."""

    reason: str
    location: str | None = None  # module path and line, below site-packages


class Graphs(_Value, frozen=True):
    """What Dynamo saw of the forward pass."""

    graphs: int
    breaks: tuple[GraphBreak, ...] = ()
    recompiles: int = 0
    cudagraph_skips: tuple[str, ...] = ()
    batch_size_recompiles: int | None = None  # frames that Dynamo traces again when other batch sizes follow


class Accuracy(_Value, frozen=True):
    """The compiled output against eager and against a higher-precision reference, worst output tensor."""

    max_relative_error: float
    rmse_eager: float | None = None
    rmse_compiled: float | None = None
    reference_dtype: str | None = None


class Work(_Value, frozen=True):
    """What one call of the whole batch has to do, counted while eager runs once."""

    flop: float  # floating-point operations: two for each multiply-accumulate
    traffic_bytes: float | None = None  # that eager's operations read and write, as if no cache held anything between
    streamed_bytes: float | None = None  # of that, by operations without a product or convolution: what fusing can save
    compiled_traffic_bytes: float | None = None  # of the compiled kernels, by Inductor's own account


class Peaks(_Value, frozen=True):
    """What the device reaches in this process and data type: the ceiling of any model."""

    matmul_flop_s: float  # of a large matrix product
    copy_bytes_s: float  # of a large copy: bytes read plus bytes written
    page_fault_s: float | None = None  # CPU only: the least that a minor page fault takes


class Telemetry(_Value, frozen=True):
    """What an accelerator said of itself between rounds, one reading after the other; empty where it says nothing."""

    clock_mhz: tuple[int, ...] = ()
    temperature_c: tuple[int, ...] = ()
    power_w: tuple[float, ...] = ()
    throttle_reasons: dict[str, int] = {}  # how many readings gave each
    repeated_rounds: int = 0  # thrown away, because the device was throttled meanwhile
    throttled_rounds: int = 0  # kept although it was
    unreadable: tuple[str, ...] = ()  # what could not be asked for


class Measurement(_Value, frozen=True):
    """What one process measured. Present whenever at least one arm has samples."""

    eager: Arm
    compiled: Arm | None = None
    compilation: Compilation | None = None
    graphs: Graphs | None = None
    accuracy: Accuracy | None = None
    warmup_calls: int | None = None
    stop_reason: str | None = None  # precision, rounds, time, published
    load_average: tuple[float, float] | None = None  # before and after, CPU only
    work: Work | None = None
    peaks: Peaks | None = None
    telemetry: Telemetry | None = None

    @property
    def is_comparable(self) -> bool:
        """Whether both arms were measured, with the same batch."""
        return self.compiled is not None and self.compiled.batch_size == self.eager.batch_size


class Source(_Value, frozen=True):
    """Where a published figure comes from."""

    title: str
    url: str
    date: str  # ISO 8601, as exact as it is known: 2023, 2023-07, 2023-07-13
    licence: str
    note: str | None = None
    files: tuple[str, ...] = ()  # names of the files that it was read from, without folders


class Record(_Value, frozen=True):
    """One line of a run file: one process of one cell."""

    schema: int
    run: str  # name of the run, and of its file
    origin: Origin
    profile: str
    process: int  # 0-based; the processes of a cell are pooled by the reader
    status: Status
    cell: Cell
    environment: Environment
    measured_at: datetime | None = None  # UTC; published records have Source.date
    reason: str | None = None  # one line, for every status but pass
    measurement: Measurement | None = None
    seconds: float | None = None  # that the process took from its start to its end: what a schedule is estimated from
    source: Source | None = None
    command: str | None = None  # what reproduces this cell
    contributor: str | None = None  # who brought it, as they want to be called
    node: str | None = None  # of a fleet: tells which records share a machine, and nothing else of it
    plan: str | None = None  # digest of profile and cells: another protocol under the same name is another plan
    flags: tuple[
        str, ...
    ] = ()  # what its importer could not know or found wrong, what spoils a measurement: closed identifiers

    @property
    def key(self) -> tuple[Any, ...]:
        """What may occur only once in a run: the cell on its environment, and the process."""
        environment = self.environment
        return (self.cell, environment.device_name, environment.torch, self.process)


def worst(processes: Sequence[Record]) -> Record:
    """The record that stands for its cell: that of the worst status. Noise counts where half of the processes or more
    had it: what it does to fewer is in the interval over processes."""
    noisy = sum(process.status in NOISY for process in processes)
    counted = [process for process in processes if process.status not in NOISY or 2 * noisy >= len(processes)]
    return min(counted, key=lambda process: WORST_FIRST.index(process.status))


def _upgrade(line: dict[str, Any]) -> dict[str, Any]:
    """Convert a line of an older schema."""
    if line["schema"] < SCHEMA:  # every version so far only added what is unknown of older lines
        line = {**line, "schema": SCHEMA}
    return line


def decode(line: bytes, where: str) -> Record:
    """One line as a `Record`; `where` is ``file:line`` for the message of the `AtlasError`."""
    if len(line) > MAX_LINE_BYTES:
        raise AtlasError(
            f"the line has {len(line):,} bytes, more than {MAX_LINE_BYTES:,}",
            where=where,
            remedy="remove the line, or measure the cell again",
        )
    try:
        raw = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AtlasError(
            f"not valid JSON: {error}",
            where=where,
            remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
        ) from None
    schema = raw.get("schema") if isinstance(raw, dict) else None
    if type(schema) is not int or not 1 <= schema <= SCHEMA:
        raise AtlasError(
            f"schema version {schema!r} is not known; this version reads 1 to {SCHEMA}",
            where=where,
            remedy="update Compile Atlas, or measure the cell again with this version",
        )
    try:
        return msgspec.convert(_upgrade(raw), Record)
    except msgspec.ValidationError as error:
        raise AtlasError(
            f"not a record: {error}",
            where=where,
            remedy="correct the field named after `$.`, or measure the cell again",
        ) from None


def read(path: Path) -> Iterator[Record]:
    """The records of one run file, in order.

    Raises `AtlasError` at the first bad line. What an interrupted write leaves behind is passed over (`finished`):
    `append` cuts it off before it writes again.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    for number, line in enumerate(finished(content), start=1):
        if line.strip():
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
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")


def run_files(results: Path) -> list[Path]:
    """Every run file below `results`, in a stable order. An existing file stands for itself."""
    return [results] if results.is_file() else sorted(results.rglob("*.jsonl"))
