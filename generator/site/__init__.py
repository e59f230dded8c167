"""The site: the MkDocs plugin that builds, serves and publishes the guide, and the same pages for other builders.

Takes the pages of `generator.pages` in each language; writes the site. See `generator.site.plugin.AtlasPlugin`.
"""

PLUGIN = "compile-atlas"
"""The name of the plugin in ``mkdocs.yml``."""
