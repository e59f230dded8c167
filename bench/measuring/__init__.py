"""Measuring: one cell in one process.

`trial.run` takes a `Job` and returns a `CellOutcome` with the raw samples; `worker.main` serves one request on standard
input. Only `doctor`, `interference`, `rounds` and `worker` can be imported without torch.
"""
