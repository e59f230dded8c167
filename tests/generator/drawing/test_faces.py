"""A script is an entry in a list: which face a language has follows from it, and a new one changes no other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from bench.errors import AtlasError
from generator.drawing import faces


@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "latin"), ("de", "latin"), ("el", "latin"), ("zh", "chinese"), ("ja", "japanese"), ("fa", "arabic")],
)
def test_a_language_has_the_face_of_its_script(language: str, name: str) -> None:
    assert faces.face_of(language).name == name


def test_without_a_face_of_its_own_a_language_has_the_latin_one() -> None:
    assert faces.own_face("ka") is None
    assert faces.face_of("ka") == faces.latin()


@pytest.mark.parametrize(
    ("script", "name"), [("Kore", "korean"), ("Deva", "devanagari"), ("Hebr", "hebrew"), ("Thai", "thai")]
)
def test_a_new_face_is_added_at_the_end_of_the_list(script: str, name: str, tmp_path: Path) -> None:
    shutil.copy(faces.FONTS / faces.LIST, tmp_path)
    before = faces.faces(tmp_path)
    faces.add(faces.new_face(script), tmp_path)
    assert [face.name for face in faces.faces(tmp_path)] == [*(face.name for face in before), name]
    text = (tmp_path / faces.LIST).read_text(encoding="utf-8")
    assert text.startswith((faces.FONTS / faces.LIST).read_text(encoding="utf-8").rstrip())


@pytest.mark.parametrize("text", ["", "face = 1", "[[face]]\nname = 1", "\x00"])
def test_a_broken_list_names_its_place(text: str, tmp_path: Path) -> None:
    (tmp_path / faces.LIST).write_text(text, encoding="utf-8")
    with pytest.raises(AtlasError, match="the list of faces cannot be read") as raised:
        faces.faces(tmp_path)
    assert raised.value.where.endswith(faces.LIST)
