"""Social cards: the right size, in the right direction, never over the edge, the same bytes each time."""

from __future__ import annotations

import re
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from generator.drawing import cards
from generator.drawing.cards import HEIGHT, INK, WIDTH, Card, draw
from generator.drawing.link_preview import card_uri
from generator.languages import typography

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


@pytest.mark.parametrize("language", TITLES)
def test_text_begins_where_the_language_begins_to_read(language: str) -> None:
    columns = np.flatnonzero(ink(draw(card(language))).any(axis=0))
    from_the_left, from_the_right = int(columns.min()), WIDTH - int(columns.max())
    assert (from_the_right < from_the_left) is (language == "ar")
    assert min(from_the_left, from_the_right) > MARGIN


@pytest.mark.parametrize("title", ["W" * 60, "Incomprehensibilities" * 4])
def test_a_word_that_is_longer_than_the_card_ends_with_an_ellipsis(title: str) -> None:
    assert np.flatnonzero(ink(draw(card(title=title, text=title))).any(axis=0)).max() < WIDTH - MARGIN


@pytest.mark.parametrize("language", TITLES)
def test_words_stand_where_they_stand_in_a_line_that_is_drawn_at_once(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = card(
        language,
        "A100 v3, Tiger lily",
        f"AVA Wagen of 4 jolly quips, {TITLES[language]} (4 16 A100 — v3 −45%)، {TITLES[language]}",
        section="Typography",
    )
    words = ink(cards._png(cards._Canvas(drawn).drawn()))
    monkeypatch.setattr(typography, "_WORD", re.compile(".+"))
    monkeypatch.setattr(typography, "_RUN", re.compile(".+"))
    line = ink(cards._png(cards._Canvas(drawn).drawn()))
    assert (words.any(axis=1) != line.any(axis=1)).sum() <= 1, "on one baseline"
    nearly = [np.roll(line, shift, axis=1) for shift in (-2, -1, 0, 1, 2)]
    assert (words & ~np.any(nearly, axis=0)).sum() < 0.001 * words.sum(), "but for edges that are just dark enough"


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


def test_japanese_and_chinese_lines_end_where_words_end() -> None:
    broken = {code: cards._lines(TITLES[code] * 2, code, 84, balanced=True) for code in ("zh", "ja")}
    for lines in broken.values():
        assert len(lines) > 1
        assert not any(line[0] in "？、。ーはをが" for line in lines)
    assert not any(line.endswith(("视", "模", "编")) for line in broken["zh"])


def test_the_same_card_has_the_same_bytes_and_another_has_others() -> None:
    first = cards._png(cards._Canvas(card()).drawn())
    assert first == cards._png(cards._Canvas(card()).drawn()) == draw(card())
    assert first != draw(card(title="Choose a mode"))


def test_a_title_in_characters_that_are_not_bold_is_still_drawn() -> None:
    assert ink(draw(card("zh", "鼗鼐")))[200:].any()


def test_a_box_stands_for_a_character_without_a_font() -> None:
    assert draw(card(title="ViT 😀 ก้")) == draw(card(title="ViT □ □")) != draw(card(title="ViT"))


def test_cards_lie_beside_each_other_like_the_pages() -> None:
    assert card_uri("devices/a100.md") == "cards/devices/a100.png"
    assert card_uri("models/families/vit.md") == card_uri("models/index.md") == "cards/models/index.png"
