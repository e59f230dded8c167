"""A Jinja environment for expressions in pages, which are text and not trusted as code.

Jinja's own sandbox hides the internals of Python but allows every public method, among them those of NumPy arrays that
write files (``tofile``, ``dump``). Here expressions may use the attributes of our own types and of plain values only,
and multiply texts only up to a limit.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

FAMILIAR = frozenset({"builtins", "datetime", "types", "jinja2", "markupsafe"})
"""Modules of others whose values expressions may use. All other installed or standard modules are forbidden."""

LONGEST = 1_000_000
"""Most characters or items that an expression may make by multiplying."""


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of pages."""

    intercepted_binops = frozenset({"*", "**"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether an expression may read `attr` of `obj`."""
        return super().is_safe_attribute(obj, attr, value) and _is_known(obj)

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether an expression may call `obj`."""
        owner = getattr(obj, "__self__", None)
        return super().is_safe_callable(obj) and (owner is None or _is_known(owner) or isinstance(obj, type))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return ``left * right`` or ``left ** right``. Raises `SecurityError` if it is too large."""
        sizes = [len(operand) for operand in (left, right) if isinstance(operand, str | bytes | list | tuple)]
        numbers = [operand for operand in (left, right) if isinstance(operand, int)]
        too_long = bool(sizes and numbers) and sizes[0] * numbers[0] > LONGEST
        too_large = operator == "**" and len(numbers) == 2 and abs(numbers[0]) > 1 and numbers[1] > 1000
        if too_long or too_large:
            raise SecurityError(f"{operator} makes more than {LONGEST:,} characters")
        return super().call_binop(context, operator, left, right)


def _is_known(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return _is_ours(kind.__module__.partition(".")[0])


@cache
def _is_ours(module: str) -> bool:
    if module in FAMILIAR:
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module not in sys.stdlib_module_names and "site-packages" not in Path(file).parts
