"""Commands of `python -m generator` with several steps: a new language, review sheets, the site in pseudo-locales."""
