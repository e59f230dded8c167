"""What a WSGI application answers, and the same with its pages changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Self
from wsgiref.headers import Headers

App = Callable[..., Iterable[bytes]]
"""A WSGI application."""


class Response(NamedTuple):
    """A response that has not been sent."""

    status: str
    headers: Headers
    body: Iterable[bytes]

    @classmethod
    def of(cls, app: App, environ: Mapping[str, Any]) -> Self:
        """Return what the application answers."""
        begun: list[Any] = []
        body = app(environ, lambda *arguments: begun.extend(arguments))
        return cls(begun[0], Headers(begun[1]), body)

    def with_page(self, change: Callable[[bytes], bytes]) -> Response:
        """Return the response with its page changed; the same if it is no page."""
        if not (self.headers["Content-Type"] or "").startswith("text/html"):
            return self
        content = change(b"".join(self.body))
        getattr(self.body, "close", lambda: None)()
        self.headers["Content-Length"] = str(len(content))
        return self._replace(body=[content])

    def send(self, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Begin the response, and return its body."""
        start_response(self.status, self.headers.items())
        return self.body
