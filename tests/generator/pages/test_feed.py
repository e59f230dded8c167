"""The news of the atlas: an entry per run, the same in every build."""

from __future__ import annotations

from pathlib import Path

import pytest
from atlas_data import ON_CPU, PUBLISHED, measured, write

from generator.data.load import load
from generator.languages.language import load_language
from generator.pages import feed


def test_the_newest_run_comes_first_with_its_device_and_its_moment(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    runs = [measured(run="first", day=1), measured(run="second", day=2, **ON_CPU)]
    newest, older, published = feed.entries(load(write(tmp_path, runs)), load_language("en"))
    assert newest.title == "Measured on Intel Xeon, 2\u00a0cores, with PyTorch 2.13.0"
    assert newest.summary == "1 model · 1 comparison · second"
    assert (newest.updated, newest.page) == ("2026-07-02T12:00:00Z", "devices/cpu-intel-xeon-2-cores/")
    assert older.page == "devices/h200/"
    assert published.title == "Published for A100, T4, and V100, with PyTorch 2.0.1 and 2.1.0.dev"
    assert (published.updated, published.page) == ("2023-01-01T00:00:00Z", "data/#provenance")


def test_an_entry_keeps_its_id_when_others_come(tmp_path: Path) -> None:
    before = feed.entries(load(write(tmp_path, [measured(run="first")])), load_language("en"))
    after = feed.entries(load(write(tmp_path, [measured(run="second", day=2)])), load_language("en"))
    assert after[1] == before[0]
    translated = feed.entries(load(tmp_path), load_language("ar"))
    assert len({entry.id for entry in (*after, *translated)}) == 4


def test_a_feed_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MOST_ENTRIES", 2)
    results = load(write(tmp_path, [measured(run=f"run-{day}", day=day) for day in range(1, 5)]))
    assert [entry.updated[8:10] for entry in feed.entries(results, load_language("en"))] == ["04", "03"]
