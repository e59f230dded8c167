"""Records, authored pages and gettext catalogs become the Markdown and charts of one language at a time."""
