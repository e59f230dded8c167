"""Checks that fail a build: mistakes in pages and catalogs, and pages that differ between languages.

Takes the project or a built site, and returns findings with file, line and remedy. `checks.check` checks the project,
and `rendered_checks.check_site` a built site.
"""
