"""`python -m generator guide` as its reader sees it: the guide at once, and a strip until this machine is measured.

The server, the browser and Ctrl-C are real. What installs and measures is replaced, so that a test decides when a cell
ends; `tests/generator/live` and `tests/bench` have the rest.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from browser.kinds import WITHOUT_SEARCH
from browser.test_serving import REBUILD_MS, Server, started, without_charts

pytestmark = pytest.mark.browser

STRIP = ".atlas-measuring"

BENCH = '''
"""In place of `python -m bench`: each step waits for a file, and a cell leaves a real record."""
import sys, time
from pathlib import Path
import msgspec
from bench.records import run_file

def until(name):
    while not Path(name).exists():
        time.sleep(0.02)

if sys.argv[1] == "install":
    until("installed")
    sys.exit()
out = Path("bench/results/measured/2026-11-23_testbed-9000_quick.jsonl")
published = next(run_file.read(Path("bench/results/published/huggingface-2023.jsonl")))
environment = msgspec.structs.replace(published.environment, device_name="NVIDIA Testbed 9000")
for number in (1, 2):
    print(f"[{number}/2] Segformer, process 1 … about 280 s left")
    until(f"measured-{number}")
    record = msgspec.structs.replace(published, run=out.stem, environment=environment, process=number - 1)
    run_file.append(out, [record])
'''


@contextlib.contextmanager
def guiding(project: Path) -> Iterator[Server]:
    """The guide of a project, started as a person starts it, until it has ended or the test has."""
    (project / "bench" / "__main__.py").write_text(BENCH, encoding="utf-8")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)  # which tells the reader's own records
    server = started(project, "generator", "guide", "--time-budget", "3m", when="The guide is at")
    process = server.process
    try:
        yield server
    finally:
        left = psutil.Process(process.pid).children() if process.poll() is None else []
        for each in (process, *left):
            each.kill()
        process.wait(60)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def said(server: Server, words: str) -> None:
    """Wait until the terminal says so."""
    until(lambda: any(words in line for line in server.output))


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    page.add_init_script(WITHOUT_SEARCH)
    page.set_default_timeout(REBUILD_MS)
    yield page
    page.close()


def answers(server: Server) -> bool:
    with urllib.request.urlopen(server.address, timeout=60) as answer:
        return bool(answer.status == 200)


def test_the_guide_is_read_while_this_machine_is_measured(tmp_path: Path, page: Page) -> None:
    with guiding(without_charts(tmp_path)) as server:
        page.goto(f"{server.address}zh/devices/")
        strip = page.locator(STRIP)
        expect(strip).to_contain_text("正在安装 PyTorch", timeout=REBUILD_MS)
        (server.project / "installed").touch()
        expect(strip).to_contain_text("正在测量 Segformer，第 1 个，共 2 个，大约还需 5 分钟", timeout=REBUILD_MS)
        assert strip.locator("a").count() == 0
        (server.project / "measured-1").touch()
        expect(page.locator("article")).to_contain_text("Testbed 9000", timeout=REBUILD_MS)
        expect(strip).to_contain_text("第 2 个，共 2 个", timeout=REBUILD_MS)
        strip.locator("a").click()
        expect(page.locator("h1#device")).to_contain_text("Testbed 9000", timeout=REBUILD_MS)
        page.goto(f"{server.address}ar/devices/")
        assert page.locator(STRIP).evaluate("each => getComputedStyle(each).direction") == "rtl"
        (server.project / "measured-2").touch()
        expect(page.locator(f"{STRIP} button")).to_be_visible(timeout=REBUILD_MS)
        said(server, "This machine has been measured.")
        page.locator(f"{STRIP} button").click()
        expect(page.locator(STRIP)).to_have_count(0)
        page.evaluate("address => { location.href = address }", f"{server.address}ja/devices/")  # also during a reload
        expect(page.locator("html[lang=ja] h1")).to_be_visible(timeout=REBUILD_MS)
        expect(page.locator(STRIP)).to_have_count(0)


def test_ctrl_c_ends_measuring_and_then_the_server(tmp_path: Path, page: Page) -> None:
    with guiding(without_charts(tmp_path)) as server:
        page.goto(server.address)
        (server.project / "installed").touch()
        expect(page.locator(STRIP)).to_contain_text("Measuring Segformer", timeout=REBUILD_MS)
        server.process.send_signal(signal.SIGINT)
        said(server, "Press Ctrl-C again to stop the server")
        expect(page.locator(STRIP)).to_contain_text("The measurement was stopped", timeout=REBUILD_MS)
        assert answers(server)
        server.process.send_signal(signal.SIGINT)
        server.process.wait(60)
        assert "Traceback" not in "".join(server.output)
