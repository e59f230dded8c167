"""Records: the types that travel from a measurement to a page, and their files.

`run_file.read` takes a run file and yields `record.Record`s; `run_file.append` writes them. Other results
(self-checks, the examples' output) are one JSON document each, through `document`.
"""
