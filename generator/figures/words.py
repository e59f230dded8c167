"""The words around the figures in one language: headings, statuses, names and captions.

Takes rows as plain values and returns text: HTML for tables and captions, plain text for charts and their text
alternatives. Every sentence is one message with placeholders, so that translators can reorder it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from bench.records.record import Status
from bench.statistics.digits import decimals
from generator.data.registry import N_, HeadingText, column, series
from generator.data.selection import Row, Rows
from generator.figures.sources import source_key, source_of
from generator.languages import typography
from generator.languages.language import UNKNOWN, Language, Untranslated

PRIMARY = ("device", "model", "torch", "compile_mode", "batch_size", "origin")
"""Coordinates that a reader chooses by: in the caption where a table has one value, else a column."""

DOUBT = "†"
"""Marks a row that the data lint doubts; a note says why."""

SECONDARY = ("dtype", "weights", "dynamic", "input_size", "layout", "threads")
"""Coordinates that seldom differ between rows that are otherwise alike, and become a column only then."""

NAMES: Mapping[str, Mapping[str, str]] = {
    "task": {
        "image-classification": N_("image classification"),
        "object-detection": N_("object detection"),
        "image-segmentation": N_("image segmentation"),
        "depth-estimation": N_("depth estimation"),
        "image-feature-extraction": N_("image features"),
    },
    "workload": {"latency": N_("latency"), "throughput": N_("throughput")},
    "origin": {"measured": N_("measured"), "published": N_("published")},
    "weights": {"random": N_("random weights"), "pretrained": N_("pretrained weights")},
    "dynamic": {"auto": N_("automatic"), "true": N_("on"), "false": N_("off")},
    "verdict": {
        "faster": N_("faster"),
        "slower": N_("slower"),
        "same": N_("the same"),
        "inconclusive": N_("inconclusive"),
        "doubtful": N_("doubtful"),
        "unknown": N_("unknown"),
    },
    "kind": {"cuda": "GPU", "xpu": "GPU (XPU)", "mps": "GPU (MPS)", "cpu": "CPU"},
    "start": {
        "eager": N_("eager"),
        "cold": N_("compiled, empty cache"),
        "warm": N_("compiled, warm cache"),
        "artifacts": N_("compiled, saved artifacts"),
        "regions-cold": N_("regional, empty cache"),
        "regions-warm": N_("regional, warm cache"),
        "loaded": "AOTInductor",
    },
    "way": {
        "default": "torch.compile",
        "max-autotune": "torch.compile + max-autotune",
        "default:freezing": N_("torch.compile + freezing"),
        "default:channels_last": "torch.compile + channels_last",
        "aoti": "AOTInductor",
        "eager:channels_last": N_("eager, channels_last"),
        "onnxruntime": "ONNX Runtime",
        "openvino": "OpenVINO",
        "default:autocast": "torch.compile + autocast",
        "default:bfloat16": "torch.compile + bfloat16",
        "default:int8-weights": N_("torch.compile + int8 weights"),
        "default:int8": "torch.compile + int8",
        "openvino:bfloat16": "OpenVINO + bfloat16",
    },
    "strategy": {
        "false": "dynamic=False",
        "auto": "dynamic=None",
        "marked": "maybe_mark_dynamic",
        "true": "dynamic=True",
        "padded": N_("padding to the largest"),
    },
    "variant": {"eager": N_("eager"), "compiled": N_("compiled")},
    "fault": {
        "repeated": N_("Repeated row"),
        "unequal_batches": N_("Unequal batches"),
        "toy": N_("Toy model"),
        "device_order": N_("Slower device ahead"),
        "batch_order": N_("Larger batch ahead"),
        "version_jump": N_("Jump between versions"),
        "implausible": N_("Implausible speedup"),
        "impossible": N_("Implausible for the device"),
        "unstable": N_("Unsteady measurement"),
        "disturbed": N_("Contradictory speedups"),
        "no_interval": N_("No interval"),
        "no_reason": N_("Missing reason"),
        "flag": N_("Not stated"),
        "complaint": N_("Disturbed measurement"),
    },
    "flag": {
        "dtype-not-stated": N_("the data type is not stated; the code of the source loads the weights as float32"),
        "batch-size-worded-unbatched": N_("the source calls it “unbatched”, which counts as batch size 1"),
        "compile-mode-not-stated": N_("the compile mode is not stated"),
        "autocast-type-not-stated": N_("the data type that autocast used is not stated"),
        "weights-not-stated": N_("whether the weights were trained is not stated"),
        "random-head": N_("the checkpoint has no head for this task, so that part has random weights"),
        "arms-measured-apart": N_("eager and compiled were measured one after the other"),
        "device-as-the-file-is-named": N_("the name of the device comes from the name of the file"),
    },
    "check": {
        "load": N_("other programs were using the CPU"),
        "quota": N_("the container was allowed fewer cores than it could see"),
        "steal": N_("other virtual machines took CPU time"),
        "governor": N_("the CPU frequency governor was not set to performance"),
        "compiler": N_("a tool that torch.compile needs was missing"),
        "gpu-processes": N_("other processes were using the GPU"),
        "gpu-slowdown": N_("the GPU was slowed down"),
        "gpu-power": N_("the power limit of the GPU was lowered"),
    },
}
"""The words for values of columns, for findings of the data lint, flags of importers and checks of the doctor."""


STATUSES: Mapping[Status, tuple[str, str]] = {
    Status.PASS: ("", ""),
    Status.OOM: ("OOM", N_("Out of memory: the compiled model needed more than the device has.")),
    Status.EAGER_OOM: ("OOM", N_("Out of memory: the model needed more than the device has, even in eager mode.")),
    Status.CRASH: (N_("crash"), N_("The process died.")),
    Status.TIMEOUT: (N_("timeout"), N_("The benchmark case exceeded its time limit and was stopped.")),
    Status.FAIL_TO_RUN: (N_("failed"), N_("The model raised an error.")),
    Status.FAIL_ACCURACY: (
        N_("wrong result"),
        N_("The compiled model computed a different result from the eager model."),
    ),
    Status.EAGER_TWO_RUNS_DIFFER: (
        N_("not repeatable"),
        N_("Two eager runs gave different outputs, so the compiled output could not be checked."),
    ),
    Status.THROTTLED: (N_("throttled"), N_("The device lowered its clock frequency during the measurement.")),
    Status.UNSTABLE: (N_("unstable"), N_("Latency kept changing, so these figures are less certain than others.")),
    Status.SKIPPED: (N_("skipped"), N_("Eager or compiled was not measured, so there is nothing to compare.")),
}
"""The words for each status: for a cell of a table, and as a sentence."""

_RIGHT_TO_LEFT = re.compile(f"[{typography.RIGHT_TO_LEFT}]")


def is_same(values: Iterable[Any]) -> bool:
    """Return whether there is one value, or the same several times."""
    return len(set(values)) == 1


def differing(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the coordinates that tell rows apart, from the values of each coordinate.

    A secondary one is among them only where it differs between rows with the same primary ones.
    """
    primary = [columns[name] for name in PRIMARY]
    groups = len(set(zip(*primary, strict=True)))
    apart = [name for name in (*PRIMARY, *SECONDARY) if not is_same(columns[name])]
    return [each for each in apart if each in PRIMARY or len(set(zip(*primary, columns[each], strict=True))) > groups]


class Words:
    """The words of a language, as HTML or as plain text."""

    def __init__(self, language: Language, *, html: bool) -> None:
        self.language = language
        self.html = html

    # ── Text ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def value(self, text: str) -> str:
        """Return a name, number or version that keeps its own order inside right-to-left text."""
        if isinstance(text, Markup):
            return text
        is_isolated = text.startswith(typography.LEFT_TO_RIGHT_MARK)  # as plain text, which isn't markup yet
        text = escape(text) if self.html else text
        if is_isolated or self.language.direction != "rtl" or _RIGHT_TO_LEFT.search(text):
            return text
        return self._safe(self.language.isolate(text) if self.html else self.language.embed(text))

    def say(self, message: str, **values: str) -> str:
        """Fill the placeholders of a translated message. Values are isolated, and escaped in HTML."""
        text = self.phrase(message) % {name: self.value(value) for name, value in values.items()}
        is_cjk = self.language.locale.language in typography.CJK_LANGUAGES
        return self._safe(typography.space_cjk(text)) if is_cjk else text

    def phrase(self, message: str) -> str:
        """Return a translated message without placeholders, with its Latin words isolated in HTML."""
        if not self.html:
            return str(message)
        if isinstance(message, Untranslated):
            return message.__html__()
        return self._safe(typography.isolate_latin(message) if self.language.direction == "rtl" else message)

    def sentences(self, parts: Iterable[str]) -> str:
        """Join whole sentences. No space follows a full-width stop, as in Chinese."""
        spaced = [part if part.endswith(("。", "！", "？")) else f"{part} " for part in parts if part]
        return self._join("", spaced).strip()

    def facts(self, parts: Iterable[str]) -> str:
        """Join short facts."""
        if self.html:  # no line begins with a dot; a full-width parenthesis has its space within
            whole = (typography.together(str(part)) for part in parts)
            return self._safe(self._join("\u00a0· ", whole).replace("）\u00a0·", "）\u2060·"))
        # Two Latin facts beside each other would else run from the left, as one.
        mark = "" if self.language.direction != "rtl" else typography.RIGHT_TO_LEFT_MARK
        return self._join(f" {mark}· ", parts).replace("） ·", "）·")

    def counted(self, message: str, n: float) -> str:
        """Fill `count` in a message whose form `ngettext` has chosen."""
        return self.say(message, count=self.language.number(n))

    def noted(self, text: str, note: str) -> str:
        """Return text with a note in parentheses."""
        return self.say(self.language.gettext("%(text)s (%(note)s)"), text=text, note=note)

    def percent(self, x: float | None, digits: int = 1) -> str:
        """Format a signed change."""
        return self.language.percent(x, digits, signed=True)

    def rate(self, images_s: float | None) -> str:
        """Format images per second: three digits at least, and all before the point, as the source printed them."""
        return UNKNOWN if images_s is None else self.language.number(images_s, max(0, decimals(images_s)))

    def lines(self, parts: Iterable[str]) -> str:
        """Join lines of HTML."""
        return self._join("<br>", parts)

    def names(self, names: Sequence[str]) -> str:
        """Join names as the language does."""
        return self._safe(self.language.names([str(self.value(name)) for name in names]))

    def _join(self, space: str, parts: Iterable[str]) -> str:
        return self._safe(space.join(str(part) for part in parts if part))

    def _safe(self, text: str) -> str:
        """Return text whose values are escaped, and whose messages may hold markup."""
        return Markup(text) if self.html else text  # noqa: S704

    # ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def named(self, kind: str, name: str) -> str:
        """Return the word for a value of `NAMES`; one that a record brings from elsewhere stays as it is."""
        return self.title(NAMES[kind][name]) if name in NAMES[kind] else self.value(name)

    def device(self, row: Row) -> str:
        """Return the name of a device, with the number of cores of a CPU."""
        cores = row["cores"]
        if row["device_type"] != "cpu" or cores is None:
            return self._whole(row["device_name"])
        message = self.language.ngettext("%(name)s, %(count)s core", "%(name)s, %(count)s cores", cores)
        text = self.say(message, name=row["device_name"], count=self.language.number(cores))
        return self._safe(typography.counted(text))

    def _whole(self, name: str) -> str:
        """Return the name of a device, which does not break at a hyphen: "Max-Q" is one word."""
        return self.value(name.replace("-", "-\u2060") if self.html else name)

    def machine(self, row: Row, own_devices: Collection[str] = ()) -> str:
        """Say whose machine a device is, where it is not a product that readers choose among; else ""."""
        if row["device"] in own_devices:
            return self.language.gettext("your machine")
        is_ours = row["device_type"] == "cpu" and row["origin"] == "measured"
        return self.language.gettext("this project's test machine") if is_ours else ""

    def heading(self, name: str) -> str:  # noqa: PLR0911  # one return a kind of series
        """Return the heading of a column."""
        gettext = self.language.gettext
        kind, subject = series(name)
        match kind:
            case "version":
                return self.say(gettext("%(version)s (ms)"), version=f"PyTorch {subject}")
            case "size":
                return self.fact("batch_size", {"batch_size": int(subject)})
            case "images/s with":
                return self.say(gettext("%(version)s (images/s)"), version=f"PyTorch {subject}")
            case "speedup of" if subject in NAMES["variant"]:
                return self.named("variant", subject)
            case "speedup of":
                return self.value(subject)
            case "in_way":
                return self.named("way", subject)
            case "factor":
                variant, device = subject.split(" ", 1)
                names = {"layout": gettext("Eager, channels_last"), "compiled": gettext("Compiled")}
                return self.lines([names[variant], self._whole(device)])
            case "throughput":
                device, *facts = subject.splitlines()
                html = Markup("{}<br><small>{}</small>") if self.html else "{} · {}"
                return html.format(self._whole(device), self.facts(map(self.value, facts)))
        return self.title(column(name).heading)

    def title(self, heading: str) -> str:
        """Return a heading of the registry of columns, translated unless it is a name."""
        if not isinstance(heading, HeadingText):
            return self.value(heading)
        language, context = self.language, heading.context
        return self.phrase(language.pgettext(context, heading) if context else language.gettext(heading))

    def bounds(self, low: float, high: float) -> str:
        """Name the figures from one up to another: "200 to 400"."""
        gettext, number = self.language.gettext, self.language.number
        if low <= 0:
            return self.say(gettext("below %(high)s"), high=number(high))
        if math.isinf(high):
            return self.say(gettext("%(low)s or more"), low=number(low))
        return self.say(gettext("%(low)s to %(high)s"), low=number(low), high=number(high))

    def coordinate(self, column: str, row: Row) -> str:
        """Return the value of a coordinate for a cell of a table."""
        value = row[column]
        match column:
            case "device":
                return self.device(row)
            case "model":
                return self.value(row["model_label"])
            case "batch_size" | "threads":
                return "" if value is None else self.value(self.language.number(value))
            case _ if column in NAMES and value:
                return self.named(column, value)
            case _:
                return self.value(str(value)) if value else UNKNOWN

    def fact(self, column: str, row: Row) -> str:  # noqa: PLR0911  # one return a kind of value
        """Return the value of a coordinate that stands alone, such as in a caption: "batch size 4"."""
        gettext = self.language.gettext
        match column:
            case "batch_size":
                return self.say(gettext("batch size %(size)s"), size=self.language.number(row["batch_size"]))
            case "compile_mode":
                return self.say(gettext("mode %(mode)s"), mode=row["compile_mode"])
            case "torch":
                return self.value(f"PyTorch {row['torch']}")
            case "threads":
                threads = row["threads"] or 0
                return self.counted(self.language.ngettext("%(count)s thread", "%(count)s threads", threads), threads)
            case "dynamic":
                choice = self.coordinate("dynamic", row)
                return self.say(gettext("dynamic shapes: %(choice)s"), choice=choice)
            case "input_size":
                return self.say(gettext("input of %(size)s pixels"), size=row["input_size"])
            case _:
                return self.coordinate(column, row)

    def status(self, status: str) -> str:
        """Return a status for a table: short. OOM is a term of its own. "" for a pass."""
        text, _ = STATUSES[Status(status)]
        return self.language.gettext(text) if isinstance(text, HeadingText) else text and self.value(text)

    def status_in_words(self, status: str) -> str:
        """Return a status where there is room, such as in a chart."""
        is_oom = status in {Status.OOM, Status.EAGER_OOM}
        return self.language.gettext("out of memory") if is_oom else self.status(status)

    def status_explained(self, status: str) -> str:
        """Explain a status in a sentence; "" for a pass."""
        _, text = STATUSES[Status(status)]
        return self.language.gettext(text) if text else ""

    # ── Captions ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def selection(self, rows: Rows, skip: Sequence[str] = (), *, brief: bool = False) -> str:
        """Return the facts that all `rows` share, the number of processes and the date, for a caption.

        A `brief` caption follows another one of its section, which has said all but the model and the batch size.
        """
        common = [column for column in PRIMARY if is_same(row[column] for row in rows) and column not in skip]
        if brief:
            return self.facts(self.fact(column, rows[0]) for column in common if column in {"model", "batch_size"})
        facts = [self.fact(column, rows[0]) for column in common if column != "origin"]
        if is_same(row["dtype"] for row in rows) and not any("dtype-not-stated" in row["flags"] for row in rows):
            facts.append(self.value(rows[0]["dtype"]))
        if "origin" in common:
            facts += [self.when(rows), *self.processes(rows)]
        return self.facts(facts)

    def when(self, rows: Rows) -> str:
        """Return when the rows, all of one origin, were measured, or the sources that published them."""
        gettext = self.language.gettext
        if rows[0]["origin"] == "published":
            of_source, newest = {}, dict[str, str]()
            for row in rows:
                key = source_key(row)
                of_source[key, row["source_title"]] = row
                newest[key] = max(newest.get(key, ""), row["source_date"])
            return self.facts(
                self.noted(self.phrase(source_of(row, self.language).name), self.language.iso_date(newest[key]))
                for (key, _), row in of_source.items()
            )
        days = sorted({row["measured_at"].date() for row in rows if row["measured_at"]})
        message = gettext("measured until %(date)s") if len(days) > 1 else gettext("measured on %(date)s")
        return self.say(message, date=self.language.date(days[-1])) if days else ""

    def processes(self, rows: Rows) -> list[str]:
        """Return how many processes stand behind each measured row."""
        counts = [row["processes"] for row in rows if row["origin"] == "measured" and row["processes"]]
        if not counts:
            return []
        fewest, most = min(counts), max(counts)
        if fewest == most:
            message = self.language.ngettext(
                "%(count)s process per benchmark case", "%(count)s processes per benchmark case", most
            )
            return [self.counted(message, most)]
        message = self.language.ngettext(
            "%(fewest)s to %(most)s process per benchmark case",
            "%(fewest)s to %(most)s processes per benchmark case",
            most,
        )
        return [self.say(message, fewest=self.language.number(fewest), most=self.language.number(most))]

    def one_process(self) -> str:
        """Return a warning to show below figures from a single process."""
        return self.language.gettext(
            "With one process per case, the intervals ignore the variation between processes and are too narrow."
        )
