"""Charts of the gains: boxes with quartiles, a panel for each GPU or data type. Takes `Gains`; returns a `Chart`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from generator.data.load import Results
from generator.drawing.canvas import Role
from generator.drawing.plot import VERDICTS, Box, Mark, Panel, Plot, PlotRow
from generator.figures.charts import Chart, boxes_explained, per_image, percent_ticks
from generator.figures.words import Words
from generator.languages.language import Language
from generator.pages.gains import FEWEST, NAMED, Changes, Gains, History


@dataclass(frozen=True, eq=False)
class GainCharts:
    """The charts of some gains in one language."""

    gains: Gains
    results: Results
    language: Language

    def families(self) -> Chart:
        """Draw the change in the time per image by family: the same best and worst families on each GPU."""
        gettext, every = self.language.gettext, self.gains.every
        named = self._named(every)
        panels = [
            self._panel(self._device(changes), changes, self._by_family(changes, named))
            for changes in self.gains.by_device.values()
        ]
        headline = gettext("Change in time per image when compiled, by model family")
        return self._chart(panels, headline, self._times, every, [self._chosen()])

    def intensity(self) -> Chart:
        """Draw the change in the time per image by classes of arithmetic intensity, on each GPU."""
        gettext, every = self.language.gettext, self.gains.every
        panels = []
        for changes in self.gains.by_device.values():
            classes = self.gains.classes(changes)
            rows = [
                self._row(self._words.bounds(each.low, each.high), each.changes, each.changes.box) for each in classes
            ]
            panels.append(Panel(tuple(rows), self._device(changes)))
        headline = gettext("Change in time per image when compiled, by FLOP per activation")
        return self._chart(panels, headline, self._times, every)

    def history(self, history: History) -> Chart:
        """Draw the change in images per second between two versions of PyTorch: eager by family, and compiled."""
        gettext, eager, compiled = self.language.gettext, history.eager, history.compiled
        panels = [self._panel(gettext("eager"), eager, self._by_family(eager, self._named(eager)))]
        if compiled.count:
            panels.append(self._panel(gettext("compiled, batches of equal size"), compiled, []))
        headline = gettext("Change in images per second from %(old)s to %(new)s")
        return self._chart(panels, headline, self._rates, eager, [self._chosen()], history)

    def types(self) -> Chart:
        """Draw the change in images per second from float16 autocast to other data types, by family."""
        found = self.gains.types
        panels = [
            self._panel(
                self._words.value(each.dtype), each.changes, self._by_family(each.changes, self._named(each.changes))
            )
            for each in found
        ]
        headline = self.language.gettext(
            "Change in images per second of the compiled model, relative to float16 autocast"
        )
        return self._chart(panels, headline, self._rates, self.gains.every_type, [self._chosen()])

    def caption(self, headline: str, changes: Changes, history: History | None = None) -> str:
        """Return the headline with the source of some changes, what their rows have in common, and their number."""
        words = Words(self.language, html=True)
        return words.facts([_told(headline, history, words), *_facts(self.results, changes, self.language, html=True)])

    # ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def _named(changes: Changes) -> Sequence[str]:
        return [*changes.best_families, *changes.worst_families[::-1]]

    def _by_family(self, changes: Changes, families: Iterable[str]) -> list[PlotRow]:
        """Return a row for each of these families that the changes have."""
        known = changes.families
        return [self._row(self._words.value(each), changes, known[each]) for each in families if each in known]

    def _panel(self, title: str, changes: Changes, rows: Sequence[PlotRow]) -> Panel:
        every = self._row(self.language.gettext("all models"), changes, changes.box)
        return Panel((every, *rows), title)

    def _row(self, label: str, changes: Changes, box: Box) -> PlotRow:
        mark = Mark(box.median, self._words.percent(box.median), verdict=changes.verdict(box))
        return PlotRow(label, (mark,), box=box)

    def _device(self, changes: Changes) -> str:
        return self._words.device(self.results.by_label[changes.labels[0]])

    # ── Words ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _words(self) -> Words:
        return Words(self.language, html=False)

    @property
    def _times(self) -> str:
        return per_image(self.language)

    @property
    def _rates(self) -> str:
        return self.language.gettext("change in images per second (higher is better)")

    def _chosen(self) -> str:
        """Say which families a chart shows."""
        message = self.language.gettext(
            "Of the families with at least %(fewest)s models, the chart shows the %(count)s with the best medians and "
            "the %(count)s with the worst."
        )
        number = self.language.number
        return self._words.say(message, count=number(NAMED), fewest=number(FEWEST))

    def _chart(
        self,
        panels: Sequence[Panel],
        headline: str,
        axis: str,
        changes: Changes,
        notes: Iterable[str] = (),
        history: History | None = None,
    ) -> Chart:
        boxes = [row.box for panel in panels for row in panel.rows if row.box]
        ends = [0.0, *(end for box in boxes for end in (box.low, box.high))]
        plot = Plot(
            "boxes",
            self.language.code,
            self.language.direction == "rtl",
            panels=tuple(panels),
            legend=self._legend(panels),
            axis=axis,
            ticks=tuple(percent_ticks(ends, self._words)),
        )
        words = Words(self.language, html=True)
        explained = words.sentences([boxes_explained(self.language), *notes])
        caption = words.lines([self.caption(headline, changes, history), explained])
        return Chart(plot, self._alt(_told(headline, history, self._words), changes, panels), caption)

    def _legend(self, panels: Sequence[Panel]) -> tuple[tuple[str, Role], ...]:
        gettext = self.language.gettext
        found = {
            VERDICTS.get(mark.verdict, "zero") for panel in panels for row in panel.rows for mark in row.marks if mark
        }
        entries: Mapping[Role, str] = {
            "gain": gettext("at least three quarters gain"),
            "loss": gettext("at least three quarters lose"),
            "zero": gettext("same or inconclusive"),
        }
        return tuple((text, role) for role, text in entries.items() if role in found)

    def _alt(self, headline: str, changes: Changes, panels: Sequence[Panel]) -> str:
        """Return the headline and, for each panel, the median of each row with its quartiles."""
        words, gettext = self._words, self.language.gettext
        common = words.facts(_facts(self.results, changes, self.language, html=False))
        sentences = [words.say(gettext("%(headline)s (%(selection)s)."), headline=headline, selection=common)]
        message = gettext("%(name)s: median %(median)s, with half of the comparisons between %(lower)s and %(upper)s.")
        for panel in panels:
            for row in panel.rows:
                if row.box:
                    figures = {name: words.percent(getattr(row.box, name)) for name in ("median", "lower", "upper")}
                    sentences.append(words.say(message, name=words.facts([panel.title, row.label]), **figures))
        return words.sentences(sentences)


@lru_cache(maxsize=32)  # several charts and tables are about the same changes
def _facts(results: Results, changes: Changes, language: Language, *, html: bool) -> Sequence[str]:
    """Return what the rows behind some changes have in common, with their source, and their number."""
    rows, words = [results.by_label[label] for label in changes.labels], Words(language, html=html)
    message = language.ngettext("%(count)s comparison", "%(count)s comparisons", changes.count)
    return (
        words.selection(rows, skip=("model", "batch_size")),
        words.say(message, count=language.number(changes.count)),
    )


def _told(headline: str, history: History | None, words: Words) -> str:
    """Return a headline with the versions of a history in it, if it has their placeholders."""
    if history is None:
        return words.phrase(headline)
    return words.say(headline, old=f"PyTorch {history.old}", new=f"PyTorch {history.new}")
