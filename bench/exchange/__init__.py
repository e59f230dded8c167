"""Make records from other formats, and check record files.

Takes source files or run files; returns run files, or a list of problems. Call `bench.exchange.transfer.import_` or
`bench.exchange.check.check`.
"""
