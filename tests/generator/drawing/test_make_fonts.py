"""A font is cut for its script from whatever Noto offers, and a wrong one is refused before anything is written."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont
from tiny_fonts import collection, pair, tiny_font

from bench.errors import AtlasError
from generator.drawing import faces, make_fonts

KOREAN, HEBREW, HINDI = faces.new_face("Kore"), faces.new_face("Hebr"), faces.new_face("Deva")


def letters_of(font: Path | bytes) -> set[str]:
    return {chr(code) for code in TTFont(BytesIO(font) if isinstance(font, bytes) else font).getBestCmap()}


def test_both_weights_are_cut_and_nothing_else_is_written(tmp_path: Path) -> None:
    folder = pair(tmp_path / "fonts", "NotoSansHebrew", "שלום abc")
    out = tmp_path / "out"
    out.mkdir()
    made = make_fonts.make_face(HEBREW, folder, out)
    assert sorted(path.name for path in out.iterdir()) == ["hebrew-bold.ttf", "hebrew-regular.ttf"]
    assert all(set("שלום ") <= letters_of(path) for path in made)
    assert "a" not in letters_of(made[0])
    assert TTFont(made[1])["name"].getDebugName(4) == "Atlas Sans Hebrew Bold"


def test_korean_is_taken_out_of_the_collection_by_its_region(tmp_path: Path) -> None:
    folder = collection(tmp_path, "NotoSansCJK", {"Noto Sans CJK JP": "かな", "Noto Sans CJK KR": "한글"})
    regular, _ = make_fonts.make_face(KOREAN, folder, tmp_path)
    assert set("한글") <= letters_of(regular)


def test_one_file_serves_both_weights_unless_its_bold_one_is_beside_it(tmp_path: Path) -> None:
    tiny_font("שלום").save(tmp_path / "Mine-Regular.ttf")
    file = tmp_path / "Mine-Regular.ttf"
    assert make_fonts.sources(HEBREW, file) == {"regular": file, "bold": file}
    tiny_font("שלום").save(tmp_path / "Mine-Bold.ttf")
    assert make_fonts.sources(HEBREW, file)["bold"].name == "Mine-Bold.ttf"


def test_a_font_without_the_script_is_refused_and_no_file_is_written(tmp_path: Path) -> None:
    folder = pair(tmp_path / "fonts", "NotoSansCJK", "漢字")
    for given in (folder, folder / "NotoSansCJK-Regular.ttf"):
        with pytest.raises(AtlasError, match="no letters of the script Korean"):
            make_fonts.make_face(KOREAN, given, tmp_path)
    assert not [*tmp_path.glob("*.ttf")]


def test_what_is_no_font_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "Mine-Regular.ttf"
    file.write_bytes(b"no font")
    with pytest.raises(AtlasError, match="is not a usable font"):
        make_fonts.make_face(HEBREW, file, tmp_path)
    with pytest.raises(AtlasError, match="there is no such file"):
        make_fonts.make_face(HEBREW, tmp_path / "missing.ttf", tmp_path)
