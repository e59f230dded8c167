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
        "estimated-faster": gettext("Estimate: compiling probably pays"),
        "estimated-slower": gettext("Estimate: compiling probably costs"),
        "estimated-open": gettext("Estimate: too close to call"),
    }


def texts(words: Words) -> dict[str, Any]:
    """Return the words for an estimate. Each kind of evidence has a sentence."""
    gettext = words.language.gettext
    return {
        "mark": gettext("Estimated, not measured"),
        "evidence": {
            "other_size": gettext("This one rests on the same model at another image size on this device:"),
            "other_device": gettext("This one rests on the same model on other devices:"),
            "family": gettext(
                "This one rests on what the model computes, and on what the records say of such work. The nearest "
                "relatives on this device:"
            ),
            "features": gettext("This one rests on what the model computes, and on what the records say of such work."),
        },
        "error": gettext("Estimates of this kind were off by %(error)s in the median of %(tried)s records."),
        "relative": gettext("%(model)s, %(size)s, on %(device)s: %(speedup)s"),
        "measure": gettext("To replace the estimate by a record, measure it:"),
        "thin": gettext("Too little is known for an estimate. Measure it instead:"),
        "scale": gettext("Speedup on a logarithmic scale, from %(first)s to %(last)s"),
    }
