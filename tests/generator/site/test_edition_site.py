"""Pages built on demand, after any edits, are byte for byte those of a new build."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from conftest import LANGUAGES, THOROUGH, small_project

from generator.pages.guide import Guide
from generator.site import PLUGIN, mkdocs_files
from generator.site.edition_site import SEARCH_INDEX, EditionSite
from generator.site.mkdocs_internals import load_separate_config

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


class Writer:
    """A person who edits, and a site that follows."""

    def __init__(self, project: Path, site: Path) -> None:
        self.project, self.site = project, site
        settings = {"site_dir": str(site), "site_url": "http://127.0.0.1:8000/"}
        config = load_separate_config(str(project / "mkdocs.yml"), **settings)
        plugin = config.plugins[PLUGIN]
        self.guide = Guide(project)
        plugin.guide, plugin.serving = self.guide, True
        self.pages = {
            code: EditionSite(self.guide, code, partial(plugin.config_of, config, code)) for code in LANGUAGES
        }
        self.guide.update()

    def look_at_one(self, chance: random.Random) -> None:
        """Request one page, as a browser does."""
        code = chance.choice(LANGUAGES)
        self.build(code, chance.choice(list(self.addresses(code))))

    def build(self, code: str, path: str) -> None:
        for _ in self.pages[code].build(path):
            pass

    def addresses(self, code: str) -> Iterator[str]:
        for page in self.guide.edition(code).pages:
            stem = page.uri.removesuffix(".md").removesuffix("index")
            yield f"{stem.rstrip('/')}/index.html".lstrip("/")

    def whole(self) -> dict[str, bytes]:
        """Return every page, as HTML and as Markdown, and every index."""
        found = {}
        for code in self.pages:
            pages = list(self.addresses(code))
            twins = [address.replace(".html", ".md") for address in pages]
            for path in (*pages, *twins, SEARCH_INDEX, "sitemap.xml", "404.html", "llms.txt", "feed.xml"):
                self.build(code, path)
                found[f"{code} {path}"] = (self.site / ("" if code == "en" else code) / path).read_bytes()
        return found


def insert(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    path.write_text(text.replace(old, new, 1), "utf-8")


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


def run_gone(project: Path, _: random.Random) -> None:
    for path in (project / "bench/results/measured").glob("run-*.jsonl"):
        path.unlink()


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
    *(paragraph, paragraph, title, message, message, record, record, run_gone, page_comes_or_goes, template),
)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_after_random_edits_every_page_is_that_of_a_new_build(seed: int, project: Path, tmp_path: Path) -> None:
    here = shutil.copytree(project, tmp_path / "project", symlinks=True)
    chance = random.Random(seed)
    writer = Writer(here, tmp_path / "site")
    writer.whole()
    for _ in range(EDITS):
        chance.choice(EDITORS)(here, chance)
        writer.guide.update()
        writer.look_at_one(chance)
    made = writer.whole()
    mkdocs_files._converted.clear()
    assert made == Writer(here, tmp_path / "scratch").whole()


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
