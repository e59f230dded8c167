"""Charts of the gains: boxes with quartiles, a panel for each GPU or data type. Takes `Gains`; returns a `Chart`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from generator.data.load import Results
from generator.figures.charts import Chart, boxes_explained, factor, higher_is_better, legend_of, spreads
from generator.figures.drawing import VERDICTS, Box, Drawing, Panel, Row
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
        """Draw the speedup by family: the same best and worst families on each GPU."""
        every = self.gains.every
        panels = [
            self._panel(self._device(changes), changes, self._named(every)) for changes in self.gains.by_device.values()
        ]
        headline = self.language.gettext("Speedup when compiled, by model family")
        return self._chart(panels, headline, every, [self._chosen()])

    def intensity(self) -> Chart:
        """Draw the speedup by classes of arithmetic intensity, on each GPU."""
        panels = []
        for changes in self.gains.by_device.values():
            found = [(each, each.changes) for each in self.gains.classes(changes)]
            rows = [_row(_bounds(each.low, each.high), own, own.box) for each, own in found]
            panels.append(Panel(tuple(rows), self._device(changes)))
        return self._chart(
            panels, self.language.gettext("Speedup when compiled, by FLOP per activation"), self.gains.every
        )

    def history(self, history: History) -> Chart:
        """Draw the images per second of eager mode with a version of PyTorch against an older one, by family."""
        panels = [self._panel(self._device(history.eager), history.eager, self._named(history.eager))]
        headline = self.language.gettext("Images per second in eager mode with %(new)s, as a multiple of %(old)s")
        return self._chart(panels, headline, history.eager, [self._chosen()], history)

    def types(self) -> Chart:
        """Draw the images per second in other data types against float16 autocast, by family."""
        panels = [self._panel(each.dtype, each.changes, self._named(each.changes)) for each in self.gains.types]
        headline = self.language.gettext("Images per second of the compiled model, as a multiple of float16 autocast")
        return self._chart(panels, headline, self.gains.every_type, [self._chosen()])

    def caption(self, headline: str, changes: Changes, history: History | None = None) -> str:
        """Return the headline with the source of some changes, what their rows have in common, and their number."""
        words = Words(self.language, html=True)
        return words.facts([_told(headline, history, words), *_facts(self.results, changes, self.language, html=True)])

    # ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def _named(changes: Changes) -> Sequence[str]:
        return [*changes.best_families, *changes.worst_families[::-1]]

    @staticmethod
    def _panel(title: str, changes: Changes, families: Iterable[str]) -> Panel:
        """Return a panel with a row of all models, and one for each of these families that the changes have."""
        known = changes.families
        rows = [_row(each, changes, known[each]) for each in families if each in known]
        return Panel((_row(f"n = {changes.count:,}", changes, changes.box), *rows), title)

    def _device(self, changes: Changes) -> str:
        return str(self.results.by_label[changes.labels[0]]["device_name"])

    def _chosen(self) -> str:
        """Say which families a chart shows."""
        message = self.language.gettext(
            "Of the families with at least %(fewest)s models, the chart shows the %(count)s with the best medians and "
            "the %(count)s with the worst."
        )
        number = self.language.number
        return Words(self.language, html=True).say(message, count=number(NAMED), fewest=number(FEWEST))

    def _chart(
        self,
        panels: Sequence[Panel],
        headline: str,
        changes: Changes,
        notes: Iterable[str] = (),
        history: History | None = None,
    ) -> Chart:
        words = Words(self.language, html=True)
        explained = words.sentences([boxes_explained(self.language), *notes])
        return Chart(
            Drawing("boxes", tuple(panels)),
            self._alt(headline, changes, panels, history),
            words.lines([self.caption(headline, changes, history), explained]),
            higher_is_better(self.language),
            legend_of(panels, Words(self.language, html=False)),
        )

    def _alt(self, headline: str, changes: Changes, panels: Iterable[Panel], history: History | None) -> str:
        """Return the headline and, for each panel, the median of each row with its quartiles."""
        words, gettext = Words(self.language, html=False), self.language.gettext
        common = words.facts(_facts(self.results, changes, self.language, html=False))
        told = _told(headline, history, words)
        sentences = [words.say(gettext("%(headline)s (%(selection)s)."), headline=told, selection=common)]
        return words.sentences([*sentences, *spreads(panels, words)])


def _row(label: str, changes: Changes, box: Box) -> Row:
    """Return a row of changes as factors: those of a time are speedups."""
    factors = box.map(lambda change: 1 / (1 + change) if changes.less_is_better else 1 + change)
    role = VERDICTS.get(changes.verdict(box), "zero")
    return Row(label, figures=(factor(factors.median),), box=factors, role=role)


def _bounds(low: float, high: float) -> str:
    return f"< {high:,.0f}" if low <= 0 else f"≥ {low:,.0f}" if high == float("inf") else f"{low:,.0f}–{high:,.0f}"


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
