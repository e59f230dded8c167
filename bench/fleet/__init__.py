"""Measure a plan on the nodes of a cluster, through Ray or on a simulated clock.

Takes a `Site` for each kind of machine, with its plan and its nodes; records go to each site's run file as they come.
Call `bench.fleet.dispatch.measure_on`.
"""
