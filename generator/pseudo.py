"""Pseudo-locales: English text that shows what was not translated, too short a box, or a wrong direction.

A message enters, the same message in strange letters leaves; placeholders, code, tags and links stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable


def pseudo(code: str) -> Callable[[str], str]:
    """The translation function of a pseudo-locale."""
    raise NotImplementedError(code)
