"""Compiled templates outlive their environment, and are those of the newest text."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest

from generator import compiled
from generator.cache import Cache


@pytest.fixture(autouse=True)
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "_CODE", Cache("templates", ".code", tmp_path))
    return tmp_path / "templates"


def rendered(text: str) -> str:
    environment = jinja2.Environment(
        loader=jinja2.DictLoader({"page.html": text}), autoescape=True, bytecode_cache=compiled.CompiledTemplates()
    )
    return environment.get_template("page.html").render(name="<b>")


def test_a_template_is_compiled_once_for_all_environments(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rendered("of {{ name }}") == "of &lt;b&gt;"
    monkeypatch.delattr(jinja2.Environment, "compile")
    assert rendered("of {{ name }}") == "of &lt;b&gt;"


def test_another_text_is_another_template() -> None:
    assert rendered("of {{ name }}") != rendered("to {{ name }}")


def test_damaged_code_is_made_again(code: Path) -> None:
    rendered("of {{ name }}")
    (file,) = (path for path in code.rglob("*") if path.is_file())
    file.write_bytes(file.read_bytes()[:-1])
    assert rendered("of {{ name }}") == "of &lt;b&gt;"
