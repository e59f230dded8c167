"""Walk through TorchDynamo: how it captures and compiles a small function and a training step. Imports torch.

`run` returns a `Walkthrough`, which the page docs/dynamo.md shows. A custom backend prints each graph that Dynamo
captures, and custom compilers print the forward and backward graphs. Then a network of three layers is trained on
synthetic data, eager and compiled, from the same initial weights. The page shows some functions as they are here.

    python -m bench dynamo-walkthrough
"""

from __future__ import annotations

import dis
import inspect
import io
import logging
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import CodeType
from typing import Any

import numpy as np
import torch
import torch._dynamo as dynamo
from torch import Tensor, nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._dynamo.utils import clear_compilation_metrics, get_compilation_metrics
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._guards import CompileContext
from torch._inductor import metrics as inductor_metrics

from bench.measuring.environment import describe
from bench.plans.messages import Phase, Send
from bench.records import walkthrough
from bench.records.scrub import anonymous, one_line
from bench.records.walkthrough import (
    Example,
    ExplainedBreak,
    FunctionWalkthrough,
    Graph,
    Score,
    StepWalkthrough,
    Training,
    Walkthrough,
)

SEED = 0
SAMPLES, HELD_OUT, FEATURES, FOLDS = 1200, 240, 8, 5
EPOCHS, BATCH_SIZE, LEARNING_RATE = 30, 64, 1e-2
"""The size of each training set is a multiple of the batch size, because another shape would recompile."""

TOLERANCE = 1e-6
"""For the relative difference between the losses of both variants. Training amplifies small differences with each step:
in float32, the losses of the last epochs differ by a tenth and more."""

LONGEST_LISTING = 20
"""Maximum number of operations in a graph that is shown."""

LONGEST_GUARD = 160
"""Maximum length of a guard in characters."""


def run(send: Send) -> Walkthrough:
    """Record the walkthrough on the CPU, which every machine has, with one thread, since its matrices are small."""
    start = time.perf_counter()
    torch.set_num_threads(1)
    send(Phase(name="a small function"))
    function = _function()
    send(Phase(name="a step of training"))
    graphs, breaks, lowered = _traced_step()
    send(Phase(name="training, eager"))
    eager, _ = _train(compiled=False)
    send(Phase(name="training, compiled"))
    compiled, kernels = _train(compiled=True)
    step = StepWalkthrough(
        source=_source(train_step),
        graphs=graphs,
        breaks=breaks,
        forward=lowered["forward"],
        backward=lowered["backward"],
        inductor_nodes=kernels[0],
        kernels=kernels[1],
    )
    taken_at, environment = datetime.now(UTC), describe(torch.device("cpu"))
    return Walkthrough(
        schema=walkthrough.SCHEMA,
        name=walkthrough.name(environment, taken_at),
        taken_at=taken_at,
        command="python -m bench dynamo-walkthrough",
        seconds=round(time.perf_counter() - start, 1),
        environment=environment,
        function=function,
        example=_example(step, eager, compiled),
    )


# ── Dynamo's output ───────────────────────────────────────────────────────────────────────────────────────────────────


def print_graph(graph_module: torch.fx.GraphModule, _example_inputs: Sequence[Any]) -> Callable[..., Any]:
    graph_module.print_readable(include_stride=False, include_device=False)
    return graph_module.forward  # compile nothing: run the graph as it is


@dataclass
class _Recorder:
    """A backend that keeps the output of `print_graph` for each graph. `then` optionally compiles the graph.

    Dynamo may restart a frame after calling its backend, so only the last graph of a compilation counts.
    """

    then: Callable[..., Any] | None = None
    by_compilation: dict[str, Graph] = field(default_factory=dict)

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """All graphs, in the order in which their frames were first compiled."""
        return tuple(self.by_compilation.values())

    def __call__(self, module: torch.fx.GraphModule, inputs: Sequence[Any]) -> Any:
        with redirect_stdout(io.StringIO()) as printed:
            runnable = print_graph(module, inputs)
        calls = [node for node in module.graph.nodes if node.op.startswith("call_")]
        code = _listing(printed.getvalue()) if len(calls) <= LONGEST_LISTING else None
        graph = Graph(function=_function_of(calls[0]), operations=len(calls), code=code)
        self.by_compilation[str(CompileContext.current_compile_id())] = graph
        return self.then(module, inputs) if self.then else runnable


def _function_of(node: torch.fx.Node) -> str:
    """Return the name of the function that Dynamo was compiling, the outermost frame of the node's stack."""
    match = re.search(r"line \d+, in (\w+)", node.stack_trace or "")
    return match[1] if match else "?"


def _listing(code: str) -> str:
    return anonymous("\n".join(line.rstrip() for line in code.splitlines() if line.strip()))


@contextmanager
def _breaks() -> Iterator[list[ExplainedBreak]]:
    """Collect the graph breaks that ``TORCH_LOGS=graph_breaks`` would log within the context."""
    breaks: list[ExplainedBreak] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if parsed := _parse_break(record.getMessage()):
                breaks.append(parsed)

    logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
    handler, before = Handler(), (logger.level, logger.propagate)
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield breaks
    finally:
        logger.removeHandler(handler)
        logger.level, logger.propagate = before


_BREAK = re.compile(
    r"in user code at (?P<location>[^\n]+:\d+)\n(?:.*\n)?(?:Graph Break Reason: )?(?P<reason>[^\n]+)\n"
    r"  Explanation: (?P<explanation>[^\n]+)",
    re.DOTALL,
)


def _parse_break(message: str) -> ExplainedBreak | None:
    match = _BREAK.search(message)
    return ExplainedBreak(**{name: one_line(text) for name, text in match.groupdict().items()}) if match else None


@contextmanager
def _float64() -> Iterator[None]:
    """Make float64 the default, also for Adam's step counter.

    A compiled step computes the bias correction from that tensor, where eager uses Python floats.
    """
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@contextmanager
def _fresh_dynamo() -> Iterator[None]:
    """Clear all compilations before and after."""
    dynamo.reset()
    clear_compilation_metrics()
    inductor_metrics.reset()
    try:
        yield
    finally:
        dynamo.reset()


def _recompile_reasons() -> tuple[str, ...]:
    """Return the distinct reasons, without their leading numbers of cache entries."""
    reasons = (reason for compilation in get_compilation_metrics() if (reason := compilation.recompile_reason))
    return tuple(dict.fromkeys(one_line(re.sub(r"^\d+/\d+: ", "", reason)) for reason in reasons))


def _source(*functions: Callable[..., Any]) -> str:
    return "\n\n".join(inspect.getsource(function).rstrip() for function in functions)


# ── A small function ────────────────────────────────────────────────────────────────────────────────────────────────


def soften(x: Tensor, limit: float) -> Tensor:
    y = torch.sin(x) * limit
    if y.sum() > 0:
        y = torch.relu(y)
    return y + 1


def _function() -> FunctionWalkthrough:
    codes: list[CodeType] = []
    recorder = _Recorder()
    with _fresh_dynamo(), _breaks() as breaks:
        hook = register_bytecode_hook(lambda _, new: codes.append(new))
        compiled = torch.compile(soften, backend=recorder)
        compiled(torch.linspace(0, 1, 8), 2.0)
        hook.remove()
        graphs, guards, graph_breaks = recorder.graphs, _guards(soften), tuple(breaks)
        compiled(torch.linspace(0, 1, 12), 2.0)
        return FunctionWalkthrough(
            backend=_source(print_graph),
            source=_source(soften),
            bytecode=_bytecode(soften),
            rewritten=_rewritten(codes[0]),
            graphs=graphs,
            breaks=graph_breaks,
            guards=guards,
            recompile_reasons=_recompile_reasons(),
            recompiled=recorder.graphs[len(graphs) :],
        )


def _bytecode(function: Callable[..., Any]) -> str:
    out = io.StringIO()
    dis.dis(function, file=out)
    return _without_margin(out.getvalue())


def _rewritten(code: CodeType) -> str:
    """Return the instructions that show what Dynamo did: loads of its globals, jumps, and returns."""
    kept = (
        instruction
        for instruction in dis.get_instructions(code)
        if "JUMP" in instruction.opname
        or "RETURN" in instruction.opname
        or str(instruction.argval).startswith(("__compiled_fn", "__resume_at"))
    )
    lines = (f"{each.offset:>5} {each.opname:<28} {each.argrepr}".rstrip() for each in kept)
    return _UNIQUE.sub(r"\1", "\n".join(lines))


_UNIQUE = re.compile(r"(__compiled_fn_\d+)_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}")


def _without_margin(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    margin = min(len(line) - len(line.lstrip()) for line in lines if line)
    return "\n".join(line[margin:] for line in lines)


def _guards(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the checks that guard the compiled code, without object ids."""
    parts = _debug_get_cache_entry_list(function)[0].guard_manager.code_parts
    lines = (re.sub(r"\d{9,}", "…", one_line(part)) for part in parts)
    return tuple(line if len(line) <= LONGEST_GUARD else f"{line[: LONGEST_GUARD - 1]}…" for line in lines)


# ── The worked example ──────────────────────────────────────────────────────────────────────────────────────────────


def network() -> nn.Module:
    layers = [
        nn.Linear(FEATURES, 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    ]
    return nn.Sequential(*layers)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> Tensor:
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def synthetic(samples: int) -> tuple[Tensor, Tensor]:
    rng = np.random.default_rng(SEED)
    z = rng.normal(size=(samples, FEATURES))
    y = np.sin(2 * z[:, 0]) + z[:, 1] * z[:, 2] + 0.5 * z[:, 3] ** 2 + 0.1 * rng.normal(size=samples)
    x = z * np.logspace(-2, 3, FEATURES) + np.arange(FEATURES)  # features of very different sizes
    return torch.from_numpy(x), torch.from_numpy(y).unsqueeze(1)


def scaled(train: Tensor, *others: Tensor) -> list[Tensor]:
    mean, deviation = train.mean(0), train.std(0)  # of the training set alone
    return [(x - mean) / deviation for x in (train, *others)]


def k_fold(samples: int, folds: int) -> Iterator[tuple[Tensor, Tensor]]:
    parts = torch.randperm(samples, generator=torch.Generator().manual_seed(SEED)).chunk(folds)
    for i, validation in enumerate(parts):
        yield torch.cat([part for j, part in enumerate(parts) if j != i]), validation


def r2(prediction: Tensor, y: Tensor) -> float:
    return float(1 - (y - prediction).square().sum() / (y - y.mean()).square().sum())


Step = Callable[[nn.Module, torch.optim.Optimizer, Tensor, Tensor], Tensor]


def _fit(step: Step, x: Tensor, y: Tensor, x_new: Tensor, y_new: Tensor) -> tuple[Score, list[float], list[float]]:
    """Train a new network. Return its score on new data, and the losses of both sets after each epoch."""
    torch.manual_seed(SEED)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    train_losses, new_losses = [], []
    for _ in range(EPOCHS):
        batches = torch.randperm(len(x)).split(BATCH_SIZE)
        losses = [step(model, optimizer, x[batch], y[batch]) for batch in batches]
        with torch.no_grad():
            prediction = model(x_new)
        train_losses.append(float(torch.stack(losses).mean()))
        new_losses.append(float(nn.functional.mse_loss(prediction, y_new)))
    return Score(mse=new_losses[-1], r2=r2(prediction, y_new)), train_losses, new_losses


@_float64()
def _train(*, compiled: bool) -> tuple[Training, tuple[int, int]]:
    """Cross-validate, then train on all data but the held-out set.

    Returns the training, and Inductor's number of nodes and kernels for the first step.
    """
    x, y = synthetic(SAMPLES)
    rest = SAMPLES - HELD_OUT
    start = time.perf_counter()
    with _fresh_dynamo():
        step: Step = torch.compile(train_step) if compiled else train_step
        model = network()
        step(model, torch.optim.Adam(model.parameters(), lr=LEARNING_RATE), *(each[:BATCH_SIZE] for each in (x, y)))
        first_step_s = time.perf_counter() - start
        kernels = inductor_metrics.ir_nodes_pre_fusion, inductor_metrics.generated_kernel_count
        folds = []
        for train, validation in k_fold(rest, FOLDS):
            x_train, x_validation = scaled(x[train], x[validation])
            folds.append(_fit(step, x_train, y[train], x_validation, y[validation])[0])
        x_rest, x_new = scaled(x[:rest], x[rest:])
        held_out, train_losses, held_out_losses = _fit(step, x_rest, y[:rest], x_new, y[rest:])
        reasons = _recompile_reasons()
    training = Training(
        folds=tuple(folds),
        held_out=held_out,
        train_losses=tuple(train_losses),
        held_out_losses=tuple(held_out_losses),
        first_step_s=round(first_step_s, 3),
        total_s=round(time.perf_counter() - start, 3),
        recompile_reasons=reasons,
    )
    return training, kernels


@_float64()
def _traced_step() -> tuple[tuple[Graph, ...], tuple[ExplainedBreak, ...], dict[str, str]]:
    """Run one training step with printing compilers. Return Dynamo's graphs, its breaks, and the ATen graphs."""
    lowered: dict[str, str] = {}

    def keep(name: str) -> Callable[[torch.fx.GraphModule, Any], Any]:
        def compiler(module: torch.fx.GraphModule, _: Any) -> Any:
            code = module.print_readable(print_output=False, include_stride=False, include_device=False)
            lowered.setdefault(name, _listing(code))
            return make_boxed_func(module.forward)

        return compiler

    def run_as_it_is(module: torch.fx.GraphModule, _: Any) -> Any:  # the optimizer's step, which needs no gradient
        return make_boxed_func(module.forward)

    recorder = _Recorder(
        then=aot_autograd(fw_compiler=keep("forward"), bw_compiler=keep("backward"), inference_compiler=run_as_it_is)
    )
    x, y = synthetic(BATCH_SIZE)
    model = network()
    with _fresh_dynamo(), _breaks() as breaks:
        torch.compile(train_step, backend=recorder)(model, torch.optim.Adam(model.parameters()), x, y)
    return recorder.graphs, tuple(breaks), lowered


def _example(step: StepWalkthrough, eager: Training, compiled: Training) -> Example:
    return Example(
        source=_source(network, synthetic, scaled, k_fold, r2),
        samples=SAMPLES,
        held_out=HELD_OUT,
        features=FEATURES,
        folds=FOLDS,
        epochs=EPOCHS,
        batch_size=BATCH_SIZE,
        learning_rate=LEARNING_RATE,
        step=step,
        eager=eager,
        compiled=compiled,
        tolerance=TOLERANCE,
        difference=max(_differences(_losses(eager), _losses(compiled))),
    )


def _losses(training: Training) -> Sequence[float]:
    return [*training.train_losses, *training.held_out_losses, *(fold.mse for fold in training.folds)]


def _differences(eager: Iterable[float], compiled: Iterable[float]) -> Iterator[float]:
    return (abs(a - b) / abs(a) for a, b in zip(eager, compiled, strict=True))
