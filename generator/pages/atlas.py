"""The devices, models, families and rows that page expressions refer to, in the language of the page.

Takes `Results` and a `Language`; the devices, models and rows of an `Atlas` know each other. Everything is computed
when a page first asks for it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, cached_property
from typing import Any

import pandas as pd

from bench.plans.models import MODELS
from generator.data.load import Results, slugify
from generator.data.selection import Row as PlainRow
from generator.data.selection import comparisons, grouped, is_comparison, labels_by, mode_order, where
from generator.figures import tables
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
        """Return the value of a column."""
        try:
            return self._values[column]
        except KeyError:
            raise AttributeError(column, name=column, obj=self) from None

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
    """The cells under one heading of a device page: one PyTorch version, mode and origin."""

    slug: str
    torch: str
    compile_mode: str
    origin: str
    date: datetime | str | None
    weights_name: str
    batch_sizes: tuple[int, ...]


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


def _chosen(choose: Callable[[pd.DataFrame], pd.DataFrame]) -> cached_property[tuple[Row, ...]]:
    return cached_property(lambda known: known.rows_of(choose(known.cells)))


class _Known:
    """Some cells with the rows that the table of each name shows, none where it would be empty."""

    atlas: Atlas
    cells: pd.DataFrame
    compile_rows = _chosen(tables.compile_rows)  # of compile_cost_table and break_even_table
    mode_rows = _chosen(tables.mode_rows)
    memory_rows = _chosen(tables.memory_rows)
    efficiency_rows = _chosen(tables.efficiency_rows)
    cause_rows = _chosen(tables.cause_rows)
    break_rows = _chosen(tables.break_rows)
    skip_rows = _chosen(tables.skip_rows)
    recompile_rows = _chosen(tables.recompile_rows)
    version_rows = _chosen(tables.version_rows)

    def rows_of(self, cells: pd.DataFrame) -> tuple[Row, ...]:
        """Return some cells as pages see them."""
        return tuple(self.atlas.row_of(label) for label in cells.index)


@dataclass(frozen=True, eq=False)
class _Selection(_Known):
    """Cells that belong together. `rows` are comparisons: those in which both variants have a latency that counts."""

    atlas: Atlas
    labels: list[int]

    @cached_property
    def cells(self) -> pd.DataFrame:  # type: ignore[override]
        """The cells."""
        return self.atlas.cells.loc[self.labels]

    @cached_property
    def compared(self) -> pd.DataFrame:
        """The comparisons, of one origin only: measured ones where there are any. Origins are never mixed."""
        compared = comparisons(self.cells)
        measured = where(compared, compared["origin"] == "measured")
        return compared if measured.empty else measured

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The comparisons."""
        return self.rows_of(self.compared)

    @cached_property
    def slower(self) -> tuple[Row, ...]:
        """Those in which the compiled model is slower."""
        return self.rows_of(tables.slower_rows(self.compared))

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
        pairs = zip(*map(self.rows_of, self.malloc_pairs), strict=True)
        return tuple(
            Malloc(default, keep, keep.eager_ms / default.eager_ms - 1, keep.compiled_ms / default.compiled_ms - 1)
            for default, keep in pairs
        )

    @property
    def malloc_pairs(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """See `tables.malloc_pairs`."""
        default, keep = self.atlas.malloc_pairs
        is_own = (keep["device"] == self.slug).to_numpy()
        return default[is_own], keep[is_own]

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
        columns = ["origin", "torch", "compile_mode", "model", "weights", "batch_size", "measured_at", "source_date"]
        groups = sorted(
            grouped(self.cells[columns], "origin", "torch", "compile_mode"),
            key=lambda named: (named[0][0], mode_order(named[0][2]), -named[1]["model"].nunique()),
        )
        slugs = [slugify(f"torch {torch} {compile_mode}") for (_, torch, compile_mode), _ in groups]
        return tuple(
            self._section(group, slug if slugs.count(slug) == 1 else f"{slug}-{origin}", torch, compile_mode, origin)
            for slug, ((origin, torch, compile_mode), group) in zip(slugs, groups, strict=True)
        )

    def _section(self, group: pd.DataFrame, slug: str, torch: str, compile_mode: str, origin: str) -> Section:
        weights = [self.atlas.words.weights(each) for each in sorted(_distinct(group, "weights"))]
        newest = group["measured_at"].max()
        return Section(
            slug,
            torch=torch,
            compile_mode=compile_mode,
            origin=origin,
            date=(group["source_date"].max() or None) if newest is pd.NaT else newest.to_pydatetime(),
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
    def compared(self) -> pd.DataFrame:
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
        """Its options on the command line of `python -m bench run`."""
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
    """Models whose names begin alike: with what precedes the first number or underscore, and the version before it."""

    slug: str
    label: str

    @cached_property
    def compared(self) -> pd.DataFrame:
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
    """Return the slug of the family of a model: ``vit`` for vit_base_patch16, ``mobilenet`` for mobilenetv3_small."""
    beginning = _FAMILY.match(label.lower())
    return slugify(beginning[0] if beginning else label) or "others"


class Atlas(_Known):
    """All results, in the language of the page."""

    def __init__(self, results: Results, language: Language) -> None:
        self.results = results
        self.language = language
        self.words = Words(language, html=False)
        self.cells = results.newest
        self.row_of = cache(self._row_of)  # many pages show the same rows

    @property
    def atlas(self) -> Atlas:  # type: ignore[override]
        """Itself."""
        return self

    def _row_of(self, label: int) -> Row:
        return Row(self, self.results.by_label[label])

    @property
    def doubtful(self) -> Collection[int]:
        """Labels of rows that the data lint doubts."""
        return self.results.doubts

    @cached_property
    def has_measured_gpu(self) -> bool:
        """Whether this project compared anything on another device than a CPU."""
        is_gpu = (self.cells["origin"] == "measured") & (self.cells["device_type"] != "cpu")
        return bool((is_gpu & is_comparison(self.cells)).any())

    @cached_property
    def device(self) -> Mapping[str, Device]:
        """Devices by slug, accelerators first."""
        return {slug: self._device(slug, labels) for slug, labels in labels_by(self.cells["device"]).items()}

    @cached_property
    def model(self) -> Mapping[str, Model]:
        """Models by slug, by task."""
        by_task = self.cells[["task", "model"]].sort_values(["task", "model"], kind="stable")
        return {slug: self._model(slug, labels) for slug, labels in labels_by(by_task["model"]).items()}

    @cached_property
    def family(self) -> Mapping[str, Family]:
        """Families by slug; none where there are few models."""
        if len(self.model) <= FEW:
            return {}
        labels: dict[str, list[int]] = {}
        for model in sorted(self.model.values(), key=lambda model: model.slug):
            labels.setdefault(family_of(model.label), []).extend(model.labels)
        return {slug: Family(self, labels[slug], slug, slug) for slug in sorted(labels)}

    @property
    def families(self) -> tuple[Family, ...]:
        """Every family, by name; none where the models are few."""
        return tuple(self.family.values())

    def _device(self, slug: str, labels: list[int]) -> Device:
        row = self.results.by_label[labels[0]]
        return Device(self, labels, slug, self.words.device(row), row["device_name"], row["device_type"], row["cores"])

    def _model(self, slug: str, labels: list[int]) -> Model:
        row = self.results.by_label[labels[0]]
        task_name = self.words.task(row["task"])
        return Model(self, labels, slug, row["model_label"], row["checkpoint"], row["task"], task_name)

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
        small, large = tables.batch_pairs(self.cells, self.doubtful)
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
        return tables.malloc_pairs(self.results.table)

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

    def row(self, label: int | None) -> Row | None:
        """Return the row of a label, None for none."""
        return None if label is None else self.row_of(label)

    def _of(self, origin: str) -> pd.DataFrame:
        return where(self.cells, self.cells["origin"] == origin)


def _distinct(cells: pd.DataFrame, column: str) -> list[Any]:
    """Return the values of a column, in the order in which they first occur."""
    return list(dict.fromkeys(cells[column].tolist()))
