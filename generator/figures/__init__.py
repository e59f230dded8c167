"""Figures: tables, charts and share cards.

Takes rows of results and a `Language`. Returns Markdown, SVG and PNG, always the same bytes for the same rows. `charts`
has a function for each chart, `drawing` draws it without words, `markup` renders tables, and `card` draws share cards.
"""
