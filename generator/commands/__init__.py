"""Commands of `python -m generator` with several steps: a new language."""
