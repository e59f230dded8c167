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


def test_korean_has_the_syllables_of_its_standard_in_both_weights() -> None:
    for weight in faces.WEIGHTS:
        syllables = {code for code in make_fonts.everyday(KOREAN, weight) if 0xAC00 <= code <= 0xD7A3}
        assert len(syllables) == 2350
        assert not any(0x4E00 <= code <= 0x9FFF for code in make_fonts.everyday(KOREAN, weight))


@pytest.mark.parametrize(
    ("script", "within", "without"),
    [("Deva", "कक्षािं।\u200d", "aก"), ("Thai", "กำ่๙฿", "aक"), ("Hebr", "אםְ־", "aع"), ("Cyrl", "жЁ", "aα")],
)
def test_an_alphabet_follows_from_unicode(script: str, within: str, without: str) -> None:
    everyday = set(map(chr, make_fonts.everyday(faces.new_face(script), "regular")))
    assert set(within) <= everyday
    assert not set(without) & everyday


def test_shaping_features_of_every_alphabet_are_kept() -> None:
    assert {"half", "rphf", "pres", "abvm", "mark", "mkmk", "locl"} <= set(make_fonts._features(HINDI))
    assert "half" not in make_fonts._features(KOREAN)


def test_one_file_serves_both_weights_unless_its_bold_one_is_beside_it(tmp_path: Path) -> None:
    tiny_font("שלום").save(tmp_path / "Mine-Regular.ttf")
    file = tmp_path / "Mine-Regular.ttf"
    assert make_fonts.sources(HEBREW, file) == {"regular": file, "bold": file}
    tiny_font("שלום").save(tmp_path / "Mine-Bold.ttf")
    assert make_fonts.sources(HEBREW, file)["bold"].name == "Mine-Bold.ttf"


@pytest.mark.parametrize("name", ["NotoSansHebrew[wdth,wght].ttf", "NotoSansHebrew-VF.ttf"])
def test_variable_fonts_are_found_by_their_names(name: str, tmp_path: Path) -> None:
    tiny_font("שלום").save(tmp_path / name)
    assert {path.name for path in make_fonts.sources(HEBREW, tmp_path).values()} == {name}


def test_another_font_of_the_family_is_not_mistaken_for_it(tmp_path: Path) -> None:
    pair(tmp_path, "NotoSansHebrewNew", "שלום")
    with pytest.raises(AtlasError, match="no font for the script Hebrew is there"):
        make_fonts.sources(HEBREW, tmp_path)


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


def test_the_command_line_makes_only_faces_that_are_named() -> None:
    with pytest.raises(AtlasError, match="there is no such face") as raised:
        make_fonts.main(["klingon"])
    assert "latin, chinese" in raised.value.remedy
