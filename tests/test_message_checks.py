"""Every kind of mistake in a translated message, with a translation that has it and one that has not."""

from __future__ import annotations

import pytest

from generator.glossary import Glossary
from generator.message_checks import check_translation

GLOSSARY = Glossary(keep=("PyTorch", "ViT", "GPU"), term=())

PAIRS = [
    # code, English, wrong, right, what is said
    ("zh", "It takes {{ x | ms }}.", "需要时间。", "需要{{ x | ms }}。", "expression {{ x | ms }} is missing"),
    ("zh", "It takes {{ x | ms }}.", "需要{{ x | s }}。", "需要 {{ x  |  ms }}。", "expression {{ x | s }} is not"),
    ("zh", "It takes time.", "{% if x %}需要时间。", "需要时间。", "expression {% if x %} is not"),
    ("zh", "%(n)s rows", "行", "%(n)s 行", "placeholder %(n)s is missing"),
    ("zh", "rows", "%(n)s 行", "行", "placeholder %(n)s is not"),
    ("zh", "Call `a.b` now.", "现在调用 a.b。", "现在调用 `a.b`。", "inline code a.b is missing"),
    ("zh", "Call `a.b` now.", "现在调用 `a.c`。", "现在调用 `a.b`。", "inline code a.c is not"),
    ("zh", "<b>Fast</b>", "快", "<b>快</b>", "tag <b> is missing"),
    ("ar", "A name", "اسم <i>ما</i>", 'اسم <bdi dir="ltr">ما</bdi>', "tag <i> is not"),
    ("zh", "See [here](a.md#b).", "见[此处](a.md)。", "见[此处](a.md#b)。", "link target a.md#b is missing"),
    ("zh", "![Chart](a.svg) here", "图在此", "![图](a.svg)在此", "link target !a.svg is missing"),
    ("zh", "See [here][ref].", "见此处。", "见[此处][ref]。", "link target ref is missing"),
    ("zh", "So.[^1]", "如此。", "如此。[^1]", "footnote [^1] is missing"),
    ("zh", "[Go](a.md){ .b }", "[前往](a.md)", "[前往](a.md){ .b }", "attribute list { .b } is missing"),
    ("zh", ":material-clock: Time", "时间", ":material-clock: 时间", "icon :material-clock: is missing"),
    ("zh", "At https://a.org/x", "在此", "在 https://a.org/x", "address https://a.org/x is missing"),
    ("zh", "**Fast** car", "快车", "**快**车", "** instead of 2"),
    ("zh", "Two spaces", "两 个  空", "两个空", "spaces"),
    ("zh", "No space", " 无", "无", "spaces"),
    ("zh", "One line", "一\n行", "一行", "number of lines"),
    ("zh", "A heading", "标题 {#id}", "标题", "heading id"),
    ("zh", "Not a list", "- 列表", "列表", "another kind of block"),
    ("zh", "A cell", "单|元", "单\\|元", "bar"),
    ("ar", "Plain", "\u202bعادي\u202c", "عادي", "bidi control U+202B"),
    ("ar", "Plain", "\u2067عادي\u2069", "عادي", "bidi control U+2067"),
    ("zh", "Plain", "普\u200b通", "普通", "invisible character U+200B"),
    ("zh", "Plain", "普通\u200f", "普通", "direction mark U+200F"),
    ("ja", "Data", "テ\u3099ータ", "データ", "NFC"),
    ("zh", "In 2023 it was 300.", "2023 年为 400。", "2023 年为 300。", "number 300 is missing"),
    ("zh", "In 2023", "2024 年", "2023 年", "number 2024 is not"),
    ("zh", "Four modes", "模式 4.5 种", "4 种模式", "number 4.5 is not"),
    ("zh", "The figures of ViT", "The figures of ViT", "ViT 的数值", "not translated"),
    ("ja", "A fast GPU", "高速な GPU mashine", "高速な GPU", "word mashine is not"),
    ("zh", "Of PyTorch", "它的", "PyTorch 的", "name PyTorch is missing"),
    ("zh", "Fast, small", "快,小", "快，小", "half-width punctuation"),
    ("ja", "Note: this", "注:これ", "注：これ", "half-width punctuation"),
    ("zh", "It is so.", "如此.", "如此。", "half-width full stop"),
    ("zh", "Fast (very)", "快 (很)", "快（很）", "half-width parenthesis"),
    ("zh", 'Say "so"', '说"好"', "说“好”", "straight quotes"),
    ("zh", "On a GPU", "在GPU上", "在 GPU 上", "no space"),
    ("ja", "Use `x` so", "`x`を使う", "`x` を使う", "no space"),
    ("ja", "In 2023", "2023年", "2023 年", "no space"),
    ("zh", "**GPU** time", "**GPU**时间", "**GPU** 时间", "no space"),
    ("zh", "Good time", "好 时间", "好时间", "a space between two CJK letters"),
    ("zh", "Fast, small", "快， 小", "快，小", "a space beside full-width punctuation"),
    ("ja", "GPU and 3", "ＧＰＵ と 3 GPU", "GPU と 3", "full-width letter"),
    ("ja", "Data", "ﾃﾞｰﾀ", "データ", "half-width katakana"),
    ("zh", "Say so", "说「好」", "说“好”", "corner brackets"),
    ("zh", "Say so", "说”好“", "说“好”", "reversed quotes"),
    ("ja", "Say so", "“好”", "「好」", "curly quotes"),
    ("ja", "Fast, small", "速い，小さい", "速い、小さい", "Chinese comma"),
    ("zh", "And so on", "等等...", "等等……", "three dots"),
    ("zh", "It is so.", "如此", "如此。", "ends with ."),
    ("zh", "Is it so?", "是吗", "是吗？", "ends with ?"),
    ("ja", "It is so.", "そうです", "そうです。", "ends with ."),
    ("ja", "It merges operations.", "演算を融合します", "演算を融合する", "ends with ."),
    ("ja", "Like this:", "次のとおり", "次のとおりです。", "ends with :"),
    ("ar", "Fast, small", "سريع, صغير", "سريع، صغير", "Latin comma"),
    ("ar", "Fast; small", "سريع; صغير", "سريع؛ صغير", "Latin semicolon"),
    ("ar", "Is it so?", "هل هو كذلك?", "هل هو كذلك؟", "Latin question mark"),
    ("ar", "In 2023", "عام ٢٠٢٣ 2023", "عام 2023", "digit or sign of another system"),
    ("ar", "On it", "علی ذلك", "على ذلك", "Persian letter"),
    ("ar", "Fast, small", "سريع ، صغير", "سريع، صغير", "wrong space"),
    ("ar", "Fast and small", "سريع و صغير", "سريع وصغير", "detached"),
    ("ar", 'Say "so"', 'قل "نعم"', "قل «نعم»", "straight quotes"),
    ("ar", "It is so.", "هو كذلك", "هو كذلك.", "ends with ."),
]  # fmt: skip


@pytest.mark.parametrize(("code", "english", "wrong", "right", "what"), PAIRS)
def test_a_mistake_is_found_and_only_it(code: str, english: str, wrong: str, right: str, what: str) -> None:
    found = [complaint.what for complaint in check_translation(english, wrong, code, GLOSSARY)]
    assert any(what in each for each in found), found
    assert [complaint.what for complaint in check_translation(english, right, code, GLOSSARY)] == []


def test_every_complaint_says_what_to_do() -> None:
    for code, english, wrong, _, _ in PAIRS:
        assert all(complaint.remedy for complaint in check_translation(english, wrong, code, GLOSSARY))


@pytest.mark.parametrize("form", ["نموذج واحد", "%(n)s نماذج"])
def test_a_plural_form_may_leave_out_the_number(form: str) -> None:
    assert list(check_translation("%(n)s models", form, "ar", GLOSSARY, plural=True)) == []


def test_a_plural_form_adds_no_placeholder() -> None:
    (complaint,) = check_translation("%(n)s models", "%(m)s نماذج", "ar", GLOSSARY, plural=True)
    assert "%(m)s is not in the English" in complaint.what
