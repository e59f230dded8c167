"""Records of a benchmark of throughput, as an importer writes them: short to write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from atlas_data import measured

from bench.records.record import UNEQUAL_BATCHES, Measurement, Record, Samples, Source, Status, Work
from generator.data.families import slugify

OLD: Mapping[str, Any] = {"torch": "2.4.0"}
NEW: Mapping[str, Any] = {"torch": "2.9.1"}
OTHER: Mapping[str, Any] = {"device_name": "NVIDIA GeForce RTX 4090"}

SOURCE = Source(title="timm", url="https://example.org", date="2026-01-06", licence="Apache-2.0")


def throughput(
    model: str,
    eager: float | None,
    compiled: float | None,
    *,
    device_name: str = "NVIDIA GeForce RTX 5090",
    torch: str = "2.9.1",
    batch_size: int = 256,
    compiled_batch_size: int | None = None,
    intensity: float = 500.0,
    flags: tuple[str, ...] = (),
    **changes: Any,
) -> Record:
    """A record with the images per second of both variants; None where one did not run."""
    compiled_size = compiled_batch_size or batch_size
    is_unequal = bool(eager and compiled and compiled_size != batch_size)
    ran_both = bool(eager and compiled)
    figures = Measurement(
        eager=_variant(eager, batch_size, None),
        compiled=_variant(compiled, compiled_size, compiled_size if is_unequal else None) if compiled else None,
        stop_reason="published",
        work=Work(flop=1e9 * batch_size, activations=1e9 / intensity * batch_size),
    )
    defaults = {"checkpoint": f"timm/{model}", "dtype": "float16", "autocast": True}
    record = measured(
        run=slugify(f"timm {device_name} {torch} {changes.get('dtype')} {changes.get('autocast')}"),
        device_name=device_name,
        torch=torch,
        status=Status.PASS if ran_both else Status.SKIPPED,
        reason=None if ran_both else "one variant",
        figures=figures,
        **{"model": model, "batch_size": batch_size, **defaults, **changes},
    )
    own = (*flags, *([UNEQUAL_BATCHES] if is_unequal else []))
    return msgspec.structs.replace(
        record, origin="published", profile="timm", source=SOURCE, measured_at=None, flags=own, command=None
    )


def _variant(images_s: float | None, batch_size: int, own_size: int | None) -> Samples:
    if images_s is None:
        return Samples()
    return Samples(published_mean_ms=batch_size / images_s * 1e3, published_images_s=images_s, batch_size=own_size)


def family(name: str, *changes: float, **more: Any) -> list[Record]:
    """Models of a family: eager does 100 images per second, and compiling changes their time by `changes`."""
    return [throughput(f"{name}{number}", 100.0, 100.0 / (1 + change), **more) for number, change in enumerate(changes)]


CONV = family("cnn", -0.6, -0.55, -0.5, -0.45, -0.4)
VIT = family("vit", -0.2, -0.15, -0.1, -0.02, 0.3)
