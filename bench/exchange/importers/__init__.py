"""Importers of published figures: one module per source, with `read(options: ImportOptions) -> Iterator[Record]`.

The name of a module is the name of its source. Importers read their files with `bench.exchange.transfer`.

Rules for an importer: keep every figure as printed and make none up. A value that is missing becomes a flag, or, if a
record needs it, an error that names the option to add (`ImportOptions.needed`). A row that its source marks as failed
becomes a record with that status; a broken row refuses the whole file. Pair of different batch sizes stay as they
are, without a speedup (`bench.records.record.UNEQUAL_BATCHES`).
"""
