"""How well the harness itself measures.

`repeats.repeat` takes models and a number of repeats, and returns a `Repeatability`: repeats of our measurement and of
other ways of timing, which `baselines` runs in a process of its own.
"""
