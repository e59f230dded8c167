"""My model is not here: a form that estimates the speedup of any model from what it computes.

`as_json` returns what the script needs, below 50 KB: the trees, and how far off estimates from features alone are.
`form` returns the form; docs/assets/javascripts/own-model.js answers in it.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from bench.records.estimates import EstimateAccuracy, Estimates
from bench.records.operations import ARITHMETIC, KINDS
from bench.statistics.verdicts import SAME
from generator.data.names import short_name
from generator.estimates import wording
from generator.figures.markup import render
from generator.figures.words import Words


def as_json(estimates: Estimates) -> str:
    """Return the trees and the accuracy of each case as JSON."""
    cases = [each for each in estimates.accuracy if (each.scheme, each.share) == ("features", None)]
    content = {
        **msgspec.structs.asdict(estimates.trees),
        "kinds": KINDS,
        "arithmetic": ARITHMETIC,
        "same": SAME,
        "cases": [_case(each) for each in cases],
    }
    return msgspec.json.encode(content).decode()


def _case(accuracy: EstimateAccuracy) -> dict[str, Any]:
    return {
        "operations": accuracy.operations,
        "eager": accuracy.eager,
        "reach": (accuracy.reach_50, accuracy.reach_90),
        "error": accuracy.median_error,
        "tried": accuracy.count,
    }


def form(estimates: Estimates, address: str, words: Words) -> str:
    """Return the form. `address` is that of `as_json`."""
    return render(
        "own_model.html.jinja",
        address=address,
        texts=json.dumps(_texts(words), ensure_ascii=False),
        devices=[(name, words.value(short_name(name))) for name in estimates.devices],
        label={name: words.phrase(text) for name, text in _labels(words).items()},
    )


def _labels(words: Words) -> dict[str, str]:
    gettext = words.language.gettext
    return {
        "form": gettext("Your model"),
        "device": gettext("Your device"),
        "line": gettext("The line that bench describe prints"),
        "flop": gettext("FLOP per image (G)"),
        "activations": gettext("Activations per image (M)"),
        "parameters": gettext("Parameters (M)"),
        "eager": gettext("Eager throughput, if you know it (images/s)"),
        "answer": gettext("The estimate"),
    }


def _texts(words: Words) -> dict[str, Any]:
    gettext = words.language.gettext
    return {
        **wording.texts(words),
        "reason": gettext(
            "Expect a speedup of about %(speedup)s on %(device)s: in 9 out of 10 cases like this one, it lies between "
            "%(low)s and %(high)s, and in 5 out of 10 between %(near_low)s and %(near_high)s."
        ),
        "headlines": wording.headlines(words),
        "coarse": gettext(
            "FLOP, activations, and parameters alone allow only a rough estimate. Paste the line that bench describe "
            "prints: it counts every operation, which narrows the interval."
        ),
        "waiting": gettext("Enter FLOP, activations, and parameters, or paste the line."),
        "invalid": gettext(
            "This is not a line that bench describe prints. Copy the whole line, including both braces."
        ),
        "failed": gettext("The estimate could not be loaded. Reload the page."),
    }
