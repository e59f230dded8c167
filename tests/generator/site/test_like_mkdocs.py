"""Settings, plugins, hooks, pictures and blocks of an ordinary MkDocs project work here as there, in every language."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest
from conftest import PREFIXES, in_project, small_project
from html_page import read

from generator.languages import catalogs

FRONT = "---\ntitle: {0}\ndescription: About it.\n---\n\n# {0} {{#title}}\n\n"

PAGES = {
    "sub/pictures.md": "![A](../assets/x.png)\n\n![B](y.png)\n\n![C](../pics/z.png)\n\n[Home](../index.md)\n",
    "tagged.md": "Text of a tagged page.\n",
    "tags.md": "<!-- material/tags -->\n",
    "outside.md": "Listed nowhere.\n",
}

DEVICE = """---
title: "{{ device.label }}"
description: A device.
for_each: devices
---

# {{ device.label }} {#device}
"""

SETTINGS = {
    "docs_dir: docs\n": """docs_dir: docs
repo_url: https://example.org/atlas
edit_uri: edit/main/docs/
not_in_nav: |
  /outside.md
""",
    "copyright: ": "copyright: © Somebody\n#",
    "features:\n": "features:\n    - content.action.edit\n    - content.action.view\n",
    "  - search\n": """  - search
  - tags
  - redirects:
      redirect_maps: {old.md: tagged.md}
  - git-revision-date-localized
""",
    "plugins:\n": "hooks: [hook.py]\n\nplugins:\n",
    "extra_css:\n": "extra_javascript:\n  - extra.js\n  - {path: assets/module.mjs, type: module}\n\nextra_css:\n",
    "exclude_docs: |\n": "exclude_docs: |\n  /drafts/\n",
}
"""What stands in mkdocs.yml once, and what stands there instead."""

HOOK = """
def on_page_markdown(markdown, **_):
    return markdown + "\\n\\nFrom the hook.\\n"
"""

COMMITTED = "2024-03-01T00:00:00Z"


def with_settings(project: Path, settings: Mapping[str, str]) -> Path:
    """Change mkdocs.yml."""
    path = project / "mkdocs.yml"
    text = path.read_text(encoding="utf-8")
    for old, new in settings.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small guide with all of them at once, built strictly in four languages."""
    project = small_project(tmp_path_factory.mktemp("ours"), "devices/each.md")
    for uri, text in PAGES.items():
        page = project / "docs" / uri
        page.parent.mkdir(exist_ok=True)
        page.write_text(FRONT.format(page.stem.capitalize()) + text, encoding="utf-8")
    tagged = project / "docs" / "tagged.md"
    tagged.write_text(tagged.read_text("utf-8").replace("---\n\n", "tags: [gpu, Fast]\n---\n\n", 1), "utf-8")
    (project / "docs" / "devices" / "each.md").write_text(DEVICE, encoding="utf-8")
    draft = project / "docs" / "drafts" / "draft.md"
    draft.parent.mkdir()
    draft.write_text("---\ntitle: [\n---\n{{ nothing }}\n", encoding="utf-8")
    (project / "docs" / "pics").mkdir()
    for name in ("assets/x.png", "sub/y.png", "pics/z.png"):
        shutil.copy(project / "docs" / "assets" / "home.png", project / "docs" / name)
    (project / "hook.py").write_text(HOOK)
    for name in ("extra.js", "assets/module.mjs"):
        (project / "docs" / name).write_text("1\n")
    listed = "".join(f"  - {uri}\n" for uri in PAGES if uri != "outside.md")
    with_settings(project, {**SETTINGS, "\nnav:\n": f"\nnav:\n{listed}"})
    dates = {**os.environ, "GIT_COMMITTER_DATE": COMMITTED, "GIT_AUTHOR_DATE": COMMITTED}
    for command in ("init -q", "add docs", "-c user.name=A -c user.email=a@example.org commit -qm x"):
        subprocess.run(["git", *command.split()], cwd=project, env=dates, check=True)
    return built(project)


def built(project: Path) -> Path:
    """Build strictly. Returns the site."""
    done = in_project(project, "mkdocs", "build", "--strict")
    assert done.returncode == 0, done.stdout + done.stderr
    return project / "site"


@pytest.fixture(scope="module")
def plain(ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same pages and settings in a project of MkDocs and Material alone."""
    project = Path(shutil.copytree(ours.parent, tmp_path_factory.mktemp("plain") / "project", symlinks=True))
    for name in ("index.md", "devices", "theme", "drafts"):
        path = project / "docs" / name
        shutil.rmtree(path) if path.is_dir() else path.write_text(FRONT.format("Home"))
    for page in (project / "docs").rglob("*.md"):
        page.write_text(re.sub(r"\{#(\w+)\}", r"{: #\1 }", page.read_text("utf-8")), "utf-8")
    ours_alone = ("  custom_dir: docs/theme\n", "  alternate: true\n", "  - devices/\n", "  - compile-atlas ")
    with_settings(project, dict.fromkeys(ours_alone, ""))
    text = (project / "mkdocs.yml").read_text("utf-8")
    (project / "mkdocs.yml").write_text(text.replace("  - generator.site.markdown #", "  #"), "utf-8")
    return built(project)


class _Elements(HTMLParser):
    """The elements of an article with their attributes, and its words, without what only our pages have."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._skipped = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if values.get("class") == "headerlink":
            del values["title"]  # in our words
        is_ours = "page-actions" in (values.get("class") or "") or "copy-page" in (values.get("src") or "")
        if self._skipped or is_ours:
            self._skipped += tag not in {"img", "input", "link", "br", "hr"}
        elif tag not in {"bdi", "wbr"} and "untranslated" not in (values.get("class") or ""):
            self.found.append(" ".join([tag, *sorted(f'{name}="{value}"' for name, value in values.items())]))

    def handle_endtag(self, tag: str) -> None:
        self._skipped -= bool(self._skipped)

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.found += data.split()


def elements(page: Path) -> list[str]:
    """Return the elements and words of an article."""
    reader = _Elements()
    reader.feed(re.search(r"(?s)<article.*</article>", page.read_text("utf-8"))[0])  # type: ignore[index]
    return reader.found


def test_pages_are_those_of_mkdocs_element_by_element(ours: Path, plain: Path) -> None:
    for uri in PAGES:
        name = f"{uri.removesuffix('.md')}/index.html"
        assert elements(ours / name) == elements(plain / name), uri
    assert (ours / "old/index.html").read_text() == (plain / "old/index.html").read_text()


# ── In every language ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(params=[*PREFIXES.values()], ids=[*PREFIXES])
def folder(ours: Path, request: pytest.FixtureRequest) -> Path:
    """The folder of a language."""
    return ours / str(request.param)


def html(folder: Path, uri: str) -> str:
    return (folder / uri / "index.html").read_text("utf-8")


def test_scripts_hooks_and_copyright_are_on_every_page(folder: Path) -> None:
    for uri in ("tagged", "devices/a100"):
        page = html(folder, uri)
        assert "From the hook." in page
        assert "© Somebody" in page
        for script in re.findall(r'<script[^>]* src="([^"]*(?:extra\.js|module\.mjs))"', page):
            assert (folder / uri / script).is_file()
        assert page.count("extra.js") == page.count("module.mjs") == 1


def test_pictures_are_where_pages_look_for_them(folder: Path) -> None:
    addresses = re.findall(r'<img alt="[ABC]" src="([^"]*)"', html(folder, "sub/pictures"))
    assert len(addresses) == 3
    for address in addresses:
        assert (folder / "sub/pictures" / address).is_file()


def test_buttons_lead_to_the_source_of_a_page_and_dates_are_those_of_its_revision(folder: Path) -> None:
    for uri, source in {"tagged": "tagged.md", "devices/a100": "devices/each.md"}.items():
        page = html(folder, uri)
        assert f'href="https://example.org/atlas/edit/main/docs/{source}"' in page
        assert f'href="https://example.org/atlas/raw/main/docs/{source}"' in page
        assert "2024" in (date := re.search(r"(?s)<aside class=.md-source-file.*?</aside>", page)[0])  # type: ignore[index]
        assert "Last update" not in date or folder.name == "site"


def test_tags_redirects_and_unlisted_pages_are_there_and_drafts_are_not(ours: Path, folder: Path) -> None:
    assert 'href="../tags/#tag:gpu"' in html(folder, "tagged")
    assert 'href="../tagged/"' in html(folder, "tags")
    assert "url=../tagged/" in html(folder, "old")
    assert "Listed nowhere." in html(folder, "outside")
    assert not (folder / "drafts").exists()
    assert "nothing" not in {message.id for message in catalogs.extract(ours.parent)}


# ── Other settings ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_addresses_without_folders_lead_to_pages(tmp_path: Path) -> None:
    pages = ("explorer.md", "data.md", "devices/each.md", "models/each.md")
    project = small_project(tmp_path, *pages, languages=("en", "ar"))
    with_settings(project, {"docs_dir: docs\n": "docs_dir: docs\nuse_directory_urls: false\n"})
    (project / "docs" / "data.md").write_text("# The data {#download}\n", encoding="utf-8")
    for uri in ("devices/each.md", "models/each.md"):
        (project / "docs" / uri).write_text(DEVICE.replace("device", uri.split("s/")[0]), encoding="utf-8")
    done = in_project(project, "mkdocs", "build")  # not strict: the explorer names other pages
    assert done.returncode == 0, done.stderr
    for page in {*(project / "site").rglob("*.html")} - {*(project / "site").rglob("404.html")}:
        for address in read(page).links:
            elsewhere = ("#", "data:", "javascript:", "http:", "https:")
            assert address.startswith(elsewhere) or (page.parent / address.partition("#")[0]).is_file(), address
    for folder in ("", "ar"):
        for name in ("index.md", "explorer.md", "devices/a100.md"):
            assert (project / "site" / folder / name).read_text("utf-8").startswith("# ")
        assert "/devices/a100.md)" in (project / "site" / folder / "llms.txt").read_text("utf-8")
    (data,) = (project / "site" / "data").glob("explorer.*.json")
    assert "models/vit.html" in data.read_text()


def test_a_strict_build_names_what_the_policy_of_the_site_stops(tmp_path: Path) -> None:
    project = small_project(tmp_path, languages=("en", "ja"))
    (project / "hook.py").write_text("def on_post_page(output, **_):\n    return f'{output}<script>1</script>'\n")
    home = project / "docs" / "index.md"
    home.write_text(home.read_text("utf-8") + "\n:smile:\n\n```mermaid\ngraph LR\n```\n", "utf-8")
    fence = "{name: mermaid, class: mermaid, format: !!python/name:pymdownx.superfences.fence_code_format }"
    extensions = f"  - pymdownx.emoji\n  - pymdownx.superfences: {{custom_fences: [{fence}]}}\n"
    settings = {"plugins:\n": "hooks: [hook.py]\n\nplugins:\n", "  - pymdownx.superfences\n": extensions}
    with_settings(project, settings)
    done = in_project(project, "mkdocs", "build", "--strict")
    assert done.returncode == 1
    assert "Aborted with 3 warnings" in done.stdout  # the same in both languages
    for told in (
        "https://cdnjs.cloudflare.com to img-src",
        "https://unpkg.com to script-src",
        "'unsafe-inline' to script",
    ):
        assert done.stderr.count(told) == 2, done.stderr
