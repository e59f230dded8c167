"""Every kind of mistake in a translated message, with a translation that has it and one that has not."""

from __future__ import annotations

import pytest

from generator.checks.message_checks import check_translation
from generator.languages.glossary import Glossary, Term

LATENCY = Term(en="latency", names={"zh": "延迟"}, avoid={"zh": ("时延",)})
GLOSSARY = Glossary(keep=("PyTorch", "ViT", "GPU"), term=(LATENCY,))

PAIRS = [
    # code, English, wrong, right, what is said, by which rule
    ("zh", "It takes {{ x }}.", "需要时间。", "需要{{ x }}。", "expression {{ x }} is missing", "expression"),
    ("zh", "It takes {{ x }}.", "需要{{ y }}。", "需要 {{  x }}。", "expression {{ y }} is not", "expression"),
    ("zh", "It takes time.", "{% if x %}需要时间。", "需要时间。", "expression {% if x %} is not", "expression"),
    ("zh", "%(n)s rows", "行", "%(n)s 行", "placeholder %(n)s is missing", "placeholder"),
    ("zh", "rows", "%(n)s 行", "行", "placeholder %(n)s is not", "placeholder"),
    ("zh", "Call `a.b` now.", "现在调用 a.b。", "现在调用 `a.b`。", "inline code a.b is missing", "inline-code"),
    ("zh", "Call `a.b` now.", "现在调用 `a.c`。", "现在调用 `a.b`。", "inline code a.c is not", "inline-code"),
    ("zh", "<b>Fast</b>", "快", "<b>快</b>", "tag <b> is missing", "tag"),
    ("ar", "A name", "اسم <i>ما</i>", 'اسم <bdi dir="ltr">ما</bdi>', "tag <i> is not", "tag"),
    ("zh", "See [here](a.md#b).", "见[此处](a.md)。", "见[此处](a.md#b)。", "target a.md#b is missing", "link-target"),
    ("zh", "![Chart](a.svg) here", "图在此", "![图](a.svg)在此", "link target !a.svg is missing", "link-target"),
    ("zh", "See [here][ref].", "见此处。", "见[此处][ref]。", "link target ref is missing", "link-target"),
    ("zh", "So.[^1]", "如此。", "如此。[^1]", "footnote [^1] is missing", "footnote"),
    ("zh", "[Go](a.md){ .b }", "[前往](a.md)", "[前往](a.md){ .b }", "list { .b } is missing", "attribute-list"),
    ("zh", ":material-clock: Time", "时间", ":material-clock: 时间", "icon :material-clock: is missing", "icon"),
    ("zh", "At https://a.org/x", "在此", "在 https://a.org/x", "address https://a.org/x is missing", "address"),
    ("zh", "**Fast** car", "快车", "**快**车", "** instead of 2", "emphasis"),
    ("zh", "Two spaces", "两 个  空", "两个空", "spaces", "spaces"),
    ("zh", "No space", " 无", "无", "spaces", "spaces"),
    ("zh", "One line", "一\n行", "一行", "number of lines", "block"),
    ("zh", "A heading", "标题 {#id}", "标题", "heading id", "heading-id"),
    ("zh", "Not a list", "- 列表", "列表", "starts a list", "list-depth"),
    ("zh", "A note", "# 注", "注", "a different kind of block", "block"),
    ("zh", "The latency.", "时延。", "延迟。", "“latency” is translated as 时延", "term"),
    ("ko", "The figures of ViT", "The figures of ViT", "ViT의 수치", "not translated", "untranslated"),
    ("he", "Plain", "\u202bרגיל\u202c", "רגיל\u200f", "bidi control U+202B", "bidi"),
    ("zh", "A cell", "单|元", "单\\|元", "bar", "block"),
    ("ar", "Plain", "\u202bعادي\u202c", "عادي", "bidi control U+202B", "bidi"),
    ("ar", "Plain", "\u2067عادي\u2069", "عادي", "bidi control U+2067", "bidi"),
    ("zh", "Plain", "普\u200b通", "普通", "invisible character U+200B", "character"),
    ("zh", "Plain", "普通\u200f", "普通", "direction mark U+200F", "bidi"),
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
    ("zh", "A cell", "[" * 60, "单元", "more than 40 signs", "brackets"),
    ("zh", "A cell", "- " * 60 + "单元", "单元", "nested lists or quotes", "nesting"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "english", "wrong", "right", "what", "rule"), PAIRS)
def test_a_mistake_is_found_and_only_it(code: str, english: str, wrong: str, right: str, what: str, rule: str) -> None:
    found = [(complaint.rule, complaint.what) for complaint in check_translation(english, wrong, code, GLOSSARY)]
    assert any(rule == of and what in each for of, each in found), found
    assert [complaint.what for complaint in check_translation(english, right, code, GLOSSARY)] == []


def test_every_complaint_says_what_to_do() -> None:
    for code, english, wrong, *_ in PAIRS:
        assert all(complaint.remedy for complaint in check_translation(english, wrong, code, GLOSSARY))


@pytest.mark.parametrize("form", ["نموذج واحد", "%(n)s نماذج"])
def test_a_plural_form_may_leave_out_the_number(form: str) -> None:
    assert list(check_translation("%(n)s models", form, "ar", GLOSSARY, plural=True)) == []


def test_a_plural_form_adds_no_placeholder() -> None:
    (complaint,) = check_translation("%(n)s models", "%(m)s نماذج", "ar", GLOSSARY, plural=True)
    assert "%(m)s is not in the English" in complaint.what
