"""Run the cells of a plan in worker processes on this machine, and append each record to its run file.

Takes a `Plan` and the records measured so far; returns all records of the run. Call `bench.running.sweep.run`.
"""
