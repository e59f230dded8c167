"""The shipped fonts: small enough, complete enough, never mistaken for installed ones, the same on every machine."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from bench.errors import AtlasError
from generator.cache import Cache
from generator.drawing import faces, fonts

SENTENCES = {
    "en": "Latency falls from 9.325 ms to 7.584 ms (−18.7%): 1.23× ≤ 2×, “fast” → naïve façade… Ŧẽšţ",
    "zh": "延迟从 9.325 ms 降低到 7.584 ms（−18.7%）：编译、批次大小、盈亏平衡点、显存不足。",
    "ja": "レイテンシは 9.325 ms から 7.584 ms に短縮（−18.7%）：コンパイル、損益分岐点、メモリ不足。",
    "ar": "ينخفض زمن الاستجابة من 9.325 ms إلى 7.584 ms (−18.7%)، حجم الدفعة؛ نفاد الذاكرة؟",
}


def characters_of(font: bytes) -> set[str]:
    return {chr(code) for code in TTFont(BytesIO(font)).getBestCmap()}


def test_shipped_fonts_are_small_and_bring_their_licence() -> None:
    assert all(path.stat().st_size < 2e6 for path in faces.FONTS.iterdir())
    assert "SIL OPEN FONT LICENSE" in (faces.FONTS / "OFL.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("language", list(SENTENCES))
@pytest.mark.parametrize("weight", faces.WEIGHTS)
def test_everyday_text_is_covered(language: str, weight: faces.Weight) -> None:
    assert set(SENTENCES[language]) <= fonts.coverage(language, weight)


def test_chinese_and_japanese_cover_their_national_standards() -> None:
    assert all(bytes((lead, 0xB0)).decode("gb2312") in fonts.coverage("zh") for lead in range(0xB0, 0xF8))
    assert all(bytes((lead, 0xB0)).decode("euc_jp") in fonts.coverage("ja") for lead in range(0xB0, 0xF4))


@pytest.mark.parametrize(("language", "second"), [("ja", "japanese"), ("zh", "chinese"), ("ar", "arabic")])
def test_drawings_use_shipped_files_that_of_the_own_script_before_the_others(language: str, second: str) -> None:
    files = [Path(file) for file in fonts._drawing_files(language, "regular")]
    assert {file.parent for file in files} == {faces.FONTS}
    assert [file.stem for file in files[:2]] == ["latin-regular", f"{second}-regular"]


def test_web_font_holds_just_the_characters_asked_for() -> None:
    assert characters_of(fonts.web_font("en", ["Latency", " ms", "延"])) == set("Latency ms")
    assert characters_of(fonts.web_font("zh", ["“延迟” 5 ms"])) - {" "} == set("“延迟”")
    assert {"\u0645", " "} <= characters_of(fonts.web_font("ar", ["زمن الاستجابة 5 ms"]))
    assert characters_of(fonts.web_font("en", "(")) == {"("}


def test_web_font_keeps_kerning_and_its_licence() -> None:
    font = TTFont(BytesIO(fonts.web_font("en", "AVATO")))
    assert "kern" in {record.FeatureTag for record in font["GPOS"].table.FeatureList.FeatureRecord}
    assert "OFL" in font["name"].getDebugName(14)
    assert font["name"].getDebugName(1) == faces.latin().family


def test_web_font_is_compressed_and_deterministic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fonts.web_font("ja", "レイテンシ延", "bold")
    monkeypatch.setattr(fonts, "_WEB", Cache("web-fonts", root=tmp_path))
    assert fonts.web_font("ja", "延シンテイレ", "bold") == first
    assert first[:4] == b"wOF2"
    assert len(first) < 5000


def test_web_font_in_arabic_keeps_the_joining_forms() -> None:
    font = TTFont(BytesIO(fonts.web_font("ar", "زمن")))
    features = {record.FeatureTag for record in font["GSUB"].table.FeatureList.FeatureRecord}
    assert {"init", "medi", "fina"} <= features


def test_missing_shipped_font_says_how_to_restore_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "FONTS", tmp_path)
    with pytest.raises(AtlasError, match="missing") as raised:
        fonts._shipped(faces.latin(), "regular")
    assert "python -m generator.drawing.make_fonts" in raised.value.remedy
