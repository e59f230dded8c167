"""Files from strangers: whatever is in them, they are read, or refused with what, where and how to mend it.

Valid files are mutated. The outcome is success or an `AtlasError`: no other error, no hang, no file elsewhere.
Mutations that once did harm are kept as examples.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from atlas_data import measured, telling, write
from conftest import ROOT, THOROUGH
from guide_figures import figures
from hostile_values import CODE, DEEP, NAMES, broken, changed
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_importers_optimum_benchmark import REPORT
from test_importers_pytorch_oss_v3 import entry

from bench import document
from bench.check import check
from bench.errors import AtlasError
from bench.exchange import export, import_
from bench.importers import MAX_BYTES, Given
from bench.record import MAX_LINE_BYTES, RESULTS, encode
from bench.tour import SCHEMA as TOUR_SCHEMA
from bench.tour import TOURS, Tour
from generator import checks, downloads, pofile
from generator.catalogs import Message
from generator.glossary import load_glossary
from generator.language import catalog_path, load_language, load_locale
from generator.load import load
from generator.message_checks import check_translation
from generator.pages import parse_page, render_pages

RECORD: dict[str, Any] = json.loads(encode(measured(run="r", figures=telling())))
PUBLISHED: dict[str, Any] = json.loads(
    (RESULTS / "published" / "huggingface-2023.jsonl").read_text(encoding="utf-8").splitlines()[0]
)

few = settings(max_examples=1000 if THOROUGH else 8)
"""Each takes a moment. By day they show that the examples are still read or refused; the night looks for new ones."""


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def read_all(path: Path) -> None:
    """All that reads records: the check of a pull request, and what the site is made from."""
    for finding in check([path], path):
        assert str(finding).isprintable() or "\n" in str(finding)
    results = load(path)
    downloads.as_csv(results)
    json.loads(downloads.as_json(results))
    assert results.problems is not None


# ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def with_(place: str, value: Any, record: dict[str, Any] = RECORD) -> dict[str, Any]:
    copied: dict[str, Any] = json.loads(json.dumps(record))
    *parents, name = place.split(".")
    branch = copied
    for parent in parents:
        branch = branch[parent]
    branch[name] = value
    return copied


@few
@given(st.lists(changed(RECORD) | changed(PUBLISHED), min_size=1, max_size=2))
@example([with_("measurement.eager.peak_memory_gb", 0)])
@example([with_("cell.batch_size", 2**63)])
@example([with_("cell.batch_size", 0)])
@example([with_("measured_at", "0001-01-01T00:00:00+14:00"), RECORD])
@example([with_("measured_at", "2026-11-21T03:48:52"), RECORD])
@example([with_("source.date", "2023-02-31", PUBLISHED)])
@example([with_("source.url", "javascript:alert(1)", PUBLISHED)])
@example([with_("cell.model", "\u200e<script>")])
@example([with_("environment.device_name", "a\n\n# b")])
@example([with_("measurement.eager.rounds_ms", [[]])])
@example([with_("measurement.eager.rounds_ms", [[1e-300]])])
@example([with_("run", "../r")])
def test_whatever_a_record_says_it_is_read_or_refused(lines: list[Any]) -> None:
    with folder() as results:
        path = results / "r.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        with suppress(AtlasError):
            read_all(results)


@few
@given(broken(encode(measured(run="r")) + encode(measured(run="r", process=1)), (DEEP,)))
@example(b'{"schema":' + b"[" * 100_000 + b"\n")
@example(b'{"schema":' + b"1" * 5000 + b"}\n")
@example(b'{"schema":3,"run":"\\ud800"}\n')
def test_whatever_bytes_a_run_file_has_it_is_read_or_refused(content: bytes) -> None:
    with folder() as results:
        (results / "r.jsonl").write_bytes(content)
        with suppress(AtlasError):
            read_all(results)


HARMLESS = (CODE[3], CODE[4], "%(model)999999999s", "../../outside", "/etc/passwd", "..", "CON")
NAMED = ("cell.model", "cell.checkpoint", "cell.compile_mode", "environment.device_name", "environment.torch", "run")


@pytest.mark.parametrize("place", NAMED)
@pytest.mark.parametrize("name", [*CODE, *NAMES])
def test_names_that_would_be_code_or_a_path_are_refused(place: str, name: str, tmp_path: Path) -> None:
    """What a model, device or version may be called goes into addresses, headings and commands that readers copy."""
    if place != "run" and name in HARMLESS:
        pytest.skip("a name in Markdown stays a name, and none becomes a path")
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(with_(place, name)) + "\n", encoding="utf-8")
    with pytest.raises(AtlasError, match=rf"not a record: .*{place}"):
        load(tmp_path)


@pytest.mark.parametrize("size", [MAX_LINE_BYTES + 2, *([3 * 1024**3] if THOROUGH else [])])
def test_a_file_without_line_ends_is_refused_before_it_is_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "r.jsonl"
    with path.open("wb") as file:
        file.truncate(size)  # of zeros that take no space
    with pytest.raises(AtlasError, match="more than"):
        load(tmp_path)
    (finding,) = check([path], path)
    assert "more than" in finding.what


def test_links_and_folders_in_the_place_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, [measured(run="r")])
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "gone")
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    assert load(tmp_path).records == 1
    assert not list(check([tmp_path], tmp_path))


# ── Documents ───────────────────────────────────────────────────────────────────────────────────────────────────────


@few
@given(broken(max(TOURS.glob("*.json")).read_bytes()[:6000], (DEEP,)))
@example(b"[" * 100_000)
@example(b'{"schema": 1' + b"0" * 5000)
@example(b"\xff")
def test_whatever_a_document_says_it_is_read_or_refused(content: bytes) -> None:
    with folder() as place:
        path = place / "tour.json"
        path.write_bytes(content)
        with suppress(AtlasError):
            document.read(path, Tour, TOUR_SCHEMA, "make it")


# ── Imports ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TOLD: dict[str, Any] = {
    "date": "2026-11",
    "url": "https://example.org",
    "licence": "Apache-2.0",
    "torch": "2.9.0",
    "device_name": "NVIDIA T4",
}
TIMM = (
    b"model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts\n"
    b"resnet50,224,3200.0,80.0,256,25.56,4.11,11.11\nvit,224,2000.0,512.0,1024,86.57,16.87,16.49\n"
)
DYNAMO = (
    b"dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem\n"
    b"cuda,beit_base_patch16_224,128,1.5,20.0,30.0,0.9,2.0,1.8\ncuda,resnet18,128,0.0,20.0,30.0,0.9,2.0,1.8\n"
)
TABLE_NAMES = {
    "timm": "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv",
    "pytorch-dynamo": "inductor_no_cudagraphs_timm_models_amp_inference_cuda_performance.csv",
    "table": "table.csv",
    "optimum-benchmark": "benchmark.json",
    "pytorch-oss-v3": "benchmark.json",
}


def imported(source: str, content: bytes) -> None:
    """Imported into a folder of its own, or refused; nothing is written beside it."""
    with folder() as place:
        path = place / "given" / TABLE_NAMES[source]
        path.parent.mkdir()
        path.write_bytes(content)
        out = place / "out" / "records"
        with suppress(AtlasError):
            written = import_(source, Given(files=(path,), **TOLD), out)
            assert all(each.parent == out for each in written)
            assert {file.suffix for file in out.iterdir()} == {".jsonl"}
            read_all(out)
        assert {each.name for each in place.iterdir()} <= {"given", "out"}
        assert {each.name for each in place.glob("out/*")} <= {"records"}


@few
@given(broken(TIMM))
def test_tables_of_timm(content: bytes) -> None:
    imported("timm", content)


@few
@given(broken(DYNAMO))
def test_tables_of_the_dynamo_benchmarks(content: bytes) -> None:
    imported("pytorch-dynamo", content)


@few
@given(changed(REPORT))
def test_reports_of_optimum_benchmark(report: Any) -> None:
    imported("optimum-benchmark", json.dumps(report).encode())


ENTRIES = [entry("speedup", 1.5), entry("abs_latency", 20.0)]


@few
@given(changed(ENTRIES))
@example([{**ENTRIES[0], "timestamp": 10**15}, ENTRIES[1]])
@example([{**each, "dependencies": {"pytorch": "2.9"}} for each in ENTRIES])
def test_entries_of_the_benchmark_database(entries: Any) -> None:
    imported("pytorch-oss-v3", json.dumps(entries).encode())


@few
@given(broken(json.dumps(ENTRIES).encode(), (DEEP,)))
@example(b"[" * 100_000)
@example(b"1" * 5000)
def test_broken_json(content: bytes) -> None:
    imported("pytorch-oss-v3", content)
    imported("optimum-benchmark", content)


def exported(form: str) -> bytes:
    with folder() as place:
        export(form, [write(place / "records", [measured(run="r", figures=telling())])], place / "out")
        return (place / "out").read_bytes()


@few
@given(broken(exported("csv")))
@example(exported("csv").replace(b"\n3,r,", b"\n3,../../r,"))
def test_tables_of_records(content: bytes) -> None:
    imported("table", content)


@few
@given(changed(json.loads(exported("pytorch-oss-v3"))))
def test_our_own_records_in_the_format_of_the_database(entries: Any) -> None:
    imported("pytorch-oss-v3", json.dumps(entries).encode())


@pytest.mark.parametrize("source", TABLE_NAMES)
def test_a_file_of_gigabytes_is_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / TABLE_NAMES[source]
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(AtlasError, match="more than"):
        import_(source, Given(files=(path,), **TOLD), tmp_path / "out")


@pytest.mark.parametrize("source", TABLE_NAMES)
def test_what_has_no_end_is_no_file(source: str) -> None:
    with pytest.raises(AtlasError):
        import_(source, Given(files=(Path("/dev/zero"),), **TOLD), Path("out"))


def test_parquet_that_unpacks_to_more_than_it_is_is_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "bomb.parquet"
    with parquet.ParquetWriter(path, pa.schema([("run", pa.string())])) as writer:
        rows = pa.table({"run": pa.array(["r"] * 100_000)})
        for _ in range(11):
            writer.write_table(rows)
    assert path.stat().st_size < 50_000
    with pytest.raises(AtlasError, match="would unpack"):
        import_("table", Given(files=(path,)), tmp_path / "out")


# ── Catalogs, glossary, pages ───────────────────────────────────────────────────────────────────────────────────────

CATALOG = """\
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"X-Complete: yes\\n"

#: docs/index.md
msgid "A **page** of {{ x }}, see [here](a.md) and `code`."
msgstr "{{ x }} 的**页面**，见[此处](a.md)和 `code`。"

msgid "%(n)s row"
msgid_plural "%(n)s rows"
msgstr[0] "%(n)s 行"

#, fuzzy
#| msgid "old"
msgid "new"
msgstr "新"

#~ msgid "gone"
#~ msgstr "无"
""".encode()

PO_PIECES = (b'msgid "', b'msgstr "x"\n', b"msgstr[9] ", b"#~ ", b"#| ", b"#, fuzzy\n", b"\\n", b"n/0", b"nplurals=99;")
MESSAGES = (
    Message(None, "A **page** of {{ x }}, see [here](a.md) and `code`."),
    Message(None, "%(n)s row", "%(n)s rows"),
)


@few
@given(broken(CATALOG, PO_PIECES))
@example(CATALOG.replace(b"plural=0", b"plural=n/0"))
@example(CATALOG.replace(b"plural=0", b"plural=" + b"(" * 500 + b"n" + b")" * 500))
@example(b"#~" + b" " * 50_000 + b"x")
@example(CATALOG.replace(b"msgstr[0]", b"msgstr[99999999999999]"))
def test_whatever_a_catalog_says_it_is_read_or_refused(content: bytes) -> None:
    with folder() as locales:
        path = catalog_path("zh", locales)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        with suppress(AtlasError):
            language = load_language("zh", locales)
            for message, plural in (("%(n)s row", "%(n)s rows"), ("new", "new")):
                assert language.ngettext(message, plural, 3) % {"n": 3}
            list(checks.check_catalog(pofile.parse(content, "zh"), MESSAGES, "zh", load_glossary(), "zh"))


@few
@given(
    broken("{{ x }} 的**页面**，见[此处](a.md)和 `code`。".encode(), PO_PIECES).map(
        lambda text: text.decode(errors="replace")
    )
)
@example("`" * 600)
@example("{{" + '""' * 60)
@example("[" * 600)
@example("<" * 600)
def test_whatever_a_translation_says_it_is_checked(translation: str) -> None:
    for code in ("zh", "ar"):
        list(check_translation(MESSAGES[0].id, translation, code, load_glossary()))


@few
@given(broken((ROOT / "locales" / "glossary.toml").read_bytes()[:4000], (b"[[term]]\n", b"= 3\n", b"term = ['a']\n")))
@example(b"term = ['a']\nkeep = []")
@example(b"a = " + b"[" * 100_000)
@example(b"\xff")
def test_whatever_a_glossary_says_it_is_read_or_refused(content: bytes) -> None:
    with folder() as locales:
        (locales / "glossary.toml").write_bytes(content)
        with suppress(AtlasError):
            load_glossary(locales)


PAGE = b"""---
title: A page
description: "About {{ atlas.n }}"
constants: ["95 %"]
---

# Title {#title}

A paragraph with `code`, a [link](index.md){ .md-button } and {{ atlas.n }}.

- a list
    - deeper

| a | b |
| --- | --- |
{% for x in [1, 2] %}
| {{ x }} | c |
{% endfor %}

!!! note "Title"
    Text.

=== "Tab"
    Text.

![An image](a.svg)

```python
code
```

<div>html</div>
"""

PAGE_PIECES = (
    *(
        b"{{ ",
        b" }}",
        b"{% if x %}",
        b"{% endif %}",
        b"{#",
        b"{#id}",
        b"{% raw %}",
        b"---\n",
        b"&a ",
        b"*a",
    ),
    *(
        b"2001-99-99",
        b"| " * 30,
        b"> " * 60,
        b"- " * 60,
        b"![a](b)" * 40,
        b'!!! note "',
        b"\t",
        b":\n: x\n",
        b"[^1]: ",
    ),
)


@few
@given(broken(PAGE, PAGE_PIECES))
@example(b"---\ntitle: 2001-99-99\n---\n# A {#a}\n")
@example(b"---\ntitle: \0\n---\n# A {#a}\n")
@example(b"---\n<<: {title: 3}\n---\n# A {#a}\n")
@example(b"---\na: " + b"[" * 10_000 + b"\n---\n# A {#a}\n")
@example(b"---\na: &a [x, x]\nb: &b [*a, *a]\n---\n# A {#a}\n")
@example(b"# A {#a}\n\n{{" + b'""' * 60)
@example(b"# A {#a}\n\n" + b"{{" * 3000)
@example(b"# A {#a}\n\n{{ ('x' * 99999999) | length }}")
def test_whatever_a_page_says_it_is_rendered_or_refused(content: bytes) -> None:
    with folder() as docs:
        (docs / "index.md").write_bytes(content)
        with suppress(AtlasError):
            source = parse_page("index.md", content.decode(errors="replace"), "docs/index.md")
            list(checks.check_pages([source]))
            language = load_language("en")
            assert all(page.content for page in render_pages(language, figures(language), docs))


@pytest.mark.parametrize("code", ["../../outside", "/etc", "zh/../..", "zh\0", "CON", "", ".", "x" * 300, "zh_CN/.."])
def test_a_language_is_no_path(code: str) -> None:
    with pytest.raises(AtlasError, match="not the code of a language"):
        load_locale(code)


# ── Time ────────────────────────────────────────────────────────────────────────────────────────────────────────────


HARD = (
    "{{" + '""' * 2000,
    "{%" + "''" * 2000,
    "`" * 4000 + "x",
    "[" * 4000,
    "![" * 2000,
    "<" * 4000,
    "{: " * 2000,
    "| " * 2000,
)


@pytest.mark.timeout(60)  # the worst of them took longer than anybody waits
@pytest.mark.parametrize("text", HARD, ids=[text[:4] for text in HARD])
def test_no_text_takes_forever(text: str) -> None:
    source = parse_page("index.md", f"# A {{#a}}\n\n{text}\n", "docs/index.md")
    list(checks.check_pages([source]))
    list(check_translation(text, text, "ar", load_glossary()))
