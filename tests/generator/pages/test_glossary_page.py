"""The glossary: each term in every language, with words that are wrong, and the names that stay."""

from __future__ import annotations

import re
from pathlib import Path

from markdown_html import to_html

from generator.languages.language import load_language
from generator.pages.glossary_page import glossary_tables

GLOSSARY = """
keep = ["ViT", "PyTorch"]

[[term]]
en = "warm-up"
zh = "预热"
ja = "ウォームアップ"
ar = "إحماء"
avoid = { zh = ["热身"] }

[[term]]
en = "latency"
zh = "延迟"
ja = "レイテンシ"
ar = "زمن الاستجابة"
accept = { ja = ["遅延"] }
"""


def test_terms_are_sorted_in_their_own_direction_with_other_words(tmp_path: Path) -> None:
    (tmp_path / "glossary.toml").write_text(GLOSSARY, encoding="utf-8")
    tables = glossary_tables(load_language("en"), tmp_path)
    html = to_html(tables["glossary_table"]())
    first, second = re.findall(r"(?s)<tbody>.*?<tr>(.*?)</tr>.*?<tr>(.*?)</tr>", html)[0]
    assert "latency" in first
    assert '<span lang="ar" dir="rtl">زمن الاستجابة</span>' in first
    assert '<small>also <span lang="ja" dir="ltr">遅延</span></small>' in first
    assert '<small>not <span lang="zh" dir="ltr">热身</span></small>' in second
    assert re.sub("<[^>]*>", "", tables["glossary_names"]()) == "PyTorch and ViT"
