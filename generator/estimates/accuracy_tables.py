"""Tables of how far off estimates are, for the page about them.

The functions take `Estimates` and the words of a language, and return HTML.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from bench.records.estimates import EstimateAccuracy, Estimates, Scheme
from generator.data.names import short_name
from generator.figures.markup import Line, Table, TableCell
from generator.figures.words import Words

_TRIED: tuple[Scheme, ...] = ("other_size", "other_device", "family", "features", "device_left_out")
"""Ways whose accuracy is shown for each device."""


def ways(estimates: Estimates, words: Words) -> str:
    """Return a table with a line for each way to estimate, naive ones last."""
    gettext = words.language.gettext
    lines = [((_way(each, words),), each) for each in estimates.accuracy if each.share is None]
    return _table(gettext("Error of each estimation method"), (gettext("Estimated from"),), lines, estimates, words)


def by_device(estimates: Estimates, words: Words) -> str:
    """Return a table with a line for each way and device."""
    gettext = words.language.gettext
    lines = [
        ((words.value(short_name(each.name)), _way(each, words)), each)
        for name in estimates.devices
        for scheme in _TRIED
        for each in estimates.groups(scheme, "device")
        if each.name == name
    ]
    heads = (gettext("Device"), gettext("Estimated from"))
    return _table(gettext("Error of the estimates on each device"), heads, lines, estimates, words)


def by_family(estimates: Estimates, words: Words) -> str:
    """Return a table with a line for each family that was left out, those with the worst coverage first."""
    gettext = words.language.gettext
    families = sorted(estimates.groups("features", "family"), key=lambda each: (each.coverage_90 or 0, each.name))
    lines = [((words.value(each.name),), each) for each in families]
    return _table(gettext("Families that the trees have never seen"), (gettext("Family"),), lines, estimates, words)


def _table(
    headline: str,
    heads: Sequence[str],
    lines: Iterable[tuple[Sequence[str], EstimateAccuracy]],
    estimates: Estimates,
    words: Words,
) -> str:
    gettext, language = words.language.gettext, words.language
    figures = (
        *(gettext("Median error"), gettext("9 of 10 errors are below"), gettext("Within the 9-in-10 interval")),
        *(gettext("Within the 5-in-10 interval"), gettext("Records")),
    )
    columns = [TableCell(words.say(text), scope="col") for text in heads]
    columns += [TableCell(words.say(text), scope="col", classes="number") for text in figures]

    def share(value: float | None) -> TableCell:
        text = "—" if value is None else language.percent(value, 1)
        return TableCell(words.value(text), None if value is None else repr(value), "number")

    made = tuple(
        Line(
            (
                *(TableCell(name) for name in names),
                *map(share, (each.median_error, each.p90_error, each.coverage_90, each.coverage_50)),
                TableCell(words.value(language.number(each.count, 0)), repr(each.count), "number"),
            )
        )
        for names, each in lines
    )
    taken = words.say(gettext("fitted on %(date)s"), date=language.date(estimates.taken_at))
    return Table(words.facts([words.say(headline), taken]), tuple(columns), made).html()


def _way(accuracy: EstimateAccuracy, words: Words) -> str:
    gettext = words.language.gettext
    names = {
        "other_size": gettext("the same model at a different image size"),
        "other_device": gettext("the same model on other devices"),
        "family": gettext("the trees, with the family known"),
        "features": gettext("the trees, with the family unknown"),
        "device_left_out": gettext("the same model on other devices, with the device unknown"),
        "next_version": gettext("the same model with an older PyTorch"),
        "median": gettext("naive: the median of all models"),
        "family_median": gettext("naive: the median of the family"),
    }
    lacking = {
        (True, True): "",
        (True, False): gettext("without the eager latency"),
        (False, True): gettext("without counted operations"),
        (False, False): gettext("from FLOP, activations, and parameters alone"),
    }[accuracy.operations, accuracy.eager]
    name = words.phrase(names[accuracy.scheme])
    return words.facts([name, words.phrase(lacking)]) if lacking else name
