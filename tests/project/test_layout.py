"""The layout of the code: the order of packages, no import circle, package docstrings, and class names."""

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
        *("records", "plans", "statistics", "measuring", "running", "exchange"),
        "commands",
    ),
    "generator": (
        *(
            "data",
            "languages",
            "drawing",
            "figures",
            "gains",
            "pages",
            "checks",
            "live",
            "site",
            "commands",
        ),
    ),
}
"""Packages in the order of the pipeline: each imports only those before it and itself."""

ROOFS = ("bench.__main__", "generator.__main__", "generator.cli")
"""Entry points, which import what they like. The other modules directly below a top package import no package."""


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


def test_measuring_knows_nothing_of_rendering() -> None:
    wrong = [
        f"{name} imports {imported}"
        for name in modules()
        for imported in imports(name)
        if name.startswith("bench") and imported.startswith("generator")
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


# ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_no_two_public_classes_have_one_name() -> None:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for name in modules():
        for node in tree(name).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
