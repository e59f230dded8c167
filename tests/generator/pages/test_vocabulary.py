"""The vocabulary of the pages: figures, tables, charts and files, in HTML that needs no script and no bidi luck."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from html import unescape
from io import StringIO
from pathlib import Path

import markdown
import pytest
from atlas_data import (
    KEEPING,
    ON_CPU,
    PUBLISHED,
    TELLING,
    measured,
    measurement,
    mixed as mixed_records,
    telling,
    write,
)
from conftest import ROOT
from guide_figures import expect_golden
from markdown_html import to_html
from markupsafe import Markup
from throughput_records import family, throughput

from bench.errors import AtlasError
from bench.plans.profiles import PRECISIONS
from bench.records.record import GraphBreak, Graphs, Measurement, Samples, Status
from generator.data.load import Results, load
from generator.data.registry import COLUMNS
from generator.figures.markup import unbroken
from generator.languages.language import load_language
from generator.pages import downloads
from generator.pages.pages import Page, expressions_of
from generator.pages.site_file import SiteFile


class Pages:
    """Renders expressions as pages do, and keeps the files that they emit."""

    def __init__(self, results: Results, language: str = "en") -> None:
        self.expressions = expressions_of(results, load_language(language))

    def render(self, source: str, uri: str = "index.md") -> str:
        context = {"page": Page(uri, "../" * uri.count("/"))}
        text = self.expressions.evaluate(source, context, uri, 0)
        return to_html(text) if "table-caption" in text else text

    def call(self, call: str, uri: str = "index.md") -> str:
        return self.render(f"{{{{ {call} }}}}", uri)

    def source(self, call: str) -> str:
        """The Markdown of a call, and the texts of its chart."""
        text = self.expressions.evaluate(f"{{{{ {call} }}}}", {"page": Page("index.md", "")}, "index.md", 0)
        charts = [
            self.files[name].content_bytes.decode() for name in re.findall(r'src="(?:\.\./)*([^"]*)#only-light"', text)
        ]
        words = "\n".join(each for chart in charts for each in re.findall(r"<text[^>]*>([^<]*)</text>", chart))
        return f"# {call}\n\n{text}\n\n{words}".rstrip()

    @property
    def files(self) -> dict[str, SiteFile]:
        return {file.uri: file for file in self.expressions.emitted}


def rows(html: str) -> Sequence[Sequence[str]]:
    """The cells of a table as text, the head first."""
    lines = re.findall(r"(?s)<tr\b.*?</tr>", html.partition("</table>")[0])
    return [[Markup(cell).striptags() for cell in re.findall(r"(?s)<t[hd]\b.*?</t[hd]>", line)] for line in lines]


@pytest.fixture(scope="module")
def published() -> Pages:
    return Pages(load(PUBLISHED))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    figures = Measurement(eager=Samples(((9.0,),)))
    failed = measured(batch_size=16, status=Status.OOM, reason="x", figures=figures, **ON_CPU)
    return Pages(load(mixed_records(tmp_path_factory.mktemp("results"), failed)))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load(write(tmp_path_factory.mktemp("results"), TELLING))


# ── Figures ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("7.5842 | ms", "7.584\u00a0ms"),
        ("41.53 | seconds", "41.5\u00a0s"),
        ("-0.4501 | signed_percent", "−45.0%"),
        ("-0.4501 | unsigned_percent", "45.0%"),
        ("0.1 | signed_percent(0)", "+10%"),
        ("0.45 | percent", "45.0%"),
        ("1234 | number", "1,234"),
        ("none | ms", "–"),
        ("3 | counted('published row')", "3 published rows"),
        ("'A<b>&' | name", "A&lt;b&gt;&amp;"),
        ("atlas.devices | names", "A100, T4, and V100"),
        ("[atlas.published, atlas.measured, atlas.latency.rows | length, atlas.last]", "[136, 0, 129, None]"),
        ("atlas.published_best.model.label", "Conditional-DETR"),
        ("[atlas.batches.small, atlas.batches.large, atlas.batches.noun]", "[1, 16, 'published figure']"),
        ("atlas.device['v100'].latency.spread.median | ratio(2)", "1.30×"),
        ("atlas.device['v100'].sections | map(attribute='slug') | first", "torch-2-0-1-default"),
        ("atlas.model['vit'].task_name", "image classification"),
    ],
)
def test_published_figures(published: Pages, source: str, expected: str) -> None:
    assert published.call(source) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("atlas.devices[-1].label", "Intel Xeon, 2\u00a0cores"),
        ("[atlas.devices[-1].cores, atlas.devices[-1].slug]", "[2, 'cpu-intel-xeon-2-cores']"),
        ("atlas.last.measured_at | date", "July 1, 2026"),
        ("[atlas.last.torch, atlas.last.commit]", "['2.13.0', 'abc1234']"),
        ("[atlas.latency.slower | length, atlas.latency.worst.batch_size]", "[1, 4]"),
        ("[atlas.devices[-1].compile_rows | length, atlas.devices[0].compile_rows | length]", "[2, 0]"),
    ],
)
def test_measured_figures(mixed: Pages, source: str, expected: str) -> None:
    assert mixed.call(source) == expected


def test_both_ways_of_freeing_memory_are_compared(tmp_path: Path) -> None:
    slower = measured(run="default", day=1, figures=measurement(10.0, 13.0), **ON_CPU)
    faster = measured(run="keep", day=2, figures=measurement(9.0, 8.0), **KEEPING)
    pages = Pages(load(write(tmp_path, [slower, faster])))
    told = "{{ both.turns }} {{ both.eager_change | signed_percent(0) }} {{ both.keep.model.label }}"
    assert pages.render(f"{{% set both = atlas.devices[0].malloc[0] %}}{told}") == "True −10% ViT"


def test_a_device_with_both_origins_averages_only_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_bytes(PUBLISHED.read_bytes())
    pages = Pages(load(write(tmp_path, [measured(device_name="NVIDIA A100", torch="2.0.1")])))
    assert pages.call("atlas.device['a100'].latency.rows | length") == "1"
    slugs = pages.call("atlas.device['a100'].sections | map(attribute='slug') | join(' ')").split()
    assert slugs[0] == "torch-2-0-1-default-measured"
    assert len(set(slugs)) == len(slugs) == 4


def test_each_data_type_of_a_device_has_a_section_of_its_own_rows_and_float32_keeps_its_address(tmp_path: Path) -> None:
    usual = "torch-2-13-0-default"
    source = "{% for section in atlas.devices[0].sections %}{{ section.slug }} {{ section.title }}\n{% endfor %}"
    alone = Pages(load(write(tmp_path / "one", [measured()])))
    assert alone.render(source).splitlines() == [f"{usual} PyTorch 2.13.0 · mode default"]
    cast = Pages(load(write(tmp_path / "cast", [measured(**PRECISIONS["autocast-float16"])])))
    assert "autocast" in cast.render(source), "whose figures are not those of float32"

    pages = Pages(load(write(tmp_path / "all", [measured(run=name, **PRECISIONS[name]) for name in PRECISIONS])))
    slugs, titles = zip(*(line.split(" ", 1) for line in pages.render(source).splitlines()), strict=True)
    suffixes = ("", "-tf32", "-autocast-bfloat16", "-autocast-float16", "-bfloat16", "-float16")
    assert slugs == tuple(f"{usual}{suffix}" for suffix in suffixes)
    assert len(set(titles)) == len(titles)
    (table,) = re.findall(r"{{ latency_table\(.*?\) }}", (ROOT / "docs/devices/each.md").read_text(encoding="utf-8"))
    every = "{% for section in atlas.devices[0].sections %}{% set device, batch_size = atlas.devices[0], 1 %}"
    html = pages.render(f"{every}{table}\n\n{{% endfor %}}")
    assert [len(rows(each)) for each in html.split("<table")[1:]] == [2] * len(PRECISIONS)


# ── Tables ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TOLD = "mode break_even memory efficiency cause breaks skips versions compile_cost".split()  # noqa: SIM905

A100 = "device='a100', torch='2.0.1'"

SHOWN = {
    "published": (
        *(f"latency_table({A100}, batch_size=4, brief=true)", "latency_table(device='t4', torch='2.1.0.dev')"),
        *("latency_table(device='v100', torch='2.0.1', batch_size=16)", "latency_table(model='detr')"),
        *(f"batch_table({A100})", "models_table()", "problems_table()", "speedup_matrix()", "sources_list()"),
        *(f"overview_chart({A100})", "overview_chart(device='t4', torch='2.1.0.dev')", "overview_chart()"),
    ),
    "mixed": (
        *("latency_table(device='cpu-intel-xeon-2-cores')", "compile_cost_table()", "slower_table()", "runs_table()"),
        *("summary_table(workload='latency')", "devices_table()", "environment_table()", "speedup_matrix()"),
        "overview_chart()",
    ),
    "told": tuple(f"{name}_table(device='h200')" for name in TOLD),
    "throughput": (
        *(f"gain_table('{of}')" for of in ("families", "intensity", "losses", "types")),
        *(f"gain_table('{of}', device='rtx-5090')" for of in ("history", "regressions", "equal")),
        "speedup_matrix()",
    ),
    "arabic": ("7.5 | ms", "atlas.devices | names", "latency_table(device='t4')", "overview_chart(device='t4')"),
}
"""Expressions to render, by the kind of records that the golden file of this name is about."""


def test_tables_and_charts_are_as_they_were(published: Pages, mixed: Pages, told: Results, tmp_path: Path) -> None:
    """Each as Markdown, and the words that stand in the picture of a chart."""
    made = {"published": published, "mixed": mixed, "told": Pages(told), "throughput": Pages(throughputs(tmp_path))}
    made["arabic"] = Pages(load(PUBLISHED), "ar")
    expect_golden("figures", {f"{name}.md": "\n\n".join(map(made[name].source, SHOWN[name])) for name in SHOWN})


def throughputs(folder: Path) -> Results:
    """Two families on two GPUs, some models with a second version of PyTorch, and some with a second data type."""
    other = family("conv", -0.5, -0.4, -0.3, -0.2, 0.4, device_name="NVIDIA GeForce RTX 4090")
    half = [throughput(f"conv{n}", None, 300.0, dtype="bfloat16", autocast=False) for n in range(5)]
    old = [throughput(f"a{n}", 100.0, 200.0, torch="2.4.0", compiled_batch_size=n and 64) for n in range(6)]
    new = [throughput(f"a{n}", 80.0, 200.0) for n in range(6)]
    return load(write(folder, [*family("conv", -0.6, -0.5, -0.45, -0.4, -0.3), *other, *half, *old, *new]))


def test_a_skipped_row_shows_the_eager_latency_and_says_why(tmp_path: Path) -> None:
    eager = Measurement(eager=Samples(rounds_ms=tuple((40.0,) for _ in range(9))))
    skipped = measured(status=Status.SKIPPED, reason="no compiler: install <g++>", figures=eager, **ON_CPU)
    html = Pages(load(write(tmp_path, [skipped]))).call("latency_table(device=atlas.devices[0].slug)")
    assert rows(html)[1][1:] == ["skipped", "40.000", "skipped"]
    assert '<code lang="en">no compiler: install &lt;g++&gt;</code>' in html


def test_sections_can_be_left_out(told: Results, published: Pages) -> None:
    kinds = ["mode", "compile", "efficiency", "cause", "break", "skip", "version"]
    source = "".join(f"{{{{ 1 if atlas.{kind}_rows and atlas.devices[0].{kind}_rows else 0 }}}}" for kind in kinds)
    assert Pages(told).render(source) == "1111111"
    assert published.render(source) == "0000001"
    for name in TOLD[:-2]:
        assert "no record" in published.call(f"{name}_table()")


def test_no_line_breaks_within_an_option_or_a_short_command() -> None:
    long = "python -m bench run --profile full --dry-run"
    html = unbroken(f"<p><code>a -b</code> <code>{long}</code></p><pre><span></span><code>a --b</code></pre>")
    assert '<code class="whole">a -b</code>' in html
    assert '<span class="whole">--dry-run</span></code>' in html
    assert "<pre><span></span><code>a --b</code></pre>" in html, "blocks of code scroll"
    assert re.sub(r' class="whole"|</?span[^>]*>', "", html).count(long) == 1, "the same text"
    name = unbroken("<code>torch.compiler.nested_compile_region</code>")
    assert name == "<code>torch.<wbr>compiler.<wbr>nested_<wbr>compile_<wbr>region</code>"
    assert unbroken("所需时间，<code>--x</code>") == '所需时间，<wbr><code class="whole">--x</code>'


# ── Links and forms ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_cells_of_the_matrix_lead_to_headings_of_device_pages(mixed: Pages) -> None:
    every = """{% for device in atlas.devices %}{% for section in device.sections %}
        {% for size in section.batch_sizes %}
        devices/{{ device.slug }}/#{{ section.slug }}-batch-{{ size }}
        {% endfor %}{% endfor %}{% endfor %}"""
    found = set(re.findall(r'href="(devices/[^"]*#[^"]*)"', mixed.call("speedup_matrix()")))
    assert found <= {*mixed.render(every).split()}
    assert {"devices/a100/#torch-2-0-1-default-batch-1", "devices/t4/#torch-2-1-0-dev-reduce-overhead-batch-4"} <= found
    assert '<a href="../devices/a100/#' in mixed.call("speedup_matrix()", "compile.md")


def test_markup_in_names_is_escaped(tmp_path: Path) -> None:
    reason = GraphBreak(reason="<script>x</script>", location="'\"><b>")
    figures = telling(graphs=Graphs(graphs=2, breaks=(reason,)))
    environment = {"settings": {"<i>": "<b>"}}
    record = measured(model="A & B", figures=figures, environment=environment, device_name="C & D")
    pages = Pages(load(write(tmp_path, [record])))
    calls = ("latency_table()", "devices_table()", "models_table()", "overview_chart()", "decision_helper(short=true)")
    with_signs = ("environment_table()", "breaks_table()", "speedup_matrix()")  # whose legend says less and more
    for call in (*calls, *with_signs):
        html = pages.call(call)
        assert not re.findall(r"<script>|<b>|<i>|& ", html)
        assert "&amp;" in html
        assert ("&lt;" in html) == (call in with_signs)


@pytest.mark.parametrize("code", ["en", "ar"])
def test_a_name_in_markdown_stays_a_name(tmp_path: Path, code: str) -> None:
    name = "[a](javascript:alert(1)) *b* _c_ #d ![e](f)"
    pages = Pages(load(write(tmp_path, [measured(model=name, device_name=name)])), code)
    for call in ("atlas.models[0].label | name", "atlas.devices[0].label | name", "atlas.devices | names"):
        shown = markdown.markdown(f"- {pages.call(call)}")
        assert not re.search("<a|<em>|<img", shown)
        assert name in unescape(re.sub(r"<[^<>]*>", "", shown))


# ── Selections ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "what", "near"),
    [
        ("latency_table(device='a10')", "there is no device 'a10'", "a100"),
        ("overview_chart(model='segformr')", "there is no model 'segformr'", "segformer"),
        ("latency_table(batch_size=3)", "there is no batch size '3'", "1"),
        ("latency_table(devise='a100')", "there is no selection 'devise'", "device"),
        ("overview_chart(compile_mode='reduce')", "there is no compile mode 'reduce'", "reduce-overhead"),
        ("3 | counted('modle')", "there is no noun 'modle'", "model"),
        ("gain_table('familes')", "there is no table of gains 'familes'", "families"),
    ],
)
def test_unknown_values_name_the_nearest(published: Pages, call: str, what: str, near: str) -> None:
    with pytest.raises(AtlasError) as raised:
        published.call(call)
    assert (raised.value.what, raised.value.where) == (what, "index.md:1")
    assert near in raised.value.remedy


# ── Downloads ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_downloads_hold_every_row_and_column(mixed: Pages) -> None:
    html = mixed.call("downloads()", "data.md")
    assert '<a href="../data/v2/compile-atlas.csv"><code>' in html
    lines = list(csv.DictReader(StringIO(str(mixed.files["data/v2/compile-atlas.csv"].content))))
    objects = json.loads(str(mixed.files["data/v2/compile-atlas.json"].content))
    assert len(lines) == len(objects) == 139
    assert list(lines[0]) == list(COLUMNS)
    assert list(objects[0]) == [name for name, value in lines[0].items() if value], "what is unknown is missing"
    assert {line["source_licence"] for line in lines} == {"Apache-2.0", ""}
    first = next(line for line in lines if line["device"] == "a100" and line["model"] == "vit")
    assert (first["eager_ms"], first["speedup_low"]) == ("9.325", "")
    assert {each.get("break_even_calls") for each in objects} >= {None, "inf"}


def test_no_text_of_a_csv_file_is_a_formula(tmp_path: Path) -> None:
    formula = "=HYPERLINK(1)"
    failed = measured(status=Status.OOM, reason=formula, model="@SUM", device_name="+1", batch_size=2)
    results = load(write(tmp_path, [failed, measured(reason="'quoted", run="run-2")]))
    fields = [field for row in csv.reader(StringIO(downloads.as_csv(results))) for field in row]
    assert {f"'{formula}", "'@SUM", "'+1", "''quoted"} <= set(fields)
    assert not [field for field in fields if re.match(r"[=+@\t\r]|-(?![\d.])", field)]
    texts = {str(value) for row in json.loads(downloads.as_json(results)) for value in row.values()}
    assert {formula, "@SUM", "'quoted"} <= texts
