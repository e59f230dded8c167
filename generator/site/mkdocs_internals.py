"""The parts of MkDocs that it does not document, in one place, as they are in MkDocs 1.6.1.

`tests/generator/site/test_mkdocs_internals.py` fails, and names what changed, when a release of MkDocs changes them:
then read the new code, adapt this module, and record the new digests there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import jinja2
from mkdocs.commands.build import _build_page, _build_theme_template, _populate_page
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, get_files, set_exclusions
from mkdocs.structure.nav import Navigation, get_navigation
from mkdocs.structure.pages import Page

VERSION = "1.6.1"
"""The release of MkDocs whose code this module was written for."""


def load_separate_config(path: str, command: Literal["build", "serve"], **settings: Any) -> MkDocsConfig:
    """Load a configuration whose plugins are its own, and start them.

    MkDocs keeps plugins with a startup event for all configurations of a process, so that all languages would share one
    search plugin, and its index.
    """
    cache = MkDocsConfig.plugins.plugin_cache
    kept = dict(cache)
    cache.clear()
    try:
        config = load_config(path, **settings)
    finally:
        cache.clear()
        cache.update(kept)
    config.plugins.on_startup(command=command, dirty=False)
    return config


@dataclass
class SiteOnDemand:
    """A site of which any page can be built alone: what `mkdocs.commands.build.build` does, in separate steps."""

    config: MkDocsConfig
    env: jinja2.Environment
    theme_files: Files
    files: Files
    nav: Navigation

    @classmethod
    def begin(cls, config: MkDocsConfig, before: SiteOnDemand | None = None) -> SiteOnDemand:
        """Run the events from `on_config` to `on_env`, and copy all files that are no pages.

        The compiled templates of a site `before`, which had other settings, serve the new one with the same theme.
        """
        config = config.plugins.on_config(config)
        config.plugins.on_pre_build(config=config)
        if before and before.config.theme.dirs == config.theme.dirs:
            env, theme_files = before.env, before.theme_files
        else:
            env, theme_files = config.theme.get_env(), Files([])
            env.auto_reload = True  # templates may change while the server runs
            theme_files.add_files_from_theme(env, config)
        site = cls(config, env, theme_files, Files([]), Navigation([], []))
        site.renew()
        return site

    def renew(self) -> None:
        """Take new files and pages, with the same settings."""
        config, files = self.config, get_files(self.config)
        for file in self.theme_files:
            if file.src_uri not in files.src_uris:
                files.append(file)
        files = config.plugins.on_files(files, config=config)
        set_exclusions(files, config)
        self.nav = config.plugins.on_nav(get_navigation(files, config), config=config, files=files)
        self.env = config.plugins.on_env(self.env, config=config, files=files)
        self.files = files
        for file in files.documentation_pages():
            if file.page is None:  # outside the navigation
                Page(None, file, config)
        files.copy_static_files(dirty=True)

    def read_page(self, file: File) -> None:
        """Convert the Markdown of a page to HTML."""
        _populate_page(file.page, self.config, self.files)

    def write_page(self, file: File) -> None:
        """Render a page that was read with its template, and write it into the site."""
        _build_page(file.page, self.config, self.files.documentation_pages(), self.nav, self.env)

    def write_template(self, name: str) -> None:
        """Render a template that is no page, such as ``404.html``, and write it into the site."""
        _build_theme_template(name, self.env, self.files, self.config, self.nav)
