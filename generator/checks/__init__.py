"""Checks of the project: mistakes in pages and catalogs, and doubtful records.

Takes the project folder. Returns findings with file, line and remedy. Call `checks.check`.
"""
