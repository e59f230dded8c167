"""The tables of the pages as data.

Each function takes a DataFrame of cells and returns one with the lines of a table. The index of a line is the label of
the row that it describes, or of the first of them; its columns are those that a reader sees, in their order, under the
names of `generator.data.registry`. A column such as ``best_model`` holds the label of another row. A table takes the
rows of the function beside it: `modes` those of `mode_rows`.

The conclusion follows the name of a line, so that a phone shows both: the decisive columns of the registry. Whatever
else distinguishes the lines comes next, then the figures behind the conclusion, and sources and counts at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from generator.data.lint import Anomaly
from generator.data.registry import COORDINATES, ON, SIZE, VERSION, column
from generator.data.selection import (
    Groups,
    is_comparison,
    is_trusted,
    mode_order,
    numbered,
    trusted,
    version_order,
    where,
)
from generator.figures.words import PRIMARY, SECONDARY, differing, is_same

Choose = Callable[[pd.DataFrame], pd.DataFrame]
"""A function that takes cells and returns some of them, or lines about them."""

ENVIRONMENT = (
    *("torch", "transformers", "python", "platform", "accelerator", "driver"),
    *("cores", "threads", "memory_gb", "settings", "commit"),
)
"""The columns of an environment, in the order in which they are shown."""


# ── One line per row ────────────────────────────────────────────────────────────────────────────────────────────────


def shown(cells: pd.DataFrame, decisive: Iterable[str], *columns: str) -> pd.DataFrame:
    """A line per row: its name, the conclusion, the other coordinates that tell the rows apart, and `columns`; the
    source comes last."""
    apart = differing({name: cells[name].tolist() for name in (*PRIMARY, *SECONDARY)})
    name, *others = sorted(apart, key=_IN_ORDER.index) or ["model"]
    names = dict.fromkeys((name, *decisive, *others, *columns))
    return cells[sorted(names, key=lambda each: each == "origin" != name)]


_IN_ORDER = ("model", "device", "compile_mode", "batch_size", "torch", *SECONDARY, "origin")
"""Coordinates from the one that names a row to the one that readers need least."""


def _shown(decisive: Sequence[str], *columns: str) -> Choose:
    return lambda cells: shown(cells, decisive, *columns)


def _among(is_chosen: Callable[[pd.DataFrame], pd.Series]) -> Choose:
    """Return the function that returns the cells for which `is_chosen` is true."""
    return lambda cells: where(cells, is_chosen(cells))


def _in_order(cells: pd.DataFrame, labels: pd.Index, *keys: Iterable[Any]) -> pd.DataFrame:
    order = sorted(zip(*keys, labels, strict=True), key=lambda each: each[:-1])
    return cells.loc[[label for *_, label in order]]


def latency(cells: pd.DataFrame) -> pd.DataFrame:
    """Both latencies of each row with their ratio. What all rows have in common belongs in the caption."""
    interval = ["speedup_low"] if cells["speedup_low"].notna().any() else []
    lines = shown(cells, ["speedup"], *interval, "eager_ms", "compiled_ms")
    return lines.rename(columns={"speedup_low": "interval"}) if interval else lines


def slower(cells: pd.DataFrame, most: int = 10) -> pd.DataFrame:
    """The rows in which compiling clearly costs time, the worst first. Same columns as `latency`; images per second
    instead where all are about throughput."""
    worst = slower_rows(cells).sort_values("speedup", kind="stable").iloc[:most]
    if (worst["workload"] == "throughput").all():
        return shown(worst, ["speedup"], "eager_images_s", "compiled_images_s", "batch_size")
    return latency(worst)


slower_rows = _among(lambda cells: is_trusted(cells) & (cells["verdict"] == "slower"))

compile_rows = _among(lambda cells: cells["compile_cold_s"].notna())
compile_cost = _shown(
    ["break_even_calls"],
    *("compile_cold_s", "compile_warm_s", "graphs", "graph_breaks", "dynamo_s", "aot_autograd_s", "inductor_s"),
)
break_even = _shown(
    ["break_even_calls", "break_even_warm_calls"], "compile_cold_s", "compile_warm_s", "eager_ms", "compiled_ms"
)

memory_rows = _among(lambda cells: (cells["eager_peak_memory_gb"] > 0) | (cells["compiled_peak_memory_gb"] > 0))
memory = _shown(["memory_change"], "eager_peak_memory_gb", "compiled_peak_memory_gb")

efficiency_rows = _among(lambda cells: cells["eager_flop_s"].notna())
efficiency = _shown(["compiled_flop_s"], "eager_flop_s", "eager_copy_share", "compiled_copy_share", "flop")

modes = _shown(["speedup"], "break_even_calls", "compiled_ms", "compile_cold_s", "compile_warm_s")


def mode_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of cells that are known in several modes, cell by cell."""
    keys = cells[[*COORDINATES]].sort_values("model", kind="stable")
    number = _numbered_but(keys, "compile_mode")
    several = number[keys["compile_mode"].groupby(number).transform("nunique") > 1]
    return _in_order(cells, several.index, several, keys.loc[several.index, "compile_mode"].map(mode_order))


def _numbered_but(cells: pd.DataFrame, coordinate: str) -> pd.Series:
    """Return a number for each cell, the same for cells that differ in this coordinate alone."""
    return numbered(cells, [name for name in COORDINATES if name != coordinate])


def causes(cells: pd.DataFrame) -> pd.DataFrame:
    """The verdict on each cell, with its causes."""
    return shown(cells, ["speedup", "verdict"]).assign(why=cells["causes"])


cause_rows = _among(lambda cells: is_comparison(cells) & ((cells["causes"] != "") | cells["eager_flop_s"].notna()))
"""Returns the comparisons that have a cause, or whose measurement could have shown one."""


def malloc_pairs(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return pairs of comparisons on a CPU, side by side: with glibc's default, and with freed memory kept. They are
    the newest of each cell; `cells` are those of all runs."""
    alike = (*COORDINATES, "processor")
    keys = cells[[*alike, "device_type", "malloc", "measured_at", "speedup", "status"]]
    keys = keys[is_comparison(keys) & (keys["device_type"] == "cpu") & (keys["origin"] == "measured")]
    keys = keys.sort_values("measured_at", kind="stable", na_position="first")
    return _pairs(cells, _labels(keys["malloc"], numbered(keys, alike)), "default", "keep")


# ── Graphs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

break_rows = _among(lambda cells: cells["graph_break_reasons"] != "")
skip_rows = _among(lambda cells: cells["cudagraph_skip_reasons"] != "")


def graph_breaks(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per place at which Dynamo ended a graph, with the modes in which it did."""
    found = _elements(cells, "graph_break_reasons")
    parts = {name: found["reason"].str.get(name) for name in ("reason", "location")}
    return _by_mode(found.assign(**parts), *parts)


def skips(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per reason for which CUDA graphs were skipped, with the modes in which they were."""
    return _by_mode(_elements(cells, "cudagraph_skip_reasons"), "reason")


def _elements(cells: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a row for each element of a column of JSON lists, as its reason."""
    lists = cells[column].map(json.loads)
    return cells[["model", "device", "compile_mode"]].assign(reason=lists).explode("reason")


def _by_mode(cells: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """One line per model, device and value of these columns, with its modes."""
    ordered = cells.sort_values(["model", "device"], kind="stable")
    return _lines(Groups(ordered, "model", "device", *columns), "model", *columns, "device", "modes")


# ── Versions ────────────────────────────────────────────────────────────────────────────────────────────────────────

ACROSS_VERSIONS = ("device", "model", "compile_mode", "batch_size", "dtype")
"""Columns in which the versions of a cell agree."""


def _across_versions(cells: pd.DataFrame) -> pd.Series:
    """Return a number for each row, the same for rows that only the version tells apart. Wheels of different kinds
    (2.13.0+cpu, 2.13.0+cu130) have different libraries."""
    wheels = [version.partition("+")[2] for version in cells["torch"]]
    return numbered(cells.assign(wheel=wheels), (*ACROSS_VERSIONS, "wheel"))


def versions(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per cell that several versions of torch have in common, with a column for each version.

    The columns ``version 2.0.1`` hold the labels of the rows; `version_speedup`, by variant, compares the newest with
    the oldest.
    """
    number = _across_versions(cells)
    latencies = cells[["eager_ms", "compiled_ms"]].set_axis(["eager", "compiled"], axis=1).groupby(number)
    speedups = (latencies.first() / latencies.last()).to_dict("records")
    # Versions and origins stand side by side, so they don't tell the lines apart.
    newest = cells[~number.duplicated(keep="last")]
    lines = newest.assign(version_speedup=pd.Series(speedups, newest.index), torch="", origin="")
    return _beside(shown(lines, ["version_speedup"]), VERSION, _labels(cells["torch"], number), version_order)


def version_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the cells that several versions of torch have in common, cell by cell, the oldest first.

    A measured row comes before a published one of the same version. Only latency counts: throughput, of a batch that
    each version chose anew, is compared in `generator.pages`.
    """
    cells = where(cells, cells["workload"] == "latency")
    keys = cells[[*ACROSS_VERSIONS, "torch", "origin", "weights", "speedup", "status"]]
    keys = keys.assign(is_fixed=cells["dynamic"] != "auto", cell=_across_versions(keys))
    keys = keys.sort_values(["model", "origin", "is_fixed", "weights"], kind="stable")
    keys = keys[is_comparison(keys)].drop_duplicates(["cell", "torch"])
    keys = keys[keys["cell"].duplicated(keep=False)]
    return _in_order(cells, keys.index, numbered(keys, ["cell"]), keys["torch"].map(version_order))


# ── Batch sizes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def batches(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per model, with a column of labels of rows for each batch size."""
    number = _numbered_but(cells, "batch_size")
    lines = shown(cells[~number.duplicated()].assign(batch_size=0), [])
    return _beside(lines, SIZE, _labels(cells["batch_size"], number), int)


def batch_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows about latency, those with the largest gain at their smallest batch size first."""
    rows = where(cells, cells["workload"] == "latency").sort_values("batch_size", kind="stable")
    first = rows["speedup"].groupby(_numbered_but(rows, "batch_size")).transform("first")
    return rows.loc[first.sort_values(ascending=False, kind="stable").index]


# ── Throughput ──────────────────────────────────────────────────────────────────────────────────────────────────────

_COLUMN = ("device", "torch", "compile_mode", "dtype")
"""Columns in which the rows of a column of `throughput` agree."""


def throughput(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per model and size of its images, with a column of labels of rows for each device and version of
    PyTorch, the newest version first."""
    keys = where(cells, _of_comparing_run(cells))[[*_COLUMN, "device_name"]].sort_index()  # as in the results
    several = [name for name in ("compile_mode", "dtype") if not is_same(keys[name])]
    facts = zip(keys["device_name"], "PyTorch " + keys["torch"], *(keys[name] for name in several), strict=True)
    names = pd.Series(["\n".join(each) for each in facts], keys.index)
    newest_first = sorted(zip(keys["torch"], names, strict=True), key=lambda each: version_order(each[0]), reverse=True)
    number = numbered(cells, ("model", "input_size"))
    first = cells["model"][~number.duplicated()]
    lines = pd.DataFrame({"sized_model": first.where(~first.duplicated(), "")})
    return _beside(lines, ON, _labels(names, number), [name for _, name in newest_first].index)


def throughput_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of throughput, by model and size. Runs of one variant add only models that no other run has:
    links lead to each model."""
    rows = where(cells, cells["workload"] == "throughput")
    compares = _of_comparing_run(rows)
    rows = where(rows, compares | ~rows["model"].isin(rows["model"][compares]))
    return _in_order(rows, rows.index, rows["model"], rows["input_size"].str.len(), rows["input_size"])


def _of_comparing_run(cells: pd.DataFrame) -> pd.Series:
    number = numbered(cells, _COLUMN)
    return number.isin(number[cells["speedup"].notna()])


# ── One line per group ──────────────────────────────────────────────────────────────────────────────────────────────


def summary(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per device and source, of trusted rows of one workload: figures of two sources never share an average.

    Of a throughput, which has hundreds of models on a device, only the newest version of PyTorch counts.
    """
    cells = trusted(cells)
    if (cells["workload"] == "throughput").all():
        newest = is_newest(cells["device"].tolist(), cells["torch"].tolist())
        cells = where(cells, pd.Series(newest, cells.index, dtype=bool))
    groups = Groups(cells, "device", "source_title", "origin", "dtype")
    names = ("device", "median_speedup", "quartiles", "slower", "comparisons", "best_model", "models", "batch_sizes")
    return _lines(groups, *names, "torch", "source")


def is_newest(devices: Iterable[str], versions: Iterable[str]) -> list[bool]:
    """Return for each row whether its version of PyTorch is the newest on its device."""
    known = [*zip(devices, map(version_order, versions), strict=True)]
    newest: dict[str, Any] = {}
    for device, version in known:
        newest[device] = max(newest.get(device, version), version)
    return [version == newest[device] for device, version in known]


def devices(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per device: its records, and their kind where there are several."""
    kind = () if is_same(cells["device_type"]) else ("kind",)
    names = ("device", "models", "comparisons", *kind, "modes", "batch_sizes", "torch", "origin")
    return _lines(Groups(cells, "device"), *names)


def models(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per model, by task, with its largest gain."""
    groups = Groups(cells.sort_values(["task", "model"], kind="stable"), "model")
    return _lines(groups, "model", "best_device", "task", "devices", "comparisons", "checkpoint")


def families(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per family of models; the median and the quartiles where all rows are of one device and origin."""
    groups = Groups(cells.sort_values("family", kind="stable"), "family")
    if len(cells[["device", "origin"]].drop_duplicates()) == 1:
        return _lines(groups, "family", "median_speedup", "quartiles", "slower", "comparisons", "best_model")
    return _lines(groups, "family", "slower", "models", "best_model")


def environment(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per distinct environment, the newest first, with the columns of `ENVIRONMENT` that are known for
    any."""
    distinct = ("device", "origin", *(name for name in ENVIRONMENT if name != "commit"))
    first = Groups(_newest_first(cells[[*distinct, "commit", "measured_at"]]), *distinct).first
    return first[[name for name in ENVIRONMENT if (first[name].notna() & ~first[name].isin(["", "{}"])).any()]]


def runs(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per run, the newest first: where its rows come from."""
    names = ("run", "origin", "date", "device_names", "records", "torch", "transformers", "commit", "licence")
    return _lines(Groups(_newest_first(cells), "run"), *names)


def problems(groups: Collection[Sequence[Anomaly]]) -> pd.DataFrame:
    """One line per group of anomalies of the data lint; both columns hold its position in `groups`."""
    positions = range(len(groups))
    return pd.DataFrame({"fault": positions, "finding": positions}, index=[first.rows[0] for first, *_ in groups])


_SUMMARIES: Mapping[str, Callable[[Groups], Any]] = {
    "models": lambda groups: groups.of(groups.cells["model"]).nunique(),
    "devices": lambda groups: groups.of(groups.cells["device"]).nunique(),
    "comparisons": lambda groups: groups.of(is_trusted(groups.cells)).sum(),
    "slower": lambda groups: groups.of(is_trusted(groups.cells) & (groups.cells["verdict"] == "slower")).sum(),
    "median_speedup": lambda groups: groups.of(groups.cells["speedup"].where(is_trusted(groups.cells))).median(),
    "quartiles": lambda groups: groups.quartiles(groups.cells["speedup"].where(is_trusted(groups.cells))),
    "best_model": lambda groups: groups.labels(_best_first(groups.cells)),
    "best_device": lambda groups: groups.labels(_best_first(groups.cells)),
    "modes": lambda groups: groups.values("compile_mode"),
    "batch_sizes": lambda groups: groups.values("batch_size"),
    **{name: partial(Groups.values, column=name) for name in ("torch", "transformers", "commit", "origin")},
    "records": lambda groups: groups.of(groups.cells["attempts"]).sum(),
    "device_names": lambda groups: groups.of(~groups.cells.duplicated(["run", "device"])).agg(
        lambda values: tuple(values.index[values])
    ),
    "source": lambda groups: groups.first.index,
    "date": lambda groups: groups.first.index,
    "kind": lambda groups: groups.first["device_type"],
    "licence": lambda groups: groups.first["source_licence"],
}
"""Columns that sum up the rows of a group. Any other column has the value of the first row."""


def _lines(groups: Groups, *names: str) -> pd.DataFrame:
    values = {name: _SUMMARIES[name](groups) if name in _SUMMARIES else groups.first[name] for name in names}
    typed = {name: pd.Series(each, dtype=column(name).dtype) for name, each in values.items()}
    return pd.DataFrame({name: each.set_axis(groups.first.index) for name, each in typed.items()})


def _newest_first(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.sort_values("measured_at", ascending=False, kind="stable")


def _best_first(cells: pd.DataFrame) -> pd.DataFrame:
    """The trusted comparisons that gain, the largest gain first."""
    gains = cells.loc[is_trusted(cells) & (cells["verdict"] == "faster"), ["speedup"]]
    return gains.sort_values("speedup", ascending=False, kind="stable")


# ── For sentences ───────────────────────────────────────────────────────────────────────────────────────────────────


def batch_pairs(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return latencies compared at the smallest batch size, and the same ones at the largest: measured ones if any.

    Both are of one origin. Doubtful rows are left out. Empty where there is only one batch size.
    """
    compared = trusted(where(cells, cells["workload"] == "latency"))
    for origin in ("measured", "published"):
        rows = compared.loc[compared["origin"] == origin, [*COORDINATES]]
        by_size = _labels(rows["batch_size"], _numbered_but(rows, "batch_size"))
        if len(sizes := sorted(by_size.columns.tolist())) > 1:
            small, large = _pairs(cells, by_size, sizes[0], sizes[-1])
            if len(small):
                return small, large
    return cells.iloc[:0], cells.iloc[:0]


def _beside(lines: pd.DataFrame, series: str, labels: pd.DataFrame, order: Callable[[Any], Any]) -> pd.DataFrame:
    """Return the lines with the columns of a series, in this order: the labels of the rows that each shows."""
    return lines.assign(**{f"{series} {name}": labels[name].array for name in sorted(labels, key=order)})


def _labels(values: pd.Series, line: pd.Series) -> pd.DataFrame:
    """Return the label of the last row of each line with each value: a row for each line, a column for each value."""
    labels: dict[Any, dict[int, int]] = {}
    for label, value, number in zip(values.index, values, line[values.index], strict=True):
        labels.setdefault(value, {})[number] = label
    return pd.DataFrame(labels, range(line.nunique()), dtype="Int64")


def _pairs(cells: pd.DataFrame, labels: pd.DataFrame, *ends: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows that have a label under both `ends`, side by side, in the order of the second."""
    both = labels.reindex(columns=[*ends]).dropna().sort_values(ends[1])
    return cells.loc[both[ends[0]]], cells.loc[both[ends[1]]]
