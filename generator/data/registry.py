"""The registry of columns: each column of the table of results and of the tables of pages is declared here, once.

The table (`generator.data.load`), headings (`generator.figures.words`), cells (`generator.figures.cells`), page
expressions (`generator.pages.atlas.Row`), the explorer and the downloads derive from it. A new column needs an entry
here, its computation, and the translations of its heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal, get_args

from generator.data.digits import with_interval

FigureFormat = Literal["number", "figure", "ratio", "change", "share", "rate"]
Format = Literal["name", "code", "prose"] | FigureFormat
"""How a cell of a table shows a value: `generator.figures.cells` has a function for each."""


class HeadingText(str):  # noqa: SLOT000  # has an attribute
    """A text that is translated where it is shown. A heading that is none is a name, and stays as it is."""

    context = ""  # for gettext


def N_(message: str) -> HeadingText:  # noqa: N802  # the name that gettext's tools know
    """Mark a message for extraction."""
    return HeadingText(message)


def N_n(singular: str, plural: str) -> tuple[str, str]:  # noqa: N802
    """Mark a message with a plural form for extraction."""
    return singular, plural


def N_p(context: str, message: str) -> HeadingText:  # noqa: N802
    """Mark a message of a context for extraction."""
    marked = HeadingText(message)
    marked.context = context
    return marked


@dataclass(frozen=True)
class Column:
    """A column. `heading` is English; where it is not marked as a message, it is a name in every language."""

    type: type
    name: str
    description: str
    heading: str = ""
    format: Format = "name"
    unit: str = ""
    explorer: str | bool = False  # its heading in the table of the explorer; True for the heading above
    detail: str | bool = False  # its name in an opened row of the explorer, likewise
    decisive: bool = False  # holds the conclusion of a table: it follows the name of a row, without scrolling

    @property
    def dtype(self) -> str:
        """The data type of pandas: unknown is an empty text, else missing.

        Text and whole numbers are Python objects, which pandas keeps in one block. From a block for each column, it
        would take far longer to select a few rows, which pages do thousands of times.
        """
        return {float: "float64", bool: "bool", datetime: "datetime64[us, UTC]"}.get(self.type, "object")

    @property
    def alignment(self) -> Literal["start", "end"]:
        """Where its cells are aligned: figures at their end, so that digits stand below each other."""
        return "end" if self.format in get_args(FigureFormat) else "start"


_text, _whole, _real = (partial(Column, kind) for kind in (str, int, float))
_seconds, _gigabytes = (partial(_real, format="figure", unit=unit) for unit in ("s", "GB"))
_rate = partial(_real, format="rate", unit="images/s", explorer=True)


def _with_interval(*figure: Any, **rest: Any) -> Iterable[Column]:
    """Return the columns of a figure, and of the ends of its 95% interval over processes."""
    column = _real(*figure, **rest)
    _, low, high = with_interval(column.name)
    ends = {low: "lower", high: "upper"}
    described = {name: f"{end} end of the 95% interval of {column.name}" for name, end in ends.items()}
    return column, *(_real(name, text, unit=column.unit) for name, text in described.items())


def _registry(*columns: Column) -> Mapping[str, Column]:
    return {column.name: column for column in columns}


# ── The table of results ────────────────────────────────────────────────────────────────────────────────────────────

COORDINATES = _registry(
    _text("device", "slug of the device, safe in file names and addresses", N_("Device"), explorer=True),
    _text("model", "slug of the model", N_("Model"), explorer=True),
    _text("torch", "version of PyTorch", "PyTorch", explorer=True, detail=True),
    _text("compile_mode", "mode of torch.compile", N_("Mode"), explorer=True),
    _text(
        "dtype", "data type; autocast: weights stay in float32; TF32: products in TF32", N_("Data type"), explorer=True
    ),
    _whole("batch_size", "images in one call", N_("Batch size"), "number", "images", explorer=True),
    _text("dynamic", "auto, true or false; marked: the batch size alone varies", N_("Dynamic shapes"), detail=True),
    _text("weights", "random or pretrained", N_("Weights"), detail=True),
    _text("input_size", "height×width, empty where not recorded", N_("Input (pixels)"), unit="pixels", detail=True),
    _text("layout", "contiguous (torch's own) or channels_last", N_("Memory layout"), explorer=True, detail=True),
    _whole("threads", "threads of torch, on a CPU only", N_("Threads"), "number", detail=True),
    _text("origin", "measured or published", N_("Source"), explorer=True),
)
"""The columns that identify a cell, whatever its run."""

_TEXTS = (
    _text("run", "name of the run", N_("Run"), "code", detail=True),
    _text("profile", "profile of the run"),
    _text("workload", "latency, or throughput: as many images as possible", N_("Question"), explorer=True),
    _text("status", "outcome of the cell", N_("Status"), explorer=True, detail=True),
    _text("reason", "why the cell has that status", N_("Reason"), "prose", detail=True),
    _text("verdict", "whether compiling is faster", N_("Verdict"), explorer=True, detail=True, decisive=True),
    _text("causes", "causes of the verdict, the best first: JSON lists of cause, figure, share of the saving"),
    _text("flags", "what an importer or the doctor marked, separated by spaces"),
    _text("command", "the command that reproduces the cell"),
    _text("device_name", "name of the device, or of the product line of a CPU"),
    _text("processor", "name of the very device, as its driver gives it", N_("Processor"), detail=True),
    _text("device_type", "torch device type: cpu, cuda, mps, xpu"),
    _text("model_label", "name of the model in tables"),
    _text("family", "models whose names begin alike", N_("Family")),
    _text("checkpoint", "name of the weights", N_("Checkpoint"), "code", detail=True),
    _text("digest", "SHA-256 of the files of a local checkpoint", N_("SHA-256"), "code", detail=True),
    _text("model_type", "architecture of a local checkpoint, from its configuration"),
    _text("task", "what the model does", N_("Task"), explorer=True),
    _text("transformers", "version of Transformers", "Transformers", detail=True),
    _text("python", "version of Python", "Python", detail=True),
    _text("platform", "operating system", N_("Platform"), detail=True),
    _text("accelerator", "library of the accelerator: CUDA, ROCm", N_("Accelerator library"), detail=True),
    _text("driver", "version of the driver", N_("Driver"), detail=True),
    _text("commit", "commit of the harness", N_("Commit"), "code", detail=True),
    _text("settings", "settings of torch as JSON", N_("Settings"), "code", detail=True),
    _text("malloc", "memory that a call frees: keep, or glibc's default"),
    _text("grad_mode", "inference_mode or no_grad; empty where unknown", N_("Gradient mode"), detail=True),
    _text("sizes", "what differs from call to call: batches or images; empty where nothing does"),
    _text("starts", "ways to start: first answers, latencies and what they need, as JSON"),
    _text("calls", "calls of several sizes, as JSON"),
    _text("graph_break_reasons", "where and why graphs ended, as JSON"),
    _text("cudagraph_skip_reasons", "why CUDA graphs were skipped, or cut, as JSON"),
    _text("source_title", "title of the source of published figures"),
    _text("source_url", "address of that source"),
    _text("source_date", "its date, as exact as it is known"),
    _text("source_licence", "its licence"),
    _text("source_note", "its note on how the figures were measured"),
)

_LATENCIES = (
    *_with_interval("eager_ms", "latency of the eager model", N_("Eager (ms)"), "figure", "ms", explorer=True),
    *_with_interval("compiled_ms", "latency of the compiled model", N_("Compiled (ms)"), "figure", "ms", explorer=True),
    *_with_interval("speedup", "eager ÷ compiled latency", N_("Speedup"), "ratio", "×", explorer=True, decisive=True),
    _real("paired_speedup", "eager ÷ compiled of the rounds, pair by pair", unit="×"),
    *_with_interval("change", "compiled ÷ eager − 1"),
)

_COLD, _WARM = N_("Time to ready, cold cache (s)"), N_("Time to ready, warm cache (s)")
_CALLS, _CALLS_WARM = N_("Break-even point (calls)"), N_("Break-even point, warm cache (calls)")
_REPAID, _PHASE = "calls that repay that time, inf for never", "phase of a cold compilation"

_COMPILING = (
    _seconds("compile_cold_s", "time to ready with an empty compile cache", _COLD, explorer=True),
    *_with_interval("break_even_calls", _REPAID, _CALLS, "figure", explorer=True, decisive=True),
    _seconds("compile_warm_s", "time to ready with a filled compile cache", _WARM, detail=True),
    *_with_interval("break_even_warm_calls", _REPAID, _CALLS_WARM, "figure", detail=True, decisive=True),
    _seconds("dynamo_s", _PHASE, N_("TorchDynamo (s)"), detail=N_("Compile time in TorchDynamo (s)")),
    _seconds("aot_autograd_s", _PHASE, N_("AOTAutograd (s)"), detail=N_("Compile time in AOTAutograd (s)")),
    _seconds("inductor_s", _PHASE, N_("Inductor (s)"), detail=N_("Compile time in Inductor (s)")),
)

_WAITING = "share of the latency in which the device waits for the host"
_PEAK = "peak of allocated memory"
_MEMORY_CHANGE = "compiled ÷ eager peak − 1, with CUDA graphs of reserved memory"

_WORK = (
    _real("eager_device_ms", "time of the device alone", unit="ms"),
    _real("compiled_device_ms", "time of the device alone", unit="ms"),
    _real("eager_host_bound", _WAITING, detail=N_("Eager, share of time waiting for the host")),
    _real("compiled_host_bound", _WAITING, detail=N_("Compiled, share of time waiting for the host")),
    _real("flop", "operations of one call of the whole batch", N_("GFLOP per image"), "figure", "FLOP"),
    _real("parameters", "parameters of the model"),
    _real("intensity", "operations for each activation", N_("FLOP per activation"), "figure", "FLOP"),
    _real("matmul_flop_s", "measured matrix multiplication peak of the device", unit="FLOP/s"),
    _real("eager_flop_s", "operations per second", N_("Eager (TFLOP/s)"), "figure", "FLOP/s"),
    _real("eager_matmul_share", "share of the matrix multiplication peak"),
    _real("eager_copy_share", "share of the copy bandwidth", N_("Eager, share of the copy bandwidth"), "share"),
    _real("compiled_flop_s", "operations per second", N_("Compiled (TFLOP/s)"), "figure", "FLOP/s", decisive=True),
    _real("compiled_matmul_share", "share of the matrix multiplication peak", explorer=N_("Share of the peak")),
    _real("compiled_copy_share", "share of the copy bandwidth", N_("Compiled, share of the copy bandwidth"), "share"),
    _rate("eager_images_s", "throughput", N_("Eager (images/s)"), detail=N_("Throughput, eager (images/s)")),
    _rate("compiled_images_s", "throughput", N_("Compiled (images/s)"), detail=N_("Throughput, compiled (images/s)")),
    _gigabytes("eager_peak_memory_gb", _PEAK, N_("Eager (GB)"), detail=N_("Peak memory, eager (GB)")),
    _gigabytes(
        "compiled_peak_memory_gb",
        _PEAK,
        N_("Compiled (GB)"),
        explorer=N_("Peak memory (GB)"),
        detail=N_("Peak memory, compiled (GB)"),
    ),
    _real("memory_change", _MEMORY_CHANGE, N_("Change in peak memory"), "change", decisive=True),
    _real("channels_last_speedup", "eager ÷ eager in the channels_last memory layout", unit="×"),
    _real("max_relative_error", "largest difference of outputs from eager's", N_("Largest difference"), "figure"),
)

_COUNTS = (
    _whole("processes", "records with figures"),
    _whole("attempts", "records"),
    _whole("eager_batch_size", "images in one eager call, where the source may have chosen another", unit="images"),
    _whole("compiled_batch_size", "images in one compiled call, likewise", unit="images"),
    _whole("eager_samples", "timed calls"),
    _whole("compiled_samples", "timed calls"),
    _whole("graphs", "graphs of a call", N_("Graphs"), "number", detail=True),
    _whole("graph_breaks", "graph breaks of a call", N_("Graph breaks"), "number", detail=True),
    _whole("recompiles", "recompiles with one shape", N_("Recompiles while measuring"), "number", detail=True),
    _whole("batch_size_recompiles", "recompiles for other sizes", N_("Recompiles for other batch sizes"), "number"),
    _whole("cudagraph_skips", "reasons for skipped CUDA graphs", detail=N_("Skipped CUDA graphs")),
    _whole("cudagraph_replays", "CUDA graphs that a call replays", detail=N_("CUDA graphs per call")),
    _whole("cores", "cores of the CPU", N_("CPU cores"), "number", detail=True),
)

COLUMNS = {
    **COORDINATES,
    **_registry(*_TEXTS, *_LATENCIES, *_COMPILING, *_WORK, *_COUNTS),
    **_registry(
        _gigabytes("memory_gb", "memory of the machine", N_("Memory (GB)"), detail=True),
        Column(datetime, "measured_at", "end of the run, unknown for published rows: they have source_date"),
        Column(bool, "usual", "torch.compile of a whole model, or eager, on all threads: what most pages show"),
        Column(bool, "newest", "whether no later run has the cell: the rows that pages show"),
    ),
}
"""The columns of the table of results, in the order of the downloads."""

# ── Tables of pages ─────────────────────────────────────────────────────────────────────────────────────────────────

VERSION, SIZE, GAIN, IMAGES = "version", "size", "speedup of", "images/s with"
ON, FACTOR, WAY = "throughput", "factor", "in_way"
"""Begin the names of columns of a series: the version, size, device, variant, data type or way of each follows a
space."""

LINES = _registry(
    _real("interval", "lower end of the interval of the speedup", N_("Interval (95%)"), "figure"),
    _text("sized_model", "slug of a model where it comes first: its anchor", N_("Model")),
    _whole("models", "number of models", N_p("column of counts", "Models"), "number"),
    _whole("devices", "number of devices", N_p("column of counts", "Devices"), "number"),
    Column(tuple, "device_names", "labels of a row for each device", N_("Devices")),
    _whole("comparisons", "number of comparisons", N_("Comparisons"), "number"),
    _real("median_speedup", "median of the speedups", N_("Median speedup"), "ratio", decisive=True),
    Column(tuple, "quartiles", "quartiles of the speedups: half lie between", N_("Half lie between"), "figure"),
    _whole("best_model", "label of the row with the largest gain", N_("Largest gain"), "figure"),
    _whole("best_device", "label of the row with the largest gain", N_("Largest gain"), "figure", decisive=True),
    Column(tuple, "bounds", "ends of a class of intensity", N_("FLOP per activation")),
    _real("newer_speedup", "throughput, newer ÷ older version", N_("Newer ÷ older"), "ratio", decisive=True),
    _text("pretrained", "name of the most accurate weights", N_("Model")),
    _real("top1", "their accuracy on ImageNet", N_("Top-1 accuracy"), "share", decisive=True),
    Column(tuple, "frontier", "variants whose frontier has the model", N_("On the frontier")),
    _text("start", "way to start a model", N_("Start")),
    _whole("pays_from", "calls from which a way is ahead of eager", _CALLS, "number"),
    _seconds("ready_s", "until the first answer, export and imports included", N_("Time to first answer (s)")),
    _whole("fastest", "number of models for which a way is the fastest", N_("Fastest for (models)"), "number"),
    _text("way", "way to run a model", N_("Way")),
    _text("strategy", "way to compile for several sizes", N_("Strategy")),
    _seconds(
        "first_s", "from the model in memory to its first output", N_("First answer after imports (s)"), decisive=True
    ),
    _seconds("imports_s", "imports of the compiler", N_("Imports (s)")),
    _real("own_speedup", "eager ÷ variant", N_("Speedup"), "ratio", decisive=True),
    _real("needs_mb", "files that a start needs", N_("Files (MB)"), "figure", "MB"),
    _seconds("build_s", "process that builds them", N_("Build (s)")),
    _whole("leads_from", "calls from which this way is ahead", N_("Fastest from (calls)"), "number"),
    _seconds("sequence_s", "all calls from an empty cache", N_("First time (s)"), decisive=True),
    _seconds("repeated_s", "all calls once compiled", N_("Repeated (s)")),
    _seconds("eager_s", "all calls in eager mode", N_("Eager (s)")),
    _whole("compilations", "frames compiled", N_("Compilations"), "number"),
    _whole("slower", "number of slower comparisons", N_("Slower when compiled"), "number", decisive=True),
    _text("kind", "torch device type", N_("Kind")),
    Column(tuple, "modes", "modes of torch.compile", N_("Modes")),
    Column(tuple, "batch_sizes", "batch sizes", N_("Batch sizes"), "figure"),
    _text("why", "causes as sentences", N_("Why"), "prose", detail=True),
    _text("location", "where in the code a graph ended", N_("Code location"), "prose"),
    Column(dict, "version_speedup", "by variant", N_("Speedup, oldest to newest"), "ratio", decisive=True),
    _whole("date", "label of a row with the date", N_("Date"), detail=True),
    _whole("source", "label of a row of the source", N_("Source")),
    _whole("records", "number of records", N_("Records"), "number"),
    _text("licence", "licence of published figures", N_("License")),
    _whole("fault", "position of a finding", N_("Fault")),
    _whole("finding", "position of a finding", N_("What was found"), "prose"),
    _text("property", "property of an environment", N_("Property")),
    _whole(VERSION, "label of a row: the latencies with a version of PyTorch", format="figure"),
    _whole(SIZE, "label of a row: the speedup at a batch size", format="ratio"),
    _real(GAIN, "median speedup on a device, of a variant or in a data type", format="ratio"),
    _real(IMAGES, "images per second with a version of PyTorch", format="rate"),
    _real(FACTOR, "median ratio of images per second in one layout, or of compiled ones, to eager", format="ratio"),
    _whole(WAY, "label of a row: the speedup in a way to run", format="ratio"),
    _whole(ON, "label of a row: the throughput on a device, whose facts are lines of the name", format="figure"),
)
"""The columns that only tables of pages have (`generator.figures.tables`)."""

_KNOWN = {**COLUMNS, **LINES}


def column(name: str) -> Column:
    """Return a column of the table of results or of the tables of pages; for one of a series, the column declared for
    all of them."""
    return _KNOWN[series(name)[0]]


def series(name: str) -> tuple[str, str]:
    """Return the declared name of a column, and its member of a series, or "": ("version", "2.13.0")."""
    beginnings = (each for each in (VERSION, SIZE, GAIN, IMAGES, ON, FACTOR, WAY) if name.startswith(f"{each} "))
    declared = next(beginnings, name)
    return declared, name.removeprefix(declared).lstrip()
