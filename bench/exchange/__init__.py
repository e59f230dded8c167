"""Convert records to and from other formats, and check record files.

Takes source files or run files; returns run files, one file of another format, or a list of problems. Call
`bench.exchange.transfer.import_`, `bench.exchange.transfer.export` or `bench.exchange.check.check`.
"""
