"""The words around the figures in one language: headings, statuses, names, captions and anomalies.

Takes rows as plain values and returns text: HTML for tables and captions, plain text for charts and their text
alternatives. Every sentence is one message with placeholders, so that translators can reorder it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from bench.records.record import Status
from bench.statistics.digits import decimals
from generator.data.digits import digits
from generator.data.lint import Anomaly, Kind
from generator.data.registry import CHANGE, IMAGES, ON, RATE, VERSION, HeadingText, column
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

_RIGHT_TO_LEFT = re.compile(f"[{typography.RIGHT_TO_LEFT}]")


def is_same(values: Iterable[Any]) -> bool:
    """Return whether there is one value, or the same several times."""
    return len(set(values)) == 1


def varying(rows: Rows) -> list[str]:
    """Return the coordinates that tell `rows` apart."""
    return differing({name: [row[name] for row in rows] for name in (*PRIMARY, *SECONDARY)})


def differing(columns: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the coordinates that tell rows apart, from the values of each coordinate.

    A secondary one is among them only where it differs between rows with the same primary ones.
    """
    primary = [columns[name] for name in PRIMARY]
    groups = len(set(zip(*primary, strict=True)))

    def splits(name: str) -> bool:
        return not is_same(columns[name]) and len(set(zip(*primary, columns[name], strict=True))) > groups

    return [*(name for name in PRIMARY if not is_same(columns[name])), *(name for name in SECONDARY if splits(name))]


def row_coordinate(columns: Sequence[str]) -> str:
    """Return the coordinate that names a row of a chart: the model, else what is compared side by side."""
    preferred = ("model", "batch_size", "device", "compile_mode", "torch", "origin", *SECONDARY)
    return next((column for column in preferred if column in columns), "model")


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
        return Markup(self.language.isolate(text)) if self.html else self.language.embed(text)  # noqa: S704  # escaped

    def say(self, message: str, **values: str) -> str:
        """Fill the placeholders of a translated message. Values are isolated, and escaped in HTML."""
        text = self.phrase(message) % {name: self.value(value) for name, value in values.items()}
        return self._spaced(text)

    def phrase(self, message: str) -> str:
        """Return a translated message without placeholders, with its Latin words isolated in HTML."""
        if not self.html:
            return str(message)
        if isinstance(message, Untranslated):
            return message.__html__()
        rtl = self.language.direction == "rtl"
        return Markup(typography.isolate_latin(message) if rtl else message)  # noqa: S704  # messages may hold markup

    def sentences(self, parts: Iterable[str]) -> str:
        """Join whole sentences. No space follows a full-width stop, as in Chinese."""
        spaced = [part if part.endswith(("。", "！", "？")) else f"{part} " for part in parts if part]
        return self._join("", spaced).strip()

    def facts(self, parts: Iterable[str]) -> str:
        """Join short facts."""
        if self.html:  # no line begins with a dot; a full-width parenthesis has its space within
            whole = (typography.together(str(part)) for part in parts)
            return Markup(self._join("\u00a0· ", whole).replace("）\u00a0·", "）\u2060·"))  # noqa: S704  # was before
        # Two Latin facts beside each other would else run from the left, as one.
        mark = "" if self.language.direction != "rtl" else typography.RIGHT_TO_LEFT_MARK
        return self._join(f" {mark}· ", parts).replace("） ·", "）·")

    def noted(self, text: str, note: str) -> str:
        """Return text with a note in parentheses."""
        return self.say(self.language.gettext("%(text)s (%(note)s)"), text=text, note=note)

    def percent(self, x: float | None, digits: int = 1) -> str:
        """Format a signed change with a real minus sign: it is as wide as a plus, and screen readers say it."""
        return self.language.percent(x, digits, signed=True).replace("-", "−")

    def rate(self, images_s: float | None) -> str:
        """Format images per second: three digits at least, and all before the point, as the source printed them."""
        return UNKNOWN if images_s is None else self.language.number(images_s, max(0, decimals(images_s)))

    def lines(self, parts: Iterable[str]) -> str:
        """Join lines of HTML."""
        return self._join("<br>", parts)

    def names(self, names: Sequence[str]) -> str:
        """Join names as the language does."""
        marked = [str(self.value(name)) for name in names]
        text = self.language.names(marked)
        return Markup(text) if self.html else text  # noqa: S704  # escaped

    def _join(self, space: str, parts: Iterable[str]) -> str:
        text = space.join(str(part) for part in parts if part)
        return Markup(text) if self.html else text  # noqa: S704  # escaped

    def _spaced(self, text: str) -> str:
        if self.language.locale.language not in {"zh", "ja"}:
            return text
        spaced = typography.space_cjk(text)
        return Markup(spaced) if self.html else spaced  # noqa: S704  # was markup before

    # ── Names ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def device(self, row: Row) -> str:
        """Return the name of a device, with the number of cores of a CPU."""
        cores = row["cores"]
        if row["device_type"] != "cpu" or cores is None:
            return self._whole(row["device_name"])
        message = self.language.ngettext("%(name)s, %(count)s core", "%(name)s, %(count)s cores", cores)
        text = typography.counted(self.say(message, name=row["device_name"], count=self.language.number(cores)))
        return Markup(text) if self.html else text  # noqa: S704  # escaped

    def _whole(self, name: str) -> str:
        """Return the name of a device, which does not break at a hyphen: "Max-Q" is one word."""
        return self.value(name.replace("-", "-\u2060") if self.html else name)

    def machine(self, row: Row, own_devices: Collection[str] = ()) -> str:
        """Say whose machine a device is, where it is not a product that readers choose among; else ""."""
        if row["device"] in own_devices:
            return self.language.gettext("your machine")
        is_ours = row["device_type"] == "cpu" and row["origin"] == "measured"
        return self.language.gettext("this project's test machine") if is_ours else ""

    def task(self, task: str) -> str:
        """Name what a model does."""
        gettext = self.language.gettext
        return {
            "image-classification": gettext("image classification"),
            "object-detection": gettext("object detection"),
            "image-segmentation": gettext("image segmentation"),
        }.get(task, task)

    def workload(self, workload: str) -> str:
        """Name the question that a benchmark answers."""
        gettext = self.language.gettext
        return {"latency": gettext("one batch at a time"), "throughput": gettext("as many as possible")}[workload]

    def origin(self, origin: str) -> str:
        """Name who measured."""
        gettext = self.language.gettext
        return {"measured": gettext("measured"), "published": gettext("published")}.get(origin, origin)

    def weights(self, weights: str) -> str:
        """Name the kind of a model's parameters."""
        gettext = self.language.gettext
        return {"random": gettext("random weights"), "pretrained": gettext("pretrained weights")}.get(weights, weights)

    def dynamic(self, dynamic: str) -> str:
        """Name a value of the `dynamic` argument of torch.compile."""
        gettext = self.language.gettext
        return {"auto": gettext("automatic"), "true": gettext("on"), "false": gettext("off")}.get(dynamic, dynamic)

    def verdict(self, verdict: str) -> str:
        """Name a verdict on the compiled model."""
        gettext = self.language.gettext
        return {
            "faster": gettext("faster"),
            "slower": gettext("slower"),
            "same": gettext("the same"),
            "inconclusive": gettext("inconclusive"),
            "doubtful": gettext("doubtful"),
            "unknown": gettext("unknown"),
        }.get(verdict, UNKNOWN)

    def device_type(self, kind: str) -> str:
        """Name a torch device type."""
        return {"cuda": "GPU", "xpu": "GPU (XPU)", "mps": "GPU (MPS)", "cpu": "CPU"}.get(kind, kind)

    def date(self, text: str) -> str:
        """Format an ISO date as exact as it is: 2023, 2023-07 or 2023-07-13."""
        return self.language.iso_date(text)

    def heading(self, name: str) -> str:
        """Return the heading of a column."""
        if name.startswith(VERSION):
            version = f"PyTorch {name.removeprefix(VERSION)}"
            return self.say(self.language.gettext("%(version)s (ms)"), version=version)
        if name.startswith(CHANGE):
            return self.value(name.removeprefix(CHANGE))
        if name.startswith(RATE):
            gettext, subject = self.language.gettext, name.removeprefix(RATE)
            variants = {
                "eager": gettext("eager"),
                "compiled": gettext("compiled"),
                DOUBT: gettext("compiled, doubtful"),
            }
            return self.phrase(variants[subject]) if subject in variants else self.value(subject)
        if name.startswith(IMAGES):
            version = f"PyTorch {name.removeprefix(IMAGES)}"
            return self.say(self.language.gettext("%(version)s (images/s)"), version=version)
        if name.startswith(ON):
            device, *facts = name.removeprefix(ON).splitlines()
            html = Markup("{}<br><small>{}</small>") if self.html else "{} · {}"
            return html.format(self._whole(device), self.facts(map(self.value, facts)))
        return self.title(column(name).heading)

    def bounds(self, low: float, high: float) -> str:
        """Name the figures from one up to another: "200 to 400"."""
        gettext, number = self.language.gettext, self.language.number
        if low <= 0:
            return self.say(gettext("below %(high)s"), high=number(high))
        if math.isinf(high):
            return self.say(gettext("%(low)s or more"), low=number(low))
        return self.say(gettext("%(low)s to %(high)s"), low=number(low), high=number(high))

    def title(self, heading: str) -> str:
        """Return a heading of the registry of columns, translated unless it is a name."""
        if not isinstance(heading, HeadingText):
            return self.phrase(heading)
        language, context = self.language, heading.context
        return self.phrase(language.pgettext(context, heading) if context else language.gettext(heading))

    def coordinate(self, column: str, row: Row) -> str:  # noqa: PLR0911  # one return a kind of value
        """Return the value of a coordinate for a cell of a table."""
        match column:
            case "device":
                return self.device(row)
            case "model":
                return self.value(row["model_label"])
            case "origin":
                return self.origin(row["origin"])
            case "weights":
                return self.weights(row["weights"])
            case "dynamic":
                return self.dynamic(row["dynamic"])
            case "layout":
                return self.value(row["layout"] or "contiguous")
            case "batch_size" | "threads":
                return "" if row[column] is None else self.value(self.language.number(row[column]))
            case _:
                return self.value(str(row[column])) if row[column] else UNKNOWN

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
                message = self.language.ngettext("%(count)s thread", "%(count)s threads", threads)
                return self.say(message, count=self.language.number(threads))
            case "dynamic":
                return self.say(gettext("dynamic shapes: %(choice)s"), choice=self.dynamic(row["dynamic"]))
            case "input_size":
                return self.say(gettext("input of %(size)s pixels"), size=row["input_size"])
            case _:
                return self.coordinate(column, row)

    # ── Captions ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def selection(self, rows: Rows, skip: Sequence[str] = (), *, brief: bool = False) -> str:
        """Return what all `rows` have in common, the number of processes and the date: facts for a caption.

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
                self.noted(self.phrase(source_of(row, self.language).name), self.date(newest[key]))
                for (key, _), row in of_source.items()
            )
        moments = [row["measured_at"] for row in rows if row["measured_at"]]
        return self.say(gettext("measured on %(date)s"), date=self.language.date(max(moments))) if moments else ""

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
            return [self.say(message, count=self.language.number(most))]
        message = self.language.ngettext(
            "%(fewest)s to %(most)s process per benchmark case",
            "%(fewest)s to %(most)s processes per benchmark case",
            most,
        )
        return [self.say(message, fewest=self.language.number(fewest), most=self.language.number(most))]

    def freed_memory(self) -> str:
        """Say that a CPU was measured with the C library's own way of freeing memory."""
        return self.language.gettext("glibc's default")

    def doubted(self) -> str:
        """Explain the mark of doubt where there is no room for the anomaly itself."""
        return self.say(self.language.gettext("%(mark)s The data lint marks these figures as doubtful."), mark=DOUBT)

    def one_process(self) -> str:
        """Return a warning to show below figures from a single process."""
        return self.language.gettext(
            "With only one process per benchmark case, the intervals ignore process-to-process variation and are too "
            "narrow."
        )

    # ── Statuses ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def status(self, status: str) -> str:
        """Return a status for a table: short. OOM is a term of its own."""
        gettext = self.language.gettext
        return {
            Status.OOM: self.value("OOM"),
            Status.EAGER_OOM: self.value("OOM"),
            Status.CRASH: gettext("crash"),
            Status.TIMEOUT: gettext("timeout"),
            Status.FAIL_TO_RUN: gettext("failed"),
            Status.FAIL_ACCURACY: gettext("wrong result"),
            Status.EAGER_TWO_RUNS_DIFFER: gettext("not repeatable"),
            Status.THROTTLED: gettext("throttled"),
            Status.UNSTABLE: gettext("unstable"),
            Status.SKIPPED: gettext("skipped"),
        }.get(Status(status), "")

    def status_in_words(self, status: str) -> str:
        """Return a status where there is room, such as in a chart."""
        if status in {Status.OOM, Status.EAGER_OOM}:
            return self.language.gettext("out of memory")
        return self.status(status)

    def status_explained(self, status: str) -> str:
        """Explain a status in a sentence."""
        gettext = self.language.gettext
        return {
            Status.OOM: gettext("Out of memory: the compiled model needed more than the device has."),
            Status.EAGER_OOM: gettext("Out of memory: the model needed more than the device has, even in eager mode."),
            Status.CRASH: gettext("The process died."),
            Status.TIMEOUT: gettext("The benchmark case exceeded its time limit and was stopped."),
            Status.FAIL_TO_RUN: gettext("The model raised an error."),
            Status.FAIL_ACCURACY: gettext("The compiled model computed a different result from the eager model."),
            Status.EAGER_TWO_RUNS_DIFFER: gettext(
                "Two eager runs gave different outputs, so the compiled output could not be checked."
            ),
            Status.THROTTLED: gettext("The device lowered its clock frequency during the measurement."),
            Status.UNSTABLE: gettext("Latency kept changing, so these figures are less certain than others."),
            Status.SKIPPED: gettext("Eager or compiled was not measured, so there is nothing to compare."),
        }.get(Status(status), "")

    # ── Anomalies of the data lint ────────────────────────────────────────────────────────────────────────────────────

    def fault(self, kind: Kind) -> str:
        """Name a kind of anomaly."""
        gettext = self.language.gettext
        return {
            "repeated": gettext("Repeated row"),
            "unequal_batches": gettext("Unequal batches"),
            "toy": gettext("Toy model"),
            "device_order": gettext("Slower device ahead"),
            "batch_order": gettext("Larger batch ahead"),
            "version_jump": gettext("Jump between versions"),
            "implausible": gettext("Implausible speedup"),
            "impossible": gettext("Implausible for the device"),
            "unstable": gettext("Unsteady measurement"),
            "disturbed": gettext("Contradictory speedups"),
            "no_interval": gettext("No interval"),
            "no_reason": gettext("Missing reason"),
            "gap": gettext("Missing rows"),
            "flag": gettext("Not stated"),
            "complaint": gettext("Disturbed measurement"),
        }[kind]

    def told(self, group: Sequence[Anomaly], rows: Rows) -> str:
        """Describe one anomaly with its figures, or several of a kind without. `rows` are all rows by label."""
        first, *others = group
        if not others:
            return self.finding(first, rows)
        message = self.language.ngettext("%(count)s row", "%(count)s rows", len(group))
        return self.facts([self.say(message, count=self.language.number(len(group))), self._explained(first.kind)])

    def _explained(self, kind: Kind) -> str:
        gettext = self.language.gettext
        explained: Mapping[Kind, str] = {
            "unequal_batches": gettext(
                "The source measured eager and compiled with different batch sizes, so their ratio does not show the "
                "effect of compiling alone."
            ),
            "toy": gettext(
                "These models exist only to test their library. They are far too small to say anything about real "
                "models."
            ),
            "device_order": gettext("A device is clearly faster than one that is ahead of it nearly everywhere else."),
            "batch_order": gettext("A larger batch takes clearly less time than a smaller one."),
            "version_jump": gettext("The eager latency is far from the latency with a different version of PyTorch."),
            "implausible": gettext("The speedup is larger than compiling usually explains."),
        }
        return self.phrase(explained.get(kind) or self.fault(kind))

    def finding(self, anomaly: Anomaly, rows: Rows) -> str:
        """Describe an anomaly with its figures. `rows` are all rows by label."""
        describe: Callable[[Any, Rows], str] = getattr(self, f"_{anomaly.kind}")
        return describe(anomaly.figures, [rows[row] for row in anomaly.rows])

    def _place(self, row: Row) -> dict[str, str]:
        return {
            "model": row["model_label"],
            "device": self.device(row),
            "size": self.language.number(row["batch_size"]),
            "mode": row["compile_mode"],
            "torch": row["torch"],
        }

    def _repeated(self, figures: Any, rows: Rows) -> str:
        gettext = self.language.gettext
        place, other = self._place(rows[0]), self._place(rows[1])
        parts = [
            self.say(
                gettext(
                    "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s) has exactly the same two "
                    "latencies as on %(other)s at batch size %(other_size)s: %(eager)s eager and %(compiled)s "
                    "compiled."
                ),
                **place,
                other=other["device"],
                other_size=other["size"],
                eager=self._latency(rows[0], "eager"),
                compiled=self._latency(rows[0], "compiled"),
            )
        ]
        if not math.isnan(figures["expected_ms"]):
            message = gettext("With another PyTorch version, the eager latency of the same case is %(expected)s.")
            parts.append(self.say(message, expected=self._latency(rows[0], "eager", figures["expected_ms"])))
        return self.sentences(parts)

    def _latency(self, row: Row, variant: str, value_ms: float | None = None) -> str:
        """Return a latency of a row, or another one with as many digits."""
        name = f"{variant}_ms"
        return self.language.milliseconds(row[name] if value_ms is None else value_ms, digits(row, name))

    def _variant(self, variant: str) -> str:
        gettext = self.language.gettext
        return gettext("eager latency") if variant == "eager" else gettext("compiled latency")

    def _device_order(self, figures: Any, rows: Rows) -> str:
        message = self.language.ngettext(
            "%(model)s at batch size %(size)s: the %(variant)s on %(device)s (%(ms)s) is clearly lower than on "
            "%(other)s (%(other_ms)s), although %(other)s is faster in %(share)s of the %(count)s benchmark case that "
            "both have.",
            "%(model)s at batch size %(size)s: the %(variant)s on %(device)s (%(ms)s) is clearly lower than on "
            "%(other)s (%(other_ms)s), although %(other)s is faster in %(share)s of the %(count)s benchmark cases "
            "that both have.",
            figures["common"],
        )
        return self.say(
            message,
            **self._place(rows[0]),
            variant=self._variant(figures["variant"]),
            ms=self._latency(rows[0], figures["variant"]),
            other=self._place(rows[1])["device"],
            other_ms=self._latency(rows[1], figures["variant"]),
            share=self.language.percent(figures["share"], 0),
            count=self.language.number(figures["common"]),
        )

    def _batch_order(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s (PyTorch %(torch)s, mode %(mode)s): the %(variant)s at batch size %(size)s "
            "(%(ms)s) is clearly lower than at the smaller batch size %(other_size)s (%(other_ms)s)."
        )
        return self.say(
            message,
            **self._place(rows[0]),
            variant=self._variant(figures["variant"]),
            ms=self._latency(rows[0], figures["variant"]),
            other_size=self._place(rows[1])["size"],
            other_ms=self._latency(rows[1], figures["variant"]),
        )

    def _version_jump(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s: the eager latency with PyTorch %(torch)s is %(ms)s, far "
            "from the %(other_ms)s with PyTorch %(other_torch)s."
        )
        return self.say(
            message,
            **self._place(rows[0]),
            ms=self._latency(rows[0], "eager", figures["ms"]),
            other_ms=self._latency(rows[0], "eager", figures["other_ms"]),
            other_torch=figures["other_torch"],
        )

    def _implausible(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s): a speedup of "
            "%(speedup)s is larger than compiling usually explains."
        )
        return self.say(message, **self._place(rows[0]), speedup=self.language.ratio(figures["speedup"]))

    def _impossible(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s): the %(variant)s of "
            "%(ms)s implies arithmetic at %(share)s of the device's measured matrix multiplication peak."
        )
        return self.say(
            message,
            **self._place(rows[0]),
            variant=self._variant(figures["variant"]),
            ms=self._latency(rows[0], figures["variant"]),
            share=self.language.percent(figures["share"], 2),
        )

    def _unstable(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s) has the status "
            "%(status)s, so its latencies are not reliable."
        )
        return self.say(message, **self._place(rows[0]), status=self.status_in_words(figures["status"]))

    def _disturbed(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s): the two latencies "
            "give a speedup of %(speedup)s, but the paired rounds give %(paired)s. Something slowed down one of the "
            "two variants."
        )
        ratios = (self.language.ratio(figures[name]) for name in ("speedup", "paired_speedup"))
        return self.say(message, **self._place(rows[0]), **dict(zip(("speedup", "paired"), ratios, strict=True)))

    def _no_interval(self, _figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s) has too few rounds for "
            "an interval."
        )
        return self.say(message, **self._place(rows[0]))

    def _no_reason(self, figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s at batch size %(size)s (PyTorch %(torch)s, mode %(mode)s) ended with the status "
            "%(status)s, but the record does not say why."
        )
        return self.say(message, **self._place(rows[0]), status=self.status_in_words(figures["status"]))

    def _unequal_batches(self, _figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s on %(device)s (PyTorch %(torch)s, mode %(mode)s): the source measured eager and compiled with "
            "different batch sizes, so the speedup does not show the effect of compiling alone."
        )
        return self.say(message, **self._place(rows[0]))

    def _toy(self, _figures: Any, rows: Rows) -> str:
        message = self.language.gettext(
            "%(model)s exists only to test its library. It is far too small to say anything about real models."
        )
        return self.say(message, model=rows[0]["model_label"])

    def _gap(self, figures: Any, rows: Rows) -> str:
        message = self.language.ngettext(
            "%(model)s on %(device)s (PyTorch %(torch)s, mode %(mode)s) has no row at these batch sizes: %(sizes)s. "
            "%(count)s other model has one.",
            "%(model)s on %(device)s (PyTorch %(torch)s, mode %(mode)s) has no row at these batch sizes: %(sizes)s. "
            "%(count)s other models have one.",
            figures["siblings"],
        )
        return self.say(
            message,
            **self._place(rows[0]),
            sizes=self.names([self.language.number(size) for size in figures["batch_sizes"]]),
            count=self.language.number(figures["siblings"]),
        )

    def _flag(self, figures: Any, rows: Rows) -> str:
        ngettext, count = self.language.ngettext, self.language.number(len(rows))
        match figures["flag"]:
            case "dtype-not-stated":
                message = ngettext(
                    "The source of %(count)s row does not state the data type; its code loads the weights as float32.",
                    "The source of %(count)s rows does not state the data type; its code loads the weights as float32.",
                    len(rows),
                )
            case "batch-size-worded-unbatched":
                message = ngettext(
                    "The source calls %(count)s row “unbatched”; it is counted as batch size 1.",
                    "The source calls %(count)s rows “unbatched”; they are counted as batch size 1.",
                    len(rows),
                )
            case _:
                message = ngettext(
                    "The importer marked %(count)s row: %(flag)s.",
                    "The importer marked %(count)s rows: %(flag)s.",
                    len(rows),
                )
        return self.say(message, count=count, flag=self._named(figures["flag"], self.flags))

    @property
    def flags(self) -> Mapping[str, str]:
        """The flags of importers in words, except those that have a sentence of their own."""
        gettext = self.language.gettext
        return {
            "input-size-not-stated": gettext("the image size is not stated"),
            "batch-size-not-stated": gettext("the batch size is not stated"),
            "compile-cache-not-stated": gettext("whether the compile cache was empty is not stated"),
            "compile-mode-not-stated": gettext("the compile mode is not stated"),
            "autocast-type-not-stated": gettext("the data type that autocast used is not stated"),
            "weights-not-stated": gettext("whether the weights were trained is not stated"),
            "eager-latency-is-speedup-times-compiled": gettext(
                "eager latency is calculated from the speedup and the compiled latency"
            ),
            "arms-measured-apart": gettext("eager and compiled were measured one after the other"),
            "device-as-the-file-is-named": gettext("the name of the device comes from the name of the file"),
        }

    def _complaint(self, figures: Any, rows: Rows) -> str:
        message = self.language.ngettext(
            "While %(count)s row was measured, bench doctor reported a problem: %(check)s.",
            "While %(count)s rows were measured, bench doctor reported a problem: %(check)s.",
            len(rows),
        )
        check = self._named(figures["check"], self.checks)
        return self.say(message, count=self.language.number(len(rows)), check=check)

    def _named(self, name: str, words: Mapping[str, str]) -> str:
        """Return a name in words; one that a record brings from elsewhere stays as it is."""
        return self.phrase(words[name]) if name in words else self.value(name)

    @property
    def checks(self) -> Mapping[str, str]:
        """The complaints of the doctor in words."""
        gettext = self.language.gettext
        return {
            "load": gettext("other programs were using the CPU"),
            "quota": gettext("the container was allowed fewer cores than it could see"),
            "steal": gettext("other virtual machines took CPU time"),
            "governor": gettext("the CPU frequency governor was not set to performance"),
            "compiler": gettext("a tool that torch.compile needs was missing"),
            "gpu-processes": gettext("other processes were using the GPU"),
            "gpu-slowdown": gettext("the GPU was slowed down"),
            "gpu-power": gettext("the power limit of the GPU was lowered"),
        }
