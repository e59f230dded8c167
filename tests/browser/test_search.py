"""Search as readers use it, in every language: words of a sentence, names and code, and nothing of another language."""

from __future__ import annotations

import re

import pytest
from conftest import LANGUAGES, BuiltSite
from playwright.sync_api import Page, expect

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
    return [
        re.sub(r"\?h=[^#]*", "", str(link)) for link in results.evaluate_all("links => links.map(link => link.href)")
    ]


def first_hit(page: Page, found: list[str]) -> str:
    """Where the first result leads: to its best section, which is shown below the name of its page."""
    item = page.locator(".md-search-result__item").first
    return found[min(1, item.locator(":scope > .md-search-result__link").count() - 1)]


GRAPH_BREAKS, BREAK_EVEN = "troubleshooting/#graph-breaks", "when-not/#break-even"
RECOMPILATIONS, CACHES = "troubleshooting/#recompilations", "troubleshooting/#caches"
OUT_OF_MEMORY, CUDA_GRAPHS = "when-not/#out-of-memory", "modes/#cuda-graphs"
DETECTION, SEGMENTATION = "compile/#object-detection", "compile/#image-segmentation"
DATA_TYPE, BATCH_SIZE, SHAPES = "data-types/", "modes/#batch-size", "modes/#dynamic-shapes"
INTERVALS = "methodology/#intervals"

# In every language.
CODE = {
    GRAPH_BREAKS: [".item()"],
    "modes/": ["reduce-overhead"],
    "modes/#sizes-measured": ["mark_dynamic"],
    "models/mask2former/": ["mask2"],
}

# By the page or section that they mean: as readers type them, with other endings, on other keyboards, and misspelt.
FIRST_HITS = {
    "en": {
        BREAK_EVEN: ["break-even", "break even"],
        RECOMPILATIONS: ["recompile", "recompilation", "recompiling"],
        GRAPH_BREAKS: ["graph break"],
        OUT_OF_MEMORY: ["out of memory"],
        BATCH_SIZE: ["batch sizes"],
        "start-faster/": ["warm start"],
        "models/segformer/": ["segformr", "segfformer", "sagformer", "segfromer"],
        "modes/": ["max-autotune"],
        "troubleshooting/#see": ["TORCH_LOGS"],
        "devices/t4/": ["T4"],
        "models/convnext/": ["convnext"],
        "devices/": ["device"],
        "models/": ["models"],
        DATA_TYPE: ["data type"],
        "contribute/#measure": ["--dry-run"],
    },
    "zh": {
        BREAK_EVEN: ["盈亏平衡点", "平衡"],
        OUT_OF_MEMORY: ["显存不足", "内存不足"],
        GRAPH_BREAKS: ["图中断"],
        RECOMPILATIONS: ["重新编译"],
        SHAPES: ["动态形状"],
        BATCH_SIZE: ["批次大小"],
        DATA_TYPE: ["数据类型"],
        INTERVALS: ["置信区间"],
        DETECTION: ["目标检测"],
        SEGMENTATION: ["图像分割"],
        CACHES: ["缓存"],
        CUDA_GRAPHS: ["ＣＵＤＡ图"],
        "devices/": ["设备"],
        "models/": ["模型"],
    },
    "ja": {
        BREAK_EVEN: ["損益分岐点"],
        OUT_OF_MEMORY: ["メモリ不足", "メモリー不足", "ﾒﾓﾘ不足", "めもり不足"],
        "models/": ["モデル"],
        GRAPH_BREAKS: ["グラフブレイク"],
        RECOMPILATIONS: ["再コンパイル"],
        CUDA_GRAPHS: ["ＣＵＤＡグラフ"],
        SHAPES: ["動的形状"],
        BATCH_SIZE: ["バッチサイズ"],
        DATA_TYPE: ["データ型"],
        INTERVALS: ["信頼区間"],
        DETECTION: ["物体検出"],
        CACHES: ["キャッシュ"],
        "when-not/#slower": ["遅くなるモデル"],
    },
    "ar": {
        "models/": ["نموذج", "النماذج"],
        "devices/": ["جهاز", "الأجهزة", "للأجهزة", "والأجهزة", "بالأجهزة", "أَجهِزة", "الاجهزه"],
        BREAK_EVEN: ["نقطة التعادل", "نقاط التعادل"],
        GRAPH_BREAKS: ["انقطاع المخطط", "انقطاعات المخططات"],
        BATCH_SIZE: ["حجم الدفعة", "أحجام الدفعات"],
        DATA_TYPE: ["نوع البيانات", "أنواع بيانات"],
        INTERVALS: ["فترة الثقة", "فترات الثقة"],
        DETECTION: ["اكتشاف كائن"],
        SEGMENTATION: ["تجزئة صورة"],
        OUT_OF_MEMORY: ["نفاد الذاكرة"],
        RECOMPILATIONS: ["إعادة التصريف"],
    },
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_page_that_a_reader_means_comes_first(code: str, page: Page, site: BuiltSite, hosted_site: str) -> None:
    home = hosted_site + PREFIXES[code]
    page.goto(home)
    expected = {query: hit for hits in (CODE, FIRST_HITS[code]) for hit, queries in hits.items() for query in queries}
    first, pages = {}, set()
    for query in expected:
        found = [address.removeprefix(home) for address in search(page, query)]
        first[query] = first_hit(page, found)
        pages |= {address.partition("#")[0] for address in found}
        expect(page.locator(".md-search-result mark mark")).to_have_count(0)  # a word is marked once
    assert first == expected
    assert pages <= site.pages(PREFIXES[code]).keys(), "pages of another language are found"


def test_a_found_word_is_shown_in_its_sentence_and_marked_on_its_page(page: Page, hosted_site: str) -> None:
    page.goto(f"{hosted_site}ar/")
    search(page, "torch.compile")
    shown = page.locator(".md-search-result__item").first
    expect(shown.locator("mark").first).to_have_text(re.compile("torch|compile", re.IGNORECASE))
    best = shown.locator(".md-search-result__article").first
    expect(best.locator(".md-search-result__terms")).to_have_count(0)  # nothing is said to be missing
    shown.locator(".md-search-result__link").first.click()
    expect(page.locator("article mark[data-md-highlight]").first).to_be_visible()
