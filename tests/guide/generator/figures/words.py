"""A source with messages: extracted, never imported."""

from collections.abc import Iterator

from generator.languages.language import Language


def words(language: Language) -> Iterator[str]:
    """One text of each kind."""
    # Translators: heading of a column
    yield language.gettext("Device")
    yield language.ngettext("%(count)s model", "%(count)s models", {"x": 2}["x"])
    yield language.pgettext("unit", "round")
    yield language.gettext("Translation in progress")
    yield language.ngettext(
        "%(missing)s of %(total)s text on this page is not translated yet and appears in English.",
        "%(missing)s of %(total)s texts on this page are not translated yet and appear in English.",
        2,
    )
