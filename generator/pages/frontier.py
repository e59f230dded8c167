"""Which model to run: the accuracy of pretrained models against their throughput, eager and compiled.

Takes `Results`; returns a `Frontier` for each device, and for pages its table, its chart and a form. Accuracies are
timm's. A model at another image size counts as another model here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import pandas as pd

from bench.records.record import TIMM, TOY
from bench.statistics.processes import VARIANTS
from generator.data.load import Results
from generator.data.registry import COORDINATES, N_
from generator.data.selection import grouped, plain, version_order, where
from generator.figures.charts import Chart
from generator.figures.drawing import Steps
from generator.figures.markup import render
from generator.figures.words import Words
from generator.pages.downloads import compact
from generator.pages.parts import Parts
from generator.pages.site_file import DATA

BEST = 3
"""Models that the form names for a choice."""

GOAL = 0.85
"""The accuracy with which the form starts."""

_SETUP = [name for name in COORDINATES if name not in {"model", "batch_size", "input_size"}]


@dataclass(frozen=True, eq=False)
class Frontier:
    """The models with an accuracy and both throughputs on one device, the most accurate first.

    The columns ``eager_better`` and ``compiled_better`` count the models that are at least as fast and as accurate. The
    frontier of a variant has the labels of the models with no better one.
    """

    device: str
    rows: pd.DataFrame  # by label of the row in the results

    goal = GOAL
    count = property(lambda self: len(self.rows))
    eager = property(lambda self: self.rows.index[self.rows["eager_better"] == 0].tolist())
    compiled = property(lambda self: self.rows.index[self.rows["compiled_better"] == 0].tolist())
    both = property(lambda self: [label for label in self.eager if label in self.compiled])
    entering = property(lambda self: self._names({*self.compiled} - {*self.eager}))
    leaving = property(lambda self: self._names({*self.eager} - {*self.compiled}))

    def fastest(self, labels: Sequence[int]) -> int | None:
        """Return the label of the fastest model with the accuracy `GOAL` on a frontier, None where it has none."""
        return next((label for label in reversed(labels) if self.rows["top1"][label] >= GOAL), None)

    def _names(self, labels: set[int]) -> list[str]:
        rows = self.rows[self.rows.index.isin(labels)]
        is_twice = rows["model_label"].duplicated(keep=False)  # at two image sizes
        return (rows["model_label"] + ("\u00a0" + rows["input_size"]).where(is_twice, "")).tolist()

    @property
    def lines(self) -> pd.DataFrame:
        """The table: all models on either frontier."""
        lines = self.rows[self.rows.index.isin([*self.eager, *self.compiled])]
        on = [tuple(each for each in VARIANTS if label in getattr(self, each)) for label in lines.index]
        lines = lines.assign(frontier=pd.Series(on, lines.index))
        return lines[["pretrained", "top1", "eager_images_s", "compiled_images_s", "speedup", "frontier"]]


@lru_cache(maxsize=2)
def frontiers_of(results: Results) -> Sequence[Frontier]:
    """Return the frontier of each device on which both throughputs of models with an accuracy are known.

    Of a device, the setup with the newest PyTorch counts, in torch's own memory layout. Rows that the data lint doubts
    are not compared, unless only their batches are unequal. The device with the most models comes first.
    """
    newest = results.newest
    is_asked = (newest["workload"] == "throughput") & ~newest["flags"].str.contains(TOY)
    cells = where(newest, is_asked & newest["eager_images_s"].notna() & newest["compiled_images_s"].notna())
    names = (checkpoint.removeprefix(TIMM).partition(".")[0] for checkpoint in cells["checkpoint"])
    accuracies = map(results.accuracies.get, zip(names, cells["input_size"], strict=True))
    known = pd.DataFrame([each or (None, None) for each in accuracies], cells.index, ["pretrained", "top1"])
    found: dict[str, pd.DataFrame] = {}
    for (device, torch, *_), rows in grouped(cells.join(known.dropna(), how="inner"), *_SETUP):
        if device not in found or version_order(torch) > version_order(found[device]["torch"].iloc[0]):
            found[device] = rows.sort_values("top1", ascending=False, kind="stable")
    for device, rows in found.items():
        compared = results.sound(rows)
        top1 = compared["top1"].to_numpy(float)
        for variant in VARIANTS:
            rate = compared[f"{variant}_images_s"].to_numpy(float)
            reaches = (rate >= rate[:, None]) & (top1 >= top1[:, None])
            is_better = reaches & ~reaches.T  # of two equal models neither is
            found[device][f"{variant}_better"] = pd.Series(is_better.sum(axis=1), compared.index)
    return sorted(map(Frontier, found, found.values()), key=lambda frontier: -frontier.count)


def as_json(results: Results, link: Callable[[str, str], str]) -> str:
    """Return all models that can be among the `BEST` for some choice, for the script.

    `models` has the name of the weights, the image size, the accuracy, and the address below the root of a language;
    `devices` lists of the position of a model, its images per second in eager mode and compiled, and its speedup.
    """
    models: dict[tuple[str, str, float, str], int] = {}
    devices = {}
    for frontier in frontiers_of(results):
        rows = frontier.rows[(frontier.rows[[f"{variant}_better" for variant in VARIANTS]] < BEST).any(axis=1)]
        links = (link("model", model) for model in rows["model"])
        told = zip(rows["pretrained"], rows["input_size"], rows["top1"].round(5), links, strict=True)
        positions = [models.setdefault(each, len(models)) for each in told]
        figures = (plain(rows[name].round(2)) for name in ("eager_images_s", "compiled_images_s", "speedup"))
        devices[frontier.device] = list(zip(positions, *figures, strict=True))
    return compact({"models": list(models), "devices": devices})


# ── Functions for pages ─────────────────────────────────────────────────────────────────────────────────────────────

_HEADLINE = N_("Accuracy and throughput on the frontier, eager and compiled")


def frontier_table(parts: Parts, *, of: Frontier) -> str:
    """The models on the frontier of a device."""
    headline, row = parts.language.gettext(_HEADLINE), parts.results.by_label[of.rows.index[0]]
    return parts.tables.table(of.lines, parts.words.facts([parts.words.phrase(headline), parts.words.device(row)]))


def frontier_chart(parts: Parts, *, of: Frontier) -> str:
    """Both frontiers of a device."""
    gettext, words, text = parts.language.gettext, parts.words, Words(parts.language, html=False)
    found = gettext("The frontier has %(eager)s models in eager mode and %(compiled)s compiled, with %(both)s on both.")
    counts = {name: parts.language.number(len(getattr(of, name))) for name in (*VARIANTS, "both")}
    points = [
        tuple((row[f"{each}_images_s"], 100 * of.rows["top1"][row["row"]], row["model_label"]) for row in rows)
        for each, rows in ((each, parts.rows_of(getattr(of, each))) for each in VARIANTS)
    ]
    selection = words.selection(parts.rows_of(of.lines.index), skip=("batch_size",))
    chart = Chart(
        Steps(*points),
        text.say(found, **counts),
        words.facts([words.phrase(gettext(_HEADLINE)), selection]),
        words.facts([gettext("top-1 accuracy in %"), gettext("images/s, logarithmic scale")]),
        tuple((words.named("variant", each), each) for each in VARIANTS),
    )
    return parts.figure(f"frontier-{of.device}", chart, parts.in_explorer({"device": of.device}))


def model_choice(parts: Parts) -> str:
    """A form that names the best models for an accuracy or a throughput, whose data go to `emit`."""
    gettext, words = parts.language.gettext, Words(parts.language, html=False)
    texts = {
        "accuracy": gettext("The fastest models with an accuracy of at least %(least)s"),
        "speed": gettext("The most accurate models with at least %(least)s"),
        "images_s": gettext("%(value)s images/s"),
        "none": gettext("No model reaches that on this device."),
        "invalid": gettext("Enter an accuracy of at most 100%, or a number of images per second."),
        "failed": gettext("The records could not be loaded. The table below has them all."),
        "rate": {each: words.heading(f"{each}_images_s") for each in VARIANTS},
        "best": BEST,
    }
    made = partial(as_json, parts.results, partial(parts.address, page="index.md"))
    devices = (parts.atlas.device[each.device] for each in frontiers_of(parts.results))
    return render(
        "frontier.html.jinja",
        _=gettext,
        texts=json.dumps(texts, ensure_ascii=False),
        data=parts.shared(f"{DATA}/which-model.json", made),
        devices=[(device.slug, words.value(device.label)) for device in devices],
        variants=[(each, words.named("variant", each)) for each in reversed(VARIANTS)],
        headings=[words.heading(each) for each in ("pretrained", "top1", "speedup")],
        accuracy=round(100 * GOAL),
    )


FUNCTIONS = (frontier_table, frontier_chart, model_choice)
"""The functions for pages."""
