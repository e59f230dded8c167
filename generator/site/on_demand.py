"""The site of one language, of which any page can be built alone: what MkDocs' own `build` does, in separate steps.

Takes a guide and a function that loads the configuration of a language; writes the files that are asked for. The steps
are undocumented parts of MkDocs 1.6.1. `tests/generator/site/test_on_demand.py` fails, and names what changed, when a
release of MkDocs changes them: then read the new code, adapt this module, and record the new digests there.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import jinja2
from mkdocs.commands.build import _build_page, _build_theme_template, _populate_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, get_files, set_exclusions
from mkdocs.structure.nav import Navigation, get_navigation
from mkdocs.structure.pages import Page

from generator.pages.guide import Edition, Guide
from generator.pages.pages import PageFile
from generator.site.list_of_pages import NAME, list_of_pages

SEARCH = "material/search"
SEARCH_INDEX = "search/search_index.json"


class SiteOnDemand:
    """The site of one language, in its newest edition."""

    config: MkDocsConfig
    files: Files
    nav: Navigation

    def __init__(self, guide: Guide, code: str, load: Callable[[str], MkDocsConfig]) -> None:
        self._guide, self._code, self._load = guide, code, load
        self._edition: Edition | None = None
        self._env: jinja2.Environment | None = None
        self._theme_files: list[File] = []
        self._pages: dict[str, tuple[File, PageFile]] = {}  # by the path of their HTML
        self._built: set[str] = set()  # of this edition

    def page(self, path: str) -> Path | None:
        """Return the HTML of the page at `path` below the folder of the language, as it was last built."""
        file = Path(self._pages[path][0].abs_dest_path) if path in self._pages else None
        return file if file and file.is_file() else None

    def build(self, path: str) -> bool:
        """Build the file at `path` below the folder of the language, if it is missing or out of date.

        Returns whether more is left to do, so that others can have a turn before. Raises whatever is wrong with the
        sources.
        """
        edition = self._guide.edition(self._code)
        if edition is not self._edition:
            self._begin(edition)
        path = f"{path.removesuffix('.md')}.html" if path.endswith(".md") else path  # both are written at once
        if path == SEARCH_INDEX:
            return self._index()
        if path in self._built:
            return False
        if path in self._pages:
            self._build_page(path)
        elif (name := path.removesuffix(".gz")) in self.config.theme.static_templates:
            _build_theme_template(name, self._env, self.files, self.config, self.nav)
        elif file := list_of_pages(edition, self.config) if path == NAME else self._guide.find(path):
            target = Path(self.config.site_dir, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.content_bytes)
            self._built.add(path)
        return False

    def _begin(self, edition: Edition) -> None:
        """Run the events from `on_config` to `on_env`, and copy all files that are no pages.

        Compiled templates stay. A page that the edition lacks is removed.
        """
        config = self._load(self._code)
        config = config.plugins.on_config(config)
        config.plugins.on_pre_build(config=config)
        files = get_files(config)
        if self._env is None:
            self._env = config.theme.get_env()
            self._env.auto_reload = True
            from_theme = Files([])
            from_theme.add_files_from_theme(self._env, config)
            self._theme_files = [*from_theme]
        for file in self._theme_files:
            if file.src_uri not in files.src_uris:
                files.append(file)
        files = config.plugins.on_files(files, config=config)
        set_exclusions(files, config)
        nav = config.plugins.on_nav(get_navigation(files, config), config=config, files=files)
        self._env = config.plugins.on_env(self._env, config=config, files=files)
        for file in files.documentation_pages():
            if file.page is None:  # outside the navigation
                Page(None, file, config)
        files.copy_static_files(dirty=False)

        sources = {page.uri: page for page in edition.pages}
        pages = {file.dest_uri: (file, sources[file.src_uri]) for file in files.documentation_pages()}
        for gone in self._pages.keys() - pages.keys():
            Path(config.site_dir, gone).unlink(missing_ok=True)
        # Reading a page for the search index takes a quarter of its time.
        config.plugins[SEARCH].config.enabled = not Path(config.site_dir, SEARCH_INDEX).is_file()
        self.config, self.files, self.nav, self._pages, self._built = config, files, nav, pages, set()
        for path, (_, page) in pages.items():
            if page.title is None:  # the navigation shows its first heading
                self._read(path)
        self._edition = edition

    def _read(self, path: str) -> File:
        file, _ = self._pages[path]
        _populate_page(file.page, self.config, self.files)
        return file

    def _build_page(self, path: str) -> None:
        _build_page(self._read(path).page, self.config, self.files.documentation_pages(), self.nav, self._env)
        self._built.add(path)

    def _index(self) -> bool:
        """Build a page that the search index lacks, or the index. It is built once: words that come later are found
        after a restart."""
        search = self.config.plugins[SEARCH]
        if not search.config.enabled:
            return False
        if missing := next((path for path in self._pages if path not in self._built), None):
            self._build_page(missing)
            return True
        search.on_post_build(config=self.config)
        search.config.enabled = False
        return False
