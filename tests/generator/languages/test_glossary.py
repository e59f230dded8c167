"""The glossary: terms, names, and what an Arabic word may look like in a sentence."""

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


def test_the_glossary_is_complete(glossary: Glossary) -> None:
    assert len(glossary.term) >= 60
    assert len({term.en for term in glossary.term}) == len(glossary.term)
    assert all(term.translation(code) for term in glossary.term for code in ("en", "zh", "ja", "ar"))


MODELS = ("ViT", "BeiT", "ConvNeXT", "ResNet", "Segformer", "Mask2former", "Maskformer", "MobileNet", "OwlViT", "DETR")
SOFTWARE = ("PyTorch", "TorchDynamo", "TorchInductor", "Triton", "CUDA", "reduce-overhead", "max-autotune")


@pytest.mark.parametrize("name", [*MODELS, "Resnet-101", "Conditional-DETR", *SOFTWARE])
def test_names_are_kept(glossary: Glossary, name: str) -> None:
    assert said(glossary, "zh", f"See {name}.", "见此。") == [f"the name {name} is missing"]
    assert said(glossary, "zh", f"See {name}.", f"见 {name}。") == []


def test_a_list_of_plurals_has_each_word_once_beside_another_form(glossary: Glossary) -> None:
    for groups in glossary.plurals.values():
        assert all(" " in forms for forms in groups)
        words = " ".join(groups).split()
        assert len(words) == len(set(words))


def test_a_term_must_be_used(glossary: Glossary) -> None:
    assert said(glossary, "zh", "Latency falls.", "它降低。") == ["“latency” is not translated as 延迟"]
    assert said(glossary, "zh", "Latencies fall.", "延迟降低。") == []


def test_a_wrong_word_is_found(glossary: Glossary) -> None:
    assert said(glossary, "ja", "Latency falls.", "遅延が短縮する。") == ["“latency” is translated as 遅延"]
    assert said(glossary, "ja", "Latency falls.", "レイテンシーが短縮する。") == [
        "“latency” is translated as レイテンシー"
    ]


def test_a_word_that_is_right_for_another_term_is_not_wrong(glossary: Glossary) -> None:
    assert said(glossary, "zh", "The median is not the mean.", "中位数不是平均值。") == []
    assert said(glossary, "zh", "The median.", "平均值。") == ["“median” is translated as 平均值"]


def test_code_and_names_are_no_terms(glossary: Glossary) -> None:
    assert (
        said(glossary, "zh", "`torch.compile` of Compile Atlas, torch.compile", "`torch.compile` Compile Atlas") == []
    )


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


def test_arabic_words_are_whole(glossary: Glossary) -> None:
    assert said(glossary, "ar", "the median", "المتوسطات") == ["“median” is translated as المتوسط"]
    assert said(glossary, "ar", "the host", "ضيف") == ["“host” is not translated as المضيف"]


def test_terms_of_a_language_that_is_not_published_are_read(tmp_path: Path) -> None:
    (tmp_path / "glossary.toml").write_text('keep = []\n[[term]]\nen = "mode"\nko = "모드"\n', encoding="utf-8")
    [mode] = load_glossary(tmp_path).term
    assert mode.translation("ko") == "모드"


@pytest.mark.parametrize(
    "content",
    [
        "keep = 3",
        'keep = []\n[[term]]\nenglish = "a"\n',
        'keep = []\n[[term]]\nen = "a"\nnots = "b"\n',
        "keep = [",
        "keep = []\nterms = []\n",
    ],
)
def test_a_broken_glossary_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "glossary.toml").write_text(content, encoding="utf-8")
    with pytest.raises(AtlasError, match="glossary cannot be read"):
        load_glossary(tmp_path)
