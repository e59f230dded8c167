"""Render the guide: records, authored pages and gettext catalogs become a site in several languages."""
