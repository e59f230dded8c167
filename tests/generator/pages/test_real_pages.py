"""The real pages in all languages, from the committed records: the same structure, and each its typography."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from atlas_data import KEEPING, measured, measurement, telling, write
from conftest import LANGUAGES
from guide_figures import real_pages as pages
from throughput_records import throughput

from bench.records.record import Record, Status
from generator.data.load import load
from generator.languages.language import load_language
from generator.pages.pages import render


def structure(page: str) -> dict[str, list[str]]:
    """What is the same in every language, though in prose perhaps in another order."""
    code = re.findall(r"(?s)^```.*?^```", page, re.MULTILINE)
    page = re.sub(r"(?s)^```.*?^```", "", page, flags=re.MULTILINE)
    return {
        "headings": re.findall(r"^(#+) .*(\{: #[^}]*\})$", page, re.MULTILINE),
        "tables, rows and figures": re.findall(r"<(?:table|tr|th|td|figure|img|li)\b", page),
        "rows": re.findall(r"^\|", page, re.MULTILINE),
        "list items": re.findall(r"^ *(?:-|\d+\.) ", page, re.MULTILINE),
        "code": code,
        "inline code": sorted(re.findall(r"`[^`\n]+`", page)),
        "links": sorted(
            map(_in_language, re.findall(r"\]\(([^()]*)\)", page) + re.findall(r"href=\"([^\"]*)\"", page))
        ),
        "sorted by": re.findall(r"data-sort=\"([^\"]*)\"", page),
    }


def _in_language(link: str) -> str:
    """Return a link as it is in English: data files are at the root, which is one folder further up elsewhere."""
    return re.sub(r"^(?:\.\./)+(?=data/(?!#|$))", "../", link)


@pytest.mark.parametrize("code", LANGUAGES[1:])
def test_every_language_has_the_same_pages_with_the_same_structure(code: str) -> None:
    assert pages(code).keys() == pages("en").keys()
    for uri, english in pages("en").items():
        expected, actual = structure(english), structure(pages(code)[uri])
        for part, value in expected.items():
            assert actual[part] == value, f"{part} of {uri} in {code}"


def test_no_two_headings_of_a_page_are_alike() -> None:
    for uri, page in pages("en").items():
        body = re.sub(r"(?s)^```.*?^```", "", page, flags=re.MULTILINE)
        headings = re.findall(r"^#+ (.*) \{: #[^}]*\}$", body, re.MULTILINE)
        assert len(headings) == len(set(headings)), uri


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_bidi_control_identifier_or_mark_of_ours_is_left(code: str) -> None:
    for uri, page in pages(code).items():
        assert not re.search("[\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]", page), uri
        assert not re.search(r"\b(?:duration|digital)-(?:second|millisecond|minute|gigabyte)", page), uri
        assert "Undefined" not in page, uri
        assert ">None<" not in page, uri
        assert ">nan<" not in page, uri


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
    assert "measured 2 models only in eager mode, so there are no compiled results" in made["devices/eager.md"]
    assert "measured 1 model only in eager mode" in made["devices/eager.md"].partition("channels&#95;last")[2]
    assert "measured 1 model only in compiled form, so there are no eager results" in made["devices/compiled.md"]
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
