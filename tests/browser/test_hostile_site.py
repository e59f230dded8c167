"""A site made of payloads: whatever strangers write into records and catalogs is text, with the policy and without."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from atlas_data import measured, telling
from conftest import THOROUGH, in_project, small_project
from hostile_values import CODE
from playwright.sync_api import Browser

from bench.records.record import GraphBreak, Graphs, Status
from bench.records.run_file import append, decode, encode
from browser.hosting import hosted
from browser.kinds import WITHOUT_SEARCH
from generator.languages.language import catalog_path

pytestmark = pytest.mark.browser

PAGES = ("explorer.md", "data.md", "devices/each.md", "devices/index.md", "models/each.md", "models/index.md")
VISITED = ("", "explorer/", "data/", "devices/", "models/")
TEXTS = [" ".join(code.split()) for code in CODE]
NAME = "[a](javascript:window.ran=1) ![b](x) *c* =1+1"
FOREIGN = """
    () => [...document.querySelectorAll("*")].flatMap(element => [...element.attributes]
      .filter(({ name, value }) => name.startsWith("on")
        || (!name.startsWith("data-") && /^\\s*javascript:/i.test(value)))
      .map(({ name, value }) => `${element.tagName} ${name}=${value}`))
      .concat([...document.querySelectorAll("script:not([src]):not([type='application/json'])")].map(each => each.text))
"""


def payloads() -> Iterator[Any]:
    """Records that are valid, with code wherever text is."""
    for number, text in enumerate(TEXTS):  # of one model: each has a page with charts in every language
        graphs = Graphs(graphs=2, breaks=(GraphBreak(reason=text, location=text),), cudagraph_skips=(text,))
        common: dict[str, Any] = {
            "run": "hostile",
            "model": NAME,
            "checkpoint": f"{NAME}/1",
            "device_name": NAME,
            "environment": {"settings": {text: text}},
        }
        yield measured(figures=telling(graphs=graphs), batch_size=2 * number + 1, **common)
        yield measured(status=Status.FAIL_TO_RUN, reason=text, batch_size=2 * number + 2, **common)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    project = small_project(folder / "project", *PAGES, languages=("en", "ar"))
    results = project / "bench" / "results" / "measured"
    records = list(payloads())
    assert [decode(encode(each), "x") for each in records] == records
    append(results / "hostile.jsonl", records)
    text = "&lt;script&gt;window.ran = 1&lt;/script&gt; javascript:window.ran=1 ' onclick=window.ran=1"
    with catalog_path("ar", project / "locales").open("a", encoding="utf-8") as catalog:
        catalog.write(f'\nmsgid "A paragraph that nobody translated."\nmsgstr "{text}"\n')
    done = in_project(project, "mkdocs", "build", "--site-dir", str(folder / "site"))
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.mark.parametrize("bypass", [True, False] if THOROUGH else [True])  # of the policy, which stops more by itself
def test_nothing_runs(site: Path, browser: Browser, *, bypass: bool) -> None:
    page = browser.new_page(bypass_csp=bypass)
    page.add_init_script(WITHOUT_SEARCH)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: requests.append(f"dialog {dialog.message}"))
    with hosted(site) as address:
        devices = [f"devices/{path.name}/" for path in (site / "devices").iterdir() if path.is_dir()]
        models = [f"models/{path.name}/" for path in sorted((site / "models").iterdir()) if path.is_dir()][:1]
        shown = ""
        for prefix in ("", "ar/"):
            for uri in (*VISITED, *devices, *models) if bypass and not prefix else ("", "explorer/", *devices):
                page.goto(f"{address}{prefix}{uri}", wait_until="load")
                if uri == "explorer/":
                    page.locator(".explorer tbody tr").first.wait_for()
                assert page.evaluate(FOREIGN) == [], uri
                assert page.evaluate("window.ran") is None
                shown += page.locator("article").text_content() or ""  # also of what is not laid out yet
        assert [url for url in requests if not url.startswith((address, "data:", "blob:"))] == []
    assert "<script>window.ran = 1</script>" in shown, "payloads are shown, as text"
    assert NAME in shown
    page.close()


def test_files_say_what_they_are_and_hold_no_formula(site: Path) -> None:
    rows = json.loads((site / "data" / "v2" / "compile-atlas.json").read_text(encoding="utf-8"))
    assert TEXTS[0] in {row.get("reason") for row in rows}
    with hosted(site) as address:
        for name, kind in (("json", "application/json"), ("csv", "text/csv")):
            with urllib.request.urlopen(f"{address}data/v2/compile-atlas.{name}") as response:
                assert response.headers.get_content_type() == kind
    for drawing in site.glob("assets/charts/*.svg"):
        text = drawing.read_text(encoding="utf-8")
        assert "<script" not in text
        assert "onload" not in text
