"""The development server answers, reveals nothing, and goes on after any edit."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from browser.test_serving import Server, serving
from conftest import THOROUGH, small_project

PATIENCE_S = 60.0
"""A rebuild of a page takes a moment; on a busy machine, longer."""

SECRET, NOTICE = "nobody's business", 'class="atlas-problem"'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A small guide in two languages, with a secret beside the published files."""
    project = small_project(tmp_path_factory.mktemp("project"), languages=("en", "ar"))
    (project / "secret.txt").write_text(SECRET)
    temporary = project / "tmp"
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        with serving(project) as server:
            yield server
    assert [path.name for path in temporary.iterdir()] == [], "no folder is left behind"


def get(server: Server, path: str = "") -> str:
    """Return a page, whatever its status."""
    try:
        with urllib.request.urlopen(server.address + path, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError as error:
        return error.read().decode()


def await_page(server: Server, is_it: Callable[[str], object], path: str = "") -> str:
    """Wait for a page that fulfils a condition."""
    end = time.monotonic() + PATIENCE_S
    while not is_it(page := get(server, path)):
        assert time.monotonic() < end, "".join(server.output)[-3000:]
        time.sleep(0.2)
    return page


def say(server: Server, words: str) -> None:
    """Edit the first page."""
    page = server.project / "docs" / "index.md"
    page.write_text(re.sub(r"(?m)^A paragraph.*$", f"A paragraph: {words}.", page.read_text("utf-8")), "utf-8")


def test_an_address_without_its_last_slash_leads_to_the_page(server: Server) -> None:
    with urllib.request.urlopen(f"{server.address}ar", timeout=PATIENCE_S) as answer:
        assert answer.url == f"{server.address}ar/"


def test_the_search_index_has_all_pages_when_it_is_asked_for(server: Server) -> None:
    found = json.loads(get(server, "ar/search/search_index.json"))
    assert {entry["location"].partition("#")[0] for entry in found["docs"]} == {""}


def test_a_renamed_page_is_gone_and_links_to_it_are_told(server: Server) -> None:
    other, home = server.project / "docs" / "other.md", server.project / "docs" / "index.md"
    other.write_text("---\ntitle: Other\n---\n\n# Other {#other}\n")
    home.write_text(home.read_text("utf-8") + "\n[There](other.md)\n", "utf-8")
    for path in ("other/", "ar/other/"):
        await_page(server, lambda page: 'id="other"' in page, path)
    other.rename(server.project / "docs" / "new.md")
    for path in ("other/", "ar/other/"):
        await_page(server, lambda page: 'id="other"' not in page, path)
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(server.address + path, timeout=PATIENCE_S)
        assert 'id="other"' in get(server, path.replace("other", "new"))
        get(server, path.replace("other/", ""))
    told = "Doc file 'index.md' contains a link 'other.md', but the target is not found among documentation files."
    assert sum(told in line for line in server.output) == len(("en", "ar"))


PATHS = [f"/{prefix}{'/'.join([up] * depth)}/{name}" for up in ("..", "%2e%2e", "..%2f..") for prefix in ("", "assets/")
         for depth in (1, 2, 12) for name in ("secret.txt", "mkdocs.yml", "etc/passwd")]  # fmt: skip
PATHS += ["//etc/passwd", "/%2fetc/passwd", "/secret.txt", "/mkdocs.yml", "/.cache/", "/~root/", f"/{'a' * 5000}"]


def test_no_path_leads_out_of_the_site(server: Server) -> None:
    host = urlsplit(server.address).netloc
    for path in PATHS:
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
        connection.putrequest("GET", path, skip_host=True)  # as it is, which no browser would send
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        assert answer.status in (302, 400, 404, 414, 500), (path, answer.status)
        assert not any(text in body for text in ("root:", SECRET, "site_name:")), path
        connection.close()
    assert NOTICE not in get(server), "a request is no input"


def test_a_fault_of_one_language_is_shown_on_its_pages_alone(server: Server) -> None:
    catalog = server.project / "locales" / "ar" / "LC_MESSAGES" / "messages.po"
    whole = catalog.read_text("utf-8")
    catalog.write_text(whole + '\nmsgid "unfinished\n', "utf-8")
    page = await_page(server, lambda page: NOTICE in page, "ar/")
    assert "ar/LC_MESSAGES/messages.po" in page
    say(server, "beside a broken catalog")
    assert NOTICE not in await_page(server, lambda page: "beside a broken catalog" in page)
    assert NOTICE in await_page(server, lambda page: "beside a broken catalog" in page, "ar/"), "with the last catalog"
    catalog.write_text(whole, "utf-8")
    await_page(server, lambda page: NOTICE not in page, "ar/")


BAD = ["bench/results/published/huggingface-2023.jsonl", "locales/glossary.toml", "mkdocs.yml", "docs/index.md"]


def test_bad_data_of_any_kind_is_reported_or_ignored(server: Server) -> None:
    for name in BAD if THOROUGH else BAD[:1]:
        path = server.project / name
        whole = path.read_bytes()
        for content in (b"", whole[: len(whole) // 2], b"\xff\xfe" + whole, whole + b'{"\n', b"[" * 100_000):
            path.write_bytes(content)
            time.sleep(0.7)  # it is noticed, or with the next one
            assert get(server)
        path.write_bytes(whole)
    say(server, "after bad data")
    assert NOTICE not in await_page(server, lambda page: "after bad data" in page)
