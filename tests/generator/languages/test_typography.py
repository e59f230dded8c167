"""Spaces between CJK and Latin, isolates in right-to-left text."""

from __future__ import annotations

import re
from html import unescape

import pytest
from hypothesis import example, given, strategies as st
from markdown_html import to_html
from markupsafe import escape

from generator.languages.blocks import EXPRESSION
from generator.languages.language import load_language
from generator.languages.typography import (
    close_seams,
    code_from_the_left,
    in_markdown,
    isolate_latin,
    mark_seams,
    together,
)


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("用于{{ x }}的", "图像分类", "用于图像分类的"),
        ("用于 {{ x }} 的", "图像分类", "用于图像分类的"),
        ("用于{{ x }}的", "ViT", "用于 ViT 的"),
        ("共{{ x }}的", "12 个模型", "共 12 个模型的"),
        ("共{{ x }}。", "12 个模型", "共 12 个模型。"),
        ("共{{ x }}，{{ x }}中", "5", "共 5，5 中"),
        ("[{{ x }}]({{ x }}) a", "a", "[a](a) a"),
    ],
)
def test_the_value_decides_on_the_space_beside_it(text: str, value: str, expected: str) -> None:
    marked = mark_seams(text, EXPRESSION)
    assert close_seams(EXPRESSION.sub(value, marked)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("يستخدم PyTorch هنا", 'يستخدم <bdi dir="ltr">PyTorch</bdi> هنا'),
        ("وC++ وA100-SXM4", 'و<bdi dir="ltr">C++</bdi> و<bdi dir="ltr">A100-SXM4</bdi>'),
        ("في PyTorch {{ v | name }}", 'في <bdi dir="ltr">PyTorch {{ v | name }}</bdi>'),
        ("الوضع `reduce-overhead`", "الوضع `reduce-overhead`"),
        ("[الدليل](guide.md#why){ .md-button }", "[الدليل](guide.md#why){ .md-button }"),
        ('<b class="lead">نص</b> <bdi dir="ltr">ViT</bdi>', '<b class="lead">نص</b> <bdi dir="ltr">ViT</bdi>'),
        ("![صورة ViT](a.svg)", "![صورة ViT](a.svg)"),
        ("متوسط الخطأ وR² هنا", 'متوسط الخطأ و<bdi dir="ltr">R²</bdi> هنا'),
        ("%(name)s نص", "%(name)s نص"),
        ("نص $x_{max}$ و\\(y_i\\)", "نص $x_{max}$ و\\(y_i\\)"),
    ],
)
def test_latin_names_are_isolated(text: str, expected: str) -> None:
    assert isolate_latin(text) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("batch size 4", "batch\u00a0size\u00a04"),
        ('<bdi dir="ltr">12</bdi> مقارنة', '<bdi dir="ltr">12</bdi>\u00a0مقارنة'),
        ("Intel Xeon 2.50 GHz, 2 cores at work", "Intel Xeon 2.50\u00a0GHz, 2\u00a0cores at work"),
        ("测量时间：2026 年 11 月 21 日", "测量时间：2026\u00a0年\u00a011\u00a0月\u00a021\u00a0日"),
        ("from 4 to 16 at once and more", "from 4\u00a0to 16\u00a0at once and more"),
    ],
)
def test_short_facts_and_what_is_counted_stay_together(html: str, expected: str) -> None:
    assert together(html) == expected


@pytest.mark.parametrize("text", ["torch.compile من الداخل", "\u200eA100\u200e: زمن", "A100", "(GPU) و", "12"])
def test_what_begins_otherwise_gets_a_mark_before_it(text: str) -> None:
    assert load_language("ar").alone(text) == f"\u200f{text}"


def test_code_has_its_own_direction_once() -> None:
    html = '<p><code class="whole">a b</code> <code dir="ltr">c</code><codec></p><pre><code>d</code></pre>'
    expected = html.replace("<code class", '<code dir="ltr" class').replace(
        "<pre><code>", '<pre dir="ltr"><code dir="ltr">'
    )
    assert code_from_the_left(html) == expected
    assert code_from_the_left(expected) == expected


LETTERS = st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")) | st.sampled_from("`*_[](){}|#!<>&;\\~-+ 1.:/")


@example("2.50\u00a0GHz")  # no line ends before a unit
@given(st.text(LETTERS, min_size=1, max_size=25).map(str.strip).filter(bool))
def test_a_name_in_a_table_stays_a_name_whatever_it_holds(name: str) -> None:
    table = to_html(f"| a | b |\n| --- | --- |\n| x | {in_markdown(str(escape(name)))} |")
    (cell,) = re.findall(r"<td>(.*?)</td>", table)
    assert unescape(re.sub("<[^>]*>", "", cell)) == name
