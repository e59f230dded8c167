"""K-fold cross-validation of a small network, trained eager and compiled from the same initial weights.

    python k_fold.py

It prints the errors, and on the last line all results as JSON.
"""

import json
import time

import numpy as np
import torch
from torch import nn
from torch._dynamo.utils import clear_compilation_metrics, get_compilation_metrics

SAMPLES, HELD_OUT, FEATURES, FOLDS = 1200, 240, 8, 5
EPOCHS, BATCH_SIZE, LEARNING_RATE = 30, 64, 1e-2  # each training set fills its batches: another shape would recompile


def network():
    layers = [
        nn.Linear(FEATURES, 64),
        nn.ReLU(),
        nn.Linear(64, 32),
        nn.ReLU(),
        nn.Linear(32, 1),
    ]
    return nn.Sequential(*layers)


def synthetic(samples):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(samples, FEATURES))
    y = np.sin(2 * z[:, 0]) + z[:, 1] * z[:, 2] + 0.5 * z[:, 3] ** 2 + 0.1 * rng.normal(size=samples)
    x = z * np.logspace(-2, 3, FEATURES) + np.arange(FEATURES)  # features of very different sizes
    return torch.from_numpy(x), torch.from_numpy(y).unsqueeze(1)


def scaled(train, other):
    mean, deviation = train.mean(0), train.std(0)  # of the training set alone
    return (train - mean) / deviation, (other - mean) / deviation


def k_fold(samples, folds):
    parts = torch.randperm(samples, generator=torch.Generator().manual_seed(0)).chunk(folds)
    for i, validation in enumerate(parts):
        yield torch.cat([part for j, part in enumerate(parts) if j != i]), validation


def r2(prediction, y):
    return float(1 - (y - prediction).square().sum() / (y - y.mean()).square().sum())


def train_step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.detach()


def fit(step, x, y, x_new, y_new):
    """Trains a new network. Returns its errors on new data, and the losses on both sets after each epoch."""
    torch.manual_seed(0)
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
    return {"mse": new_losses[-1], "r2": r2(prediction, y_new)}, train_losses, new_losses


def train(step):
    """Cross-validates, then trains on all data but the held-out set."""
    clear_compilation_metrics()
    start = time.perf_counter()
    x, y = synthetic(SAMPLES)
    model = network()
    step(model, torch.optim.Adam(model.parameters()), x[:BATCH_SIZE], y[:BATCH_SIZE])
    first_step_s = time.perf_counter() - start
    rest = SAMPLES - HELD_OUT
    folds = []
    for train, validation in k_fold(rest, FOLDS):
        x_train, x_validation = scaled(x[train], x[validation])
        score, _, _ = fit(step, x_train, y[train], x_validation, y[validation])
        folds.append(score)
    x_rest, x_new = scaled(x[:rest], x[rest:])
    held_out, train_losses, held_out_losses = fit(step, x_rest, y[:rest], x_new, y[rest:])
    reasons = [each.recompile_reason.partition(": ")[2] for each in get_compilation_metrics() if each.recompile_reason]
    return {
        "folds": folds,
        "held_out": held_out,
        "train_losses": train_losses,
        "held_out_losses": held_out_losses,
        "first_step_s": round(first_step_s, 3),
        "total_s": round(time.perf_counter() - start, 3),
        "recompile_reasons": list(dict.fromkeys(reasons)),
    }


torch.set_num_threads(1)  # the matrices are small
torch.set_default_dtype(torch.float64)  # also of Adam's step counter, so that both variants do the same arithmetic
eager, compiled = train(train_step), train(torch.compile(train_step))
pairs = [pair for name in ("train_losses", "held_out_losses") for pair in zip(eager[name], compiled[name])]
pairs += [(one["mse"], other["mse"]) for one, other in zip(eager["folds"], compiled["folds"])]
difference = max(abs(one - other) / one for one, other in pairs)
for name, trained in (("eager", eager), ("compiled", compiled)):
    print(f"{name}: held-out error {trained['held_out']['mse']:.6f}, {trained['total_s']:.1f} s in all")
print(f"largest relative difference between their errors: {difference:.1e}")

results = {
    "samples": SAMPLES,
    "held_out": HELD_OUT,
    "features": FEATURES,
    "folds": FOLDS,
    "epochs": EPOCHS,
    "eager": eager,
    "compiled": compiled,
    "difference": difference,
}
print(json.dumps(results))
