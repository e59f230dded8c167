"""Grow the atlas to any number of pages, with copies of its records under other names.

Takes a folder with the project and a number of pages in all languages together; returns a copy of the project with that
many pages.
"""

from __future__ import annotations

import compileall
import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from bench.errors import AtlasError
from bench.records.build_times import BUILD_TIMES
from bench.records.families import family_slug
from bench.records.record import Record, Variant
from bench.records.run_file import COMPRESSED, SUFFIX, encode, read, run_files
from generator.data.names import device_label
from generator.languages.language import published_languages
from generator.languages.page_source import EACH_PAGE, NO_PAGES
from generator.pages.atlas import FEW

PARTS = ("bench", "docs", "generator", "locales", "mkdocs.yml", "babel.cfg")
"""The files and folders that a build reads."""

DEVICES_OF_A_MODEL = 4
"""Each model runs on all devices of its group, so that pages are as long as in the real atlas, whatever their count."""

PAGES_OF_A_DEVICE = 4
"""One page in four is about a device, the others are about models, as in the real atlas."""


def grow(project: Path, folder: Path, pages: int) -> Path:
    """Replace `folder` with a copy of `project` that has `pages` pages, and return it.

    Raises `AtlasError` if the authored pages alone are more.
    """
    files = (path for path in run_files(project / "bench" / "results") if path.suffix != COMPRESSED)
    records = [record for path in files for record in read(path)]  # a large import would be a family a page
    entities = _entities(project / "docs", pages, len({family_slug(record.cell.model) for record in records}))
    copy(project, folder)
    write(grown(records, entities), folder / "bench" / "results")
    return folder


def copy(project: Path, folder: Path) -> Path:
    """Replace `folder` with a copy of the project without records, and return it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in PARTS:
        source = project / name
        if source.is_dir():
            shutil.copytree(
                source, folder / name, ignore=shutil.ignore_patterns(f"*{SUFFIX}", f"*{COMPRESSED}", BUILD_TIMES.name)
            )
        else:
            shutil.copy(source, folder)
    for name in ("bench", "generator"):  # compiling them is no part of a build
        compileall.compile_dir(folder / name, quiet=2)
    return folder


def _entities(docs: Path, pages: int, families: int) -> int:
    """Return how many devices and models it takes. Families of many models have pages as well."""
    authored = [path for path in docs.rglob("*.md") if path.relative_to(docs).parts[0] not in NO_PAGES]
    fixed = sum(path.name != EACH_PAGE for path in authored)
    languages = len(published_languages())
    entities = pages // languages - fixed
    if entities - _devices(entities) > FEW:
        entities -= families
    if pages % languages or entities < 2:
        raise AtlasError(
            f"the atlas cannot have {pages} pages",
            where="--pages",
            remedy=f"give a multiple of {languages} from {(fixed + 2) * languages} on",
        )
    return entities


def grown(records: Sequence[Record], entities: int) -> Iterator[Record]:
    """Yield records of `entities` devices and models together: the given ones first, then copies with other names."""
    by_pair: defaultdict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in sorted(records, key=lambda record: record.origin != "published"):  # authored pages quote these
        by_pair[record.cell.model, device_label(record.cell.device, record.environment.device_name)].append(record)
    models, devices = (_by_partners(by_pair, position) for position in (0, 1))
    number = _devices(entities)
    others = entities - number
    for model in range(others):
        first = model * number // others // DEVICES_OF_A_MODEL * DEVICES_OF_A_MODEL
        for device in range(first, min(first + DEVICES_OF_A_MODEL, number)):
            for record in by_pair[models[model % len(models)], devices[device % len(devices)]]:
                yield _copied(record, model // len(models), device // len(devices))


def _devices(entities: int) -> int:
    return max(1, entities // PAGES_OF_A_DEVICE)


def _by_partners(pairs: Iterable[tuple[str, str]], position: int) -> list[str]:
    """Return models or devices, those with the most partners first, so that even a few of each share records."""
    return [name for name, _ in Counter(pair[position] for pair in pairs).most_common()]


def _copied(record: Record, model: int, device: int) -> Record:
    """Return the record with other names and slower by up to 10%. Copy 0 of both is the record itself."""
    if not model and not device:
        return record
    cell = msgspec.structs.replace(record.cell, model=_numbered(record.cell.model, model))
    environment = msgspec.structs.replace(
        record.environment, device_name=_numbered(record.environment.device_name, device)
    )
    measurement = record.measurement
    if measurement:
        factor = 1 + (7 * model + 3 * device) % 97 / 1000
        variants = {
            name: _slower(variant, factor) for name in ("eager", "compiled") if (variant := getattr(measurement, name))
        }
        measurement = msgspec.structs.replace(measurement, **variants)
    return msgspec.structs.replace(record, cell=cell, environment=environment, measurement=measurement)


def _numbered(name: str, number: int) -> str:
    return f"{name} #{number + 1}" if number else name  # which no label leaves out


def _slower(variant: Variant, factor: float) -> Variant:
    rounds = tuple(tuple(round(call * factor, 6) for call in calls) for calls in variant.rounds_ms)
    mean = variant.published_mean_ms and round(variant.published_mean_ms * factor, 3)
    return msgspec.structs.replace(variant, rounds_ms=rounds, published_mean_ms=mean)


def write(records: Iterable[Record], results: Path) -> None:
    """Write one file per run."""
    runs: defaultdict[tuple[str, str], list[bytes]] = defaultdict(list)
    for record in records:
        runs[record.origin, record.run].append(encode(record))
    for (origin, run), lines in runs.items():
        path = results / origin / f"{run}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(lines))


def count(staged: Path) -> int:
    """Return the number of pages in a folder of finished Markdown, in all languages."""
    return sum(1 for code in published_languages() for _ in (staged / code).rglob("*.md"))
