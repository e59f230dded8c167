"""Languages: catalogs, plural forms, formats, direction."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LANGUAGES

from bench.errors import AtlasError
from generator.languages.language import Language, catalog_path, load_language

HEADER = 'msgid ""\nmsgstr "Plural-Forms: nplurals=6; plural=0;\\n"\n\n'


def language(code: str, catalog: str, folder: Path) -> Language:
    path = catalog_path(code, folder)
    path.parent.mkdir(parents=True)
    path.write_text(HEADER + catalog, encoding="utf-8")
    return load_language(code, folder)


@pytest.fixture(params=LANGUAGES)
def published(request: pytest.FixtureRequest) -> Language:
    return load_language(request.param)


# --- catalogs ---------------------------------------------------------------------------------------------------------


def test_a_message_is_translated_in_its_context(tmp_path: Path) -> None:
    zh = language("zh", 'msgid "run"\nmsgstr "运行次数"\n\nmsgctxt "verb"\nmsgid "run"\nmsgstr "运行"\n', tmp_path)
    assert (zh.gettext("run"), zh.pgettext("verb", "run")) == ("运行次数", "运行")


@pytest.mark.parametrize("entry", ['#, fuzzy\nmsgid "Model"\nmsgstr "模型"\n', 'msgid "Model"\nmsgstr ""\n', ""])
def test_fuzzy_empty_and_missing_translations_are_not_used(tmp_path: Path, entry: str) -> None:
    zh = language("zh", entry, tmp_path)
    assert zh.translation("Model") is None
    assert zh.gettext("Model") == "Model"


@pytest.mark.parametrize("translation", ["%(m)s 行", "%(n)s 行，50% 的", "%(n) 行"])
def test_a_placeholder_that_cannot_be_filled_is_refused_with_its_line(tmp_path: Path, translation: str) -> None:
    with pytest.raises(AtlasError, match=r"messages\.po:4: the placeholders of '%\(n\)s rows' cannot be filled"):
        language("zh", f'msgid "%(n)s rows"\nmsgstr "{translation}"\n', tmp_path)


@pytest.mark.parametrize("code", ["xx-nowhere", "klingon", "", "../etc"])
def test_an_unknown_code_is_refused(tmp_path: Path, code: str) -> None:
    with pytest.raises(AtlasError, match="not the code of a language"):
        load_language(code, tmp_path)


# --- plural forms -----------------------------------------------------------------------------------------------------

ARABIC = {0: "صفر", 1: "واحد", 2: "اثنان", 3: "قليل", 11: "كثير", 100: "غير ذلك"}


def test_arabic_has_six_plural_forms(tmp_path: Path) -> None:
    forms = "".join(f'msgstr[{i}] "{form}"\n' for i, form in enumerate(ARABIC.values()))
    ar = language("ar", f'msgid "%(n)s model"\nmsgid_plural "%(n)s models"\n{forms}', tmp_path)
    assert {n: ar.ngettext("%(n)s model", "%(n)s models", n) for n in ARABIC} == ARABIC
    more = {10: ARABIC[3], 99: ARABIC[11], 102: ARABIC[100], 103: ARABIC[3], 111: ARABIC[11]}
    assert {n: ar.ngettext("%(n)s model", "%(n)s models", n) for n in more} == more


# --- formats ----------------------------------------------------------------------------------------------------------


def test_numbers_have_latin_digits_everywhere(published: Language) -> None:
    numbers = [published.number(1234567.891), published.number(2, 3), published.number(1234.5678, 0)]
    assert numbers == ["1,234,567.891", "2.000", "1,235"]
    units = [published.milliseconds(7.325), published.milliseconds(0.5, 1), published.seconds(41.52)]
    assert units == ["7.325\u00a0ms", "0.5\u00a0ms", "41.5\u00a0s"]
    assert [published.percent(-0.453), published.ratio(1.5), published.number(None)] == ["−45.3%", "1.50×", "–"]
