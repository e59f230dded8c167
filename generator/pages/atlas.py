"""The devices, models, families and rows that page expressions refer to, in the language of the page.

Takes `Results` and a `Language`; the devices, models and rows of an `Atlas` know each other. Everything is computed
when a page first asks for it.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property, lru_cache
from itertools import filterfalse
from operator import attrgetter
from typing import Any

import pandas as pd

from bench.plans.models import MODELS
from bench.records.record import UNEQUAL_BATCHES, Workload
from bench.statistics.verdicts import Verdict
from generator.data.digits import RowFigure
from generator.data.estimates import Estimates
from generator.data.families import slugify
from generator.data.load import Results
from generator.data.names import location
from generator.data.selection import (
    Row as PlainRow,
    by_value,
    dtype_order,
    grouped,
    mode_order,
    version_order,
    where,
)
from generator.drawing.plot import Box
from generator.figures import tables
from generator.figures.sources import SourceText, source_of
from generator.figures.words import Words
from generator.languages.language import Language

FEW = 60
"""Up to this many models, pages list them one by one. More are listed by family, each on a page of its own: nobody
reads a page with a thousand models, and the navigation stands on every page. More devices than this are listed on their
index alone."""


class Row:
    """One row of the results: a cell in its newest run.

    Its attributes are the columns of `generator.data.registry.COLUMNS`, None where unknown; `model` and `device` are
    those of the atlas, and `date` is when it was measured.
    """

    def __init__(self, atlas: Atlas, values: PlainRow) -> None:
        self._atlas = atlas
        self._values = values

    def __getattr__(self, column: str) -> Any:
        """Return the value of a column; a figure knows the digits with which it is shown."""
        values: PlainRow = self.__dict__["_values"]
        if column not in values:
            raise AttributeError(column, name=column, obj=self)
        return RowFigure.of(values, column) if isinstance(values[column], float) else values[column]

    @property
    def model(self) -> Model:
        """Its model."""
        return self._atlas.model[self._values["model"]]

    @property
    def device(self) -> Device:
        """Its device."""
        return self._atlas.device[self._values["device"]]

    @property
    def date(self) -> datetime | None:
        """When it was measured; None for a published row."""
        measured_at: datetime | None = self._values["measured_at"]
        return measured_at


@dataclass(frozen=True, eq=False)
class Section:
    """The cells under one heading of a device page: one PyTorch version, mode, data type and source."""

    slug: str
    title: str  # plain text: what its cells have in common
    torch: str
    compile_mode: str
    dtype: str
    apart: str | None  # the data type, where there are others of this version and mode
    origin: str
    workload: Workload
    source: SourceText
    batch_sizes: tuple[int, ...]
    models: int
    unequal: int  # rows whose variants were measured at different batch sizes
    is_by_family: bool  # its models are too many to be listed one by one
    compared: Comparisons


@dataclass(frozen=True)
class Batches:
    """Change of the latency at the smallest and at the largest batch size: medians over the same comparisons."""

    small: int
    large: int
    small_change: float
    large_change: float
    count: int
    noun: str  # what they are counted as: comparison, or published figure


@dataclass(frozen=True, eq=False)
class Malloc:
    """A cell on a CPU, measured with glibc's default and with freed memory kept, and the change of each latency."""

    default: Row
    keep: Row
    eager_change: float
    compiled_change: float

    @property
    def turns(self) -> bool:
        """Whether compiling costs time by default, and saves some with memory kept."""
        return (self.default.verdict, self.keep.verdict) == ("slower", "faster")


_SECTION = ("origin", "workload", "torch", "compile_mode", "dtype")
"""What the cells of a `Section` have in common."""

_VERSION_AND_MODE = ("torch", "compile_mode")

Choose = Callable[[pd.DataFrame], pd.DataFrame]
"""A function that returns some of the cells, such as those that know the cost of compiling."""


@lru_cache(maxsize=2)
def _malloc_pairs(results: Results) -> tuple[pd.DataFrame, pd.DataFrame]:
    return tables.malloc_pairs(results.table)


def _rows_by(choose: Choose) -> cached_property[tuple[Row, ...]]:
    return cached_property(lambda known: known.rows_of(known.among(choose)))


def _of_all(column: str) -> property:
    """Return the property that holds what all cells have in a column."""
    return property(lambda known: known.atlas.results.by_label.column(column)[known.labels[0]])


class _Known:
    """Some cells with the rows that the table of each name shows, none where it would be empty."""

    atlas: Atlas
    labels: Sequence[int]
    compile_rows = _rows_by(tables.compile_rows)  # of compile_cost_table and break_even_table
    mode_rows = _rows_by(tables.mode_rows)
    memory_rows = _rows_by(tables.memory_rows)
    efficiency_rows = _rows_by(tables.efficiency_rows)
    cause_rows = _rows_by(tables.cause_rows)
    break_rows = _rows_by(tables.break_rows)
    skip_rows = _rows_by(tables.skip_rows)
    recompile_rows = _rows_by(tables.recompile_rows)
    version_rows = _rows_by(tables.version_rows)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells."""
        return self.atlas.results.newest.loc[[*self.labels]]

    def among(self, choose: Choose) -> list[int]:
        """Return the labels of the cells that `choose` returns."""
        return choose(self.cells).index.tolist()

    def rows_of(self, labels: Iterable[int]) -> tuple[Row, ...]:
        """Return some cells as pages see them."""
        return tuple(self.atlas.row_of(label) for label in labels)

    @cached_property
    def latency(self) -> Comparisons:
        """Its comparisons that ask for the latency of a batch."""
        return self._comparisons("latency")

    @cached_property
    def throughput(self) -> Comparisons:
        """Its comparisons that ask for as many images as possible."""
        return self._comparisons("throughput")

    def _comparisons(self, workload: Workload) -> Comparisons:
        """Return the comparisons of a workload, of both origins: to be counted and ranked, never averaged."""
        workloads = self.atlas.results.by_label.column("workload")
        compared = self.among(tables.trusted)
        return Comparisons(self.atlas, [label for label in compared if workloads[label] == workload])

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Models of these cells."""
        return tuple(self.atlas.model[slug] for slug in self._distinct("model"))

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Devices of these cells."""
        return tuple(self.atlas.device[slug] for slug in self._distinct("device"))

    def _distinct(self, column: str) -> list[Any]:
        """Return the values of a column, in the order in which they first occur."""
        return list(dict.fromkeys(self._column(column)))

    def _column(self, column: str) -> list[Any]:
        """Return the value of each cell in a column."""
        values = self.atlas.results.by_label.column(column)
        return [values[label] for label in self.labels]


@dataclass(frozen=True, eq=False)
class Comparisons(_Known):
    """Comparisons of one workload: rows in which both variants have a latency, and nothing doubts it.

    They are ranked. They are averaged only where they belong to one device and origin.
    """

    atlas: Atlas
    labels: list[int]

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The comparisons."""
        return self.rows_of(self.labels)

    @cached_property
    def by_device(self) -> tuple[Comparisons, ...]:
        """Those of each device with each version of PyTorch, the newest first: what may be averaged."""
        column = self.atlas.results.by_label.column
        device, torch, origin = column("device"), column("torch"), column("origin")
        groups: dict[tuple[str, ...], list[int]] = {}
        for label in self.labels:
            groups.setdefault((torch[label], device[label], origin[label]), []).append(label)
        newest_first = sorted(groups.items(), key=lambda group: version_order(group[0][0]), reverse=True)
        return tuple(Comparisons(self.atlas, labels) for _, labels in newest_first)

    @cached_property
    def slower(self) -> tuple[Row, ...]:
        """Those in which the compiled model is slower, the largest loss first."""
        return self.rows_of(sorted(self._judged("slower"), key=self._change, reverse=True))

    @cached_property
    def slower_families(self) -> tuple[str, ...]:
        """The families of these."""
        return tuple(dict.fromkeys(row.family for row in self.slower))

    @cached_property
    def median_change(self) -> float | None:
        """Median change of the latency; None without a comparison."""
        return self.spread.median if self.spread else None

    @cached_property
    def spread(self) -> Box | None:
        """Quartiles of the change of the latency; None without a comparison."""
        return Box.of(map(self._change, self.labels)) if self.labels else None

    @cached_property
    def best(self) -> Row | None:
        """The largest gain; None where nothing is clearly faster."""
        return self.atlas.row(min(self._judged("faster"), key=self._change, default=None))

    @cached_property
    def worst(self) -> Row | None:
        """Of those that are slower, or else of all, the largest loss or smallest gain."""
        return self.atlas.row(max(self._judged("slower") or self.labels, key=self._change, default=None))

    def _change(self, label: int) -> float:
        return float(self.atlas.results.by_label.column("change")[label])

    def _judged(self, verdict: Verdict) -> list[int]:
        """Return the labels of the comparisons with a verdict."""
        verdicts = self.atlas.results.by_label.column("verdict")
        return [label for label in self.labels if verdicts[label] == verdict]


@dataclass(frozen=True, eq=False)
class Device(_Known):
    """A device; `label` is plain text in the language of the page."""

    atlas: Atlas
    labels: list[int]
    slug: str
    label: str
    name: str
    type: str
    cores: int | None

    def _comparisons(self, workload: Workload) -> Comparisons:
        """Return those of one origin only, measured ones where there are any: origins are never averaged."""
        found = super()._comparisons(workload)
        origins = self.atlas.results.by_label.column("origin")
        measured = [label for label in found.labels if origins[label] == "measured"]
        return Comparisons(self.atlas, measured) if measured else found

    @cached_property
    def malloc(self) -> tuple[Malloc, ...]:
        """Its cells that were measured with glibc's default and with freed memory kept."""
        pairs = zip(*(self.rows_of(cells.index) for cells in self.malloc_pairs), strict=True)
        return tuple(
            Malloc(default, keep, keep.eager_ms / default.eager_ms - 1, keep.compiled_ms / default.compiled_ms - 1)
            for default, keep in pairs
        )

    @cached_property
    def malloc_pairs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """See `tables.malloc_pairs`."""
        default, keep = self.atlas.malloc_pairs
        is_own = (keep["device"] == self.slug).to_numpy()
        return default[is_own], keep[is_own]

    @cached_property
    def is_listed(self) -> bool:
        """Whether pages list its models one by one."""
        return bool(self.atlas.listed)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """Families with rows on this device, where models are listed by family."""
        known = {model.family.slug for model in self.models if model.family}
        return tuple(family for family in self.atlas.families if family.slug in known)

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """measured, published, or both."""
        return tuple(sorted(self._distinct("origin")))

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """Compile modes on this device."""
        return tuple(sorted(self._distinct("compile_mode"), key=mode_order))

    @cached_property
    def batch_sizes(self) -> tuple[int, ...]:
        """Batch sizes on this device."""
        return tuple(sorted(self._distinct("batch_size")))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Measured before published, `default` before other modes, then the sections with the most models first, then
        float32 before other data types."""
        columns = [*_SECTION, "flags", "model", "batch_size"]
        groups = sorted(
            grouped(self.cells[columns], *_SECTION),
            key=lambda named: (
                *(named[0][0], mode_order(named[0][3])),
                *(-named[1]["model"].nunique(), dtype_order(named[0][4])),
            ),
        )
        slugs = _section_slugs([named for named, _ in groups])
        dtypes = {(*named[1:4], named[4]) for named, _ in groups}
        several = {key for key, count in Counter(each[:3] for each in dtypes).items() if count > 1}
        return tuple(
            self._section(group, slug, *named, is_apart=named[1:4] in several)
            for slug, (named, group) in zip(slugs, groups, strict=True)
        )

    def anchor(self, row: PlainRow) -> str:
        """Return the id of the heading on its page under which a row stands."""
        key = tuple(row[name] for name in _SECTION)
        own = next(each for each in self.sections if tuple(getattr(each, name) for name in _SECTION) == key)
        return f"{own.slug}-families" if own.is_by_family else f"{own.slug}-batch-{row['batch_size']}"

    def _section(
        self,
        group: pd.DataFrame,
        slug: str,
        origin: str,
        workload: Workload,
        torch: str,
        compile_mode: str,
        dtype: str,
        *,
        is_apart: bool,
    ) -> Section:
        words = self.atlas.words
        version, mode = (words.fact(name, {"torch": torch, "compile_mode": compile_mode}) for name in _VERSION_AND_MODE)
        of_throughput = [words.workload(workload)] if workload == "throughput" else []
        is_usual = dtype == "float32" and not of_throughput and not is_apart
        return Section(
            slug,
            title=words.facts([version, mode, *([] if is_usual else [words.value(dtype)]), *of_throughput]),
            torch=torch,
            compile_mode=compile_mode,
            dtype=dtype,
            apart=dtype if is_apart else None,
            origin=origin,
            workload=workload,
            source=source_of(self.atlas.results.by_label[group.index[0]], self.atlas.language),
            batch_sizes=tuple(sorted(_distinct(group, "batch_size"))),
            models=group["model"].nunique(),
            unequal=int(group["flags"].str.contains(UNEQUAL_BATCHES).sum()),
            is_by_family=workload == "throughput" or not self.atlas.listed,
            compared=Comparisons(self.atlas, tables.trusted(self.cells.loc[group.index]).index.tolist()),
        )


@dataclass(frozen=True, eq=False)
class Model(_Known):
    """A model; `label` is that of the tables."""

    atlas: Atlas
    labels: list[int]
    slug: str
    label = _of_all("model_label")
    checkpoint = _of_all("checkpoint")
    digest = _of_all("digest")  # "" unless it is a local checkpoint
    model_type = _of_all("model_type")  # likewise
    task = _of_all("task")
    family_slug = _of_all("family")

    @property
    def task_name(self) -> str:
        """What it does, in words."""
        return self.atlas.words.task(self.task)

    @cached_property
    def family(self) -> Family | None:
        """Its family, where models are listed by family."""
        return self.atlas.family.get(self.family_slug)

    @cached_property
    def has_page(self) -> bool:
        """Whether it has a page of its own. A model that is only known from a benchmark of throughput, which has a
        thousand others, stands on the page of its family."""
        return "latency" in self._distinct("workload")

    @property
    def place(self) -> str:
        """Its page or its row on that of its family, from the root of the language: ``models/vit.md``."""
        if self.has_page or self.family is None:
            return f"models/{self.slug}.md"
        return f"models/families/{self.family.slug}.md#{self.slug}"

    @cached_property
    def chosen_by(self) -> str:
        """Its options on the command line of `python -m bench run`."""
        if any((spec.label, spec.checkpoint) == (self.label, self.checkpoint) for spec in MODELS):
            return shlex.join(("--model", self.label))
        name = ("--name", self.checkpoint) if self.digest else ()
        weights = ("--weights", "random") if self.is_configuration else ()
        return shlex.join(("--checkpoint", self.location, *name, "--task", self.task, *weights))

    @property
    def location(self) -> str:
        """What code loads it from: its hub id, or a placeholder for the folder of a local checkpoint."""
        return location(self.checkpoint, self.digest)

    @cached_property
    def is_configuration(self) -> bool:
        """Whether it is a local checkpoint that was measured with random weights alone: it may have no others."""
        return bool(self.digest) and self._distinct("weights") == ["random"]

    @cached_property
    def auto_class(self) -> str:
        """The class of transformers that loads the checkpoint."""
        return auto_class(self.model_type or self.checkpoint, self.task)

    @property
    def loading_classes(self) -> str:
        """What its code imports from transformers."""
        return f"{'AutoConfig, ' if self.is_configuration else ''}AutoImageProcessor, {self.auto_class}"

    @property
    def loader(self) -> str:
        """The beginning of the call that loads it, up to the parenthesis before its `location`; that of a configuration
        opens two."""
        how = "from_config(AutoConfig.from_pretrained" if self.is_configuration else "from_pretrained"
        return f"{self.auto_class}.{how}"


_has_page = attrgetter("has_page")

_AUTO_CLASS_OF_TASK = {
    "image-classification": "AutoModelForImageClassification",
    "object-detection": "AutoModelForObjectDetection",
    "image-segmentation": "AutoModelForSemanticSegmentation",
}
# Families whose checkpoints do their task in another way than most.
_AUTO_CLASS_OF_FAMILY = {
    ("object-detection", "AutoModelForZeroShotObjectDetection"): ("owlv", "grounding-dino", "omdet"),
    ("image-segmentation", "AutoModelForInstanceSegmentation"): ("rf_detr", "rf-detr"),
    ("image-segmentation", "AutoModelForUniversalSegmentation"): (
        *("detr", "eomt", "maskformer", "mask2former", "oneformer", "videomt"),
    ),
}


def auto_class(named: str, task: str) -> str:
    """Return the class of transformers that loads a checkpoint, by its hub id or the type of its model."""
    for (its_task, name), families in _AUTO_CLASS_OF_FAMILY.items():
        if its_task == task and any(family in named.lower() for family in families):
            return name
    return _AUTO_CLASS_OF_TASK.get(task, "AutoModel")


@dataclass(frozen=True, eq=False)
class Family(_Known):
    """Models whose names begin alike: with what precedes the first number or underscore, and the version before it."""

    atlas: Atlas
    labels: list[int]
    slug: str
    label: str

    @cached_property
    def own_pages(self) -> tuple[Model, ...]:
        """Those of its models that have a page of their own."""
        return tuple(model for model in self.models if model.has_page)

    @cached_property
    def throughput_rows(self) -> tuple[Row, ...]:
        """Its rows in `throughput_table`."""
        return self.rows_of(self.among(tables.throughput_rows))

    @cached_property
    def sources(self) -> tuple[SourceText, ...]:
        """Where these rows are from."""
        rows = self.atlas.results.by_label
        texts = (source_of(rows[label], self.atlas.language) for label in self.among(tables.throughput_rows))
        return tuple({text.key: text for text in texts}.values())


class Atlas(_Known):
    """All results, in the language of the page."""

    def __init__(self, results: Results, language: Language) -> None:
        self.atlas = self
        self.results = results
        self.labels = results.newest.index.tolist()
        self.language = language
        self.words = Words(language, html=False)
        self.row_of = cache(self._row_of)  # many pages show the same rows

    @cached_property
    def cells(self) -> pd.DataFrame:
        """All cells."""
        return self.results.newest

    def _row_of(self, label: int) -> Row:
        return Row(self, self.results.by_label[label])

    @property
    def estimates(self) -> Estimates:
        """The speedups of models that nobody has compared on a device, and how far off they are."""
        return self.results.estimates

    @property
    def estimated_devices(self) -> list[str]:
        """The names of the devices that have estimates."""
        return [self.device[slug].label for slug in self.estimates.devices]

    @property
    def has_checked_gpu(self) -> bool:
        """Whether the benchmark was checked on another device than a CPU."""
        return any(selfcheck.device != "cpu" for selfcheck in self.results.selfchecks)

    @cached_property
    def device(self) -> Mapping[str, Device]:
        """Devices by slug, in the order of the results: accelerators first."""
        devices = by_value(self.labels, self._column("device"))
        return {slug: self._device(slug, labels) for slug, labels in devices.items()}

    @cached_property
    def model(self) -> Mapping[str, Model]:
        """Models by slug, by task."""
        labels = by_value(self.labels, self._column("model"))
        task = self.results.by_label.column("task")
        by_task = sorted(labels, key=lambda slug: (task[labels[slug][0]], slug))
        return {slug: Model(self, labels[slug], slug) for slug in by_task}

    @cached_property
    def family(self) -> Mapping[str, Family]:
        """Families by slug: of the models without a page, and of all where many have one."""
        labels: dict[str, list[int]] = {}
        for model in sorted(self.model.values(), key=lambda model: model.slug):
            labels.setdefault(model.family_slug, []).extend(model.labels)
        listed = self.model.values() if len(self.models) > FEW else filterfalse(_has_page, self.model.values())
        return {
            slug: Family(self, sorted(labels[slug]), slug, slug)
            for slug in sorted({each.family_slug for each in listed})
        }

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family, by name; none where the models are few."""
        return tuple(self.family.values())

    def _device(self, slug: str, labels: list[int]) -> Device:
        row = self.results.by_label[labels[0]]
        return Device(self, labels, slug, self.words.device(row), row["device_name"], row["device_type"], row["cores"])

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Every device, accelerators first."""
        return tuple(self.device.values())

    @cached_property
    def machines(self) -> tuple[Device, ...]:
        """CPUs that only this project has measured: its test machines, unless they are the reader's own."""
        own = self.results.own_devices
        return tuple(
            each
            for each in self.devices
            if each.type == "cpu" and each.origins == ("measured",) and each.slug not in own
        )

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Every model with a page of its own, by task."""
        return tuple(model for model in self.model.values() if model.has_page)

    @property
    def listed(self) -> tuple[Model, ...]:
        """Those of them that pages list one by one: all, or none where they are many."""
        return self.models if len(self.models) <= FEW else ()

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
        """How many rows the guide of 2023 has, those without figures included."""
        return len(self._of_2023)

    @cached_property
    def imported(self) -> int:
        """How many rows other benchmarks have, those without figures included."""
        return int((self.cells["origin"] == "published").sum()) - self.published

    @cached_property
    def measured(self) -> int:
        """How many measured rows there are, those without figures included."""
        return int((self.cells["origin"] == "measured").sum())

    @cached_property
    def batches(self) -> Batches | None:
        """How the gain depends on the batch size; None where nothing was compared at two of them."""
        small, large = tables.batch_pairs(self.cells)
        if small.empty:
            return None
        return Batches(
            small=int(small["batch_size"].iloc[0]),
            large=int(large["batch_size"].iloc[0]),
            small_change=float(small["change"].median()),
            large_change=float(large["change"].median()),
            count=len(small),
            noun="published figure" if small["origin"].iloc[0] == "published" else "comparison",
        )

    @cached_property
    def malloc_pairs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """See `tables.malloc_pairs`: from all runs, because the newest one of a cell was measured one way only."""
        return _malloc_pairs(self.results)

    @cached_property
    def published_best(self) -> Row | None:
        """The largest gain among the latencies published in 2023."""
        return self.row(tables.best_row(self._of_2023))

    @cached_property
    def published_worst(self) -> Row | None:
        """The largest loss or smallest gain among them."""
        return self.row(tables.worst_row(self._of_2023))

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

    def row(self, label: int | None) -> Row | None:
        """Return the row of a label, None for none."""
        return None if label is None else self.row_of(label)

    @cached_property
    def _of_2023(self) -> pd.DataFrame:
        return where(self.cells, self.cells["run"] == "huggingface-2023")


def _section_slugs(sections: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return a slug for each section, from its values of `_SECTION`: the version and the mode, and no more of the rest
    than it takes to tell it from the others. A section in float32 keeps its address when others join it."""
    rest = ((), ("origin",), ("dtype",), ("origin", "dtype"), ("origin", "workload", "dtype"))
    forms = [
        [
            slugify(" ".join(("torch", *(_in_address(named, name) for name in ("torch", "compile_mode", *names)))))
            for names in rest
        ]
        for named in sections
    ]
    counts = [Counter(form[at] for form in forms) for at in range(len(rest))]
    return [next(form for form, count in zip(each, counts, strict=True) if count[form] == 1) for each in forms]


def _in_address(section: tuple[Any, ...], name: str) -> str:
    value = str(section[_SECTION.index(name)])
    return "" if value == "float32" else value


def _distinct(cells: pd.DataFrame, column: str) -> list[Any]:
    """Return the values of a column, in the order in which they first occur."""
    return list(dict.fromkeys(cells[column].tolist()))
