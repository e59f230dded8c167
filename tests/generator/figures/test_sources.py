"""Each source describes its own figures."""

from __future__ import annotations

from pathlib import Path

import msgspec
from atlas_data import measured, write
from guide_figures import shipped

from bench.records.record import Source
from generator.data.load import load
from generator.figures.sources import OURS, source_of, sources
from generator.languages.language import load_language

EN = load_language("en")


def test_every_published_source_of_the_atlas_has_texts() -> None:
    profiles = {row["profile"] for row in shipped().by_label if row["origin"] == "published"}
    assert profiles <= sources(EN).keys()
    assert next(iter(sources(EN))) == OURS


def test_an_unknown_source_has_its_title_and_its_note(tmp_path: Path) -> None:
    source = Source(title="Some <b>bench</b>", url="https://example.org", date="2026", licence="MIT", note="ten calls")
    record = msgspec.structs.replace(measured(), origin="published", profile="other", source=source, measured_at=None)
    (row,) = load(write(tmp_path, [record])).by_label
    assert (source_of(row, EN).name, source_of(row, EN).protocol) == ("Some <b>bench</b>", "ten calls")
