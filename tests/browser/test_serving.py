"""The real development server under a person who edits: pages reload, mistakes are shown, nothing hangs."""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from conftest import copy_of_project
from playwright.sync_api import Browser, Page, expect

from bench import record

pytestmark = pytest.mark.browser

PATIENCE_MS = 60_000
"""A rebuild takes a few seconds; a machine that does other things as well may need much longer."""


@dataclass
class Server:
    """A running `mkdocs serve` in a copy of the project."""

    project: Path
    address: str
    process: subprocess.Popen[str]
    output: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Started while a catalog is broken, as it may happen to a translator."""
    project = copy_of_project(tmp_path_factory.mktemp("project"))
    (project / "docs" / "models" / "each.md").unlink()  # half of all pages; a rebuild without them takes half as long
    catalog(project).write_text(catalog(project).read_text("utf-8") + BROKEN, "utf-8")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "mkdocs", "serve", "--dev-addr", f"127.0.0.1:{port}"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell that starts tests in the background has them, and what they start, ignore Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    server = Server(project, f"http://127.0.0.1:{port}/", process)
    started: queue.Queue[bool] = queue.Queue()

    def drain() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            server.output.append(line)
            if "Serving on" in line:
                started.put(True)
        started.put(False)

    threading.Thread(target=drain, daemon=True).start()
    assert started.get(timeout=60), "".join(server.output)
    yield server
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    assert "Traceback" not in "".join(server.output)


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One tab that stays open, as a writer's does."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    expect.set_options(timeout=PATIENCE_MS)
    yield page
    expect.set_options(timeout=5_000)
    page.close()


BROKEN = '\nmsgid "unfinished\n'
NOTICE = ".atlas-problem"


def catalog(project: Path) -> Path:
    return project / "locales" / "zh" / "LC_MESSAGES" / "messages.po"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_server_that_starts_with_bad_input_shows_it_and_recovers(server: Server, page: Page) -> None:
    page.goto(f"{server.address}zh/devices/")
    expect(page.locator(NOTICE)).to_contain_text("locales/zh/LC_MESSAGES/messages.po")
    expect(page.locator(NOTICE)).to_contain_text("remedy")
    edit(catalog(server.project), BROKEN, "")
    expect(page.locator("h1#devices")).to_be_visible()
    expect(page.locator(NOTICE)).to_have_count(0)


def test_a_new_record_appears(server: Server, page: Page) -> None:
    page.goto(f"{server.address}ja/devices/")
    published = next(record.read(server.project / "bench/results/published/huggingface-2023.jsonl"))
    environment = msgspec.structs.replace(published.environment, device_name="NVIDIA Testbed 9000")
    new = msgspec.structs.replace(published, run="a-new-run", environment=environment)
    record.append(server.project / "bench/results/measured/a-new-run.jsonl", [new])
    expect(page.locator("article")).to_contain_text("Testbed 9000")
    page.goto(f"{server.address}ar/devices/testbed-9000/")
    expect(page.locator("article table").first).to_contain_text("7.584")


def test_an_edited_page_template_and_stylesheet_reload(server: Server, page: Page) -> None:
    page.goto(f"{server.address}methodology/")
    edit(server.project / "docs/methodology.md", "A sceptical reader", "A curious reader")
    expect(page.locator("article")).to_contain_text("A curious reader")
    edit(
        server.project / "docs/theme/partials/copyright.html",
        '<div class="md-copyright">',
        '<div class="md-copyright">Edited.',
    )
    expect(page.locator(".md-copyright")).to_contain_text("Edited.")
    stylesheet = server.project / "docs/assets/stylesheets/atlas.css"
    stylesheet.write_text(stylesheet.read_text("utf-8") + "\nh1 { outline-width: 7px !important; }\n", "utf-8")
    expect(page.locator("h1")).to_have_css("outline-width", "7px")


def test_an_edited_translation_reloads(server: Server, page: Page) -> None:
    page.goto(f"{server.address}zh/devices/")
    heading = page.locator("h1#devices")
    translated = heading.inner_text().removesuffix("¶").strip()
    edit(catalog(server.project), f'msgstr "{translated}"', f'msgstr "{translated}（改）"')
    expect(heading).to_contain_text("（改）")


def test_a_broken_record_is_shown_with_the_last_good_data_until_it_is_mended(server: Server, page: Page) -> None:
    page.goto(f"{server.address}zh/devices/a100/")
    cells = page.locator("article table").first.locator("tbody").inner_text()
    run = server.project / "bench/results/measured/a-new-run.jsonl"
    whole = run.read_bytes()
    run.write_bytes(whole + b'{"schema": 1, "run": \n')
    expect(page.locator(NOTICE)).to_contain_text("a-new-run.jsonl:2")
    assert page.locator("article table").first.locator("tbody").inner_text() == cells
    page.goto(server.address)
    expect(page.locator(NOTICE)).to_be_visible()
    run.write_bytes(whole)
    expect(page.locator(NOTICE)).to_have_count(0)


def test_a_line_that_is_still_being_written_is_no_mistake(server: Server, page: Page) -> None:
    page.goto(f"{server.address}data/")
    run = server.project / "bench/results/measured/a-new-run.jsonl"
    whole = run.read_bytes()
    page.evaluate("window.before = true")
    run.write_bytes(whole + b'{"schema": 1, "run"')
    page.wait_for_function("!window.before")
    expect(page.locator("h1")).to_be_visible()
    assert page.locator(NOTICE).count() == 0


def test_broken_settings_and_templates_are_shown_and_recovered_from(server: Server, page: Page) -> None:
    page.goto(f"{server.address}ja/")
    template = server.project / "docs/theme/main.html"
    whole = template.read_text("utf-8")
    template.write_text(whole + "{% endif %}", "utf-8")
    expect(page.locator(NOTICE)).to_contain_text("main.html")
    expect(page.locator("h1")).to_be_visible()
    template.write_text(whole, "utf-8")
    expect(page.locator(NOTICE)).to_have_count(0)
    settings = server.project / "mkdocs.yml"
    whole = settings.read_text("utf-8")
    settings.write_text(whole + "\nnav: [", "utf-8")
    expect(page.locator(NOTICE)).to_contain_text("mkdocs.yml")
    settings.write_text(whole, "utf-8")
    expect(page.locator(NOTICE)).to_have_count(0)
