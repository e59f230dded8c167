"""Fuzz everything that reads untrusted files (`tests/readers.py`), guided by coverage, each from its own seeds.

Without names, it first reports the share of false records that pass unmarked (`tests/attacks`). Takes names of readers
(default: all) and the seconds for each; prints a line for each with the number of inputs. An
input that causes a defect is kept in ``tests/findings/``, where `tests/project/test_hostile.py` reads it from then on:
commit it with the fix. Inputs that reach new code are kept in ``.cache/fuzz`` for the next time. Needs Atheris on Linux
or macOS: ``pip install atheris``.

    python tests/fuzz.py --seconds 60 records pages
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "tests" / "findings"
CORPUS = ROOT / ".cache" / "fuzz"

LIMITS = ("-max_len=20000", "-timeout=20", "-rss_limit_mb=3000")
"""The largest input in bytes, and the seconds and megabytes beyond which an input is a finding."""


def main() -> int:
    """Fuzz one reader after the other, each in its own process, which ends at its first finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="READER")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    if not options.names:
        print_lies(options.seconds)
    return max([fuzzed(name, options.seconds) for name in options.names or every_name()])


def print_lies(count: int) -> None:
    """Print how many records that are plausible and false pass `bench check` and are shown without a mark."""
    from attack import share_unmarked

    with tempfile.TemporaryDirectory() as folder:
        for kind, (unmarked, tried) in share_unmarked(Path(folder), count).items():
            print(f"false records, {kind}: {unmarked} of {tried} pass unmarked", flush=True)


def every_name() -> list[str]:
    """Return the names of all readers."""
    from readers import readers  # the fuzzing process imports them instrumented

    return list(readers())


def fuzzed(name: str, seconds: int) -> int:
    """Fuzz in another process and print the result. Returns 1 for a finding."""
    FINDINGS.mkdir(exist_ok=True)
    (CORPUS / name).mkdir(parents=True, exist_ok=True)
    arguments = (str(CORPUS / name), *LIMITS, f"-max_total_time={seconds}", f"-artifact_prefix={FINDINGS / name}-")
    done = subprocess.run(
        [sys.executable, __file__, INSIDE, name, "-print_final_stats=1", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    inputs = re.search(r"number_of_executed_units: (\d+)", done.stdout)
    result = f"a finding:\n{done.stdout[-3000:]}" if done.returncode else "no finding"
    print(f"{name}: {int(inputs[1]) if inputs else 0:,} inputs, {result}", flush=True)
    return int(done.returncode != 0)


INSIDE = "--inside"
"""The argument that marks the fuzzing process."""


def fuzz(name: str, arguments: list[str]) -> None:
    """Fuzz one reader; never returns. Instruments this project and the parsers of Markdown and catalogs."""
    import atheris  # type: ignore[import-untyped, import-not-found, unused-ignore]

    os.environ["MPLBACKEND"] = "agg"
    for module in ("matplotlib.pyplot", "numpy", "babel.dates", "mkdocs.config"):  # large, and not to be instrumented
        __import__(module)
    with atheris.instrument_imports(include=["bench", "generator", "markdown_it", "polib"]):
        from readers import readers
    reader = readers()[name]
    for number, seed in enumerate(reader.seeds):
        (CORPUS / name / f"seed-{number}").write_bytes(seed)
    atheris.Setup([sys.argv[0], *arguments], reader.read)
    atheris.Fuzz()


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "bench" / "exchange"), str(ROOT / "tests" / "attacks")]
    if sys.argv[1:2] == [INSIDE]:
        fuzz(sys.argv[2], sys.argv[3:])
    sys.exit(main())
