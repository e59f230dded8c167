"""Records made to deceive: `bench check` refuses each, or says that nobody can judge it.

Each TOML file of this folder lists attacks on an honest record, one a line: the field, its value, and a pattern of the
refusal that is expected. The field is dotted, as in `$.cell.model`; "" takes a table of several fields. A field that
begins with @ names a function of `changes`, which takes the value.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from attack import Attack, accused, cases

ATTACKS = cases()


@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_record_made_to_deceive_is_refused(attack: Attack, tmp_path: Path) -> None:
    said = accused(attack, tmp_path)
    assert any(re.search(attack.refusal, each) for each in said), said or "accepted without a word"


def test_the_record_that_is_attacked_is_accepted(tmp_path: Path) -> None:
    assert accused(Attack("honest", "", {}, ""), tmp_path) == []
