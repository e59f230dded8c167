"""Time how fast the guide is built, served and reloaded, and compare it with other builders of the same pages.

Takes a `TimingPlan`; returns `BuildTimes`, which `make perf` keeps as a record. Call `perf.run.TimingRun(…).all()`.
Imports no torch.
"""
