"""Rows of run files, pooled once: what was worked out from a file is kept by its content, and read back in columns.

Run files enter, their rows leave, in the order of the files. Of many files, which hold far more rows than pages show,
the names of all rows are read first, and then the measurements of the files whose rows are shown. Below one folder of
the cache lie parts, each with the rows of some files, and an index, which knows the files by size and time and the
parts by the content of their files. A file that has changed is read again, alone; of many files, each core reads the
next batch as soon as it is free.

Safe to delete at any moment. Whatever is damaged, of another version or gone is made again without a word: each part
has checksums, and its key names the program that made it. Safe with several builds at once: a file appears whole or not
at all, and of two indexes the later one wins, which costs the other build's work and nothing else. NumPy's own format
serves because it needs no further dependency and notices every flipped bit.

    rm -rf .cache
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import struct
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import msgspec
import numpy as np
from numpy.typing import NDArray

from bench.errors import AtlasError
from bench.machine import cores
from bench.records import record, run_file
from bench.statistics import causes, statistics
from generator.cache import CACHE, put
from generator.data import columns, lines, pooling
from generator.data.columns import Indices, Ragged, Texts
from generator.data.pooling import Pooled, named, pool
from generator.parallel import mapped

WORTH_KEEPING = 2_000_000
"""Bytes of run files from which a cache pays: fewer are pooled sooner than their stamps are compared."""

WORTH_NAMING = 48_000_000
"""Bytes of run files from which names are read first: so many hold more rows than pages show."""

BATCH = 24_000_000
"""Bytes of run files that become one part: so much is in memory at once, with what it decodes to."""

FEW_ROWS, FEW_PARTS = 2_000, 16
"""Parts with fewer rows are joined when there are more of them: a file that grows all day leaves one each time."""

SETTLED_NS = 2_000_000_000
"""A file that changed less than this before it was looked at may change again within the same tick of its clock."""

UNUSED_S = 3600
"""How long a part that the index does not name stays: another build may be about to read it."""


Make = Callable[[Iterable[Path]], Pooled]
"""`pool` or `named`."""


@cache
def version() -> str:
    """What pooled rows depend on besides the run files."""
    modules = (record, run_file, statistics, causes, columns, lines, pooling)
    sources = [Path(str(module.__file__)).read_bytes() for module in modules] + [Path(__file__).read_bytes()]
    made_by = f"{sys.version_info[:2]} {np.__version__}".encode()
    return digest_of(b"\0".join([made_by, *(digest_of(each).encode() for each in sources)]))


class Stamp(msgspec.Struct, frozen=True, array_like=True):
    """A file as it was when its content was read."""

    size: int
    modified_ns: int
    digest: str


class _Index(msgspec.Struct, frozen=True):
    version: str = ""
    stamps: dict[str, Stamp] = {}
    parts: dict[str, list[str]] = {}  # name of a part → digests of the files whose rows it has, in their order


@dataclass(frozen=True, eq=False)
class Archive:
    """Run files with their content, for who keeps what was made from all of them."""

    paths: Sequence[Path]
    stamps: Sequence[Stamp]
    folder: Path | None  # of the cache; None where the files are too few

    @property
    def key(self) -> str:
        """The same for the same files with the same content, read by the same program."""
        names = (f"{path} {stamp.digest}" for path, stamp in zip(self.paths, self.stamps, strict=True))
        return digest_of("\n".join([version(), *names]).encode())

    def named(self) -> Pooled:
        """All rows; where there are many, without what follows from their measurements, most of which nobody shows.

        Raises `AtlasError` for the first line that is wrong, and for a file that has changed meanwhile.
        """
        if self.folder is None:
            return pool(self.paths)
        is_large = sum(each.size for each in self.stamps) > WORTH_NAMING
        return _rows(self, named if is_large else pool, self.stamps)

    def pooled(self, found: Pooled, rows: Indices) -> Pooled:
        """Some rows of those that were `found`, whole. Raises `AtlasError` as `named` does."""
        if found.rounds:
            return found.take(rows)
        file = found.figures["file"]
        files, place = np.unique(file[rows], return_inverse=True)
        whole = _rows(self, pool, [self.stamps[each] for each in files])
        moved = np.searchsorted(whole.figures["file"], np.arange(len(files))) - np.searchsorted(file, files)
        return whole.take(rows + moved[place])


def look_at(results: Path, root: Path = CACHE) -> Archive:
    """The run files below `results`. Only those that have changed are read."""
    paths = run_file.run_files(results)
    seen = [_seen(path) for path in paths]
    if sum(size for size, _ in seen) < WORTH_KEEPING:
        return Archive(paths, (), None)
    folder = root / "records" / digest_of(str(results.resolve()).encode())
    index = _read_index(folder)
    stamps = {path: index.stamps.get(str(path)) for path in paths}
    new = [
        (path, *at)
        for path, at in zip(paths, seen, strict=True)
        if not (known := stamps[path]) or (known.size, known.modified_ns) != at
    ]
    with ThreadPoolExecutor(cores()) as threads:
        stamps |= dict(zip((path for path, *_ in new), threads.map(lambda each: _stamp(*each), new), strict=True))
    return Archive(paths, [stamp for stamp in stamps.values() if stamp], folder)


def _seen(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:  # gone, or not readable: reading it says why
        return 0, 0
    return status.st_size, status.st_mtime_ns


def _stamp(path: Path, size: int, modified_ns: int) -> Stamp:
    settled = time.time_ns() - modified_ns > SETTLED_NS
    digest = ""  # of what cannot be read: reading it says why
    with contextlib.suppress(OSError), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:32]  # processors have instructions for this one
    return Stamp(size, modified_ns if settled else 0, digest)


def digest_of(content: bytes) -> str:
    """What tells contents apart: 32 hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()[:32]


# ── Parts ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(archive: Archive, make: Make, stamps: Sequence[Stamp]) -> Pooled:
    """What `make` finds in the files with these stamps, in their order."""
    folder, kind = archive.folder, f"{make.__name__}-"
    assert folder is not None
    files = dict(zip((stamp.digest for stamp in archive.stamps), archive.paths, strict=True))
    index = _read_index(folder)
    kept = {name: digests for name, digests in index.parts.items() if files.keys() & digests}
    others = {name: digests for name, digests in kept.items() if not name.startswith(kind)}
    wanted = {stamp.digest: stamp for stamp in stamps}
    parts = {name: digests for name, digests in kept.items() if name not in others and wanted.keys() & digests}
    rows = {name: part for name in parts if (part := read_part(folder / f"{name}.npz")) is not None}
    known = {digest for name in rows for digest in parts[name]}
    missing = {files[digest]: stamp for digest, stamp in wanted.items() if digest not in known}
    for batch, part in _made(missing, make, folder):
        name = _name(make, batch)
        parts[name], rows[name] = batch, part
    parts = {name: parts[name] for name in rows}
    found = _joined([stamp.digest for stamp in stamps], parts, rows)
    _write_index(folder, index, archive, {**others, **_compacted(make, wanted, parts, rows, folder)})
    return found


def _name(make: Make, digests: Sequence[str]) -> str:
    return f"{make.__name__}-" + digest_of("\n".join([version(), *digests]).encode())


def _joined(digests: Sequence[str], parts: Mapping[str, Sequence[str]], rows: Mapping[str, Pooled]) -> Pooled:
    """The rows of these contents in their order, wherever they come from; one that is named twice is there twice."""
    names = list(parts)
    place = {digest: (at, file) for at, name in enumerate(names) for file, digest in enumerate(parts[name])}
    whole = concatenated([rows[name] for name in names])
    part = np.repeat(np.arange(len(names)), [len(rows[name]) for name in names])
    first = np.cumsum([0, *(len(parts[name]) for name in names)])
    of_row = first[part] + whole.figures["file"]
    starts, counts = _groups(of_row, int(first[-1]))
    order = np.argsort(of_row, kind="stable")
    files = [first[at] + file for at, file in (place[digest] for digest in digests)]
    positions = [order[starts[file] : starts[file] + counts[file]] for file in files]
    taken = np.concatenate(positions) if positions else np.empty(0, np.int64)
    if not np.array_equal(taken, np.arange(len(whole))):  # most often they are in order, and copying is dear
        whole = whole.take(taken)
    file = np.repeat(np.arange(len(files)), [len(each) for each in positions])
    return Pooled({**whole.figures, "file": file}, whole.texts, whole.rounds)


def _groups(numbers: Any, count: int) -> tuple[Any, Any]:
    counts = np.bincount(numbers, minlength=count)
    return np.cumsum(counts) - counts, counts


def concatenated(parts: Sequence[Pooled]) -> Pooled:
    """The rows of all parts, one after the other."""
    parts = [part for part in parts if len(part)] or parts[:1]  # one without rows has hardly any columns
    if len(parts) == 1:
        return parts[0]
    figures: defaultdict[str, list[NDArray[Any]]] = defaultdict(list)
    texts: defaultdict[str, list[Texts]] = defaultdict(list)
    names = [dict.fromkeys(chain.from_iterable(getattr(part, kind) for part in parts)) for kind in ("figures", "texts")]
    for part in parts:  # where all runs failed, it has no columns of measurements
        unknown, silent = np.full(len(part), np.nan), Texts.picked(np.zeros(len(part), np.int64), [""])
        for name in names[0]:
            figures[name].append(part.figures.get(name, unknown))
        for name in names[1]:
            texts[name].append(part.texts.get(name, silent))
    return Pooled(
        {name: np.concatenate(found) for name, found in figures.items()},
        {name: Texts.joined(found) for name, found in texts.items()},
        {variant: Ragged.joined([part.rounds[variant] for part in parts]) for variant in parts[0].rounds},
    )


def _compacted(
    make: Make,
    wanted: Collection[str],
    parts: Mapping[str, Sequence[str]],
    rows: Mapping[str, Pooled],
    folder: Path,
) -> Mapping[str, Sequence[str]]:
    """The parts, small ones joined where there are many, without what files held before."""
    small = {name: parts[name] for name, part in rows.items() if len(part) < FEW_ROWS}
    if len(small) <= FEW_PARTS:
        return parts
    digests = list(dict.fromkeys(digest for name in small for digest in small[name] if digest in wanted))
    name = _name(make, digests)
    write_part(folder / f"{name}.npz", _joined(digests, small, {each: rows[each] for each in small}))
    return {**{each: parts[each] for each in parts if each not in small}, name: digests}


# ── Reading what is new ─────────────────────────────────────────────────────────────────────────────────────────────


def _made(missing: Mapping[Path, Stamp], make: Make, folder: Path) -> Iterator[tuple[list[str], Pooled]]:
    """Digests and rows of each batch of new files."""
    batches = list(_batches(missing))
    for batch, part in zip(batches, mapped(partial(_kept, make, folder), batches), strict=True):
        digests = [stamp.digest for stamp in batch.values()]
        found = read_part(folder / f"{_name(make, digests)}.npz") if part is None else part
        yield digests, make(batch) if found is None else found  # somebody may have cleared the cache meanwhile


def _batches(missing: Mapping[Path, Stamp]) -> Iterator[dict[Path, Stamp]]:
    batch: dict[Path, Stamp] = {}
    size = 0
    for path, stamp in missing.items():
        batch[path] = stamp
        size += stamp.size
        if size >= BATCH:
            yield batch
            batch, size = {}, 0
    if batch:
        yield batch


def _kept(make: Make, folder: Path, batch: Mapping[Path, Stamp]) -> Pooled | None:
    """The rows of a batch; None where they are in the cache, maybe since before a mistake in another one was found.

    Raises `AtlasError` for a file that is no longer as its stamp says: what it held would be kept under another name.
    """
    path = folder / f"{_name(make, [stamp.digest for stamp in batch.values()])}.npz"
    if read_part(path) is not None:
        return None
    part = make(batch)
    for file, stamp in batch.items():
        if _seen(file) != (stamp.size, stamp.modified_ns) and _stamp(file, *_seen(file)).digest != stamp.digest:
            raise AtlasError("has changed while it was read", where=str(file), remedy="read it again")
    write_part(path, part)
    return None if path.exists() else part


# ── Files of the cache ──────────────────────────────────────────────────────────────────────────────────────────────


_DAMAGED = (OSError, EOFError, ValueError, KeyError, TypeError, RuntimeError, struct.error, zlib.error, BadZipFile)
"""What reading a file that was cut off or overwritten may raise."""


def write_part(path: Path, part: Pooled) -> None:
    """Keep some rows. What has no values takes no room."""
    kinds: defaultdict[str, dict[str, Any]] = defaultdict(dict)  # columns of one data type are one array: far fewer
    for name, figures in part.figures.items():
        if figures.dtype.kind != "f" or not np.isnan(figures).all():
            kinds[figures.dtype.str][name] = figures
    for name, texts in part.texts.items():
        kinds[texts.codes.dtype.str][name] = texts.codes
    arrays: dict[str, Any] = {kind: np.stack(list(columns.values())) for kind, columns in kinds.items()}
    for variant, rounds in part.rounds.items():
        arrays |= {f"{variant} flat": rounds.flat, f"{variant} lengths": rounds.lengths}
    told = {
        "kinds": {kind: list(columns) for kind, columns in kinds.items()},
        "figures": list(part.figures),
        "texts": {name: texts.known for name, texts in part.texts.items()},
        "rounds": list(part.rounds),
        "rows": len(part),
        "facts": part.facts,
    }
    arrays["told"] = np.frombuffer(json.dumps(told).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    put(path, content.getbuffer())


def read_part(path: Path) -> Pooled | None:
    """The rows that were kept; None where they are gone or damaged."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            told = json.loads(arrays["told"].tobytes())
            found: dict[str, NDArray[Any]] = {}
            for kind, names in told["kinds"].items():
                found.update(zip(names, arrays[kind], strict=True))
            rounds = {
                variant: Ragged(arrays[f"{variant} flat"], arrays[f"{variant} lengths"]) for variant in told["rounds"]
            }
        unknown = np.full(told["rows"], np.nan)
        figures = {name: found.get(name, unknown) for name in told["figures"]}
        texts = {name: Texts(found[name], known) for name, known in told["texts"].items()}
        return Pooled(figures, texts, rounds, told["facts"])
    except _DAMAGED:
        return None


def _read_index(folder: Path) -> _Index:
    try:
        index = msgspec.json.decode((folder / "index.json").read_bytes(), type=_Index)
    except (OSError, msgspec.MsgspecError):
        return _Index()
    return index if index.version == version() else _Index()


def _write_index(folder: Path, before: _Index, archive: Archive, parts: Mapping[str, Sequence[str]]) -> None:
    stamps = {str(path): stamp for path, stamp in zip(archive.paths, archive.stamps, strict=True)}
    index = _Index(version(), stamps, {name: list(digests) for name, digests in parts.items()})
    if index != before:
        put(folder / "index.json", msgspec.json.encode(index))
        _forget(folder, {f"{name}.npz" for name in parts})


def _forget(folder: Path, named: set[str]) -> None:
    """Remove what no index has named for a while."""
    for path in folder.glob("*.npz"):
        with contextlib.suppress(OSError):
            if path.name not in named and time.time() - path.stat().st_mtime > UNUSED_S:
                path.unlink()
