"""Untrusted files: whatever they contain, they are read, or refused with what, where and a remedy.

Valid files are mutated. The outcome is success or an `AtlasError`: no other error, no hang, no file elsewhere.
Mutations that once caused a defect are kept as examples.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from atlas_data import PUBLISHED, measured, telling
from conftest import THOROUGH
from guide_figures import GUIDE, figures
from hostile_values import DEEP, broken, changed
from hypothesis import example, given, settings, strategies as st
from mkdocs.exceptions import MkDocsException

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.transfer import ImportOptions, import_
from bench.records.run_file import encode
from generator.checks import checks
from generator.data.load import load
from generator.languages import pofile
from generator.languages.glossary import load_glossary
from generator.languages.language import catalog_path, load_language
from generator.languages.page_source import parse_page
from generator.pages import downloads
from generator.pages.expressions import Expressions
from generator.pages.pages import render_pages

few = settings(max_examples=1000 if THOROUGH else 8)
"""Each example takes a moment. Ordinary runs repeat known examples; thorough runs look for new ones."""


@contextmanager
def folder() -> Iterator[Path]:
    """Give an input a folder. A refusal is fine: any other error is a defect."""
    with tempfile.TemporaryDirectory() as name, suppress(AtlasError, MkDocsException):
        yield Path(name)


# ── Records ─────────────────────────────────────────────────────────────────────────────────────────────────────────


RECORD: dict[str, Any] = json.loads(encode(measured(run="r", figures=telling())))
OF_2023: dict[str, Any] = json.loads(PUBLISHED.read_text(encoding="utf-8").splitlines()[0])


def read_all(results: Path) -> None:
    """Read records as the check of a pull request does, and as the site does."""
    for finding in check([results]):
        assert str(finding).isprintable() or "\n" in str(finding)
    loaded = load(results)
    downloads.as_csv(loaded)
    json.loads(downloads.as_json(loaded))
    assert loaded.problems is not None


def read_records(content: bytes) -> None:
    with folder() as results:
        (results / "r.jsonl").write_bytes(content)
        read_all(results)


def with_(place: str, value: Any, record: dict[str, Any] = RECORD) -> dict[str, Any]:
    name, _, rest = place.partition(".")
    return {**record, name: with_(rest, value, record[name]) if rest else value}


@few
@given(st.lists(changed(RECORD) | changed(OF_2023), min_size=1, max_size=2))
@example([with_("measurement.eager.peak_memory_gb", 0)])
@example([with_("cell.batch_size", 2**63)])
@example([with_("cell.batch_size", 0)])
@example([with_("measured_at", "2026-11-21T03:48:52"), RECORD])
@example([with_("source.date", "2023-02-31", OF_2023)])
@example([with_("source.url", "javascript:alert(1)", OF_2023)])
@example([with_("cell.model", "\u200e<script>")])
@example([with_("environment.device_name", "a\n\n# b")])
@example([with_("measurement.eager.rounds_ms", [[]])])
@example([with_("measurement.eager.rounds_ms", [[1e-300]])])
@example([with_("run", "../r")])
def test_whatever_a_record_says_it_is_read_or_refused(lines: list[Any]) -> None:
    read_records("".join(f"{json.dumps(line)}\n" for line in lines).encode())


@few
@given(broken(encode(measured(run="r")) + encode(measured(run="r", process=1)), (DEEP,)))
@example(b'{"schema":' + b"[" * 100_000 + b"\n")
@example(b'{"schema":' + b"1" * 5000 + b"}\n")
@example(b'{"schema":3,"run":"\\ud800"}\n')
def test_whatever_bytes_a_run_file_has_it_is_read_or_refused(content: bytes) -> None:
    read_records(content)


# ── Imports ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TOLD: dict[str, Any] = {
    "date": "2026-11",
    "url": "https://example.org",
    "licence": "Apache-2.0",
    "torch": "2.9.0",
    "device_name": "NVIDIA T4",
}
TABLES = {
    "timm": (
        "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv",
        (
            b"model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,"
            b"infer_macts\nresnet50,224,3200.0,80.0,256,25.56,4.11,11.11\nvit,224,2000.0,512.0,1024,86.57,16.87,16.49\n"
        ),
    ),
}


@pytest.mark.parametrize("source", TABLES)
@few
@given(data=st.data())
def test_whatever_an_imported_table_has_it_is_read_or_refused(source: str, data: st.DataObject) -> None:
    """Nothing may be written outside of the given folder."""
    name, table = TABLES[source]
    with folder() as place:
        path = place / "given" / name
        path.parent.mkdir()
        path.write_bytes(data.draw(broken(table)))
        out = place / "out" / "records"
        try:
            written = import_(source, ImportOptions(files=(path,), **TOLD), out)
            assert all(each.parent == out for each in written)
            read_all(out)
        finally:
            assert {each.name for each in place.iterdir()} <= {"given", "out"}
            assert {each.name for each in place.glob("out/*")} <= {"records"}


# ── Catalogs, glossary, pages ───────────────────────────────────────────────────────────────────────────────────────

CATALOG = catalog_path("zh", GUIDE / "locales").read_bytes() + b'\n#, fuzzy\n#| msgid "old"\nmsgid "new"\nmsgstr "n"\n'
TEMPLATE = pofile.parse(CATALOG, "zh")
PO_PIECES = (b'msgid "', b'msgstr "x"\n', b"msgstr[9] ", b"#~ ", b"#| ", b"#, fuzzy\n", b"\\n", b"n/0", b"nplurals=99;")


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
        language = load_language("zh", locales)
        assert language.ngettext("%(count)s model", "%(count)s models", 3) % {"count": 3}
        catalog = pofile.parse(content, "zh")
        list(checks.check_catalog(catalog, TEMPLATE, "zh", load_glossary(), "zh", complete=True))


PAGE = (GUIDE / "docs" / "index.md").read_bytes()
PAGE_PIECES = (
    *(b"{{ ", b" }}", b"{% if x %}", b"{% endif %}", b"{#", b"{#id}", b"{% raw %}", b"---\n", b"&a ", b"*a"),
    *(b"2001-99-99", b"| " * 30, b"> " * 60, b"- " * 60, b"![a](b)" * 40, b'!!! note "', b"\t", b":\n: x\n", b"[^1]: "),
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
    with folder():
        source = parse_page("index.md", content.decode(errors="replace"), "docs/index.md")
        list(checks.check_pages([source]))
        language = load_language("en")
        pages = render_pages(language, Expressions(figures(language)), [source])
        assert all(isinstance(page.content, str) for page in pages)
