"""Translation catalogs: extract the messages of the project, and update the catalogs when pages change.

`refresh` reads pages in the order of the navigation, then templates and Python sources. It
updates one ``messages.po`` per language. A second run changes nothing, and an edit changes only its own entry.

    python -m generator messages
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import polib
import yaml
from babel.messages.extract import extract_from_file
from babel.messages.frontend import parse_mapping_cfg
from babel.plural import to_gettext
from babel.util import pathmatch
from jinja2 import TemplateSyntaxError

from bench import durable
from bench.errors import AtlasError
from generator.languages.blocks import EXPRESSION
from generator.languages.language import LOCALES, catalog_path, load_locale, plural_forms, translated_languages
from generator.languages.page_source import NO_PAGES, parse_page
from generator.languages.pofile import NAMED, Key, forms, key, parse

ROOT = Path(__file__).resolve().parents[2]
"""The project folder, with ``babel.cfg``, ``mkdocs.yml`` and ``docs/``."""

KEYWORDS = {
    "gettext": None,
    "_": None,
    "N_": None,
    "ngettext": (1, 2),
    "N_n": (1, 2),
    "pgettext": ((1, "c"), 2),
    "N_p": ((1, "c"), 2),
}
"""Functions whose literal arguments are messages. ``N_``, ``N_n`` and ``N_p`` mark a text that is translated later."""

SIMILAR = 0.7
"""Least similarity (0 to 1) of a new and a removed text at which the old translation is kept as fuzzy."""


@dataclass(frozen=True)
class Message:
    """A text to translate, with all files that use it."""

    context: str | None
    id: str
    plural: str | None = None
    comments: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    @property
    def key(self) -> Key:
        """The key of the message in a catalog."""
        return (self.context, self.id)


# --- Extraction -------------------------------------------------------------------------------------------------------


def extract(root: Path = ROOT) -> list[Message]:
    """Return every message: of pages in the order of the navigation, then of settings, templates and sources."""
    messages: dict[Key, Message] = {}
    for path, method in _sources(root):
        file = path.relative_to(root).as_posix()
        for _, text, comments, context in _extract_file(path, method, file):
            singular, plural = (text, None) if isinstance(text, str) else text
            new = Message(context, singular, plural, tuple(comments), (file,))
            messages[new.key] = _merged(messages.get(new.key), new)
    return list(messages.values())


def _extract_file(path: Path, method: str, file: str) -> list[Any]:
    options = {"file": file} if "catalogs" in method else {}
    if method == "jinja2":
        options = {"trimmed": "true", "silent": "false"}
    try:
        return list(extract_from_file(method, path, KEYWORDS, ("Translators:",), options, strip_comment_tags=True))
    except (SyntaxError, ValueError, LookupError, TemplateSyntaxError) as error:  # in Python or Jinja
        line = getattr(error, "lineno", None)
        raise AtlasError(
            f"cannot be parsed for messages: {error}",
            where=f"{file}:{line}" if line else file,
            remedy="correct the source",
        ) from None


def _merged(old: Message | None, new: Message) -> Message:
    if old is None:
        return new
    return replace(
        old,
        plural=old.plural or new.plural,
        comments=tuple(dict.fromkeys((*old.comments, *new.comments))),
        files=tuple(dict.fromkeys((*old.files, *new.files))),
    )


def _sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield each source with the Babel method that reads it, in the order of the catalog."""
    with (root / "babel.cfg").open(encoding="utf-8") as file:
        methods, _ = parse_mapping_cfg(file)  # type: ignore[no-untyped-call]
    for pattern, method in methods:
        folder = root / pattern.split("*")[0].rpartition("/")[0]
        candidates = [root / pattern] if "*" not in pattern else folder.rglob("*")
        paths = [
            path for path in candidates if path.is_file() and pathmatch(pattern, path.relative_to(root).as_posix())
        ]
        if method == "generator.languages.catalogs.extract_page":
            paths = [path for path in paths if path.relative_to(folder).parts[0] not in NO_PAGES]
            yield from ((path, method) for path in in_order(paths, folder, navigation(root)))
        else:
            yield from ((path, method) for path in sorted(paths))


def in_order(pages: Iterable[Path], docs: Path, nav: list[str]) -> list[Path]:
    """Sort pages by the navigation. Its entries are pages, or folders whose index page comes first."""

    def place(path: Path) -> tuple[int, bool, str]:
        uri = path.relative_to(docs).as_posix()
        entries = [i for i, entry in enumerate(nav) if uri == entry or (entry.endswith("/") and uri.startswith(entry))]
        return (entries[0] if entries else len(nav), path.name != "index.md", uri)

    return sorted(pages, key=place)


def navigation(root: Path = ROOT) -> list[str]:
    """Return the pages and folders in the `nav` of mkdocs.yml, in order."""
    path = root / "mkdocs.yml"
    node = _composed(path.read_bytes()) if path.is_file() else None
    return [leaf for leaf, is_title, _ in _nav_texts(node) if not is_title]


def _composed(settings: bytes) -> yaml.Node | None:
    with settings_errors():
        return yaml.compose(settings, Loader=yaml.SafeLoader)


@contextmanager
def settings_errors() -> Iterator[None]:
    """Turn a YAML error in mkdocs.yml into an `AtlasError` with its line."""
    try:
        yield
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise AtlasError(
            f"is not valid YAML: {getattr(error, 'problem', None) or error}",
            where=f"mkdocs.yml:{mark.line + 1}" if mark else "mkdocs.yml",
            remedy="correct the line",
        ) from None


def _nav_texts(node: yaml.Node | None) -> Iterator[tuple[str, bool, int]]:
    """Yield the texts of `nav` as (text, whether it is a title, 0-based line)."""
    for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if name.value == "nav":
            yield from _below_nav(value)


def _below_nav(node: yaml.Node) -> Iterator[tuple[str, bool, int]]:
    if isinstance(node, yaml.ScalarNode):
        yield str(node.value), False, node.start_mark.line
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _below_nav(item)
    elif isinstance(node, yaml.MappingNode):
        for title, value in node.value:
            yield str(title.value), True, title.start_mark.line
            yield from _below_nav(value)


Extracted = Iterator[tuple[int, str | None, str, list[str]]]


def extract_page(file: IO[bytes], _keywords: object, _tags: object, options: Mapping[str, Any]) -> Extracted:
    """Babel extraction method for authored Markdown: front matter and blocks, commented with page and kind."""
    where = str(options.get("file") or file.name)
    source = parse_page(Path(where).name, file.read().decode("utf-8"), where)
    uri = where.removeprefix("docs/")
    title, address = source.front.messages.get("title") or uri, address_of(uri)
    for name, message in source.front.messages.items():
        yield source.front.lines[name], None, message, [f"{title} · page {name} · {address}"]
    for block in source.document.blocks:
        yield block.line, None, block.message, [f"{title} · {block.kind} · {address}"]


def address_of(uri: str) -> str:
    """Return the address of a page below the root of its language, with dots for the name in a page per device."""
    return f"/{uri.removesuffix('.md')}/".replace("/each/", "/…/").removesuffix("index/").replace("//", "/")


def extract_source(file: IO[bytes], keywords: Any, tags: Any, options: object) -> Iterator[Any]:
    """Babel extraction method for Python that reads the syntax tree. Babel's own reads tokens and misses f-strings.

    Only a literal argument is a message: ``gettext("a")``, not ``gettext(names["a"])``.
    """
    del options
    source = file.read()
    if b"gettext" not in source and b"N_" not in source:
        return
    lines = source.decode("utf-8").split("\n")
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: (call.lineno, call.col_offset)):
        name = getattr(call.func, "attr", getattr(call.func, "id", ""))
        texts = tuple(getattr(argument, "value", None) for argument in call.args)
        if name in keywords and texts and all(isinstance(text, str) for text in texts[: 2 if KEYWORDS[name] else 1]):
            yield call.lineno, name, texts, _comments(lines, call.lineno - 1, tags)


def _comments(lines: list[str], above: int, tags: Iterable[str]) -> list[str]:
    """Return the comment directly above a line, starting with the line that begins with one of `tags`."""
    first = above
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    comments = [line.strip().lstrip("# ") for line in lines[first:above]]
    begin = next((i for i, comment in enumerate(comments) if comment.startswith(tuple(tags))), len(comments))
    return comments[begin:]


def extract_settings(file: IO[bytes], _keywords: object, _tags: object, options: object) -> Extracted:
    """Babel extraction method for mkdocs.yml: navigation titles, name and description of the site."""
    del options
    node = _composed(file.read())
    for name, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if name.value in {"site_name", "site_description"}:
            yield value.start_mark.line + 1, None, str(value.value), [str(name.value).replace("_", " ")]
    for text, is_title, line in _nav_texts(node):
        if is_title:
            yield line + 1, None, text, ["title in the navigation"]


# --- Catalogs ---------------------------------------------------------------------------------------------------------


def update(old: polib.POFile, messages: Collection[Message], code: str) -> polib.POFile:
    """Return the catalog of a language, updated with the messages of the project.

    A translation stays with its text, wherever the text moves. If only the expressions of a text changed, they change
    in the translation too. A text that resembles a removed one gets its translation as fuzzy, with the previous text
    beside it. Other removed messages stay at the end, as obsolete: `msgattrib --no-obsolete` takes them out.
    """
    new = polib.POFile(wrapwidth=0)
    new.header = old.header
    new.metadata = _headers(old, code)
    known = {key(entry): entry for entry in sorted(old, key=lambda entry: not entry.obsolete)}  # a live entry wins
    wanted = {message.key for message in messages}
    removed = {k: entry for k, entry in known.items() if k not in wanted and any(forms(entry))}
    plurals = len(plural_forms(load_locale(code)))
    for message in messages:
        entry = _entry(message, plurals)
        source = known.get(message.key)
        if source is not None:
            _adopt(entry, source)
        else:
            _inherit(entry, removed)
        new.append(entry)
    for entry in removed.values():
        entry.obsolete, entry.comment, entry.occurrences = True, "", []
        new.append(entry)
    return new


_METADATA = {
    "Project-Id-Version": "Compile Atlas",
    "MIME-Version": "1.0",
    "Content-Type": "text/plain; charset=UTF-8",
    "Content-Transfer-Encoding": "8bit",
}

_GETTEXT_CODES = {"zh": "zh_CN"}

PLURAL_FORMS = {
    # Babel's table for catalogs swaps the last two forms, and the rule that it derives from CLDR is hard to read.
    "ar": "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : n%100>=11 ? 4 : 5);"
}
"""Headers by which gettext editors choose ``msgstr[…]`` for a number. The site itself uses CLDR."""


def plural_rule(code: str) -> str:
    """Return the header ``Plural-Forms`` of a language, from its rule in CLDR."""
    if code in PLURAL_FORMS:
        return PLURAL_FORMS[code]
    locale = load_locale(code)
    if len(plural_forms(locale)) == 1:
        return "nplurals=1; plural=0;"
    # gettext counts integers: it has no decimals (0 == 0) and no compact notation, whose exponent is e.
    rule = to_gettext(locale.plural_form).replace("(0 == 0)", "1")
    return re.sub(r"\be\b", "0", rule).removesuffix(";") + ";"


def _headers(old: polib.POFile, code: str) -> dict[str, str]:
    headers = {**_METADATA, "Language": _GETTEXT_CODES.get(code, code)}
    headers["Plural-Forms"] = plural_rule(code)
    return {**headers, "X-Complete": old.metadata.get("X-Complete", "no")}


def _entry(message: Message, plurals: int = 2) -> polib.POEntry:
    texts = f"{message.id}{message.plural or ''}"
    return polib.POEntry(
        msgctxt=message.context,
        msgid=message.id,
        msgid_plural=message.plural or "",
        msgstr_plural=dict.fromkeys(range(plurals), "") if message.plural else {},
        comment="\n".join(message.comments),
        occurrences=[(file, "") for file in message.files],
        flags=["python-format"] if NAMED.search(texts) else [],
    )


def _adopt(entry: polib.POEntry, source: polib.POEntry) -> None:
    """Copy the translation of the same text."""
    entry.tcomment = source.tcomment
    if source.fuzzy:
        entry.flags = ["fuzzy", *entry.flags]
        entry.previous_msgctxt = source.previous_msgctxt
        entry.previous_msgid = source.previous_msgid
        entry.previous_msgid_plural = source.previous_msgid_plural
    if bool(entry.msgid_plural) == bool(source.msgid_plural):
        _translate(entry, source.msgstr, source.msgstr_plural)
    elif entry.msgid_plural:
        entry.flags = ["fuzzy", *(flag for flag in entry.flags if flag != "fuzzy")]
        entry.msgstr_plural = {**entry.msgstr_plural, 0: source.msgstr}
    else:
        entry.flags = ["fuzzy", *(flag for flag in entry.flags if flag != "fuzzy")]
        entry.msgstr = source.msgstr_plural.get(0, "")


def _translate(entry: polib.POEntry, msgstr: str, msgstr_plural: Mapping[int, str]) -> None:
    entry.msgstr = msgstr
    if entry.msgid_plural:
        entry.msgstr_plural = {index: msgstr_plural.get(index, "") for index in entry.msgstr_plural}


def _inherit(entry: polib.POEntry, removed: dict[Key, polib.POEntry]) -> None:
    """Copy the translation of a removed text that resembles this one, if there is one."""
    candidates = {k[1]: k for k, old in removed.items() if bool(old.msgid_plural) == bool(entry.msgid_plural)}
    shape = EXPRESSION.sub("{{}}", entry.msgid)
    for msgid, k in candidates.items():
        renamed = _renamed(msgid, entry.msgid) if EXPRESSION.sub("{{}}", msgid) == shape else None
        if renamed is not None and not entry.msgid_plural:
            old = removed.pop(k)
            entry.tcomment = old.tcomment
            entry.flags = ["fuzzy", *entry.flags] if old.fuzzy else entry.flags
            entry.msgstr = _with(old.msgstr, renamed)
            return
    near = difflib.get_close_matches(entry.msgid, candidates, n=1, cutoff=SIMILAR)
    if near:
        old = removed.pop(candidates[near[0]])
        entry.tcomment = old.tcomment
        entry.flags = ["fuzzy", *entry.flags]
        entry.previous_msgctxt, entry.previous_msgid = old.msgctxt, old.msgid
        entry.previous_msgid_plural = old.msgid_plural or None
        _translate(entry, old.msgstr, old.msgstr_plural)


def _renamed(old: str, new: str) -> dict[str, str] | None:
    """Return the new expression of each old one, for texts that are otherwise equal; None if that is ambiguous."""
    pairs = list(zip(EXPRESSION.findall(old), EXPRESSION.findall(new), strict=True))
    renamed = dict(pairs)
    return renamed if all(renamed[before] == after for before, after in pairs) else None


def _with(text: str, renamed: Mapping[str, str]) -> str:
    return EXPRESSION.sub(lambda match: renamed.get(match[0], match[0]), text)


# --- Files ------------------------------------------------------------------------------------------------------------


def read(path: Path) -> polib.POFile:
    """Read a catalog, or return an empty one if the file does not exist."""
    return parse(path.read_bytes(), str(path)) if path.is_file() else polib.POFile(wrapwidth=0)


def write(catalog: polib.POFile, path: Path) -> bool:
    """Write a catalog if it differs from the file, and return whether it did."""
    text = f"{str(catalog).rstrip()}\n"
    if path.is_file() and path.read_text(encoding="utf-8") == text:
        return False
    durable.write(path, text.encode())  # a translator's work, perhaps not committed yet
    return True


def refresh(root: Path = ROOT, locales: Path = LOCALES, codes: Iterable[str] | None = None) -> dict[Path, bool]:
    """Update all catalogs on disk. Return each path with whether it changed."""
    messages, changed = extract(root), {}
    for code in translated_languages() if codes is None else codes:
        path = catalog_path(code, locales)
        old = read(path)
        if not old.header:
            name = load_locale(code).get_language_name("en")
            old.header = f"{name} translations of Compile Atlas."
        changed[path] = write(update(old, messages, code), path)
    return changed
