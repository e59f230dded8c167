"""Adapter 1: the editions of the guide into MkDocs, one build for each language.

In: the editions of `generator.pages.guide`, and ``mkdocs.yml``. Out: the site. MkDocs builds English; when that is
done, the
same configuration is loaded again for each other language and built into a folder below, so that every language has its
own search index, navigation, sitemap and 404 page. Pages stay in memory: the authored ones' folder is only read.

    mkdocs serve
    mkdocs build --strict
"""

from __future__ import annotations

import gc
import html
import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # the `mkdocs` script does not look into its folder

import click
import jieba
import jinja2
import jinja2.bccache
from jinja2.meta import find_referenced_templates
from markupsafe import Markup, escape
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, PluginError
from mkdocs.livereload import LiveReloadServer
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.structure.toc import AnchorLink
from mkdocs.utils import CountHandler
from mkdocs.utils.templates import url_filter
from pathspec.gitignore import GitIgnoreSpec

from bench.errors import AtlasError, unusable

try:
    from generator.languages.language import LANGUAGES, Language, Untranslated
except AtlasError as error:  # a list of languages that is none, told as MkDocs tells its own mistakes
    raise PluginError(str(error)) from None
from generator.checks.rendered_checks import differences, outlines
from generator.figures.link_preview import PageMetadata, card_uri, page_metadata
from generator.figures.markup import framed, unbroken
from generator.languages.typography import plain
from generator.pages.guide import Edition, Guide, guide_of
from generator.pages.site_file import SiteFile
from generator.parallel import Beside, Builds
from generator.site.build_bar import bar
from generator.site.material import BUNDLE, labels, mended, search
from generator.site.mkdocs_files import EditionFile
from generator.site.on_demand import Desk
from generator.site.policy import policy
from generator.site.preview import check_address, preview, template_mistake
from generator.site.search_index import SearchIndex
from generator.site.sidebars import sidebars
from generator.site.unchanged import Unchanged
from generator.site.web_fonts import STYLESHEET, cut_latin, preloaded, web_fonts, whole_fonts

SOURCE = LANGUAGES[0]
"""The language of the outer build, at the root of the site."""

EDITION, EDITIONS = "edition", "editions"
"""Settings below `extra`: the language of a build, and those of the site where they are not the published ones."""

GARBAGE = 100_000
"""Objects after which a build looks for garbage: hardly any is made, and looking as often as usual takes a twentieth of
its time."""

PIPELINE = ["stopWordFilter"]
"""No stemmer: Material searches for beginnings of words (``happens*``), which stems would not match."""

jieba.setLogLevel("WARNING")

_log = get_plugin_logger(__name__)
"""Its warnings end a strict build."""


def on_startup(*, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:  # noqa: ARG001
    """Remember what the site is for. Somebody who watches sees pages built on demand, and what is wrong with them."""
    preview.serving = preview.starting = command == "serve"
    _site.only_built = command == "build"
    if not preview.serving:
        gc.set_threshold(GARBAGE)


@event_priority(100)  # type: ignore[untyped-decorator]  # before the search plugin reads its settings
def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Bring all editions up to date, once for all builds, and fit the configuration to the language that is built."""
    if preview.starting:
        _prepare_serving(config)
        return config
    try:
        if _is_source(config) and not preview.serving:
            _site.begin(config)
            _site.shared = Beside(partial(_shared, config))
            _guide(config).update()
        edition = _edition(config)
        fit(config, edition.language)
    except AtlasError as error:
        raise PluginError(str(error)) from None
    except OSError as error:  # a source that cannot be read
        raise PluginError(str(unusable(error))) from None
    config.extra["scope"] = urlsplit(_root_url(config)).path or "/"  # a choice of dark or light holds for all languages
    config.nav = edition.navigation(config.nav or [])
    config.not_in_nav = GitIgnoreSpec.from_lines(edition.unlisted)
    return config


def fit(config: MkDocsConfig, language: Language) -> None:
    """Labels and search of the language. Raises `AtlasError` for a configuration without room for them."""
    searching, headings, light, dark = _places(config)
    config.theme.get_env = partial(_environment, config.theme.get_env, list_files=_is_source(config))
    config.theme["language"], config.theme["direction"] = labels(language.code), language.direction
    searching.update(search(language.code), pipeline=PIPELINE)
    config.extra_css.insert(0, STYLESHEET)
    config.site_name = str(language.gettext(config.site_name))
    config.site_description = str(language.gettext(config.site_description or ""))
    headings["permalink_title"] = str(language.gettext("Link to this section"))
    light["name"] = str(language.gettext("Switch to dark mode"))
    dark["name"] = str(language.gettext("Switch to light mode"))


def _places(config: MkDocsConfig) -> tuple[Any, Any, Any, Any]:
    """Settings of the search, of headings, and of the switches to dark and to light."""
    try:
        light, dark = (palette["toggle"] for palette in config.theme["palette"] if palette["toggle"]["icon"])
        return config.plugins["material/search"].config, config.mdx_configs["toc"], light, dark
    except (LookupError, TypeError, ValueError) as error:
        raise AtlasError(
            f"the guide needs Material with two palettes, its search, and permanent links ({error})",
            where=str(config.config_file_path),
            remedy="compare it with the one that was committed: git diff mkdocs.yml",
        ) from None


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Pages, charts and downloads of the edition instead of the authored Markdown."""
    if preview.starting:
        return Files([])
    edition = _edition(config)
    searching = config.plugins["material/search"]
    searching.search_index = SearchIndex(edition.language.code, **searching.config)
    if _is_source(config) and not preview.serving:
        _ = _guide(config).results.problems  # every language marks what the lint doubts
        if _site.shared:
            _bytecode.known.update(_site.shared.made())
        codes = languages_of(config)
        bar.count(2 * len(codes) * len(edition.pages))  # each is rendered, and becomes a page of the site
        _builds.start(partial(_build, config, code) for code in codes[1:])
        bar.show()
        _builds.take_turn()
    try:
        for page in () if preview.serving else edition.pages:
            _ = page.content  # now it is rendered
            bar.step()
        made = (
            (*edition.pages, *whole_fonts(edition.language))
            if preview.serving
            else (*edition.files, *web_fonts(edition.language, edition.pages))
        )
    except AtlasError as error:
        raise PluginError(str(error)) from None
    kept = (file for file in files if _is_source(config) and not file.is_documentation_page())  # once, for all
    return Files([*map(partial(_adapted, config), kept), *(EditionFile.of(file, config) for file in made)])


def on_env(env: jinja2.Environment, *, config: MkDocsConfig, files: Files) -> jinja2.Environment:
    """Templates speak the language, know the others, and find the assets that all of them share.

    Only now every page has its title, so only now there are social cards.
    """
    env.globals["policy"] = policy(serving=preview.serving)
    if preview.starting:
        return env
    edition = _edition(config)
    language = edition.language
    env.install_gettext_callables(  # type: ignore[attr-defined]
        language.gettext, language.ngettext, newstyle=True, pgettext=language.pgettext
    )
    env.filters["url"] = _url_filter(language)
    env.globals.update(
        language=language,
        languages=_guide(config).languages,
        newest=edition.newest,
        preloaded=preloaded(language.code),
        to_root="../" if language.prefix else "",
        root_url=_root_url(config),
        metadata_of=lambda page: _metadata(page, config),
        beside=sidebars(),
    )
    if not preview.serving:
        for page in [file.page for file in files.documentation_pages()]:
            files.append(_card(page, config))
    return env


def _adapted(config: MkDocsConfig, file: File) -> File:
    """The file, or one in its place that does what our pages need."""
    if not BUNDLE.fullmatch(file.src_uri):
        return file
    return File.generated(config, file.src_uri, content=mended(file.content_string))


def _metadata(page: Page, config: MkDocsConfig) -> PageMetadata:
    section = page.parent.title if "/" in page.file.src_uri and page.parent and not page.is_index else ""
    title = page.meta.get("title") or html.unescape(page.title)
    words = title, section, page.meta.get("description") or config.site_description
    language, languages = _edition(config).language, _guide(config).languages
    return page_metadata(page.file.src_uri, page.url, words, language, languages, _root_url(config))


def _card(page: Page, config: MkDocsConfig) -> File:
    from generator.figures import cards  # noqa: PLC0415  # it takes a second to load, and nobody sees cards while writing

    language, metadata = _edition(config).language, _metadata(page, config)
    rtl = language.direction == "rtl"
    card = cards.Card(config.site_name, metadata.section, metadata.title, metadata.description, language.code, rtl)
    return EditionFile.of(SiteFile(card_uri(page.file.src_uri), partial(cards.draw, card)), config)


def on_page_content(content: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Tables written in Markdown look and sound like those of records, and code is not broken at its hyphens.

    The list of sections has their names without markup: where text runs from the right, with marks in its place.
    """
    if _edition(config).language.direction == "rtl":
        names = dict(_HEADING.findall(content))
        for entry in _entries(page.toc):
            name = Markup(plain(names.get(entry.id, entry.title)))  # noqa: S704  # made by Markdown
            entry.title = str(escape(name.striptags()))
    return unbroken(framed(content))


_HEADING = re.compile(r'<h[1-6] id="([^"]+)">(.*?)(?:<a class="headerlink"|</h[1-6]>)', re.DOTALL)


def _entries(toc: Iterable[AnchorLink]) -> Iterator[AnchorLink]:
    for entry in toc:
        yield entry
        yield from _entries(entry.children)


def on_post_page(output: str, **_: Any) -> str:
    """Count it."""
    bar.step()
    return output


def on_post_build(*, config: MkDocsConfig) -> None:
    """Wait for the other languages, which are built into folders of the same site, and look at all of it."""
    if not _is_source(config) or preview.serving:
        return
    site, codes = Path(config.site_dir), languages_of(config)
    source = outlines(site, codes, SOURCE)
    others = _builds.finish()
    for finding in differences(site, dict(zip(codes, (source, *others), strict=True))):
        _log.warning("%s", finding)
    bar.end()
    _site.end()


class _Site:
    """The site that is built, if it is."""

    _warnings = CountHandler()
    only_built = False
    """Not published as well, which needs it even where it is the same."""
    folder = ""
    shared: Beside[Mapping[tuple[str, str], bytes]] | None = None
    """The theme's templates, compiled by another process."""

    def begin(self, config: MkDocsConfig) -> None:
        """End the program well where the site is what it would be."""
        self._warnings = CountHandler(level=logging.WARNING)
        logging.getLogger("mkdocs").addHandler(self._warnings)
        self.folder = config.site_dir
        self._unchanged = Unchanged(config)
        if self.only_built and self._unchanged:
            self.stop()
            _log.info("Nothing has changed since %s was built", config.site_dir)
            raise click.exceptions.Exit(0)
        self._unchanged.forget()

    def end(self) -> None:
        """What has warnings is built again, to tell them again."""
        self.stop()
        if not self._warnings.get_counts():
            self._unchanged.remember()

    def is_refused(self, error: OSError) -> bool:
        """Whether this is about a file of the site. Where there is no room, the system names none."""
        named = [str(name) for name in (error.filename, error.filename2) if name]
        return bool(self.folder) and (not named or any(Path(name).is_relative_to(self.folder) for name in named))

    def stop(self) -> None:
        """Count no more, and wait for nothing."""
        if self.shared:
            self.shared.stop()
        logging.getLogger("mkdocs").removeHandler(self._warnings)


_site = _Site()

_builds = Builds()
"""Those of the other languages."""


def _build(outer: MkDocsConfig, code: str) -> dict[str, bytes]:
    """One of them, and the outlines of its pages: to be held against those of the source."""
    build(_nested(outer, code))
    return outlines(Path(outer.site_dir), languages_of(outer), code)


def on_build_error(*, error: Exception) -> None:
    """A mistake in a template is bad input as well, and so are a font that is missing and a folder that takes no site:
    no traceback of any."""
    bar.end()
    _builds.stop()
    _site.stop()
    if isinstance(error, AtlasError):
        raise Abort(str(error)) from None
    if isinstance(error, jinja2.TemplateError):
        raise Abort(template_mistake(error)) from None
    if isinstance(error, OSError) and _site.is_refused(error):
        raise Abort(str(unusable(error, _site.folder))) from None


def on_serve(server: LiveReloadServer, *, config: MkDocsConfig, builder: Callable[[], None]) -> LiveReloadServer:
    """From here on pages are built when somebody looks at them: see `generator.site.preview`."""
    del builder
    if preview.serving:
        guide = _guide(config)
        desks = {_below(code): Desk(guide, code, partial(_nested, config, code)) for code in languages_of(config)}
        for path in (config.docs_dir, config.config_file_path):
            server.unwatch(path)  # by MkDocs' observer
        preview.take_over(server, guide, desks)
        for path in (config.docs_dir, config.config_file_path):
            server.watch(path)
    return server


def on_shutdown() -> None:
    """MkDocs removes the folder next."""
    preview.close()


def _prepare_serving(config: MkDocsConfig) -> None:
    """MkDocs builds once before it serves: nothing, since nobody looks at anything yet."""
    config.nav = []
    config.theme.static_templates.clear()
    config.theme.get_env = partial(_environment, config.theme.get_env, list_files=False)
    try:
        check_address(*config.dev_addr)
    except AtlasError as error:
        raise PluginError(str(error)) from None


def _nested(outer: MkDocsConfig, code: str) -> MkDocsConfig:
    """The configuration of a language: `mkdocs.yml` once more, for a folder and an address below."""
    MkDocsConfig.plugins.plugin_cache.clear()  # or all languages would share one search plugin, and its index
    config = load_config(
        outer.config_file_path,
        site_dir=str(Path(outer.site_dir, _below(code))),
        site_url=urljoin(outer.site_url, _below(code)) if outer.site_url else None,
        use_directory_urls=outer.use_directory_urls,
        strict=False,  # the outer build counts the warnings of all languages, and fails at the end
    )
    config.extra.update({key: outer.extra[key] for key in (EDITIONS,) if key in outer.extra}, **{EDITION: code})
    return config


def _environment(make: Callable[[], jinja2.Environment], *, list_files: bool) -> jinja2.Environment:
    """The theme's environment. All languages share compiled templates, and only English looks for files to publish."""
    environment = make()
    environment.bytecode_cache = _bytecode
    environment.filters["marked"] = lambda text: text.__html__() if isinstance(text, Untranslated) else text
    listed = partial(_theme_files, environment.list_templates)
    environment.list_templates = listed if list_files else lambda *_, **__: []  # type: ignore[method-assign]
    return environment


_found: list[str] = []


def _theme_files(search: Callable[..., list[str]], **choice: Any) -> list[str]:
    """What the theme has to publish: among thousands of icons, and always the same."""
    _found[:] = _found or search(**choice)
    return _found


class _Bytecode(jinja2.BytecodeCache):
    def __init__(self) -> None:
        self.known: dict[tuple[str, str], bytes] = {}

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        if (code := self.known.get((bucket.key, bucket.checksum))) is not None:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        self.known[bucket.key, bucket.checksum] = bucket.bytecode_to_string()


_bytecode = _Bytecode()


def _shared(config: MkDocsConfig) -> dict[tuple[str, str], bytes]:
    """Make what all languages share: fonts, and the theme's templates, compiled."""
    cut_latin()
    environment = _environment(config.theme.get_env, list_files=False)
    assert environment.loader, "MkDocs gives it one"
    waiting = ["main.html", *config.theme.static_templates]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        with suppress(jinja2.TemplateNotFound):
            environment.get_template(name)
            source, *_ = environment.loader.get_source(environment, name)
            named = {each for each in find_referenced_templates(environment.parse(source)) if each} - seen
            waiting += named
            seen |= named
    return _bytecode.known


def _url_filter(language: Language) -> Callable[[Any, str], str]:
    """MkDocs' filter ``url``, which leads every language to the assets at the root, published once for all."""

    @jinja2.pass_context
    def url(context: Any, value: str) -> str:
        shared = bool(language.prefix) and str(value).startswith("assets/")
        return str(url_filter(context, f"../{value}" if shared else value))

    return url


def _is_source(config: MkDocsConfig) -> bool:
    return _code(config) == SOURCE


def _below(code: str) -> str:
    """Where a language lies in the site."""
    return "" if code == SOURCE else f"{code}/"


def _code(config: MkDocsConfig) -> str:
    return str(config.extra.get(EDITION, SOURCE))


def languages_of(config: MkDocsConfig) -> tuple[str, ...]:
    """Those of the site, English first."""
    codes = config.extra.get(EDITIONS, LANGUAGES)
    if not isinstance(codes, list | tuple) or codes[:1] != type(codes)([SOURCE]):
        where = f"{config.config_file_path}: extra.{EDITIONS}"
        raise PluginError(f"{where} is no list of languages that begins with {SOURCE}")
    return tuple(map(str, codes))


def _root_url(config: MkDocsConfig) -> str:
    """Where English is published: the address of a nested build is one folder deeper."""
    return str(config.site_url or "").removesuffix(_edition(config).language.prefix)


def _guide(config: MkDocsConfig) -> Guide:
    return guide_of(Path(config.config_file_path).parent, languages_of(config))


def _edition(config: MkDocsConfig) -> Edition:
    return _guide(config).edition(_code(config))
