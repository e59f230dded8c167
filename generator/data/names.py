"""Names of devices and models: the words that people use, and slugs that are safe in addresses and as file names."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from bench.plans.checkpoints import PLACEHOLDER
from generator.data.families import slugify

_NOISE = re.compile(
    r"\((?:R|TM|C)\)|\b(?:NVIDIA|Tesla|GeForce|CPU|Processor|Workstation Edition|\d+-Core)\b|[®™@]", re.IGNORECASE
)

# Names of pages that are there anyway, and names that Windows keeps for itself.
_RESERVED = {"index", "each", "con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}


@cache
def short_name(device_name: str) -> str:
    """Return the usual name of a device: ``A100`` for "NVIDIA A100", ``T4`` for "Tesla T4", ``Intel Xeon 2.50 GHz`` for
    "Intel(R) Xeon(R) Processor @ 2.50GHz". Only brands and filler go, so different products stay different."""
    name = re.sub(r"(?<=\d)GHz", " GHz", _NOISE.sub(" ", device_name))
    return " ".join(name.split()) or device_name.strip() or "?"


_MODEL_NUMBER = re.compile(
    r"\b\d+(?:\.\d+)? ?[GM]Hz\b"  # its clock: 2.50 GHz
    # 7763, 8259CL, the end of "i7-8650U", but no "12th", and no "(family 6, model 167)", which tells chips apart
    r"|(?:(?<=\s)(?<!\bmodel\s)|-)(?!\d+(?:st|nd|rd|th)\b)\d[0-9A-Z]{2,}\b"
    r"|(?<=\s)(?:v\d|0)\b",  # the end of "E5-2670 v3" and "E5-2670 0"
    re.IGNORECASE,
)


@cache
def device_label(device_type: str, device_name: str) -> str:
    """Return the short name of a device; of a CPU, its product line: ``Intel Xeon`` for "Intel Xeon 2.50 GHz".

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


def location(checkpoint: str, digest: str | None) -> str:
    """Return the address from which code loads a checkpoint: its hub id, or a placeholder for a local folder."""
    return f"{PLACEHOLDER}{checkpoint}" if digest else checkpoint


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


SHORT = 8
"""Digits of the digest of a local checkpoint that tell it from others of its name."""


def model_slug(label: str, _checkpoint: str, digest: str = "") -> str:
    """Return the slug of a model. The digest tells local checkpoints apart, whichever came first."""
    return slugify(f"{label} {digest[:SHORT]}")


def distinct_labels(models: Iterable[Sequence[str]]) -> list[str]:
    """Return the label of each model, which is given as label, checkpoint and the digest of a local one. Where several
    models go by one label, it has its checkpoint, or for a local one its digest; a local checkpoint takes no label from
    a model that others know."""
    models = [(label, name, *digest) for label, name, *digest in models]
    counts = Counter(label for label, *_ in models)
    public = Counter(label for label, _, *digest in models if not digest)

    def distinct(label: str, name: str, digest: str = "") -> str:
        if digest:
            return f"{label} ({digest[:SHORT]})" if counts[label] > 1 else label
        return f"{label} ({name})" if public[label] > 1 else label

    return [distinct(*model) for model in models]
