"""What TorchDynamo makes of a small function: graphs, the graph break between them, bytecode and guards.

    python graphs.py

It prints each graph, and on the last line all that it found as JSON.
"""

import dis
import io
import json
import logging
import re

import torch
from torch._dynamo.convert_frame import register_bytecode_hook
from torch._dynamo.eval_frame import _debug_get_cache_entry_list
from torch._dynamo.utils import get_compilation_metrics

graphs = []
breaks = []
rewritten = []


def print_graph(graph_module, example_inputs):
    graphs.append(graph_module.print_readable(include_stride=False, include_device=False))
    # Compile nothing: run the graph as it is.
    return graph_module.forward


def soften(x, limit):
    y = torch.sin(x) * limit
    if y.sum() > 0:
        y = torch.relu(y)
    return y + 1


class KeepBreaks(logging.Handler):
    """Keeps the graph breaks that TORCH_LOGS=graph_breaks prints."""

    def emit(self, record):
        pattern = r"in user code at ([^\n]+)\n.*?(?:Graph Break Reason: )?([^\n]+)\n  Explanation: ([^\n]+)"
        location, reason, explanation = re.search(pattern, record.getMessage(), re.DOTALL).groups()
        breaks.append({"location": location, "reason": reason, "explanation": explanation})


def bytecode(function):
    text = io.StringIO()
    dis.dis(function, file=text)
    return text.getvalue()


def calls_and_jumps(code):
    """Returns the instructions that call compiled graphs and resume functions, jump, or return."""
    lines = []
    for each in dis.get_instructions(code):
        is_call = str(each.argval).startswith(("__compiled_fn", "__resume_at"))
        if is_call or "JUMP" in each.opname or "RETURN" in each.opname:
            lines.append(f"{each.offset:>5} {each.opname:<28} {each.argrepr}".rstrip())
    return re.sub(r"(__compiled_fn_\d+)\w+", r"\1", "\n".join(lines))  # without the id of this run


def short(guard):
    guard = re.sub(r"\d{9,}", "…", guard)  # the identity of an object
    return guard if len(guard) <= 160 else f"{guard[:160]}…"


logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
logger.setLevel(logging.DEBUG)
logger.propagate = False
logger.addHandler(KeepBreaks())
hook = register_bytecode_hook(lambda _, new: rewritten.append(calls_and_jumps(new)))

compiled = torch.compile(soften, backend=print_graph)
compiled(torch.linspace(0, 1, 8), 2.0)
hook.remove()
guards = _debug_get_cache_entry_list(soften)[0].guard_manager.code_parts
first = len(graphs)
compiled(torch.linspace(0, 1, 12), 2.0)  # a vector of another length
reasons = [each.recompile_reason.partition(": ")[2] for each in get_compilation_metrics() if each.recompile_reason]

found = {
    "bytecode": bytecode(soften),
    "rewritten": rewritten[0],
    "graphs": graphs[:first],
    "breaks": breaks[:1],
    "guards": [short(guard) for guard in guards],
    "recompile_reasons": reasons,
    "recompiled": graphs[first:],
}
print(json.dumps(found))
