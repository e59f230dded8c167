"""The layout of the code: the order of packages, no import circle, package docstrings, class names, and a test for each
module."""

from __future__ import annotations

import ast
import graphlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from conftest import ROOT

ORDER: Mapping[str, Sequence[str]] = {
    "bench": (
        *("records", "plans", "statistics", "estimates", "measuring", "running", "fleet", "exchange", "harness"),
        "commands",
    ),
    "generator": (
        *(
            "data",
            "languages",
            "drawing",
            "figures",
            "gains",
            "estimates",
            "pages",
            "checks",
            "live",
            "site",
            "commands",
        ),
    ),
    "perf": (),
}
"""Packages in the order of the pipeline: each imports only those before it and itself."""

ROOFS = ("bench.__main__", "generator.__main__", "generator.cli", "perf.__main__")
"""Entry points, which import what they like. The other modules directly below a top package import no package."""

MOST_MODULES = 16
"""In one package, without its subpackages."""

NO_TEST = frozenset({"bench.assets.draw_scene"})
"""Modules without a test: a script that drew the committed image once."""

COVERED_BY: Mapping[str, Sequence[str]] = {
    "bench/commands/test_command_line.py": (
        *("bench.choices", "bench.parent", "bench.commands.comparison_report", "bench.commands.exchange"),
        *("bench.commands.fleet", "bench.commands.listing", "bench.commands.run", "bench.commands.selection"),
    ),
    "attacks/test_attacks.py": ("bench.exchange.copies",),
    "bench/exchange/test_check.py": ("bench.exchange.seals", "bench.exchange.texts"),
    "bench/exchange/test_export.py": (
        *("bench.exchange.exporters.github_action", "bench.exchange.exporters.pytorch_oss_v3"),
        *("bench.exchange.transfer", "bench.records.tabular"),
    ),
    "bench/exchange/test_importers_timm.py": ("bench.exchange.source_files",),
    "bench/measuring/test_worker.py": (
        *("bench.measuring.build", "bench.measuring.environment", "bench.measuring.trial"),
        *("bench.measuring.variants", "bench.plans.messages", "bench.plans.profiles", "bench.running.preflight"),
    ),
    "bench/estimates/test_fitting.py": (
        *("bench.estimates.comparisons", "bench.estimates.features", "bench.estimates.report"),
    ),
    "bench/estimates/test_estimator.py": ("bench.estimates.relatives",),
    "bench/measuring/test_interference.py": ("bench.served_requests",),
    "bench/running/test_live_reporter.py": ("bench.live_progress",),
    "bench/records/test_record.py": ("bench.exchange.importers.huggingface_2023",),
    "bench/records/test_repeatability.py": (
        *("bench.commands.harness", "bench.harness.baselines", "bench.harness.repeats"),
    ),
    "bench/records/test_scrub.py": ("bench.records.wording",),
    "bench/harness/test_proof.py": ("bench.harness.power_limit",),
    "bench/records/test_walkthrough.py": ("bench.measuring.dynamo_walkthrough", "bench.records.document"),
    "generator/data/test_lint.py": ("generator.checks.data_notes", "generator.data.selection"),
    "bench/statistics/test_intervals.py": ("bench.statistics.cells", "bench.statistics.verdicts"),
    "bench/statistics/test_causes.py": ("bench.statistics.processes",),
    "generator/data/test_load.py": ("bench.records.families", "bench.records.strict", "generator.data.names"),
    "generator/drawing/test_plot.py": ("generator.drawing.canvas",),
    "generator/figures/test_cause_sentences.py": ("generator.figures.words",),
    "generator/checks/test_checks.py": ("generator.languages.findings",),
    "generator/pages/test_pages.py": (
        *("generator.languages.front_matter", "generator.languages.page_source", "generator.pages.atlas"),
        "generator.pages.site_file",
    ),
    "generator/pages/test_proofs.py": ("generator.pages.harness",),
    "generator/pages/test_vocabulary.py": (
        *("generator.figures.markup", "generator.pages.documents", "generator.pages.downloads"),
    ),
    "generator/pages/test_walkthrough_page.py": ("generator.drawing.curves",),
    "generator/site/test_edition_site.py": (
        *("generator.pages.guide", "generator.site.mkdocs_files", "generator.site.watching"),
    ),
    "generator/site/test_plugin.py": ("generator.site.site_build",),
    "generator/site/test_publish.py": ("generator.site.publishing",),
    "generator/live/test_strip.py": ("generator.live.wsgi",),
    "browser/test_estimates.py": ("generator.estimates.own_model", "generator.estimates.wording"),
    "generator/estimates/test_accuracy_tables.py": ("generator.estimates.answers",),
    "perf/test_perf.py": (
        *("perf.builders", "perf.content", "perf.cost", "perf.edits", "perf.report", "perf.run"),
        "perf.served",
    ),
}
"""The test that covers each module without a test module of its name."""


@cache
def modules() -> Mapping[str, Path]:
    """Return the files of all modules by dotted name; a package is the module of its `__init__.py`."""
    paths = [path for top in ORDER for path in (ROOT / top).rglob("*.py")]
    return {_dotted(path): path for path in sorted(paths)}


def _dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(name: str) -> ast.Module:
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


@cache
def imports(name: str) -> frozenset[str]:
    """Return the modules of the project that this one imports, also within functions."""
    imported = {module for node in ast.walk(tree(name)) for module in _imported(node)}
    return frozenset(imported & set(modules()))


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the modules of an import statement. `from package import x` imports the module `package.x` if there is one,
    else the package itself."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module:
        assert not node.level, "imports are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name if name in modules() else node.module for name in names)


def package_of(name: str) -> tuple[str, str]:
    """Return the top package of a module, and the package below it; '' for a module directly below the top."""
    top, _, rest = name.partition(".")
    package = rest.partition(".")[0]
    return top, package if package in ORDER[top] else ""


# ── Imports ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_order_names_every_package() -> None:
    folders = {path.parent for top in ORDER for path in (ROOT / top).glob("*/*.py")}
    named = {ROOT / top / package for top, packages in ORDER.items() for package in packages}
    assert {path for path in folders if (path / "__init__.py").exists()} == named


def test_each_package_imports_only_those_before_it() -> None:
    wrong = []
    for name in set(modules()) - set(ROOFS):
        top, package = package_of(name)
        before = ORDER[top][: ORDER[top].index(package) + 1] if package else ()
        for imported in imports(name):
            other_top, other = package_of(imported)
            if other_top == top and other and other not in before:
                wrong.append(f"{name} imports {imported}")
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize(("top", "allowed"), [("bench", {"bench"}), ("generator", {"bench", "generator"})])
def test_measuring_knows_nothing_of_rendering_and_nobody_of_perf(top: str, allowed: set[str]) -> None:
    wrong = [
        f"{name} imports {imported}"
        for name in modules()
        for imported in imports(name)
        if name.partition(".")[0] == top and imported.partition(".")[0] not in allowed
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_no_circle_of_imports() -> None:
    try:
        graphlib.TopologicalSorter({name: imports(name) for name in modules()}).prepare()
    except graphlib.CycleError as error:
        pytest.fail(" → ".join(reversed(error.args[1])))


# ── Packages ────────────────────────────────────────────────────────────────────────────────────────────────────────


def packages() -> list[str]:
    return [name for name, path in modules().items() if path.name == "__init__.py"]


def test_every_package_has_a_docstring() -> None:
    assert {package for package in packages() if not ast.get_docstring(tree(package))} == set()


@pytest.mark.parametrize("package", packages())
def test_no_package_has_too_many_modules(package: str) -> None:
    own = [path for path in modules()[package].parent.glob("*.py") if path.name != "__init__.py"]
    assert len(own) <= MOST_MODULES


# ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_two_public_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name in modules():
        for node in tree(name).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


# ── Tests ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_module_has_a_test() -> None:
    """A test module has the name of its module, where that is not unique with the package before it."""
    tests = {path.stem.removeprefix("test_") for path in (ROOT / "tests").rglob("test_*.py")}
    missing = {
        name
        for name, path in modules().items()
        if path.stem not in {"__init__", "__main__"} and not tests & {path.stem, f"{path.parent.name}_{path.stem}"}
    }
    named = [*NO_TEST, *(module for covered in COVERED_BY.values() for module in covered)]
    assert len(named) == len(set(named)), "a module is named twice in COVERED_BY"
    assert missing == set(named), "each needs a test of its name or a place in COVERED_BY"


@pytest.mark.parametrize("test", COVERED_BY)
def test_what_covers_modules_exists(test: str) -> None:
    assert (ROOT / "tests" / test).is_file()
