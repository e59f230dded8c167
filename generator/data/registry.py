"""The registry of columns: each column of the table of results and of the tables of pages is declared here, once.

The table (`generator.data.load`), headings (`generator.figures.words`), cells (`generator.figures.markup`), page
expressions (`generator.pages.atlas.Row`), the explorer and the downloads derive from it. A new column needs an entry
here, its computation, and the translations of its heading.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, get_args

from bench.records.record import SHAPES, Origin, Status, Task, Workload
from bench.statistics.verdicts import Verdict

FigureFormat = Literal[
    "number",
    "count",
    "number_range",
    "latency",
    "version",
    "throughput",
    "ratio",
    "interval",
    "change",
    "change_range",
    "judged_change",
    "version_change",
    "best_model",
    "best_device",
    "seconds",
    "calls",
    "gigabytes",
    "gflop",
    "millions",
    "tflop_s",
    "share",
    "rate",
    "rate_change",
    "figure",
]
TextFormat = Literal[
    "text",
    "modes",
    "device_names",
    "origin",
    "source",
    "task",
    "device_type",
    "workload",
    "family",
    "bounds",
    "sized_model",
    "plain",
    "code",
    "verbatim",
    "verdict",
    "causes",
    "date",
    "run",
    "anomaly_kind",
    "anomaly",
]
Format = FigureFormat | TextFormat
"""How a cell of a table shows a value: `generator.figures.markup.Tables` has a method for each."""


class HeadingText(str):  # noqa: SLOT000  # has an attribute
    """A text that is translated where it is shown. A heading that is none is a name, and stays as it is."""

    context = ""  # for gettext


def N_(message: str) -> HeadingText:  # noqa: N802  # the name that gettext's tools know
    """Mark a message for extraction."""
    return HeadingText(message)


def N_p(context: str, message: str) -> HeadingText:  # noqa: N802
    """Mark a message of a context for extraction."""
    marked = HeadingText(message)
    marked.context = context
    return marked


HEADING = "="
"""Stands for the heading of the column itself."""

DECISIVE = frozenset(
    (
        *(
            "change",
            "image_change",
            "verdict",
            "break_even_calls",
            "break_even_warm_calls",
            "memory_change",
            "compiled_flop_s",
        ),
        *("compiled_flop_s", "median_change", "slower", "best_device", "version_change"),
        *("speedup:default", "speedup:keep"),
    )
)
"""Columns that hold the conclusion of a table: they follow the name of a row, and nobody has to scroll to them."""


@dataclass(frozen=True)
class Column:
    """A column.

    `values` are all that a text may be, besides empty; () where anything may come. `heading` is English. `explorer` is
    the heading in the table of the explorer, `detail` the name in a row that is opened there; "" where the explorer
    does not show the column there.
    """

    name: str
    type: type
    description: str
    unit: str = ""
    heading: str = ""
    format: Format = "text"
    explorer: str = ""
    detail: str = ""
    values: Sequence[str] = ()

    @property
    def dtype(self) -> str:
        """The data type of pandas: unknown is an empty text, else missing.

        Text and whole numbers are Python objects, which pandas keeps in one block. From a block for each column, it
        would take far longer to select a few rows, which pages do thousands of times.
        """
        return {float: "float64", bool: "bool", datetime: "datetime64[us, UTC]"}.get(self.type, "object")

    @property
    def is_decisive(self) -> bool:
        """Whether it holds the conclusion of a table."""
        return self.name in DECISIVE

    @property
    def alignment(self) -> Literal["start", "end"]:
        """Where its cells are aligned: figures at their end, so that digits stand below each other."""
        return "end" if self.format in get_args(FigureFormat) else "start"


def _column(
    name: str,
    kind: type,
    description: str,
    unit: str = "",
    heading: str = "",
    format: Format = "text",  # noqa: A002
    *,
    explorer: str = "",
    detail: str = "",
    values: Sequence[str] = (),
) -> Column:
    explorer, detail = (heading if each == HEADING else each for each in (explorer, detail))
    return Column(name, kind, description, unit, heading, format, explorer, detail, values)


def _with_interval(column: Column) -> tuple[Column, Column, Column]:
    """A figure and the ends of its 95% interval over processes."""
    stem, suffix = (column.name.removesuffix("_ms"), "_ms") if column.name.endswith("_ms") else (column.name, "")
    low, high = (
        Column(f"{stem}_{end}{suffix}", float, f"{word} end of the 95% interval of {column.name}", column.unit)
        for end, word in (("low", "lower"), ("high", "upper"))
    )
    return column, low, high


def _registry(columns: Iterable[Column]) -> Mapping[str, Column]:
    return {column.name: column for column in columns}


# ── The table of results ────────────────────────────────────────────────────────────────────────────────────────────

COORDINATES = _registry(
    (
        _column(
            "device", str, "slug of the device, safe in file names and addresses", "", N_("Device"), explorer=HEADING
        ),
        _column("model", str, "slug of the model", "", N_("Model"), explorer=HEADING),
        _column("torch", str, "version of PyTorch", "", "PyTorch", explorer=HEADING, detail=HEADING),
        _column("compile_mode", str, "mode of torch.compile", "", N_("Mode"), explorer=HEADING),
        _column(
            "dtype",
            str,
            "data type; autocast float16 or bfloat16: weights stay in float32; TF32: float32 with products in TF32",
            "",
            N_("Data type"),
            explorer=HEADING,
        ),
        _column("batch_size", int, "images in one call", "images", N_("Batch size"), "number", explorer=HEADING),
        _column(
            "dynamic",
            str,
            "argument of torch.compile: auto, true or false; marked: the batch size alone varies",
            "",
            N_("Dynamic shapes"),
            detail=HEADING,
            values=tuple(SHAPES),
        ),
        _column(
            "weights",
            str,
            "random or pretrained",
            "",
            N_("Weights"),
            detail=HEADING,
            values=("random", "pretrained"),
        ),
        _column(
            "input_size", str, "height×width, empty where not recorded", "pixels", N_("Input (pixels)"), detail=HEADING
        ),
        _column("layout", str, "channels_last; empty for torch's own", "", N_("Memory layout"), detail=HEADING),
        _column(
            "threads",
            int,
            "threads of torch, on a CPU only: elsewhere they hardly matter",
            "",
            N_("Threads"),
            "number",
            detail=HEADING,
        ),
        _column(
            "origin",
            str,
            "measured or published",
            "",
            N_("Source"),
            "origin",
            explorer=HEADING,
            values=get_args(Origin),
        ),
    )
)
"""What tells one cell from another, whatever its run."""

_TEXTS = (
    _column("run", str, "name of the run", "", N_("Run"), "run", detail=HEADING),
    _column("profile", str, "profile of the run"),
    _column(
        "workload",
        str,
        "latency: one batch at a time; throughput: as many images as possible",
        "",
        N_("Question"),
        "workload",
        explorer=HEADING,
        values=get_args(Workload),
    ),
    _column("status", str, "outcome of the cell", "", N_("Status"), explorer=HEADING, detail=HEADING, values=[*Status]),
    _column("reason", str, "why the cell has that status", "", N_("Reason"), "verbatim", detail=HEADING),
    _column(
        "verdict",
        str,
        "faster, slower, same, inconclusive, doubtful or unknown",
        "",
        N_("Verdict"),
        "verdict",
        explorer=HEADING,
        detail=HEADING,
        values=get_args(Verdict),
    ),
    _column("causes", str, "causes of the verdict, the best first: JSON lists of cause, figure, share of the saving"),
    _column("flags", str, "what an importer or the doctor marked, separated by spaces"),
    _column("command", str, "the command that reproduces the cell"),
    _column("device_name", str, "name of the device; of a CPU, that of its product line"),
    _column("processor", str, "name of the very device, as its driver gives it", "", N_("Processor"), detail=HEADING),
    _column("device_type", str, "torch device type: cpu, cuda, mps, xpu"),
    _column("model_label", str, "name of the model in tables"),
    _column("family", str, "models whose names begin alike", "", N_("Family"), "family"),
    _column("checkpoint", str, "name of the weights", "", N_("Checkpoint"), "code", detail=HEADING),
    _column("digest", str, "SHA-256 of the files of a local checkpoint", "", N_("SHA-256"), "code", detail=HEADING),
    _column("model_type", str, "architecture of a local checkpoint, from its configuration"),
    _column("task", str, "what the model does", "", N_("Task"), "task", explorer=HEADING, values=get_args(Task)),
    _column("transformers", str, "version of Transformers", "", "Transformers", detail=HEADING),
    _column("python", str, "version of Python", "", "Python", detail=HEADING),
    _column("platform", str, "operating system", "", N_("Platform"), detail=HEADING),
    _column(
        "accelerator", str, "library of the accelerator: CUDA, ROCm", "", N_("Accelerator library"), detail=HEADING
    ),
    _column("driver", str, "version of the driver", "", N_("Driver"), detail=HEADING),
    _column("commit", str, "commit of the harness", "", N_("Commit"), "code", detail=HEADING),
    _column("settings", str, "settings of torch as JSON", "", N_("Settings"), detail=HEADING),
    _column("malloc", str, "memory that a call frees: keep, or glibc's default"),
    _column(
        "grad_mode",
        str,
        "inference_mode or no_grad; empty where a source does not say",
        "",
        N_("Gradient mode"),
        detail=HEADING,
    ),
    _column("graph_break_reasons", str, "where and why graphs ended, as JSON"),
    _column("cudagraph_skip_reasons", str, "why CUDA graphs were skipped, or cut, as JSON"),
    _column("source_title", str, "title of the source of published figures"),
    _column("source_url", str, "address of that source"),
    _column("source_date", str, "its date, as exact as it is known"),
    _column("source_licence", str, "its licence"),
    _column("source_note", str, "its note on how the figures were measured"),
)

_NUMBERS = (
    *_with_interval(
        _column("eager_ms", float, "latency of the eager model", "ms", N_("Eager (ms)"), "latency", explorer=HEADING)
    ),
    *_with_interval(
        _column(
            "compiled_ms",
            float,
            "latency of the compiled model",
            "ms",
            N_("Compiled (ms)"),
            "latency",
            explorer=HEADING,
        )
    ),
    *_with_interval(
        _column("speedup", float, "eager ÷ compiled latency", "×", N_("Speedup"), "ratio", explorer=HEADING)
    ),
    _column("paired_speedup", float, "eager ÷ compiled of the rounds, pair by pair", "×"),
    *_with_interval(
        _column(
            "change",
            float,
            "compiled ÷ eager − 1: −0.45 is 45% less latency",
            "",
            N_("Change in latency"),
            "judged_change",
        )
    ),
    _column(
        "compile_cold_s",
        float,
        "time to ready with an empty compile cache",
        "s",
        N_("Time to ready, cold cache (s)"),
        "seconds",
        explorer=HEADING,
    ),
    *_with_interval(
        _column(
            "break_even_calls",
            float,
            "calls that repay that time, inf for never",
            "",
            N_("Break-even point (calls)"),
            "calls",
            explorer=HEADING,
        )
    ),
    _column(
        "compile_warm_s",
        float,
        "time to ready with a filled compile cache",
        "s",
        N_("Time to ready, warm cache (s)"),
        "seconds",
        detail=HEADING,
    ),
    *_with_interval(
        _column(
            "break_even_warm_calls",
            float,
            "calls that repay that time, inf for never",
            "",
            N_("Break-even point, warm cache (calls)"),
            "calls",
            detail=HEADING,
        )
    ),
    *(
        _column(name, float, "phase of a cold compilation", "s", heading, "seconds", detail=detail)
        for name, heading, detail in (
            ("dynamo_s", N_("TorchDynamo (s)"), N_("Compile time in TorchDynamo (s)")),
            ("aot_autograd_s", N_("AOTAutograd (s)"), N_("Compile time in AOTAutograd (s)")),
            ("inductor_s", N_("Inductor (s)"), N_("Compile time in Inductor (s)")),
        )
    ),
    _column("eager_device_ms", float, "time of the device alone", "ms"),
    _column("compiled_device_ms", float, "time of the device alone", "ms"),
    _column(
        "eager_host_bound",
        float,
        "share of the latency in which the device waits for the host",
        detail=N_("Eager, share of time waiting for the host"),
    ),
    _column(
        "compiled_host_bound",
        float,
        "share of the latency in which the device waits for the host",
        detail=N_("Compiled, share of time waiting for the host"),
    ),
    _column("flop", float, "operations of one call of the whole batch", "FLOP", N_("GFLOP per image"), "gflop"),
    _column("parameters", float, "parameters of the model", "", N_("Parameters (millions)"), "millions"),
    _column(
        "intensity",
        float,
        "operations for each activation",
        "FLOP",
        N_("FLOP per activation"),
        "figure",
    ),
    _column("matmul_flop_s", float, "measured matrix multiplication peak of the device", "FLOP/s"),
    _column("eager_flop_s", float, "operations per second", "FLOP/s", N_("Eager (TFLOP/s)"), "tflop_s"),
    _column("eager_matmul_share", float, "share of the matrix multiplication peak"),
    _column(
        "eager_copy_share", float, "share of the copy bandwidth", "", N_("Eager, share of the copy bandwidth"), "share"
    ),
    _column("compiled_flop_s", float, "operations per second", "FLOP/s", N_("Compiled (TFLOP/s)"), "tflop_s"),
    _column(
        "compiled_matmul_share", float, "share of the matrix multiplication peak", explorer=N_("Share of the peak")
    ),
    _column(
        "compiled_copy_share",
        float,
        "share of the copy bandwidth",
        "",
        N_("Compiled, share of the copy bandwidth"),
        "share",
    ),
    _column(
        "eager_images_s",
        float,
        "throughput",
        "images/s",
        N_("Eager (images/s)"),
        "rate",
        explorer=HEADING,
        detail=N_("Throughput, eager (images/s)"),
    ),
    _column(
        "compiled_images_s",
        float,
        "throughput",
        "images/s",
        N_("Compiled (images/s)"),
        "rate",
        explorer=HEADING,
        detail=N_("Throughput, compiled (images/s)"),
    ),
    _column(
        "eager_peak_memory_gb",
        float,
        "peak of allocated memory",
        "GB",
        N_("Eager (GB)"),
        "gigabytes",
        detail=N_("Peak memory, eager (GB)"),
    ),
    _column(
        "compiled_peak_memory_gb",
        float,
        "peak of allocated memory",
        "GB",
        N_("Compiled (GB)"),
        "gigabytes",
        explorer=N_("Peak memory (GB)"),
        detail=N_("Peak memory, compiled (GB)"),
    ),
    _column(
        "memory_change",
        float,
        "compiled ÷ eager peak − 1, of reserved memory where CUDA graphs leave no other",
        "",
        N_("Change in peak memory"),
        "change",
    ),
    _column("max_relative_error", float, "largest difference of the outputs from eager's"),
)

_COUNTS = (
    _column("processes", int, "records with figures"),
    _column("attempts", int, "records"),
    _column("eager_batch_size", int, "images in one eager call, where the source may have chosen another", "images"),
    _column("compiled_batch_size", int, "images in one compiled call, likewise", "images"),
    _column("eager_samples", int, "timed calls"),
    _column("compiled_samples", int, "timed calls"),
    _column("graphs", int, "graphs of a call", "", N_("Graphs"), "count", detail=HEADING),
    _column("graph_breaks", int, "graph breaks of a call", "", N_("Graph breaks"), "count", detail=HEADING),
    _column(
        "recompiles",
        int,
        "recompiles with inputs of one shape",
        "",
        N_("Recompiles while measuring"),
        "count",
        detail=HEADING,
    ),
    _column(
        "batch_size_recompiles",
        int,
        "recompiles when other batch sizes follow",
        "",
        N_("Recompiles for other batch sizes"),
        "count",
    ),
    _column("cudagraph_skips", int, "reasons for skipped CUDA graphs", detail=N_("Skipped CUDA graphs")),
    _column("cudagraph_replays", int, "CUDA graphs that a call replays", detail=N_("CUDA graphs per call")),
    _column("cores", int, "cores of the CPU", "", N_("CPU cores"), detail=HEADING),
)

COLUMNS = {
    **COORDINATES,
    **_registry(_TEXTS),
    **_registry(_NUMBERS),
    **_registry(_COUNTS),
    **_registry(
        (
            _column("memory_gb", float, "memory of the machine", "GB", N_("Memory (GB)"), detail=HEADING),
            _column("measured_at", datetime, "end of the run, unknown for published rows: they have source_date"),
            _column("newest", bool, "whether no later run has the cell: the rows that pages show"),
        )
    ),
}
"""The columns of the table of results, in the order of the downloads."""

# ── Tables of pages ─────────────────────────────────────────────────────────────────────────────────────────────────

VERSION = "torch "
"""Begins the name of a column with the latencies of one version of PyTorch. Its values are labels of rows."""

CHANGE, RATE, IMAGES = "change on ", "rate of ", "images/s with "
"""Begin the names of columns of medians: of the change in latency on a GPU, and of that in images per second of a
variant or in a data type; and of the images per second with a version of PyTorch."""

_SERIES: Mapping[str, tuple[str, Format]] = {
    CHANGE: ("median change of a latency", "change"),
    RATE: ("median change of the throughput", "rate_change"),
    IMAGES: ("throughput", "rate"),
}

ON = "on "
"""Begins the name of a column with the throughput on one device, whose name and other facts follow, a line each. Its
values are labels of rows."""

LINES = _registry(
    (
        _column("interval", float, "lower end of the interval of the speedup", "×", N_("Interval (95%)"), "interval"),
        _column("sized_model", str, "slug of a model where it comes first: its anchor", "", N_("Model"), "sized_model"),
        _column("models", int, "number of models", "", N_p("column of counts", "Models"), "count"),
        _column("devices", int, "number of devices", "", N_p("column of counts", "Devices"), "count"),
        _column("device_names", tuple, "labels of a row for each device", "", N_("Devices"), "device_names"),
        _column("comparisons", int, "number of comparisons", "", N_("Comparisons"), "count"),
        _column("median_change", float, "median of the changes", "", N_("Median change"), "change"),
        _column(
            "quartiles", tuple, "quartiles of the changes: half lie between", "", N_("Middle half"), "change_range"
        ),
        _column("best_model", int, "label of the row with the largest gain", "", N_("Largest gain"), "best_model"),
        _column("best_device", int, "label of the row with the largest gain", "", N_("Largest gain"), "best_device"),
        _column("bounds", tuple, "ends of a class of intensity", "FLOP", N_("FLOP per activation"), "bounds"),
        _column("points", float, "median difference", "", N_("Median difference (percentage points)"), "figure"),
        _column("correlation", float, "correlation of ranks", "", N_("Rank correlation"), "figure"),
        _column("same_verdict", float, "share with one verdict", "", N_("Same verdict"), "share"),
        _column("common", int, "models that two GPUs share", "", N_("Models in common"), "count"),
        _column("rate_change", float, "change of the throughput", "", N_("Change in images/s"), "rate_change"),
        _column("image_change", float, "change", "", N_("Change in time per image"), "judged_change"),
        _column("slower", int, "number of slower comparisons", "", N_("Slower when compiled"), "count"),
        _column("kind", str, "torch device type", "", N_("Kind"), "device_type"),
        _column("modes", tuple, "modes of torch.compile", "", N_("Modes"), "modes"),
        _column("batch_sizes", tuple, "batch sizes", "", N_("Batch sizes"), "number_range"),
        _column("why", str, "causes as sentences", "", N_("Why"), "causes", detail=HEADING),
        _column("location", str, "where in the code a graph ended", "", N_("Code location"), "verbatim"),
        _column(
            "version_change", dict, "change of each variant", "", N_("Change from oldest to newest"), "version_change"
        ),
        _column("date", int, "label of a row with the date", "", N_("Date"), "date", detail=HEADING),
        _column("source", int, "label of a row of the source", "", N_("Source"), "source"),
        _column("records", int, "number of records", "", N_("Records"), "count"),
        _column("licence", str, "licence of published figures", "", N_("Licence"), "plain"),
        _column("fault", int, "position of an anomaly", "", N_("Fault"), "anomaly_kind"),
        _column("finding", int, "position of an anomaly", "", N_("What was found"), "anomaly"),
        _column("property", str, "property of an environment", "", N_("Property")),
        _column("eager_ms:default", float, "with glibc's default", "ms", N_("Eager (ms), glibc's default"), "figure"),
        _column("eager_ms:keep", float, "with memory kept", "ms", N_("Eager (ms), memory kept"), "figure"),
        _column(
            "compiled_ms:default", float, "with glibc's default", "ms", N_("Compiled (ms), glibc's default"), "figure"
        ),
        _column("compiled_ms:keep", float, "with memory kept", "ms", N_("Compiled (ms), memory kept"), "figure"),
        _column("speedup:default", float, "with glibc's default", "×", N_("Speedup, glibc's default"), "ratio"),
        _column("speedup:keep", float, "with memory kept", "×", N_("Speedup, memory kept"), "ratio"),
    )
)
"""The columns that only tables of pages have (`generator.figures.tables`)."""


def column(name: str) -> Column:
    """Return a column of the table of results or of the tables of pages."""
    if name.startswith(VERSION):
        return Column(name, int, "labels of the rows of one version of PyTorch", "ms", format="version")
    if series := next((each for each in _SERIES if name.startswith(each)), None):
        description, shown = _SERIES[series]
        return Column(name, float, description, format=shown)
    if name.startswith(ON):
        return Column(name, int, "labels of the rows of one device", format="throughput")
    return COLUMNS.get(name) or LINES[name]
