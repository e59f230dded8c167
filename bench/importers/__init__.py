"""Other people's published figures as records: one module per source, each with `read() -> Iterator[Record]`."""
