"""The tables of the pages as data.

Each function takes a DataFrame of cells and returns one with the lines of a table. The index of a line is the label of
the row that it describes, or of the first of them; its columns are those that a reader sees, in their order, under the
names of `generator.data.registry`. A column such as ``best_model`` holds the label of another row. The rows that a
table is about are those of the function beside it: `modes` takes `mode_rows`.

The conclusion follows the name of a line, so that a phone shows both: the decisive columns of the registry. Whatever
else distinguishes the lines comes next, then the figures behind the conclusion, and sources and counts at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pandas as pd

from generator.data.lint import Anomaly
from generator.data.registry import COORDINATES, ON, SIZE, VERSION, column
from generator.data.selection import (
    Groups,
    by_value,
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
"""What the environment of a record consists of, in the order in which it is shown."""


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
    """Return the function that makes the lines of `shown` with these columns."""
    return lambda cells: shown(cells, decisive, *columns)


def _among(is_chosen: Callable[[pd.DataFrame], pd.Series]) -> Choose:
    """Return the function that returns the cells for which `is_chosen` is true."""
    return lambda cells: where(cells, is_chosen(cells))


def latency(cells: pd.DataFrame) -> pd.DataFrame:
    """Both latencies of each row with their ratio. What all rows have in common belongs in the caption."""
    interval = ["speedup_low"] if cells["speedup_low"].notna().any() else []
    lines = shown(cells, ["change"], "speedup", *interval, "eager_ms", "compiled_ms")
    return lines.rename(columns={"speedup_low": "interval"}) if interval else lines


def slower(cells: pd.DataFrame, most: int = 10) -> pd.DataFrame:
    """The rows in which compiling clearly costs time, the worst first. Same columns as `latency`; images per second
    instead where all are about throughput."""
    worst = slower_rows(cells).sort_values("change", ascending=False, kind="stable").iloc[:most]
    if (worst["workload"] == "throughput").all():
        lines = shown(worst, ["change"], "eager_images_s", "compiled_images_s", "batch_size")
        return lines.rename(columns={"change": "image_change"})
    return latency(worst)


slower_rows = _among(lambda cells: is_trusted(cells) & (cells["verdict"] == "slower"))
"""Returns the trusted comparisons whose compiled model is slower."""

compile_cost = _shown(
    ["break_even_calls"],
    *("compile_cold_s", "compile_warm_s", "graphs", "graph_breaks", "dynamo_s", "aot_autograd_s", "inductor_s"),
)
"""What compiling costs and when it pays off."""

break_even = _shown(
    ["break_even_calls", "break_even_warm_calls"], "compile_cold_s", "compile_warm_s", "eager_ms", "compiled_ms"
)
"""When compiling pays off, with an empty and with a filled cache."""

compile_rows = _among(lambda cells: cells["compile_cold_s"].notna())
"""Returns the rows that have the cost of compiling."""

modes = _shown(["change"], "break_even_calls", "compiled_ms", "compile_cold_s", "compile_warm_s")
"""The modes of the same cells, below each other: the latency, and what it costs to get there."""


def mode_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of cells that are known in several modes, those of a cell together."""
    keys = cells[[*COORDINATES]].sort_values("model", kind="stable")
    number = _numbered_but(keys, "compile_mode")
    several = number[keys["compile_mode"].groupby(number).transform("nunique") > 1]
    order = zip(several.tolist(), map(mode_order, keys.loc[several.index, "compile_mode"]), several.index, strict=True)
    return cells.loc[[label for *_, label in sorted(order, key=lambda each: each[:2])]]


def _numbered_but(cells: pd.DataFrame, coordinate: str) -> pd.Series:
    """Return a number for each cell, the same for cells that differ in this coordinate alone."""
    return numbered(cells, [name for name in COORDINATES if name != coordinate])


memory = _shown(["memory_change"], "eager_peak_memory_gb", "compiled_peak_memory_gb")
"""Peak memory of both variants."""

memory_rows = _among(lambda cells: (cells["eager_peak_memory_gb"] > 0) | (cells["compiled_peak_memory_gb"] > 0))
"""Returns the rows that have the peak memory of a variant."""

efficiency = _shown(["compiled_flop_s"], "eager_flop_s", "eager_copy_share", "compiled_copy_share", "flop")
"""Share of the device's peak that each variant reaches."""

efficiency_rows = _among(lambda cells: cells["eager_flop_s"].notna())
"""Returns the rows whose operations were counted."""


def causes(cells: pd.DataFrame) -> pd.DataFrame:
    """The verdict on each cell, with its causes."""
    return shown(cells, ["change", "verdict"]).assign(why=cells["causes"])


cause_rows = _among(lambda cells: is_comparison(cells) & ((cells["causes"] != "") | cells["eager_flop_s"].notna()))
"""Returns the comparisons that have a cause, or whose measurement could have shown one."""


def malloc_pairs(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return pairs of comparisons on a CPU, side by side: with glibc's default, and with freed memory kept. They are
    the newest of each cell; `cells` are those of all runs."""
    alike = (*COORDINATES, "processor")
    keys = cells[[*alike, "device_type", "malloc", "measured_at", "change", "status"]]
    keys = keys[is_comparison(keys) & (keys["device_type"] == "cpu") & (keys["origin"] == "measured")]
    keys = keys.sort_values("measured_at", kind="stable", na_position="first")
    by_malloc = _labels_of(keys["malloc"], numbered(keys, alike))
    return _pairs(cells, by_malloc.get("default", {}), by_malloc.get("keep", {}))


# ── Graphs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def graph_breaks(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per place at which Dynamo ended a graph, with the modes in which it did."""
    parts = {"reason": lambda element: str(element["reason"]), "location": lambda element: str(element["location"])}
    return _graph_lines(cells, "graph_break_reasons", parts)


break_rows = _among(lambda cells: cells["graph_break_reasons"] != "")
"""Returns the rows with graph breaks."""


def skips(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per reason for which CUDA graphs were skipped, with the modes in which they were."""
    return _graph_lines(cells, "cudagraph_skip_reasons", {"reason": str})


skip_rows = _among(lambda cells: cells["cudagraph_skip_reasons"] != "")
"""Returns the rows in which CUDA graphs were skipped."""


def _graph_lines(cells: pd.DataFrame, reasons: str, parts: dict[str, Callable[[Any], str]]) -> pd.DataFrame:
    """One line per model, device and distinct element of a column of JSON lists."""
    known = cells[["model", "device", "compile_mode", reasons]].sort_values(["model", "device"], kind="stable")
    elements = known[reasons].map(json.loads).explode()
    found = known.loc[elements.index].assign(**{name: elements.map(part) for name, part in parts.items()})
    return _by_mode(Groups(found, "model", "device", *parts), *parts)


def recompiles(cells: pd.DataFrame) -> pd.DataFrame:
    """How often Dynamo traced again, with the modes that came out so: with the inputs of the measurement, and when
    other batch sizes follow."""
    counts = ("recompiles", "batch_size_recompiles", "dynamic")
    ordered = cells[["model", "device", "compile_mode", *counts]].sort_values(["model", "device"], kind="stable")
    return _by_mode(Groups(ordered, "model", "device", *counts), *counts)


recompile_rows = _among(lambda cells: (cells["recompiles"].fillna(0) > 0) | cells["batch_size_recompiles"].notna())
"""Returns the rows in which Dynamo traced again, or was made to by other batch sizes."""


def _by_mode(groups: Groups, *columns: str) -> pd.DataFrame:
    """One line per group: its model, these columns, its device, and its modes."""
    first = {name: groups.first[name] for name in ("model", *columns, "device")}
    return _lines(groups, **first, modes=groups.values("compile_mode"))


# ── Versions ────────────────────────────────────────────────────────────────────────────────────────────────────────

ACROSS_VERSIONS = ("device", "model", "compile_mode", "batch_size", "dtype")
"""What the versions of a cell have in common."""


def versions(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per cell that several versions of torch have in common, with a column for each version.

    The columns ``torch 2.0.1`` hold the labels of the rows; `version_change`, by variant, compares the newest with the
    oldest.
    """
    number = numbered(cells, ACROSS_VERSIONS)
    newest = cells[~number.duplicated(keep="last")]
    by_variant = {variant: version_changes(cells, variant).tolist() for variant in ("eager", "compiled")}
    changes = [dict(zip(by_variant, each, strict=True)) for each in zip(*by_variant.values(), strict=True)]
    # Versions and origins stand side by side, so they don't tell the lines apart.
    lines = newest.assign(version_change=pd.Series(changes, newest.index), torch="", origin="")
    return shown(lines, ["version_change"]).assign(**_side_by_side(VERSION, cells["torch"], number, version_order))


def version_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the cells that several versions of torch have in common, cell by cell, the oldest first.

    A measured row comes before a published one of the same version. Only latency counts: throughput, of a batch that
    each version chose anew, is compared in `generator.pages`.
    """
    cells = where(cells, cells["workload"] == "latency")
    keys = cells[[*ACROSS_VERSIONS, "torch", "origin", "weights", "change", "status"]]
    keys = keys.assign(is_fixed=cells["dynamic"] != "auto", cell=numbered(keys, ACROSS_VERSIONS))
    keys = keys.sort_values(["model", "origin", "is_fixed", "weights"], kind="stable")
    keys = keys[is_comparison(keys)].drop_duplicates(["cell", "torch"])
    keys = keys[keys["cell"].duplicated(keep=False)]
    cell = numbered(keys, ["cell"])
    order = zip(cell.tolist(), map(version_order, keys["torch"]), keys.index.tolist(), strict=True)
    return cells.loc[[label for *_, label in sorted(order, key=lambda each: each[:2])]]


def version_changes(known: pd.DataFrame, variant: str) -> pd.Series:
    """Return the change of a variant's latency from the oldest to the newest version of each cell of `version_rows`."""
    latencies = known[f"{variant}_ms"].groupby(numbered(known, ACROSS_VERSIONS))
    return latencies.last() / latencies.first() - 1


# ── Batch sizes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def batches(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per model, with a column of labels of rows for each batch size."""
    number = _numbered_but(cells, "batch_size")
    lines = shown(cells[~number.duplicated()].assign(batch_size=0), [])
    return lines.assign(**_side_by_side(SIZE, cells["batch_size"].astype(str), number, int))


def batch_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows about latency, those with the largest gain at their smallest batch size first."""
    rows = where(cells, cells["workload"] == "latency").sort_values("batch_size", kind="stable")
    first = rows["change"].groupby(_numbered_but(rows, "batch_size")).transform("first")
    return rows.loc[first.sort_values(kind="stable").index]


# ── Throughput ──────────────────────────────────────────────────────────────────────────────────────────────────────

_COLUMN = ("device", "torch", "compile_mode", "dtype")
"""What the rows of a column of `throughput` have in common."""


def throughput(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per model and size of its images, with a column of labels of rows for each device and version of
    PyTorch, the newest version first."""
    keys = cells[[*_COLUMN, "device_name"]].sort_index()  # devices in the order of the results
    several = [name for name in ("compile_mode", "dtype") if not is_same(keys[name])]
    facts = zip(keys["device_name"], "PyTorch " + keys["torch"], *(keys[name] for name in several), strict=True)
    names = pd.Series(["\n".join(each) for each in facts], keys.index)
    newest_first = sorted(zip(keys["torch"], names, strict=True), key=lambda each: version_order(each[0]), reverse=True)
    number = numbered(cells, ("model", "input_size"))
    columns = _side_by_side(ON, names, number, [name for _, name in newest_first].index)
    first = cells["model"][~number.duplicated()]
    return pd.DataFrame({"sized_model": first.where(~first.duplicated(), ""), **columns}, first.index)


def throughput_rows(cells: pd.DataFrame) -> pd.DataFrame:
    """Return the rows about throughput, by model and size, of the runs that have eager figures at all."""
    rows = where(cells, cells["workload"] == "throughput")
    number = numbered(rows, _COLUMN)
    rows = where(rows, number.isin(number[rows["eager_images_s"].notna()]))
    keys = zip(rows["model"], rows["input_size"], rows.index.tolist(), strict=True)
    return rows.loc[[label for *_, label in sorted(keys, key=lambda key: (key[0], len(key[1]), key[1]))]]


def _side_by_side(
    series: str, names: pd.Series, number: pd.Series, order: Callable[[str], Any]
) -> dict[str, pd.api.extensions.ExtensionArray]:
    """Return a column of labels of rows for each name, in this order: by the number of the line of each row."""
    labels = _labels_of(names, number)
    lines = range(number.nunique())
    return {
        f"{series} {name}": pd.array([labels[name].get(line) for line in lines], dtype="Int64")
        for name in sorted(labels, key=order)
    }


# ── One line per group ──────────────────────────────────────────────────────────────────────────────────────────────


def summary(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per device and source, of the rows of one workload: figures of two sources never share an average.

    Of a throughput, which has hundreds of models on a device, only the newest version of PyTorch counts.
    """
    if (cells["workload"] == "throughput").all():
        cells = where(cells, cells["eager_images_s"].notna())
        newest = is_newest(cells["device"].tolist(), cells["torch"].tolist())
        cells = where(cells, pd.Series(newest, cells.index, dtype=bool))
    groups, compared = Groups(cells, "device", "profile", "origin", "dtype"), is_trusted(cells)
    changes = cells["change"].where(compared)
    return _lines(
        groups,
        device=groups.first["device"],
        median_change=groups.of(changes).median(),
        quartiles=groups.quartiles(changes),
        slower=groups.of(compared & (cells["verdict"] == "slower")).sum(),
        comparisons=groups.of(compared).sum(),
        best_model=groups.labels(_best_first(cells)),
        models=groups.of(groups.cells["model"]).nunique(),
        batch_sizes=groups.values("batch_size", among=compared),
        torch=groups.values("torch"),
        source=groups.first.index,
    )


def is_newest(devices: Iterable[str], versions: Iterable[str]) -> list[bool]:
    """Return for each row whether its version of PyTorch is the newest on its device."""
    known = [*zip(devices, map(version_order, versions), strict=True)]
    newest: dict[str, Any] = {}
    for device, version in known:
        newest[device] = max(newest.get(device, version), version)
    return [version == newest[device] for device, version in known]


def devices(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per device, with what there is about it, and of which kind it is where there are several."""
    groups = Groups(cells, "device")
    kinds = {} if is_same(groups.first["device_type"]) else {"kind": groups.first["device_type"]}
    return _lines(
        groups,
        device=groups.first["device"],
        models=groups.of(groups.cells["model"]).nunique(),
        comparisons=groups.of(is_trusted(cells)).sum(),
        **kinds,
        modes=groups.values("compile_mode"),
        batch_sizes=groups.values("batch_size"),
        torch=groups.values("torch"),
        origin=groups.values("origin"),
    )


def models(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per model, by task, with its largest gain."""
    by_task = cells.sort_values(["task", "model"], kind="stable")
    groups = Groups(by_task, "model")
    return _lines(
        groups,
        model=groups.first["model"],
        best_device=groups.labels(_best_first(by_task)),
        task=groups.first["task"],
        devices=groups.of(groups.cells["device"]).nunique(),
        comparisons=groups.of(is_trusted(by_task)).sum(),
        checkpoint=groups.first["checkpoint"],
    )


def families(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per family of models; the median and the quartiles where all rows are of one device and origin."""
    by_family = cells.sort_values("family", kind="stable")
    groups, compared = Groups(by_family, "family"), is_trusted(by_family)
    is_averaged = len(cells[["device", "origin"]].drop_duplicates()) == 1
    changes = by_family["change"].where(compared)
    median = (
        {"median_change": groups.of(changes).median(), "quartiles": groups.quartiles(changes)} if is_averaged else {}
    )
    return _lines(
        groups,
        family=groups.first["family"],
        **median,
        slower=groups.of(compared & (by_family["verdict"] == "slower")).sum(),
        **(
            {"comparisons": groups.of(compared).sum()}
            if is_averaged
            else {"models": groups.of(groups.cells["model"]).nunique()}
        ),
        best_model=groups.labels(_best_first(by_family)),
    )


def environment(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per distinct environment, the newest first, with the columns of `ENVIRONMENT` that are known for
    any."""
    distinct = ("device", "origin", *(name for name in ENVIRONMENT if name != "commit"))
    groups = Groups(_newest_first(cells[[*distinct, "commit", "measured_at"]]), *distinct)
    first = groups.first[[*ENVIRONMENT]]
    known = [name for name in ENVIRONMENT if (first[name].notna() & ~first[name].isin(["", "{}"])).any()]
    return _lines(groups, **{name: first[name] for name in known})


def runs(cells: pd.DataFrame) -> pd.DataFrame:
    """One line per run, the newest first: where its rows come from."""
    newest_first = _newest_first(cells)
    groups = Groups(newest_first, "run")
    once = newest_first.drop_duplicates(["run", "device"])["run"]
    devices_of = by_value(once.index.tolist(), once.tolist())
    return _lines(
        groups,
        run=groups.first["run"],
        origin=groups.first["origin"],
        date=groups.first.index,
        device_names=[tuple(devices_of[run]) for run in groups.first["run"]],
        records=groups.of(newest_first["attempts"]).sum(),
        torch=groups.values("torch"),
        transformers=groups.values("transformers"),
        commit=groups.values("commit"),
        licence=groups.first["source_licence"],
    )


def problems(groups: Collection[Sequence[Anomaly]]) -> pd.DataFrame:
    """One line per group of anomalies of the data lint; both columns hold its position in `groups`."""
    positions = range(len(groups))
    return pd.DataFrame({"fault": positions, "finding": positions}, index=[first.rows[0] for first, *_ in groups])


def _lines(groups: Groups, **columns: Any) -> pd.DataFrame:
    """A line per group, with values for each."""
    labels = groups.first.index
    typed = {name: pd.Series(values, dtype=column(name).dtype) for name, values in columns.items()}
    return pd.DataFrame({name: values.set_axis(labels) for name, values in typed.items()}, index=labels)


def _newest_first(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.sort_values("measured_at", ascending=False, kind="stable")


def _best_first(cells: pd.DataFrame) -> pd.DataFrame:
    """The trusted comparisons that gain, the largest gain first."""
    gains = cells.loc[is_trusted(cells) & (cells["verdict"] == "faster"), ["change"]]
    return gains.sort_values("change", kind="stable")


# ── For sentences ───────────────────────────────────────────────────────────────────────────────────────────────────


def batch_pairs(cells: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return latencies compared at the smallest batch size, and the same ones at the largest: measured ones if any.

    Both are of one origin. Doubtful rows are left out. Empty where there is only one batch size.
    """
    compared = trusted(where(cells, cells["workload"] == "latency"))
    for origin in ("measured", "published"):
        rows = compared.loc[compared["origin"] == origin, [*COORDINATES]]
        by_size = _labels_of(rows["batch_size"], _numbered_but(rows, "batch_size"))
        if len(by_size) > 1:
            small, large = _pairs(cells, by_size[min(by_size)], by_size[max(by_size)])
            if len(small):
                return small, large
    return cells.iloc[:0], cells.iloc[:0]


def best_row(cells: pd.DataFrame) -> int | None:
    """Return the label of the trusted comparison with the largest gain, None where nothing gains clearly."""
    best = _best_first(cells).index.tolist()
    return best[0] if best else None


def worst_row(cells: pd.DataFrame) -> int | None:
    """Return the label of the trusted comparison with the largest loss, or the smallest gain where none is slower."""
    slower = slower_rows(cells)
    changes = (trusted(cells) if slower.empty else slower)["change"]
    return None if changes.empty else int(changes.index[int(changes.argmax())])


def _labels_of(values: pd.Series, number: pd.Series) -> dict[Any, dict[int, int]]:
    """Return the label of the last row with a value in each group, by value and number of the group."""
    labels: dict[Any, dict[int, int]] = {}
    for label, value in zip(values.index.tolist(), values.tolist(), strict=True):
        labels.setdefault(value, {})[number[label]] = label
    return labels


def _pairs(cells: pd.DataFrame, first: dict[int, int], second: dict[int, int]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of the groups that have a label in both, side by side, in the order of the second."""
    pairs = sorted((second[group], first[group]) for group in first.keys() & second.keys())
    return cells.loc[[label for _, label in pairs]], cells.loc[[label for label, _ in pairs]]
