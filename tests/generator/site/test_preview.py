"""The development server shows after any edits what a new build has; it answers, reveals nothing, and goes on."""

from __future__ import annotations

import http.client
import json
import random
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser.test_serving import Server, serving
from conftest import LANGUAGES, PREFIXES, THOROUGH, in_project, small_project
from mkdocs.config import load_config

from bench.errors import AtlasError
from generator.pages.guide import Guide
from generator.site import PLUGIN, preview
from generator.site.preview import EditionOnDemand

DEVICE = """---
for_each: devices
title: "{{ device.label }}"
---

# {{ device.label | name }} {#device}

{{ latency_table(device=device.slug) }}
"""

ROUNDS, EDITS = (40, 12) if THOROUGH else (1, 8)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    project = small_project(tmp_path_factory.mktemp("on-demand"), "devices/each.md", "devices/index.md", "when-not.md")
    (project / "docs/devices/each.md").write_text(DEVICE, encoding="utf-8")
    return project


# ── Pages on demand ─────────────────────────────────────────────────────────────────────────────────────────────────


class Writer:
    """A person who edits, and a site that follows."""

    def __init__(self, project: Path, site: Path) -> None:
        self.project, self.site = project, site
        config = load_config(str(project / "mkdocs.yml"), site_dir=str(site), site_url="http://127.0.0.1:8000/")
        self.guide = Guide(project)
        plugin = config.plugins[PLUGIN]
        plugin.guide, plugin._command = self.guide, "serve"
        settings, load = partial(plugin._settings, config), partial(plugin._load, config)
        self.editions = {code: EditionOnDemand(self.guide, code, settings, load) for code in LANGUAGES}
        self.guide.update()

    def build(self, code: str, path: str) -> None:
        for _ in self.editions[code].build(path):
            pass

    def addresses(self, code: str) -> Iterator[str]:
        for page in self.guide.edition(code).pages:
            stem = page.uri.removesuffix(".md").removesuffix("index")
            yield f"{stem.rstrip('/')}/index.html".lstrip("/")

    def whole(self) -> dict[str, bytes]:
        """Return every page, as HTML and as Markdown, and every file for programs."""
        found = {}
        for code in self.editions:
            pages = list(self.addresses(code))
            twins = [address.replace(".html", ".md") for address in pages]
            for path in (*pages, *twins, "sitemap.xml", "404.html", "llms.txt", "feed.xml"):
                self.build(code, path)
                found[f"{code} {path}"] = (self.site / PREFIXES[code] / path).read_bytes()
        return found


def insert(path: Path, old: str, new: str) -> None:
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")


def paragraph(project: Path, chance: random.Random) -> None:
    path = chance.choice(sorted((project / "docs").rglob("*.md")))
    path.write_text(f"{path.read_text('utf-8').rstrip()}\n\nWords {chance.random()}.\n", "utf-8")


def title(project: Path, chance: random.Random) -> None:
    insert(project / "docs/when-not.md", "title: ", f"title: {chance.randrange(100)} ")


def message(project: Path, chance: random.Random) -> None:
    path = project / "locales" / chance.choice(LANGUAGES[1:]) / "LC_MESSAGES/messages.po"
    lines = path.read_text("utf-8").split("\n")
    filled = [number for number, line in enumerate(lines) if line.startswith('msgstr "') and len(line) > 20]
    number = chance.choice(filled[1:])
    lines[number] = lines[number].replace('msgstr "', f'msgstr "{chance.randrange(10)}')
    path.write_text("\n".join(lines), "utf-8")


def record(project: Path, chance: random.Random) -> None:
    published = project / "bench/results/published/huggingface-2023.jsonl"
    found = json.loads(chance.choice(published.read_text("utf-8").splitlines()))
    found["run"] = f"run-{chance.randrange(3)}"
    if chance.random() < 0.5:
        found["environment"]["device_name"] = f"NVIDIA Testbed {chance.randrange(3)}"
    path = project / f"bench/results/measured/{found['run']}.jsonl"
    path.write_text(json.dumps(found) + "\n", "utf-8")


def page_comes_or_goes(project: Path, chance: random.Random) -> None:
    path, entry = project / "docs/another.md", "  - another.md\n"
    if path.exists():
        path.unlink()
        insert(project / "mkdocs.yml", entry, "")
    else:
        path.write_text(f"# Another {{#another}}\n\nPage {chance.random()}.\n", "utf-8")
        insert(project / "mkdocs.yml", "  - when-not.md\n", f"  - when-not.md\n{entry}")


def template(project: Path, chance: random.Random) -> None:
    insert(project / "docs/theme/partials/copyright.html", "</div>", f"<!-- {chance.random()} --></div>")


EDITORS: tuple[Callable[[Path, random.Random], None], ...] = (
    *(paragraph, paragraph, title, message, message, record, record, page_comes_or_goes, template),
)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_after_random_edits_every_page_is_that_of_a_new_server(seed: int, project: Path, tmp_path: Path) -> None:
    here = shutil.copytree(project, tmp_path / "project", symlinks=True)
    chance = random.Random(seed)
    writer = Writer(here, tmp_path / "site")
    writer.whole()
    for _ in range(EDITS):
        chance.choice(EDITORS)(here, chance)
        writer.guide.update()
        code = chance.choice(LANGUAGES)
        writer.build(code, chance.choice(list(writer.addresses(code))))
    assert writer.whole() == Writer(here, tmp_path / "scratch").whole()


def test_pages_on_demand_are_those_of_a_build(project: Path, tmp_path: Path) -> None:
    done = in_project(project, "mkdocs", "build", "--site-dir", str(tmp_path / "built"))
    assert done.returncode == 0, done.stderr
    shown = Writer(project, tmp_path / "site").whole()
    for name, content in shown.items():
        code, path = name.split(" ")
        text = content.decode().replace("script-src 'self' 'unsafe-inline'", "script-src 'self'")
        assert (tmp_path / "built" / PREFIXES[code] / path).read_text("utf-8") == text, name


def test_a_page_that_is_gone_leaves_nothing_behind(project: Path, tmp_path: Path) -> None:
    here = shutil.copytree(project, tmp_path / "project", symlinks=True)
    page_comes_or_goes(here, random.Random(0))
    writer = Writer(here, tmp_path / "site")
    writer.build("ar", "another/index.html")
    page_comes_or_goes(here, random.Random(0))
    writer.guide.update()
    writer.build("ar", "another/index.html")
    assert not (tmp_path / "site/ar/another/index.html").exists()


CHART = "assets/charts/latency-device-a100.svg"


def test_a_chart_comes_from_the_page_that_was_asked_for_in_any_language_and_never_from_older_records(
    project: Path, tmp_path: Path
) -> None:
    here = shutil.copytree(project, tmp_path / "project", symlinks=True)
    insert(here / "docs/devices/each.md", "latency_table(device=device.slug)", "latency_chart(device=device.slug)")
    writer = Writer(here, tmp_path / "site")
    writer.build("zh", "devices/a100/index.html")
    writer.build("en", CHART)
    before = (writer.site / CHART).read_bytes()
    assert not any(page.is_rendered for page in writer.guide.edition("en").pages)
    published = here / "bench/results/published/huggingface-2023.jsonl"
    insert(published, '"device_name":"NVIDIA A100"', '"device_name":"NVIDIA A10"')
    writer.guide.update()
    writer.build("en", "devices/a100/index.html")
    writer.build("en", CHART)
    assert (writer.site / CHART).read_bytes() != before


def test_an_error_of_an_older_input_is_not_shown_beside_a_newer_one() -> None:
    class Edition:
        def build(self, _path: str) -> Iterator[None]:
            yield
            shown._read_sources()  # an edit arrives between two steps
            raise AtlasError("of the edit before")

    guide: Any = SimpleNamespace(languages=[], faults={}, update=lambda: None)
    shown = preview.Preview(guide, lambda _: {}, lambda _: None)
    shown._editions["en"] = Edition()  # type: ignore[assignment]
    shown._build("index.html")
    assert shown._problems == {}


# ── The server ──────────────────────────────────────────────────────────────────────────────────────────────────────

PATIENCE_S = 60.0
"""A rebuild of a page takes a moment; on a busy machine, longer."""

SECRET, NOTICE = "nobody's business", 'class="atlas-problem"'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A small guide in two languages, with a secret beside the published files."""
    project = small_project(tmp_path_factory.mktemp("project"), languages=("en", "ar"))
    (project / "secret.txt").write_text(SECRET)
    temporary = project / "tmp"
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        with serving(project) as server:
            yield server
    assert [path.name for path in temporary.iterdir()] == [], "no folder is left behind"


def get(server: Server, path: str = "") -> str:
    """Return a page, whatever its status."""
    try:
        with urllib.request.urlopen(server.address + path, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def await_page(server: Server, is_it: Callable[[str], object], path: str = "") -> str:
    """Wait for a page that fulfils a condition."""
    end = time.monotonic() + PATIENCE_S
    while not is_it(page := get(server, path)):
        assert time.monotonic() < end, "".join(server.output)[-3000:]
        time.sleep(0.2)
    return page


def say(server: Server, words: str) -> None:
    """Edit the first page."""
    page = server.project / "docs" / "index.md"
    page.write_text(re.sub(r"(?m)^A paragraph.*$", f"A paragraph: {words}.", page.read_text("utf-8")), "utf-8")


def test_an_address_without_its_last_slash_leads_to_the_page(server: Server) -> None:
    with urllib.request.urlopen(f"{server.address}ar", timeout=PATIENCE_S) as answer:
        assert answer.url == f"{server.address}ar/"


def test_the_search_index_has_all_pages_when_it_is_asked_for(server: Server) -> None:
    found = json.loads(get(server, "ar/search/search_index.json"))
    assert {entry["location"].partition("#")[0] for entry in found["docs"]} == {""}


PATHS = [f"/{prefix}{'/'.join([up] * depth)}/{name}" for up in ("..", "%2e%2e", "..%2f..") for prefix in ("", "assets/")
         for depth in (1, 2, 12) for name in ("secret.txt", "mkdocs.yml", "etc/passwd")]  # fmt: skip
PATHS += ["//etc/passwd", "/%2fetc/passwd", "/secret.txt", "/mkdocs.yml", "/.cache/", "/~root/", f"/{'a' * 5000}"]


def test_no_path_leads_out_of_the_site(server: Server) -> None:
    host = urlsplit(server.address).netloc
    for path in PATHS:
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
        connection.putrequest("GET", path, skip_host=True)  # as it is, which no browser would send
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        assert answer.status in (302, 400, 404, 414, 500), (path, answer.status)
        assert not any(text in body for text in ("root:", SECRET, "site_name:")), path
        connection.close()
    assert NOTICE not in get(server), "a request is no input"


def test_a_fault_of_one_language_is_shown_on_its_pages_alone(server: Server) -> None:
    catalog = server.project / "locales" / "ar" / "LC_MESSAGES" / "messages.po"
    whole = catalog.read_text("utf-8")
    catalog.write_text(whole + '\nmsgid "unfinished\n', "utf-8")
    page = await_page(server, lambda page: NOTICE in page, "ar/")
    assert "ar/LC_MESSAGES/messages.po" in page
    say(server, "beside a broken catalog")
    assert NOTICE not in await_page(server, lambda page: "beside a broken catalog" in page)
    assert NOTICE in await_page(server, lambda page: "beside a broken catalog" in page, "ar/"), "with the last catalog"
    catalog.write_text(whole, "utf-8")
    await_page(server, lambda page: NOTICE not in page, "ar/")


BAD = ["bench/results/published/huggingface-2023.jsonl", "locales/glossary.toml", "mkdocs.yml", "docs/index.md"]


def test_bad_data_of_any_kind_is_reported_or_ignored(server: Server) -> None:
    for name in BAD if THOROUGH else BAD[:1]:
        path = server.project / name
        whole = path.read_bytes()
        for content in (b"", whole[: len(whole) // 2], b"\xff\xfe" + whole, whole + b'{"\n', b"[" * 100_000):
            path.write_bytes(content)
            time.sleep(0.7)  # it is noticed, or with the next one
            assert get(server)
        path.write_bytes(whole)
    say(server, "after bad data")
    assert NOTICE not in await_page(server, lambda page: "after bad data" in page)
