"""What the project says about itself is true: the commands, files and versions that its documents name exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

from bench.commands import command_line
from generator import cli as generator_cli

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "requirements/README.md", "locales/README.md")
"""Documents for contributors. Those for readers are pages, which have tests of their own."""

EXAMPLES = {"docs/memory.md", "locales/ko/LC_MESSAGES/messages.po"}
"""Files that a recipe tells its reader to make, or that a command makes."""

COMMAND = re.compile(
    r"(?:^|`|\S=\S+ )(?:\.venv/bin/)?(python -m (?:bench|generator) ?[^`\n]*|make [a-z-]+)", re.MULTILINE
)
PATH = re.compile(
    r"`((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|yml|toml|md|txt|in|po|sh|csv))?|[\w-]+\.(?:in|md|sh|toml|txt|yaml|yml))`"
)
TARGET = re.compile(r"\]\((?!https?:)([^)#]+)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# ── Commands and paths ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_that_are_named_exist(name: str) -> None:
    makefile = text("Makefile")
    for line in COMMAND.findall(text(name)):
        match shlex.split(line, comments=True):
            case ["make", target]:
                assert re.search(rf"(?m)^{target}:", makefile), line
            case [*_, "--help"]:
                pass
            case ["python", "-m", "bench", name_of_command, *arguments]:
                command = command_line.main.commands[name_of_command]
                command.make_context(name_of_command, arguments, resilient_parsing=not arguments)
            case ["python", "-m", module, *_] if module.startswith("generator."):
                assert (ROOT / f"{module.replace('.', '/')}.py").exists(), line
            case ["python", "-m", "generator", command_name, *arguments]:
                generator_cli.main.commands[command_name].make_context(command_name, arguments, resilient_parsing=True)
            case _:
                pytest.fail(line)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_paths_that_are_named_exist(name: str) -> None:
    """A path is relative to the root, or to the folder of its document."""
    document = text(name)
    named = {*PATH.findall(document), *TARGET.findall(document)} - EXAMPLES
    assert named
    missing = {path for path in named if not any((folder / path).exists() for folder in (ROOT, (ROOT / name).parent))}
    assert missing - ignored() == set()


def ignored() -> set[str]:
    """The folders that git ignores: commands make them."""
    return {line.lstrip("/") for line in text(".gitignore").splitlines()}


# ── The tree of README.md ───────────────────────────────────────────────────────────────────────────────────────────


def tree() -> dict[str, str]:
    """Folder → its line."""
    block = re.search(r"(?ms)^## Where things are\n.*?^```\n(.*?)^```", text("README.md"))
    assert block
    folders: dict[str, str] = {}
    parent = ""
    for line in block[1].splitlines():
        match = re.fullmatch(r"( *)(\w+/) +(\S.*)", line)
        assert match, line
        indent, folder, what = match.groups()
        parent = parent if indent else folder
        folders[parent + folder if indent else folder] = what
    return folders


def test_the_tree_has_each_package_and_nothing_else() -> None:
    packages = {
        f"{path.parent.relative_to(ROOT).as_posix()}/"
        for top in ("bench", "generator")
        for path in (ROOT / top).glob("*/__init__.py")
    }
    named = set(tree())
    assert {folder for folder in named if not (ROOT / folder).is_dir()} == set()
    assert packages - named == set()


def test_folders_import_only_from_those_above_them() -> None:
    """Modules directly below `bench/` and `generator/` serve every folder, or start the program: they have no place."""
    order = [folder.strip("/").replace("/", ".") for folder in tree()]

    def place(module: str) -> int:
        return max((at for at, package in enumerate(order) if f"{module}.".startswith(f"{package}.")), default=-1)

    upward = [
        f"{path.relative_to(ROOT)}: {module}"
        for top in ("bench", "generator")
        for path in (ROOT / top).rglob("*.py")
        for module in imports(path)
        if path.parent != ROOT / top and place(module) > place(".".join(path.relative_to(ROOT).with_suffix("").parts))
    ]
    assert upward == []


def imports(path: Path) -> Iterator[str]:
    """The modules of this project that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        yield from (name for name in names if name.partition(".")[0] in {"bench", "generator"})


# ── Packages and versions ─────────────────────────────────────────────────────────────────────────────────
