"""What pages talk about: devices, models and rows, in the language of the page.

`Results` and a `Language` enter; an `Atlas` leaves, whose devices, models and rows know each other. Everything is
worked out when a page first asks for it.

    python -c "from generator.pages.atlas import Atlas; help(Atlas)"
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import median
from typing import Any

from bench.plans.models import MODELS
from generator.data.load import Results, slugify
from generator.data.rows import Row as LoadedRow
from generator.data.rows import Rows, comparisons, grouped, mode_order
from generator.figures import tables
from generator.figures.words import Words
from generator.languages.language import Language

FEW = 60
"""Models up to which pages list them one by one. More are listed by family, each on a page of its own: a page with all
of a thousand would be read by nobody, and a navigation with all of them would stand on every page. So would one with
all devices, of which more are listed on their index alone."""


@dataclass(frozen=True, eq=False)
class Row:
    """One row of the results: a cell in its newest run. Figures are None where unknown."""

    model: Model
    device: Device
    batch_size: int
    compile_mode: str
    torch: str
    dtype: str
    origin: str
    status: str
    run: str
    date: datetime | str | None
    eager_ms: float | None
    compiled_ms: float | None
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None
    change: float | None
    change_low: float | None
    change_high: float | None
    processes: int
    eager_samples: int | None
    compiled_samples: int | None
    compile_cold_s: float | None
    compile_warm_s: float | None
    break_even_calls: float | None
    break_even_calls_low: float | None
    break_even_calls_high: float | None
    break_even_warm_calls: float | None
    break_even_warm_calls_low: float | None
    break_even_warm_calls_high: float | None
    eager_peak_memory_gb: float | None
    compiled_peak_memory_gb: float | None
    memory_change: float | None
    eager_host_bound: float | None
    compiled_host_bound: float | None
    eager_matmul_share: float | None
    compiled_matmul_share: float | None
    verdict: str
    causes: str
    graphs: int | None
    graph_breaks: int | None
    recompiles: int | None
    batch_size_recompiles: int | None
    cudagraph_skips: int | None
    command: str | None


@dataclass(frozen=True, eq=False)
class Section:
    """What belongs under one heading of a device page: one PyTorch version, mode and origin."""

    slug: str
    torch: str
    compile_mode: str
    origin: str
    date: datetime | str | None
    weights_name: str
    batch_sizes: tuple[int, ...]


@dataclass(frozen=True)
class Batches:
    """What compiling changes at the smallest and at the largest batch size: medians over the same comparisons."""

    small: int
    large: int
    small_change: float
    large_change: float
    count: int
    noun: str  # of what they are counted as: comparison, or published figure


@dataclass(frozen=True, eq=False)
class Malloc:
    """A cell on a CPU, measured with glibc's default and with freed memory kept; what that changes of each latency."""

    default: Row
    keep: Row
    eager_change: float
    compiled_change: float

    @property
    def turns(self) -> bool:
        """Whether compiling costs time by default, and saves some with memory kept."""
        return (self.default.verdict, self.keep.verdict) == ("slower", "faster")


def _chosen(choose: Callable[[Rows], Rows]) -> cached_property[tuple[Row, ...]]:
    return cached_property(lambda known: known.rows_of(choose(known.cells)))


class _Known:
    """What is known of some cells: the rows that the table of that name shows, none where it would be empty."""

    cells: Rows
    compile_rows = _chosen(tables.compile_rows)  # of compile_cost_table and break_even_table
    mode_rows = _chosen(tables.mode_rows)
    memory_rows = _chosen(tables.memory_rows)
    efficiency_rows = _chosen(tables.efficiency_rows)
    cause_rows = _chosen(tables.cause_rows)
    break_rows = _chosen(tables.break_rows)
    skip_rows = _chosen(tables.skip_rows)
    recompile_rows = _chosen(tables.recompile_rows)
    version_rows = _chosen(tables.version_rows)

    def rows_of(self, cells: Rows) -> tuple[Row, ...]:
        """Some cells as pages see them."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class _Selection(_Known):
    """Cells that belong together. `rows` are comparisons: those in which both variants have a latency that counts."""

    atlas: Atlas
    cells: Rows

    def rows_of(self, cells: Rows) -> tuple[Row, ...]:
        """Some cells as pages see them."""
        return self.atlas.rows_of(cells)

    @cached_property
    def compared(self) -> Rows:
        """The comparisons, of one origin only: measured ones where there are any. Origins are never mixed."""
        compared = comparisons(self.cells)
        return [row for row in compared if row["origin"] == "measured"] or compared

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The comparisons."""
        return self.atlas.rows_of(self.compared)

    @cached_property
    def slower(self) -> tuple[Row, ...]:
        """Those in which the compiled model is slower."""
        return self.atlas.rows_of(tables.slower_rows(self.compared))

    @cached_property
    def median_change(self) -> float | None:
        """Median change of the latency over the comparisons."""
        return tables.median_change(self.compared)

    @cached_property
    def best(self) -> Row | None:
        """The largest gain, doubtful rows left out."""
        return self.atlas.row(tables.best_row(self.compared, self.atlas.doubtful))

    @cached_property
    def worst(self) -> Row | None:
        """Of those that are slower, or else of all, the largest loss or smallest gain; doubtful rows left out."""
        return self.atlas.row(tables.worst_row(self.compared, self.atlas.doubtful))


@dataclass(frozen=True, eq=False)
class Device(_Selection):
    """A device; `label` is plain text in the language of the page."""

    slug: str
    label: str
    name: str
    type: str
    cores: int | None

    @cached_property
    def malloc(self) -> tuple[Malloc, ...]:
        """Its cells that were measured with glibc's default and with freed memory kept."""
        return tuple(self._malloc(*pair) for pair in self.atlas.malloc_pairs if pair[1]["device"] == self.slug)

    def _malloc(self, default: LoadedRow, keep: LoadedRow) -> Malloc:
        changes = (keep[figure] / default[figure] - 1 for figure in ("eager_ms", "compiled_ms"))
        seen = self.atlas.rows_of([default, keep])
        return Malloc(seen[0], seen[1], *changes)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Models with rows on this device."""
        return tuple(self.atlas.model[slug] for slug in _distinct(self.cells, "model"))

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Families with rows on this device, where models are listed by family."""
        known = {model.family.slug for model in self.models if model.family}
        return tuple(family for family in self.atlas.families if family.slug in known)

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """measured, published, or both."""
        return tuple(sorted(_distinct(self.cells, "origin")))

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """Compile modes on this device."""
        return tuple(sorted(_distinct(self.cells, "compile_mode"), key=mode_order))

    @cached_property
    def batch_sizes(self) -> tuple[int, ...]:
        """Batch sizes on this device."""
        return tuple(sorted(_distinct(self.cells, "batch_size")))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Measured before published, `default` before other modes, then the sections with the most models first."""
        groups = sorted(
            grouped(self.cells, "origin", "torch", "compile_mode").values(),
            key=lambda group: (
                group[0]["origin"],
                mode_order(group[0]["compile_mode"]),
                -len(_distinct(group, "model")),
            ),
        )
        slugs = [slugify("torch {torch} {compile_mode}".format_map(group[0])) for group in groups]
        return tuple(
            self._section(group, slug if slugs.count(slug) == 1 else f"{slug}-{group[0]['origin']}")
            for slug, group in zip(slugs, groups, strict=True)
        )

    def _section(self, group: Rows, slug: str) -> Section:
        weights = [self.atlas.words.weights(each) for each in sorted(_distinct(group, "weights"))]
        return Section(
            slug,
            torch=group[0]["torch"],
            compile_mode=group[0]["compile_mode"],
            origin=group[0]["origin"],
            date=_newest(group, "measured_at") or _newest(group, "source_date"),
            weights_name=self.atlas.language.names(weights),
            batch_sizes=tuple(sorted(_distinct(group, "batch_size"))),
        )


@dataclass(frozen=True, eq=False)
class Model(_Selection):
    """A model; `label` is that of the tables."""

    slug: str
    label: str
    checkpoint: str
    task: str
    task_name: str

    @cached_property
    def compared(self) -> Rows:
        """All comparisons: those of several devices are ranked, and never averaged."""
        return comparisons(self.cells)

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Devices with rows of this model."""
        return tuple(self.atlas.device[slug] for slug in _distinct(self.cells, "device"))

    @cached_property
    def family(self) -> Family | None:
        """Its family, where models are listed by family."""
        return self.atlas.family.get(family_of(self.label))

    @cached_property
    def chosen_by(self) -> str:
        """What names it on the command line of `python -m bench run`."""
        is_known = any((spec.label, spec.checkpoint) == (self.label, self.checkpoint) for spec in MODELS)
        named = ("--model", self.label) if is_known else ("--checkpoint", self.checkpoint, "--task", self.task)
        return shlex.join(named)

    @cached_property
    def auto_class(self) -> str:
        """The class of transformers that loads the checkpoint."""
        for part, auto_class in _AUTO_CLASS_OF_FAMILY.items():
            if part in self.checkpoint.lower():
                return auto_class
        return _AUTO_CLASS_OF_TASK.get(self.task, "AutoModel")


_AUTO_CLASS_OF_TASK = {
    "image-classification": "AutoModelForImageClassification",
    "object-detection": "AutoModelForObjectDetection",
    "image-segmentation": "AutoModelForSemanticSegmentation",
}
# Families whose checkpoints do their task in another way than most.
_AUTO_CLASS_OF_FAMILY = {
    "owlv": "AutoModelForZeroShotObjectDetection",
    "mask2former": "AutoModelForUniversalSegmentation",
    "maskformer": "AutoModelForUniversalSegmentation",
    "oneformer": "AutoModelForUniversalSegmentation",
}


@dataclass(frozen=True, eq=False)
class Family(_Selection):
    """Models whose names begin alike: what precedes the first number or underscore, and the version before it."""

    slug: str
    label: str

    @cached_property
    def compared(self) -> Rows:
        """All comparisons: those of several devices are ranked, and never averaged."""
        return comparisons(self.cells)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Its models."""
        return tuple(self.atlas.model[slug] for slug in _distinct(self.cells, "model"))

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Devices with rows of this family."""
        return tuple(self.atlas.device[slug] for slug in _distinct(self.cells, "device"))


_FAMILY = re.compile(r"[^\W\d_]+?(?=v?\d|[\W_]|$)")


def family_of(label: str) -> str:
    """The slug of the family of a model: ``vit`` for vit_base_patch16_224, ``mobilenet`` for mobilenetv3_small_100."""
    found = _FAMILY.match(label.lower())
    return slugify(found[0] if found else label) or "others"


class Atlas(_Known):
    """All results, in the language of the page."""

    def __init__(self, results: Results, language: Language) -> None:
        self.results = results
        self.language = language
        self.words = Words(language, html=False)
        self.cells = results.newest_rows
        self._seen: dict[int, Row] = {}  # rows as pages see them, by label: many pages show the same

    @property
    def doubtful(self) -> Collection[int]:
        """Labels of rows that the data lint doubts."""
        return self.results.doubts

    @cached_property
    def has_measured_gpu(self) -> bool:
        """Whether this project compared anything on another device than a CPU."""
        return any(row["origin"] == "measured" and row["device_type"] != "cpu" for row in comparisons(self.cells))

    @cached_property
    def device(self) -> Mapping[str, Device]:
        """Devices by slug, accelerators first."""
        return {slug: self._device(slug, group) for (slug,), group in grouped(self.cells, "device").items()}

    @cached_property
    def model(self) -> Mapping[str, Model]:
        """Models by slug, by task."""
        by_task = sorted(self.cells, key=lambda row: (row["task"], row["model"]))
        return {slug: self._model(slug, group) for (slug,), group in grouped(by_task, "model").items()}

    @cached_property
    def family(self) -> Mapping[str, Family]:
        """Families by slug; none where the models are few."""
        if len(self.model) <= FEW:
            return {}
        cells: dict[str, list[LoadedRow]] = {}
        for model in sorted(self.model.values(), key=lambda model: model.slug):
            cells.setdefault(family_of(model.label), []).extend(model.cells)
        return {slug: Family(self, cells[slug], slug, slug) for slug in sorted(cells)}

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family, by name; none where the models are few."""
        return tuple(self.family.values())

    def _device(self, slug: str, group: Rows) -> Device:
        row = group[0]
        return Device(self, group, slug, self.words.device(row), row["device_name"], row["device_type"], row["cores"])

    def _model(self, slug: str, group: Rows) -> Model:
        row = group[0]
        task_name = self.words.task(row["task"])
        return Model(self, group, slug, row["model_label"], row["checkpoint"], row["task"], task_name)

    @property
    def devices(self) -> tuple[Device, ...]:
        """Every device, accelerators first."""
        return tuple(self.device.values())

    @property
    def models(self) -> tuple[Model, ...]:
        """Every model, by task."""
        return tuple(self.model.values())

    @property
    def runs(self) -> tuple[str, ...]:
        """Names of the runs."""
        return self.results.runs

    @property
    def records(self) -> int:
        """How many records there are."""
        return self.results.records

    @cached_property
    def published(self) -> int:
        """How many published rows there are, those without figures included."""
        return len(self._of("published"))

    @cached_property
    def measured(self) -> int:
        """How many measured rows there are, those without figures included."""
        return len(self._of("measured"))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """All comparisons, of both origins: to be counted and ranked, never averaged."""
        return self.rows_of(comparisons(self.cells))

    @cached_property
    def slower(self) -> tuple[Row, ...]:
        """Comparisons in which the compiled model is slower."""
        return self.rows_of(tables.slower_rows(self.cells))

    @cached_property
    def best(self) -> Row | None:
        """The largest gain of all, doubtful rows left out."""
        return self.row(tables.best_row(self.cells, self.doubtful))

    @cached_property
    def worst(self) -> Row | None:
        """Of those that are slower, or else of all, the largest loss or smallest gain; doubtful rows left out."""
        return self.row(tables.worst_row(self.cells, self.doubtful))

    @cached_property
    def batches(self) -> Batches | None:
        """How the gain depends on the batch size; None where nothing was compared at two of them."""
        pairs = tables.batch_pairs(self.cells, self.doubtful)
        if not pairs:
            return None
        small, large = pairs[0]
        return Batches(
            small=small["batch_size"],
            large=large["batch_size"],
            small_change=median(pair[0]["change"] for pair in pairs),
            large_change=median(pair[1]["change"] for pair in pairs),
            count=len(pairs),
            noun="published figure" if small["origin"] == "published" else "comparison",
        )

    @cached_property
    def malloc_pairs(self) -> Sequence[tuple[LoadedRow, LoadedRow]]:
        """See `tables.malloc_pairs`: of all runs, since the newest of a cell has one of both ways."""
        return tables.malloc_pairs(self.results.rows)

    @cached_property
    def published_best(self) -> Row | None:
        """The largest published gain, doubtful rows left out."""
        return self.row(tables.best_row(self._of("published"), self.doubtful))

    @cached_property
    def published_worst(self) -> Row | None:
        """The largest published loss or smallest gain, doubtful rows left out."""
        return self.row(tables.worst_row(self._of("published"), self.doubtful))

    @property
    def latest(self) -> datetime | None:
        """When the newest record was measured."""
        return last["measured_at"] if (last := self.results.last_measured) else None

    @property
    def torch(self) -> str | None:
        """The PyTorch version of the newest record."""
        return last["torch"] if (last := self.results.last_measured) else None

    @property
    def transformers(self) -> str | None:
        """The Transformers version of the newest record."""
        return last["transformers"] or None if (last := self.results.last_measured) else None

    @property
    def commit(self) -> str | None:
        """The commit of the newest record."""
        return last["commit"] or None if (last := self.results.last_measured) else None

    def rows_of(self, cells: Rows) -> tuple[Row, ...]:
        """Some cells as pages see them."""
        return tuple(self._row(cell) for cell in cells)

    def row(self, label: int | None) -> Row | None:
        """The row of a label, None for none."""
        return None if label is None else self._row(self.results.rows[label])

    def _of(self, origin: str) -> Rows:
        return [row for row in self.cells if row["origin"] == origin]

    def _row(self, cell: Mapping[str, Any]) -> Row:
        if (seen := self._seen.get(cell["row"])) is None:
            seen = self._seen[cell["row"]] = self._seen_by_pages(cell)
        return seen

    def _seen_by_pages(self, cell: Mapping[str, Any]) -> Row:
        figures: dict[str, Any] = {name: cell.get(name) for name in Row.__dataclass_fields__}
        figures |= {"model": self.model[cell["model"]], "device": self.device[cell["device"]]}
        return Row(**figures | {"date": cell["measured_at"]})


def _distinct(rows: Rows, column: str) -> list[Any]:
    """The values of a column, in the order in which they first occur."""
    return list(dict.fromkeys(row[column] for row in rows))


def _newest(rows: Rows, column: str) -> Any:
    return max((row[column] for row in rows if row[column]), default=None)
