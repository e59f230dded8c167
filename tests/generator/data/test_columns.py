"""Texts and lists of numbers in columns: what comes out is what went in, whatever is done to its rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from generator.data.columns import Ragged, Texts

several = st.lists(st.lists(st.text(max_size=3), max_size=300), min_size=1, max_size=4)


@given(several)
def test_texts_are_those_that_were_put_together(parts: list[list[str]]) -> None:
    whole = [text for part in parts for text in part]
    column = Texts.joined([Texts.of(part) for part in parts])
    assert column.plain() == whole
    assert [column[row] for row in range(len(column))] == whole
    assert sorted(column.used()) == sorted(set(whole))
    assert column.take(np.arange(len(whole))[::-2]).plain() == whole[::-2]
    for text in {*whole[:2], "none has it"}:
        assert column.are(text).tolist() == [each == text for each in whole]


def test_more_texts_than_a_byte_counts_stay_apart() -> None:
    texts = [str(number) for number in range(300)]
    assert Texts.joined([Texts.of(texts[:200]), Texts.of(texts[100:])]).plain() == texts[:200] + texts[100:]


@pytest.mark.parametrize("codes", [np.array([0, 2]), np.array([0.0])])
def test_a_code_without_a_text_is_refused(codes: np.ndarray) -> None:
    with pytest.raises(ValueError, match="64"):
        Texts(codes, ["a", "b"])


def test_lists_of_any_length_keep_their_order() -> None:
    ragged = Ragged.of([[3.0, 1.0, 2.0], [], [5.0], [4.0, 6.0]])
    assert ragged.medians().tolist()[0::2] == [2.0, 5.0]
    assert math.isnan(ragged.medians()[1])
    assert ragged.take(np.array([3, 1, 0])).lists() == [[4.0, 6.0], [], [3.0, 1.0, 2.0]]
    assert ragged.merged(np.array([2, 0, 2])).lists() == [[3.0, 1.0, 2.0], [], [5.0, 4.0, 6.0]]
    assert ragged.cut(np.array([1, 0, 1, 2])).lists() == [[3.0], [], [5.0], [4.0, 6.0]]


def test_lists_of_one_length_are_copies() -> None:
    ragged = Ragged.of([[3.0, 1.0], [2.0, 5.0]])
    assert ragged.medians().tolist() == [2.0, 3.5]
    assert ragged.lists() == [[3.0, 1.0], [2.0, 5.0]]
