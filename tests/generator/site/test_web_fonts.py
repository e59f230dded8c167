"""The fonts of a language: every character that it shows, in slices of which a page needs few."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from fontTools.ttLib import TTFont

from generator.drawing.faces import WEIGHTS
from generator.languages.language import load_language
from generator.site.web_fonts import STYLESHEET, Letters, web_fonts

COMMON = "# 编译\n\n延迟的中位数下降，见表。\n\n| 模型 |\n| --- |\n"
RARE = "罕见字只在此页出现甲乙丙丁戊己庚辛壬癸"


def rules(code: str, *pages: str) -> dict[str, set[str]]:
    """The characters for which CSS uses each font; without a range, all that it has."""
    made = web_fonts(load_language(code), {f"{n}.md": Letters.of(page) for n, page in enumerate(pages)})
    files = {file.uri.removeprefix("fonts/"): file.content for file in made}
    css = str(files[STYLESHEET.removeprefix("fonts/")])
    found = {}
    for name, ranges in re.findall(r"src:url\(([^)]+)\) format\(\"woff2\"\)(?:;unicode-range:([^}]+))?", css):
        content = files[name]
        assert isinstance(content, bytes)
        held = {chr(code) for code in TTFont(BytesIO(content)).getBestCmap()}
        found[name] = {chr(code) for run in ranges.split(",") for code in span(run)} if ranges else held
        assert found[name] <= held, "a font is taken for what it lacks"
    return found


def span(run: str) -> range:
    first, _, last = run.removeprefix("U+").partition("-")
    return range(int(first, 16), int(last or first, 16) + 1)


def test_chinese_comes_in_slices_and_a_rare_word_has_its_own() -> None:
    pages = [COMMON] * 9 + [COMMON + RARE]
    held = rules("zh", *pages)
    first = held["zh-regular.woff2"]
    assert set("编译延迟的中位数下降，见表。模型") <= first
    assert not first & set("罕壬癸")
    [own] = [name for name, characters in held.items() if "癸" in characters]
    assert {"罕", "壬"} <= held[own]
    slices = [characters for name, characters in held.items() if name.startswith("zh-regular")]
    assert sum(map(len, slices)) == len(set().union(*slices)), "no character twice"
    assert set("编译模型") <= held["zh-bold.woff2"]


@pytest.mark.parametrize("code", ["en", "ja", "ar"])
def test_every_character_of_a_page_has_a_font(code: str) -> None:
    text = {"en": "naïve “fast” → 1.5× ≤ 2", "ja": "レイテンシの中央値：低い", "ar": "زمن الاستجابة، أقل"}[code]
    held = rules(code, f"# {text} {{#title}}\n\n{text}\n")
    for weight in WEIGHTS:
        shown = set().union(*(characters for name, characters in held.items() if f"-{weight}" in name))
        assert set(text) <= shown


def test_letters_that_join_stay_together_and_latin_accents_wait() -> None:
    held = rules("ar", *["# زمن\n"] * 9, "# تصريف نادر\n")
    assert [name for name in held if name.startswith("ar-regular")] == ["ar-regular.woff2"]
    assert "é" in held["en-regular1.woff2"]
    assert "é" not in held["en-regular.woff2"]
