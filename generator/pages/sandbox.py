"""Jinja for text that is not code: expressions may ask our own values, and nothing that they lead to.

Jinja's own sandbox keeps expressions from Python's inner parts, but lets them call any public method: of an array of
numpy that writes a file (``tofile``, ``dump``). Here an expression may use the attributes of our own types and of plain
values, and multiply texts only as far as a page is long.

    python -m pytest tests/generator/pages/test_sandbox.py
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

FAMILIAR = frozenset({"builtins", "datetime", "types", "jinja2", "markupsafe"})
"""Modules of other people whose values may be asked. Those of the standard library, or installed, else may not."""

LONGEST = 1_000_000
"""Characters or items of what an expression may make by multiplying."""


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of pages."""

    intercepted_binops = frozenset({"*", "**"})

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether an expression may see `attr` of `obj`."""
        return super().is_safe_attribute(obj, attr, value) and _is_known(obj)

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether an expression may call `obj`."""
        owner = getattr(obj, "__self__", None)
        return super().is_safe_callable(obj) and (owner is None or _is_known(owner) or isinstance(obj, type))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """The value of ``left * right`` or ``left ** right``."""
        sizes = [len(each) for each in (left, right) if isinstance(each, str | bytes | list | tuple)]
        numbers = [each for each in (left, right) if isinstance(each, int)]
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
