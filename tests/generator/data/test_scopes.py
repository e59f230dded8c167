"""What pages read is noted, so that a page is rendered again exactly when that has changed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from atlas_data import measured, measurement, write

from bench.records.record import Record
from generator.data.load import Results, load
from generator.data.scopes import DIRECTORY, DOCUMENTS, EVERYTHING, Digests, Scope
from generator.languages.language import load_language
from generator.pages.atlas import chosen_by_name
from generator.pages.pages import pages_of

OF_MODEL: Scope = "model", "a"
OF_DEVICE: Scope = "device", "testbed"
MODES: Scope = "device/mode_rows", "testbed"

EACH = '---\nfor_each: models\ntitle: "{{ model.label }}"\n---\n\n'

READS: dict[str, tuple[str, set[Scope]]] = {
    "nothing": ("# Words\n", set()),
    "a record": ("{{ atlas.records }}\n", {EVERYTHING}),
    "names": ("{% for each in atlas.devices %}{{ each.label }}{% endfor %}\n", {DIRECTORY}),
    "rows of a device": ("{{ atlas.devices[0].latency.rows | length }}\n", {DIRECTORY, OF_DEVICE}),
    "through a filter": (
        "{{ atlas.devices | map(attribute='modes') | list | length }}\n",
        {DIRECTORY, OF_DEVICE},
    ),
    "a table of some": ("{{ latency_table(model='a') }}\n", {DIRECTORY, OF_MODEL}),
    "a table of all": ("{{ latency_table() }}\n", {DIRECTORY, EVERYTHING}),
    "a document": ("{{ selfchecks | length }}{{ selfcheck_table() }}\n", {DIRECTORY, DOCUMENTS}),
    "what it has set itself": (
        "{% set rows = atlas.latency.rows %}\n{% if rows %}\n{{ rows | length }}\n{% endif %}\n",
        {("workload", "latency")},
    ),
    "chosen rows of a device": ("{{ atlas.devices[0].mode_rows | length }}\n", {DIRECTORY, MODES}),
    "its own model": (f"{EACH}{{{{ model.latency.rows | length }}}}\n", {OF_MODEL}),
    "the device of its row": (f"{EACH}{{{{ model.devices[0].label }}}}\n", {OF_MODEL}),
    "more of that": (
        f"{EACH}{{{{ model.devices[0].models | length }}}}\n",
        {OF_MODEL, OF_DEVICE},
    ),
}


@pytest.mark.parametrize("what", READS)
def test_what_a_page_reads_is_noted(what: str, tmp_path: Path) -> None:
    source, expected = READS[what]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / ("each.md" if source.startswith(EACH) else "index.md")).write_text(source, encoding="utf-8")
    processes = [measured(process=n, model="A", checkpoint="a/a", device_name="Testbed") for n in range(3)]
    results = load(write(tmp_path / "results", processes))
    (page,) = pages_of(load_language("en"), results, tmp_path / "docs")
    assert page.reads == expected


def digests_of(results: Results) -> Digests:
    return Digests(results, (), partial(chosen_by_name, results))


def changes(tmp_path: Path, *records: Record) -> set[str]:
    """Return which scopes have another digest once there are more records."""
    folder = write(tmp_path, [measured(model="A", checkpoint="a/a", device_name="Testbed")])
    before = digests_of(load(folder))
    write(folder, records)
    after = digests_of(load(folder))
    return {
        {MODES: "modes"}.get((column, value), value or column)
        for column, value in (DIRECTORY, OF_MODEL, OF_DEVICE, MODES)
        if before.of((column, value)) != after.of((column, value))
    }


def test_a_row_of_another_model_changes_nothing_of_a_model_though_labels_move(tmp_path: Path) -> None:
    assert changes(tmp_path, measured(run="run-2", model="A0", checkpoint="a/0", device_name="Atoll")) == {"directory"}


def test_another_run_changes_what_shows_it(tmp_path: Path) -> None:
    again = measured(run="run-2", day=2, model="A", checkpoint="a/a", device_name="Testbed")
    assert changes(tmp_path, again) == {"a", "testbed"}


def test_rows_that_are_not_chosen_change_nothing_of_those_that_are(tmp_path: Path) -> None:
    other_mode = measured(run="run-2", model="A", checkpoint="a/a", device_name="Testbed", compile_mode="max-autotune")
    assert changes(tmp_path / "mode", other_mode) == {"a", "testbed", "modes"}
    other_size = measured(run="run-3", model="A", checkpoint="a/a", device_name="Testbed", batch_size=7)
    assert changes(tmp_path / "size", other_size) == {"a", "testbed"}


def test_a_doubt_about_a_row_belongs_to_what_it_holds(tmp_path: Path) -> None:
    """The row stays as it was: what doubts it may be the rows of other devices."""
    folder = write(tmp_path, [measured(device_name="Testbed", figures=measurement(10, 1))])
    doubted, trusted = load(folder), load(folder)
    assert doubted.doubts
    vars(trusted).update(problems=(), doubts={})
    assert digests_of(doubted).of(OF_DEVICE) != digests_of(trusted).of(OF_DEVICE)
