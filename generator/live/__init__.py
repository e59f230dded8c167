"""The guide while it measures the machine that serves it: see `generator.live.strip`."""

BUDGET = "ATLAS_MEASURE"
"""The environment variable with the time that measuring may take. With it, `mkdocs serve` measures as well."""
