"""``python -m generator``, as people run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "generator", *arguments],
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_the_commands() -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(f"  {command} " in done.stdout for command in ("build", "check", "messages", "status"))


def test_the_generator_needs_no_torch() -> None:
    code = "import sys, generator.cli, generator.checks, generator.pages; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


def test_the_project_has_no_findings() -> None:
    done = run("check")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_catalogs_of_the_project_are_up_to_date() -> None:
    from generator.catalogs import extract, read, template, update
    from generator.language import LANGUAGES, LOCALES, catalog_path

    messages = extract(ROOT)
    assert str(template(messages)).rstrip() == (LOCALES / "messages.pot").read_text(encoding="utf-8").rstrip()
    for code in LANGUAGES[1:]:
        path = catalog_path(code)
        assert str(update(read(path), messages, code)).rstrip() == path.read_text(encoding="utf-8").rstrip(), code


def test_status_as_json_counts_every_page() -> None:
    done = run("status", "--json")
    rows = json.loads(done.stdout)
    assert {row["language"] for row in rows} == {"zh", "ja", "ar"}
    assert {"docs/index.md", "interface"} <= {row["page"] for row in rows}
    assert all(row["translated"] + row["fuzzy"] + row["missing"] == row["messages"] for row in rows)


def test_status_as_a_table() -> None:
    done = run("status")
    assert done.returncode == 0
    assert "docs/index.md" in done.stdout
    assert "declared complete" in done.stdout


def test_an_unknown_language_is_refused_without_a_traceback() -> None:
    done = run("check", "--language", "klingon")
    assert done.returncode == 2
    assert done.stderr.startswith("error: language: 'klingon' is not the code of a language\n  remedy: ")
    assert "Traceback" not in done.stderr


def test_a_missing_catalog_is_refused_without_a_traceback() -> None:
    done = run("check", "--language", "ko")
    assert done.returncode == 2
    assert "the catalog of Korean (ko) is missing" in done.stderr
    assert "python -m generator messages --language ko" in done.stderr
