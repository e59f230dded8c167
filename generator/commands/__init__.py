"""Commands of `python -m generator` that are more than a call: a new language, the site in pseudo-locales."""
