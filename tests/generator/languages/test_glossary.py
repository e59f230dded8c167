"""The glossary: terms, names, and Arabic words with their attached letters."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import AtlasError
from generator.languages.glossary import Glossary, glossary_violations, load_glossary


@pytest.fixture(scope="module")
def glossary() -> Glossary:
    return load_glossary()


def said(glossary: Glossary, code: str, message: str, translation: str) -> list[str]:
    return [violation.what for violation in glossary_violations(glossary, code, message, translation)]


@pytest.mark.parametrize(
    ("code", "message", "translation", "what"),
    [
        ("zh", "Latency falls.", "它降低。", ["“latency” is not translated as 延迟"]),
        ("zh", "Latencies fall.", "延迟降低。", []),
        ("ja", "Latency falls.", "レイテンシーが短縮する。", ["“latency” is translated as レイテンシー"]),
        (
            "ar",
            "It is off by default.",
            "معطّل في الوضع الافتراضي.",
            ["“by default” is translated as في الوضع الافتراضي"],
        ),
        # A word that is right for another term is not wrong.
        ("zh", "The median is not the mean.", "中位数不是平均值。", []),
        ("zh", "The median.", "平均值。", ["“median” is translated as 平均值"]),
        # Code and names are no terms.
        ("zh", "`torch.compile` of Compile Atlas, torch.compile", "`torch.compile` Compile Atlas", []),
    ],
)
def test_a_term_must_be_used(glossary: Glossary, code: str, message: str, translation: str, what: list[str]) -> None:
    assert said(glossary, code, message, translation) == what


@pytest.mark.parametrize(
    ("message", "translation"),
    [
        ("the latency", "وزمن الاستجابة"),
        ("latency", "زمنُ استجابةٍ قصيرٌ"),
        ("its latency", "لزمن استجابته"),
        ("compiled", "النموذج المُصرَّف"),
        ("graph breaks", "وبانقطاعات المخطط"),
        ("confidence intervals", "لفترات الثقة"),
        ("image classification", "لتصنيف الصور"),
    ],
)
def test_arabic_is_compared_without_what_is_written_onto_a_word(
    glossary: Glossary, message: str, translation: str
) -> None:
    assert said(glossary, "ar", message, translation) == []


@pytest.mark.parametrize(
    "content", ["keep = 3", 'keep = []\n[[term]]\nen = "a"\nnots = "b"\n', "keep = [", "keep = []\nterm = [1]\n"]
)
def test_a_broken_glossary_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "glossary.toml").write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError, match="glossary cannot be read"):
        load_glossary(tmp_path)
