"""The development server with misbehaving clients and files: it answers, reveals nothing, and goes on."""

from __future__ import annotations

import contextlib
import http.client
import re
import shutil
import signal
import socket
import threading
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


def test_a_client_that_never_reads_keeps_nobody_waiting(server: Server) -> None:
    host, port = urlsplit(server.address).hostname, urlsplit(server.address).port
    large = max((path for path in (ROOT / "docs/assets").rglob("*") if path.is_file()), key=lambda p: p.stat().st_size)
    requests = [
        f"GET /{large.relative_to(ROOT / 'docs').as_posix()} HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET / HTTP/1.1\r\nHos",  # and no more of it
        "",
        "\r\n",
        "NONSENSE\r\n\r\n",
    ]
    silent = []
    for request in requests * 4:
        client = socket.create_connection((host, port), timeout=PATIENCE_S)
        client.sendall(request.encode())
        silent.append(client)
    say(server, "with silent clients")
    await_page(server, lambda page: "with silent clients" in page)
    for client in silent:
        client.close()


# ── What is written meanwhile ───────────────────────────────────────────────────────────────────────────────────────


def test_a_thousand_changes_in_a_moment_end_in_the_last_one(server: Server) -> None:
    for number in range(1000):
        say(server, f"change {number}")
        (server.project / "docs" / f"draft-{number}.md").write_text("# Draft {#draft}\n")
        (server.project / "docs" / f"draft-{number}.md").unlink()
    await_page(server, lambda page: "change 999." in page)


BROKEN = {
    "docs": ("index.md", "\n{{ atlas.no_such_figure }}\n"),
    "bench/results": ("published/huggingface-2023.jsonl", '{"schema": 1, \n'),
    "locales": ("ar/LC_MESSAGES/messages.po", '\nmsgid "unfinished\n'),
}
"""For each folder, a file and a mistake to append to it."""


@pytest.mark.parametrize("name", BROKEN)
def test_a_folder_may_vanish_and_come_back(server: Server, name: str) -> None:
    folder, away = server.project / name, server.project / "away"
    folder.rename(away)
    time.sleep(1.5)  # it is noticed
    assert get(server)
    away.rename(folder)
    await_page(server, lambda page: NOTICE not in page)
    file, mistake = folder / BROKEN[name][0], BROKEN[name][1]
    whole = file.read_text("utf-8")
    file.write_text(whole + mistake, "utf-8")
    concerned = "ar/" if name == "locales" else ""
    await_page(server, lambda page: NOTICE in page and file.name in page, concerned)
    file.write_text(whole, "utf-8")
    await_page(server, lambda page: NOTICE not in page, concerned)


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


REBUILDS = 500 if THOROUGH else 6
SETTLED = REBUILDS // 3
"""Rebuilds after which memory no longer grows."""

GROWTH_MB = 48.0
"""Memory that the allocator may keep: one page for each of 500 rebuilds would take several times that."""


def test_memory_is_flat_over_many_rebuilds(server: Server) -> None:
    memory = []
    for number in range(REBUILDS):
        say(server, f"rebuild {number}")
        await_page(server, re.compile(rf"rebuild {number}\.").search)
        memory.append(resident_mb(server.process.pid))
    growth = max(memory[-3:]) - max(memory[: SETTLED + 1])
    assert growth < GROWTH_MB, memory


def resident_mb(pid: int) -> float:
    text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) / 1024  # type: ignore[index]


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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_leaves_no_folder_behind_when_it_is_asked_to_end(
    number: signal.Signals, tmp_path: Path, temporary: Path
) -> None:
    with serving(small_project(tmp_path / "project")) as server:
        assert get(server)
        server.process.send_signal(number)
        server.process.wait(timeout=PATIENCE_S)
    assert [path.name for path in temporary.iterdir() if path.name != "jieba.cache"] == []


@pytest.mark.parametrize("delay_s", [0.4, 0.6, 0.9] if THOROUGH else [0.6])
def test_it_may_end_while_it_makes_pages(delay_s: float, tmp_path: Path, temporary: Path) -> None:
    with serving(small_project(tmp_path / "project")) as server:
        for folder in ("", "zh/", "ja/", "ar/"):
            threading.Thread(target=_ask, args=(f"{server.address}{folder}search/search_index.json",)).start()
        time.sleep(delay_s)  # some of what they ask for is made
    assert server.process.returncode == 0
    assert [path.name for path in temporary.iterdir() if path.name != "jieba.cache"] == []


def _ask(address: str) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException):  # the server ends before it answers
        urllib.request.urlopen(address, timeout=PATIENCE_S).read()
