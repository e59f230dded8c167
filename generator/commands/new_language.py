"""Add a language to the guide: its entry in the list, an empty catalog, and the remaining steps.

Takes the code of a language; writes `languages.toml` and a catalog; returns lines of text about its support in CLDR and
Material, and about the remaining steps.

    python -m generator add-language ko
"""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

from bench import durable
from bench.errors import AtlasError
from generator.languages import catalogs
from generator.languages.glossary import load_glossary
from generator.languages.language import (
    LIST,
    LOCALES,
    catalog_path,
    listed,
    load_language,
    load_locale,
    plural_examples,
)
from generator.site import search


def add_language(code: str, root: Path = catalogs.ROOT) -> list[str]:
    """Add the language, and return the report. Raises `AtlasError` for a code that is invalid, or already there."""
    locales = root / LOCALES.name
    load_locale(code)
    if code in listed(locales).languages:
        raise AtlasError(
            f"{code} is already a language of the guide",
            where=f"{locales.name}/{LIST}",
            remedy="choose a different language",
        )
    catalogs.refresh(root, locales, [code])
    path = locales / LIST
    text = re.sub(r"(?m)^(languages = \[[^\]]*)\]", rf'\1, "{code}"]', path.read_text(encoding="utf-8"))
    durable.write(path, text.encode())
    language = load_language(code, locales)
    forms = "; ".join(
        f"msgstr[{index}] for {', '.join(map(str, numbers[:4]))}{', …' if len(numbers) > 4 else ''}"
        for index, numbers in enumerate(plural_examples(language.locale))
    )
    name = language.locale.get_language_name("en")
    terms = sum(not term.translation(code) for term in load_glossary(locales).term)
    return [
        f"{name} ({language.name}), {language.direction}, below /{language.prefix}",
        f"plural forms: {forms}",
        f"formats: {language.number(12345.678)}, {language.percent(0.45)}, {language.date(date(2024, 3, 1))}",
        f"search: {', '.join(search.settings(code)['lang'])}",
        "next:",
        f"  translate {catalog_path(code, locales).relative_to(root).as_posix()}; untranslated text is in English",
        f'  add `{code} = "…"` to the {terms} terms of {locales.name}/glossary.toml',
        f"  run `python -m generator check`; if nothing is missing, add {code} to `complete` in {locales.name}/{LIST}",
    ]
