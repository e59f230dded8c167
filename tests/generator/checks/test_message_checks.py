"""Every kind of mistake in a translated message, with a translation that has it and one that has not."""

from __future__ import annotations

import pytest

from generator.checks.message_checks import check_translation
from generator.languages.glossary import Glossary, Term

LATENCY = Term(en="latency", names={"zh": "延迟"}, avoid={"zh": ("时延",)})
GLOSSARY = Glossary(keep=("PyTorch", "ViT", "GPU"), term=(LATENCY,))

PAIRS = [
    # code, English, wrong, right, what is said, by which rule
    ("zh", "It takes {{ x }}.", "需要时间。", "需要{{ x }}。", "{{ x }} is missing", "markup"),
    ("zh", "It takes {{ x }}.", "需要{{ y }}。", "需要 {{  x }}。", "{{ y }} is not", "markup"),
    ("zh", "It takes time.", "{% if x %}需要时间。", "需要时间。", "{% if x %} is not", "markup"),
    ("zh", "%(n)s rows", "行", "%(n)s 行", "%(n)s is missing", "markup"),
    ("zh", "rows", "%(n)s 行", "行", "%(n)s is not", "markup"),
    ("zh", "Call `a.b` now.", "现在调用 a.b。", "现在调用 `a.b`。", "`a.b` is missing", "markup"),
    ("zh", "Call `a.b` now.", "现在调用 `a.c`。", "现在调用 `a.b`。", "`a.c` is not", "markup"),
    ("zh", "<b>Fast</b>", "快", "<b>快</b>", "<b> is missing", "markup"),
    ("ar", "A name", "اسم <i>ما</i>", 'اسم <bdi dir="ltr">ما</bdi>', "<i> is not", "markup"),
    ("zh", "See [here](a.md#b).", "见[此处](a.md)。", "见[此处](a.md#b)。", "](a.md#b) is missing", "markup"),
    ("zh", "![Chart](a.svg) here", "图在此", "![图](a.svg)在此", "](a.svg) is missing", "markup"),
    ("zh", "See [here][ref].", "见此处。", "见[此处][ref]。", "][ref] is missing", "markup"),
    ("zh", "So.[^1]", "如此。", "如此。[^1]", "[^1] is missing", "markup"),
    ("zh", "[Go](a.md){ .b }", "[前往](a.md)", "[前往](a.md){ .b }", "{ .b } is missing", "markup"),
    ("zh", ":material-clock: Time", "时间", ":material-clock: 时间", ":material-clock: is missing", "markup"),
    ("zh", "At https://a.org/x", "在此", "在 https://a.org/x", "https://a.org/x is missing", "markup"),
    ("zh", "**Fast** car", "快车", "**快**车", "** is missing", "markup"),
    ("zh", "Two spaces", "两 个  空", "两个空", "spaces", "spaces"),
    ("zh", "No space", " 无", "无", "spaces", "spaces"),
    ("zh", "One line", "一\n行", "一行", "a line break is not in the English", "markup"),
    ("zh", "A heading", "标题 {#id}", "标题", "{#id} is not in the English", "markup"),
    ("zh", "Not a list", "- 列表", "列表", "another kind of block", "block"),
    ("zh", "A note", "# 注", "注", "another kind of block", "block"),
    ("zh", "The latency.", "时延。", "延迟。", "“latency” is translated as 时延", "term"),
    ("ko", "The figures of ViT", "The figures of ViT", "ViT의 수치", "not translated", "untranslated"),
    ("he", "Plain", "\u202bרגיל\u202c", "רגיל\u200f", "invisible character U+202B", "character"),
    ("zh", "A cell", "单|元", "单\\|元", "| is not in the English", "markup"),
    ("ar", "Plain", "\u202bعادي\u202c", "عادي", "invisible character U+202B", "character"),
    ("ar", "Plain", "\u2067عادي\u2069", "عادي", "invisible character U+2067", "character"),
    ("zh", "Plain", "普\u200b通", "普通", "invisible character U+200B", "character"),
    ("zh", "Plain", "普通\u200f", "普通", "invisible character U+200F", "character"),
    ("ja", "Data", "テ\u3099ータ", "データ", "NFC", "character"),
    ("zh", "In 2023 it was 300.", "2023 年为 400。", "2023 年为 300。", "number 300 is missing", "number"),
    ("zh", "In 2023", "2024 年", "2023 年", "number 2024 is not", "number"),
    ("zh", "Four modes", "模式 4.5 种", "4 种模式", "number 4.5 is not", "number"),
    ("zh", "The figures of ViT", "The figures of ViT", "ViT 的数值", "not translated", "untranslated"),
    ("ja", "A fast GPU", "高速な GPU mashine", "高速な GPU", "word mashine is not", "word"),
    ("zh", "Of PyTorch", "它的", "PyTorch 的", "name PyTorch is missing", "name"),
    ("zh", "Fast, small", "快,小", "快，小", "half-width punctuation", "typography"),
    ("ja", "Note: this", "注:これ", "注：これ", "half-width punctuation", "typography"),
    ("zh", "It is so.", "如此.", "如此。", "half-width full stop", "typography"),
    ("zh", "Fast (very)", "快 (很)", "快（很）", "half-width parenthesis", "typography"),
    ("zh", 'Say "so"', '说"好"', "说“好”", "straight quotes", "typography"),
    ("zh", "On a GPU", "在GPU上", "在 GPU 上", "no space", "typography"),
    ("ja", "Use `x` so", "`x`を使う", "`x` を使う", "no space", "typography"),
    ("ja", "In 2023", "2023年", "2023 年", "no space", "typography"),
    ("zh", "**GPU** time", "**GPU**时间", "**GPU** 时间", "no space", "typography"),
    ("zh", "Good time", "好 时间", "好时间", "a space between two CJK letters", "typography"),
    ("zh", "Fast, small", "快， 小", "快，小", "a space beside full-width punctuation", "typography"),
    ("ja", "GPU and 3", "ＧＰＵ と 3 GPU", "GPU と 3", "full-width letter", "typography"),
    ("ja", "Data", "ﾃﾞｰﾀ", "データ", "half-width katakana", "typography"),
    ("zh", "Say so", "说「好」", "说“好”", "corner brackets", "typography"),
    ("zh", "Say so", "说”好“", "说“好”", "reversed quotes", "typography"),
    ("ja", "Say so", "“好”", "「好」", "curly quotes", "typography"),
    ("ja", "Fast, small", "速い，小さい", "速い、小さい", "Chinese comma", "typography"),
    ("zh", "And so on", "等等...", "等等……", "three dots", "typography"),
    ("zh", "It is so.", "如此", "如此。", "ends with .", "typography"),
    ("zh", "Is it so?", "是吗", "是吗？", "ends with ?", "typography"),
    ("ja", "It is so.", "そうです", "そうです。", "ends with .", "typography"),
    ("ja", "It merges operations.", "演算を融合します", "演算を融合する", "ends with .", "typography"),
    ("ja", "Like this:", "次のとおり", "次のとおりです。", "ends with :", "typography"),
    ("ar", "Fast, small", "سريع, صغير", "سريع، صغير", "Latin comma", "typography"),
    ("ar", "Fast; small", "سريع; صغير", "سريع؛ صغير", "Latin semicolon", "typography"),
    ("ar", "Is it so?", "هل هو كذلك?", "هل هو كذلك؟", "Latin question mark", "typography"),
    ("ar", "In 2023", "عام ٢٠٢٣ 2023", "عام 2023", "digit or sign of a different number system", "typography"),
    ("ar", "On it", "علی ذلك", "على ذلك", "Persian letter", "typography"),
    ("ar", "Fast, small", "سريع ، صغير", "سريع، صغير", "wrong space", "typography"),
    ("ar", "Fast and small", "سريع و صغير", "سريع وصغير", "detached", "typography"),
    ("ar", 'Say "so"', 'قل "نعم"', "قل «نعم»", "straight quotes", "typography"),
    ("ar", "It is so.", "هو كذلك", "هو كذلك.", "ends with .", "typography"),
    ("ja", "%(count)s cases", "%(count)s件", "%(count)s 件", "no space", "typography"),
    ("ja", "Cases: %(count)s", "あと%(count)s 件", "あと %(count)s 件", "no space", "typography"),
    ("zh", "%(count)s in all", "共%(count)s个", "共 %(count)s 个", "no space", "typography"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "english", "wrong", "right", "what", "rule"), PAIRS)
def test_a_mistake_is_found_and_only_it(code: str, english: str, wrong: str, right: str, what: str, rule: str) -> None:
    found = [*check_translation(english, wrong, code, GLOSSARY)]
    assert any(rule == each.rule and what in each.what for each in found), found
    assert all(each.remedy for each in found)
    assert [each.what for each in check_translation(english, right, code, GLOSSARY)] == []


def test_a_plural_form_may_leave_out_the_number_and_adds_no_placeholder() -> None:
    for form in ("نموذج واحد", "%(n)s نماذج"):
        assert list(check_translation("%(n)s models", form, "ar", GLOSSARY, plural=True)) == []
    (complaint,) = check_translation("%(n)s models", "%(m)s نماذج", "ar", GLOSSARY, plural=True)
    assert "%(m)s is not in the English" in complaint.what
