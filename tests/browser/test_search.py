"""Search as readers use it, in every language: words of a sentence, names and code, and nothing of another language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest
from conftest import LANGUAGES, THOROUGH, BuiltSite
from playwright.sync_api import Locator, Page, expect

from browser.kinds import PREFIXES

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


def first_hit(page: Page, query: str) -> str:
    """Where the first result leads: to its best section, which is shown below the name of its page."""
    search(page, query)
    return re.sub(r"\?h=[^#]*", "", str(best_hit(page).evaluate("link => link.href")))


def best_hit(page: Page) -> Locator:
    links = page.locator(".md-search-result__item").first.locator(":scope > .md-search-result__link")
    return links.nth(min(1, links.count() - 1))


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


GRAPH_BREAKS, BREAK_EVEN = "troubleshooting/#graph-breaks", "when-not/#break-even"
RECOMPILATIONS, CACHES = "troubleshooting/#recompilations", "troubleshooting/#caches"
OUT_OF_MEMORY, CUDA_GRAPHS = "when-not/#out-of-memory", "modes/#cuda-graphs"
DETECTION, SEGMENTATION = "compile/#object-detection", "compile/#image-segmentation"
DATA_TYPE, BATCH_SIZE, SHAPES = "data-types/", "modes/#batch-size", "modes/#dynamic-shapes"
INTERVALS = "methodology/#intervals"

CODE = {".item()": GRAPH_BREAKS, "reduce-overhead": "modes/", "mark_dynamic": SHAPES}

FIRST_HITS = {
    "en": CODE
    | {
        # as they are written, as two words, and with another ending
        "break-even": BREAK_EVEN,
        "break even": BREAK_EVEN,
        "recompile": RECOMPILATIONS,
        "recompilation": RECOMPILATIONS,
        "recompiling": RECOMPILATIONS,
        "graph break": GRAPH_BREAKS,
        "out of memory": OUT_OF_MEMORY,
        "batch sizes": BATCH_SIZE,
        "warm start": "troubleshooting/#artifacts",
        # with a letter too few, too many, wrong, or in the wrong place
        "segformr": "models/segformer/",
        "segfformer": "models/segformer/",
        "sagformer": "models/segformer/",
        "segfromer": "models/segformer/",
        # names of code, models and devices
        ".items()": "modes/",
        "max-autotune": "modes/",
        "TORCH_LOGS": "troubleshooting/#see",
        "T4": "devices/t4/",
        "convnext": "models/convnext/",
        "device": "devices/",
    },
    "zh": CODE
    | {
        "盈亏平衡点": BREAK_EVEN,
        "显存不足": OUT_OF_MEMORY,
        "内存不足": OUT_OF_MEMORY,
        "图中断": GRAPH_BREAKS,
        "重新编译": RECOMPILATIONS,
        "动态形状": SHAPES,
        "批次大小": BATCH_SIZE,
        "数据类型": DATA_TYPE,
        "置信区间": INTERVALS,
        "目标检测": DETECTION,
        "图像分割": SEGMENTATION,
        "缓存": CACHES,
        "ＣＵＤＡ图": CUDA_GRAPHS,  # full width, and without the space
        "设备": "devices/",
        "模型": "models/",
    },
    "ja": CODE
    | {
        "損益分岐点": BREAK_EVEN,
        "メモリ不足": OUT_OF_MEMORY,
        "メモリー不足": OUT_OF_MEMORY,  # with a long vowel
        "ﾒﾓﾘ不足": OUT_OF_MEMORY,  # half width
        "めもり不足": OUT_OF_MEMORY,  # hiragana
        "モデル": "models/",
        "グラフブレイク": GRAPH_BREAKS,
        "再コンパイル": RECOMPILATIONS,
        "ＣＵＤＡグラフ": CUDA_GRAPHS,
        "動的形状": SHAPES,
        "バッチサイズ": BATCH_SIZE,
        "データ型": DATA_TYPE,
        "信頼区間": INTERVALS,
        "物体検出": DETECTION,
        "キャッシュ": CACHES,
        "遅くなるモデル": "when-not/#slower",
    },
    "ar": CODE
    | {
        # each in singular and plural
        "نموذج": "models/",
        "النماذج": "models/",
        "جهاز": "devices/",
        "الأجهزة": "devices/",
        "نقطة التعادل": BREAK_EVEN,
        "نقاط التعادل": BREAK_EVEN,
        "انقطاع المخطط": GRAPH_BREAKS,
        "انقطاعات المخططات": GRAPH_BREAKS,
        "حجم الدفعة": BATCH_SIZE,
        "أحجام الدفعات": BATCH_SIZE,
        "نوع البيانات": DATA_TYPE,
        "أنواع بيانات": DATA_TYPE,
        "فترة الثقة": INTERVALS,
        "فترات الثقة": INTERVALS,
        "اكتشاف كائن": DETECTION,
        "تجزئة صورة": SEGMENTATION,
        # with attached letters, and as typed on a phone
        "للأجهزة": "devices/",
        "الاجهزه": "devices/",
        "نفاد الذاكرة": OUT_OF_MEMORY,
        "إعادة التصريف": RECOMPILATIONS,
    },
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_page_that_a_reader_means_comes_first(code: str, page: Page, hosted_site: str) -> None:
    home = hosted_site + PREFIXES[code]
    page.goto(home)
    assert {query: first_hit(page, query).removeprefix(home) for query in FIRST_HITS[code]} == FIRST_HITS[code]


@pytest.mark.parametrize("code", LANGUAGES if THOROUGH else ("zh", "ar"))
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
