"""Descriptions of the sources of figures in one language: written once, shown wherever their figures are.

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
    """The description of a source. Each text but the name is one or more sentences."""

    key: str
    name: str  # where there is little room, such as in a caption
    protocol: str
    latency: str
    throughput: str
    setup: str  # weights, inputs and data type
    unknown: str

    def told(self) -> Iterator[str]:
        """Yield the texts that it has."""
        yield from filter(None, (self.protocol, self.latency, self.throughput, self.setup, self.unknown))


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
            gettext("Eager and compiled take turns in one process, and most figures come from several processes."),
            gettext("Latency is the median time until the result of a call is ready, with a 95% interval."),
            gettext("Throughput is the batch size divided by the latency."),
            gettext(
                "Weights are random unless a row says otherwise, because latency should not depend on the values of "
                "the weights."
            ),
            "",
        ),
        SourceText(
            "paper-2023",
            gettext("Hugging Face guide"),
            gettext("Each figure is the mean of 300 inferences on one image, after a warm-up."),
            gettext("Latency is that mean; the source gives no intervals."),
            gettext("The source gives no throughput, so we divide the batch size by the latency."),
            gettext("The weights are pretrained."),
            gettext("The source does not state the data type, but its code loads the weights as float32."),
        ),
        SourceText(
            "timm",
            gettext("timm"),
            gettext(
                "Each model runs with a large batch, or with a smaller one if that does not fit. After a warm-up, the "
                "model processes the same batch of random images repeatedly. Eager and compiled are measured in two "
                "separate runs."
            ),
            gettext("The time per batch is the mean over all calls after the warm-up; the source gives no intervals."),
            gettext(
                "Throughput is the number that the source printed: images divided by the time that the whole loop took."
            ),
            gettext("The data type is in the title of each table. With autocast, weights stay in float32."),
            gettext(
                "The source does not state the weights (timm's script uses random ones by default), the compile mode "
                "(the script uses the default mode unless another is given), or how long compiling took."
            ),
        ),
    )
    return {each.key: each for each in found}
