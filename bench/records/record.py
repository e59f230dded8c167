"""The types that travel from a measurement to a page. `bench.records.run_file` reads and writes them.

A `Record` holds what one process measured of one `Cell`, or what a publication reports about it. Readers pool the
processes of a cell. Units are part of the names: ``_ms``, ``_s``, ``_gb`` (1e9 bytes). Records store raw samples, not
medians, intervals or speedups: `bench.statistics` derives those, so a better statistic needs no new run.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

SCHEMA = 13
"""Version of the line format. Raise it if old readers would misread new lines; `run_file` converts old ones.

11: the variant instead of compile mode and dynamic shapes; gradient mode; chip of the CPU; time to ready by start.
12: first answers, what a start needs, calls of several sizes.
13: threads as a coordinate; two tasks; heads with random weights.
Each version before added optional fields, which lines of older versions lack.
"""

COMPILE_MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
SHAPES = {"auto": "", "true": ":dynamic", "false": ":static", "marked": ":marked"}
"""How a compiled variant treats sizes, and how its name says so: Dynamo decides, all vary, none does, or the batch size
alone varies."""
DEVICES = ("cuda", "xpu", "mps", "cpu")  # torch device types, the preferred one first
DTYPES = ("float32", "float16", "bfloat16")

RESULTS = Path(__file__).resolve().parent.parent / "results"
"""The folder of committed records: ``published/`` for imported figures, ``measured/`` for runs of this project."""

LONGEST_NAME = 80
"""The longest name of a local checkpoint in characters, so that it fits into a table."""

MAX_NAME = 200

# Names become addresses, headings, and commands that readers copy.
_CONTROL = r"\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ue000-\uf8ff\ufeff"
"""Control characters, invisible ones, those that turn the direction of text, and those for private use."""
_MARKUP = r"<>`{}\\|$\";"

Name = Annotated[str, Meta(max_length=MAX_NAME, pattern=rf"^(?=\S)[^{_CONTROL}{_MARKUP}]+(?<=\S)\Z")]
"""The name of a model, device or version: one line without the characters of markup and shell syntax."""
Text = Annotated[str, Meta(max_length=4000, pattern=rf"^[^{_CONTROL}]*\Z")]
"""One line of text."""
Slug = Annotated[str, Meta(max_length=MAX_NAME, pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?\Z")]
"""The name of a file, run or flag."""
Digest = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
"""A SHA-256 digest in hexadecimal digits."""
Url = Annotated[str, Meta(max_length=2000, pattern=r"^https?://[^\s<>\"'`{}\\]+\Z")]
Day = Annotated[str, Meta(pattern=r"^2[01]\d\d(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?\Z")]
Moment = Annotated[datetime, Meta(tz=True)]
Device = Annotated[str, Meta(pattern=rf"^(?:{'|'.join(DEVICES)})\Z")]
DType = Annotated[str, Meta(pattern=rf"^(?:{'|'.join(DTYPES)})\Z")]

# The range of every number, which a mistake of units leaves. `bench.exchange.check` finds other mistakes.
Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Images = Annotated[int, Meta(ge=0, le=2**24)]
Pixels = Annotated[int, Meta(ge=1, le=2**16)]
Celsius = Annotated[int, Meta(ge=-100, le=200)]
Milliseconds = Annotated[float, Meta(ge=1e-6, le=1e9)]  # a nanosecond to eleven days
Seconds = Annotated[float, Meta(ge=0, le=1e7)]
PerSecond = Annotated[float, Meta(ge=1e-6, le=1e17)]  # images, FLOP or bytes
Gigabytes = Annotated[float, Meta(ge=0, le=1e6)]
Amount = Annotated[float, Meta(ge=0, le=1e30)]  # of FLOP, bytes or parameters; an error, as large as it comes out

GradMode = Literal["inference_mode", "no_grad"]
Start = Literal["cold", "warm", "artifacts", "loaded"]
"""How a process began: with an empty compile cache, with a filled one, with saved artifacts, with a loaded program."""
Sizes = Literal["batches", "images"]
"""The size that varies over a sequence of calls: of the batch, or of the images."""
Task = Literal[
    "image-classification",
    "object-detection",
    "image-segmentation",
    "depth-estimation",
    "image-feature-extraction",
]
"""What a model is for, as pipelines of Transformers call it."""
Origin = Literal["measured", "published"]


class Status(StrEnum):
    """How a cell ended, the worst first. Every status but `PASS` has its reason in `Record.reason`."""

    EAGER_OOM = "eager_oom"
    OOM = "oom"
    CRASH = "crash"
    TIMEOUT = "timeout"
    FAIL_TO_RUN = "fail_to_run"
    FAIL_ACCURACY = "fail_accuracy"
    THROTTLED = "throttled"
    UNSTABLE = "unstable"
    EAGER_TWO_RUNS_DIFFER = "eager_two_runs_differ"
    SKIPPED = "skipped"
    PASS = "pass"  # noqa: S105 - not a password


NOISY = frozenset({Status.THROTTLED, Status.UNSTABLE, Status.SKIPPED})
"""Statuses caused by the machine in one process, which may not recur in the next."""

COMPARABLE = (Status.PASS, Status.UNSTABLE, Status.EAGER_TWO_RUNS_DIFFER)
"""Statuses whose latencies may be compared. Other statuses keep their figures, which are never compared."""

UNEQUAL_BATCHES = "arms-differ-in-batch-size"
"""Flag of an imported record whose source measured the two sides at different batch sizes: it has no speedup."""

TOY = "toy-model"
"""Flag of an imported record of a model that exists for tests: it says nothing about models that people use."""

RANDOM_HEAD = "random-head"
"""Flag of a checkpoint without a head for its task, which therefore has random weights there."""

TIMM = "timm/"
"""Begins the checkpoints of timm. Some exist as code alone, so timm makes them."""

BUILDING_S = "building the variant"
"""Phase of `Record.costs_s`: the whole process that builds what later ones load."""

DOCTOR = "doctor-"
"""Begins the flags for complaints of `bench.measuring.doctor`, such as ``doctor-load``."""

Workload = Literal["latency", "throughput"]
"""A benchmark asks how long a batch of a given size takes, or how many images a second the device can do with the batch
that suits the model best. Figures of the two are never ranked or averaged together."""

THROUGHPUT_PROFILES = frozenset({"timm"})
"""Profiles that choose the batch size for each model: the largest one that fits. Such a time says nothing to somebody
who has one image."""


class _Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base class: frozen, compared by value, and strict about unknown fields, so that typos are found."""


class Cell(_Value, frozen=True):
    """One point of the grid: what is measured, regardless of where and when."""

    model: Name  # label in tables, such as "ViT"
    checkpoint: Name  # hub id, or the name that a local checkpoint goes by
    task: Task
    device: Device  # torch device type
    dtype: DType  # with autocast, the lower-precision type
    batch_size: Images  # 0 if a source reports a failure without the batch size
    variant: Name  # how the model runs, compared with eager: "compile:default"; see `bench.measuring.variants`
    grad_mode: GradMode | None = None  # of both sides; None if a source does not say
    weights: Literal["random", "pretrained"] = "random"
    input_size: tuple[Pixels, Pixels] | None = None  # height and width in pixels
    autocast: bool = False  # weights and inputs stay float32; each operation runs in float32 or `dtype`
    tf32: bool = False  # CUDA's float32 products may use TF32, too; torch lets only convolutions use it by default
    channels_last: bool = False  # memory layout of weights and images: NHWC instead of NCHW
    threads: Count | None = None  # of a CPU, where not one a core
    sizes: Sizes | None = None  # what differs from call to call; `batch_size` is then the largest
    digest: Digest | None = None  # of a local checkpoint: see `bench.plans.checkpoints.identify`
    model_type: Slug | None = None  # of a local checkpoint, from its configuration: "vit"

    @property
    def precision(self) -> str:
        """The data type as tables name it: "float32", "TF32", "autocast float16"."""
        return "TF32" if self.tf32 else f"autocast {self.dtype}" if self.autocast else self.dtype

    @property
    def architecture(self) -> str:
        """The model, of timm without the tag of its weights, which does not change its speed."""
        return self.model.partition(".")[0] if self.checkpoint.startswith(TIMM) else self.model

    @property
    def title(self) -> str:
        """The model and the coordinates that differ from their defaults: "ViT, batch 4, autocast float16"."""
        usual = {"batch_size": 1, "variant": "compile:default", "precision": "float32", "threads": None}
        words = {"batch_size": f"batch {self.batch_size}", "variant": self.variant, "precision": self.precision}
        words["threads"] = f"{self.threads} threads"
        return ", ".join([self.model, *(words[name] for name, value in usual.items() if getattr(self, name) != value)])

    @property
    def compile_mode(self) -> str:
        """The variant without how it treats sizes: "default", "reduce-overhead:regions", "eager:channels_last"."""
        parts = self.variant.removeprefix("compile:").split(":")
        return ":".join(part for part in parts if f":{part}" not in SHAPES.values())

    @property
    def dynamic(self) -> str:
        """How the variant treats sizes, one of `SHAPES`."""
        return next(
            (shapes for shapes, suffix in SHAPES.items() if suffix and f"{suffix}:" in f"{self.variant}:"), "auto"
        )

    @property
    def identity(self) -> Cell:
        """The cell without its input size, which is unknown outside of the model table until measured."""
        return msgspec.structs.replace(self, input_size=None)


class Environment(_Value, frozen=True):
    """The machine and software of a measurement. Contains no host name, user name, path or serial number."""

    device_name: Name  # "NVIDIA A100-SXM4-80GB", or the model name of the CPU
    torch: Name
    transformers: Name | None = None
    python: Name | None = None
    platform: Name | None = None  # such as "Linux x86_64"
    memory_gb: Gigabytes | None = None  # of the accelerator, or of the machine for a CPU
    cores: Count | None = None  # CPU cores available to the process
    threads: Count | None = None  # torch.get_num_threads()
    cpu: Name | None = None  # its model, with family and model number where the name is generic
    instruction_sets: tuple[Name, ...] = ()  # of the CPU: those that kernels choose between, AMX included
    multiprocessors: Count | None = None  # of a GPU; max-autotune leaves out kernels where there are few
    accelerator: Name | None = None  # platform and version, such as "CUDA 13.0"
    driver: Name | None = None
    commit: Name | None = None  # of this project; ends in "-dirty" if the tree had changes
    settings: dict[Text, Text] = {}  # whatever affects latency: allocator, TF32, cuDNN, matmul precision


class Samples(_Value, frozen=True):
    """Eager or compiled: the wall time of ``forward → synchronize``.

    `rounds_ms` holds every call of every round, in order. Round *i* of both variants was measured back to back. A
    published variant holds the mean that its source printed, and rarely single calls, as one round.
    """

    rounds_ms: tuple[Annotated[tuple[Milliseconds, ...], Meta(min_length=1)], ...] = ()
    published_mean_ms: Milliseconds | None = None
    published_images_s: PerSecond | None = None  # throughput as printed; no latency is derived from it
    batch_size: Images | None = None  # set if a source measured this variant at another batch size than the cell's
    device_ms: tuple[Milliseconds, ...] = ()  # busy time of the device in a call; of old records, between CUDA events
    peak_memory_gb: Gigabytes | None = None  # allocated on an accelerator; resident set on a CPU
    peak_reserved_gb: Gigabytes | None = None
    minor_faults_per_call: Amount | None = None  # CPU only
    first_s: Seconds | None = None  # from the model in memory to its first output, without imports


PHASES = ("dynamo", "aot_autograd", "inductor")
"""Phases of compilation: trace Python, lower to a joint graph, generate code."""


class Compilation(_Value, frozen=True):
    """The cost of compiling: importing the compiler, and the first compiled calls minus their time in steady state.

    `ready_s` says it by how the process began; sources may know several. `phases_s` divides what follows the import
    among `PHASES`. `needs_gb` is the size of the files that a start in this way needs: cache, artifacts or program.
    """

    ready_s: dict[Start, Seconds] = {}
    needs_gb: dict[Start, Gigabytes] = {}
    imports_s: Seconds | None = None  # of Dynamo and Inductor, part of `ready_s`; older records do not count them
    phases_s: dict[Text, Seconds] = {}


class GraphBreak(_Value, frozen=True):
    """Why and where Dynamo ended a graph."""

    reason: Text
    location: Text | None = None  # module path relative to site-packages, and line


class Graphs(_Value, frozen=True):
    """Dynamo's graphs of the forward pass."""

    graphs: Count
    breaks: tuple[GraphBreak, ...] = ()
    recompiles: Count = 0
    cudagraph_skips: tuple[Text, ...] = ()
    batch_size_recompiles: Count | None = None  # frames that Dynamo traces again for other batch sizes
    replays: Count | None = None  # CUDA graphs that one warm call replays, in modes that promise them


class Accuracy(_Value, frozen=True):
    """Errors of the worst output tensor: compiled against eager, and both against a higher-precision reference."""

    max_relative_error: Amount
    rmse_eager: Amount | None = None
    rmse_compiled: Amount | None = None
    reference_dtype: Name | None = None


class Work(_Value, frozen=True):
    """Operations and memory traffic of one call of the whole batch, counted in one eager run."""

    flop: Amount  # floating-point operations; a multiply-accumulate counts as two
    traffic_bytes: Amount | None = None  # read and written by eager operations, assuming no cache
    streamed_bytes: Amount | None = None  # the part of it outside products and convolutions, which fusion can save
    compiled_traffic_bytes: Amount | None = None  # of the compiled kernels, as Inductor counts it
    convolution_flop: Amount | None = None  # the part of `flop` in convolutions
    activations: Amount | None = None  # elements that convolutions and matrix products write
    parameters: Amount | None = None  # of the model, whatever the batch


class Peaks(_Value, frozen=True):
    """Peak rates of the device in this data type, which bound the speed of any model.

    The first processes of a run measure them, and the records of later ones repeat the best.
    """

    matmul_flop_s: PerSecond  # of a large matrix product
    copy_bytes_s: PerSecond  # of a large copy; bytes read plus bytes written
    page_fault_s: Seconds | None = None  # shortest time of a minor page fault; CPU only


class Telemetry(_Value, frozen=True):
    """Sensor readings of an accelerator between rounds, in order. For a CPU, only the counts of disturbed rounds."""

    clock_mhz: tuple[Count, ...] = ()
    temperature_c: tuple[Celsius, ...] = ()
    throttle_reasons: dict[Text, Count] = {}  # number of readings or rounds with each reason
    repeated_rounds: Count = 0  # discarded because the device was throttled or used by other programs
    throttled_rounds: Count = 0  # disturbed rounds that were kept
    unreadable: tuple[Text, ...] = ()  # sensors without a reading


class Measurement(_Value, frozen=True):
    """What one process measured. Present if at least one variant has samples."""

    eager: Samples
    compiled: Samples | None = None  # of the cell's variant
    others: dict[Name, Samples] = {}  # in turn, to tell what the memory layout saves: see `bench.measuring.diagnostics`
    interleaved: bool = True  # else both sides ran in processes of their own, one after the other
    compilation: Compilation | None = None
    graphs: Graphs | None = None
    accuracy: Accuracy | None = None
    warmup_calls: Count | None = None
    stop_reason: Name | None = None  # precision, rounds, time, published
    load_average: tuple[Amount, Amount] | None = None  # before and after
    work: Work | None = None
    peaks: Peaks | None = None
    telemetry: Telemetry | None = None
    failures: dict[Text, Text] = {}  # errors after sampling, by what is missing for them: "graphs", "accuracy" …

    @property
    def is_comparable(self) -> bool:
        """Whether both variants were measured at the same batch size."""
        return self.compiled is not None and self.compiled.batch_size == self.eager.batch_size


class Call(_Value, frozen=True):
    """A call of a sequence, measured three times: in eager, in a process that has compiled nothing before the sequence,
    and when the sequence is repeated."""

    shape: tuple[Count, Count, Count]  # images, height, width
    eager_ms: Milliseconds
    first_ms: Milliseconds
    repeated_ms: Milliseconds
    compilations: Count  # frames compiled in the first of these calls


class Source(_Value, frozen=True):
    """The publication that a figure comes from."""

    title: Text
    url: Url
    date: Day  # ISO 8601, as exact as known: 2023, 2023-07, 2023-07-13
    licence: Text
    note: Text | None = None
    files: tuple[Text, ...] = ()  # names of the imported files, without folders

    def __post_init__(self) -> None:
        try:
            date.fromisoformat(f"{self.date}-01-01"[:10])  # `Day` lets 2023-02-31 through
        except ValueError as error:
            raise ValueError(f"{self.date}: {error} - at `$.date`") from None


class Record(_Value, frozen=True):
    """One line of a run file: one process of one cell."""

    schema: int
    run: Slug  # name of the run and of its file
    origin: Origin
    profile: Name
    process: Count  # 0-based; readers pool the processes of a cell
    status: Status
    cell: Cell
    environment: Environment
    measured_at: Moment | None = None  # UTC; published records have Source.date instead
    reason: Text | None = None  # for every status but pass
    measurement: Measurement | None = None
    calls: tuple[Call, ...] = ()  # of a cell with several sizes, instead of rounds
    seconds: Seconds | None = None  # duration of the whole process, used to estimate later runs
    costs_s: dict[Text, Seconds] = {}  # the same by phase, in order: "starting", "compiling", "measuring" …
    source: Source | None = None
    command: Text | None = None  # reproduces this cell
    plan: Name | None = None  # digest of profile and cells, which tells apart two protocols of one name
    flags: tuple[Slug, ...] = ()  # problems found by the importer or the doctor, from a closed set

    @property
    def key(self) -> tuple[Any, ...]:
        """Identifies a record in its run: cell, device, torch version and process."""
        environment = self.environment
        return (self.cell, environment.device_name, environment.torch, self.process)


def variant_of(compile_mode: str, dynamic: str = "auto") -> str:
    """Return the name of the variant that compiles in this mode. `dynamic`: one of `SHAPES`."""
    return f"compile:{compile_mode}{SHAPES[dynamic]}"


def lowers(variant: str) -> bool:
    """Return whether a variant computes in a lower precision than eager, as its last part says."""
    return variant.rpartition(":")[2] in {"bfloat16", "autocast", "int8", "int8-weights"}


def gave_nothing(record: Record) -> bool:
    """Return whether the process measured no pair of latencies. Where compiled fits only alone, they are no pair."""
    if record.calls:
        return False
    return record.measurement is None or record.measurement.compiled is None or record.status is Status.OOM


def worst(processes: Sequence[Record]) -> Record:
    """Return the record that represents its cell, given the records of its processes in the order in which they ran."""
    statuses = [record.status for record in processes]
    return processes[standing(statuses, [not gave_nothing(record) for record in processes])]


def standing(statuses: Sequence[Status], gave: Sequence[bool]) -> int:
    """Return the index of the process with the worst status. `gave` says which processes measured a pair of latencies.

    `NOISY` statuses count only if at least half of the processes have one: the interval over processes covers fewer.
    Failures before the first pair do not count: a process after a failure means that somebody retried the cell.
    """
    first = next((index for index, has_pair in enumerate(gave) if has_pair), 0)
    counted = range(first, len(statuses))
    noisy = sum(statuses[index] in NOISY for index in counted)
    kept = [index for index in counted if statuses[index] not in NOISY or 2 * noisy >= len(counted)]
    return min(kept, key=lambda index: _SEVERITY[statuses[index]])


_SEVERITY = {status: place for place, status in enumerate(Status)}


_NO_NAME = re.compile(f"[{_CONTROL}{_MARKUP}]")


def as_name(text: str) -> str:
    """Return `text` as a `Name` in normal form (NFKC): forbidden characters become spaces, and an empty result "?"."""
    normal = unicodedata.normalize("NFKC", text)
    return " ".join(_NO_NAME.sub(" ", normal).split())[:MAX_NAME].strip() or "?"
