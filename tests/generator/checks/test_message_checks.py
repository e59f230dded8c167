"""Every kind of mistake in a translated message, with a translation that has it and one that has not."""

from __future__ import annotations

import pytest

from generator.checks.message_checks import check_translation
from generator.languages.glossary import Glossary, Term, load_glossary

LATENCY = Term(en="latency", names={"zh": "延迟"}, avoid={"zh": ("时延",)})
GLOSSARY = Glossary(keep=("PyTorch", "ViT", "GPU"), term=(LATENCY,))

PAIRS = [
    # code, English, wrong, right, a part of the finding
    ("zh", "It takes {{ x }}.", "需要时间。", "需要{{ x }}。", "{{ x }} is missing"),
    ("zh", "It takes {{ x }}.", "需要{{ y }}。", "需要 {{  x }}。", "{{ y }} is not"),
    ("zh", "It takes time.", "{% if x %}需要时间。", "需要时间。", "{% if x %} is not"),
    ("zh", "%(n)s rows", "行", "%(n)s 行", "%(n)s is missing"),
    ("zh", "rows", "%(n)s 行", "行", "%(n)s is not"),
    ("zh", "Call `a.b` now.", "现在调用 a.b。", "现在调用 `a.b`。", "`a.b` is missing"),
    ("zh", "Call `a.b` now.", "现在调用 `a.c`。", "现在调用 `a.b`。", "`a.c` is not"),
    ("zh", "<b>Fast</b>", "快", "<b>快</b>", "<b> is missing"),
    ("ar", "A name", "اسم <i>ما</i>", 'اسم <bdi dir="ltr">ما</bdi>', "<i> is not"),
    ("zh", "See [here](a.md#b).", "见[此处](a.md)。", "见[此处](a.md#b)。", "](a.md#b) is missing"),
    ("zh", "![Chart](a.svg) here", "图在此", "![图](a.svg)在此", "](a.svg) is missing"),
    ("zh", "See [here](a_(b).md)", "见[此处](a_(c).md)", "见[此处](a_(b).md)", "](a_(c).md) is not in the English"),
    ("zh", "A range [a, b]: text", "[a]: 文字 [a, b]", "范围 [a, b]：文字", "[ is not in the English"),
    ("zh", "The set {a, {b}}: text", "集合 {a, {c}}：文字", "集合 {a, {b}}：文字", "{c} is not in the English"),
    ("zh", "It is $\\frac{{a}_i}{b}$", "它是 $\\frac{{a}}{b}$", "它是 $\\frac{{a}_i}{b}$", "{b}$ is missing"),
    ("ar", "It is $f(x, y)$", "هو $f(x; y)$", "هو $f(x, y)$", "$f(x, y)$ is missing"),
    ("ja", "So.[^1]", "です。", "です。[^1]", "[^1] is missing"),
    ("ja", "A word[^1] and", "語と", "語[^1]と", "[^1] is missing"),
    ("zh", "See [here][ref].", "见此处。", "见[此处][ref]。", "][ref] is missing"),
    ("zh", "So.[^1]", "如此。", "如此。[^1]", "[^1] is missing"),
    ("zh", "[Go](a.md){ .b }", "[前往](a.md)", "[前往](a.md){ .b }", "{ .b } is missing"),
    ("zh", ":material-clock: Time", "时间", ":material-clock: 时间", ":material-clock: is missing"),
    ("zh", "At https://a.org/x", "在此", "在 https://a.org/x", "https://a.org/x is missing"),
    ("zh", "**Fast** car", "快车", "**快**车", "** is missing"),
    ("zh", "Two spaces", "两 个  空", "两个空", "spaces"),
    ("zh", "One line", "一\n行", "一行", "a line break is not in the English"),
    ("zh", "A heading", "标题 {#id}", "标题", "{#id} is not in the English"),
    ("zh", "Not a list", "- 列表", "列表", "another kind of block"),
    ("zh", "A note", "# 注", "注", "another kind of block"),
    ("zh", "The latency.", "时延。", "延迟。", "“latency” is translated as 时延"),
    ("ko", "The figures of ViT", "The figures of ViT", "ViT의 수치", "not translated"),
    ("zh", "A cell", "单|元", "单\\|元", "| is not in the English"),
    ("zh", "Plain", "普通\u0085", "普通", "invisible character U+0085"),
    ("zh", "Plain", "\v普通", "普通", "invisible character U+000B"),
    ("ar", "Plain", "\u202bعادي\u202c", "عادي", "invisible character U+202B"),
    ("zh", "Plain", "普\u200b通", "普通", "invisible character U+200B"),
    ("ja", "Data", "テ\u3099ータ", "データ", "NFC"),
    ("zh", "In 2023 it was 300.", "2023 年为 400。", "2023 年为 300。", "number 300 is missing"),
    ("zh", "In 2023", "2024 年", "2023 年", "number 2024 is not"),
    ("zh", "Four modes", "模式 4.5 种", "4 种模式", "number 4.5 is not"),
    ("zh", "The figures of ViT", "The figures of ViT", "ViT 的数值", "not translated"),
    ("ja", "A fast GPU", "高速な GPU mashine", "高速な GPU", "word mashine is not"),
    ("zh", "Of PyTorch", "它的", "PyTorch 的", "name PyTorch is missing"),
    ("zh", "Fast, small", "快,小", "快，小", "half-width punctuation"),
    ("zh", "It is so.", "如此.", "如此。", "half-width full stop"),
    ("zh", "Fast (very)", "快 (很)", "快（很）", "half-width parenthesis"),
    ("zh", 'Say "so"', '说"好"', "说“好”", "straight quotes"),
    ("zh", "On a GPU", "在GPU上", "在 GPU 上", "no space"),
    ("ja", "Use `x` so", "`x`を使う", "`x` を使う", "no space"),
    ("zh", "**GPU** time", "**GPU**时间", "**GPU** 时间", "no space"),
    ("zh", "Good time", "好 时间", "好时间", "a space between two CJK letters"),
    ("zh", "Fast, small", "快， 小", "快，小", "a space beside full-width punctuation"),
    ("ja", "GPU and 3", "ＧＰＵ と 3 GPU", "GPU と 3", "full-width letter"),
    ("zh", "Say so", "说「好」", "说“好”", "corner brackets"),
    ("zh", "Say so", "说”好“", "说“好”", "reversed quotes"),
    ("ja", "Say so", "“好”", "「好」", "curly quotes"),
    ("ja", "Fast, small", "速い，小さい", "速い、小さい", "Chinese comma"),
    ("zh", "And so on", "等等...", "等等……", "three dots"),
    ("zh", "It is so.", "如此", "如此。", "ends with ."),
    ("zh", "Is it so?", "是吗", "是吗？", "ends with ?"),
    ("ja", "It is so.", "そうです", "そうです。", "ends with ."),
    ("ja", "It merges operations.", "演算を融合します", "演算を融合する", "ends with ."),
    ("ar", "Fast, small", "سريع, صغير", "سريع، صغير", "Latin comma"),
    ("ar", "Fast; small", "سريع; صغير", "سريع؛ صغير", "Latin semicolon"),
    ("ar", "Is it so?", "هل هو كذلك?", "هل هو كذلك؟", "Latin question mark"),
    ("ar", "In 2023", "عام ٢٠٢٣ 2023", "عام 2023", "digit or sign of a different number system"),
    ("ar", "On it", "علی ذلك", "على ذلك", "Persian letter"),
    ("ar", "Fast, small", "سريع ، صغير", "سريع، صغير", "wrong space"),
    ("ar", "Fast and small", "سريع و صغير", "سريع وصغير", "detached"),
    ("ar", 'Say "so"', 'قل "نعم"', "قل «نعم»", "straight quotes"),
    ("ar", "It is so.", "هو كذلك", "هو كذلك.", "ends with ."),
    ("ja", "%(count)s cases", "%(count)s件", "%(count)s 件", "no space"),
    ("ja", "Cases: %(count)s", "あと%(count)s 件", "あと %(count)s 件", "no space"),
    ("zh", "%(count)s in all", "共%(count)s个", "共 %(count)s 个", "no space"),
]  # fmt: skip


WORDS = [
    # code, wrong, right, a part of the finding
    ("ar", "تم النسخ الى الحافظة", "تم النسخ إلى الحافظة", "is misspelt"),
    ("ar", "والإستخدام", "والاستخدام", "is misspelt"),
    ("ar", "ال\u0651\u0625ستجابة", "الاستجابة", "is misspelt"),
    ("ja", "プロセッサを使う", "プロセッサーを使う", "is misspelt"),
    ("ja", "ドライバ", "ドライバーとサーバー", "is misspelt"),
    ("ja", "速くなります。ただし例外もある。", "速くなります。ただし例外もあります。", "です・ます and the plain form"),
    ("ja", "遅くなりますが、問題はない。", "遅くなりますが、問題はありません。", "です・ます and the plain form"),
    ("ja", "これは例だが、速くなります。", "これは例ですが、速くなります。", "です・ます and the plain form"),
    *(
        (code, wrong, right, "is misspelt")
        for code, words in load_glossary().spelling.items()
        for wrong, right in words.items()
    ),
]


@pytest.mark.parametrize(("code", "english", "wrong", "right", "what"), PAIRS)
def test_a_mistake_is_found_and_only_it(code: str, english: str, wrong: str, right: str, what: str) -> None:
    found = [*check_translation(english, wrong, code, GLOSSARY)]
    assert any(what in each.what for each in found), found
    assert all(each.remedy for each in found)
    assert [each.what for each in check_translation(english, right, code, GLOSSARY)] == []


@pytest.mark.parametrize(
    "added",
    [
        *("<svg/onload=x", "<!-- a", '<bdi onclick="x">', "[x](javascript:alert(1))", "[x](a_(b).md)", "\n[x]: a.md"),
        *("{{ x", "x }}", "{% set x = 1", "{# the rest", '{: onclick="x" }', 'a" onfocus="x', "\0", "\x1b", "\ue002"),
    ],
)
def test_a_translation_adds_no_markup(added: str) -> None:
    assert [*check_translation("A", f"A {added}", "fr", GLOSSARY)]


@pytest.mark.parametrize("text", ["$x_i$", "$\\frac{\\text{a}_i}{b}$", "\\(f(x, y)\\)", "GPU", "ms", "FP16", "e.g."])
def test_formulas_and_abbreviations_are_their_own_translations(text: str) -> None:
    assert [each for code in ("zh", "ja", "ar") for each in check_translation(text, text, code, GLOSSARY)] == []


def test_a_plural_form_may_leave_out_the_number_and_adds_no_placeholder() -> None:
    for form in ("نموذج واحد", "%(n)s نماذج"):
        assert list(check_translation("%(n)s models", form, "ar", GLOSSARY, plural=True)) == []
    (complaint,) = check_translation("%(n)s models", "%(m)s نماذج", "ar", GLOSSARY, plural=True)
    assert "%(m)s is not in the English" in complaint.what


@pytest.mark.parametrize(("code", "wrong", "right", "what"), WORDS)
def test_a_misspelt_word_or_a_mixed_register_is_found(code: str, wrong: str, right: str, what: str) -> None:
    glossary = Glossary(keep=(), term=(), spelling=load_glossary().spelling)
    assert any(what in each.what for each in check_translation("x", wrong, code, glossary))
    assert not any(what in each.what for each in check_translation("x", right, code, glossary))


@pytest.mark.parametrize(
    "text",
    [
        "「計算している。」と報告します。",
        "例（速い。）です。",
        "図：速くなるモデル",
        "遅いモデルの場合。",
        "`遅い。` です。",
    ],
)
def test_quotes_and_phrases_have_a_form_of_their_own(text: str) -> None:
    assert not any("plain form" in each.what for each in check_translation("x", text, "ja", GLOSSARY))
