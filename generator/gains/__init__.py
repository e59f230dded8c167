"""What decides the gain: throughput compared by family, arithmetic intensity, GPU, version of PyTorch and data type.

Takes `Results` and returns statistics, charts and tables of them: `Gains` is where to begin.
"""
