"""The built site: four languages with the same pages, links that lead somewhere, and builds that fail with a reason."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import socket
import xml.etree.ElementTree as ET  # our own files
from collections.abc import Callable
from pathlib import Path
from unicodedata import bidirectional
from urllib.parse import unquote, urljoin, urlsplit

import mkdocs.__main__
import pytest
from click.testing import CliRunner
from conftest import LANGUAGES, PREFIXES, ROOT, BuiltSite, in_project, small_project
from html_page import HtmlPage, read
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from generator.data.load import load
from generator.data.selection import records
from generator.languages.language import load_language
from generator.parallel import FORKS
from generator.site.material import labels_file, wording
from generator.site.site_build import SiteBuild

Pages = dict[str, dict[str, HtmlPage]]
HAN, KANA, ARABIC = "[\u4e00-\u9fff]", "[\u3041-\u30fa]", "[\u0620-\u064a]"


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


# ── Every language has everything ───────────────────────────────────────────────────────────────────────────────────


def test_every_language_has_the_same_pages(pages: Pages) -> None:
    for code in LANGUAGES:
        assert pages[code].keys() == pages["en"].keys()


def test_there_is_a_page_for_each_authored_page_and_for_each_device_and_model(pages: Pages) -> None:
    authored = {path.relative_to(ROOT / "docs").with_suffix("").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    addresses = {f"{uri}/".removesuffix("index/") for uri in authored if not uri.endswith("each")}
    rows = records(load().newest)
    addresses |= {f"devices/{row['device']}/" for row in rows}
    addresses |= {f"models/{row['model']}/" for row in rows if row["workload"] == "latency"}
    addresses |= {f"models/families/{row['family']}/" for row in rows if row["workload"] == "throughput"}
    assert pages["en"].keys() == addresses


def test_pages_declare_their_language_and_direction(site: BuiltSite, pages: Pages) -> None:
    for code, prefix in PREFIXES.items():
        language = load_language(code)
        found = [*pages[code].values(), read(site.folder / prefix / "404.html")]
        assert {(page.lang, page.direction) for page in found} == {(code, language.direction)}


def test_headings_and_titles_are_in_the_language_of_the_page(pages: Pages) -> None:
    for code, script in {"zh": HAN, "ja": f"{HAN}|{KANA}", "ar": ARABIC}.items():
        for address in ("", "compile/", "devices/", "models/", "methodology/", "data/"):
            page = pages[code][address]
            assert re.search(script, page.h1), (code, address, page.h1)
            assert re.search(script, page.title), (code, address, page.title)


def test_heading_ids_are_the_same_in_every_language(pages: Pages) -> None:
    for code in LANGUAGES[1:]:
        for address, page in pages[code].items():
            assert page.ids == pages["en"][address].ids, (code, address)


# ── The words of the theme ──────────────────────────────────────────────────────────────────────────────────────────


def test_no_page_has_words_of_the_theme_that_are_not_ours(site: BuiltSite) -> None:
    for code, prefix in PREFIXES.items():
        ours = wording(load_language(code))
        theirs = set(re.findall(r'": "([^"]{2,})"', labels_file(code).read_text("utf-8"))) - {*ours.values(), code}
        assert len(theirs) > 20, code
        for address in ("index.html", "compile/index.html", "404.html"):
            html = (site.folder / prefix / address).read_text("utf-8")
            settings = json.loads(html.partition('<script id="__config" type="application/json">')[2].partition("<")[0])
            assert settings["translations"] == {name: ours[name] for name in settings["translations"]}
            frame = re.sub(r"(?s)<article.*</article>", "", html)
            assert [text for text in theirs if re.search(rf'[">]\s*{re.escape(text)}\s*(?:: |["<])', frame)] == [], code
            assert 'alt="logo"' not in frame


def test_the_neighbours_of_a_page_are_named_with_the_colon_of_the_language(site: BuiltSite) -> None:
    for code, colon in {"en": ": ", "zh": "：", "ja": "：", "ar": ": "}.items():
        labels, html = (
            wording(load_language(code)),
            (site.folder / PREFIXES[code] / "modes/index.html").read_text("utf-8"),
        )
        for direction in ("footer.previous", "footer.next"):
            assert re.search(rf'aria-label="{labels[direction]}{colon}\S', html), (code, direction)


# ── Right to left, also where there is no stylesheet ────────────────────────────────────────────────────────────────


def test_titles_and_descriptions_begin_in_the_direction_of_the_language(site: BuiltSite) -> None:
    told = r'<title>(.*?)</title>|<meta (?:name="description"|property="og:(?:title|description)") content="(.*?)"'
    for code, prefix in PREFIXES.items():
        is_rtl = load_language(code).direction == "rtl"
        files = [*site.pages(prefix).values()]
        assert files
        for path in (*files, site.folder / prefix / "feed.xml"):
            text = path.read_text("utf-8")
            found = re.findall(told, text) or [(each, "") for each in re.findall(r"<(?:sub)?title>(.*?)</", text)]
            assert len(found) >= 2
            for title, description in found:
                first = next(sign for sign in title or description if bidirectional(sign) in {"L", "R", "AL"})
                assert (bidirectional(first) != "L") == is_rtl, (code, path, title, description)


def test_code_runs_from_the_left_without_a_stylesheet(site: BuiltSite) -> None:
    for path in site.pages("ar/").values():
        html = path.read_text("utf-8")
        assert not re.search(r"<(?:code|pre|kbd|samp)\b(?![^>]*\bdir=\"ltr\")", html), path


# ── Links ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_versions_keep_their_order_in_the_list_of_sections_of_a_right_to_left_page(site: BuiltSite) -> None:
    page = (site.folder / "ar" / "devices" / "a100" / "index.html").read_text("utf-8")
    sections = page[page.index("md-nav--secondary") : page.index("<article")]
    assert "\u200ePyTorch 2.1.0.dev\u200e" in sections
    assert "<bdi" not in sections


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


def test_assets_are_published_once(site: BuiltSite) -> None:
    assert (site.folder / "assets" / "stylesheets" / "atlas.css").is_file()
    assert not list(site.folder.glob("*/assets/stylesheets"))
    assert not list(site.folder.glob("*/assets/javascripts"))
    assert not list(site.folder.rglob("theme")), "templates are no part of the site"


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


def test_a_page_as_markdown_has_the_figures_of_its_tables(site: BuiltSite) -> None:
    text = (site.folder / "ja" / "devices" / "a100" / "index.md").read_text("utf-8")
    line = next(line for line in text.splitlines() if line.startswith("| [DETR]"))
    assert "| 60.188 |" in text
    assert line.count("|") >= 5


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


def test_the_feed_is_atom_and_its_links_lead_somewhere(site: BuiltSite) -> None:
    names = {"a": "http://www.w3.org/2005/Atom"}
    for prefix in PREFIXES.values():
        path = site.folder / prefix / "feed.xml"
        root = ET.parse(path).getroot()
        assert root.tag == "{http://www.w3.org/2005/Atom}feed"
        for owner in (root, *root.findall("a:entry", names)):
            assert {"id", "title", "updated"} <= {child.tag.partition("}")[2] for child in owner}
            link = owner.find("a:link[@rel='alternate']", names)
            assert link is not None
            assert file_at(site, link.attrib["href"].partition("#")[0]).is_file()
        (own,) = root.findall("a:link[@rel='self']", names)
        assert file_at(site, own.attrib["href"]) == path
        updated = [entry.findtext("a:updated", "", names) for entry in root.findall("a:entry", names)]
        assert root.findtext("a:updated", "", names) == max(updated) == updated[0]


# ── Search, sitemap ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_search_index_holds_the_pages_of_its_language_and_no_other(site: BuiltSite, pages: Pages) -> None:
    for code, prefix in PREFIXES.items():
        index = json.loads((site.folder / prefix / "search" / "search_index.json").read_text(encoding="utf-8"))
        titles = {entry["location"]: entry["title"] for entry in index["docs"] if "#" not in entry["location"]}
        assert titles.keys() == pages[code].keys()
        plain = {location: re.sub(r"<[^>]+>|\u200b", "", title) for location, title in titles.items()}
        for location, title in plain.items():
            assert title == pages[code][location].h1.replace("¶", "").strip(), (code, location)


def test_the_chinese_index_is_cut_into_words(site: BuiltSite) -> None:
    docs = json.loads((site.folder / "zh" / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    runs = re.findall(f"{HAN}+", " ".join(entry["text"] for entry in docs))
    assert len(runs) > 500
    assert sum(len(run) <= 4 for run in runs) / len(runs) > 0.95


def test_sitemaps_list_every_page_with_its_translations(site: BuiltSite, pages: Pages) -> None:
    names = {"s": "http://www.sitemaps.org/schemas/sitemap/0.9", "x": "http://www.w3.org/1999/xhtml"}
    for code, prefix in PREFIXES.items():
        urls = ET.parse(site.folder / prefix / "sitemap.xml").findall("s:url", names)
        listed: dict[str, dict[str, str]] = {}
        for url in urls:
            alternates = {link.attrib["hreflang"]: link.attrib["href"] for link in url.findall("x:link", names)}
            listed[url.findtext("s:loc", "", names)] = alternates
        assert listed.keys() == {f"{site.address}{prefix}{address}" for address in pages[code]}
        for location, alternates in listed.items():
            address = location.removeprefix(f"{site.address}{prefix}")
            expected = {other: f"{site.address}{below}{address}" for other, below in PREFIXES.items()}
            assert alternates == {**expected, "x-default": f"{site.address}{address}"}


def test_the_404_page_of_the_root_speaks_every_language_and_the_others_their_own(site: BuiltSite) -> None:
    root = read(site.folder / "404.html")
    assert all(re.search(script, root.text) for script in (HAN, KANA, ARABIC, "Page not found"))
    assert re.search(ARABIC, read(site.folder / "ar" / "404.html").text)
    assert not re.search(HAN, read(site.folder / "ar" / "404.html").text)


# ── Bad input ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small_project(tmp_path)


Mistake = Callable[[Path], list[str]]
"""Breaks a project and returns what the error message has to contain."""


def break_record(project: Path) -> list[str]:
    path = project / "bench/results/published/huggingface-2023.jsonl"
    path.write_text(path.read_text().replace('"batch_size":1,', '"batch_size":"one",', 1))
    return ["huggingface-2023.jsonl:1", "batch_size", "remedy"]


def break_catalog(project: Path) -> list[str]:
    path = project / "locales/zh/LC_MESSAGES/messages.po"
    path.write_text(path.read_text() + '\nmsgid "unfinished\n')
    return ["locales/zh/LC_MESSAGES/messages.po", "remedy"]


def remove_catalog(project: Path) -> list[str]:
    (project / "locales/ja/LC_MESSAGES/messages.po").unlink()
    return ["locales/ja/LC_MESSAGES/messages.po", "python -m generator messages", "remedy"]


def name_unknown_figure(project: Path) -> list[str]:
    path = project / "docs/index.md"
    path.write_text(path.read_text() + "\n{{ atlas.no_such_figure }}\n")
    return ["index.md:", "no_such_figure", "remedy"]


def break_template(project: Path) -> list[str]:
    path = project / "docs/theme/main.html"
    path.write_text(path.read_text() + "\n{% endif %}\n")
    return ["main.html:", "remedy"]


@pytest.mark.parametrize("mistake", [break_record, break_catalog, remove_catalog, name_unknown_figure, break_template])
def test_bad_input_ends_a_build_with_its_place_and_a_remedy(project: Path, mistake: Mistake) -> None:
    expected = mistake(project)
    command = ["build", "--strict", "--config-file", str(project / "mkdocs.yml"), "--site-dir", str(project / "site")]
    done = CliRunner().invoke(mkdocs.__main__.cli, command)  # in this process: to load all that it needs takes longer
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code != 0
    assert all(part in done.output for part in expected), done.output
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
    assert f"{site} stays as it was" in output
    assert "Traceback" not in output
    assert {path: path.read_bytes() for path in site.rglob("*") if path.is_file()} == before
    assert not [*tmp_path.glob(".*.unfinished")]


def test_a_build_beside_another_one_is_refused_and_disturbs_nothing(tmp_path: Path) -> None:
    project = small_project(tmp_path, languages=("en", "ar"))
    other = project / ".site.unfinished"
    other.mkdir()
    (other / "index.html").write_text("of the other")
    lock = os.open(other, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    done = in_project(project, "mkdocs", "build")
    assert done.returncode == 1
    assert "another build of the site is running" in done.stdout + done.stderr
    assert "--site-dir" in done.stdout + done.stderr
    assert [path.name for path in other.iterdir()] == ["index.html"]
    os.close(lock)
    done = in_project(project, "mkdocs", "build")
    assert done.returncode == 0, done.stderr
    assert not other.exists()


def _killed() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@pytest.mark.skipif(not FORKS, reason="languages are built in one process here")
def test_a_language_whose_process_is_killed_is_named(tmp_path: Path) -> None:
    build = SiteBuild(load_config(str(small_project(tmp_path) / "mkdocs.yml")))
    build.start({"Japanese (ja)": dict, "Arabic (ar)": _killed})
    with pytest.raises(Abort, match=r"^Arabic \(ar\): its process .*build again\nAborted .* 1 of") as error:
        build.outlines()
    assert "Japanese" not in str(error.value)


def test_a_missing_font_ends_a_build_with_its_place_and_a_remedy(project: Path) -> None:
    (project / "generator/fonts/latin-bold.ttf").unlink()
    done = in_project(project, "mkdocs", "build", "--strict")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert "latin-bold.ttf" in output
    assert "python -m generator.drawing.make_fonts" in output
    assert "Traceback" not in output


def test_a_broken_link_fails_a_strict_build_which_only_reads_the_authored_pages(tmp_path: Path) -> None:
    project = small_project(tmp_path, languages=("en", "ar"))
    path = project / "docs/index.md"
    path.write_text(path.read_text() + "\n[There](models/no-such-page.md)\n")
    before = {path: path.stat().st_mtime_ns for path in (project / "docs").rglob("*")}
    done = in_project(project, "mkdocs", "build", "--strict")
    assert done.returncode == 1
    assert "models/no-such-page.md" in done.stderr
    assert "Aborted with 2 warnings in strict mode" in done.stdout, "one for each language"
    assert "building the guide" not in done.stdout + done.stderr, "a bar belongs to a terminal"
    assert "Traceback" not in done.stderr
    assert {path: path.stat().st_mtime_ns for path in (project / "docs").rglob("*")} == before


def test_a_taken_port_is_reported_before_anything_is_built(project: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = in_project(project, "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}")
    output = done.stdout + done.stderr
    assert done.returncode != 0
    assert f"127.0.0.1:{port}" in output
    assert "the port is already in use" in output
    assert "Traceback" not in output
