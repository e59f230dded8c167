"""Data: records become one tidy table, with one row per cell and run.

Takes the run files in ``bench/results/``. Returns medians, intervals and statuses pooled over the processes of each
cell, with the faults that the data lint finds. Call `load.load`.
"""
