"""The command line: run, compare, list, check, import, doctor … Other modules do the work.

Each command imports what it needs, so that `--help` and `list` answer at once; torch is imported by workers alone.

    python -m bench --help
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args

import msgspec

from bench.choices import pick
from bench.errors import AtlasError, Complaint
from bench.exchange import export, import_, importers
from bench.exporters import FORMATS as EXPORTS
from bench.job import Recipe, Weights
from bench.models import MODELS, find
from bench.profiles import COMPILE_MODES, DEVICES, DTYPES, PROFILES, Profile
from bench.record import RESULTS, Task

if TYPE_CHECKING:
    from bench.cluster import Node
    from bench.fleet import Site
    from bench.job import Machine
    from bench.plan import Plan

MEASURED, PUBLISHED = RESULTS / "measured", RESULTS / "published"

OK, NOTHING_MEASURED, FOUND_FAULTS, REGRESSED, BAD_INPUT, INTERRUPTED = 0, 1, 1, 1, 2, 130

ARMS, FORMATS = ("compiled", "eager"), ("table", "markdown", "json")

DYNAMIC = {"true": True, "false": False, "auto": None}

EXECUTORS = ("local", "ray")

LARGEST_BATCH = 4096
LARGEST_COUNT = 100  # of processes
LARGEST_TABLE = 200  # cells

Tell = Callable[[str], None]

HUB_ID = re.compile(r"[\w][\w.-]*/[\w][\w.-]*")


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit with its status; a mistake in the input is one message and status 2."""
    options = _parser().parse_args(arguments)
    options.arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        sys.exit(options.command(options))
    except AtlasError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of our output has closed it, as `head` does
        sys.stderr.close()
        sys.exit(OK)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"error: {message}\n  remedy: {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m bench",
        description="Measure vision models, eager against torch.compile, and keep the records.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=_Parser)

    run = commands.add_parser(
        "run",
        help="measure the cells of a profile",
        description="Measure the cells of a profile. The same command again resumes a run that was interrupted.",
        epilog="An option that is not given takes the profile's value: see `python -m bench list`. Options that name "
        "several things take them one after the other: --batch-size 1 4 16.",
        allow_abbrev=False,
    )
    what = run.add_argument_group("what to measure")
    what.add_argument("--profile", default="quick", metavar="NAME", help=f"{', '.join(PROFILES)} (default: quick)")
    what.add_argument("--model", nargs="+", action="extend", metavar="NAME", help="labels of the model table")
    what.add_argument("--checkpoint", metavar="ID_OR_DIR", help="any other checkpoint: a hub id or a local directory")
    what.add_argument("--task", metavar="TASK", help=f"of the checkpoint: {', '.join(get_args(Task))}")
    what.add_argument(
        "--weights", metavar="KIND", help="random (default for the table) or pretrained (for a checkpoint)"
    )
    what.add_argument("--shrunken", action="store_true", help="models of one layer at 64×64, to try the harness out")
    how = run.add_argument_group("how")
    how.add_argument("--batch-size", nargs="+", action="extend", metavar="N")
    how.add_argument("--compile-mode", nargs="+", action="extend", metavar="MODE", help=", ".join(COMPILE_MODES))
    how.add_argument(
        "--dtype", nargs="+", action="extend", metavar="TYPE", help=f"{', '.join(DTYPES)} (default: float32)"
    )
    how.add_argument("--dynamic", metavar="CHOICE", help="shapes as variables: true, false, auto (default: auto)")
    how.add_argument("--device", metavar="TYPE", help=f"{', '.join(DEVICES)} (default: the best present)")
    how.add_argument("--allow-busy", action="store_true", help="although other processes compute on the device")
    how.add_argument("--processes", metavar="N", help="fresh processes for each cell")
    how.add_argument("--time-budget", metavar="TIME", help="stop in time, to be resumed later: 90s, 9m, 1h30m")
    many = run.add_argument_group("on many machines")
    many.add_argument("--executor", default="local", metavar="NAME", help="local (default), or ray: see recipes/")
    many.add_argument(
        "--address", metavar="HOST:PORT", help="of a cluster, or auto on a node of it (default: a new one)"
    )
    many.add_argument("--accelerator", nargs="+", action="extend", metavar="TYPE", help="measure once on each: T4 A100")
    many.add_argument("--cluster", type=Path, metavar="FILE", help="with --dry-run: a cluster that is only described")
    where = run.add_argument_group("where to")
    where.add_argument(
        "--out", type=Path, default=MEASURED, metavar="DIR", help="folder of run files (default: the atlas)"
    )
    where.add_argument("--by", metavar="NAME", help="who measured it, as the site may tell (default: nobody is named)")
    where.add_argument("--fresh", action="store_true", help="start a new run, although there is one to resume")
    where.add_argument("--retry-failed", action="store_true", help="measure failed cells of the run again")
    where.add_argument("--dry-run", action="store_true", help="say what would be measured, and how long it takes")
    run.set_defaults(command=_run)

    comparing = commands.add_parser(
        "compare",
        help="say what became faster or slower from one run to another",
        description="Compare the latencies of the cells that both runs have. Status 0: no regression; 1: some cell is "
        "slower beyond the threshold, or fails that worked; 2: the runs cannot be compared.",
        epilog="A and B are run files, folders of them, either below bench/results, or names of runs.",
        allow_abbrev=False,
    )
    comparing.add_argument("before", metavar="A", help="the run before")
    comparing.add_argument("after", metavar="B", help="the run after")
    comparing.add_argument("--arm", default="compiled", metavar="ARM", help=f"{' or '.join(ARMS)} (default: compiled)")
    comparing.add_argument(
        "--threshold", default="5%", metavar="PERCENT", help="how much slower is a regression (default: 5%%)"
    )
    comparing.add_argument("--format", default="table", metavar="FORMAT", help=f"{', '.join(FORMATS)} (default: table)")
    comparing.set_defaults(command=_compare)

    listing = commands.add_parser("list", help="show models, profiles and modes", allow_abbrev=False)
    listing.set_defaults(command=_list)

    check = commands.add_parser("check", help="validate record files", allow_abbrev=False)
    check.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders (default: the atlas)")
    check.set_defaults(command=_check)

    _add_exchange(commands)
    _add_tools(commands)
    return parser


def _add_exchange(commands: argparse._SubParsersAction[Any]) -> None:
    """Other people's formats, in and out."""
    importing = commands.add_parser(
        "import",
        help="take over other people's figures",
        description="Take over other people's figures as records, one file a run: all of them, or none and a reason.",
        epilog="What a file says itself needs no option. What it doesn't say is asked for, or flagged in the records.",
        allow_abbrev=False,
    )
    importing.add_argument("source", metavar="SOURCE", help=", ".join(importers()))
    importing.add_argument("files", nargs="*", type=Path, metavar="FILE", help="what the source consists of")
    importing.add_argument(
        "--out", type=Path, default=PUBLISHED, metavar="DIR", help="folder of the run files (default: the atlas)"
    )
    told = importing.add_argument_group("what the files do not say")
    told.add_argument("--device-name", metavar="NAME", help='such as "NVIDIA A100-SXM4-40GB"')
    told.add_argument("--torch", metavar="VERSION", help="such as 2.9.0")
    told.add_argument("--dtype", metavar="TYPE", help=f"{', '.join(DTYPES)}, amp")
    told.add_argument("--compile-mode", metavar="MODE", help=", ".join(COMPILE_MODES))
    told.add_argument("--date", metavar="DATE", help="when it was measured: 2026, 2026-11 or 2026-11-02")
    told.add_argument("--title", metavar="TITLE", help="of the source")
    told.add_argument("--url", metavar="URL", help="where it was published")
    told.add_argument("--licence", metavar="NAME", help="under which it was published")
    told.add_argument("--by", metavar="NAME", help="who brings it, as the site may tell (default: nobody is named)")
    importing.set_defaults(command=_import)

    exporting = commands.add_parser(
        "export",
        help="write records in another format",
        epilog=". ".join(f"{name}: {what}" for name, (_, _, what) in EXPORTS.items()),
        allow_abbrev=False,
    )
    exporting.add_argument("format", metavar="FORMAT", help=", ".join(EXPORTS))
    exporting.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files or folders (default: the atlas)")
    exporting.add_argument("--out", type=Path, required=True, metavar="FILE", help="the file to write")
    exporting.set_defaults(command=_export)


def _add_tools(commands: argparse._SubParsersAction[Any]) -> None:
    """What is not part of a run: looking at the machine, at TorchDynamo, and at the harness itself."""
    touring = commands.add_parser(
        "dynamo-tour", help="record what TorchDynamo does with a function and with training", allow_abbrev=False
    )
    touring.add_argument(
        "--out", type=Path, default=RESULTS / "tours", metavar="DIR", help="folder of the file (default: the atlas)"
    )
    touring.set_defaults(command=_dynamo_tour)

    doctor = commands.add_parser(
        "doctor", help="what would spoil a measurement here, and what to do", allow_abbrev=False
    )
    doctor.set_defaults(command=_doctor)

    quality = commands.add_parser(
        "quality", help="repeat the standard profile beside other ways of timing", allow_abbrev=False
    )
    quality.add_argument("--repeats", default="5", metavar="N", help="default: 5, about two hours on two cores")
    quality.add_argument("--model", action="append", metavar="NAME", help="default: ResNet, ViT, Segformer")
    quality.add_argument("--without-rivals", action="store_true", help="only the standard profile")
    quality.add_argument(
        "--out", type=Path, default=RESULTS / "quality", metavar="DIR", help="folder of the file (default: the atlas)"
    )
    quality.set_defaults(command=_quality)


# ── run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _run(options: argparse.Namespace) -> int:
    if pick("executor", options.executor, EXECUTORS) == "ray":
        return _run_fleet(options)
    _refuse_options_of_fleets(options)
    from rich.console import Console

    from bench.compare import replicate
    from bench.executors import LocalProcesses
    from bench.pace import Pace
    from bench.plan import make_plan, pending
    from bench.progress import BarReporter, PlainReporter, estimate, estimates_table, results_table, time_is_up
    from bench.sweep import earlier, find_run, run, survey

    start = time.monotonic()
    deadline = None if options.time_budget is None else start + _seconds(options.time_budget)
    profile, recipes, contributor = _profile(options), _recipes(options), _contributor(options.by)
    device = None if options.device is None else pick("device", options.device, DEVICES)
    console, executor = Console(soft_wrap=True, highlight=False, markup=False), LocalProcesses()

    console.print("Looking at the machine …")
    machine = survey(executor, device, recipes, allow_busy=profile.allow_busy)
    environment = machine.environment
    plan = make_plan(profile, recipes, machine.device)
    run_file = find_run(
        plan,
        machine,
        options.out,
        is_ordinary=_is_ordinary(plan, machine),
        fresh=options.fresh,
        reopen=options.retry_failed,
    )
    pace = Pace.learned(profile, earlier(machine, {options.out, MEASURED}))
    forgotten = run_file.failed if options.retry_failed else ()
    limited = None if deadline is None else pace
    steps = pending(plan, run_file.records, forgotten=forgotten, pace=limited)
    path = _shown(run_file.path)
    console.print(f"{environment.device_name}, {environment.cores} CPU cores, torch {environment.torch}")
    if not steps:
        console.print(f"This plan is measured: {path} is complete. To measure it again: {_again(options)} --fresh")
        console.print(results_table(run_file.records))
        return OK
    verb = f"going on with {len(run_file.records)} records in" if run_file.records else "measuring into"
    left_s = None if deadline is None else deadline - time.monotonic()
    console.print(f"{estimate(steps, pace, left_s)}; {verb} {path}")
    if options.dry_run:
        for complaint in complaints():
            console.print(f"careful: {complaint}")
        console.print(estimates_table(steps, pace, left_s))
        return OK

    try:
        with BarReporter(console) if console.is_terminal else PlainReporter(console) as reporter:
            records = run(
                plan,
                machine,
                run_file,
                executor,
                reporter,
                pace=pace,
                deadline=deadline,
                retry_failed=options.retry_failed,
                contributor=contributor,
                examine=complaints,
            )
    except KeyboardInterrupt:
        console.print(f"Stopped; what was measured is in {path}. To go on: {_again(options)}")
        return INTERRUPTED
    if records:
        console.print(results_table(records))
        console.print(f"Records: {path}")
    if (eager_again := replicate(records)).pairs:
        console.print(f"A/A: {eager_again}")
    if unmeasured := pending(plan, records):
        console.print(
            f"{time_is_up(unmeasured, pace, len(records) - len(run_file.records))} To go on: {_again(options)}"
        )
    return OK if any(record.measurement for record in records) else NOTHING_MEASURED


def _is_ordinary(plan: Plan, machine: Machine) -> bool:
    """Whether the plan is just what the name of its profile promises."""
    from bench.plan import make_plan

    profile = PROFILES[plan.profile.name]
    return plan == make_plan(profile, _table_recipes(profile.models), machine.device)


def _refuse_options_of_fleets(options: argparse.Namespace) -> None:
    for name in ("address", "accelerator", "cluster"):
        if getattr(options, name):
            remedy = "add --executor ray, or leave it out"
            raise AtlasError("is for a fleet", where=f"--{name}", remedy=remedy)


def _run_fleet(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench.cluster import choose, look_around
    from bench.fleet import PATIENCE_S, measure_on
    from bench.fleet_progress import FleetLines, forecast_lines
    from bench.ray_engine import RayEngine
    from bench.simulation import described, forecast
    from bench.sweep import SURVEY_TIMEOUT_S, survey_of

    if options.cluster and not options.dry_run:
        remedy = "add --dry-run, or give the --address of one that exists"
        raise AtlasError("a described cluster cannot measure", where="--cluster", remedy=remedy)
    budget_s = None if options.time_budget is None else _seconds(options.time_budget)
    start = time.monotonic()
    profile, contributor = _profile(options), _contributor(options.by)
    device = None if options.device is None else pick("device", options.device, DEVICES)
    accelerators = [name for text in options.accelerator or () for name in text.split(",") if name]
    request = survey_of(device, _recipes(options), allow_busy=profile.allow_busy)
    console = Console(soft_wrap=True, highlight=False, markup=False)

    if options.cluster:
        on_paper = described(options.cluster)
        chosen = choose(on_paper, accelerators, device)
        machines = {name: {node: on_paper[node] for node in nodes} for name, nodes in chosen.items()}
        engine = None
    else:
        engine = RayEngine(options.address)
        chosen = choose(engine.nodes(), accelerators, device)
        console.print(f"Looking at {sum(map(len, chosen.values()))} nodes …")
        machines = look_around(engine, chosen, request, SURVEY_TIMEOUT_S + PATIENCE_S, console.print)
    try:
        sites = [_site(name, found, options, console.print) for name, found in machines.items()]
        if len({site.run_file.path for site in sites}) < len(sites):
            remedy = "name one of them"
            raise AtlasError("these are the same kind of machine", where="--accelerator", remedy=remedy)
        if options.dry_run or engine is None:
            console.print("\n".join(forecast_lines(forecast(sites, math.inf if budget_s is None else budget_s))))
            return OK
        for site in sites:
            verb = f"going on with {len(site.run_file.records)} records in" if site.run_file.records else "into"
            name = site.machine.environment.device_name
            console.print(
                f"{site.name} ({name}, {len(site.nodes)} nodes): "
                f"{site.agenda.left} processes, {verb} {_shown(site.run_file.path)}"
            )
        deadline = math.inf if budget_s is None else engine.clock() + budget_s - (time.monotonic() - start)
        with FleetLines(console, sites) as reporter:
            measure_on(
                sites,
                engine,
                reporter,
                request=request,
                deadline=deadline,
                contributor=contributor,
                retry_failed=options.retry_failed,
            )
        for site in sites:
            if not site.agenda.left:
                engine.clean(list(site.nodes), site.run_file.name)
    except KeyboardInterrupt:
        console.print(f"Stopped; what was measured is on disk. To go on: {_again(options)}")
        return INTERRUPTED
    finally:
        if engine:
            engine.close()
    console.print("\n".join(reporter.by_node()))
    return _conclude(sites, options, console.print)


def _site(
    name: str, machines: Mapping[Node, Machine], options: argparse.Namespace, tell: Callable[[str], None]
) -> Site:
    """What one kind of machine has to do."""
    from bench.checkout import commit
    from bench.cluster import CPU, alike
    from bench.fleet import Site
    from bench.pace import Pace
    from bench.plan import make_plan
    from bench.sweep import earlier, find_run

    code = commit()

    def known(machine: Machine) -> Machine:
        environment = msgspec.structs.replace(machine.environment, commit=machine.environment.commit or code)
        device = "cpu" if name == CPU else machine.device
        return msgspec.structs.replace(machine, device=device, environment=environment)

    nodes = {node: known(machine) for node, machine in alike(machines, name, tell).items()}
    machine, profile = next(iter(nodes.values())), _profile(options)
    plan = make_plan(profile, _recipes(options), machine.device)
    run_file = find_run(
        plan,
        machine,
        options.out,
        is_ordinary=_is_ordinary(plan, machine),
        fresh=options.fresh,
        reopen=options.retry_failed,
    )
    pace = Pace.learned(profile, earlier(machine, {options.out, MEASURED}))
    return Site(name, plan, run_file, pace, machine, nodes, in_haste=options.time_budget is not None)


def _conclude(sites: Sequence[Site], options: argparse.Namespace, tell: Tell) -> int:
    """Show what was measured; of long runs only how it ended."""
    from bench.progress import results_table
    from bench.record import read

    measured = False
    for site in sites:
        records = list(read(site.run_file.path)) if site.run_file.path.exists() else []
        measured = measured or any(record.measurement for record in records)
        if records and len(site.plan.planned) <= LARGEST_TABLE:
            tell(f"{site.name}\n{results_table(records)}")
        statuses = Counter(record.status.value for record in records).most_common()
        tell(f"{', '.join(f'{count} {status}' for status, count in statuses)}: {_shown(site.run_file.path)}")
    if left := sum(site.agenda.left for site in sites):
        tell(f"{left} processes are left. To go on: {_again(options)}")
    return OK if measured else NOTHING_MEASURED


def _profile(options: argparse.Namespace) -> Profile:
    """The named profile, with what was given on the command line in place of its own."""
    changes: dict[str, Any] = {}
    if options.model or options.checkpoint:
        changes["models"] = tuple(find(name).label for name in options.model or ())
    if options.batch_size:
        changes["batch_sizes"] = tuple(_count("--batch-size", text, LARGEST_BATCH) for text in options.batch_size)
    if options.compile_mode:
        changes["compile_modes"] = tuple(pick("compile-mode", name, COMPILE_MODES) for name in options.compile_mode)
    if options.dtype:
        changes["dtypes"] = tuple(pick("dtype", name, DTYPES) for name in options.dtype)
    if options.dynamic:
        changes["dynamic"] = DYNAMIC[pick("dynamic", options.dynamic, DYNAMIC)]
    if options.allow_busy:
        changes["allow_busy"] = True
    if options.processes:
        changes["processes"] = _count("--processes", options.processes, LARGEST_COUNT)
    return msgspec.structs.replace(PROFILES[pick("profile", options.profile, PROFILES)], **changes)


def _recipes(options: argparse.Namespace) -> list[Recipe]:
    """What to build: the models of the profile or of the command line, and the checkpoint."""
    weights = options.weights and cast(Weights, pick("weights", options.weights, get_args(Weights)))
    recipes = [
        msgspec.structs.replace(recipe, weights=weights or "random", shrunken=options.shrunken)
        for recipe in _table_recipes(_profile(options).models)
    ]
    if options.checkpoint:
        recipes.append(_checkpoint_recipe(options.checkpoint, options.task, weights or "pretrained"))
    elif options.task:
        raise AtlasError("--task is for a checkpoint", where="--task", remedy="add --checkpoint, or leave --task out")
    return recipes


def _table_recipes(labels: Sequence[str]) -> list[Recipe]:
    return [Recipe(model=label, task=find(label).task) for label in labels]


def _checkpoint_recipe(checkpoint: str, task: str | None, weights: Weights) -> Recipe:
    known = [spec for spec in MODELS if spec.checkpoint == checkpoint]
    if known:
        return Recipe(model=known[0].label, task=known[0].task, weights=weights)
    if not Path(checkpoint).is_dir() and not HUB_ID.fullmatch(checkpoint):
        raise AtlasError(
            f"{checkpoint!r} is neither a directory nor a hub id",
            where="--checkpoint",
            remedy="give an existing directory, or an id such as microsoft/resnet-18",
        )
    if task is None:
        raise AtlasError(
            "its task is not given", where="--checkpoint", remedy=f"add --task {' or '.join(get_args(Task))}"
        )
    return Recipe(checkpoint=checkpoint, task=cast(Task, pick("task", task, get_args(Task))), weights=weights)


def _count(option: str, text: str, largest: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= largest:
        raise AtlasError(f"{text!r} is not a number from 1 to {largest}", where=option, remedy="give a whole number")
    return int(text)


def _seconds(text: str) -> float:
    """90s, 9m, 1h30m, or a bare number of seconds."""
    match = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+)s?)?", text.strip().lower())
    seconds = (
        sum(int(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1), strict=True)) if match else 0
    )
    if not seconds:
        raise AtlasError(f"{text!r} is not a time", where="--time-budget", remedy="write 90s, 9m or 1h30m")
    return float(seconds)


def _again(options: argparse.Namespace) -> str:
    return shlex.join(["python", "-m", "bench", *(each for each in options.arguments if each != "--fresh")])


def _shown(path: Path) -> str:
    """The path as a person would type it here."""
    absolute = path.absolute()
    return str(absolute.relative_to(Path.cwd()) if absolute.is_relative_to(Path.cwd()) else path)


# ── compare ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _compare(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench.compare import ArmName, compare, read_side
    from bench.report import as_json, markdown, print_report

    arm, form = cast(ArmName, pick("arm", options.arm, ARMS)), pick("format", options.format, FORMATS)
    threshold = _share(options.threshold)
    comparison = compare(read_side(options.before), read_side(options.after), arm)
    if form == "table":
        print_report(comparison, threshold, Console(highlight=False, markup=False))
    else:
        print((markdown if form == "markdown" else as_json)(comparison, threshold), end="")
    return REGRESSED if comparison.regressions(threshold) else OK


def _share(text: str) -> float:
    """5%, 2.5 %, or a bare number of percent, as a share."""
    match = re.fullmatch(r"(\d{1,4}(?:\.\d+)?)\s*%?", text.strip())
    if not match:
        raise AtlasError(f"{text!r} is not a percentage", where="--threshold", remedy="write 5% or 2.5%")
    return float(match[1]) / 100


# ── list ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _list(_options: argparse.Namespace) -> int:
    print("Models (--model)")
    for spec in MODELS:
        size = "×".join(map(str, spec.input_size))
        print(f"  {spec.label:<17}{spec.parameters / 1e6:>7.1f} M  {size:>9}  {spec.task:<21} {spec.checkpoint}")
    print("Any other checkpoint: --checkpoint ID_OR_DIR --task TASK\n\nProfiles (--profile)")
    for profile in PROFILES.values():
        sizes = ", ".join(map(str, profile.batch_sizes))
        cells = len(profile.models) * len(profile.batch_sizes) * len(profile.compile_modes) * len(profile.dtypes)
        print(f"  {profile.name:<12} {profile.summary}")
        print(f"  {'':<12} batch size {sizes}; {', '.join(profile.compile_modes)}; {', '.join(profile.dtypes)}")
        print(f"  {'':<12} {cells} cells, processes each: {profile.processes}")
    print(f"\nCompile modes (--compile-mode)\n  {', '.join(COMPILE_MODES)}")
    print(f"\nData types (--dtype)\n  {', '.join(DTYPES)}")
    return OK


# ── check ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _check(options: argparse.Namespace) -> int:
    from bench.check import check, files

    paths = options.paths or [RESULTS]
    findings = list(check(paths))
    for finding in findings:
        print(f"{'note' if finding.is_note else 'fault'}: {finding}")
    checked = sum(len(files(path)) for path in paths)
    faults = sum(not finding.is_note for finding in findings)
    print(f"{checked} record file{'s' if checked != 1 else ''}, {faults or 'no'} fault{'s' if faults != 1 else ''}")
    return FOUND_FAULTS if faults else OK


# ── import, export ──────────────────────────────────────────────────────────────────────────────────────────────────


def _import(options: argparse.Namespace) -> int:
    from bench.importers import Given

    names = ("device_name", "torch", "date", "title", "url", "licence")
    given = Given(
        files=tuple(options.files),
        dtype=options.dtype and pick("dtype", options.dtype, (*DTYPES, "amp")),
        compile_mode=options.compile_mode and pick("compile-mode", options.compile_mode, COMPILE_MODES),
        tell=lambda text: print(f"note: {text}", file=sys.stderr),
        **{name: getattr(options, name) for name in names},
    )
    for path, records in import_(options.source, given, options.out, _contributor(options.by)).items():
        print(f"{len(records)} records: {_shown(path)}")
        for status, count in Counter(record.status.value for record in records).most_common():
            print(f"  {count} {status}")
        for flag, count in Counter(flag for record in records for flag in record.flags).most_common():
            print(f"  {count} flagged {flag}")
    return OK


def _contributor(name: str | None) -> str | None:
    if name is None:
        return None
    from bench.check import name_fault

    if fault := name_fault(name):
        raise AtlasError(fault, where="--by", remedy="write a name of one line, or leave it out")
    return name


def _export(options: argparse.Namespace) -> int:
    count, left_out = export(options.format, options.paths or [RESULTS], options.out)
    print(f"{count} records: {_shown(options.out)}")
    if left_out:
        print(f"note: {left_out} cells failed, and this format has no place for them", file=sys.stderr)
    return OK


# ── dynamo-tour ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _dynamo_tour(options: argparse.Namespace) -> int:
    from bench import document, tour
    from bench.executors import LocalProcesses

    document.check_writable(options.out)
    taken = tour.take(LocalProcesses(), tell=lambda phase: print(f"{phase} …", flush=True))
    path, example = tour.write(taken, options.out), taken.example
    verdict = "within" if example.agrees else "beyond"
    print(f"{taken.seconds:.0f} s; eager and compiled losses differ by {example.difference:.1e} at most,", end=" ")
    print(f"{verdict} the tolerance of {example.tolerance:.0e}\nRecord: {_shown(path)}")
    return OK if example.agrees else FOUND_FAULTS


# ── doctor ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _doctor(_options: argparse.Namespace) -> int:
    found = complaints()
    print("\n".join(map(str, found)) or "nothing that would spoil a measurement")
    return FOUND_FAULTS if found else OK


def complaints() -> list[Complaint]:
    """What would spoil a measurement now."""
    try:
        from bench.doctor import examine, look
        from bench.sweep import CACHE
    except ModuleNotFoundError as error:
        raise AtlasError(
            f"{error.name} is not installed", remedy='install what measuring needs: pip install -e ".[bench]"'
        ) from None
    return examine(look(CACHE))


# ── quality ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _quality(options: argparse.Namespace) -> int:
    from rich.console import Console

    from bench import document, quality, repeats

    document.check_writable(options.out)
    number = _count("--repeats", options.repeats, LARGEST_COUNT)
    if number < 2:
        raise AtlasError("one repeat has no spread", where="--repeats", remedy="give 2 or more")
    models = [find(name).label for name in options.model or repeats.MODELS]
    given = shlex.join(["python", "-m", "bench", *sys.argv[1:]])
    console = Console()
    found = repeats.repeat(models, number, command=given, tell=console.print, with_rivals=not options.without_rivals)
    path = quality.write(found, options.out)
    console.print(repeats.table(found))
    held, of = found.coverage()
    console.print(f"{held} of {of} intervals of 95% hold the value of all repeats together\nRecord: {_shown(path)}")
    return OK
