"""The development server with misbehaving clients and files: it answers, reveals nothing, and goes on."""

from __future__ import annotations

import http.client
import re
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest
from browser.test_serving import Server, serving
from conftest import ROOT, THOROUGH, small_project

from bench.errors import AtlasError
from generator.site import preview

PATIENCE_S = 60.0
"""A rebuild of a page takes a moment; on a busy machine, longer."""

SECRET = "nobody's business"

NOTICE = 'class="atlas-problem"'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A small guide in two languages, with a secret beside what is published."""
    project = small_project(tmp_path_factory.mktemp("project"), languages=("en", "ar"))
    (project / "secret.txt").write_text(SECRET)
    with serving(project) as server:
        yield server


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


# ── Who is answered what ────────────────────────────────────────────────────────────────────────────────────────────


def test_it_listens_to_this_machine_alone(server: Server) -> None:
    assert "dev_addr" not in (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), "MkDocs' own choice is 127.0.0.1"
    assert "HOST ?= 127.0.0.1" in (ROOT / "Makefile").read_text()
    port = urlsplit(server.address).port
    assert port
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.2", port), timeout=5):
        pass


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *(("localhost:1", 200), ("LOCALHOST", 200), ("127.0.0.1", 200), ("[::1]:8000", 200), ("192.0.2.7:80", 200)),
        *(("named.dev", 200), ("atlas.example", 200), ("evil.example", 421), ("localhost.evil.example", 421)),
        ("", 421),
    ],
)
def test_a_name_of_somebody_else_is_not_answered(host: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(preview.HOSTS, "other.dev named.dev")
    answered: list[str] = []

    def app(_environ: object, start_response: Callable[..., object]) -> list[bytes]:
        start_response("200 OK", [])
        return [b"a page"]

    served = preview._of_known_hosts(app, "atlas.example")
    (body,) = served({"HTTP_HOST": host}, lambda status, _: answered.append(status))
    assert answered[0].startswith(str(status))
    assert (preview.HOSTS in body.decode()) == (status == 421)


def test_an_error_of_an_older_input_is_not_shown_beside_a_newer_one() -> None:
    class Pages:
        def build(self, _path: str) -> Iterator[None]:
            yield
            shown._read_sources()  # an edit arrives between two steps
            raise AtlasError("of the edit before")

    guide = SimpleNamespace(languages=["en"], faults={}, update=lambda: None)
    shown = preview.Preview(guide, {"": Pages()})  # type: ignore[arg-type, dict-item]
    shown._build("index.html")
    assert not shown._problem("index.html")


UP = ("..", "%2e%2e", ".%2e", "..%2f..", "%252e%252e", "..%5c..", "..\\..", "....", "..;", "%c0%ae%c0%ae")
PATHS = [f"/{prefix}{'/'.join([up] * depth)}/{name}" for up in UP for prefix in ("", "assets/") for depth in (1, 2, 12)
         for name in ("secret.txt", "mkdocs.yml", "etc/passwd")]  # fmt: skip
PATHS += ["//etc/passwd", "/%2fetc/passwd", "/secret.txt", "/mkdocs.yml", "/file:///etc/passwd"]
PATHS += ["http://localhost/../../etc/passwd", "/.cache/", "/bench/results/", "/~root/", f"/{'a' * 5000}"]


def test_no_path_leads_out_of_the_site(server: Server) -> None:
    host = urlsplit(server.address).netloc
    for path in PATHS:
        connection = http.client.HTTPConnection(host, timeout=PATIENCE_S)
        connection.putrequest("GET", path, skip_host=True)  # as it is, which no browser would send
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        body = answer.read().decode(errors="replace")
        assert answer.status in (302, 400, 404, 414), (path, answer.status)
        assert "root:" not in body, path
        assert SECRET not in body, path
        assert "site_name:" not in body, path
        connection.close()
    assert NOTICE not in get(server), "a request is no input"


# ── What is written meanwhile ───────────────────────────────────────────────────────────────────────────────────────


"""For each folder, a file and a mistake to append to it."""


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


def damage(path: Path) -> Iterator[bytes]:
    """Yield the file damaged: empty, cut off, no text, unfinished, twice, and something else altogether."""
    whole = path.read_bytes()
    yield from (
        b"",
        whole[: len(whole) // 2],
        b"\xff\xfe" + whole,
        whole + b'{"\n',
        whole * 2,
        bytes(1000),
        b"[" * 100_000,
    )


BAD = ["bench/results/published/huggingface-2023.jsonl", "locales/glossary.toml", "mkdocs.yml", "docs/index.md"]


def test_bad_data_of_any_kind_is_reported_or_ignored(server: Server) -> None:
    say(server, "before bad data")
    for name in BAD if THOROUGH else BAD[:1]:
        path = server.project / name
        whole = path.read_bytes()
        for content in damage(path):
            path.write_bytes(content)
            time.sleep(0.7)  # it is noticed, or with the next one
            assert get(server)
        path.write_bytes(whole)
    say(server, "after bad data")
    page = await_page(server, lambda page: "after bad data" in page)
    assert NOTICE not in page


"""Rebuilds after which memory no longer grows."""

"""Memory that the allocator may keep: one page for each of 500 rebuilds would take several times that."""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which a server creates its own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


def test_it_leaves_no_folder_behind(tmp_path: Path, temporary: Path) -> None:
    """Neither on exit nor after rebuilds."""
    project = small_project(tmp_path / "project", languages=("en", "ar"))
    with serving(project) as server:
        say(server, "built again")
        await_page(server, lambda page: "built again" in page)
    assert [path.name for path in temporary.iterdir()] == []
    shutil.rmtree(project)
