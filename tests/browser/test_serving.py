"""The real development server under a person who edits: pages reload, mistakes are shown, nothing hangs."""

from __future__ import annotations

import contextlib
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
from conftest import small_project
from playwright.sync_api import Browser, Page, expect

from bench.records import run_file
from browser.chromium import PATIENCE_MS
from browser.kinds import WITHOUT_SEARCH

pytestmark = pytest.mark.browser

REBUILD_MS = 60_000
"""A rebuild takes a few seconds; a machine that does other things as well may need much longer."""


@dataclass
class Server:
    """A running `mkdocs serve` in a copy of the project."""

    project: Path
    address: str
    process: subprocess.Popen[str]
    output: list[str] = field(default_factory=list)


def started(project: Path, *command: str, when: str) -> Server:
    """Start ``python -m COMMAND`` as a person does, at a free port, and return it once it has said `when`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", *command, "--dev-addr", f"127.0.0.1:{port}"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A shell that starts tests in the background has them, and what they start, ignore Ctrl-C; nohup, SIGHUP.
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in (signal.SIGINT, signal.SIGHUP)],  # noqa: PLW1509
    )
    server = Server(project, f"http://127.0.0.1:{port}/", process)
    is_ready: queue.Queue[bool] = queue.Queue()

    def drain() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            server.output.append(line)
            if when in line:
                is_ready.put(True)
        is_ready.put(False)

    threading.Thread(target=drain, daemon=True).start()
    assert is_ready.get(timeout=60), "".join(server.output)
    return server


@contextlib.contextmanager
def serving(project: Path) -> Iterator[Server]:
    """A server, ready to answer; ended by Ctrl-C."""
    server = started(project, "mkdocs", "serve", when="Serving on")
    yield server
    server.process.send_signal(signal.SIGINT)
    server.process.wait(timeout=60)
    assert "Traceback" not in "".join(server.output)


DEVICE = """---
for_each: devices
title: "{{ device.label }}"
---

# {{ device.label | name }} {#device}

{% for section in device.sections %}
{{ latency_table(device=device.slug, torch=section.torch, compile_mode=section.compile_mode, batch_size=1) }}
{% endfor %}
"""


def without_charts(folder: Path) -> Path:
    """A small project with pages of devices. Drawing charts of records that nobody has drawn before takes long."""
    project = small_project(folder, "devices/each.md", "devices/index.md", "methodology.md")
    (project / "docs" / "devices" / "each.md").write_text(DEVICE, encoding="utf-8")
    return project


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(without_charts(tmp_path_factory.mktemp("project"))) as server:
        yield server


@pytest.fixture
def server(running: Server, page: Page) -> Iterator[Server]:
    """A server whose project is as it was: what a test has changed is changed back, and built, before the next one."""
    folders = ("bench/results", "docs", "locales")
    files = [
        running.project / "mkdocs.yml",
        *(path for name in folders for path in (running.project / name).rglob("*")),
    ]
    before = {path: path.read_bytes() for path in files if path.is_file()}
    yield running
    after = {path for name in folders for path in (running.project / name).rglob("*") if path.is_file()}
    added, changed = after - before.keys(), [path for path, content in before.items() if path.read_bytes() != content]
    if not added and not changed:
        return
    mark(page)
    for path in added:
        path.unlink()
    for path in changed:
        path.write_bytes(before[path])
    expect_reload(page)


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    """One tab that stays open, as a writer's does."""
    page = browser.new_page()
    page.add_init_script(WITHOUT_SEARCH)
    page.set_default_timeout(REBUILD_MS)
    expect.set_options(timeout=REBUILD_MS)
    yield page
    expect.set_options(timeout=PATIENCE_MS)
    page.close()


BROKEN = '\nmsgid "unfinished\n'
NOTICE = ".atlas-problem"


def catalog(project: Path) -> Path:
    return project / "locales" / "zh" / "LC_MESSAGES" / "messages.po"


def add_run(project: Path) -> Path:
    """A record of a device that nobody has heard of, in a file of its own."""
    published = next(run_file.read(project / "bench/results/published/huggingface-2023.jsonl"))
    environment = msgspec.structs.replace(published.environment, device_name="NVIDIA Testbed 9000")
    path = project / "bench/results/measured/a-new-run.jsonl"
    run_file.append(path, [msgspec.structs.replace(published, run="a-new-run", environment=environment)])
    return path


def mark(page: Page) -> None:
    page.evaluate("document.documentElement.dataset.before = 'here'")


def expect_reload(page: Page) -> None:
    """The mark is gone with the page that had it."""
    expect(page.locator("html:not([data-before])")).to_have_count(1)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_server_that_starts_with_bad_input_shows_it_and_recovers(tmp_path: Path, page: Page) -> None:
    project = without_charts(tmp_path)
    catalog(project).write_text(catalog(project).read_text("utf-8") + BROKEN, "utf-8")
    with serving(project) as server:
        page.goto(f"{server.address}zh/devices/")
        expect(page.locator(NOTICE)).to_contain_text("locales/zh/LC_MESSAGES/messages.po")
        expect(page.locator(NOTICE)).to_contain_text("remedy")
        edit(catalog(project), BROKEN, "")
        expect(page.locator("h1#devices")).to_be_visible()
        expect(page.locator(NOTICE)).to_have_count(0)


def test_a_new_record_appears(server: Server, page: Page) -> None:
    page.goto(f"{server.address}ja/devices/")
    add_run(server.project)
    expect(page.locator("article")).to_contain_text("Testbed 9000")
    page.goto(f"{server.address}ar/devices/testbed-9000/")
    expect(page.locator("article")).to_contain_text("7.584")


def test_an_edited_page_template_and_stylesheet_reload(server: Server, page: Page) -> None:
    page.goto(f"{server.address}methodology/")
    edit(
        server.project / "docs/methodology.md",
        "**Verified:** the benchmark itself",
        "**Verified:** our benchmark itself",
    )
    expect(page.locator("article")).to_contain_text("Verified: our benchmark")
    edit(
        server.project / "docs/theme/partials/copyright.html",
        '<div class="md-copyright">',
        '<div class="md-copyright">Edited.',
    )
    expect(page.locator(".md-copyright")).to_contain_text("Edited.")
    stylesheet = server.project / "docs/assets/stylesheets/atlas.css"
    stylesheet.write_text(stylesheet.read_text("utf-8") + "\nh1 { outline-width: 7px !important; }\n", "utf-8")
    expect(page.locator("h1")).to_have_css("outline-width", "7px")


def test_a_broken_record_is_shown_with_the_last_good_data_until_it_is_mended(server: Server, page: Page) -> None:
    page.goto(f"{server.address}zh/devices/a100/")
    cells = page.locator("article table").first.locator("tbody").inner_text()
    run = server.project / "bench/results/published/huggingface-2023.jsonl"
    whole = run.read_bytes()
    last = whole.count(b"\n")
    run.write_bytes(whole + b'{"schema": 1, "run": \n')
    expect(page.locator(NOTICE)).to_contain_text(f"{run.name}:{last + 1}")
    assert page.locator("article table").first.locator("tbody").inner_text() == cells
    page.goto(server.address)
    expect(page.locator(NOTICE)).to_be_visible()
    run.write_bytes(whole)
    expect(page.locator(NOTICE)).to_have_count(0)


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
