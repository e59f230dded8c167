"""Extract the messages of the project, and update the catalogs of its languages.

`refresh` reads pages in the order of the navigation, then settings, templates and Python sources, as ``babel.cfg``
lists them. It updates one ``messages.po`` per language. A second run changes nothing, and an edit changes only its own
entry.

    python -m generator messages
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import generate_po
from babel.plural import to_gettext
from babel.util import pathmatch
from jinja2 import TemplateSyntaxError

from bench import durable
from bench.errors import AtlasError
from generator.languages.blocks import EXPRESSION
from generator.languages.language import LOCALES, catalog_path, load_locale, plural_forms, shown, translated_languages
from generator.languages.page_source import authored_files, mkdocs_yml, parse_page
from generator.languages.pofile import NAMED, english, forms, key, parse

ROOT = Path(__file__).resolve().parents[2]
"""The project folder, with ``babel.cfg``, ``mkdocs.yml`` and ``docs/``."""

KEYWORDS = {**DEFAULT_KEYWORDS, "N_n": (1, 2), "N_p": ((1, "c"), 2)}
"""Functions whose literal arguments are messages. ``N_``, ``N_n`` and ``N_p`` mark a text that is translated later."""


# --- Extraction -------------------------------------------------------------------------------------------------------


def extract(root: Path = ROOT) -> Catalog:
    """Return every message, with the comments and files of all its uses, in the order of a catalog.

    Raises `AtlasError` for a file that cannot be parsed.
    """
    with (root / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    docs, settings = root / "docs", mkdocs_yml(root)
    pages = [page for _, page in _navigation(settings.get("nav")) if page]
    left_out = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {*authored_files(docs, settings)}
    methods = [*((f"docs/{uri}", "ignore") for uri in sorted(left_out)), *methods]

    def place(found: tuple[Any, ...]) -> tuple[int, int, bool, str]:
        """Sort by the lines of babel.cfg, and pages by the navigation: an index page before others of its folder."""
        path = found[0]
        method = next(index for index, (pattern, _) in enumerate(methods) if pathmatch(pattern, path))
        uri = path.removeprefix("docs/")
        entry = (i for i, page in enumerate(pages) if uri == page or (page.endswith("/") and uri.startswith(page)))
        return method, next(entry, len(pages)), not path.endswith("/index.md"), path

    paths: list[str] = []
    extracted = extract_from_dir(
        root,
        methods,
        options,
        KEYWORDS,
        ("Translators:",),
        lambda path, *_: paths.append(path),
        strip_comment_tags=True,
    )
    template = Catalog()
    try:
        for path, _, text, comments, context in sorted(extracted, key=place):
            template.add(text, locations=[(path, 0)], auto_comments=comments, context=context)
    except (SyntaxError, ValueError, TemplateSyntaxError) as error:  # in Python or Jinja
        line = getattr(error, "lineno", None)
        raise AtlasError(
            f"cannot be parsed for messages: {error}",
            where=f"{paths[-1]}:{line}" if line else paths[-1],
            remedy="correct the source",
        ) from None
    return template


Extracted = Iterator[tuple[int, str | None, str, list[str]]]


def extract_page(file: IO[bytes], _keywords: object, _tags: object, **_options: object) -> Extracted:
    """Babel extraction method for authored Markdown: front matter and blocks, commented with page and kind."""
    uri = file.name.replace("\\", "/").rpartition("/docs/")[2]
    source = parse_page(Path(uri).name, file.read().decode("utf-8"), f"docs/{uri}")
    # The address of the page within its language; the name of a device or model is not known yet.
    address = f"/{uri.removesuffix('.md')}/".replace("/each/", "/…/").removesuffix("index/").replace("//", "/")
    title = source.front.messages.get("title") or uri
    for name, message in source.front.messages.items():
        yield source.front.lines[name], None, message, [f"{title} · page {name} · {address}"]
    for block in source.document.blocks:
        yield block.line, None, block.message, [f"{title} · {block.kind} · {address}"]


def extract_settings(file: IO[bytes], _keywords: object, _tags: object, **_options: object) -> Extracted:
    """Babel extraction method for mkdocs.yml: navigation titles, name, description and copyright of the site."""
    settings = mkdocs_yml(Path(file.name).parent)
    for name in ("site_name", "site_description", "copyright"):
        if name in settings:
            yield 0, None, settings[name], [name.replace("_", " ")]
    for title, _ in _navigation(settings.get("nav")):
        if title:
            yield 0, None, title, ["title in the navigation"]


def _navigation(entries: Iterable[Any] | None) -> Iterator[tuple[str, str]]:
    """Yield the titles and pages of `nav`, in order; "" where an entry has none."""
    for entry in entries or ():
        for title, below in entry.items() if isinstance(entry, dict) else [("", entry)]:
            if isinstance(below, str):
                yield title, below
            else:
                yield title, ""
                yield from _navigation(below)


# --- Catalogs ---------------------------------------------------------------------------------------------------------

_NO_WRAP = 1_000_000
"""Width of a line. Babel wraps comments at 76 letters if it shall not wrap."""

_HEADER = """\
msgid ""
msgstr ""
"Project-Id-Version: Compile Atlas\\n"
"Language: {language}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plurals}\\n"

"""
"""Babel's own has dates, which change with every run, and other plural forms of Arabic."""


def plural_rule(code: str) -> str:
    """Return the header ``Plural-Forms`` of a language, from its rule in CLDR.

    Gettext editors choose ``msgstr[…]`` by it. The site itself uses CLDR.
    """
    if code == "ar":  # the rule that Babel derives from CLDR is hard to read
        return "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);"
    locale = load_locale(code)
    if len(plural_forms(locale)) == 1:
        return "nplurals=1; plural=0;"
    # gettext counts integers: it has no decimals (0 == 0) and no compact notation, whose exponent is e.
    rule = to_gettext(locale.plural_form).replace("(0 == 0)", "1")
    return re.sub(r"\be\b", "0", rule).removesuffix(";") + ";"


def read(code: str, locales: Path = LOCALES) -> Catalog:
    """Read the catalog of a language, or return an empty one if the file does not exist."""
    path = catalog_path(code, locales)
    if path.is_file():
        return parse(path.read_bytes(), shown(path))
    catalog = Catalog(header_comment=f"# {load_locale(code).get_language_name('en')} translations of Compile Atlas.")
    catalog.mime_headers = [("Plural-Forms", plural_rule(code))]
    return catalog


def update(catalog: Catalog, template: Catalog, code: str) -> str:
    """Update the catalog of a language with the messages of the project, and return the text of its file.

    A translation stays with its text, wherever the text moves. If only the expressions of a text changed, they change
    in the translation too. A text that resembles another one gets its translation as fuzzy, with the other text beside
    it. Messages that are no longer used are removed.
    """
    known = {key(message): message for message in catalog}
    catalog.mime_headers = [("Plural-Forms", plural_rule(code))]
    catalog.update(template)
    for message in catalog:
        old = known.get(key(message)) or known.get((message.context, "".join(message.previous_id[:1])))
        is_fuzzy = message.fuzzy and any(forms(message))
        if is_fuzzy and old and not old.fuzzy and (renamed := _renamed(old.id, message.id)):
            is_fuzzy = False
            message.string = EXPRESSION.sub(lambda match: renamed.get(match[0], match[0]), forms(message)[0])
        message.previous_id = (message.previous_id or (old.previous_id if old else [])) if is_fuzzy else []
        # Babel takes a percent sign and a brace in any text for a format.
        is_format = NAMED.search("".join(english(message)))
        message.flags = {*["fuzzy"] * bool(is_fuzzy), *["python-format"] * bool(is_format)}
    header = _HEADER.format(language={"zh": "zh_CN"}.get(code, code), plurals=plural_rule(code))
    entries = generate_po(
        catalog, width=_NO_WRAP, omit_header=True, ignore_obsolete=True, include_previous=True, include_lineno=False
    )
    return f"{catalog.header_comment}\n{header}{''.join(entries).rstrip()}\n".lstrip()


def _renamed(old: Any, new: Any) -> dict[str, str]:
    """Return the new name of each expression, if nothing else differs between two texts without plural."""
    if isinstance(old, tuple) or isinstance(new, tuple) or EXPRESSION.sub("{{}}", old) != EXPRESSION.sub("{{}}", new):
        return {}
    pairs = [*zip(EXPRESSION.findall(old), EXPRESSION.findall(new), strict=True)]
    renamed = dict(pairs)
    return renamed if all(renamed[before] == after for before, after in pairs) else {}


def refresh(root: Path = ROOT, locales: Path = LOCALES, codes: Iterable[str] | None = None) -> dict[Path, bool]:
    """Update all catalogs on disk. Return each path with whether it changed."""
    template, changed = extract(root), {}
    for code in translated_languages() if codes is None else codes:
        path = catalog_path(code, locales)
        content = update(read(code, locales), template, code).encode()
        changed[path] = not path.is_file() or path.read_bytes() != content
        if changed[path]:
            durable.write(path, content)  # a translator's work, perhaps not committed yet
    return changed
