"""The devices, models, families and rows that page expressions refer to, in the language of the page.

``atlas`` has all of them; a page that is made for each device, model or family has its own as ``device``, ``model`` or
``family``. They know each other: ``device.latency.best.model.label``. Everything is computed when a page first asks.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import pandas as pd

from bench.plans.models import MODELS
from bench.records.record import UNEQUAL_BATCHES, Workload
from generator.data.digits import RowFigure
from generator.data.estimates import Estimates
from generator.data.families import slugify
from generator.data.load import Results
from generator.data.names import location
from generator.data.selection import Row as PlainRow, by_value, dtype_order, mode_order, version_order, where
from generator.figures import tables
from generator.figures.drawing import Box
from generator.figures.sources import SourceText, source_of
from generator.figures.tables import Choose
from generator.figures.words import Words
from generator.languages.language import Language

FEW = 60
"""Up to this many models, pages list them one by one. More are listed by family, each on a page of its own: nobody
reads a page with a thousand models, and the navigation stands on every page. More devices than this are listed on their
index alone."""


class Row:
    """One row of the results: a cell in its newest run.

    Its attributes are the columns of `generator.data.registry.COLUMNS`, None where unknown; `model` and `device` are
    objects of the atlas.
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


def _rows_by(choose: Choose) -> cached_property[tuple[Row, ...]]:
    return cached_property(lambda known: known.rows_of(known.among(choose)))


def _of_all(column: str) -> property:
    """Return the property that holds the one value of all cells in a column."""
    return property(lambda known: known.atlas.results.by_label.column(column)[known.labels[0]])


class _Cells:
    """Some cells, with the rows that the table of each name shows, none where it would be empty."""

    compile_rows = _rows_by(tables.compile_rows)  # of compile_cost_table and break_even_table
    mode_rows = _rows_by(tables.mode_rows)
    efficiency_rows = _rows_by(tables.efficiency_rows)
    cause_rows = _rows_by(tables.cause_rows)
    break_rows = _rows_by(tables.break_rows)
    skip_rows = _rows_by(tables.skip_rows)
    recompile_rows = _rows_by(tables.recompile_rows)
    version_rows = _rows_by(tables.version_rows)
    throughput_rows = _rows_by(tables.throughput_rows)

    def __init__(self, atlas: Atlas, labels: Sequence[int]) -> None:
        self.atlas = atlas
        self.labels = labels  # of its rows, in the order of the results

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

    def values(self, column: str) -> list[Any]:
        """Return the value of each cell in a column."""
        values = self.atlas.results.by_label.column(column)
        return [values[label] for label in self.labels]

    def distinct(self, column: str) -> tuple[Any, ...]:
        """Return the values of a column, in the order in which they first occur."""
        return tuple(dict.fromkeys(self.values(column)))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The cells, one by one."""
        return self.rows_of(self.labels)

    @cached_property
    def latency(self) -> Comparisons:
        """Its comparisons that ask for the latency of a batch."""
        return self.compared_by("latency")

    @cached_property
    def throughput(self) -> Comparisons:
        """Its comparisons that ask for as many images as possible."""
        return self.compared_by("throughput")

    def compared_by(self, workload: Workload) -> Comparisons:
        """Return the comparisons of a workload, of both origins: to be counted and ranked, never averaged."""
        trusted, workloads = self.atlas.results.trusted, self.atlas.results.by_label.column("workload")
        return Comparisons(
            self.atlas, [label for label in self.labels if label in trusted and workloads[label] == workload]
        )

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Models of these cells."""
        return tuple(self.atlas.model[slug] for slug in self.distinct("model"))

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Devices of these cells."""
        return tuple(self.atlas.device[slug] for slug in self.distinct("device"))


class Comparisons(_Cells):
    """Comparisons of one workload: rows in which both variants have a latency, and nothing doubts it.

    They are ranked. They are averaged only where they belong to one device and origin.
    """

    @cached_property
    def by_device(self) -> tuple[Comparisons, ...]:
        """Those of each device with each version of PyTorch, the newest first: what may be averaged."""
        keys = zip(self.values("torch"), self.values("device"), self.values("origin"), strict=True)
        groups = by_value(self.labels, keys)
        newest_first = sorted(groups, key=lambda key: version_order(key[0]), reverse=True)
        return tuple(Comparisons(self.atlas, groups[key]) for key in newest_first)

    @cached_property
    def slower(self) -> tuple[Row, ...]:
        """Those in which the compiled model is slower, the largest loss first."""
        return self.rows_of(sorted(self._judged("slower"), key=self._change, reverse=True))

    @cached_property
    def slower_families(self) -> tuple[str, ...]:
        """The families of these."""
        return tuple(dict.fromkeys(row.family for row in self.slower))

    @cached_property
    def spread(self) -> Box | None:
        """Quartiles of the change of the latency; None without a comparison."""
        return Box.of(map(self._change, self.labels)) if self.labels else None

    @property
    def median_change(self) -> float | None:
        """Median change of the latency; None without a comparison."""
        return self.spread.median if self.spread else None

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

    def _judged(self, verdict: str) -> list[int]:
        verdicts = self.atlas.results.by_label.column("verdict")
        return [label for label in self.labels if verdicts[label] == verdict]


# ── Devices ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_SECTION = ("origin", "workload", "torch", "compile_mode", "dtype")
"""Coordinates that all cells of a `Section` share."""


class Section(_Cells):
    """The cells under one heading of a device page: one PyTorch version, mode, data type and source."""

    origin, workload, torch, compile_mode, dtype = map(_of_all, _SECTION)

    def __init__(self, atlas: Atlas, labels: Sequence[int], slug: str, *, is_apart: bool) -> None:
        super().__init__(atlas, labels)
        self.slug = slug
        self.apart: str | None = self.dtype if is_apart else None  # where this version and mode have other data types

    @cached_property
    def title(self) -> str:
        """The facts that its cells share: plain text."""
        words, row = self.atlas.words, self.atlas.results.by_label[self.labels[0]]
        facts = [words.fact("torch", row), words.fact("compile_mode", row)]
        if self.dtype != "float32" or self.workload == "throughput" or self.apart:
            facts.append(words.value(self.dtype))
        if self.workload == "throughput":
            facts.append(words.named("workload", "throughput"))
        return words.facts(facts)

    @property
    def source(self) -> SourceText:
        """Where its figures come from."""
        return source_of(self.atlas.results.by_label[self.labels[0]], self.atlas.language)

    @cached_property
    def batch_sizes(self) -> tuple[int, ...]:
        """Its batch sizes."""
        return tuple(sorted(self.distinct("batch_size")))

    @cached_property
    def unequal(self) -> int:
        """How many rows have variants that were measured at different batch sizes."""
        return sum(UNEQUAL_BATCHES in flags for flags in self.values("flags"))

    @property
    def is_by_family(self) -> bool:
        """Whether its models are too many to be listed one by one."""
        return self.workload == "throughput" or not self.atlas.listed

    @cached_property
    def compared(self) -> Comparisons:
        """Its comparisons."""
        return self.compared_by(self.workload)


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


class Device(_Cells):
    """A device."""

    slug, name, type, cores = map(_of_all, ("device", "device_name", "device_type", "cores"))

    @cached_property
    def label(self) -> str:
        """Its name in the language of the page: plain text."""
        return self.atlas.words.device(self.atlas.results.by_label[self.labels[0]])

    def compared_by(self, workload: Workload) -> Comparisons:
        """Return comparisons of one origin only, measured ones where there are any: origins are never averaged."""
        found = super().compared_by(workload)
        measured = by_value(found.labels, found.values("origin")).get("measured")
        return Comparisons(self.atlas, measured) if measured else found

    @cached_property
    def malloc(self) -> tuple[Malloc, ...]:
        """Its cells that were measured with glibc's default and with freed memory kept."""
        pairs = (map(self.atlas.row_of, pair) for pair in _malloc_pairs(self.atlas.results))
        return tuple(
            Malloc(default, keep, keep.eager_ms / default.eager_ms - 1, keep.compiled_ms / default.compiled_ms - 1)
            for default, keep in pairs
            if keep.device is self
        )

    @property
    def is_listed(self) -> bool:
        """Whether pages list its models one by one."""
        return bool(self.atlas.listed)

    @cached_property
    def origins(self) -> tuple[str, ...]:
        """measured, published, or both."""
        return tuple(sorted(self.distinct("origin")))

    @cached_property
    def modes(self) -> tuple[str, ...]:
        """Compile modes on this device."""
        return tuple(sorted(self.distinct("compile_mode"), key=mode_order))

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Measured before published, `default` before other modes, then the sections with the most models first, then
        float32 before other data types."""
        groups = by_value(self.labels, zip(*map(self.values, _SECTION), strict=True))
        models = {key: len(_Cells(self.atlas, labels).distinct("model")) for key, labels in groups.items()}
        ordered = sorted(groups, key=lambda key: (key[0], mode_order(key[3]), -models[key], dtype_order(key[4])))
        dtypes = Counter(key[1:4] for key in {(None, *key[1:]) for key in ordered})
        slugs = _section_slugs(ordered)
        return tuple(
            Section(self.atlas, groups[key], slug, is_apart=dtypes[key[1:4]] > 1)
            for key, slug in zip(ordered, slugs, strict=True)
        )

    def anchor(self, row: PlainRow) -> str:
        """Return the id of the heading on its page under which a row stands."""
        own = next(each for each in self.sections if all(getattr(each, name) == row[name] for name in _SECTION))
        return f"{own.slug}-families" if own.is_by_family else f"{own.slug}-batch-{row['batch_size']}"


@lru_cache(maxsize=2)
def _malloc_pairs(results: Results) -> Sequence[tuple[int, int]]:
    """Return the labels of `tables.malloc_pairs`: of all runs, since the newest of a cell was measured one way only."""
    default, keep = tables.malloc_pairs(results.table)
    return list(zip(default.index, keep.index, strict=True))


def _section_slugs(sections: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a slug for each section, from its values of `_SECTION`: the version and the mode, and no more of the rest
    than it takes to tell it from the others. A section in float32 keeps its address when others join it."""
    rest = ((), ("origin",), ("dtype",), ("origin", "dtype"), ("origin", "workload", "dtype"))
    forms = []
    for section in sections:
        values = dict(zip(_SECTION, section, strict=True))
        values["dtype"] = values["dtype"].removeprefix("float32")
        named = ([values[name] for name in ("torch", "compile_mode", *names)] for names in rest)
        forms.append([slugify(" ".join(("torch", *each))) for each in named])
    counts = [Counter(each) for each in zip(*forms, strict=True)]
    return [next(form for form, count in zip(each, counts, strict=True) if count[form] == 1) for each in forms]


# ── Models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Model(_Cells):
    """A model. `digest` and `model_type` are "" unless it is a local checkpoint."""

    slug, label, checkpoint = map(_of_all, ("model", "model_label", "checkpoint"))
    digest, model_type, task, family_slug = map(_of_all, ("digest", "model_type", "task", "family"))

    @property
    def task_name(self) -> str:
        """The name of its task."""
        return self.atlas.words.named("task", self.task)

    @cached_property
    def family(self) -> Family | None:
        """Its family, where models are listed by family."""
        return self.atlas.family.get(self.family_slug)

    @cached_property
    def has_page(self) -> bool:
        """Whether it has a page of its own. A model that is only known from a benchmark of throughput, which has a
        thousand others, stands on the page of its family."""
        return "latency" in self.distinct("workload")

    @property
    def place(self) -> str:
        """Its page, or its row on the page of its family, from the root of the language: ``models/vit.md``."""
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
        """The source that code loads it from: its hub id, or a placeholder for the folder of a local checkpoint."""
        return location(self.checkpoint, self.digest)

    @cached_property
    def is_configuration(self) -> bool:
        """Whether it is a local checkpoint that was measured with random weights alone: it may have no others."""
        return bool(self.digest) and self.distinct("weights") == ("random",)

    @cached_property
    def auto_class(self) -> str:
        """The class of transformers that loads the checkpoint."""
        return auto_class(self.model_type or self.checkpoint, self.task)

    @property
    def loading_classes(self) -> str:
        """The imports of its code from transformers."""
        return f"{'AutoConfig, ' if self.is_configuration else ''}AutoImageProcessor, {self.auto_class}"

    @property
    def loader(self) -> str:
        """The beginning of the call that loads it, up to the parenthesis before its `location`; that of a configuration
        opens two."""
        how = "from_config(AutoConfig.from_pretrained" if self.is_configuration else "from_pretrained"
        return f"{self.auto_class}.{how}"


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


class Family(_Cells):
    """Models whose names begin alike: with what precedes the first number or underscore, and the version before it."""

    slug = label = _of_all("family")

    @cached_property
    def own_pages(self) -> tuple[Model, ...]:
        """Those of its models that have a page of their own."""
        return tuple(model for model in self.models if model.has_page)

    @cached_property
    def sources(self) -> tuple[SourceText, ...]:
        """Where its rows in `throughput_table` are from."""
        rows = self.atlas.results.by_label
        texts = (source_of(rows[row.row], self.atlas.language) for row in self.throughput_rows)
        return tuple({text.key: text for text in texts}.values())


# ── Everything ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Batches:
    """Change of the latency at the smallest and at the largest batch size: medians over the same comparisons."""

    small: int
    large: int
    small_change: float
    large_change: float
    count: int
    noun: str  # what they are counted as: comparison, or published figure


class Atlas(_Cells):
    """All results, in the language of the page."""

    def __init__(self, results: Results, language: Language) -> None:
        super().__init__(self, results.newest.index.tolist())
        self.results = results
        self.language = language
        self.words = Words(language, html=False)
        self.row_of = cache(lambda label: Row(self, results.by_label[label]))  # many pages show the same rows

    def row(self, label: int | None) -> Row | None:
        """Return the row of a label, None for none."""
        return None if label is None else self.row_of(label)

    @property
    def cells(self) -> pd.DataFrame:
        """All cells."""
        return self.results.newest

    @cached_property
    def device(self) -> Mapping[str, Device]:
        """Devices by slug, in the order of the results: accelerators first."""
        devices = by_value(self.labels, self.values("device"))
        return {slug: Device(self, labels) for slug, labels in devices.items()}

    @cached_property
    def model(self) -> Mapping[str, Model]:
        """Models by slug, by task."""
        models = by_value(self.labels, self.values("model"))
        found = (Model(self, labels) for labels in models.values())
        return {each.slug: each for each in sorted(found, key=lambda each: (each.task, each.slug))}

    @cached_property
    def family(self) -> Mapping[str, Family]:
        """Families by slug: of the models without a page, and of all where many have one."""
        is_crowded = len(self.models) > FEW
        listed = {each.family_slug for each in self.model.values() if is_crowded or not each.has_page}
        labels = by_value(self.labels, self.values("family"))
        return {slug: Family(self, labels[slug]) for slug in sorted(listed)}

    @cached_property
    def devices(self) -> tuple[Device, ...]:
        """Every device, accelerators first."""
        return tuple(self.device.values())

    @cached_property
    def machines(self) -> tuple[Device, ...]:
        """CPUs that only this project has measured: its test machines, unless they are the reader's own."""
        cpus = (device for device in self.devices if device.type == "cpu" and device.origins == ("measured",))
        return tuple(device for device in cpus if device.slug not in self.results.own_devices)

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """Every model with a page of its own, by task."""
        return tuple(model for model in self.model.values() if model.has_page)

    @property
    def listed(self) -> tuple[Model, ...]:
        """Those of them that pages list one by one: all, or none where they are many."""
        return self.models if len(self.models) <= FEW else ()

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family, by name; none where the models are few."""
        return tuple(self.family.values())

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
    def published(self) -> int:
        """How many rows the guide of 2023 has, those without figures included."""
        return len(self._of_2023)

    @cached_property
    def imported(self) -> int:
        """How many rows other benchmarks have, those without figures included."""
        return self.values("origin").count("published") - self.published

    @cached_property
    def measured(self) -> int:
        """How many measured rows there are, those without figures included."""
        return self.values("origin").count("measured")

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
    def published_best(self) -> Row | None:
        """The largest gain among the latencies published in 2023."""
        return self.row(tables.best_row(self._of_2023))

    @cached_property
    def published_worst(self) -> Row | None:
        """The largest loss or smallest gain among them."""
        return self.row(tables.worst_row(self._of_2023))

    @cached_property
    def _of_2023(self) -> pd.DataFrame:
        return where(self.cells, self.cells["run"] == "huggingface-2023")

    @property
    def last(self) -> Row | None:
        """The row that was measured last; None where there are only published figures."""
        return self.row(last["row"] if (last := self.results.last_measured) else None)
