"""Expressions of pages: they ask our own values, write no file, evaluate no code, and make nothing endless."""

from __future__ import annotations

from pathlib import Path

import jinja2
import pytest
from atlas_data import measured, write

from generator.data.load import load
from generator.languages.language import load_language
from generator.pages.atlas import Atlas
from generator.pages.sandbox import Sandbox


@pytest.fixture
def atlas(tmp_path: Path) -> Atlas:
    return Atlas(load(write(tmp_path / "records", [measured()])), load_language("en"))


@pytest.mark.parametrize(
    "expression",
    [
        "atlas.results.table.speedup.to_csv(path)",
        "atlas.results.table['speedup'].to_pickle(path)",
        "atlas.results.table.speedup.array.tofile(path)",
        "atlas.language.catalog.write_text(path)",
        "atlas.language.locale.parse('de')",
        "atlas.__class__.__mro__",
        "''.__class__.__mro__[1].__subclasses__()",
        "atlas.results.rows.append(1)",
        "'x' * 99999999999",
        "[1] * 9999999999",
        "9 ** 99999999",
        "range(9999999999) | list",
    ],
)
def test_what_leads_out_is_refused(expression: str, atlas: Atlas, tmp_path: Path) -> None:
    path = tmp_path / "written"
    jinja = Sandbox(undefined=jinja2.StrictUndefined)
    template = jinja.from_string(f"{{{{ {expression} }}}}")
    with pytest.raises((jinja2.TemplateError, OverflowError)):
        template.render(atlas=atlas, path=str(path))
    assert not path.exists()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("atlas.models[0].label", "ViT"),
        ("atlas.device.values() | map(attribute='slug') | first", "h200"),
        ("atlas.latest.year", "2026"),
        ("'-' * 3", "---"),
        ("atlas.latency.rows | length * 2", "2"),
        ("'a {}'.format(1)", "a 1"),
    ],
)
def test_what_pages_need_is_there(expression: str, value: str, atlas: Atlas) -> None:
    assert Sandbox(undefined=jinja2.StrictUndefined).from_string(f"{{{{ {expression} }}}}").render(atlas=atlas) == value
