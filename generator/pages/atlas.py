"""The devices, models, families and rows that page expressions refer to, in the language of the page.

``atlas`` has all of them; a page that is made for each device, model or family has its own as ``device``, ``model`` or
``family``. They know each other: ``device.latency.best.model.label``. Everything is computed when a page first asks.
Properties whose names say all are declared in a line.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from bench.plans.models import MODELS
from bench.records.record import UNEQUAL_BATCHES, Status, Workload
from bench.statistics.processes import VARIANTS, VariantName
from generator.data.digits import RowFigure
from generator.data.families import slugify
from generator.data.load import Results
from generator.data.names import location
from generator.data.rows import CONTIGUOUS
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
        self._values = values
        self.model = atlas.model[values["model"]]
        self.device = atlas.device[values["device"]]

    def __getattr__(self, column: str) -> Any:
        """Return the value of a column; a figure knows the digits with which it is shown."""
        values: PlainRow = self.__dict__["_values"]
        if column not in values:
            raise AttributeError(column, name=column, obj=self)
        return RowFigure.of(values, column) if isinstance(values[column], float) else values[column]


def _rows_by(choose: Choose) -> cached_property[Sequence[Row]]:
    return cached_property(lambda known: known.rows_of(choose(known.cells).index))


def _of_all(column: str) -> property:
    """Return the property that holds the one value of all cells in a column."""
    return property(lambda known: known.values(column)[0])


class _Cells:
    """Some cells, with the rows that the table of each name shows, none where it would be empty."""

    compile_rows = _rows_by(tables.compile_rows)  # of compile_cost_table and break_even_table
    mode_rows = _rows_by(tables.mode_rows)
    efficiency_rows = _rows_by(tables.efficiency_rows)
    cause_rows = _rows_by(tables.cause_rows)
    break_rows = _rows_by(tables.break_rows)
    skip_rows = _rows_by(tables.skip_rows)
    version_rows = _rows_by(tables.version_rows)
    throughput_rows = _rows_by(tables.throughput_rows)

    def __init__(self, atlas: Atlas, labels: Sequence[int]) -> None:
        self.atlas = atlas
        self.labels = labels  # of its rows, in the order of the results

    layout = CONTIGUOUS  # of the rows that are shown and compared

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The rows in its layout."""
        rows = self.atlas.results.current.loc[[*self.labels]]
        return where(rows, rows["layout"] == self.layout)

    rows = cached_property(lambda self: self.rows_of(self.labels))
    models = cached_property(lambda self: [self.atlas.model[slug] for slug in self.distinct("model")])
    devices = cached_property(lambda self: [self.atlas.device[slug] for slug in self.distinct("device")])
    latency = cached_property(lambda self: self.compared_by("latency"))
    throughput = cached_property(lambda self: self.compared_by("throughput"))

    def rows_of(self, labels: Iterable[int]) -> Sequence[Row]:
        """Return some cells, one by one."""
        return [self.atlas.row(label) for label in labels]

    def values(self, column: str) -> list[Any]:
        """Return the value of each cell in a column."""
        values = self.atlas.results.by_label.column(column)
        return [values[label] for label in self.labels]

    def distinct(self, column: str) -> Sequence[Any]:
        """Return the values of a column, in the order in which they first occur."""
        return [*dict.fromkeys(self.values(column))]

    def labels_by(self, *columns: str) -> dict[tuple[Any, ...], list[int]]:
        """Return the labels of the cells by their values in some columns."""
        return by_value(self.labels, zip(*map(self.values, columns), strict=True))

    def compared_by(self, workload: Workload) -> Comparisons:
        """Return the comparisons of a workload, of both origins: to be counted and ranked, never averaged."""
        labels = self.labels_by("workload", "layout").get((workload, self.layout), ())
        return Comparisons(self.atlas, [label for label in labels if label in self.atlas.results.trusted])


class Comparisons(_Cells):
    """Comparisons of one workload: rows in which both variants have a latency, and nothing doubts it.

    They are ranked. They are averaged only where they belong to one device and origin.
    """

    @cached_property
    def by_device(self) -> Sequence[Comparisons]:
        """The comparisons of each device with each version of PyTorch, the newest first: they may be averaged."""
        groups = self.labels_by("torch", "device", "origin")
        newest_first = sorted(groups, key=lambda key: version_order(key[0]), reverse=True)
        return [Comparisons(self.atlas, groups[key]) for key in newest_first]

    @cached_property
    def spread(self) -> Box | None:
        """Quartiles of the speedup; None without a comparison."""
        return Box.of(self.values("speedup")) if self.labels else None

    @cached_property
    def slower(self) -> Sequence[Row]:
        """The rows in which the compiled model is slower, the largest loss first."""
        rows = [row for row in self.rows if row.verdict == "slower"]
        return sorted(rows, key=attrgetter("speedup"))

    @cached_property
    def best(self) -> Row | None:
        """The largest gain; None where nothing is clearly faster."""
        rows = (row for row in self.rows if row.verdict == "faster")
        return max(rows, key=attrgetter("speedup"), default=None)

    @cached_property
    def worst(self) -> Row | None:
        """Of the slower rows, or else of all, the largest loss or smallest gain."""
        return min(self.slower or self.rows, key=attrgetter("speedup"), default=None)


# ── Devices ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_SECTION = ("origin", "workload", "torch", "compile_mode", "dtype", "layout")
"""Coordinates that all cells of a `Section` share."""


class Section(_Cells):
    """The cells under one heading of a device page: one PyTorch version, mode, data type, memory layout and source.

    `apart` is the data type where cells of this version and mode have others as well.
    """

    origin, workload, torch, compile_mode, dtype, layout = map(_of_all, _SECTION)

    def __init__(self, atlas: Atlas, labels: Sequence[int], slug: str, *, is_apart: bool) -> None:
        super().__init__(atlas, labels)
        self.slug = slug
        self.apart: str | None = self.dtype if is_apart else None
        self._row = atlas.results.by_label[labels[0]]

    @cached_property
    def title(self) -> str:
        """The facts that its cells share: plain text."""
        words = self.atlas.words
        facts = [words.fact("torch", self._row)]
        if self.sides != ["eager"]:
            facts.append(words.fact("compile_mode", self._row))
        if self.dtype != "float32" or self.workload == "throughput" or self.apart:
            facts.append(words.value(self.dtype))
        if self.layout != CONTIGUOUS:
            facts.append(words.value(self.layout))
        if self.workload == "throughput":
            facts.append(words.named("workload", "throughput"))
        return words.facts(facts)

    source = property(lambda self: source_of(self._row, self.atlas.language))
    batch_sizes = property(lambda self: sorted(self.distinct("batch_size")))
    compared = cached_property(lambda self: self.compared_by(self.workload))
    # The number of rows whose variants were measured at different batch sizes:
    unequal = property(lambda self: sum(UNEQUAL_BATCHES in flags for flags in self.values("flags")))

    @property
    def sides(self) -> Sequence[VariantName]:
        """The variants that have figures of throughput."""
        return [each for each in VARIANTS if any(rate is not None for rate in self.values(f"{each}_images_s"))]

    @property
    def is_by_family(self) -> bool:
        """Whether its models are too many to be listed one by one."""
        return self.workload == "throughput" or not self.atlas.listed


class Malloc(NamedTuple):
    """A cell on a CPU, measured with glibc's default and with freed memory kept, and the change of each latency.

    It `turns` if compiling costs time by default, and saves some with memory kept.
    """

    keep: Row
    eager_change: float
    compiled_change: float
    turns: bool


class Device(_Cells):
    """A device."""

    slug, name, type, cores = map(_of_all, ("device", "device_name", "device_type", "cores"))
    label = property(lambda self: self.atlas.words.device(self.atlas.results.by_label[self.labels[0]]))  # plain text
    modes = property(lambda self: sorted(self.distinct("compile_mode"), key=mode_order))

    def compared_by(self, workload: Workload) -> Comparisons:
        """Return comparisons of one origin only, measured ones where there are any: origins are never averaged."""
        found = super().compared_by(workload)
        measured = found.labels_by("origin").get(("measured",))
        return Comparisons(self.atlas, measured) if measured else found

    @cached_property
    def malloc(self) -> Sequence[Malloc]:
        """Its cells that were measured with glibc's default and with freed memory kept: of all runs, since the newest
        of a cell was measured one way only."""
        if self.type != "cpu":
            return ()
        table, found = self.atlas.results.table, []
        pairs = tables.malloc_pairs(table[table["device"] == self.slug])
        for default, keep in zip(*(self.rows_of(rows.index) for rows in pairs), strict=True):
            turns = (default.verdict, keep.verdict) == ("slower", "faster")
            changes = keep.eager_ms / default.eager_ms - 1, keep.compiled_ms / default.compiled_ms - 1
            found.append(Malloc(keep, *changes, turns))
        return found

    @cached_property
    def sections(self) -> Sequence[Section]:
        """Measured before published, `default` before other modes, then the sections with the most models first, then
        float32 before other data types."""
        groups = self.labels_by(*_SECTION)
        models = {key: len(_Cells(self.atlas, labels).distinct("model")) for key, labels in groups.items()}
        ordered = sorted(
            groups,
            key=lambda key: (key[0], mode_order(key[3]), key[5] != CONTIGUOUS, -models[key], dtype_order(key[4])),
        )
        dtypes = Counter(key[1:4] for key in {(None, *key[1:5]) for key in ordered})
        slugs = _section_slugs(ordered)
        return [
            Section(self.atlas, groups[key], slug, is_apart=dtypes[key[1:4]] > 1)
            for key, slug in zip(ordered, slugs, strict=True)
        ]

    def anchor(self, row: PlainRow) -> str:
        """Return the id of the heading on its page under which a row stands."""
        own = next(each for each in self.sections if all(getattr(each, name) == row[name] for name in _SECTION))
        return f"{own.slug}-families" if own.is_by_family else f"{own.slug}-batch-{row['batch_size']}"


def _section_slugs(sections: Sequence[tuple[str, ...]]) -> Sequence[str]:
    """Return a slug for each section, from its values of `_SECTION`: the version and the mode, and no more of the rest
    than it takes to tell it from the others. A section in float32 keeps its address when others join it."""
    found: dict[int, str] = {}
    for rest in ((), ("origin",), ("dtype",), ("origin", "dtype"), ("origin", "workload", "dtype")):
        slugs = []
        for section in sections:
            values = dict(zip(_SECTION, section, strict=True)) | {"dtype": section[4].removeprefix("float32")}
            named = (values[name] for name in ("torch", "compile_mode", *rest, "layout") if values[name] != CONTIGUOUS)
            slugs.append(slugify(" ".join(("torch", *named))))
        for at, slug in enumerate(slugs):
            if slugs.count(slug) == 1:
                found.setdefault(at, slug)
    return [found[at] for at in range(len(sections))]


# ── Models ──────────────────────────────────────────────────────────────────────────────────────────────────────────


class Model(_Cells):
    """A model. `digest` and `model_type` are "" unless it is a local checkpoint."""

    slug, label, checkpoint = map(_of_all, ("model", "model_label", "checkpoint"))
    digest, model_type, task, family_slug = map(_of_all, ("digest", "model_type", "task", "family"))
    task_name = property(lambda self: self.atlas.words.named("task", self.task))
    family = property(lambda self: self.atlas.family.get(self.family_slug))  # where models are listed by family
    auto_class = property(lambda self: auto_class(self.model_type or self.checkpoint, self.task))

    @cached_property
    def has_page(self) -> bool:
        """Whether it has a page of its own. A model that is only known from a benchmark of throughput, which has a
        thousand others, stands on the page of its family."""
        return "latency" in self.values("workload")

    @property
    def place(self) -> str:
        """Its page, or its row on the page of its family, from the root of the language: ``models/vit.md``."""
        if self.has_page or self.family is None:
            return f"models/{self.slug}.md"
        return f"models/families/{self.family.slug}.md#{self.slug}"

    @property
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

    @property
    def is_configuration(self) -> bool:
        """Whether it is a local checkpoint that was measured with random weights alone: it may have no others."""
        return bool(self.digest) and self.distinct("weights") == ["random"]


_AUTO_CLASSES = (
    ("object-detection", "owlv|grounding-dino|omdet", "AutoModelForZeroShotObjectDetection"),
    ("object-detection", "", "AutoModelForObjectDetection"),
    ("image-segmentation", "rf[_-]detr", "AutoModelForInstanceSegmentation"),
    ("image-segmentation", "detr|eomt|mask2?former|oneformer|videomt", "AutoModelForUniversalSegmentation"),
    ("image-segmentation", "", "AutoModelForSemanticSegmentation"),
    ("image-classification", "", "AutoModelForImageClassification"),
    ("depth-estimation", "", "AutoModelForDepthEstimation"),
    ("image-feature-extraction", "siglip", "SiglipVisionModel"),
    ("image-feature-extraction", "clip", "CLIPVisionModel"),
    ("image-feature-extraction", "sam2", "Sam2VisionModel"),
)
"""Task, part of a name, and class: some families do their task in another way than most."""


def auto_class(named: str, task: str) -> str:
    """Return the class of transformers that loads a checkpoint, by its hub id or the type of its model."""
    names = (name for of, part, name in _AUTO_CLASSES if of == task and re.search(part, named.lower()))
    return next(names, "AutoModel")


class Family(_Cells):
    """Models whose names begin alike: with what precedes the first number or underscore, and the version before it."""

    slug = label = _of_all("family")
    own_pages = property(lambda self: [model for model in self.models if model.has_page])

    @property
    def sources(self) -> Iterable[SourceText]:
        """The sources of its rows in `throughput_table`."""
        rows = self.atlas.results.by_label
        texts = (source_of(rows[row.row], self.atlas.language) for row in self.throughput_rows)
        return {text.key: text for text in texts}.values()


# ── Everything ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Batches:
    """Speedup at the smallest and at the largest batch size: medians over the same comparisons."""

    small: int
    large: int
    small_speedup: float
    large_speedup: float
    count: int
    noun: str  # what they are counted as: comparison, or published figure


class Atlas(_Cells):
    """All results, in the language of the page."""

    def __init__(self, results: Results, language: Language) -> None:
        super().__init__(self, results.current.index.tolist())
        self.results = results
        self.language = language
        self.words = Words(language, html=False)
        self.row = cache(lambda label: Row(self, results.by_label[label]))  # many pages show the same rows

    devices = cached_property(lambda self: [*self.device.values()])
    models = cached_property(lambda self: [model for model in self.model.values() if model.has_page])  # by task
    families = property(lambda self: self.family.values())

    @property
    def judged(self) -> Sequence[Device]:
        """The devices of which a source has tried eager and compiled, or all where there is none."""
        tried = {*self.cells.loc[self.cells["status"] != Status.SKIPPED, "device"]}
        return [device for device in self.devices if device.slug in tried] or self.devices

    has_checked_gpu = property(lambda self: any(each.device != "cpu" for each in self.results.selfchecks))
    estimated_devices = property(lambda self: [self.device[slug].label for slug in self.results.estimates.devices])

    # Numbers of rows: of the guide of 2023, and of measured ones, those without figures included.
    published = property(lambda self: self.values("run").count("huggingface-2023"))
    measured = property(lambda self: self.values("origin").count("measured"))

    @cached_property
    def device(self) -> Mapping[str, Device]:
        """Devices by slug, in the order of the results: accelerators first."""
        return {slug: Device(self, labels) for (slug,), labels in self.labels_by("device").items()}

    @cached_property
    def model(self) -> Mapping[str, Model]:
        """Models by slug, by task."""
        found = (Model(self, labels) for labels in self.labels_by("model").values())
        return {each.slug: each for each in sorted(found, key=lambda each: (each.task, each.slug))}

    @cached_property
    def family(self) -> Mapping[str, Family]:
        """Families by slug: of the models without a page, and of all where many have one."""
        listed = {each.family_slug for each in self.model.values() if not each.has_page or not self.listed}
        return {
            slug: Family(self, labels) for (slug,), labels in sorted(self.labels_by("family").items()) if slug in listed
        }

    @property
    def listed(self) -> Sequence[Model]:
        """The models that pages list one by one: all with a page, or none where they are many."""
        models: Sequence[Model] = self.models
        return models if len(models) <= FEW else ()

    @cached_property
    def machines(self) -> Sequence[Device]:
        """CPUs that only this project has measured: its test machines, unless they are the reader's own."""
        cpus = [device for device in self.devices if (device.type, device.distinct("origin")) == ("cpu", ["measured"])]
        return [device for device in cpus if device.slug not in self.results.own_devices]

    @cached_property
    def batches(self) -> Batches | None:
        """How the gain depends on the batch size; None where nothing was compared at two of them."""
        small, large = tables.batch_pairs(self.cells)
        if small.empty:
            return None
        return Batches(
            small=int(small["batch_size"].iloc[0]),
            large=int(large["batch_size"].iloc[0]),
            small_speedup=float(small["speedup"].median()),
            large_speedup=float(large["speedup"].median()),
            count=len(small),
            noun="published figure" if small["origin"].iloc[0] == "published" else "comparison",
        )

    @cached_property
    def of_2023(self) -> Comparisons:
        """The latencies published in 2023."""
        return Comparisons(self, self.labels_by("run").get(("huggingface-2023",), ())).compared_by("latency")

    published_best = property(lambda self: self.of_2023.best)
    published_worst = property(lambda self: self.of_2023.worst)

    @property
    def last(self) -> Row | None:
        """The row that was measured last; None where there are only published figures."""
        last = self.results.last_measured
        return self.row(last["row"]) if last else None
