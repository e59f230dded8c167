"""The strip that says on each page what is measured beside the server; a real one is in `tests/browser`."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import LANGUAGES
from rich.console import Console
from test_sweep import plan

from bench.plans.plan import pending
from bench.running.progress import Reporter
from generator.languages.language import load_language
from generator.live.strip import LiveRun, Progress, Stage, Strip, progress_of

MOUNT = "/atlas/"
MEASURING = Progress("Segformer", 1, 3, 5)


def test_a_line_of_a_real_run_is_understood() -> None:
    out = io.StringIO()
    reporter = Reporter(Console(file=out, soft_wrap=True, highlight=False, markup=False))
    for left_s, minutes in ((40.0, 1), (130.0, 2), (7500.0, 125)):
        out.truncate(0)
        reporter.begin(pending(plan("ViT"), [])[0], 1, 2, left_s)
        assert progress_of(out.getvalue().lstrip("\0")) == Progress("ViT", 2, 3, minutes)
    assert progress_of("Checking the machine …") is None


def strip_of() -> tuple[LiveRun, Strip]:
    live_run = LiveRun(Path(), "3m")
    results = SimpleNamespace(own_devices=frozenset())
    guide: Any = SimpleNamespace(languages=[load_language(code) for code in LANGUAGES], results=results)
    return live_run, Strip(live_run, guide, MOUNT)


SAID = {
    "en": "Measuring Segformer, 1 of 3: about 5 min left.",
    "zh": "正在测量 Segformer，第 1 个，共 3 个，大约还需 5 分钟。",
    "ja": "Segformer を測定しています（3 件中 1 件目）。残り時間は約 5 分です。",
    "ar": "يجري قياس",
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_page_says_in_its_language_what_is_measured(code: str) -> None:
    live_run, strip = strip_of()
    live_run.stage, live_run.progress = Stage.MEASURING, MEASURING
    html = strip.html(code)
    assert SAID[code] in html
    assert f'src="{MOUNT}measuring/strip.js"' in html
    assert f'data-measuring="{MOUNT}measuring/{code}"' in html
    assert strip.answer(code, "GET")[1].decode() == html
    for stage in (Stage.INSTALLING, Stage.MEASURING, Stage.DONE, Stage.STOPPED, Stage.FAILED):
        live_run.stage = stage
        assert "untranslated" not in strip.html(code), stage


def test_a_reader_closes_it_when_nothing_is_measured_any_more() -> None:
    live_run, strip = strip_of()
    assert "data-close" not in strip.html("en")
    strip.answer("close", "POST")
    assert "atlas-measuring" in strip.html("en"), "it is still being measured"
    live_run.stage = Stage.DONE
    assert f'data-close="{MOUNT}measuring/close"' in strip.html("en")
    strip.answer("close", "GET")
    assert "atlas-measuring" in strip.html("en"), "only a click closes it"
    strip.answer("close", "POST")
    assert strip.html("en") == ""
    assert strip.answer("en", "GET")[1] == b""
