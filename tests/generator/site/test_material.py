"""Material's labels and search for languages that it has, and for languages that it lacks."""

from __future__ import annotations

import re

import pytest

from bench.errors import AtlasError
from generator.languages.language import load_language, translated_languages
from generator.site.material import FALLBACK, labels, labels_file, mended, search, wording


@pytest.mark.parametrize(
    ("code", "name"), [("ja", "ja"), ("ko", "ko"), ("pt-BR", "pt-BR"), ("de-AT", "de"), ("ckb", FALLBACK)]
)
def test_labels_are_those_of_the_language_or_english(code: str, name: str) -> None:
    assert labels(code) == name
    assert labels_file(name).is_file()


def test_the_words_of_the_theme_are_those_of_our_catalogs() -> None:
    english = wording(load_language("en"))
    for code in translated_languages():
        words = wording(load_language(code))
        assert words.keys() == english.keys()
        same = {name for name, text in words.items() if text == english[name] != ""}
        assert same <= {"direction"}, code


@pytest.mark.parametrize(
    ("code", "known"), [("en", ["en"]), ("zh", ["en"]), ("ja", ["en", "ja"]), ("ar", ["en"]), ("ko", ["en", "ko"])]
)
def test_search_reads_words_as_the_language_has_them(code: str, known: list[str]) -> None:
    assert search(code)["lang"] == known


def test_the_script_of_this_version_is_mended_and_another_one_refused() -> None:
    folder = labels_file("en").parents[2] / "assets" / "javascripts"
    [script] = (path.read_text("utf-8") for path in folder.glob("bundle.*.min.js"))
    done = mended(script)
    assert "link[rel=alternate]:not([hreflang],[type])" in done
    assert re.search(r"subscribe\(\(\[\w,\{offset:\w\}\]\)=>\{\w+\(document\),history\.replaceState", done)
    assert "appendChild(o)" not in done
    assert "colorScheme" not in done
    assert re.search(r'default:\w\.textContent=\w+\("search\.result\.other",\w\.length\)\}', done)
    assert re.search(r'null,\w+\("search\.result\.more\.other",\w\.length\)\)\)', done)
    assert 'term.missing"),": "' not in done
    with pytest.raises(AtlasError, match="instead of one"):
        mended("another script")
