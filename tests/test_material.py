"""What Material knows of languages: labels and search, also of those it does not know."""

from __future__ import annotations

import pytest

from bench.errors import AtlasError
from generator.material import FALLBACK, labels, labels_file, search, without_alternates


@pytest.mark.parametrize(
    ("code", "name"),
    [("ja", "ja"), ("ko", "ko"), ("pt-BR", "pt-BR"), ("de-AT", "de"), ("ckb", FALLBACK), ("ar-XB", "ar")],
)
def test_labels_are_those_of_the_language_or_english(code: str, name: str) -> None:
    assert labels(code) == name
    assert labels_file(name).is_file()


@pytest.mark.parametrize(
    ("code", "known"), [("en", ["en"]), ("zh", ["en"]), ("ja", ["en", "ja"]), ("ar", ["en"]), ("ko", ["en", "ko"])]
)
def test_search_reads_words_as_the_language_has_them(code: str, known: list[str]) -> None:
    assert search(code)["lang"] == known


def test_translations_are_not_taken_for_versions_of_the_site() -> None:
    assert without_alternates('a("link[rel=alternate]")') == 'a("link[rel=alternate]:not([hreflang])")'
    with pytest.raises(AtlasError, match="does not ask"):
        without_alternates("another script")
