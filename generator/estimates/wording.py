"""The words for an estimate, which scripts show: those of the advisor, and of the form for any other model.

Takes the words of a language; returns texts by the names that docs/assets/javascripts/estimate.js reads.
"""

from __future__ import annotations

from typing import Any

from generator.figures.words import Words


def headlines(words: Words) -> dict[str, str]:
    """Return the headline of each outcome of `judged` in docs/assets/javascripts/recommend.js."""
    gettext = words.language.gettext
    return {
        "estimated-faster": gettext("Estimate: compiling probably pays off"),
        "estimated-slower": gettext("Estimate: the compiled model is probably slower"),
        "estimated-open": gettext("Estimate: inconclusive"),
    }


def texts(words: Words) -> dict[str, Any]:
    """Return the words for an estimate. Each kind of evidence has a sentence."""
    gettext = words.language.gettext
    return {
        "mark": gettext("Estimated, not measured"),
        "evidence": {
            "other_size": gettext("This estimate is based on the same model at a different image size on this device:"),
            "other_device": gettext("This estimate is based on the same model on other devices:"),
            "family": gettext(
                "This estimate is based on what the model computes and on what the records show for similar work. The "
                "closest relatives on this device:"
            ),
            "features": gettext(
                "This estimate is based on what the model computes and on what the records show for similar work."
            ),
        },
        "error": gettext("Estimates of this kind had a median error of %(error)s over %(tried)s records."),
        "relative": gettext("%(model)s, %(size)s, on %(device)s: %(speedup)s"),
        "measure": gettext("To replace this estimate with a record, measure the model:"),
        "thin": gettext("Too little is known for an estimate. Measure the model instead:"),
        "scale": gettext("Speedup on a logarithmic scale, from %(first)s to %(last)s"),
    }
