"""Languages: catalogs, plural forms, formats, direction."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from conftest import LANGUAGES
from markupsafe import escape

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


# --- untranslated -----------------------------------------------------------------------------------------------------


def test_english_that_stands_in_says_so_in_html_and_nowhere_else(tmp_path: Path) -> None:
    chinese = language("zh", 'msgid "a"\nmsgstr "甲"\n', tmp_path)
    mark = '<span class="untranslated" lang="en" dir="ltr">'
    assert escape(chinese.gettext("b %(n)s") % {"n": 3}) == f"{mark}b 3</span>"
    assert escape(chinese.ngettext("one", "many", 2)) == f"{mark}many</span>"
    assert str(chinese.gettext("b")) == f"{chinese.gettext('b')}" == "b"
    assert escape(chinese.gettext("a")) == "甲"
    assert escape(load_language("en").gettext("b")) == "b"


# --- catalogs ---------------------------------------------------------------------------------------------------------


def test_a_message_is_translated(tmp_path: Path) -> None:
    zh = language("zh", 'msgid "Model"\nmsgstr "模型"\n\nmsgctxt "verb"\nmsgid "run"\nmsgstr "运行"\n', tmp_path)
    assert zh.gettext("Model") == "模型"
    assert zh.pgettext("verb", "run") == "运行"
    assert zh.gettext("run") == "run"


@pytest.mark.parametrize("entry", ['#, fuzzy\nmsgid "Model"\nmsgstr "模型"\n', 'msgid "Model"\nmsgstr ""\n', ""])
def test_fuzzy_empty_and_missing_translations_are_not_used(tmp_path: Path, entry: str) -> None:
    zh = language("zh", entry, tmp_path)
    assert zh.translation("Model") is None
    assert zh.gettext("Model") == "Model"


def test_a_missing_catalog_names_file_and_command(tmp_path: Path) -> None:
    with pytest.raises(AtlasError) as error:
        load_language("ja", tmp_path)
    assert "Japanese" in error.value.what
    assert error.value.where.endswith("ja/LC_MESSAGES/messages.po")
    assert "python -m generator messages" in error.value.remedy


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
    assert [published.percent(-0.453), published.ratio(1.5), published.number(None)] == ["-45.3%", "1.50×", "–"]


@pytest.mark.parametrize(
    ("code", "day", "names"),
    [
        ("en", "March 1, 2024", "ViT, BeiT, and DETR"),
        ("zh", "2024 年 3 月 1 日", "ViT、BeiT 和 DETR"),
        ("ja", "2024 年 3 月 1 日", "ViT、BeiT、DETR"),
        ("ar", "1 مارس 2024", "ViT وBeiT وDETR"),
    ],
)
def test_dates_and_lists(code: str, day: str, names: str) -> None:
    each = load_language(code)
    assert each.date(date(2024, 3, 1)) == day
    assert each.date(datetime(2024, 3, 1, 14, 5, tzinfo=UTC)) == day
    assert each.names(["ViT", "BeiT", "DETR"]) == names


def test_units_in_words(published: Language) -> None:
    expected = {"en": "12 min", "zh": "12 分钟", "ja": "12 分", "ar": "12 د"}
    assert published.unit(12, "duration-minute") == expected[published.code]


def test_values_are_isolated_in_right_to_left_text() -> None:
    ar, en = load_language("ar"), load_language("en")
    assert ar.isolate("7 ms") == '<bdi dir="ltr">7 ms</bdi>'
    assert ar.embed("7 ms") == "\u200e7 ms\u200e"
    assert en.isolate("7 ms") == en.embed("7 ms") == "7 ms"
