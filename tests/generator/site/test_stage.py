"""Zensical builds the same site from staged files as MkDocs with our plugin; no file of others is touched."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from browser.hosting import hosted
from conftest import copy_of_project, in_project, keep_few_records
from html_page import HtmlPage, read
from playwright.sync_api import Browser, expect

from bench.errors import AtlasError
from generator.languages.language import LIST
from generator.site.stage import stage

ADDRESS = "http://127.0.0.1:8000/"

PREFIXES = {"en": "", "ar": "ar/"}
"""Two languages, one of each direction."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real pages in two languages, with few records."""
    project = copy_of_project(tmp_path_factory.mktemp("project"))
    keep_few_records(project)
    (project / "locales" / LIST).write_text(f"languages = {[*PREFIXES]}\n")
    return project


@pytest.fixture(scope="module")
def by_mkdocs(project: Path) -> Path:
    done = in_project(project, "mkdocs", "build", "--strict", SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "site"


@pytest.fixture(scope="module")
def by_zensical(project: Path) -> Path:
    """The site that Zensical builds, English first."""
    pytest.importorskip("zensical")
    done = in_project(project, "generator", "stage", SITE_URL=ADDRESS)
    assert done.returncode == 0, done.stdout + done.stderr
    for code in PREFIXES:
        done = in_project(project, "zensical", "build", "--strict", "--config-file", f"staged/{code}.yml")
        assert done.returncode == 0, done.stdout + done.stderr
    return project / "staged" / "site"


def files(site: Path) -> set[str]:
    """Everything but files of the theme, and those that each builder has for its own search."""
    names = (path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file())
    theirs = re.compile(r"(?:\w\w/)?(?:assets/(?:images|javascripts|stylesheets)/.*|search.*\.json|sitemap\.xml\.gz)")
    return {name for name in names if not theirs.fullmatch(name)}


def article(page: Path) -> str:
    html = re.search(r"(?s)<article.*</article>", page.read_text(encoding="utf-8"))
    assert html, page
    return html[0]


def shown(page: Path) -> tuple[str, str, str, list[str], list[str], list[str]]:
    """The language, direction, title, text, links and ids of a page."""
    found: HtmlPage = read(page)
    html = article(page)
    links = [link.removeprefix("./") for link in re.findall(r' (?:href|src)="([^"]*)"', html)]
    ids = [each for each in re.findall(r' id="([^"]*)"', html) if each != "__skip"]  # Zensical's own
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", html)).split()
    return found.lang, found.direction, found.title, text, links, ids


def test_both_builders_make_the_same_files_with_the_same_text_links_and_ids(by_mkdocs: Path, by_zensical: Path) -> None:
    assert files(by_mkdocs) == files(by_zensical)
    pages = [name for name in files(by_mkdocs) if name.endswith("index.html")]
    assert len(pages) > 35
    for name in pages:
        assert shown(by_mkdocs / name) == shown(by_zensical / name), name


def test_both_builders_name_translations_cards_and_the_policy(by_mkdocs: Path, by_zensical: Path) -> None:
    def head(page: Path) -> list[str]:
        html = page.read_text(encoding="utf-8").partition("</head>")[0]
        named = re.findall(r'<(?:meta (?:property|http-equiv)=|link rel="alternate ")[^>]*>', html)
        return sorted(each.replace('"./', '"') for each in named)

    for prefix in PREFIXES.values():
        for name in ("index.html", "devices/a100/index.html"):
            found = head(by_mkdocs / prefix / name)
            assert found == head(by_zensical / prefix / name)
            for named in (
                "Content-Security-Policy",
                "text/markdown",
                *PREFIXES,
                "x-default",
                "locale:alternate",
                "image",
            ):
                assert any(named in each for each in found), named


def test_both_builders_speak_our_words_in_every_language(by_mkdocs: Path, by_zensical: Path) -> None:
    for prefix in PREFIXES.values():
        for site in (by_mkdocs, by_zensical):
            (toc,) = set(
                re.findall(r'md-nav--secondary" aria-label="([^"]*)"', (site / prefix / "data/index.html").read_text())
            )
            assert (toc == "Table of contents") == (prefix == "")
    assert read(by_mkdocs / "404.html").text == read(by_zensical / "404.html").text


@pytest.mark.browser
def test_zensicals_site_works_in_the_browser(by_zensical: Path, browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900}, bypass_csp=True)  # it has scripts of its own
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("response", lambda response: problems.append(response.url) if response.status >= 400 else None)
    with hosted(by_zensical) as address:
        page.goto(f"{address}ar/explorer/")
        expect(page.locator(".explorer tbody tr").first).to_be_visible()
        page.goto(f"{address}devices/a100/")
        expect(page.locator("table.is-sortable").first).to_be_visible()
        page.locator(".md-select button").hover()
        page.locator(".md-select__link[hreflang=ar]").click()
        page.wait_for_function("document.documentElement.lang === 'ar'")
        assert page.url == f"{address}ar/devices/a100/"
    page.close()
    assert problems == []


def test_a_folder_of_others_is_refused_and_one_of_an_earlier_run_replaced(project: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_text("mine")
    with pytest.raises(AtlasError, match="files of others"):
        stage(tmp_path, project)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.md"]
    out = tmp_path / "staged"
    stage(out, project)
    (out / "en" / "gone.md").write_text("from an earlier run")
    stage(out, project)
    assert not (out / "en" / "gone.md").exists()
    shutil.rmtree(out)
