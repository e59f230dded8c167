"""The font faces of the scripts: which fonts the guide has, and which scripts each one covers.

Takes ``faces.toml`` beside the font files; returns a `Face` for each script. A new script is an entry there and two
files, so it needs no code.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec
from babel import Locale

from bench import durable
from bench.errors import AtlasError
from generator.languages.language import script_of

FONTS = Path(__file__).resolve().parent.parent / "fonts"
"""The shipped fonts, the list of their faces, and their licence."""

LIST = "faces.toml"

Weight = Literal["regular", "bold"]
WEIGHTS: tuple[Weight, ...] = ("regular", "bold")
CSS_WEIGHTS: Mapping[Weight, int] = {"regular": 400, "bold": 700}

JOINERS = " \u200c\u200d\u200e\u200f"
"""Letters that join or form clusters do so across these, so they come from one font."""


class National(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The characters of a script by its national standard."""

    region: str  # in the names of Noto's fonts
    codec: str  # of Python
    regular: int  # the last first byte of the codec that the regular font holds
    bold: int


class Face(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One script in two weights. `family` is its name in CSS, which no installed font has."""

    name: str  # the files are <name>-<weight>.ttf
    family: str
    scripts: tuple[str, ...]  # ISO 15924
    characters: str = ""  # ranges as in CSS, "" for those of the scripts
    own: str = ""
    grafts: dict[str, str] = msgspec.field(default_factory=dict)

    def __hash__(self) -> int:
        return hash(self.name)

    def path(self, weight: Weight = "regular") -> Path:
        """Return the shipped file."""
        return FONTS / f"{self.name}-{weight}.ttf"

    @property
    def national(self) -> National | None:
        """The national standard of its script: the font has thousands of characters, of which a page needs hundreds."""
        return next((standard for script in self.scripts if (standard := _listed(FONTS).national.get(script))), None)

    @property
    def own_forms(self) -> str:
        """The characters that pages take from this face although the Latin one has them."""
        return self.own or ("" if self.national else JOINERS)


class _Listed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    national: dict[str, National]
    face: tuple[Face, ...]


def faces(folder: Path = FONTS) -> tuple[Face, ...]:
    """Return all faces, the Latin one first. Raises `AtlasError` for an invalid list."""
    return _listed(folder).face


@functools.cache
def _listed(folder: Path) -> _Listed:
    path = folder / LIST
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), _Listed)
    except (OSError, ValueError, msgspec.ValidationError, RecursionError) as error:
        raise AtlasError(
            f"the list of faces cannot be read: {error}",
            where=str(path),
            remedy="correct it, or restore it from the repository",
        ) from None


def latin() -> Face:
    """Return the face that all languages use, for names and digits."""
    return faces()[0]


def face_of(language: str) -> Face:
    """Return the face of a language: that of its script, else the Latin one."""
    return own_face(language) or latin()


def own_face(language: str, folder: Path = FONTS) -> Face | None:
    """Return the face for the script of a language, None if there is none."""
    script = script_of(language)
    return next((face for face in faces(folder) if script in face.scripts), None)


def script_name(script: str) -> str:
    """Return the English name of a script: ``Devanagari`` for ``Deva``."""
    return str(Locale("en").scripts.get(script, script))


def new_face(script: str) -> Face:
    """Return a face for a script that has none yet."""
    name = re.sub(r"[^a-z]+", "-", script_name(script).lower()).strip("-")
    return Face(name, f"Atlas Sans {script_name(script)}", (script,))


def add(face: Face, folder: Path = FONTS) -> None:
    """Add a new face to the list, at its end: the order of the others decides on the names of letters in charts."""
    entry = f'\n[[face]]\nname = "{face.name}"\nfamily = "{face.family}"\nscripts = ["{face.scripts[0]}"]\n'
    path = folder / LIST
    durable.write(path, f"{path.read_text(encoding='utf-8').rstrip()}\n{entry}".encode())
    _listed.cache_clear()
