"""The Content-Security-Policy of the site: what a page may load and run.

Scripts and styles are files of the site, and no inline script or style is allowed, so that text from a record or a
catalog can never become code.

    python -m generator.site.policy     # the header, for hosts that can send one
"""

from __future__ import annotations

DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",  # Material's stylesheet has its icons in it
    "connect-src": "'self'",  # search index, records, and the next page of instant navigation
    "worker-src": "'self'",  # search
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}
"""The directives in the head of each page, which hold on every host."""

ONLY_IN_HEADER = {"frame-ancestors": "'none'"}
"""Directives that browsers ignore in a page."""

WHILE_SERVING = {"script-src": "'self' 'unsafe-inline'"}
"""MkDocs' development server writes a script into each page that reloads it."""


def policy(*, header: bool = False, serving: bool = False) -> str:
    """Return the policy for the head of a page, or for the `header` of a response."""
    directives = DIRECTIVES | (ONLY_IN_HEADER if header else {}) | (WHILE_SERVING if serving else {})
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


if __name__ == "__main__":
    print(f"Content-Security-Policy: {policy(header=True)}")  # noqa: T201  # a command line speaks
