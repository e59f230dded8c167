"""Staging: everything another builder needs, below one folder, and nothing of anybody else's touched."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest
import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config

from bench.errors import AtlasError
from generator.language import LANGUAGES
from generator.stage import stage


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real guide, staged once."""
    out = tmp_path_factory.mktemp("staged")
    stage(out)
    return out


def everything(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_language_is_a_project_of_its_own_with_the_same_pages(staged: Path) -> None:
    pages = {code: {name for name in everything(staged / code / "docs") if name.endswith(".md")} for code in LANGUAGES}
    assert all(pages[code] == pages["en"] for code in LANGUAGES)
    assert {"index.md", "compile.md", "devices/index.md", "devices/a100.md", "models/vit.md"} <= pages["en"]
    for code in LANGUAGES:
        settings = yaml.safe_load((staged / code / "mkdocs.yml").read_text(encoding="utf-8"))
        assert settings["theme"]["language"] == code
        assert "hooks" not in settings


def test_pages_hold_no_expressions(staged: Path) -> None:
    for name, content in everything(staged).items():
        if name.endswith(".md"):
            assert b"{{" not in content, name
            assert b"{%" not in content, name


def test_another_builder_can_build_it(staged: Path, tmp_path: Path) -> None:
    """Plain MkDocs without our hook is the other builder at hand: every link and image is found."""
    config = load_config(str(staged / "ar" / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True)
    build(config)
    assert 'dir="rtl"' in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_staging_again_changes_nothing_and_removes_what_is_gone(staged: Path) -> None:
    before = everything(staged)
    stage(staged)
    assert everything(staged) == before


def test_files_of_others_are_refused_and_kept(tmp_path: Path) -> None:
    mine = tmp_path / "en" / "docs" / "index.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(AtlasError, match="in the way"):
        stage(tmp_path)
    assert everything(tmp_path) == {"en/docs/index.md": b"mine"}


def test_files_that_are_no_longer_needed_go_and_others_stay(staged: Path, tmp_path: Path) -> None:
    del staged
    stage(tmp_path)
    manifest = tmp_path / ".staged.json"
    manifest.write_text(manifest.read_text().replace("[", '["en/docs/devices/gone.md",', 1))
    (tmp_path / "en" / "docs" / "devices" / "gone.md").write_text("from an earlier run")
    (tmp_path / "notes.txt").write_text("mine")
    stage(tmp_path)
    assert not (tmp_path / unquote("en/docs/devices/gone.md")).exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"
