"""The tables of injected faults and of what was made to deceive, for the page for contributors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from markupsafe import Markup

from bench.records.injected_faults import (
    Before,
    Case,
    CaseGroup,
    FaultKind,
    FaultOutcome,
    FaultPlace,
    Faults,
    Injected,
)
from generator.figures.markup import TableCell
from generator.figures.words import Words
from generator.languages.language import Language
from generator.pages import documents


def table(faults: Faults, words: Words) -> str:
    """Return a table with a line for each kind of fault and outcome: where it was injected, and how often."""
    gettext = words.language.gettext
    head = gettext("Injected fault"), gettext("Where"), gettext("Outcome"), gettext("How often")
    order = list(kinds(words.language))
    groups: dict[tuple[FaultKind, FaultOutcome], list[Injected]] = {}
    for fault in sorted(faults.injected, key=lambda fault: order.index(fault.kind)):
        groups.setdefault((fault.kind, fault.outcome), []).append(fault)
    lines = [_line(group, words) for group in groups.values()]
    return documents.table(gettext("Faults that the tests inject"), head, lines, faults, words)


def _line(group: Sequence[Injected], words: Words) -> tuple[TableCell, ...]:
    language = words.language
    where = words.names([words.phrase(places(language)[fault.place]) for fault in group])
    times = sum(fault.times for fault in group)
    return (
        TableCell(words.phrase(kinds(language)[group[0].kind])),
        TableCell(where),
        TableCell(words.phrase(outcomes(language)[group[0].outcome])),
        TableCell(words.value(language.number(times, 0)), str(times), "number"),
    )


EXAMPLES = 2
"""Cases of a line that are shown; the document has them all."""


def cases(faults: Faults, words: Words) -> str:
    """Return a table of what was made to deceive: a line for each group, what happened before and what happens now."""
    gettext = words.language.gettext
    head = gettext("Attempt"), gettext("Before"), gettext("Now"), gettext("Cases"), gettext("Examples")
    order = list(groups(words.language))
    ordered = sorted(faults.cases, key=lambda case: (order.index(case.group), case))
    lines = [
        _of_group(list(alike), words)
        for _, alike in groupby(ordered, key=lambda case: (case.group, case.before, case.now))
    ]
    share = []
    if faults.lies:
        counts = {"unmarked": faults.lies.unmarked, "tried": faults.lies.tried}
        message = gettext("random invented speedups that pass unmarked: %(unmarked)s of %(tried)s")
        share.append(words.say(message, **{name: words.language.number(each, 0) for name, each in counts.items()}))
    return documents.table(gettext("Deceptive records, files, and texts"), head, lines, faults, words, *share)


def _of_group(alike: Sequence[Case], words: Words) -> tuple[TableCell, ...]:
    language, first = words.language, alike[0]
    step = -(-len(alike) // EXAMPLES)  # from all of them, since neighbours are alike
    examples = Markup("<br>").join(
        Markup('<code lang="en" dir="ltr">{}</code>').format(case.example) for case in alike[::step]
    )
    return (
        TableCell(words.phrase(groups(language)[first.group])),
        TableCell(words.phrase(verdicts(language)[first.before])),
        TableCell(words.phrase(verdicts(language)[first.now])),
        TableCell(words.value(language.number(len(alike), 0)), str(len(alike)), "number"),
        TableCell(examples),
    )


def groups(language: Language) -> dict[CaseGroup, str]:
    """Return the names of what cases are about."""
    gettext = language.gettext
    return {
        "numbers": gettext("Impossible numbers"),
        "speedups": gettext("Invented speedups"),
        "copies": gettext("Copied samples"),
        "sealed": gettext("Edited results"),
        "names": gettext("Lookalike names"),
        "leaks": gettext("Private details"),
        "catalogs": gettext("Hostile catalogues"),
        "files": gettext("Endless files"),
    }


def verdicts(language: Language) -> dict[Before, str]:
    """Return the names of what happened to cases."""
    gettext = language.gettext
    return {
        "accepted": gettext("Accepted"),
        "marked": gettext("Marked"),
        "refused": gettext("Refused"),
        "broke": gettext("A command failed or hung"),
    }


def kinds(language: Language) -> dict[FaultKind, str]:
    """Return the names of the kinds of faults, those that can cost records first."""
    gettext = language.gettext
    return {
        "power_cut": gettext("The power fails"),
        "kill": gettext("The process is killed"),
        "interrupt": gettext("The process is interrupted or asked to stop"),
        "disk_full": gettext("The disk is full"),
        "read_only": gettext("The folder is not writable"),
        "two_runs": gettext("Two runs write to one file"),
        "clock_back": gettext("The clock is set back"),
        "worker_dies": gettext("A worker dies"),
        "worker_hangs": gettext("A worker hangs"),
        "worker_forks": gettext("A worker leaves processes behind"),
        "worker_prints": gettext("A worker prints something that is not a message"),
        "worker_nan": gettext("A worker answers with NaN instead of numbers"),
        "worker_memory": gettext("A worker runs out of memory"),
        "bad_input": gettext("Files are empty, cut off, or damaged"),
        "hostile_input": gettext("Files contain content that the programs reading them do not expect"),
        "hostile_text": gettext("Texts in records and catalogues contain code"),
        "false_record": gettext("A record is deliberately false"),
        "rapid_changes": gettext("Files change many times in quick succession"),
        "folders_gone": gettext("A folder vanishes and comes back"),
        "foreign_path": gettext("A request asks for files outside the site"),
        "silent_client": gettext("A client never reads the response"),
        "many_rebuilds": gettext("The site is built again and again"),
    }


def places(language: Language) -> dict[FaultPlace, str]:
    """Return the names of the parts of the project into which faults are injected."""
    gettext = language.gettext
    return {
        "records": gettext("records"),
        "run": gettext("a run"),
        "documents": gettext("documents"),
        "imports": gettext("imported files"),
        "catalogs": gettext("catalogues"),
        "pages": gettext("pages"),
        "settings": gettext("settings"),
        "checkpoints": gettext("checkpoints"),
        "caches": gettext("caches"),
        "results": gettext("the results folder"),
        "site": gettext("the site"),
        "server": gettext("the development server"),
    }


def outcomes(language: Language) -> dict[FaultOutcome, str]:
    """Return the names of the outcomes."""
    gettext = language.gettext
    return {
        "nothing_lost": gettext("Nothing that was recorded is lost"),
        "resumed": gettext("The run continues where it stopped"),
        "whole_or_before": gettext("The file is intact: either the new version or the previous one"),
        "made_again": gettext("Whatever was damaged is recreated"),
        "refused": gettext("Refused, with the reason and a remedy"),
        "read_or_refused": gettext("Read, or refused with the reason and a remedy"),
        "recorded": gettext("Recorded with its reason, and the run continues"),
        "flagged": gettext("Reported, and noted in the record"),
        "marked": gettext("Shown as doubtful or unconfirmed, and never in a headline"),
        "same_bytes": gettext("The next build produces the same site"),
        "kept_serving": gettext("It keeps running and serves the last good pages"),
        "not_served": gettext("None of these files is served"),
        "nothing_runs": gettext("They are shown, and no code runs"),
        "flat_memory": gettext("Its memory use does not grow"),
        "no_process": gettext("No process is left behind"),
    }
