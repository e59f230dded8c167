"""Untrusted files: whatever they contain, they are read, or refused with what, where and a remedy.

Valid files are mutated. The outcome is success or an `AtlasError`: no other error, no hang, no file elsewhere.
Mutations that once caused a defect are kept as examples.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import readers
from atlas_data import measured, write
from conftest import ROOT, THOROUGH
from hostile_values import CODE, DEEP, NAMES, broken, changed
from hypothesis import example, given, settings, strategies as st
from readers import CATALOG, DYNAMO, ENTRIES, PAGE, PUBLISHED, RECORD, TABLE_NAMES, TIMM, TOLD, exported
from test_importers_optimum_benchmark import REPORT

from bench.choices import MAX_BYTES
from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import import_
from bench.records import examples, strict
from bench.records.run_file import MAX_LINE_BYTES, encode
from generator.checks import checks
from generator.checks.message_checks import check_translation
from generator.data.load import load
from generator.languages.glossary import load_glossary
from generator.languages.language import load_locale
from generator.languages.page_source import parse_page
from generator.site import PLUGIN

few = settings(max_examples=1000 if THOROUGH else 8)
"""Each example takes a moment. Ordinary runs repeat known examples; thorough runs look for new ones."""


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
    readers.records("".join(f"{json.dumps(line)}\n" for line in lines).encode())


@few
@given(broken(encode(measured(run="r")) + encode(measured(run="r", process=1)), (DEEP,)))
@example(b'{"schema":' + b"[" * 100_000 + b"\n")
@example(b'{"schema":' + b"1" * 5000 + b"}\n")
@example(b'{"schema":3,"run":"\\ud800"}\n')
def test_whatever_bytes_a_run_file_has_it_is_read_or_refused(content: bytes) -> None:
    readers.records(content)


PACKED = gzip.compress(encode(measured(run="r")) + encode(measured(run="r", process=1)), mtime=0)


@few
@given(broken(PACKED) | broken(encode(measured(run="r")), (DEEP,)).map(gzip.compress))
@example(b"")
@example(PACKED[:-4])
@example(PACKED + PACKED)
@example(PACKED + b"\0" * 9)
@example(gzip.compress(b"\0" * (MAX_LINE_BYTES + 2)))
@example(gzip.compress(b"\0" * 99 + b"\n"))
def test_whatever_bytes_a_compressed_run_file_has_it_is_read_or_refused(content: bytes) -> None:
    readers.compressed(content)


HARMLESS = (CODE[3], CODE[4], "%(model)999999999s", "../../outside", "/etc/passwd", "..", "CON")
NAMED = ("cell.model", "cell.checkpoint", "cell.compile_mode", "environment.device_name", "environment.torch", "run")


@pytest.mark.parametrize("place", NAMED)
def test_names_that_would_be_code_or_a_path_are_refused(place: str, tmp_path: Path) -> None:
    """Names of models, devices and versions appear in addresses, headings and commands that readers copy.

    In Markdown, a name stays a name.
    """
    path = tmp_path / "r.jsonl"
    for name in (*CODE, *NAMES):
        if place == "run" or name not in HARMLESS:
            path.write_text(json.dumps(with_(place, name)) + "\n", encoding="utf-8")
            with pytest.raises(AtlasError, match=rf"not a record: .*{place}"):
                list(strict.read(path))


@pytest.mark.parametrize("size", [MAX_LINE_BYTES + 2, *([3 * 1024**3] if THOROUGH else [])])
def test_a_file_without_line_ends_is_refused_before_it_is_read(tmp_path: Path, size: int) -> None:
    path = tmp_path / "r.jsonl"
    with path.open("wb") as file:
        file.truncate(size)  # zeros that take no space
    with pytest.raises(AtlasError, match="longer than"):
        load(tmp_path)
    (finding,) = check([path], path)
    assert "longer than" in finding.what


def test_links_and_folders_in_the_place_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, [measured(run="r")])
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / "nowhere.jsonl").symlink_to(tmp_path / "gone")
    (tmp_path / "circle.jsonl").symlink_to(tmp_path / "circle.jsonl")
    assert load(tmp_path).records == 1
    assert not list(check([tmp_path], tmp_path))


# ── Documents ───────────────────────────────────────────────────────────────────────────────────────────────────────


@few
@given(broken(readers.OUTPUT[:6000], (DEEP,)))
@example(b"[" * 100_000)
@example(b'{"schema": 1' + b"0" * 5000)
@example(b"\xff")
def test_whatever_a_document_says_it_is_read_or_refused(content: bytes) -> None:
    readers.output(content)


# ── Imports ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@few
@given(broken(TIMM))
def test_tables_of_timm(content: bytes) -> None:
    readers.importing("timm", content)


@few
@given(broken(DYNAMO))
def test_tables_of_the_dynamo_benchmarks(content: bytes) -> None:
    readers.importing("pytorch-dynamo", content)


@few
@given(changed(REPORT))
def test_reports_of_optimum_benchmark(report: Any) -> None:
    readers.importing("optimum-benchmark", json.dumps(report).encode())


@few
@given(changed(ENTRIES))
@example([{**ENTRIES[0], "timestamp": 10**15}, ENTRIES[1]])
@example([{**each, "dependencies": {"pytorch": "2.9"}} for each in ENTRIES])
def test_entries_of_the_benchmark_database(entries: Any) -> None:
    readers.importing("pytorch-oss-v3", json.dumps(entries).encode())


@few
@given(broken(json.dumps(ENTRIES).encode(), (DEEP,)))
@example(b"[" * 100_000)
@example(b"1" * 5000)
def test_broken_json(content: bytes) -> None:
    readers.importing("pytorch-oss-v3", content)
    readers.importing("optimum-benchmark", content)


@few
@given(broken(exported("csv")))
@example(exported("csv").replace(b"\n3,r,", b"\n3,../../r,"))
def test_tables_of_records(content: bytes) -> None:
    readers.importing("table", content)


@few
@given(changed(json.loads(exported("pytorch-oss-v3"))))
def test_our_own_records_in_the_format_of_the_database(entries: Any) -> None:
    readers.importing("pytorch-oss-v3", json.dumps(entries).encode())


@pytest.mark.parametrize("source", TABLE_NAMES)
def test_a_file_of_gigabytes_is_refused(source: str, tmp_path: Path) -> None:
    path = tmp_path / TABLE_NAMES[source]
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(AtlasError, match="larger than"):
        import_(source, ImportOptions(files=(path,), **TOLD), tmp_path / "out")


@pytest.mark.parametrize("source", TABLE_NAMES)
def test_what_has_no_end_is_no_file(source: str) -> None:
    with pytest.raises(AtlasError):
        import_(source, ImportOptions(files=(Path("/dev/zero"),), **TOLD), Path("out"))


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
        import_("table", ImportOptions(files=(path,)), tmp_path / "out")


# ── Catalogs, glossary, pages ───────────────────────────────────────────────────────────────────────────────────────

PO_PIECES = (b'msgid "', b'msgstr "x"\n', b"msgstr[9] ", b"#~ ", b"#| ", b"#, fuzzy\n", b"\\n", b"n/0", b"nplurals=99;")


@few
@given(broken(CATALOG, PO_PIECES))
@example(CATALOG.replace(b"plural=0", b"plural=n/0"))
@example(CATALOG.replace(b"plural=0", b"plural=" + b"(" * 500 + b"n" + b")" * 500))
@example(b"#~" + b" " * 50_000 + b"x")
@example(CATALOG.replace(b"msgstr[0]", b"msgstr[99999999999999]"))
def test_whatever_a_catalog_says_it_is_read_or_refused(content: bytes) -> None:
    readers.catalog(content)


@few
@given(broken(readers.TRANSLATION, PO_PIECES).map(lambda text: text.decode(errors="replace")))
@example("`" * 600)
@example("{{" + '""' * 60)
@example("[" * 600)
@example("<" * 600)
def test_whatever_a_translation_says_it_is_checked(translation: str) -> None:
    readers.translation(translation.encode())


@few
@given(broken(readers.GLOSSARY_TEXT[:4000], (b"[[term]]\n", b"= 3\n", b"term = ['a']\n")))
@example(b"term = ['a']\nkeep = []")
@example(b"a = " + b"[" * 100_000)
@example(b"\xff")
def test_whatever_a_glossary_says_it_is_read_or_refused(content: bytes) -> None:
    readers.glossary(content)


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
def test_whatever_a_page_says_it_is_rendered_or_refused(content: bytes) -> None:
    readers.page(content)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("torch", -5),
        ("sources.graphs", "x" * 200_000),
        ("sources.graphs", "a\x1b[31m"),
        ("device_name", "a\u202eb"),
    ],
)
def test_a_document_with_an_impossible_value_is_refused(place: str, value: Any, tmp_path: Path) -> None:
    path = tmp_path / "output.json"
    path.write_text(json.dumps(with_(place, value, json.loads(readers.OUTPUT))))
    with pytest.raises(AtlasError, match="not a capture"):
        examples.read(path)


@pytest.mark.parametrize("text", ["- " * 900 + "x", "[" * 5000, " " * 200 + "- x", "a\x1bb", "a\0b", "a\U000e0041b"])
def test_a_page_that_no_parser_can_take_is_refused(text: str) -> None:
    with pytest.raises(AtlasError) as error:
        parse_page("index.md", f"# A {{#a}}\n\n{text}\n", "docs/index.md")
    assert error.value.where.startswith("docs/index.md")
    assert error.value.remedy


@few
@given(broken(readers.LANGUAGES_TEXT, (b"'..'", b"[[languages]]", b"languages = 3\n")))
@example(b"")
@example(b"languages = []")
@example(b'languages = ["zh", "en"]')
@example(b'languages = ["en", "en"]')
@example(b'languages = ["en", "../.."]')
@example(b"languages = " + b"[" * 100_000)
def test_whatever_a_list_of_languages_says_it_is_read_or_refused(content: bytes) -> None:
    readers.languages(content)


@pytest.mark.parametrize("module", ["mkdocs build", "generator status"])
def test_a_list_of_languages_that_is_none_is_told_without_a_traceback(module: str) -> None:
    code = (
        "import pathlib, runpy, sys, tomllib; read = tomllib.loads;"
        "tomllib.loads = lambda text: read(text.replace('languages =', 'language ='));"
        f"sys.argv = {module.split()!r}; runpy.run_module(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode
    assert "languages.toml: the list of languages cannot be read" in done.stderr
    assert "remedy: correct it" in done.stderr
    assert "Traceback" not in done.stderr


@few
@given(changed(readers.SETTINGS))
@example({**readers.SETTINGS, "theme": {"name": "material"}})
@example({**readers.SETTINGS, "theme": {"name": "mkdocs"}})
@example({**readers.SETTINGS, "plugins": []})
@example({**readers.SETTINGS, "markdown_extensions": None})
@example({**readers.SETTINGS, "plugins": ["search", {PLUGIN: {"languages": 3}}]})
@example({**readers.SETTINGS, "plugins": ["search", {PLUGIN: {"languages": ["zh"]}}]})
@example({key: value for key, value in readers.SETTINGS.items() if key != "site_description"})
def test_whatever_the_settings_say_they_are_taken_or_refused(document: Any) -> None:
    readers.settings(json.dumps(document).encode())  # which is YAML


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


@pytest.mark.timeout(60)  # the worst of them took far too long
@pytest.mark.parametrize("text", HARD, ids=[text[:4] for text in HARD])
def test_no_text_takes_forever(text: str) -> None:
    source = parse_page("index.md", f"# A {{#a}}\n\n{text}\n", "docs/index.md")
    list(checks.check_pages([source]))
    list(check_translation(text, text, "ar", load_glossary()))
