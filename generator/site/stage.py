"""The guide as plain files, for a site builder other than MkDocs.

Takes the editions of `generator.pages.guide`, ``mkdocs.yml`` and the assets. Writes a folder of finished Markdown for
each language, and a configuration beside it. Built one after the other, English first, they make one site. What only
our plugin and templates do is left out: social cards, our words for the theme's labels, a search tuned for each
language, a 404 page in all languages, the feed, and pages as plain Markdown.

    python -m generator stage && cd staged
    for language in en zh ja ar; do zensical build --strict --config-file $language.yml; done
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urljoin, urlsplit

import jinja2
import yaml
from mkdocs.utils.yaml import yaml_load

from bench import durable
from bench.errors import AtlasError
from generator.languages.catalogs import settings_errors
from generator.languages.language import Language
from generator.pages.guide import Edition, guide_of
from generator.site import PLUGIN
from generator.site.material import labels

ROOT = Path(__file__).resolve().parents[2]

MANIFEST = ".staged.json"
"""The list of files that an earlier run wrote: only these are ever replaced or removed."""

OURS = ("watch", "exclude_docs", "extra")
"""Settings that only mean something to MkDocs with our plugin."""

PAGE_SCRIPTS = "partials/page-scripts.html"
"""The template of the scripts that a page needs, below docs/theme."""


def stage(out: Path, root: Path = ROOT) -> int:
    """Write every language below `out` and return the number of files.

    Files of an earlier run are replaced, or removed where they are no longer needed. Raises `AtlasError` rather than
    touch a file that it has not written.
    """
    guide = guide_of(root)
    guide.address = mkdocs_yml(root)["site_url"]
    guide.update()
    editions = [guide.edition(language.code) for language in guide.languages]
    files = dict(file for edition in editions for file in _files(edition, guide.languages, root))
    owned = _owned(out)
    foreign = next((path for path in files if path not in owned and (out / path).exists()), None)
    if foreign:
        raise AtlasError(
            "this file is in the way: an earlier run did not write it",
            where=str(out / foreign),
            remedy="choose an empty or a new folder",
        )
    for path in owned - files.keys():
        (out / path).unlink(missing_ok=True)
    _own(out, owned | files.keys())  # before they exist, so that the run after an interrupted one owns them
    for path, content in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_bytes(content)
    _own(out, files)
    return len(files)


def _own(out: Path, files: Iterable[str]) -> None:
    durable.write(out / MANIFEST, json.dumps(sorted(files), indent=0).encode())


def _owned(out: Path) -> set[str]:
    """Return the files of an earlier run. Raises `AtlasError` for a list of anything but files of this folder."""
    manifest, root = out / MANIFEST, out.resolve()
    try:
        listed = json.loads(manifest.read_bytes())
        if isinstance(listed, list) and all((root / name).resolve().is_relative_to(root) for name in listed):
            return set(listed)
    except FileNotFoundError:
        return set()
    except (ValueError, TypeError, RecursionError):
        pass
    raise AtlasError(
        "is not a list of files written by an earlier run",
        where=str(manifest),
        remedy="choose an empty or a new folder",
    )


def _files(edition: Edition, languages: Iterable[Language], root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield path below the staged folder and content of each file of one language."""
    code = edition.language.code
    settings = _settings(edition, languages, root)
    yield f"{code}.yml", yaml.safe_dump(settings, allow_unicode=True, sort_keys=False).encode()
    scripts = _page_scripts(edition.language, root)
    for file in edition.files:
        content = file.content
        if isinstance(content, str) and file.uri.endswith(".md"):
            content = _from_source(file.uri, content + _scripts_of(file.uri, content, scripts))
        yield f"{code}/{file.uri}", content.encode() if isinstance(content, str) else content
    for path in sorted((root / "docs" / "assets").rglob("*")):
        if path.is_file():
            yield f"{code}/{path.relative_to(root / 'docs').as_posix()}", path.read_bytes()


def _page_scripts(language: Language, root: Path) -> jinja2.Template:
    environment = jinja2.Environment(  # noqa: S701  # as in MkDocs: the template escapes what needs it
        loader=jinja2.FileSystemLoader(root / "docs" / "theme"), extensions=["jinja2.ext.i18n"], trim_blocks=True
    )
    environment.install_gettext_callables(language.gettext, language.ngettext, newstyle=True)  # type: ignore[attr-defined]
    environment.filters["url"] = jinja2.pass_context(lambda context, address: context["base_url"] + address)
    return environment.get_template(PAGE_SCRIPTS)


def _scripts_of(uri: str, content: str, scripts: jinja2.Template) -> str:
    """Return the HTML that our template appends to a page for its tables, forms and explorer."""
    depth = uri.count("/") + (uri.rpartition("/")[2] != "index.md")
    html = scripts.render(page=SimpleNamespace(content=content), base_url="../" * depth)
    lines = "\n".join(line.strip() for line in html.splitlines() if line.strip())
    return f"\n\n<div>\n{lines}\n</div>\n" if lines else ""


def _from_source(uri: str, page: str) -> str:
    """Make the addresses in the HTML of a page relative to its file, as Zensical reads them, not to its address."""
    folder, name = posixpath.split(uri)
    if name == "index.md":
        return page

    def relative(match: re.Match[str]) -> str:
        target = posixpath.join(uri.removesuffix(".md"), match["path"])
        slash = "/" * target.endswith("/")
        return f"{match['start']}{posixpath.relpath(target, folder or '.')}{slash}"

    return _HTML_ADDRESS.sub(relative, page)


_HTML_ADDRESS = re.compile(r"""(?P<start><[a-z][^<>]*?\s(?:href|src)=")(?P<path>\.{1,2}/[^"#?]*)""")


def mkdocs_yml(root: Path = ROOT) -> dict[str, Any]:
    """Return the settings in mkdocs.yml. Raises `AtlasError` with the line of a mistake."""
    with (root / "mkdocs.yml").open("rb") as file, settings_errors():
        settings: dict[str, Any] = yaml_load(file)
    return settings


def _settings(edition: Edition, languages: Iterable[Language], root: Path) -> dict[str, Any]:
    """Return ``mkdocs.yml`` for a builder that builds one language after the other."""
    language = edition.language
    settings = mkdocs_yml(root)
    for name in OURS:
        settings.pop(name, None)
    to_root = "../" if language.prefix else "./"
    alternate = [{"name": other.name, "link": to_root + other.prefix, "lang": other.code} for other in languages]
    return {
        **settings,
        **{name: str(language.gettext(settings[name])) for name in ("site_name", "site_description")},
        "site_url": urljoin(settings["site_url"], language.prefix),
        "copyright": str(language.gettext("Code, text, and measurements are under the Apache License 2.0.")),
        "docs_dir": language.code,
        "site_dir": f"site/{language.prefix}".rstrip("/"),
        "theme": _theme(settings["theme"], language),
        "plugins": [name for name in settings["plugins"] if PLUGIN not in name],
        "nav": edition.navigation(settings["nav"]),
        "extra": {"alternate": alternate, "scope": urlsplit(settings["site_url"]).path},
    }


def _theme(theme: dict[str, Any], language: Language) -> dict[str, Any]:
    toggles = language.gettext("Switch to dark mode"), language.gettext("Switch to light mode")
    palette = [
        {**scheme, "toggle": {**scheme["toggle"], "name": str(name)}}
        for scheme, name in zip(theme["palette"], toggles, strict=True)
    ]
    kept = {name: value for name, value in theme.items() if name not in {"custom_dir", "static_templates"}}
    return {**kept, "palette": palette, "language": labels(language.code), "direction": language.direction}
