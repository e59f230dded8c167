"""``python -m generator``, as people run it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from conftest import LANGUAGES

from generator.cli import main
from generator.languages import catalogs
from generator.languages.language import catalog_path
from generator.languages.pofile import parse

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> Result:
    """In this process: to load all that a command needs takes longer than the command."""
    return CliRunner().invoke(main, arguments, env={"COLUMNS": "100"})


def test_an_address_that_is_taken_is_refused_with_another_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        guide = [sys.executable, "-m", "generator", "guide", "--dev-addr", f"127.0.0.1:{port}"]
        done = subprocess.run(guide, cwd=ROOT, capture_output=True, text=True, check=False, timeout=100)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    assert f"127.0.0.1:{port}: the server cannot listen here: the port is already in use" in done.stderr
    assert f"python -m generator guide --dev-addr 127.0.0.1:{port + 1}" in done.stderr


def test_the_generator_needs_no_torch() -> None:
    code = "import sys, generator.cli, generator.checks.checks, generator.pages.pages; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_project_has_no_findings() -> None:
    done = run("check")
    assert (done.exit_code, done.stdout) == (0, "")


def test_the_catalogs_of_the_project_are_up_to_date() -> None:
    from generator.languages.catalogs import extract, read, update

    template = extract(ROOT)
    for code in LANGUAGES[1:]:
        assert update(read(code), template, code) == catalog_path(code).read_text(encoding="utf-8"), code


def test_status_counts_what_is_missing_or_fuzzy_and_names_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.match(r"ja: [\d,]+ messages, 0 missing, 0 fuzzy\n$", run("status", "--language", "ja").stdout)
    catalog = 'msgid ""\nmsgstr ""\n\nmsgid "One"\nmsgstr ""\n\n#, fuzzy\nmsgid "Two"\nmsgstr "二"\n'
    half_done = parse(catalog.encode(), "messages.po")
    monkeypatch.setattr(catalogs, "read", lambda _: half_done)
    assert run("status", "--language", "ja").stdout.splitlines() == [
        "ja: 2 messages, 1 missing, 1 fuzzy",
        "  locales/ja/LC_MESSAGES/messages.po:4: One",
        "  locales/ja/LC_MESSAGES/messages.po:8: Two",
    ]


def test_a_missing_catalog_is_refused_without_a_traceback() -> None:
    done = run("check", "--language", "ko")
    assert done.exit_code == 2
    assert "the catalog of Korean (ko) is missing" in done.stderr
    assert "python -m generator messages --language ko" in done.stderr
