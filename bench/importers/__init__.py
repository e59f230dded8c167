"""Other people's published figures as records: one module per source, with `RUN` and `read() -> Iterator[Record]`.

A module in this package is an importer, by its name with hyphens: `huggingface_2023` is `huggingface-2023`.
"""
