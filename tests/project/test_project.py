"""The commands and files that README and other documents name exist, and all packages are installed."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT
from setuptools import find_packages  # type: ignore[import-untyped, unused-ignore]

from bench.commands import command_line
from bench.commands.selection import profile_of
from generator import cli as generator_cli

TEXTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "recipes/README.md")]

COMMAND = re.compile(
    r"(?:^|`|\S=\S+ )(?:\.venv/bin/)?(python -m (?:bench|generator) [^`\n]*|make [a-z-]+)", re.MULTILINE
)
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|yml|toml|md|txt|po|sh))`")


def commands(text: str) -> list[str]:
    return COMMAND.findall(text)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name if path.parent == ROOT else path.parent.name)
def test_commands_that_are_named_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands(path.read_text(encoding="utf-8")):
        match shlex.split(command, comments=True):
            case ["make", target]:
                assert re.search(rf"(?m)^{target}:", makefile), command
            case [*_, "--help"]:
                pass
            case ["python", "-m", "bench", "run", *arguments]:
                profile_of(command_line.parser().parse_args(["run", *arguments]))
            case ["python", "-m", "bench", *arguments]:
                command_line.parser().parse_args(arguments)
            case ["python", "-m", "generator", name, *arguments]:
                generator_cli.main.commands[name].make_context(name, arguments, resilient_parsing=True)
            case _:
                pytest.fail(command)


def test_enough_commands_are_looked_at() -> None:
    assert sum(len(commands(path.read_text(encoding="utf-8"))) for path in TEXTS) > 40


@pytest.mark.parametrize("path", TEXTS[:3], ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    made = {"locales/ko/LC_MESSAGES/messages.po"}  # by a command of the same sentence
    named = set(FILE.findall(path.read_text(encoding="utf-8"))) - made
    assert named
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_every_package_is_installed() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["packages"]["find"]
    folders = {path.parent for top in ("bench", "generator") for path in (ROOT / top).rglob("__init__.py")}
    names = {folder.relative_to(ROOT).as_posix().replace("/", ".") for folder in folders}
    assert set(find_packages(str(ROOT), exclude=patterns["exclude"], include=patterns["include"])) == names
