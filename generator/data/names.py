"""Names of devices and models: the words that people use, and slugs that are safe in addresses and as file names."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from bench.records.families import slugify

_NOISE = re.compile(
    r"\((?:R|TM|C)\)|\b(?:NVIDIA|Tesla|GeForce|CPU|Processor|Workstation Edition|\d+-Core)\b|[®™@]", re.IGNORECASE
)

# Names of pages that are there anyway, and names that Windows keeps for itself.
_RESERVED = {"index", "each", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


def short_name(device_name: str) -> str:
    """Return what people call a device: ``A100`` for "NVIDIA A100", ``T4`` for "Tesla T4", ``Intel Xeon 2.50 GHz`` for
    "Intel(R) Xeon(R) Processor @ 2.50GHz". Only brands and filler go, so different products stay different."""
    name = re.sub(r"(?<=\d)GHz", " GHz", _NOISE.sub(" ", device_name))
    return " ".join(name.split()) or device_name.strip() or "?"


_MODEL_NUMBER = re.compile(
    r"\b\d+(?:\.\d+)? ?[GM]Hz\b"  # its clock: 2.50 GHz
    r"|(?:(?<=\s)|-)(?!\d+(?:st|nd|rd|th)\b)\d[0-9A-Z]{2,}\b"  # 7763, 8259CL; that of "i7-8650U", but no "12th"
    r"|(?<=\s)(?:v\d|0)\b",  # that of "E5-2670 v3" and "E5-2670 0"
    re.IGNORECASE,
)


def device_label(device_type: str, device_name: str) -> str:
    """Return the short name of a device; of a CPU, that of its product line: ``Intel Xeon`` for "Intel Xeon 2.50 GHz".

    Clouds give their CPUs names that differ in a number, and readers choose among GPUs: so one entry stands for all
    CPUs of a product line with the same number of cores. Each record keeps the name of its processor. What tells
    product lines apart stays: ``Apple M3``, ``Intel Core i7``.
    """
    name = short_name(device_name)
    if device_type != "cpu":
        return name
    return " ".join(_MODEL_NUMBER.sub(" ", name).split()) or name


def device_slug(device_type: str, device_name: str, cores: float | None) -> str:
    """Return the slug of a device. The cores tell CPUs apart."""
    if device_type != "cpu":
        return slugify(device_name)
    return slugify(f"cpu {device_name}{'' if cores is None else f' {cores:.0f} cores'}")


def slugs(oldest_first: Iterable[tuple[Any, ...]], slug: Callable[..., str]) -> list[str]:
    """Return one slug for each tuple, made from its values. Where several would share one, the oldest keeps it: links
    stay valid."""
    taken: dict[str, None] = {}
    for values in oldest_first:
        name = slug(*values)
        if name in taken or name in _RESERVED or not name:
            name = "-".join(filter(None, (name, hashlib.sha256(repr(values).encode()).hexdigest()[:8])))
        taken[name] = None
    return list(taken)


def distinct_labels(models: Iterable[tuple[str, str]]) -> list[str]:
    """Return the label of each model, a pair of label and checkpoint, with its checkpoint where several checkpoints go
    by one label."""
    models = list(models)
    shared = {label for label, count in Counter(label for label, _ in models).items() if count > 1}
    return [f"{label} ({name})" if label in shared else label for label, name in models]
