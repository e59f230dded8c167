"""Staging writes everything that another builder needs below one folder, and touches no other file."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
import yaml
from browser.hosting import hosted
from conftest import LANGUAGES, copy_of_project, keep_few_records, weekly
from html_page import read
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import Browser, expect

from bench.errors import AtlasError
from generator.languages.language import load_language
from generator.site.stage import stage


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real pages, with few records."""
    project = copy_of_project(tmp_path_factory.mktemp("project"))
    keep_few_records(project)
    return project


@pytest.fixture(scope="module")
def staged(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("staged")
    stage(out, project)
    return out


def everything(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_language_is_a_project_of_its_own_with_the_same_pages(staged: Path) -> None:
    pages = {code: {name for name in everything(staged / code) if name.endswith(".md")} for code in LANGUAGES}
    assert all(pages[code] == pages["en"] for code in LANGUAGES)
    assert {"index.md", "compile.md", "devices/index.md", "devices/a100.md", "models/vit.md"} <= pages["en"]
    for code in LANGUAGES:
        settings = yaml.safe_load((staged / f"{code}.yml").read_text(encoding="utf-8"))
        assert settings["theme"]["language"] == code
        assert settings["plugins"] == ["search"]


def test_data_are_there_once_and_every_language_links_to_them(staged: Path) -> None:
    assert [path.parts[-4] for path in staged.rglob("data/v2/compile-atlas.csv")] == ["en"]
    assert 'href="data/v2/compile-atlas.csv"' in (staged / "en/data.md").read_text(encoding="utf-8")
    assert 'href="../data/v2/compile-atlas.csv"' in (staged / "zh/data.md").read_text(encoding="utf-8")


@weekly
def test_mkdocs_builds_it_without_our_plugin(staged: Path, tmp_path: Path) -> None:
    """MkDocs is another builder, too: it reads every page and resolves every link of the Markdown."""
    config = load_config(str(staged / "ar.yml"), site_dir=str(tmp_path / "site"), strict=True)
    build(config)
    assert 'dir="rtl"' in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


# ── Zensical ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def zensical_site(staged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that Zensical builds of all languages, English first."""
    zensical = os.environ.get("ATLAS_ZENSICAL") or shutil.which("zensical")
    if zensical is None:
        pytest.skip("no Zensical: pipx install zensical, or set ATLAS_ZENSICAL to the path of one")
    project = shutil.copytree(staged, tmp_path_factory.mktemp("zensical") / "staged")
    for code in LANGUAGES:
        done = subprocess.run(
            [zensical, "build", "--strict", "--config-file", f"{code}.yml"],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return project / "site"


def test_zensical_builds_every_page_of_every_language_into_one_site(staged: Path, zensical_site: Path) -> None:
    for code in LANGUAGES:
        root = zensical_site / load_language(code).prefix
        for path in (staged / code).rglob("*.md"):
            uri = path.relative_to(staged / code)
            built = root / (uri.parent if uri.name == "index.md" else uri.with_suffix("")) / "index.html"
            page = read(built)
            assert (page.lang, page.direction) == (code, load_language(code).direction), built
            assert page.h1, built


def test_links_of_zensicals_pages_lead_to_files_of_their_language(zensical_site: Path) -> None:
    others = tuple(f"/{code}/" for code in LANGUAGES[1:])
    for path in sorted(zensical_site.rglob("index.html")):
        here = "/" + path.relative_to(zensical_site).as_posix()
        own = next((other for other in others if here.startswith(other)), "/")
        homes = {"/", *others, own}
        for link in read(path).links:
            target = unquote(urlsplit(urljoin(here, link)).path)
            if link.startswith(("data:", "#")) or urlsplit(link).netloc or target in homes:
                continue
            assert target.startswith((own, "/data/")), (here, link)
            assert own != "/" or not target.startswith(others), (here, link)
            file = zensical_site / target.lstrip("/")
            assert (file / "index.html" if target.endswith("/") else file).is_file(), (here, link)


@pytest.mark.browser
def test_zensicals_site_works_in_the_browser(zensical_site: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)  # it has scripts of its own
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("response", lambda response: problems.append(response.url) if response.status >= 400 else None)
    with hosted(zensical_site) as address:
        page.goto(f"{address}ar/explorer/")
        expect(page.locator(".explorer tbody tr").first).to_be_visible()
        page.goto(f"{address}zh/devices/t4/")
        expect(page.locator("table.is-sortable").first).to_be_visible()
        image = page.locator("figure.chart img:visible").first
        assert image.evaluate("async image => (await image.decode(), image.currentSrc)").startswith(f"{address}zh/")
        page.locator(".md-select button").hover()
        page.locator(".md-select__link[hreflang=ar]").click()
        page.wait_for_function("document.documentElement.lang === 'ar'")
    page.close()
    assert problems == []


# ── Whose files ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_files_of_others_are_refused_and_kept(project: Path, tmp_path: Path) -> None:
    mine = tmp_path / "en" / "index.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(AtlasError, match="in the way"):
        stage(tmp_path, project)
    assert everything(tmp_path) == {"en/index.md": b"mine"}


def test_files_that_are_no_longer_needed_go_and_others_stay(staged: Path, project: Path, tmp_path: Path) -> None:
    out = shutil.copytree(staged, tmp_path / "staged")
    manifest = out / ".staged.json"
    manifest.write_text(manifest.read_text().replace("[", '["en/devices/gone.md",', 1))
    (out / "en" / "devices" / "gone.md").write_text("from an earlier run")
    (out / "notes.txt").write_text("mine")
    stage(out, project)
    assert not (out / "en/devices/gone.md").exists()
    assert (out / "notes.txt").read_text() == "mine"
