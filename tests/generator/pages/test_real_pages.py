"""The real pages in all languages, from the committed records: the same structure, and each its typography."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from atlas_data import measured, measurement, write
from conftest import LANGUAGES
from guide_figures import real_pages as pages

from bench.records.record import Status
from generator.checks.message_checks import BIDI_CONTROLS
from generator.data.load import load
from generator.figures.charts import Chart
from generator.languages.catalogs import read
from generator.languages.language import catalog_path, load_language
from generator.languages.pofile import is_complete
from generator.languages.typography import CJK
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


def prose(page: str) -> str:
    page = re.sub(r"```.*?```|^\|.*?$", " ", page, flags=re.DOTALL | re.MULTILINE)
    page = re.sub(r"\]\([^()]*\)\{[^{}]*\}", "。", page)  # buttons stand apart
    page = re.sub(r"`[^`]*`", "A", re.sub(r"\]\([^()]*\)", "", page))
    page = re.sub(r"<br[^<>]*>|</t[dh]>", "\n", page)
    return re.sub(r"<[^<>]*>|\*\*|\[|\]", "", page)


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


def test_a_lost_row_would_be_noticed() -> None:
    uri, page = next((uri, page) for uri, page in pages("en").items() if "<tr>" in page)
    lost = re.sub(r"(?s)<tr>.*?</tr>", "", page, count=1)
    assert structure(lost)["tables, rows and figures"] != structure(page)["tables, rows and figures"], uri


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_heading_has_its_id(code: str) -> None:
    for uri, page in pages(code).items():
        body = re.sub(r"(?s)^```.*?^```", "", page, flags=re.MULTILINE)
        assert [line for line in re.findall(r"^#+ .*$", body, re.MULTILINE) if not line.endswith("}")] == [], uri


@pytest.mark.parametrize("code", LANGUAGES)
def test_no_bidi_control_identifier_or_mark_of_ours_is_left(code: str) -> None:
    for uri, page in pages(code).items():
        assert not BIDI_CONTROLS.search(page), uri
        assert not re.search("[\ue000-\uf8ff]", page), uri
        assert not re.search(r"\b(?:duration|digital)-(?:second|millisecond|minute|gigabyte)", page), uri
        assert "Undefined" not in page, uri
        assert ">None<" not in page, uri
        assert ">nan<" not in page, uri


@pytest.mark.parametrize("code", ["zh", "ja"])
def test_one_space_between_cjk_and_latin(code: str) -> None:
    wrong = re.compile(rf".*(?:[{CJK}][A-Za-z0-9]|[A-Za-z0-9%×][{CJK}]|[{CJK}] +[{CJK}]).*")
    for uri, page in pages(code).items():
        assert wrong.findall(prose(page)) == [], uri


def latin_among_arabic(page: str) -> list[str]:
    """The lines of an Arabic page that have both letters, the Latin ones in no isolate."""
    body = page.split("\n---\n", 1)[1]
    body = re.sub(r"```.*?```|`[^`]*`|<code>[^<]*</code>", " ", body, flags=re.DOTALL)
    body = re.sub(
        r"<(bdi|span)\b[^<>]*\bdir=\"ltr\">.*?</\1>|\u200e[^\u200e\n\u0620-\u064a]*\u200e",
        " ",
        re.sub(r"\[[^\[\]]*\]\([^()]*\)\{[^{}]*dir=[^{}]*\}|\]\([^()]*\)|\{:?[^{}]*\}", " ", body),
    )
    text = re.sub(r"<[^<>]*>|(?:!!!|\?\?\?\+?) [\w-]+|&\w+;", " ", body)
    return [line for line in text.split("\n") if re.search("[\u0620-\u064a]", line) and re.search("[A-Za-z]", line)]


@pytest.mark.skipif(
    not is_complete(read(catalog_path("ar"))), reason="English stands in for what is not translated yet"
)
def test_arabic_names_and_values_are_isolated() -> None:
    for uri, page in pages("ar").items():
        assert latin_among_arabic(page) == [], uri


def test_pages_are_made_where_every_comparison_is_doubtful(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for colours in ("light", "dark"):
        monkeypatch.setattr(Chart, colours, b'<svg height="1"/>')
    doubtful = measured(status=Status.UNSTABLE, reason="busy", figures=measurement())
    results = load(write(tmp_path, [doubtful]))
    made = {file.uri: str(file.content) for file in render(load_language("en"), results) if file.uri.endswith(".md")}
    for uri in ("index.md", "devices/h200.md", "models/vit.md"):
        assert not re.search("worst|largest gain|most you can gain|in the median", made[uri])
    assert "promised" not in made["data.md"]
    assert "unstable" in made["devices/h200.md"]
