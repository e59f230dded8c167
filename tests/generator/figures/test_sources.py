"""What each source says of its figures, and that it says it of its own alone."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from atlas_data import PUBLISHED, measured, write

from bench.records.record import Source
from generator.data.load import load
from generator.figures.sources import OURS, source_of, sources
from generator.languages.language import load_language

EN = load_language("en")


def test_every_published_source_of_the_atlas_has_texts() -> None:
    profiles = {row["profile"] for row in load().by_label if row["origin"] == "published"}
    assert profiles <= sources(EN).keys()
    assert next(iter(sources(EN))) == OURS


def test_a_row_speaks_for_its_own_source(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    rows = load(write(tmp_path, [measured()])).by_label
    ours, guide = (next(row for row in rows if row["origin"] == origin) for origin in ("measured", "published"))
    assert source_of(ours, EN).key == OURS
    assert "300 inferences" in source_of(guide, EN).protocol
    assert "300" not in source_of(ours, EN).protocol


def test_an_unknown_source_has_its_title_and_its_note(tmp_path: Path) -> None:
    source = Source(title="Some <b>bench</b>", url="https://example.org", date="2026", licence="MIT", note="ten calls")
    record = msgspec.structs.replace(measured(), origin="published", profile="other", source=source, measured_at=None)
    (row,) = load(write(tmp_path, [record])).by_label
    assert (source_of(row, EN).name, source_of(row, EN).protocol) == ("Some <b>bench</b>", "ten calls")


@pytest.mark.parametrize("code", ["zh", "ja", "ar"])
def test_every_language_has_the_same_sources(code: str) -> None:
    assert sources(load_language(code)).keys() == sources(EN).keys()
