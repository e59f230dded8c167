"""Estimates of the speedup of models that nobody has measured on a device.

`comparisons.read` takes the published records of throughput and returns a table; `features.of` describes each row by
what decides the gain; `estimator.Estimator` answers from the nearest evidence, with intervals. `fitting.fit` makes the
`Estimates` document, which holds the model, its intervals and how far off it was, for whoever answers from it.
"""
