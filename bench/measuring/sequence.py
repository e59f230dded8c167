"""Measure calls of several sizes, as a service sees them: 48 calls of 8 sizes in a fixed order. Imports torch.

`run` takes the `Pair` of a cell with `sizes`; returns the outcome with each of its calls: from an empty compile cache,
and repeated in turn with eager. Nothing is warmed up with the variant: its compilations are what is measured.

    python -m bench run --profile sizes
"""

from __future__ import annotations

import random
from dataclasses import replace

from torch.nn.functional import interpolate

from bench.measuring import accuracy, graphs
from bench.measuring.build import Inputs
from bench.measuring.diagnostics import compared, failure
from bench.measuring.pair import Pair
from bench.measuring.rounds import timed, warm_up
from bench.plans.messages import CellOutcome, Phase, Send
from bench.plans.profiles import SIZES
from bench.records.record import Call, Sizes, Status

ORDER = tuple(random.Random(2).sample([*range(SIZES)] * 6, 48))
"""Numbers of the sizes, from the smallest, in the order of the calls. The first is of medium size."""

STEP = 32
"""Pixels between one image size and the next: models with five halvings take only multiples."""


def run(pair: Pair, send: Send) -> CellOutcome:
    """Measure the sequence with the variant, and once more with eager beside it."""
    send(Phase(name="warming up eager"))
    assert pair.job.cell.sizes
    batches = sized(pair.loaded.batches[0], pair.job.cell.sizes)
    smallest, largest, ordered = (
        replace(pair.loaded, batches=each) for each in (batches[:1], batches[-1:], tuple(batches[at] for at in ORDER))
    )
    try:
        pair.loaded = largest
        pair.output(pair.eager)
        pair.loaded = ordered
        warm_up(pair.eager, pair.job.sampling)
    except Exception as error:  # noqa: BLE001 - any exception of the model is the outcome of its cell
        return failure(pair.job, error, Status.EAGER_OOM)
    try:
        send(Phase(name="compiling"))
        graphs.reset()
        pair.loaded = largest  # what is smaller may be padded to it
        variant = pair.subject(pair.start(pair.job.cell.variant))
        pair.loaded = ordered
        first, compiled = list[float](), [0]
        for _ in ORDER:
            first += timed(variant, 1)
            compiled.append(graphs.compiled_frames())
        send(Phase(name="measuring"))
        pair.eager.next_batch = variant.next_batch = 0
        both = [(*timed(pair.eager, 1), *timed(variant, 1)) for _ in ORDER]
        pair.loaded = smallest  # padding changes it most
        errors = compared(pair, pair.output(pair.eager), pair.output(variant))
    except Exception as error:  # noqa: BLE001 - as above
        return failure(pair.job, error, Status.OOM)
    calls = []
    for place, number in enumerate(ORDER):
        images, _, height, width = batches[number]["pixel_values"].shape
        eager_ms, repeated_ms = (round(each, 6) for each in both[place])
        calls.append(
            Call(
                shape=(images, height, width),
                eager_ms=eager_ms,
                first_ms=round(first[place], 6),
                repeated_ms=repeated_ms,
                compilations=compiled[place + 1] - compiled[place],
            )
        )
    if accuracy.is_within_tolerance(errors, pair.job.cell):
        return CellOutcome(status=Status.PASS, calls=tuple(calls))
    return CellOutcome(status=Status.FAIL_ACCURACY, reason=accuracy.describe(errors), calls=tuple(calls))


def sized(batch: Inputs, sizes: Sizes) -> tuple[Inputs, ...]:
    """Return the batch in all sizes, the smallest first: 1 to 8 of its images, or its own image size and larger
    ones."""
    if sizes == "batches":
        cut = range(1, SIZES + 1)
        return tuple({name: value[: len(value) * images // SIZES] for name, value in batch.items()} for images in cut)
    pixels = batch["pixel_values"]
    height, width = pixels.shape[-2:]
    sides = ((height + STEP * number, width + STEP * number) for number in range(SIZES))
    return tuple({"pixel_values": interpolate(pixels, size)} for size in sides)
