"""The guide while it measures the machine that serves it: the steps of the live_run, and a strip that shows them.

Takes the folder of the project and the server; measures in other processes. See `generator.live.live_run`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

App = Callable[..., Iterable[bytes]]
"""A WSGI application."""
