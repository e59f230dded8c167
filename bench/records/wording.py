"""The words that records may hold: reasons, settings and flags, declared once, with the type of all that varies.

What measures makes its reasons with a `Template`; `is_reason` recognises them in finished records. What another program
said is the only free text, and `bench.records.scrub.message` cleans it. `setting` does so for environment variables.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from string import Formatter

from bench.records.record import DOCTOR, TOY, UNEQUAL_BATCHES
from bench.records.scrub import LONGEST, message

_ODD = re.compile(r"[^ -~\xa1-\u024f\u2010-\u2027\u2192]")
"""Characters that messages do without: of scripts that programs do not write in."""

_TYPES: dict[str, tuple[str, Callable[[object], str]]] = {
    "count": (r"\d{1,9}", lambda value: f"{value:.0f}"),
    "number": (r"(?:-?\d+(?:\.\d+)?(?:e[+-]\d+)?|nan|inf)", lambda value: f"{value:.2g}"),
    "percent": (r"\d{1,9}%", lambda value: f"{value:.0%}"),
    "words": (f"(?:(?!{_ODD.pattern}).){{0,{LONGEST}}}", lambda value: _ODD.sub("?", message(value))),
}
"""Types of what varies: a pattern, and how a value is written. Another type is the pattern of a text."""


@dataclass(frozen=True)
class Template:
    """A sentence with gaps, each with its type: ``after {rounds:count} rounds``."""

    text: str

    def __call__(self, **values: object) -> str:
        """Return the sentence with these values."""
        return "".join(
            literal + (_TYPES.get(kind or "", ("", str))[1](values[name]) if name else "")
            for literal, name, kind, _ in Formatter().parse(self.text)
        )

    @cached_property
    def pattern(self) -> str:
        """A regular expression of all that the template makes."""
        return "".join(
            re.escape(literal) + (_TYPES.get(kind or "", (f"(?:{kind})",))[0] if name else "")
            for literal, name, kind, _ in Formatter().parse(self.text)
        )


# ── Reasons ─────────────────────────────────────────────────────────────────────────────────────────────────────────

THROTTLE_REASONS = (
    *(
        "hardware slowdown",
        "software thermal slowdown",
        "hardware thermal slowdown",
        "hardware power brake",
        "power cap",
    ),
    *("application clocks", "synchronised boost", "display clocks", "other programs"),
)
"""What slows a device down, limits it, or disturbs a round."""

_DISTURBANCE = f"(?:{'|'.join(THROTTLE_REASONS)})"

BUSY = Template("another process was computing on the device")
EXCEPTION = Template(
    r"{type:\w*(?:Error|Exception|Exit|Expired|Failed|Failure|Found|Interrupt|Iteration|Resources|Unsupported|Warning)}"
    ": {what:words}"
)
NEEDS_COMPILER = Template(
    "there is no C++ compiler, and torch.compile needs one: {remedy:words}; the same command then goes on"
)
SKIPPED_FRAMES = Template(
    r"the backend skipped {share:\d+ of [\d,]+ frames?}, which stay eager: the device may lack the data type"
)
STAYS_EAGER = Template(
    "nothing was compiled, and the model stays eager: "
    "{why:TORCH_COMPILE_DISABLE or TORCHDYNAMO_DISABLE is set|Dynamo captured no graph}"
)

NOT_COMPARED = Template("compiled could not be compared with eager: {why:words}")
OTHER_SHAPES = Template("compiled gives other shapes, or numbers where eager gives none")
DEVIATES = Template(
    "compiled deviates from eager by {error:number} of the largest magnitude; "
    "rms from {dtype:float32|float64}: {compiled:number}, eager {eager:number}"
)
DEVIATES_ALONE = Template(
    "compiled deviates from eager by {error:number} of the largest magnitude; "
    "no reference in higher precision could be computed"
)
UNREPEATABLE = Template("two runs of eager on the same input differ")

SLOWED = Template("the device slowed itself down in {rounds:count} of the rounds")
DISTURBED = Template(
    f"{{by:{_DISTURBANCE}(?: and {_DISTURBANCE})*}} disturbed {{disturbed:count}} of {{rounds:count}} rounds"
)
IMPRECISE = Template(
    "{variant:eager|compiled} latency is known only to ±{half_width:percent} after {rounds:count} rounds"
)
OUT_BESIDE_EAGER = Template("compiled ran out of memory beside eager, and ran alone: {why:words}")
"""Of an `OOM` with latencies of both variants. They were not measured in turn, so nothing compares them."""

IMPLAUSIBLE = Template("implausible: {fault:words}")

NO_ANSWER = Template("no answer within {seconds:count} s")
UNREADABLE = Template("its answer cannot be read: {error:words}")
ENDED_BY = Template(r"the process was ended by {signal:SIG[A-Z0-9]+|signal \d+}")
EXITED = Template(r"the process ended with exit status {status:-?\d+|None}")
ENDED_BY_KERNEL = Template("the kernel ended the process for want of memory")

ONE_VARIANT = Template("the source has no {variant:eager|compiled} figures of this model")
PRINTS_OOM = Template("the source prints OOM in place of a latency")
SAYS = Template(
    "the source says {status:(?:1st|2nd|accuracy|differ|eager|error|fail|infra|load|model|OOM|run|runs|timeout|to|two"
    "|variation|_)+}"
)
SAYS_NOT = Template("the source marks the model as failed and doesn't say why")

LAST_WORDS = Template("; its last words: {words:words}")
"""May follow a reason: the last line that the process wrote."""

_REASONS = [value for value in globals().values() if isinstance(value, Template) and value is not LAST_WORDS]
_REASON = re.compile(f"(?:{'|'.join(each.pattern for each in _REASONS)})(?:{LAST_WORDS.pattern})?")


@lru_cache(maxsize=65_536)
def is_reason(text: str) -> bool:
    """Return whether a template makes this reason."""
    return bool(_REASON.fullmatch(text))


def told(text: str) -> str:
    """Return a reason as records hold it: the words of an exception if no template makes it."""
    reason = _ODD.sub("?", message(text))
    return reason if is_reason(reason) else EXCEPTION(type="Exception", what=reason)


def exception(error: BaseException, clean: Callable[[str], str] = str) -> str:
    """Return the reason of an exception: its type, and what it says. `clean` takes names out that only it knows."""
    what = clean(str(error))
    reason = EXCEPTION(type=type(error).__name__, what=what)
    return reason if is_reason(reason) else EXCEPTION(type="Exception", what=what)


# ── Settings ────────────────────────────────────────────────────────────────────────────────────────────────────────

_RECORDED = re.compile(
    "(?:MALLOC_|GLIBC_TUNABLES|LD_PRELOAD|OMP_|KMP_|MKL_|GOMP_|PYTORCH_|TORCH|TRITON_|MIOPEN_|CUDA_|CUBLAS|CUDNN_"
    "|NVIDIA_TF32_OVERRIDE)[A-Z0-9_]{0,60}"
)
"""Environment variables that affect latency."""

_LEFT_OUT = re.compile(
    ".*(_DIR|_DIRS|_HOME|_PATH|_ROOT|_FILE|_VISIBLE_DEVICES|_TRACE|TOKEN|SECRET|PASSWORD|_KEY)|TORCHELASTIC_.*|TORCH_LOGS_OUT"
)
"""Environment variables among them that name folders, devices or a job, or hold a secret: private, and no settings."""

_OTHER_SETTING = re.compile(
    "float32_matmul_precision|interop_threads|transparent_hugepage|cpu_capability|libc"
    "|cuda_matmul_allow_tf32|cudnn_allow_tf32|cudnn_benchmark|cudnn"
)
"""Settings that are no environment variables."""

_VALUE = re.compile(
    r"-?\d+(?:\.\d+)*[kmgtKMGT]?i?[bB]?|0x[0-9a-fA-F]{1,8}"
    r"|lib(?:jemalloc|tcmalloc|tcmalloc_minimal|mimalloc|iomp5|gomp|omp|hoard|stdc\+\+)\.so[.\d]*"
    r"|(?i:true|false|on|off|yes|no|none|auto|always|madvise|never|default|unknown|set"
    r"|highest|high|medium|ieee|tf32|bf16|(?:no )?avx|avx2|avx512\w*|amx|sse4_2|vsx|zvector|neon|sve\d*|glibc|musl"
    r"|fast|normal|hybrid|dynamic_hybrid|close|spread|master|primary|threads|cores|sockets|static|dynamic|guided"
    r"|active|passive|intel|gnu|tbb|sequential"
    r"|granularity|fine|core|thread|tile|compact|scatter|balanced|disabled|explicit|verbose|noverbose|respect|norespect"
    r"|expandable_segments|max_split_size_mb|garbage_collection_threshold|roundup_power2_divisions|backend|native"
    r"|cudamallocasync|background_thread|metadata_thp|dirty_decay_ms|muzzy_decay_ms|oversize_threshold|narenas|tcache"
    r"|glibc\.malloc\.\w+|inductor|dynamo|aot|graph_breaks|recompiles|perf_hints|[-+](?:dynamo|inductor|aot))"
)
"""A word of a setting: numbers, sizes, switches, libraries of memory, and what the documentation of each offers."""


def is_setting(name: str) -> bool:
    """Return whether records keep a setting or environment variable of this name."""
    return bool(_OTHER_SETTING.fullmatch(name) or (_RECORDED.fullmatch(name) and not _LEFT_OUT.fullmatch(name)))


def setting(value: str) -> str:
    """Return the value of a setting without folders; "set" if it has a word that says more than how it is set."""
    bare = ":".join(PurePosixPath(part).name for part in value.split(":"))
    is_known = all(_VALUE.fullmatch(word) for word in re.split(r"[\s:;,=|\[\]{}>]+", bare) if word)
    return bare if is_known and len(bare) <= 200 else "set"


# ── Other lists ─────────────────────────────────────────────────────────────────────────────────────────────────────

_FLAG = re.compile(
    f"{UNEQUAL_BATCHES}|{TOY}|(?:weights|dtype|compile-mode|input-size|autocast-type|batch-size|compile-cache)-not-stated"
    "|batch-size-worded-unbatched|arms-measured-apart|calls-not-kept|date-is-that-of-the-torch-release"
    "|device-as-the-file-is-named|eager-latency-is-speedup-times-compiled"
    f"|{DOCTOR}(?:battery|c-compiler|cache|clock|compiler|disk|driver|governor|gpu-(?:persistence|power|processes|slowdown)"
    "|headers|load|memory|quota|steal|swap|temperature|threads|triton|variables)"
)
"""What importers and `python -m bench doctor` may find."""


def is_flag(flag: str) -> bool:
    """Return whether an importer or the doctor flags a record so."""
    return bool(_FLAG.fullmatch(flag))


SENSORS = ("clock", "temperature", "slowdown", "processes")
"""What an accelerator is asked."""

DIAGNOSTICS = (
    *("resources of eager", "device time of eager", "resources of compiled", "device time of compiled"),
    *("graphs", "accuracy", "causes"),
)
"""What is found out after sampling, and may fail by itself."""
