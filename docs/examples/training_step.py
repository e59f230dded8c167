"""One compiled training step: the graphs and graph breaks of TorchDynamo, the forward and backward graphs of
AOTAutograd, and the number of kernels of TorchInductor.

    python training_step.py

It prints the forward and backward graphs, and on the last line all that it found as JSON.
"""

import json
import logging
import re

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func
from torch._inductor import metrics

graphs = []
breaks = []
lowered = {}


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def network():
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))


def print_lowered(name):
    def compiler(graph_module, example_inputs):
        lowered[name] = graph_module.print_readable(include_stride=False, include_device=False)
        return make_boxed_func(graph_module.forward)  # compile nothing

    return compiler


def run_as_it_is(graph_module, example_inputs):  # for the optimizer, which needs no gradient
    return make_boxed_func(graph_module.forward)


lower = aot_autograd(
    fw_compiler=print_lowered("forward"), bw_compiler=print_lowered("backward"), inference_compiler=run_as_it_is
)


def keep_graph(graph_module, example_inputs):
    calls = [node for node in graph_module.graph.nodes if node.op.startswith("call_")]
    function = re.search(r"line \d+, in (\w+)", calls[0].stack_trace)[1]
    graphs.append({"function": function, "operations": len(calls)})
    return lower(graph_module, example_inputs)


class KeepBreaks(logging.Handler):
    """Keeps the graph breaks that TORCH_LOGS=graph_breaks prints."""

    def emit(self, record):
        pattern = r"in user code at ([^\n]+)\n.*?(?:Graph Break Reason: )?([^\n]+)\n  Explanation: ([^\n]+)"
        location, reason, explanation = re.search(pattern, record.getMessage(), re.DOTALL).groups()
        breaks.append({"location": location, "reason": reason, "explanation": explanation})


logger = logging.getLogger("torch._dynamo.symbolic_convert.__graph_breaks")
logger.setLevel(logging.DEBUG)
logger.propagate = False
handler = KeepBreaks()
logger.addHandler(handler)

model = network()
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(64, 8), torch.randn(64, 1)
torch.compile(train_step, backend=keep_graph)(model, optimizer, x, y)
logger.removeHandler(handler)

torch._dynamo.reset()
metrics.reset()
torch.compile(train_step)(model, optimizer, x, y)  # by Inductor

found = {
    "graphs": graphs,
    "breaks": breaks,
    **lowered,
    "inductor_nodes": metrics.ir_nodes_pre_fusion,
    "kernels": metrics.generated_kernel_count,
}
print(json.dumps(found))
