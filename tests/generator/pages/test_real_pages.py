"""The real pages in all languages, from the committed records: the same structure, and each its typography."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from atlas_data import measured, measurement, write
from conftest import LANGUAGES
from guide_figures import real_pages as pages

from bench.records.record import Status
from generator.data.load import load
from generator.languages.language import load_language
from generator.pages.pages import render


def structure(page: str) -> dict[str, list[str]]:
    """What is the same in every language, though in prose perhaps in another order."""
    code = re.findall(r"(?s)^```.*?^```", page, re.MULTILINE)
    page = re.sub(r"(?s)^```.*?^```", "", page, flags=re.MULTILINE)
    return {
        "headings": re.findall(r"^(#+) .*(\{: #[^}]*\})$", page, re.MULTILINE),
        "tables, rows and figures": re.findall(r"<(?:table|tr|th|td|figure|img|li)\b", page),
        "rows": re.findall(r"^\|", page, re.MULTILINE),
        "list items": re.findall(r"^ *(?:-|\d+\.) ", page, re.MULTILINE),
        "code": code,
        "inline code": sorted(re.findall(r"`[^`\n]+`", page)),
        "links": sorted(
            map(_in_language, re.findall(r"\]\(([^()]*)\)", page) + re.findall(r"href=\"([^\"]*)\"", page))
        ),
        "sorted by": re.findall(r"data-sort=\"([^\"]*)\"", page),
    }


def _in_language(link: str) -> str:
    """Return a link as it is in English: data files are at the root, which is one folder further up elsewhere."""
    return re.sub(r"^(?:\.\./)+(?=data/(?!#|$))", "../", link)


@pytest.mark.parametrize("code", LANGUAGES[1:])
def test_every_language_has_the_same_pages_with_the_same_structure(code: str) -> None:
    assert pages(code).keys() == pages("en").keys()
    for uri, english in pages("en").items():
        expected, actual = structure(english), structure(pages(code)[uri])
        for part, value in expected.items():
            assert actual[part] == value, f"{part} of {uri} in {code}"


def test_no_two_headings_of_a_page_are_alike() -> None:
    for uri, page in pages("en").items():
        body = re.sub(r"(?s)^```.*?^```", "", page, flags=re.MULTILINE)
        headings = re.findall(r"^#+ (.*) \{: #[^}]*\}$", body, re.MULTILINE)
        assert len(headings) == len(set(headings)), uri


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_bidi_control_identifier_or_mark_of_ours_is_left(code: str) -> None:
    for uri, page in pages(code).items():
        assert not re.search("[\u202a-\u202e\u2066-\u2069\ue000-\uf8ff]", page), uri
        assert not re.search(r"\b(?:duration|digital)-(?:second|millisecond|minute|gigabyte)", page), uri
        assert "Undefined" not in page, uri
        assert ">None<" not in page, uri
        assert ">nan<" not in page, uri


def test_pages_are_made_where_every_comparison_is_doubtful(tmp_path: Path) -> None:
    doubtful = measured(status=Status.UNSTABLE, reason="busy", figures=measurement())
    results = load(write(tmp_path, [doubtful]))
    made = {file.uri: str(file.content) for file in render(load_language("en"), results) if file.uri.endswith(".md")}
    for uri in ("index.md", "devices/h200.md", "models/vit.md"):
        assert not re.search("worst|largest gain|most you can gain|in the median", made[uri])
    assert "promised" not in made["data.md"]
    assert "unstable" in made["devices/h200.md"]
