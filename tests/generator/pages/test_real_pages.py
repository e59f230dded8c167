"""The real pages with records that no committed file has: fields left out, one variant alone, doubts everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import KEEPING, measured, measurement, telling, write
from guide_figures import render
from throughput_records import throughput

from bench.records.record import Record, Status
from generator.data.load import load
from generator.languages.language import load_language


def optional(value: msgspec.Struct, *place: str) -> Iterator[tuple[str, ...]]:
    """Yield the place of each field below a record that a source may leave out, and that this one has."""
    for field in msgspec.structs.fields(value):
        inner = getattr(value, field.name)
        if not field.required and inner not in (field.default, {}):
            yield *place, field.name
        if isinstance(inner, msgspec.Struct):
            yield from optional(inner, *place, field.name)


def without(record: Record, place: Sequence[str]) -> Record:
    whole = inner = msgspec.to_builtins(record, builtin_types=(datetime,))
    for name in place[:-1]:
        inner = inner[name]
    del inner[place[-1]]
    return msgspec.convert(whole, Record)


CPU = measured(figures=telling(), **KEEPING | {"environment": {**KEEPING["environment"], "memory_gb": 16.0}})


@pytest.mark.parametrize("whole", [CPU, throughput("cnn", 100.0, 200.0, grad_mode="no_grad")])
def test_a_field_that_a_source_may_leave_out_renders_on_every_page(tmp_path: Path, whole: Record) -> None:
    """Each device lacks one optional field of its one record, on a CPU or about throughput."""
    records = []
    for number, place in enumerate(optional(whole)):
        lacking = without(whole, place)
        name = "ABCDEFGHI"[number % 9] * (1 + number // 9)  # without digits, which a CPU's label leaves out
        on = msgspec.structs.replace(lacking.environment, device_name=name)
        records.append(msgspec.structs.replace(lacking, run=f"run-{number}", environment=on))
    made = {file.uri: str(file.content) for file in render(load_language("ar"), load(write(tmp_path, records)))}
    assert sum(uri.startswith("devices/") and uri.endswith(".md") for uri in made) == len(records) + 1
    for uri, page in made.items():
        assert not re.search(">(?:None|nan)<|Undefined", page), uri


def test_a_run_of_one_variant_says_which_and_compares_nothing(tmp_path: Path) -> None:
    on: dict[str, Any] = {"torch": "2.4.0", "batch_size": 64}
    nhwc = [throughput("cnn0", 150.0, None, channels_last=True, device_name="Eager", **on)]
    eager = [throughput(f"cnn{n}", 100.0, None, device_name="Eager", **on) for n in range(2)]
    compiled = throughput("cnn0", None, 200.0, device_name="Compiled", **on)
    both = throughput("cnn0", 100.0, 200.0, **on)
    results = load(write(tmp_path, [*eager, *nhwc, compiled, both]))
    made = {file.uri: str(file.content) for file in render(load_language("en"), results) if file.uri.endswith(".md")}
    assert "2 models, in eager mode only." in made["devices/eager.md"]
    assert "1 model, in eager mode only" in made["devices/eager.md"].partition("channels&#95;last")[2]
    assert "1 model, compiled only." in made["devices/compiled.md"]
    for uri in ("index.md", "should-i-compile.md", "models/families/cnn.md"):
        table = re.sub("(?s)<script.*?</script>|description: .*", "", made[uri])
        assert not re.search(r"\b(?:Eager|Compiled)\]\(|devices/(?:eager|compiled)|>(?:Eager|Compiled)<br>", table), uri


def test_pages_are_made_where_every_comparison_is_doubtful(tmp_path: Path) -> None:
    doubtful = measured(status=Status.UNSTABLE, reason="busy", figures=measurement())
    results = load(write(tmp_path, [doubtful]))
    made = {file.uri: str(file.content) for file in render(load_language("en"), results) if file.uri.endswith(".md")}
    for uri in ("index.md", "devices/h200.md", "models/vit.md"):
        assert not re.search("worst|largest gain|most you can gain|in the median", made[uri])
    assert "promised" not in made["data.md"]
    assert "unstable" in made["devices/h200.md"]
