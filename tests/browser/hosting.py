"""A static host as people find it: a folder over HTTP, below a path; the root's 404 page stands for what is missing."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Host(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, *arguments: Any, site: Path, prefix: str) -> None:
        self.site, self.prefix = site, prefix
        super().__init__(*arguments, directory=str(site))

    def translate_path(self, path: str) -> str:
        inside = path.startswith(self.prefix)
        return super().translate_path("/" + path.removeprefix(self.prefix) if inside else "/outside of the site")

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        page = self.site / "404.html"
        if code != 404 or not page.is_file():
            super().send_error(code, message, explain)
            return
        content = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    request_queue_size = 128  # several browsers at once: a connection that finds no room is tried again a second later
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a page that is left drops what it still waits for
            super().handle_error(request, client_address)


@contextlib.contextmanager
def hosted(site: Path, port: int = 0, prefix: str = "/") -> Iterator[str]:
    """Serve `site` below `prefix` while the context lasts; gives its address, ``http://127.0.0.1:<port><prefix>``."""
    server = _Server(("127.0.0.1", port), partial(_Host, site=site, prefix=prefix))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{prefix}"
    finally:
        server.shutdown()
        server.server_close()
