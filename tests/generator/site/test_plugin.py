"""The built site: four languages with the same pages, links that lead somewhere, and builds that fail with a reason."""

from __future__ import annotations

import json
import re
import struct
import xml.etree.ElementTree as ET  # our own files
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import mkdocs.__main__
import pytest
from click.testing import CliRunner
from conftest import LANGUAGES, PREFIXES, BuiltSite, in_project, small_project
from html_page import HtmlPage, read

from generator.languages.language import load_language
from generator.site.settings import open_graph_locale

Pages = dict[str, dict[str, HtmlPage]]


@pytest.fixture(scope="module")
def documents(site: BuiltSite) -> dict[Path, HtmlPage]:
    """All HTML files, parsed."""
    return {path: read(path) for path in sorted(site.folder.rglob("*.html"))}


@pytest.fixture(scope="module")
def pages(site: BuiltSite, documents: dict[Path, HtmlPage]) -> Pages:
    """Address → parsed page, by language."""
    return {
        code: {address: documents[path] for address, path in site.pages(prefix).items()}
        for code, prefix in PREFIXES.items()
    }


# ── Languages ───────────────────────────────────────────────────────────────────────────────────────────────────────


def article(path: Path) -> str:
    html = re.search(r"(?s)<article.*</article>", path.read_text(encoding="utf-8"))
    assert html, path
    return html[0]


CODE = re.compile(r"(?s)<(pre|code)\b.*?</\1>")


def structure(html: str, address: str, home: str) -> dict[str, list[str]]:
    """The parts that are equal in all languages. Prose may have them in another order."""
    prose = CODE.sub("", html)
    links = re.findall(r'href="([^"]*)"', prose)
    return {
        "headings": re.findall(r'<h\d id="[^"]*"', prose),
        "elements": re.findall(r"<(?:table|tr|th|td|figure|img|li|details|form|select|input|button)\b", prose),
        "code": sorted(re.sub("<[^>]*>", "", each[0]) for each in CODE.finditer(html)),
        "links": sorted(urljoin(home + address, link).replace(home, "/") for link in links),
        "sorted by": re.findall(r'data-sort="([^"]*)"', prose),
    }


def test_every_language_has_the_same_pages_with_the_same_structure(site: BuiltSite) -> None:
    english = {address: structure(article(path), address, "/") for address, path in site.pages().items()}
    for code, prefix in PREFIXES.items():
        here = site.pages(prefix)
        assert here.keys() == english.keys()
        for address, path in here.items():
            for part, value in structure(article(path), address, f"/{prefix}").items():
                assert value == english[address][part], f"{part} of {address} in {code}"


def test_no_two_headings_of_a_page_are_alike(site: BuiltSite) -> None:
    for address, path in site.pages().items():
        headings = [re.sub("<[^>]*>", "", each) for each in re.findall(r"(?s)<h\d id=.*?</h\d>", article(path))]
        assert len(headings) == len(set(headings)), address


def test_no_bidi_control_identifier_or_mark_of_ours_is_left(documents: dict[Path, HtmlPage]) -> None:
    for path in documents:
        page = path.read_text(encoding="utf-8")
        assert not re.search("[\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]", page), path
        assert not re.search(r"\b(?:duration|digital)-(?:second|millisecond|minute|gigabyte)", page), path
        assert not re.search(">(?:None|nan)<|Undefined", CODE.sub("", page)), path


# ── Links ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_link_leads_somewhere_inside_the_site(site: BuiltSite, documents: dict[Path, HtmlPage]) -> None:
    missing = []
    for path, page in documents.items():
        here = urljoin(site.address, path.relative_to(site.folder).as_posix())
        for link in page.links:
            if link.startswith(("data:", "javascript:", "#")):
                continue
            target = urlsplit(urljoin(here, link))
            relative = unquote(target.path).removeprefix(urlsplit(site.address).path)
            file = site.folder / relative
            file = file / "index.html" if target.path.endswith("/") else file
            if not file.is_file():
                missing.append((path.relative_to(site.folder).as_posix(), link))
    assert missing == []


def test_nothing_is_fetched_from_another_host(site: BuiltSite, documents: dict[Path, HtmlPage]) -> None:
    external = {address for page in documents.values() for address in page.external}
    assert external == set()
    for path in site.folder.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path


# ── Readers that are programs ───────────────────────────────────────────────────────────────────────────────────────


def file_at(site: BuiltSite, address: str) -> Path:
    assert address.startswith(site.address), address
    relative = unquote(urlsplit(address.removeprefix(site.address)).path)
    return site.folder / relative / "index.html" if address.endswith("/") or not relative else site.folder / relative


def test_every_page_is_there_as_markdown_and_names_it(site: BuiltSite, pages: Pages) -> None:
    for code, prefix in PREFIXES.items():
        for address in pages[code]:
            text = (site.folder / prefix / address / "index.md").read_text("utf-8")
            assert text.startswith("# ")
            assert f"({site.address}{prefix}{address})" in text.partition("\n\n")[2].partition("\n\n")[0]
            assert not re.search(r"</(?:bdi|form|span)>|data-sort|table-caption", text), address
            for link in re.findall(r"\]\(([^()\s]+)\)", re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)):
                is_own = link.startswith(site.address)
                assert not is_own or file_at(site, link.partition("#")[0]).is_file(), (address, link)
                assert is_own or link.startswith("https://"), (address, link)


def test_llms_txt_lists_every_page_of_the_navigation_with_its_description(site: BuiltSite, pages: Pages) -> None:
    for code, prefix in PREFIXES.items():
        text = (site.folder / prefix / "llms.txt").read_text("utf-8")
        heading, summary, *_ = text.split("\n\n")
        assert heading.startswith("# ")
        assert summary.startswith("> ")
        links = re.findall(r"^- \[.+\]\((\S+)\): \S", text, re.MULTILINE)
        listed = (address for address in pages[code] if "/families/" not in address)  # outside of the navigation
        assert {f"{site.address}{prefix}{address}index.md" for address in listed} <= {*links}
        assert all(file_at(site, link).is_file() for link in links)
        assert len(links) == text.count("\n- ")


# ── Heads, for those who show a link to a page ────────────────────────────────────────────────────────────────────────

SCRIPTS = {"zh": "[\u4e00-\u9fff]", "ja": "[\u3041-\u30fa\u4e00-\u9fff]", "ar": "[\u0620-\u064a]"}


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_names_its_translations_and_itself(code: str, site: BuiltSite, pages: Pages) -> None:
    for address, found in pages[code].items():
        expected = {other: f"{site.address}{prefix}{address}" for other, prefix in PREFIXES.items()}
        assert found.alternates == {**expected, "x-default": f"{site.address}{address}"}
        assert found.said["canonical"] == found.said["og:url"] == expected[code]


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_has_words_of_its_own_in_its_language(code: str, pages: Pages) -> None:
    heads = {address: page.said for address, page in pages[code].items()}
    descriptions = [said["description"] for said in heads.values()]
    assert len(set(descriptions)) == len(heads)
    locale = open_graph_locale(load_language(code))
    for said in heads.values():
        assert said["og:description"] == said["og:description"].strip() == said["description"]
        assert said["og:title"]
        assert said["og:locale"] == locale
        assert re.search(SCRIPTS.get(code, "[a-z]"), said["description"])


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_page_has_a_card(code: str, site: BuiltSite, pages: Pages) -> None:
    for address, page in pages[code].items():
        card = site.folder / page.said["og:image"].removeprefix(site.address)
        width, height = struct.unpack(">II", card.read_bytes()[16:24])
        assert (width, height) == (1200, 630), address


# ── Search, sitemap ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_search_index_holds_the_pages_of_its_language_and_no_other(site: BuiltSite, pages: Pages) -> None:
    for code, prefix in PREFIXES.items():
        index = json.loads((site.folder / prefix / "search" / "search_index.json").read_text(encoding="utf-8"))
        titles = {entry["location"]: entry["title"] for entry in index["docs"] if "#" not in entry["location"]}
        assert titles.keys() == pages[code].keys()
        plain = {location: re.sub(r"<[^>]+>|\u200b", "", title) for location, title in titles.items()}
        for location, title in plain.items():
            assert title == pages[code][location].h1.replace("¶", "").strip(), (code, location)


def test_sitemaps_list_every_page(site: BuiltSite, pages: Pages) -> None:
    for code, prefix in PREFIXES.items():
        listed = ET.parse(site.folder / prefix / "sitemap.xml").iterfind(".//{*}loc")
        assert sorted(loc.text or "" for loc in listed) == sorted(
            f"{site.address}{prefix}{page}" for page in pages[code]
        )


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small_project(tmp_path)


MISTAKES = {
    "record": (
        *("bench/results/published/huggingface-2023.jsonl", '"batch_size":1,', '"batch_size":"one",'),
        ["huggingface-2023.jsonl:1", "batch_size"],
    ),
    "catalog": ("locales/zh/LC_MESSAGES/messages.po", "\n", '\nmsgid "unfinished\n', ["zh/LC_MESSAGES/messages.po"]),
    "page": ("docs/index.md", "# Small", "{{ atlas.no_such_figure }}\n\n# Small", ["index.md:", "no_such_figure"]),
    "template": ("docs/theme/main.html", "\n", "\n{% endif %}\n", ["main.html:"]),
}
"""File, what stands there once, what breaks it, and what the error message contains."""


@pytest.mark.parametrize(("file", "old", "new", "told"), MISTAKES.values(), ids=MISTAKES)
def test_bad_input_ends_a_build_with_its_place_and_a_remedy(
    project: Path, file: str, old: str, new: str, told: list[str]
) -> None:
    path = project / file
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    command = ["build", "--strict", "--config-file", str(project / "mkdocs.yml"), "--site-dir", str(project / "site")]
    done = CliRunner().invoke(mkdocs.__main__.cli, command)  # in this process: to load all that it needs takes longer
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code != 0
    assert all(part in done.output for part in (*told, "remedy")), done.output
    assert "Traceback" not in done.output


def test_faults_of_some_languages_are_all_told_and_leave_the_last_site_as_it_was(tmp_path: Path) -> None:
    project = small_project(tmp_path, languages=("en", "ja", "ar"))
    site = tmp_path / "site"
    site.mkdir()
    (site / ".hidden").touch()
    done = in_project(project, "mkdocs", "build")
    assert done.returncode == 0, done.stderr
    before = {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}
    catalogs = {code: project / "locales" / code / "LC_MESSAGES" / "messages.po" for code in ("ja", "ar")}
    catalogs["ja"].write_text(catalogs["ja"].read_text("utf-8") + '\nmsgid "unfinished\n', "utf-8")
    message = "%(count)s comparison"
    translation = re.compile(rf'(msgid "{re.escape(message)}"\n(?:.*\n)*?msgstr\[0\] ")')
    text, count = translation.subn(r"\g<1>%(cuont)s ", catalogs["ar"].read_text("utf-8"), count=1)
    assert count == 1
    catalogs["ar"].write_text(text, "utf-8")
    done = in_project(project, "mkdocs", "build")
    assert done.returncode == 1
    output = done.stdout + done.stderr
    for told in (
        "Japanese (ja)",
        "ja/LC_MESSAGES/messages.po:",
        "unfinished",
        "Arabic (ar)",
        "ar/LC_MESSAGES",
        message,
    ):
        assert told in output, output
    assert "Traceback" not in output
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before


def test_a_broken_link_fails_a_strict_build_which_only_reads_the_authored_pages(tmp_path: Path) -> None:
    project = small_project(tmp_path, languages=("en", "ar"))
    path = project / "docs/index.md"
    path.write_text(path.read_text() + "\n[There](models/no-such-page.md)\n")
    before = {path: path.stat().st_mtime_ns for path in (project / "docs").rglob("*")}
    done = in_project(project, "mkdocs", "build", "--strict")
    assert done.returncode == 1
    assert "models/no-such-page.md" in done.stderr
    assert "Aborted with 1 warnings in strict mode" in done.stdout
    assert "Traceback" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in (project / "docs").rglob("*")} == before
