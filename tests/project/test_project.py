"""What the project says about itself is true: the commands, files and versions that its documents name exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import ROOT

from bench.commands import command_line
from bench.commands.selection import profile_of, recipes_of
from bench.plans.profiles import KEEP_MEMORY
from generator import cli as generator_cli

DOCUMENTS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "requirements/README.md", "locales/README.md")
"""Documents for contributors."""

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
"""Documents for readers, whose commands stand in blocks."""

EXAMPLES = {"docs/memory.md", "locales/ko/LC_MESSAGES/messages.po"}
"""Files that a recipe tells its reader to make, or that a command makes."""

COMMAND = re.compile(
    r"(?:^|`|\S=\S+ )(?:\.venv/bin/)?(python -m (?:bench|generator) ?[^`\n]*|make [a-z-]+)", re.MULTILINE
)
CONSOLE = re.compile(r"(?ms)^ *```console\n(.*?)^ *```$")
PATH = re.compile(
    r"`((?:[\w.-]+/)+(?:[\w.-]+\.(?:py|yml|toml|md|txt|in|po|sh|csv))?|[\w-]+\.(?:in|md|sh|toml|txt|yaml|yml))`"
)
TARGET = re.compile(r"\]\((?!https?:)([^)#]+)")


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# ── Commands and paths ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", [*DOCUMENTS, *PAGES])
def test_commands_that_are_named_exist(name: str) -> None:
    """The options of commands exist, and their values are names that the bench knows."""
    document = text(name).replace("{{ model.chosen_by }}", "--model ViT")
    blocks = "".join(CONSOLE.findall(document)).replace(".venv/bin/", "").splitlines()
    for line in COMMAND.findall(document) if name in DOCUMENTS else blocks:
        match shlex.split(line, comments=True):
            case ["make", target]:
                assert re.search(rf"(?m)^{target}:", text("Makefile")), line
            case [*_, "--help"] | ["git", "add" | "commit", *_] | [_, "python", "serve.py"] | ["python", "warm_up.py"]:
                pass
            case ["export", *settings]:
                known = KEEP_MEMORY, {"TORCHINDUCTOR_CACHE_DIR": "/var/cache/torchinductor"}
                assert dict(setting.split("=") for setting in settings) in known
            case ["python", "-m", "bench", command, *arguments]:
                found = command_line.main.commands[command]
                options = found.make_context(command, arguments, resilient_parsing=not arguments).params
                if command == "run" and arguments:
                    profile_of(SimpleNamespace(**options))
                    assert recipes_of(SimpleNamespace(**options))
            case ["python", "-m", module, *_] if module.startswith("generator."):
                assert (ROOT / f"{module.replace('.', '/')}.py").exists(), line
            case ["python", "-m", "generator", command, *arguments]:
                generator_cli.main.commands[command].make_context(command, arguments, resilient_parsing=True)
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


def tree() -> list[str]:
    """The packages, in their order."""
    block = re.search(r"(?ms)^## Where things are\n.*?^```\n(.*?)^```", text("README.md"))
    assert block
    folders: list[str] = []
    parent = ""
    for indent, folder in re.findall(r"(?m)^( *)(\w+/) +\S", block[1]):
        parent = parent if indent else folder
        folders.append(parent + folder if indent else folder)
    return folders


def test_the_tree_has_each_package_and_nothing_else() -> None:
    packages = {
        f"{path.parent.relative_to(ROOT).as_posix()}/"
        for top in ("bench", "generator")
        for path in (ROOT / top).glob("*/__init__.py")
    }
    assert [folder for folder in tree() if not (ROOT / folder).is_dir()] == []
    assert packages - set(tree()) == set()


def test_folders_import_only_from_those_above_them() -> None:
    """Modules directly below `bench/` and `generator/` serve every folder, or start the program: they have no place."""
    order = [folder.strip("/").replace("/", ".") for folder in tree()]

    def place(module: str) -> int:
        return max((at for at, package in enumerate(order) if f"{module}.".startswith(f"{package}.")), default=-1)

    for path in (*(ROOT / "bench").glob("*/**/*.py"), *(ROOT / "generator").glob("*/**/*.py")):
        own = place(".".join(path.relative_to(ROOT).with_suffix("").parts))
        assert [module for module in imports(path) if place(module) > own] == [], path


def imports(path: Path) -> Iterator[str]:
    """The modules of this project that a module imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
        yield from (name for name in names if name.partition(".")[0] in {"bench", "generator"})
