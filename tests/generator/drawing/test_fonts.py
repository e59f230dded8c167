"""The shipped fonts: small enough, complete enough, never mistaken for installed ones, the same on every machine."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from bench.errors import AtlasError
from generator.drawing import faces, fonts


def characters_of(font: bytes) -> set[str]:
    return {chr(code) for code in TTFont(BytesIO(font)).getBestCmap()}


def test_shipped_fonts_are_small_and_bring_their_licence() -> None:
    assert all(path.stat().st_size < 2e6 for path in faces.FONTS.iterdir())
    assert "SIL OPEN FONT LICENSE" in (faces.FONTS / "OFL.txt").read_text(encoding="utf-8")


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


def test_web_font_in_arabic_keeps_the_joining_forms() -> None:
    font = TTFont(BytesIO(fonts.web_font("ar", "زمن")))
    features = {record.FeatureTag for record in font["GSUB"].table.FeatureList.FeatureRecord}
    assert {"init", "medi", "fina"} <= features


def test_missing_shipped_font_says_how_to_restore_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faces, "FONTS", tmp_path)
    with pytest.raises(AtlasError, match="missing") as raised:
        fonts._shipped(faces.latin(), "regular")
    assert "python -m generator.drawing.make_fonts" in raised.value.remedy
