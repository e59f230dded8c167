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

CODE = {
    ".item()": GRAPH_BREAKS,
    "reduce-overhead": "modes/",
    "mark_dynamic": SHAPES,
    "mask2": "models/mask2former/",
}

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
        # with attached letters, with vowel signs, and as typed on a phone
        "للأجهزة": "devices/",
        "والأجهزة": "devices/",
        "بالأجهزة": "devices/",
        "أَجهِزة": "devices/",
        "الاجهزه": "devices/",
        "نفاد الذاكرة": OUT_OF_MEMORY,
        "إعادة التصريف": RECOMPILATIONS,
    },
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_page_that_a_reader_means_comes_first(code: str, page: Page, site: BuiltSite, hosted_site: str) -> None:
    home = hosted_site + PREFIXES[code]
    page.goto(home)
    first, pages = {}, set()
    for query in FIRST_HITS[code]:
        found = [address.removeprefix(home) for address in search(page, query)]
        first[query] = first_hit(page, found)
        pages |= {address.partition("#")[0] for address in found}
        expect(page.locator(".md-search-result mark mark")).to_have_count(0)  # a word is marked once
    assert first == FIRST_HITS[code]
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
