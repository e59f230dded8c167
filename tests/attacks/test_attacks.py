"""Records made to deceive: `bench check` refuses each, or says that nobody can judge it.

Each TOML file of this folder lists attacks on an honest record, one a line: the field, its value, and a pattern of the
refusal that is expected, and what happened before there were defences. The field is dotted, as in `$.cell.model`; ""
takes a table of several fields. A field that begins with @ names a function of `changes`, which takes the value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import pytest
from attack import Attack, accused, cases, share_unmarked
from faults import Survived

ATTACKS = cases()


@pytest.mark.fault
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_a_record_made_to_deceive_is_refused(attack: Attack, tmp_path: Path, survived: Survived) -> None:
    said = accused(attack, tmp_path)
    assert any(re.search(attack.refusal, each) for each in said), said or "accepted without a word"
    now: Literal["marked", "refused"] = "marked" if said[0].startswith("marked") else "refused"
    survived("false_record", "records", now)
    survived.case(attack.group, attack.example, attack.before, now)


def test_the_record_that_is_attacked_is_accepted(tmp_path: Path) -> None:
    assert accused(Attack("honest", "", {}, ""), tmp_path) == []


def test_random_lies_are_found_and_honest_records_are_not(
    tmp_path: Path, survived: Survived, request: pytest.FixtureRequest
) -> None:
    shares = share_unmarked(tmp_path, 250 if request.config.getoption("--faults") else 30)
    honest, tried = shares.pop("honest")
    lies, unmarked = (sum(counts[at] for counts in shares.values()) for at in (1, 0))
    assert unmarked <= lies * 2 / 162
    survived.lies(lies, unmarked)
    assert honest / tried >= 0.5, "on a device without a data sheet, a third of them, nobody can judge"
