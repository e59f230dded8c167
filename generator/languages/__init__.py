"""Languages: gettext catalogs, extraction and checks of messages, and formats of numbers, dates and lists.

Takes a language code and its catalog in ``locales/``. Returns a frozen `Language`, which translates and formats
everything that pages show. Call `language.load_language`.
"""
