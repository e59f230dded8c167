"""What each source of figures measures, in the words of a language: written once, shown wherever its figures are.

Takes the profile of a record; returns a `SourceText`. Add a profile here when its figures join the atlas; until then a
source speaks through the note of its importer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from generator.data.selection import Row
from generator.languages.language import Language

OURS = "measured"
"""Stands for all profiles of this project's own runs."""


@dataclass(frozen=True)
class SourceText:
    """What a reader has to know about the figures of a source. Each text but the name is one or more sentences."""

    key: str
    name: str  # where there is little room, such as in a caption
    protocol: str
    latency: str
    throughput: str
    setup: str  # weights, inputs and data type
    unknown: str

    def told(self, workload: str = "") -> Iterator[str]:
        """Yield the texts about the figures of one workload, or of both."""
        latency, throughput = workload != "throughput", workload != "latency"
        yield from filter(None, (self.protocol, latency * self.latency, throughput * self.throughput))
        yield from filter(None, (self.setup, self.unknown))


def source_key(row: Row) -> str:
    """Return the key of the source of a row."""
    return OURS if row["origin"] == "measured" else str(row["profile"])


def source_of(row: Row, language: Language) -> SourceText:
    """Return the source of a row; one without texts has its title, and the note of its importer."""
    key = source_key(row)
    known = sources(language)
    title = row["source_title"] or key
    return known.get(key) or SourceText(key, title, row["source_note"] or "", "", "", "", "")


@lru_cache(maxsize=64)
def sources(language: Language) -> Mapping[str, SourceText]:
    """Return the sources that have texts, ours first."""
    gettext = language.gettext
    found = (
        SourceText(
            OURS,
            gettext("This project"),
            gettext("Eager and compiled take turns in one process, and several processes stand behind each figure."),
            gettext("Latency is the median time of a call until its result is ready, with a 95% interval."),
            gettext("Throughput is the batch size divided by the latency."),
            gettext("Weights are random unless a row says otherwise: latency does not depend on them."),
            "",
        ),
        SourceText(
            "paper-2023",
            gettext("Hugging Face guide"),
            gettext("Each figure is the mean of 300 inferences on one image, after a warm-up."),
            gettext("Latency is that mean; the source gives no intervals."),
            gettext("The source gives no throughput: it is the batch size divided by the latency."),
            gettext("The weights are pretrained."),
            gettext("The data type is not stated; the code of the source loads the weights as float32."),
        ),
        SourceText(
            "timm",
            gettext("timm"),
            gettext(
                "Each model gets a large batch, or a smaller one where that does not fit. After a warm-up, the same "
                "batch of random images runs over and over. Eager and compiled are two separate runs."
            ),
            gettext("The time of a batch is the mean over those calls; the source gives no intervals."),
            gettext("Throughput is what the source printed: images divided by the time of the whole loop."),
            gettext("The data type is in the title of each table. With autocast, weights stay float32."),
            gettext(
                "Unknown are the weights (timm's script uses random ones unless told otherwise), the compile mode "
                "(its default unless told otherwise), and how long compiling took."
            ),
        ),
    )
    return {each.key: each for each in found}
