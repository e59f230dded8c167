"""Words that are misspelt, in two registers, or in two senses: each with a text that is wrong and one that is right."""

from __future__ import annotations

import pytest
from babel.messages.catalog import Message

from generator.checks.usage_checks import usage_findings
from generator.languages.glossary import Glossary, load_glossary

GLOSSARY = load_glossary()


def entry(english: str, translation: str, *pages: str) -> Message:
    return Message(english, translation, [(page, 0) for page in pages])


def found(code: str, *messages: Message, glossary: Glossary = GLOSSARY) -> list[tuple[object, str, str]]:
    return [(each.id, v.rule, v.what) for each, v in usage_findings(messages, code, glossary)]


PAIRS = [
    # code, wrong, right, by which rule
    ("ar", "إختر اللغة", "اختر اللغة", "spelling"),
    ("ar", "تم النسخ الى الحافظة", "تم النسخ إلى الحافظة", "spelling"),
    ("ar", "والإستخدام", "والاستخدام", "spelling"),
    ("ar", "ال\u0651\u0625ستجابة", "الاستجابة", "spelling"),
    ("ar", "التى تُبطئ", "التي تُبطئ", "spelling"),
    ("ja", "プロセッサを使う", "プロセッサーを使う", "spelling"),
    ("ja", "メモリーの量", "メモリの量", "spelling"),
    ("ja", "ドライバ", "ドライバーとサーバー", "spelling"),
    ("zh", "其它设备", "其他设备", "spelling"),
    ("ja", "速くなります。ただし例外もある。", "速くなります。ただし例外もあります。", "register"),
    ("ja", "遅くなりますが、問題はない。", "遅くなりますが、問題はありません。", "register"),
    ("ja", "これは例だが、速くなります。", "これは例ですが、速くなります。", "register"),
]


@pytest.mark.parametrize(("code", "wrong", "right", "rule"), PAIRS)
def test_a_wrong_word_is_found_and_the_right_one_is_not(code: str, wrong: str, right: str, rule: str) -> None:
    assert [each for _, each, _ in found(code, entry("x", wrong))] == [rule]
    assert found(code, entry("x", right)) == []


APART = (
    "「計算している。」と報告します。",
    "例（速い。）です。",
    "図：速くなるモデル",
    "遅いモデルの場合。",
    "`遅い。` です。",
)


@pytest.mark.parametrize("text", APART)
def test_quotes_and_phrases_have_a_form_of_their_own(text: str) -> None:
    assert found("ja", entry("x", text)) == []


def test_a_word_has_one_sense_on_a_page() -> None:
    mode = entry("the default mode", "الوضع الافتراضي", "docs/modes.md")
    other = entry("measured by default", "قيس في الوضع الافتراضي", "docs/modes.md")
    assert [(text, rule) for text, rule, _ in found("ar", mode, other)] == [("measured by default", "sense")]
    assert found("ar", mode, entry("measured by default", "قيس في الوضع الافتراضي", "docs/data.md")) == []
    assert found("ar", mode, entry("measured by default", "قيس بالإعدادات الافتراضية", "docs/modes.md")) == []


def test_memory_of_a_gpu_is_not_that_of_a_cpu() -> None:
    assert [rule for _, rule, _ in found("zh", entry("Memory on a CPU", "CPU 的显存"))] == ["sense"]
    assert found("zh", entry("Memory on a CPU", "CPU 的内存")) == []
    both = entry("Memory of a GPU, not of the CPU", "GPU 的显存，而非 CPU 的", "docs/a.md")
    assert found("zh", both, entry("Memory is short", "显存不足", "docs/a.md")) == []


def test_each_wrong_spelling_of_the_glossary_is_found_and_its_right_one_is_not() -> None:
    for code, spelling in GLOSSARY.spelling.items():
        for wrong, right in spelling.items():
            assert found(code, entry("x", wrong)), wrong
            assert not [what for _, _, what in found(code, entry("x", right))], right
