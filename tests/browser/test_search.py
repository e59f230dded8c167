"""Search as readers use it, in every language: words of a sentence, names and code, and nothing of another language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from conftest import LANGUAGES, BuiltSite
from playwright.sync_api import Page, expect

from browser.kinds import PREFIXES, arrived, follow, switch

pytestmark = pytest.mark.browser
SEARCHES = True


def search(page: Page, query: str) -> list[str]:
    """Addresses found, best first."""
    field, results = page.locator(".md-search__input"), page.locator(".md-search-result__link")
    for text in ("", query):
        field.click()
        field.fill(text)
        page.keyboard.press("End")  # the search listens to keys
        expect(results.first).to_be_visible(visible=bool(text))
    return list(results.evaluate_all("links => links.map(link => link.href)"))


def found_by(page: Page, home: str, queries: Mapping[str, str]) -> dict[str, list[str]]:
    """Where each query leads, and a check that it leads to the page given for it, below `home`."""
    found = {}
    for query, expected in queries.items():
        found[query] = [address.removeprefix(home) for address in search(page, query)]
        assert any(address.startswith(expected) for address in found[query]), (query, found[query])
        assert "mark>" not in page.locator(".md-search-result__list").inner_text(), f"{query}: markup shows"
    return found


def rare_words(site: BuiltSite, code: str) -> list[str]:
    """Two of the method page, as readers see it, that few other sections have: they have to be found first."""
    index = json.loads((site.folder / PREFIXES[code] / "search" / "search_index.json").read_text(encoding="utf-8"))
    texts = {entry["location"]: re.sub("<[^>]+>|&[a-z]+;", "", entry["text"]) for entry in index["docs"]}
    method = " ".join(text for location, text in texts.items() if location.startswith("methodology/#"))
    every = "\n".join(texts.values())
    words = [word for word in dict.fromkeys(re.findall(WORDS[code], method)) if every.count(bare(word)) <= 4]
    return [words[len(words) // 3], words[2 * len(words) // 3]]


def bare(word: str) -> str:
    """Without the Arabic article."""
    return word.removeprefix("ال")


# From the middle of a sentence.
WORDS = {
    "en": r"(?<=[a-z] )[a-z]{7,}(?= [a-z])",
    "zh": "(?<=\u200b)[\u4e00-\u9fff]{2,4}(?=\u200b)",  # as jieba cuts
    "ja": "[\u30a1-\u30fc]{4,}|[\u4e00-\u9fff]{3,}",
    "ar": r"(?<= )ال[\u0621-\u064a]{4,}(?= )",
}

EVERYWHERE = {"mask2": "models/mask2former/", "torch.compile": "dynamo/"}

CODE_AND_SPELLINGS = {
    "en": {
        "convnext": "models/convnext/",
        "max-autotune-no-cudagraphs": "modes/",
        "inference_mode": "compile/",
        "reduce-overhead": "modes/",
        "--dry-run": "contribute/",
        "**inputs": "compile/",
        "recompile_limit": "troubleshooting/",
    },
    # Words that readers of these languages type without a space, and ends of longer ones.
    "zh": {"图中断": "troubleshooting/", "CPU模式": "modes/", "平衡": "when-not/"},
    "ja": {"メモリ不足": "when-not/", "物体検出": "compile/", "キャッシュ": "troubleshooting/"},
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_words_names_and_code_are_found_on_pages_of_the_language_only(
    code: str, page: Page, site: BuiltSite, hosted_site: str
) -> None:
    home = hosted_site + PREFIXES[code]
    page.goto(home)
    found = found_by(
        page,
        home,
        dict.fromkeys(rare_words(site, code), "methodology/") | EVERYWHERE | CODE_AND_SPELLINGS.get(code, {}),
    )
    assert set().union(*map(pages, found.values())) <= site.pages(PREFIXES[code]).keys()
    assert found["mask2"][0].startswith("models/mask2former/")


def test_arabic_is_found_with_and_without_article_prefixes_and_vowel_signs(
    page: Page, site: BuiltSite, hosted_site: str
) -> None:
    home = f"{hosted_site}ar/"
    page.goto(home)
    word = bare(rare_words(site, "ar")[0])
    spellings = [f"{prefix}{word}" for prefix in ("", "ال", "وال", "بال", "لل")]
    found = found_by(page, home, dict.fromkeys(spellings, "methodology/"))
    assert pages(found["ال" + word]) == pages(found["وال" + word])
    assert pages(search(page, "أجهزة")) == pages(search(page, "اجهزة")) == pages(search(page, "أَجهِزة")) != set()


def pages(addresses: list[str]) -> set[str]:
    return {re.split(r"[?#]", address)[0] for address in addresses}


def test_a_found_word_is_shown_in_its_sentence_and_marked_on_its_page(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}ar/")
    search(page, "torch.compile")
    shown = page.locator(".md-search-result__item").first
    expect(shown.locator("mark").first).to_have_text(re.compile("torch|compile", re.IGNORECASE))
    best = shown.locator(".md-search-result__article").first
    expect(best.locator(".md-search-result__terms")).to_have_count(0)  # nothing is said to be missing
    shown.locator(".md-search-result__link").first.click()
    expect(page.locator("article mark[data-md-highlight]").first).to_be_visible()


def test_a_switch_of_language_switches_the_search(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}modes/")
    assert all("/zh/" not in address for address in search(page, "CUDA"))
    page.keyboard.press("Escape")
    switch(page, "zh")
    follow(page, f"{hosted_site}zh/compile/")
    assert all(address.startswith(f"{hosted_site}zh/") for address in search(page, "编译"))
    page.keyboard.press("Escape")
    page.goto(f"{hosted_site}modes/")
    page.go_back()
    arrived(page, f"{hosted_site}zh/compile/")
    assert all(address.startswith(f"{hosted_site}zh/") for address in search(page, "CUDA"))
