"""Which model to run: the accuracy of pretrained models against their throughput, eager and compiled.

Takes `Results`; returns a `Frontier` for each device, its table and chart, and the form with the data for its script.
Accuracies are timm's (`generator.data.accuracies`). A model at another image size counts as another model here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import pandas as pd

from bench.records.record import TIMM, TOY
from bench.statistics.processes import VARIANTS, VariantName
from generator.data.accuracies import SOURCE
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

GOAL, SPEED = 0.85, 10_000
"""The accuracy, and the images per second, with which the form starts."""

_COLUMNS = ("pretrained", "top1", "eager_images_s", "compiled_images_s", "speedup")
_SETUP = [name for name in COORDINATES if name not in {"model", "batch_size", "input_size"}]


@dataclass(frozen=True, eq=False)
class Frontier:
    """The models with an accuracy and both throughputs on one device.

    `rows` has for each variant how many models are `better`: at least as fast and as accurate, and not equal in both.
    A row that the data lint doubts for more than unequal batches has no such figure, and makes no other row worse.
    """

    device: str
    rows: pd.DataFrame  # the most accurate model first, by label of its row in the results

    goal = GOAL
    source = SOURCE  # of the accuracies
    count = property(lambda self: len(self.rows))
    eager = property(lambda self: self.on("eager"))
    compiled = property(lambda self: self.on("compiled"))
    both = property(lambda self: [label for label in self.eager if label in self.compiled])
    entering = property(lambda self: self._names(set(self.compiled) - set(self.eager)))
    leaving = property(lambda self: self._names(set(self.eager) - set(self.compiled)))

    def on(self, variant: VariantName) -> list[int]:
        """Return the labels of the models on the frontier, the most accurate first: for each, no other is better."""
        return self.rows.index[self.rows[f"{variant}_better"] == 0].tolist()

    def fastest(self, variant: VariantName) -> int | None:
        """Return the label of the fastest model with the accuracy `GOAL`, None where no model has it."""
        found = [label for label in self.on(variant) if self.rows["top1"][label] >= GOAL]
        return found[-1] if found else None

    def _names(self, labels: set[int]) -> list[str]:
        return list(dict.fromkeys(self.rows["model_label"][self.rows.index.isin(labels)]))

    @cached_property
    def lines(self) -> pd.DataFrame:
        """The table: all models on either frontier."""
        lines = self.rows.loc[self.rows.index.isin([*self.eager, *self.compiled])]
        on = [tuple(each for each in VARIANTS if line[f"{each}_better"] == 0) for _, line in lines.iterrows()]
        return lines[[*_COLUMNS]].assign(frontier=pd.Series(on, lines.index))


@lru_cache(maxsize=2)
def frontiers_of(results: Results) -> Sequence[Frontier]:
    """Return the frontier of each device on which both throughputs of models with an accuracy are known.

    Of a device, the setup with the newest PyTorch counts, in torch's own memory layout. Most models come first.
    """
    newest = results.newest
    is_asked = (newest["workload"] == "throughput") & (newest["layout"] == "") & ~newest["flags"].str.contains(TOY)
    cells = where(newest, is_asked & newest["eager_images_s"].notna() & newest["compiled_images_s"].notna())
    names = (checkpoint.removeprefix(TIMM).partition(".")[0] for checkpoint in cells["checkpoint"])
    known = [results.accuracies.get(case) for case in zip(names, cells["input_size"], strict=True)]
    cells = cells.assign(
        pretrained=pd.Series([each and each.weights for each in known], cells.index, dtype=object),
        top1=pd.Series([each and each.top1 for each in known], cells.index, dtype=float),
    ).dropna(subset="top1")
    found: dict[str, pd.DataFrame] = {}
    for _, rows in grouped(cells, *_SETUP):
        device, torch = rows["device"].iloc[0], rows["torch"].iloc[0]
        if device not in found or version_order(torch) > version_order(found[device]["torch"].iloc[0]):
            found[device] = rows
    frontiers = [Frontier(device, _ranked(rows, results.sound.index)) for device, rows in found.items()]
    return sorted(frontiers, key=lambda frontier: -frontier.count)


def _ranked(rows: pd.DataFrame, sound: pd.Index) -> pd.DataFrame:
    rows = rows.sort_values("top1", ascending=False, kind="stable")
    candidates = rows[rows.index.isin(sound)]
    top1 = candidates["top1"].to_numpy()
    for variant in VARIANTS:
        rate = candidates[f"{variant}_images_s"].to_numpy(float)
        reaches = (rate >= rate[:, None]) & (top1 >= top1[:, None])
        is_better = reaches & ~reaches.T  # of two equal models neither is
        rows = rows.assign(**{f"{variant}_better": pd.Series(is_better.sum(axis=1), candidates.index)})
    return rows


def as_json(results: Results, link: Callable[[str, str], str]) -> str:
    """Return all models that can be among the `BEST` for some choice, for the script: the same in all languages.

    `models` has the name of the weights, the image size, the accuracy, and the address below the root of a language;
    `devices` lists of the position of a model, its images per second in eager mode and compiled, and its speedup.
    """
    models: dict[tuple[str, str, float, str], int] = {}
    devices: dict[str, list[list[float | None]]] = {}
    for frontier in frontiers_of(results):
        better = frontier.rows[[f"{variant}_better" for variant in VARIANTS]]
        rows = frontier.rows[(better < BEST).any(axis=1)]
        links = (link("model", model) for model in rows["model"])
        told = zip(rows["pretrained"], rows["input_size"], rows["top1"], links, strict=True)
        positions = [models.setdefault(each, len(models)) for each in told]
        figures = (plain(rows[name].round(2)) for name in ("eager_images_s", "compiled_images_s", "speedup"))
        devices[frontier.device] = [list(each) for each in zip(positions, *figures, strict=True)]
    return compact({"models": list(models), "devices": devices})


# ── Functions for pages ─────────────────────────────────────────────────────────────────────────────────────────────

_HEADLINE = N_("Accuracy and throughput on the frontier, eager and compiled")


def frontiers(parts: Parts) -> Sequence[Frontier]:
    """The frontier of each device."""
    return frontiers_of(parts.results)


def frontier_table(parts: Parts, *, device: str) -> str:
    """The models on the frontier of a device."""
    lines, words = _frontier(parts, device).lines, parts.words
    rows = parts.rows_of(lines.index)
    facts = [words.phrase(parts.language.gettext(_HEADLINE)), words.device(rows[0])]
    return parts.tables.table(lines, words.facts(facts))


def frontier_chart(parts: Parts, *, device: str) -> str:
    """Both frontiers of a device."""
    frontier, gettext, number = _frontier(parts, device), parts.language.gettext, parts.language.number
    words, text, headline = parts.words, Words(parts.language, html=False), gettext(_HEADLINE)
    found = gettext("The frontier has %(eager)s models in eager mode and %(compiled)s compiled, with %(both)s on both.")
    counts = {name: number(len(getattr(frontier, name))) for name in (*VARIANTS, "both")}
    lines = []
    for variant in VARIANTS:
        rows = frontier.rows.loc[frontier.on(variant)]
        figures = plain(rows[f"{variant}_images_s"]), plain(100 * rows["top1"]), plain(rows["model_label"])
        lines.append(tuple(zip(*figures, strict=True)))
    selection = words.selection(parts.rows_of(frontier.lines.index), skip=("batch_size",))
    chart = Chart(
        Steps(*lines),
        text.sentences([text.say(gettext("%(headline)s."), headline=headline), text.say(found, **counts)]),
        words.facts([words.phrase(headline), selection]),
        words.facts([gettext("top-1 accuracy in %"), gettext("images/s, logarithmic scale")]),
        tuple((words.named("variant", each), each) for each in VARIANTS),
    )
    return parts.figure(f"frontier-{device}", chart, parts.in_explorer({"device": device, "workload": "throughput"}))


def model_choice(parts: Parts) -> str:
    """A form that names the best models for an accuracy or a speed, whose data go to `emit`."""
    if not (frontiers := frontiers_of(parts.results)):
        return parts.nothing()
    gettext, words = parts.language.gettext, Words(parts.language, html=False)
    link = partial(parts.address, page="index.md")
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
    return render(
        "frontier.html.jinja",
        _=gettext,
        texts=json.dumps(texts, ensure_ascii=False),
        data=parts.shared(f"{DATA}/which-model.json", partial(as_json, parts.results, link)),
        devices=[(each.device, words.value(parts.atlas.device[each.device].label)) for each in frontiers],
        variants=[(each, words.named("variant", each)) for each in reversed(VARIANTS)],
        headings=[words.heading(each) for each in ("pretrained", "top1", "speedup")],
        accuracy=round(100 * GOAL),
        speed=SPEED,
    )


def _frontier(parts: Parts, device: str) -> Frontier:
    return next(each for each in frontiers_of(parts.results) if each.device == device)


FUNCTIONS = (frontier_table, frontier_chart, model_choice)
"""The functions for pages."""
