"""Checks that fail a build: mistakes in pages and catalogs, and pages that differ between languages.

Takes the project or a built site. Returns findings with file, line and remedy. Call `checks.check` for the project, or
`rendered_checks.check_site` for a built site.
"""
