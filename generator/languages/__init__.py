"""Languages: gettext catalogs, extraction and checking of messages, and formats of numbers, dates and lists.

Takes language codes, authored pages and the catalogs in ``locales/``. Returns a frozen `Language` each, which
translates and formats what pages show. `language.load_language` is the function to call.
"""
