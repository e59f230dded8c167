"""Pages built on demand equal those of a whole build, and the internals of MkDocs that they need have not changed."""

from __future__ import annotations

import hashlib
import inspect
import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from conftest import PREFIXES, THOROUGH, in_project, small_project
from mkdocs.commands import build
from mkdocs.config import load_config
from mkdocs.config.config_options import Plugins
from mkdocs.livereload import LiveReloadServer

from generator.pages.guide import Guide
from generator.site import PLUGIN
from generator.site.on_demand import SiteOnDemand

DEVICE = """---
for_each: devices
title: "{{ device.label }}"
---

# {{ device.label | name }} {#device}

{{ latency_table(device=device.slug) }}
"""

ROUNDS, EDITS = (40, 12) if THOROUGH else (1, 8)

LANGUAGES = tuple(PREFIXES) if THOROUGH else ("en", "ja", "ar")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = ("devices/each.md", "devices/index.md", "when-not.md")
    project = small_project(tmp_path_factory.mktemp("on-demand"), *pages, languages=LANGUAGES)
    (project / "docs/devices/each.md").write_text(DEVICE, encoding="utf-8")
    return project


class Writer:
    """A person who edits, and a site that follows."""

    def __init__(self, project: Path, site: Path) -> None:
        self.project, self.site = project, site
        config = load_config(str(project / "mkdocs.yml"), site_dir=str(site), site_url="http://127.0.0.1:8000/")
        self.guide = Guide(project)
        plugin = config.plugins[PLUGIN]
        plugin.guide, plugin._command = self.guide, "serve"
        load = partial(plugin.load, config)
        self.sites = {code: SiteOnDemand(self.guide, code, load) for code in LANGUAGES}
        self.guide.update()

    def build(self, code: str, path: str) -> None:
        while self.sites[code].build(path):
            pass

    def addresses(self, code: str) -> Iterator[str]:
        for page in self.guide.edition(code).pages:
            stem = page.uri.removesuffix(".md").removesuffix("index")
            yield f"{stem.rstrip('/')}/index.html".lstrip("/")

    def whole(self) -> dict[str, bytes]:
        """Return every page, as HTML and as Markdown, and every file for programs."""
        found = {}
        for code in self.sites:
            pages = list(self.addresses(code))
            twins = [address.replace(".html", ".md") for address in pages]
            for path in (*pages, *twins, "sitemap.xml", "404.html", "llms.txt"):
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


CHART = "assets/charts/overview-device-a100.svg"


def test_a_chart_comes_from_the_page_that_was_asked_for_in_any_language_and_never_from_older_records(
    project: Path, tmp_path: Path
) -> None:
    here = shutil.copytree(project, tmp_path / "project", symlinks=True)
    insert(here / "docs/devices/each.md", "latency_table(device=device.slug)", "overview_chart(device=device.slug)")
    writer = Writer(here, tmp_path / "site")
    writer.build("ja", "devices/a100/index.html")
    writer.build("en", CHART)
    before = (writer.site / CHART).read_bytes()
    assert not any(page.is_rendered for page in writer.guide.edition("en").pages)
    published = here / "bench/results/published/huggingface-2023.jsonl"
    insert(published, '"device_name":"NVIDIA A100"', '"device_name":"NVIDIA A10"')
    writer.guide.update()
    writer.build("en", "devices/a100/index.html")
    writer.build("en", CHART)
    assert (writer.site / CHART).read_bytes() != before


def test_a_language_shares_no_plugin_with_another(project: Path, tmp_path: Path) -> None:
    writer = Writer(project, tmp_path / "site")
    for code in LANGUAGES[:2]:
        writer.build(code, "llms.txt")
    first, second = (writer.sites[code].config.plugins for code in LANGUAGES[:2])
    for name in (PLUGIN, "material/search"):
        assert first[name] is not second[name]


# ── MkDocs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

READ: dict[Callable[..., Any], str] = {
    build.build: "c476b64474ac",
    build._populate_page: "31a70ea4caef",
    build._build_page: "adcdbd14b236",
    build._build_theme_template: "628a78f6a129",
    Plugins.load_plugin: "2cc0a6432aad",
    LiveReloadServer.__init__: "e79efeb939bf",
    LiveReloadServer.serve: "e1d492bd6096",
    LiveReloadServer._build_loop: "0bea1402bb4a",
    LiveReloadServer._serve_request: "3b1515c96f56",
    LiveReloadServer._inject_js_into_html: "3f6d2f64c23e",
}
"""The functions whose code our plugin depends on, with the digest of their code in MkDocs 1.6.1."""


@pytest.mark.parametrize("function", READ, ids=lambda function: function.__qualname__)
def test_mkdocs_is_as_it_was_read(function: Callable[..., Any]) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    digest = hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:12]
    assert digest == READ[function], (
        f"{name} is not what it was in MkDocs 1.6.1: compare both, adapt generator/site, and record {digest} here"
    )
