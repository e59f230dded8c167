"""Pooling: the lines of run files enter, columns leave, with one row per cell and run.

What `bench.statistics.statistics` and `bench.statistics.causes` define for one cell is worked out here for thousands of
cells at once, in
arrays of shape (cells, processes): a million records take seconds instead of minutes, and
`tests/generator/data/test_pooling.py` holds
both against each other.

    python -m pytest tests/generator/data/test_pooling.py
"""

from __future__ import annotations

import gc
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.errors import AtlasError
from bench.plans.profiles import KEEP_MEMORY
from bench.records import record, run_file
from bench.records.record import (
    PHASES,
    WORST_FIRST,
    Cell,
    Environment,
    Graphs,
    Measurement,
    Record,
    Source,
    Variant,
)
from bench.statistics.causes import AT_THE_PEAK, EXPLAINS, HOST_BOUND, LESS_TRAFFIC, MEMORY_BOUND, Cause
from bench.statistics.statistics import CONFIDENCE, SAME, VERDICT_CONFIDENCE, student
from generator.data.columns import Array, Indices, Numbers, Ragged, Texts, sums
from generator.data.lines import LONGEST_MS, PARTS, PERCENTILES, PUBLISHED, READINGS, SHORTEST_MS, VARIANTS, Lines, read


@dataclass(frozen=True, eq=False)
class Pooled:
    """Rows of some run files. `figures` (nan where unknown) and `texts` are those of `load.COLUMNS` that follow from
    the records of one cell, and ``file``, the position of the file; `rounds` has for each variant the medians of the
    rounds
    of each row, in the order of time, one process after the other; it is empty where only names were read.
    """

    figures: Mapping[str, NDArray[Any]]
    texts: Mapping[str, Texts]
    rounds: Mapping[str, Ragged]
    facts: Mapping[str, Any] = field(default_factory=dict)  # what else is kept beside them

    def __len__(self) -> int:
        return len(next(iter(self.figures.values()), ()))

    def take(self, rows: Indices) -> Pooled:
        """These rows, in this order."""
        return Pooled(
            {name: figures.take(rows) for name, figures in self.figures.items()},
            {name: texts.take(rows) for name, texts in self.texts.items()},
            {variant: rounds.take(rows) for variant, rounds in self.rounds.items()},
            self.facts,
        )


def pool(paths: Iterable[Path]) -> Pooled:
    """The rows of some run files.

    Raises `AtlasError` for the first line that is broken, of an unknown schema, without positive latencies, or a
    duplicate of another line of its run.
    """
    with _without_collecting():
        return _pooled(read(list(paths)))


def named(paths: Iterable[Path]) -> Pooled:
    """The same rows without what was measured, in a third of the time: what they are called, and when and how their
    processes ended.

    Raises `AtlasError` as `pool` does, but for what is wrong with a measurement.
    """
    with _without_collecting():
        return _named(read(list(paths), measured=False))


@contextmanager
def _without_collecting() -> Iterator[None]:
    """What is decoded holds no cycles, and there is much of it."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _named(lines: Lines) -> Pooled:
    if not len(lines):
        return Pooled({"file": np.empty(0, np.int64)}, {}, {})
    return Pooled(*_described(lines, *_rows(lines)), {})


def _pooled(lines: Lines) -> Pooled:
    if not len(lines):
        return Pooled({"file": np.empty(0, np.int64)}, {}, {variant: Ragged.of(()) for variant in VARIANTS})
    _refuse_impossible(lines)
    order, sizes = _rows(lines)
    described, texts = _described(lines, order, sizes)
    measured = lines.records["is_measured"].astype(bool)
    # Positions among the measurements, cell by cell and process by process.
    number = np.cumsum(measured) - 1
    at = number[order][measured[order]]
    processes = sums(measured[order], sizes)
    rounds: dict[str, Ragged] = {
        variant: lines.lists[f"{variant}_rounds"].take(at).merged(processes) for variant in VARIANTS
    }
    with np.errstate(all="ignore"):  # what is not known is nan, and so is what follows from it
        found, told = _figures(_Measurements(lines), at, processes, described["batch_size"])
    return Pooled({**described, **found}, {**texts, **told}, rounds)


def _rows(lines: Lines) -> tuple[Indices, Indices]:
    """The lines row by row, process by process, and how many each row has."""
    group = _groups(lines)
    order = np.lexsort((lines.records["process"], group))
    _refuse_duplicates(lines, group, order)
    return order, np.bincount(group)


def _groups(lines: Lines) -> Indices:
    """For each line the number of its cell and run, in the order in which these first occur."""
    records = lines.records
    numbers = Numbers()
    cells = np.array([numbers[each] for each in lines.cells], dtype=np.int64)
    numbers = Numbers()
    machines = np.array([numbers[each.device_name, each.torch] for each in lines.environments], dtype=np.int64)
    key = records["file"] * len(lines.texts["run"]) + records["run"]
    key = (key * len(cells) + cells[records["cell"]]) * len(machines) + machines[records["environment"]]
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    found: Indices = ranks[group]
    return found


def _refuse_duplicates(lines: Lines, group: Indices, order: Indices) -> None:
    same = (np.diff(group[order]) == 0) & (np.diff(lines.records["process"][order]) == 0)
    if same.any():
        again = order[1:][same]
        second = int(again.min())
        earlier = order[:-1][same][np.argmin(again)]
        path, index, each = _record(lines, second)
        _, first, _ = _record(lines, int(earlier))
        raise AtlasError(
            f"process {each.process} of {_cell_name(each)} is already in line {_line(path, first)}",
            where=f"{path}:{_line(path, index)}: $.cell, $.environment, $.process",
            remedy="remove one of the two lines",
        )


def _refuse_impossible(lines: Lines) -> None:
    figures, measured = lines.figures, np.flatnonzero(lines.records["is_measured"])
    wrong = np.zeros(len(measured), dtype=bool)
    for variant in VARIANTS:
        wrong |= figures[f"{variant}_odd_calls"] > 0
        for name in PUBLISHED:
            printed = figures[f"{variant}_{name}"]
            wrong |= (printed < SHORTEST_MS) | (printed >= LONGEST_MS)
    if wrong.any():
        path, index, each = _record(lines, int(measured[wrong.argmax()]))
        raise AtlasError(
            "a latency is not a positive number",
            where=f"{path}:{_line(path, index)}: $.measurement.{_impossible(each.measurement)}",
            remedy="remove the line (`python -m bench run` with the same plan measures that cell again)",
        )


def _record(lines: Lines, position: int) -> tuple[Path, int, Record]:
    """The file of a line, its place among the records of that file, and the record."""
    file = lines.records["file"][position]
    index = position - int(np.searchsorted(lines.records["file"], file))
    path = lines.paths[file]
    return path, index, next(islice(run_file.read(path), index, None))


def _line(path: Path, index: int) -> int:
    """The line number of the record `index`: blank lines hold none."""
    return next(number for at, (number, _) in enumerate(run_file.lines(path)) if at == index)


def _cell_name(each: Record) -> str:
    cell, environment = each.cell, each.environment
    return (
        f"{cell.model} on {environment.device_name} "
        f"(batch size {cell.batch_size}, {cell.compile_mode}, {cell.dtype}, torch {environment.torch})"
    )


def _impossible(measurement: Measurement | None) -> str:
    for name in VARIANTS:
        variant: Variant | None = getattr(measurement, name, None)
        if variant and any(not SHORTEST_MS <= call < LONGEST_MS for calls in variant.rounds_ms for call in calls):
            return f"{name}.rounds_ms"
        for figure in PUBLISHED:
            value = getattr(variant, figure, None)
            if value is not None and not SHORTEST_MS <= value < LONGEST_MS:
                return f"{name}.{figure}"
    return "eager"


# ── What a row says of its cell ─────────────────────────────────────────────────────────────────────────────────────


def _described(lines: Lines, order: Indices, sizes: Indices) -> tuple[dict[str, NDArray[Any]], dict[str, Texts]]:
    """Names, statuses, environment and source: those of the record that stands for the cell."""
    records = lines.records
    starts = np.cumsum(sizes) - sizes
    standing = order[starts]
    statuses = records["status"][order]
    for row in np.flatnonzero(np.maximum.reduceat(statuses, starts) != np.minimum.reduceat(statuses, starts)):
        members = order[starts[row] : starts[row] + sizes[row]]
        found = [WORST_FIRST[each] for each in records["status"][members]]
        standing[row] = members[record.standing(found, records["gave"][members].tolist())]
    figures = {"file": records["file"][standing], "attempts": sizes.astype(np.float64)}
    texts: dict[str, Texts] = {}
    for name, said in lines.texts.items():
        if name not in {"flags", "node", "plan"}:
            texts[name] = Texts.picked(records[name][standing], [text or "" for text in said])
    texts["status"] = Texts.picked(records["status"][standing], [each.value for each in WORST_FIRST])
    texts["flags"] = _flags(lines.texts["flags"], records["flags"][order], sizes)
    figures["measured_at"] = np.maximum.reduceat(records["measured_at"][order], starts)
    shared: Mapping[str, Sequence[dict[str, Any]]] = {
        "cell": list(map(_cell, lines.cells)),
        "environment": list(map(_environment, lines.environments)),
        "source": list(map(_source, lines.sources)),
    }
    for name, rows in shared.items():
        numbers = records[name][standing]
        for column, value in rows[0].items():
            values = [row[column] for row in rows]
            if isinstance(value, str):
                texts[column] = Texts.picked(numbers, values)
            else:
                figures[column] = np.array(values, dtype=np.float64)[numbers]
    figures["threads"] = np.where(texts["device_type"].are("cpu"), figures["threads"], np.nan)
    return figures, texts


def _flags(known: Sequence[Any], numbers: Indices, sizes: Indices) -> Texts:
    """The flags of all processes."""
    starts = np.cumsum(sizes) - sizes
    texts = Numbers()
    codes = np.array([texts[_joined(flags)] for flags in known], dtype=np.int64)[numbers[starts]]
    for row in np.flatnonzero(np.maximum.reduceat(numbers, starts) != np.minimum.reduceat(numbers, starts)):
        members = numbers[starts[row] : starts[row] + sizes[row]]
        codes[row] = texts[_joined(flag for each in members for flag in known[each])]
    return Texts.picked(codes, list(texts))


def _joined(flags: Iterable[str]) -> str:
    return " ".join(sorted(set(flags)))


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "model_label": cell.model,
        "checkpoint": cell.checkpoint,
        "task": cell.task,
        "device_type": cell.device,
        "dtype": f"autocast {cell.dtype}" if cell.autocast else cell.dtype,
        "batch_size": cell.batch_size,
        "compile_mode": cell.compile_mode,
        "dynamic": "auto" if cell.dynamic is None else str(cell.dynamic).lower(),
        "weights": cell.weights,
        "input_size": "×".join(map(str, cell.input_size)) if cell.input_size else "",
        "layout": "channels_last" if cell.channels_last else "",
    }


def _environment(environment: Environment) -> dict[str, Any]:
    texts = ("transformers", "python", "platform", "accelerator", "driver", "triton", "commit")
    return {
        "device_name": short_name(environment.device_name),
        "torch": environment.torch,
        "cores": _nan(environment.cores),
        "threads": _nan(environment.threads),  # on a CPU only: see where it is used
        "memory_gb": _nan(environment.memory_gb),
        "settings": json.dumps(environment.settings, sort_keys=True, ensure_ascii=False),
        "malloc": "keep" if KEEP_MEMORY.items() <= environment.settings.items() else "default",
        **{name: getattr(environment, name) or "" for name in texts},
    }


def _source(source: Source | None) -> dict[str, str]:
    names = ("title", "url", "date", "licence", "note")
    files = " ".join(source.files) if source else ""
    return {f"source_{name}": getattr(source, name, None) or "" for name in names} | {"source_files": files}


def _nan(value: float | None) -> float:
    return math.nan if value is None else value


_NOISE = re.compile(r"\((?:R|TM|C)\)|\b(?:NVIDIA|Tesla|GeForce|CPU|Processor|\d+-Core)\b|[®™@]", re.IGNORECASE)


def short_name(device_name: str) -> str:
    """What people call a device: ``A100`` for "NVIDIA A100", ``T4`` for "Tesla T4", ``Intel Xeon 2.50 GHz`` for
    "Intel(R) Xeon(R) Processor @ 2.50GHz". Only brands and filler go, so different products stay different."""
    name = re.sub(r"(?<=\d)GHz", " GHz", _NOISE.sub(" ", device_name))
    return " ".join(name.split()) or device_name.strip() or "?"


# ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


class _Measurements:
    """All measurements of a batch, each figure an array of shape (measurements,)."""

    def __init__(self, lines: Lines) -> None:
        self.graphs, self.throttled = lines.graphs, lines.throttled
        self.lists, self.figures = lists, figures = dict(lines.lists), dict(lines.figures)
        for variant in VARIANTS:
            mean, printed = figures[f"{variant}_published_mean_ms"], figures[f"{variant}_published_median_ms"]
            figures[f"{variant}_published_ms"] = np.where(np.isnan(printed), mean, printed)
            figures[f"{variant}_latency"] = lists[f"{variant}_rounds"].medians()
            figures[f"{variant}_device_ms"] = lists[f"{variant}_device"].medians()
        eager, compiled = (figures[f"{variant}_batch_size"] for variant in VARIANTS)
        alike = (eager == compiled) | (np.isnan(eager) & np.isnan(compiled))
        self.comparable = (figures["compiled_is"] > 0) & alike
        self._pair()

    def _pair(self) -> None:
        """What each round of both variants says: it was measured back to back."""
        eager, compiled = (self.lists[f"{variant}_rounds"] for variant in VARIANTS)
        common = np.where(self.comparable, np.minimum(eager.lengths, compiled.lengths), 0)
        eager, compiled = eager.cut(common), compiled.cut(common)
        self.lists["speedup"] = Ragged(eager.flat / compiled.flat, common)
        self.lists["saving"] = Ragged(eager.flat - compiled.flat, common)
        for name in ("speedup", "saving"):
            self.figures[name] = self.lists[name].medians()


def _figures(
    sample: _Measurements, at: Indices, processes: Indices, batch_sizes: Array
) -> tuple[dict[str, Array], dict[str, Texts]]:
    """What the measurements say, in figures and in words. `at` are the measurements, cell by cell; `processes` says how
    many each cell has."""
    rows = len(processes)
    found: dict[str, Array] = defaultdict(lambda: np.full(rows, np.nan))
    texts: dict[str, list[str]] = defaultdict(lambda: [""] * rows)
    starts = np.cumsum(processes) - processes
    found["processes"] = processes.astype(np.float64)
    for size in np.unique(processes[processes > 0]).tolist():
        where = np.flatnonzero(processes == size)
        cells = _Cells(sample, at[starts[where][:, None] + np.arange(size)], batch_sizes[where])
        for name, values in cells.figures().items():
            found[name][where] = values
        for name, several in cells.texts().items():
            column = texts[name]
            for row, text in zip(where.tolist(), several, strict=True):
                column[row] = text
    return found, {name: Texts.of(column) for name, column in texts.items()}


Interval = tuple[Array, Array, Array]
"""Values and the ends of their intervals, each of shape (cells,)."""


class _Cells:
    """Cells of equally many processes. `at` has the position of each process's measurement, (cells, processes)."""

    def __init__(self, sample: _Measurements, at: Indices, batch_sizes: Array) -> None:
        self.sample, self.at, self.batch_sizes = sample, at, batch_sizes
        self.speedup = self._paired("speedup", np.divide, log=True)
        self.saving = self._paired("saving", np.subtract, log=False)
        work = self["flop"]
        first = np.argmax(~np.isnan(work), axis=1)[:, None]
        self.work = {name: np.take_along_axis(self[name], first, axis=1)[:, 0] for name in PARTS["work"]}
        best = {name: np.fmin if name == "page_fault_s" else np.fmax for name in PARTS["peaks"]}
        self.peaks = {name: choose.reduce(self[name], axis=1) for name, choose in best.items()}
        self.computing_s = self._computing_s()

    def _computing_s(self) -> Array:
        work, peaks = self.work, self.peaks
        convolved = np.where(np.isnan(peaks["convolution_flop_s"]), 0.0, np.nan_to_num(work["convolution_flop"]))
        apart = np.where(convolved > 0, convolved / peaks["convolution_flop_s"], 0.0)
        found: Array = (work["flop"] - convolved) / peaks["matmul_flop_s"] + apart
        return found

    def __getitem__(self, name: str) -> Array:
        """A figure of every process, shape (cells, processes)."""
        found: Array = self.sample.figures[name][self.at]
        return found

    def figures(self) -> dict[str, Array]:
        """The columns of numbers."""
        value, low, high = self.speedup
        found = {"speedup": value, "speedup_low": low, "speedup_high": high}
        found |= {"change": 1 / value - 1, "change_low": 1 / high - 1, "change_high": 1 / low - 1}
        for variant in VARIANTS:
            found |= self._variant(variant)
        compared = self.sample.comparable[self.at].all(axis=1)
        gigabytes = [found[f"{variant}_peak_memory_gb"] for variant in VARIANTS]
        compared &= gigabytes[0] != 0
        found["memory_change"] = np.where(compared, gigabytes[1] / gigabytes[0] - 1, np.nan)
        names = {"graphs": "graphs", "graph_breaks": "breaks", "cudagraph_skips": "cudagraph_skips"}
        names |= dict.fromkeys(("recompiles", "batch_size_recompiles", "max_relative_error"), "")
        found |= {name: _most(self[own or name]) for name, own in names.items()}
        return found | self._compilation() | self._phases() | self._efficiency() | self._telemetry()

    def texts(self) -> dict[str, list[str]]:
        """The columns of words."""
        judged = _judged(*self._paired("speedup", np.divide, log=True, confidence=VERDICT_CONFIDENCE)[1:])
        found = {"verdict": judged.tolist(), "causes": self._causes()}
        graphs, throttled = self.sample.graphs, self.sample.throttled
        told = {"graph_break_reasons": "breaks", "cudagraph_skip_reasons": "cudagraph_skips"}
        for name, counted in told.items():
            found[name] = [""] * len(self.at)
            for row in np.flatnonzero((self[counted] > 0).any(axis=1)).tolist():
                each = (graphs[at] for at in self.at[row])
                found[name][row] = _json_of(reason for one in each if one for reason in _REASONS[name](one))
        found["throttle_reasons"] = [""] * len(self.at)
        if any(throttled):
            for row, members in enumerate(self.at.tolist()):
                reasons = Counter[str]()
                for at in members:
                    reasons.update(throttled[at])
                found["throttle_reasons"][row] = json.dumps(reasons, sort_keys=True) if reasons else ""
        return found

    def _over_processes(self, name: str, medians: Array, *, log: bool, confidence: float) -> Interval:
        """`bench.statistics.statistics.over_processes` of the lists of `name`, whose medians are given."""
        known = ~np.isnan(medians)
        n = known.sum(axis=1)
        scale = np.log(medians) if log else medians
        centre = np.nansum(scale, axis=1) / n
        spread = np.sqrt(np.nansum((scale - centre[:, None]) ** 2, axis=1) / (n - 1))
        quantile = np.array([math.nan, math.nan, *(student(each - 1, confidence) for each in range(2, n.max() + 1))])
        reach = quantile[n] * spread / np.sqrt(n)
        ends = np.stack((centre, centre - reach, centre + reach))
        value, low, high = np.exp(ends) if log else ends
        alone = np.flatnonzero(n == 1)
        if alone.size:
            only = self.at[alone, known[alone].argmax(axis=1)]
            value[alone] = _most(medians[alone])
            low[alone], high[alone] = self.sample.lists[name].take(only).median_intervals(confidence)
        return value, low, high

    def _paired(self, name: str, combine: Any, *, log: bool, confidence: float = CONFIDENCE) -> Interval:
        """Over the pairs of rounds; where there are none, from what was published."""
        value, low, high = self._over_processes(name, self[name], log=log, confidence=confidence)
        comparable = self.sample.comparable[self.at]
        eager, compiled = (
            _middle(np.where(comparable, self[f"{variant}_published_ms"], np.nan)) for variant in VARIANTS
        )
        return np.where(np.isnan(value), combine(eager, compiled), value), low, high

    def _variant(self, variant: str) -> dict[str, Array]:
        name = f"{variant}_latency"
        value, low, high = self._over_processes(f"{variant}_rounds", self[name], log=True, confidence=CONFIDENCE)
        value = np.where(np.isnan(value), _middle(self[f"{variant}_published_ms"]), value)
        own = _middle(self[f"{variant}_batch_size"])
        images = np.where(np.isnan(own), self.batch_sizes, own)
        # A row tells one batch size: the latency of another would be taken for one of it. Images a second fit any.
        of_row = images == self.batch_sizes
        printed, samples = _middle(self[f"{variant}_published_images_s"]), self[f"{variant}_samples"].sum(axis=1)
        percentiles = {f"p{each}_ms": _middle(self[f"{variant}_p{each}_ms"]) for each in PERCENTILES}
        latencies = {"ms": value, "low_ms": low, "high_ms": high, **percentiles}
        return {
            **{f"{variant}_{end}": np.where(of_row, figures, np.nan) for end, figures in latencies.items()},
            f"{variant}_images_s": np.where(np.isnan(printed), images / value * 1e3, printed),
            f"{variant}_samples": np.where(samples > 0, samples, np.nan),
            f"{variant}_peak_memory_gb": _most(self[f"{variant}_peak_memory_gb"]),
            f"{variant}_peak_reserved_gb": _most(self[f"{variant}_peak_reserved_gb"]),
            f"{variant}_minor_faults_per_call": _middle(self[f"{variant}_minor_faults_per_call"]),
            f"{variant}_device_ms": _middle(self[f"{variant}_device_ms"]),
        }

    def _compilation(self) -> dict[str, Array]:
        value, low, high = self.saving
        found: dict[str, Array] = {}
        for cache, column in (("cold", "break_even_calls"), ("warm", "break_even_warm_calls")):
            seconds = found[f"compile_{cache}_s"] = _middle(self[f"{cache}_s"])
            cost_ms = np.where(np.isnan(value), np.nan, np.maximum(seconds * 1e3, 0.0))
            for end, saving in (("", value), ("_low", high), ("_high", low)):
                found[column + end] = _calls(cost_ms, saving)
        return found

    def _phases(self) -> dict[str, Array]:
        """Of compiling with an empty cache."""
        is_cold = ~np.isnan(self["cold_s"])
        return {f"{name}_s": _middle(np.where(is_cold, self[f"{name}_s"], np.nan)) for name in PHASES}

    def _efficiency(self) -> dict[str, Array]:
        """What a call has to do, at what rate each variant does it, and what the device says of itself meanwhile."""
        work, peaks = self.work, self.peaks
        found = {name: work[name] for name in ("flop", "traffic_bytes")}
        found |= {name: peaks[name] for name in ("matmul_flop_s", "copy_bytes_s")}
        for variant, moved in zip(VARIANTS, ("traffic_bytes", "compiled_traffic_bytes"), strict=True):
            latency_ms = _middle(self[f"{variant}_latency"])
            bytes_moved = np.where(work[moved] > 0, work[moved], np.nan)
            found |= {
                f"{variant}_host_bound": self._host_bound(variant),
                f"{variant}_flop_s": work["flop"] / latency_ms * 1e3,
                f"{variant}_matmul_share": self.computing_s / latency_ms * 1e3,
                f"{variant}_copy_share": bytes_moved / latency_ms * 1e3 / peaks["copy_bytes_s"],
                f"{variant}_image_j": _middle(self[f"{variant}_energy_j"])
                / np.where(self.batch_sizes > 0, self.batch_sizes, np.nan),
            }
        return found

    def _host_bound(self, variant: str) -> Array:
        return _middle(np.maximum(1 - self[f"{variant}_device_ms"] / self[f"{variant}_latency"], 0.0))

    def _host_ms(self, variant: str) -> Array:
        return _middle(np.maximum(self[f"{variant}_latency"] - self[f"{variant}_device_ms"], 0.0))

    def _telemetry(self) -> dict[str, Array]:
        cells, size = self.at.shape
        sizes = np.full(cells, size)
        readings = {name: self.sample.lists[name].take(self.at.ravel()).merged(sizes) for name in READINGS}
        hottest = np.full(cells, np.nan)
        for where, lists in readings["temperature_c"].by_length():
            hottest[where] = lists.max(axis=1)
        found = {"clock_mhz": readings["clock_mhz"].medians(), "power_w": readings["power_w"].medians()}
        for name in ("repeated_rounds", "throttled_rounds"):
            told = self[name]
            found[name] = np.where(np.isnan(told).all(axis=1), np.nan, np.nansum(told, axis=1))
        return {**found, "temperature_c": hottest}

    # ── Causes, as `bench.statistics.causes` defines them ─────────────────────────────────────────────────────────────

    def _causes(self) -> list[str]:
        ratio, low, high = self.speedup
        judged = _judged(low, high)
        gains = self._gains()
        obstacles = self._obstacles()
        never: list[tuple[Cause, Array, Any]] = [
            (Cause.HOST_BOUND, self._host_bound("compiled"), self._host_bound("compiled") >= HOST_BOUND),
            (Cause.NEVER_PAYS_BACK, ratio, np.ones(len(ratio), dtype=bool)),
        ]
        faster = judged == "faster"
        lost = (judged == "slower") | (judged == "same")
        found: list[list[tuple[float, str, float]]] = [[] for _ in ratio]
        for cause, figures, ms in gains:
            counts = faster & (ms >= EXPLAINS * self.saving[0])
            for row in np.flatnonzero(counts & ~np.isnan(figures)).tolist():
                found[row].append((-float(ms[row]), cause.value, float(figures[row])))
        for row in {row for row, causes in enumerate(found) if len(causes) > 1}:
            found[row].sort(key=lambda gain: gain[0])
        for among, causes in ((np.ones(len(ratio), dtype=bool), obstacles), (lost, never)):
            for cause, figures, holds in causes:
                whole = cause in _COUNTED
                for row in np.flatnonzero(among & holds).tolist():
                    found[row].append((0.0, cause.value, int(figures[row]) if whole else float(figures[row])))
        return [json.dumps([each[1:] for each in causes]) if causes else "" for causes in found]

    def _gains(self) -> list[tuple[Cause, Array, Array]]:
        """What a cause tells, and the milliseconds that it saves of a call; nan for none."""
        work, peaks = self.work, self.peaks
        waiting = self._host_bound("eager")
        host_ms = self._host_ms("eager") - self._host_ms("compiled")
        less = work["traffic_bytes"] - work["compiled_traffic_bytes"]
        streaming_s = work["streamed_bytes"] / peaks["copy_bytes_s"]
        streams = streaming_s / (streaming_s + self.computing_s) >= MEMORY_BOUND
        moves_less = work["compiled_traffic_bytes"] <= LESS_TRAFFIC * work["traffic_bytes"]
        faults = [_middle(self[f"{variant}_minor_faults_per_call"]) for variant in VARIANTS]
        fewer = faults[0] - faults[1]
        return [
            (Cause.HOST_BOUND, np.where(waiting >= HOST_BOUND, waiting, np.nan), host_ms),
            (
                Cause.MEMORY_BOUND,
                np.where(streams & moves_less, less / work["traffic_bytes"], np.nan),
                less / peaks["copy_bytes_s"] * 1e3,
            ),
            (Cause.PAGE_FAULTS, fewer, fewer * peaks["page_fault_s"] * 1e3),
        ]

    def _obstacles(self) -> list[tuple[Cause, Array, Any]]:
        counts = [
            (Cause.CUDAGRAPH_SKIPS, _most(self["cudagraph_skips"])),
            (Cause.GRAPH_BREAKS, _most(self["breaks"])),
            (Cause.RECOMPILES, _most(self["recompiles"])),
        ]
        share = self.computing_s / _middle(self["eager_latency"]) * 1e3
        obstacles: list[tuple[Cause, Array, Any]] = [(cause, most, most > 0) for cause, most in counts]
        return [*obstacles, (Cause.AT_THE_PEAK, share, share >= AT_THE_PEAK)]


_COUNTED = {Cause.CUDAGRAPH_SKIPS, Cause.GRAPH_BREAKS, Cause.RECOMPILES}

_REASONS: Mapping[str, Callable[[Graphs], Iterable[Any]]] = {
    "graph_break_reasons": lambda graphs: (
        {"reason": each.reason, "location": each.location or ""} for each in graphs.breaks
    ),
    "cudagraph_skip_reasons": lambda graphs: graphs.cudagraph_skips,
}


def _judged(low: Array, high: Array) -> NDArray[Any]:
    """`bench.statistics.statistics.judge` of each interval."""
    unknown = np.isnan(low) | np.isnan(high)
    same = (low >= 1 / (1 + SAME)) & (high <= 1 + SAME)
    return np.select([unknown, same, low > 1, high < 1], ["unknown", "same", "faster", "slower"], "ambiguous")


def _calls(cost_ms: Array, saving_ms: Array) -> Array:
    """Calls until `cost_ms` is paid, inf for never, nan where either is unknown."""
    unknown = np.isnan(cost_ms) | np.isnan(saving_ms)
    found: Array = np.where(unknown, np.nan, np.where(saving_ms > 0, cost_ms / saving_ms, np.inf))
    return found


def _middle(figures: Array) -> Array:
    """The median of each row over what is known, nan where nothing is."""
    n = (~np.isnan(figures)).sum(axis=1)
    if not n.any():  # as of most columns
        return np.full(len(figures), np.nan)
    ordered = np.sort(figures, axis=1)
    rows = np.arange(len(figures))
    last = np.maximum(n - 1, 0)
    found: Array = (ordered[rows, last // 2] + ordered[rows, (last + 1) // 2]) / 2
    return found


def _most(figures: Array) -> Array:
    """The largest of each row, nan where nothing is known."""
    found: Array = np.fmax.reduce(figures, axis=1)
    return found


def _json_of(values: Iterable[Any]) -> str:
    """Distinct values as a JSON list, in the order in which they first occur; nothing for none."""
    distinct = list({json.dumps(value, sort_keys=True): value for value in values}.values())
    return json.dumps(distinct, ensure_ascii=False) if distinct else ""
