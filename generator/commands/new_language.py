"""Add a language to the guide: its entry in the list, an empty catalog, the font of its script, and what is left to do.

Takes the code of a language; writes `languages.toml`, a catalog, and a font face if the script has none; returns lines
of text about its support in CLDR, Material and fonts, and about what is left to do by hand.

    python -m generator add-language ko
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from bench import durable
from bench.errors import AtlasError
from generator.drawing import faces
from generator.drawing.make_fonts import make_face
from generator.languages import catalogs
from generator.languages.glossary import load_glossary
from generator.languages.language import (
    LIST,
    LOCALES,
    Language,
    catalog_path,
    listed,
    load_language,
    load_locale,
    plural_examples,
    script_of,
)
from generator.site import material


def add_language(code: str, root: Path = catalogs.ROOT, font: Path | None = None) -> list[str]:
    """Add the language, or the font that it lacks, and return the report.

    `font` is a file or a folder with the full font; by default it is looked for where systems install fonts. Raises
    `AtlasError` for a code that is invalid, or already there with its font, and for a `font` that is unusable.
    """
    locales, folder = root / LOCALES.name, root / FONTS
    load_locale(code)
    is_listed = code in listed(locales)
    if is_listed and faces.own_face(code, folder):
        raise AtlasError(
            f"{code} is already a language of the guide",
            where=f"{locales.name}/{LIST}",
            remedy="choose a different language",
        )
    about_font, made = _add_font(code, font, folder)
    if not is_listed:
        catalogs.refresh(root, locales, [code])
        _list(code, locales / LIST)
    left = [f"  add {FONTS.as_posix()}/{made}-*.ttf and its owner to {LICENCES}"] if made else []
    return [*_report(load_language(code, locales), root, locales, about_font), *left]


FONTS = Path("generator", "fonts")
LICENCES = "docs/assets/licences.toml"


def _add_font(code: str, font: Path | None, folder: Path) -> tuple[str, str]:
    """Add a face for the script of the language, unless there is one. Return a line about it, and its name if it is
    new."""
    script = script_of(code)
    name = faces.script_name(script)
    if faces.own_face(code, folder):
        return f"the guide includes one for its script ({name})", ""
    face = faces.new_face(script)
    try:
        made = make_face(face, font, folder)
    except AtlasError as error:
        if font:
            raise
        return (
            f"none yet: {error.what}. Until there is one, pages use the reader's fonts, and charts and cards are in "
            f"English.\n  {error.remedy}: python -m generator add-language {code} --font FILE"
        ), ""
    faces.add(face, folder)
    return f"{' and '.join(path.name for path in made)}, cut for its script ({name})", face.name


def _list(code: str, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    durable.write(path, re.sub(r"(?m)^(languages = \[[^\]]*)\]", rf'\1, "{code}"]', text).encode())


def _report(language: Language, root: Path, locales: Path, about_font: str) -> Iterator[str]:
    code, locale = language.code, language.locale
    forms = "; ".join(
        f"msgstr[{index}] for {', '.join(map(str, numbers[:4]))}{', …' if len(numbers) > 4 else ''}"
        for index, numbers in enumerate(plural_examples(locale))
    )
    search = ", ".join(material.search(code)["lang"])
    yield f"{locale.get_language_name('en')} ({language.name}), {language.direction}, below /{language.prefix}"
    yield f"plural forms: {forms}"
    yield f"formats: {language.number(12345.678)}, {language.percent(0.45)}, {language.date(date(2024, 3, 1))}"
    yield f"search: {search}"
    yield f"font: {about_font}"
    yield "next:"
    yield f"  translate {catalog_path(code, locales).relative_to(root).as_posix()}; untranslated text is in English"
    terms = sum(not term.translation(code) for term in load_glossary(locales).term)
    yield f'  add `{code} = "…"` to the {terms} terms of {locales.name}/glossary.toml'
    yield "  run `python -m generator check`, and write `X-Complete: yes` into the catalog when nothing is missing"
