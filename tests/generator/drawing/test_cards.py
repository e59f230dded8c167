"""Social cards: the right size, in the right direction, never over the edge, the same bytes each time."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from generator.drawing import cards
from generator.drawing.cards import HEIGHT, INK, WIDTH, Card, draw

TITLES = {
    "en": "Should I compile my vision model?",
    "zh": "我的视觉模型该编译吗？",
    "ja": "ビジョンモデルはコンパイルすべきか",
    "ar": "هل يُجدي تصريف torch.compile لديك؟",
}
MARGIN = 70


def card(language: str = "en", title: str = "", text: str = "", section: str = "") -> Card:
    return Card("Compile Atlas", section, title or TITLES[language], text, language, language == "ar")


def ink(content: bytes) -> NDArray[Any]:
    """Where there is text: everything dark above the bars."""
    image = Image.open(BytesIO(content)).convert("L")
    return np.asarray(image)[:570] < 200


@pytest.mark.parametrize("language", TITLES)
def test_a_card_has_the_size_that_is_asked_for_and_weighs_little(language: str) -> None:
    content = draw(card(language, text=TITLES[language] * 4))
    image = Image.open(BytesIO(content))
    assert image.size == (WIDTH, HEIGHT)
    assert tuple(INK.to_bytes(3)) in {colour for _, colour in image.convert("RGB").getcolors() or ()}
    assert len(content) < 60_000


def test_arabic_letters_are_joined() -> None:
    def width(title: str) -> int:
        columns = np.flatnonzero(ink(draw(card("ar", title)))[200:].any(axis=0))
        return int(columns.max() - columns.min())

    assert width("سسسس") < 0.85 * width("س\u200cس\u200cس\u200cس")


@pytest.mark.parametrize("language", TITLES)
def test_whatever_is_too_long_is_broken_shortened_and_stays_inside(language: str) -> None:
    for title, text in ((TITLES[language] * 9, TITLES[language] * 30), (TITLES[language] * 3, " ".join(["word"] * 90))):
        dark = ink(draw(card(language, title, text, section=TITLES[language][:9])))
        columns, rows = np.flatnonzero(dark.any(axis=0)), np.flatnonzero(dark.any(axis=1))
        assert columns.min() > MARGIN
        assert WIDTH - columns.max() > MARGIN
        assert rows.max() < 560


def test_the_same_card_has_the_same_bytes_and_another_has_others() -> None:
    first = cards._png(cards._Canvas(card()).drawn())
    assert first == cards._png(cards._Canvas(card()).drawn()) == draw(card())
    assert first != draw(card(title="Choose a mode"))
