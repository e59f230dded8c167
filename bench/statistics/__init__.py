"""The one definition of every statistic, verdict and cause; numpy only.

Takes what processes measured (`processes.Processes`), for one cell or thousands; returns figures with intervals
(`cells.Cells`), causes (`causes.explain`), and the changes between two runs (`compare.compare`).
"""
