"""Figures: tables, charts and link previews, with their fonts.

Takes rows of results and a `Language`. Returns Markdown, SVG and PNG, always the same bytes for the same rows. `charts`
has a function for each chart, `markup` renders tables, and `cards` draws link previews.
"""
