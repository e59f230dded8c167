"""What a page of the site may load and run: one Content-Security-Policy, for the head of every page and for HTTP.

Nothing enters; the policy leaves as text. Scripts and styles are files of the site, and nothing within a page is run or
applied, so that text from a record or a catalog can never become code.

    python -m generator.site.policy     # the header, for hosts that can send one
"""

from __future__ import annotations

DIRECTIVES = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",  # Material's stylesheet has its icons in it
    "font-src": "'self'",
    "connect-src": "'self'",  # search index, records, and the next page of instant navigation
    "worker-src": "'self'",  # search
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
}
"""What holds on every host: the head of each page says it."""

ONLY_IN_HEADER = {"frame-ancestors": "'none'"}
"""What browsers refuse to read from a page."""

WHILE_SERVING = {"script-src": "'self' 'unsafe-inline'"}
"""MkDocs' development server writes a script into each page, which reloads it."""


def policy(*, header: bool = False, serving: bool = False) -> str:
    """The policy, for the head of a page or for the `header` of a response."""
    directives = DIRECTIVES | (ONLY_IN_HEADER if header else {}) | (WHILE_SERVING if serving else {})
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


if __name__ == "__main__":
    print(f"Content-Security-Policy: {policy(header=True)}")  # noqa: T201  # a command line speaks
