"""Generate archives of any size, to see what a guide with many records costs: run files of nightly sweeps.

Takes a folder and a number of records; writes run files, each a sweep over all cells of one device and one version of
torch, with three processes per cell and lines as long as real ones. The cells are `models` × `devices` × `TORCHES` ×
`BATCH_SIZES` × `MODES`, measured again and again: more records make a longer history, more models or devices a larger
guide. All figures are random, and the same arguments give the same bytes. A million records take about 15 s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice, product
from pathlib import Path

import msgspec
import numpy as np

from bench.records.record import (
    SCHEMA,
    Accuracy,
    Cell,
    Compilation,
    Environment,
    Graphs,
    Measurement,
    Peaks,
    Record,
    Samples,
    Status,
    Task,
    Work,
    variant_of,
)
from bench.records.run_file import encode

TORCHES = ("2.12.0", "2.13.0")
BATCH_SIZES = (1, 4, 16)
MODES = ("default", "max-autotune")
PROCESSES = 3

TASKS: tuple[Task, ...] = ("image-classification", "object-detection", "image-segmentation")
FAMILIES = ("beit", "convnext", "detr", "levit", "resnet", "segformer", "swin", "vit")

_ROUNDS = 18
_FIRST_NIGHT = datetime(2016, 1, 1, tzinfo=UTC)

# Placeholders in the template of a line, which is encoded once; each record fills in its values as bytes.
_EAGER, _COMPILED, _COLD = 111.111, 222.222, 333.333
_PROCESS, _DATE = 777, datetime(1999, 9, 9, 9, 9, 9, tzinfo=UTC)


def write_archive(folder: Path, records: int, *, models: int = 12, devices: int = 4, seed: int = 0) -> Path:
    """Write run files with `records` records in all to `folder`, and return it. The last file may be shorter.

    A run has `models` × 18 records. The first 8 runs (with 4 devices) measure every cell once; each later run measures
    its cells again in another night.
    """
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    cells = _cells(models)
    sweeps = cycle(product(TORCHES, range(devices)))
    left = records
    for night, (torch, device) in enumerate(sweeps):
        if left <= 0:
            break
        run = f"{_FIRST_NIGHT + timedelta(days=night):%Y-%m-%d}_gpu-{device}_torch-{torch}"
        lines = list(islice(_run(run, cells, torch, device, night, random), left))
        (folder / f"{run}.jsonl").write_bytes(b"".join(lines))
        left -= len(lines)
    return folder


def model_names(models: int) -> list[str]:
    """Return labels such as ``convnext_0`` and ``convnext_1``: the name of the family and a number."""
    return [f"{FAMILIES[number % len(FAMILIES)]}_{number // len(FAMILIES)}" for number in range(models)]


def _cells(models: int) -> Sequence[Cell]:
    return [
        Cell(
            model=model,
            checkpoint=f"someone/{model}",
            task=TASKS[number % len(TASKS)],
            device="cuda",
            dtype="float16",
            batch_size=batch_size,
            variant=variant_of(mode),
            input_size=(224, 224),
        )
        for number, model in enumerate(model_names(models))
        for batch_size, mode in product(BATCH_SIZES, MODES)
    ]


def _run(
    run: str, cells: Sequence[Cell], torch: str, device: int, night: int, random: np.random.Generator
) -> Iterator[bytes]:
    """Yield one line per process."""
    environment = Environment(
        device_name=f"NVIDIA GPU {device}",
        torch=torch,
        transformers="5.23.0",
        python="3.11.7",
        platform="Linux x86_64",
        memory_gb=80.0,
        cores=16,
        threads=16,
        accelerator="CUDA 13.0",
        driver="580.65",
        commit=f"{night:012x}",
        settings={"float32_matmul_precision": "highest", "cudnn_benchmark": "False", "libc": "glibc 2.36"},
    )
    for number, cell in enumerate(cells):
        latency = (1 + number % 97) * (1 + device) * cell.batch_size**0.8
        pieces = _template(run, cell, environment, night, latency)
        noise = random.normal(1, 0.02, (PROCESSES, 2, _ROUNDS))
        gain = random.normal(0.8 if number % 7 else 1.1, 0.02)
        for process in range(PROCESSES):
            eager, compiled = (
                msgspec.json.encode([[round(ms, 6)] for ms in (mean * each).tolist()])
                for mean, each in zip((latency, latency * gain), noise[process], strict=True)
            )
            at = _FIRST_NIGHT + timedelta(days=night, minutes=number, seconds=10 * process)
            yield pieces % (
                process,
                f"{at:%Y-%m-%dT%H:%M:%SZ}".encode(),
                eager,
                compiled,
                round(float(random.normal(30, 3)), 3),
            )


def _template(run: str, cell: Cell, environment: Environment, night: int, latency_ms: float) -> bytes:
    """Return a line with placeholders for process, date, rounds of both variants and seconds of compilation."""
    record = Record(
        schema=SCHEMA,
        run=run,
        origin="measured",
        profile="standard",
        process=_PROCESS,
        status=Status.PASS,
        cell=cell,
        environment=environment,
        measured_at=_DATE,
        measurement=Measurement(
            eager=Samples(rounds_ms=((_EAGER,),), peak_memory_gb=0.5 + night % 9 / 100),
            compiled=Samples(rounds_ms=((_COMPILED,),), peak_memory_gb=0.4),
            compilation=Compilation(ready_s={"cold": _COLD, "warm": 5.5}, phases_s={"dynamo": 6.4, "inductor": 57.3}),
            graphs=Graphs(graphs=1, batch_size_recompiles=1),
            accuracy=Accuracy(max_relative_error=9e-7),
            warmup_calls=14,
            stop_reason="precision",
            work=Work(flop=1e10 * latency_ms, traffic_bytes=1e8 * latency_ms, streamed_bytes=1e7 * latency_ms),
            peaks=Peaks(matmul_flop_s=3.1e14, copy_bytes_s=3.2e12),
        ),
        seconds=134.5,
        command=f"python -m bench run --profile standard --model {cell.model} --batch-size {cell.batch_size}"
        f" --variant {cell.variant} --dtype {cell.dtype} --device {cell.device}",
        plan="40254a",
    )
    places = {
        f'"process":{_PROCESS}': b'"process":%d',
        f'"{_DATE:%Y-%m-%dT%H:%M:%SZ}"': b'"%s"',
        f"[[{_EAGER}]]": b"%s",
        f"[[{_COMPILED}]]": b"%s",
        f'"cold":{_COLD}': b'"cold":%r',
    }
    line = encode(record).replace(b"%", b"%%")
    for text, place in places.items():
        assert line.count(text.encode()) == 1, text
        line = line.replace(text.encode(), place)
    return line
