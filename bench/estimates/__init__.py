"""Estimates of the speedup of models that nobody has measured on a device.

`comparisons.read` takes the published records of throughput and returns a table; `features.of` describes each row by
what decides the gain; `estimator.estimate` answers from the nearest evidence. `fitting.fit` makes the `Estimates`
document that it answers from, with the trees, their intervals and how far off they are.
"""
