"""Check every text of a record: it must reveal nothing about a person or a machine, and be on a list or made from a
template.

`faults` takes a record. How its model, its device and its contributor are spelled is for `bench.exchange.lookalikes`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import msgspec

from bench.plans.checkpoints import PLACEHOLDER
from bench.plans.messages import CELL_PHASES
from bench.plans.models import SHRUNKEN_LABEL
from bench.plans.profiles import PROFILES
from bench.records.plausibility import Fault
from bench.records.record import DTYPES, PHASES, THROUGHPUT_PROFILES, Environment, Measurement, Record
from bench.records.scrub import LONGEST, anonymous, identifying, message
from bench.records.wording import (
    DIAGNOSTICS,
    EXCEPTION,
    SENSORS,
    THROTTLE_REASONS,
    is_flag,
    is_reason,
    is_setting,
    setting,
)

_MESSAGES = re.compile(r"reason|measurement\..*", re.DOTALL)
"""The fields that repeat what another program says."""

_VERSION = re.compile(r"[A-Za-z0-9][\w.+-]*(?:,? [\w.+-]+){0,3}", re.ASCII)
_FORMS = {
    "platform": re.compile(r"(?:Linux|Darwin|Windows|FreeBSD) \w{1,20}", re.ASCII),
    "commit": re.compile(r"[0-9a-f]{7,40}(?:-dirty)?"),
    **dict.fromkeys(("torch", "transformers", "python", "accelerator", "driver"), _VERSION),
}
"""The form of each text of an environment, but for the name of the device and the settings."""

_PROFILES = {*PROFILES, *THROUGHPUT_PROFILES, "optimum-benchmark"}
_STOP_REASONS = {"precision", "rounds", "time", "published"}
_PUBLIC = frozenset({"e-mail address", "host", "name of the host", "name of the user"})
"""What a contributor may choose to be called."""

_AS_BENCH = "restore the line as `python -m bench run` wrote it"


def faults(record: Record) -> Iterator[Fault]:
    """Yield the texts that say who or where, and those that nothing of this project writes."""
    found = set[str]()
    for fault in private(msgspec.to_builtins(msgspec.structs.replace(record, source=None))):
        found.add(fault[0])
        yield fault
    for field, text in _unknown(record):
        if field not in found:
            yield field, f"{text!r:.100} is not a text that records use there", _AS_BENCH


def private(value: Any) -> Iterator[Fault]:
    """Yield the texts below `value`, a record or another document as plain values, that say who or where, and those
    that are too long to tell."""
    lines = ((field, line) for field, text in _texts(value) for line in text.splitlines())
    for field, text in lines:
        if len(text) > LONGEST:
            yield field, f"is longer than {LONGEST} characters", _AS_BENCH
        elif found := _private(field, text):
            kind, words = found
            clean = message(text) if _MESSAGES.fullmatch(field) else anonymous(text)
            yield field, f"contains a {kind}: {words!r}", f"replace the text with {clean!r}"


@lru_cache(maxsize=65_536)
def _private(field: str, text: str) -> tuple[str, str] | None:
    name = field.rpartition(".")[2]
    is_version = field.startswith("environment.") and name in _FORMS
    ignored = frozenset({"network address"}) if is_version else _PUBLIC if field == "contributor" else frozenset()
    return identifying(text, is_message=bool(_MESSAGES.fullmatch(field)), ignored=ignored)


def _texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text below `value` with its field."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield field, name
            yield from _texts(each, f"{field}.{name}" if field else name)
    elif isinstance(value, list | tuple) and not (value and isinstance(value[0], int | float)):
        for each in value:
            yield from _texts(each, field)


def _unknown(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the texts that no template makes and no list has."""
    if record.reason and not is_reason(record.reason):
        yield "reason", record.reason
    if record.profile not in _PROFILES:
        yield "profile", record.profile
    if record.plan and not re.fullmatch("[0-9a-f]{6}", record.plan):
        yield "plan", record.plan
    if record.command and not _reproduces(record.command, record):
        yield "command", record.command
    yield from (("costs_s", phase) for phase in record.costs_s if phase not in CELL_PHASES)
    yield from (("flags", flag) for flag in record.flags if not is_flag(flag))
    yield from _environment(record.environment)
    if record.measurement:
        yield from _measurement(record.measurement)


def _environment(environment: Environment) -> Iterator[tuple[str, str]]:
    for name, form in _FORMS.items():
        text = getattr(environment, name)
        if text is not None and not form.fullmatch(text):
            yield f"environment.{name}", text
    for name, value in environment.settings.items():
        if not is_setting(name):
            yield "environment.settings", name
        elif value != setting(value):
            yield f"environment.settings.{name}", value


def _measurement(measurement: Measurement) -> Iterator[tuple[str, str]]:
    accuracy, telemetry = measurement.accuracy, measurement.telemetry
    lists: list[tuple[str, Iterable[str | None], Iterable[str | None]]] = [
        ("stop_reason", [measurement.stop_reason], {None, *_STOP_REASONS}),
        ("failures", measurement.failures, DIAGNOSTICS),
    ]
    if accuracy:
        lists.append(("accuracy.reference_dtype", [accuracy.reference_dtype], {None, "float64", *DTYPES}))
    if measurement.compilation:
        lists.append(("compilation.phases_s", measurement.compilation.phases_s, PHASES))
    if telemetry:
        lists.append(("telemetry.unreadable", telemetry.unreadable, SENSORS))
        lists.append(("telemetry.throttle_reasons", telemetry.throttle_reasons, THROTTLE_REASONS))
    for field, texts, known in lists:
        yield from ((f"measurement.{field}", str(text)) for text in texts if text not in known)
    for name, why in measurement.failures.items():
        if not re.fullmatch(EXCEPTION.pattern, why):
            yield f"measurement.failures.{name}", why


def _reproduces(command: str, record: Record) -> bool:
    """Return whether a command is `python -m bench run` with options that say what the record says."""
    cell = record.cell
    shrunken = SHRUNKEN_LABEL.format("")
    label = cell.model.removesuffix(shrunken)
    values: dict[str, set[str]] = {
        "--profile": {record.profile},
        "--model": {label},
        "--checkpoint": {f"{PLACEHOLDER}{cell.checkpoint}" if cell.digest else cell.checkpoint},
        "--name": {cell.checkpoint} if cell.digest else set(),
        "--task": {cell.task},
        "--weights": {cell.weights},
        "--batch-size": {str(cell.batch_size)},
        "--compile-mode": {cell.compile_mode},
        "--dtype": {cell.precision.replace(" ", "-")},
        "--device": {cell.device},
        "--malloc": {"keep", "default"},
        "--dynamic": {str(cell.dynamic).lower()},
    }
    switches = {"--allow-busy", *(["--shrunken"] if cell.model.endswith(shrunken) else [])}
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if shlex.join(words) != command or words[:4] != ["python", "-m", "bench", "run"]:
        return False
    rest, given = iter(words[4:]), list[str]()
    for option in rest:
        given.append(option)
        if option not in switches and next(rest, None) not in values.get(option, ()):
            return False
    return len(given) == len(set(given))
