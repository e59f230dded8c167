"""Estimates of speedups that nobody has measured: what the advisor answers, and how far off such answers are.

`answers.answers` takes `Results` and returns the estimates of all unmeasured models on devices with enough comparisons.
They are for the advisor and the page about estimates alone: no table of records, headline, median or export has one.
"""
