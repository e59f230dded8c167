"""A Jinja environment for the expressions in pages, which are not trusted as code.

Jinja's own sandbox hides the internals of Python but allows every public method, among them those of NumPy arrays that
write files (``tofile``, ``dump``). Here expressions may use the attributes of our own types and of plain values only.
Jinja's sandbox does not stop endless loops either. Here pages have few statements and filters, and everything that
they make or repeat is counted, so every page finishes within a small amount of memory.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from types import BuiltinMethodType
from typing import Any

from jinja2 import nodes, pass_context, pass_eval_context
from jinja2.exceptions import SecurityError, TemplateSyntaxError
from jinja2.filters import do_format, do_indent, do_join
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.tests import test_in
from jinja2.utils import missing
from jinja2.visitor import NodeTransformer

FAMILIAR = frozenset({"builtins", "datetime", "types", "jinja2", "markupsafe"})
"""Modules of others whose values expressions may use. All other installed or standard modules are forbidden."""

LONGEST = 1_000_000
"""Most characters or items that an expression may make at once."""

MOST = 5_000_000
"""Most characters and items that the expressions of a page may make or go through, and turns of its loops: seconds."""

LONGEST_PAGE = 10_000_000
"""Most characters of a page: eighty times the longest one."""

MOST_SECONDS = 60
"""Most CPU time for the expressions of a page, checked at each call: a hundred times the slowest one."""

STATEMENTS = (nodes.Output, nodes.If, nodes.For, nodes.Assign)
"""What pages may hold besides text. Macros and blocks call each other, without end."""

FILTERS = frozenset(
    {
        "default",
        "first",
        "format",
        "indent",
        "join",
        "last",
        "length",
        "list",
        "map",
        "max",
        "min",
        "reject",
        "rejectattr",
        "select",
        "selectattr",
        "sort",
    }
)
"""Filters of Jinja that pages may use. Each takes time and makes text in proportion to what it is given."""

TESTS = frozenset(
    {
        "==",
        "defined",
        "eq",
        "equalto",
        "false",
        "ge",
        "gt",
        "in",
        "le",
        "lt",
        "ne",
        "none",
        "number",
        "string",
        "true",
        "undefined",
    }
)
"""Tests of Jinja that pages may use, chosen like `FILTERS`."""

METHODS = frozenset(
    {"endswith", "format", "get", "items", "keys", "lower", "split", "startswith", "strip", "upper", "values"}
)
"""Methods of plain values that pages may call, chosen like `FILTERS`."""

_NUMBER = re.compile(r"\d+")

_CONTAINERS = (list, tuple, dict, set, frozenset)


class _Counted(Context):
    """What the expressions of one page have used."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._used = 0
        self._latest = time.thread_time() + MOST_SECONDS

    def use(self, amount: int) -> None:
        """Add to what is used. Raises `SecurityError` where it is too much."""
        self._used += amount
        if self._used > MOST:
            raise SecurityError(f"the page makes or repeats more than {MOST:,} characters and items")

    def resolve_or_missing(self, key: str) -> Any:
        """Return what a name stands for, and note that it was used, unless the page itself has given it a value."""
        value = super().resolve_or_missing(key)
        environment: Any = self.environment  # a `Sandbox`
        if value is not missing and key not in self.vars:
            environment.on_name(key, value)
        return value

    def check_time(self) -> None:
        """Raise `SecurityError` where the page has taken too long."""
        if time.thread_time() > self._latest:
            raise SecurityError(f"the page takes more than {MOST_SECONDS} seconds")


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of pages."""

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)
    context_class = _Counted
    on_name: Callable[[str, Any], object] = staticmethod(lambda *_: None)
    on_attribute: Callable[[Any, str], object] = staticmethod(lambda *_: None)
    """Called with what expressions read: a name and its value, and an object and the name of its attribute."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, optimized=False)  # what is counted can't be made before there is a page
        self.filters = {name: value for name, value in self.filters.items() if name in FILTERS}
        self.filters |= {
            "format": _limited(do_format, _formatted),
            "indent": _limited(do_indent, _indented),
            "join": _join,
        }
        self.tests = {name: value for name, value in self.tests.items() if name in TESTS}
        self.tests["in"] = _limited(test_in, lambda _, values: 1000 * _length(values))
        self.globals = {name: self.globals[name] for name in ("dict", "namespace", "range")}

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        template = super()._parse(source, name, filename)
        for statement in template.find_all(nodes.Stmt):
            if not isinstance(statement, STATEMENTS) or getattr(statement, "recursive", False):
                kind = type(statement).__name__.lower()
                raise TemplateSyntaxError(f"pages cannot use this kind of {kind!r}", statement.lineno, name, filename)
        counted: nodes.Template = _Counting().visit(template)
        return counted

    @staticmethod
    def concat(pieces: Iterator[str]) -> str:  # type: ignore[override]
        """Join the pieces of a page. Raises `SecurityError` where they are too long."""
        kept, length = [], 0
        for piece in pieces:
            kept.append(piece)
            length += len(piece)
            if length > LONGEST_PAGE:
                fault = SecurityError(f"the page has more than {LONGEST_PAGE:,} characters")
                pieces.throw(fault)  # type: ignore[attr-defined]  # a generator: at the line that it has reached
        return "".join(kept)

    @pass_context
    def counted(self, context: _Counted, value: Any) -> Any:
        """Return a value that an expression has made or goes through, once its characters and items are counted."""
        if isinstance(value, Iterator):
            return (self.counted(context, item) for item in value)
        _count(context, value)
        return value

    def shown(self, value: Any) -> Any:
        """Return a value that becomes text. Raises `SecurityError` for a container, whose text may have any length."""
        if isinstance(value, _CONTAINERS):
            raise SecurityError("a list is not text; use join on it")
        return value

    @pass_context
    def turns(self, context: _Counted, values: Iterable[Any]) -> Iterator[Any]:
        """Yield what a loop goes through, and count its turns."""
        for value in values:
            context.use(1)
            yield value

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Return an attribute that an expression reads, and note it."""
        self.on_attribute(obj, attribute)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """Return an item, or the attribute of that name: filters such as `map` read attributes this way."""
        self.on_attribute(obj, str(argument))
        return super().getitem(obj, argument)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether an expression may read `attr` of `obj`."""
        return super().is_safe_attribute(obj, attr, value) and _is_known(obj)

    def is_safe_callable(self, obj: Any) -> bool:
        """Return whether an expression may call `obj`."""
        owner = getattr(obj, "__self__", None)
        plain = isinstance(obj, BuiltinMethodType) or isinstance(owner, str)
        if plain and owner is not None and obj.__name__ not in METHODS:
            return False
        return super().is_safe_callable(obj) and (owner is None or _is_known(owner) or isinstance(obj, type))

    def call(self, context: _Counted, obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # type: ignore[override]
        """Call an object. Raises `SecurityError` unless it is safe, and where the page takes too long."""
        context.check_time()
        return super().call(context, obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return `value` with a limit if it is ``str.format``, else None."""
        wrapped = super().wrap_str_format(value)
        return wrapped and _limited(wrapped, lambda *args, **kwargs: _formatted(value.__self__, *args, **kwargs))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """Return what an operator makes. Raises `SecurityError` if it is too large."""
        numbers = [operand for operand in (left, right) if isinstance(operand, int)]
        made = 0
        if operator == "%" and isinstance(left, str):
            made = _formatted(left, *(right if isinstance(right, tuple) else (right,)))
        elif operator == "**" and len(numbers) == 2:
            made = max(left.bit_length(), 1) * abs(right) if abs(left) > 1 else 0
        elif operator == "*" and len(numbers) == 2:
            made = left.bit_length() + right.bit_length()
        elif operator == "*" and numbers:
            made = numbers[0] * max(_length(left), _length(right))
        _refuse_more(made)
        return self.counted(context, super().call_binop(context, operator, left, right))


class _Counting(NodeTransformer):
    """Lets the environment count what expressions make, go through, and compare."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        node = super().generic_visit(node, *args, **kwargs)
        if isinstance(node, nodes.For):
            node.iter = _call("turns", node.iter)
        elif isinstance(node, nodes.Compare):
            node.expr = _call("counted", node.expr)
            for operand in node.ops:
                operand.expr = _call("counted", operand.expr)
        elif isinstance(node, nodes.Test):
            node.node = _call("counted", node.node)
        elif isinstance(node, nodes.Output):
            node.nodes = [each if isinstance(each, nodes.TemplateData) else _call("shown", each) for each in node.nodes]
        elif isinstance(node, nodes.Filter) and node.name in FILTERS and node.name != "length":
            node.node = node.node and _call("counted", node.node)
            return _call("counted", node)
        elif isinstance(node, nodes.Concat):
            node.nodes = [_call("shown", each) for each in node.nodes]
            return _call("counted", node)
        elif isinstance(node, nodes.List | nodes.Dict) or (isinstance(node, nodes.Tuple) and node.ctx == "load"):
            return _call("counted", node)
        return node


def _call(method: str, node: Any) -> nodes.Call:
    function = nodes.EnvironmentAttribute(method, lineno=node.lineno)
    return nodes.Call(function, [node], [], None, None, lineno=node.lineno)


# --- Sizes ------------------------------------------------------------------------------------------------------------


def _count(context: _Counted, value: Any) -> None:
    """Count a value with all that is in it: what holds itself twice, and that twice again, is endless to print."""
    if isinstance(value, _CONTAINERS):
        context.use(1 + len(value))
        for item in value:
            if isinstance(item, (str, *_CONTAINERS)):
                _count(context, item)
        if isinstance(value, dict):
            for item in value.values():
                _count(context, item)
    else:
        context.use(1 + _length(value))


def _length(value: Any) -> int:
    if isinstance(value, int):
        return int(value.bit_length() // 8)
    return len(value) if isinstance(value, str | bytes | list | tuple | range) else 1


def _refuse_more(made: int) -> None:
    if made > LONGEST:
        raise SecurityError(f"it makes more than {LONGEST:,} characters or items")


def _limited(function: Callable[..., Any], made: Callable[..., int]) -> Callable[..., Any]:
    """Return a function that raises `SecurityError` where, according to `made`, it makes too much."""

    def limited(*args: Any, **kwargs: Any) -> Any:
        _refuse_more(made(*args, **kwargs))
        return function(*args, **kwargs)

    limited.__dict__.update(vars(function))
    return limited


def _formatted(value: Any, *args: Any, **kwargs: Any) -> int:
    """Return how many characters a format may make: its widths, and each value where it is named."""
    pattern = str(value)
    if "*" in pattern or re.search(r"\{[^}]*\{", pattern):
        raise SecurityError("a format cannot take its width from a value")
    widths = sum(int(number[-9:]) for number in _NUMBER.findall(pattern))
    named = (*args, *kwargs.values())
    if any(isinstance(each, _CONTAINERS) for each in named):
        raise SecurityError("a list is not text; use join on it")
    values = sum(map(_length, named))
    return widths + len(pattern) + (pattern.count("{") + pattern.count("%")) * values


def _indented(text: Any, width: int | str = 4, *_: Any, **__: Any) -> int:
    lines: int = str(text).count("\n") + 1
    return lines * (width if isinstance(width, int) else len(str(width)))


@pass_eval_context
def _join(context: Any, values: Iterable[Any], d: Any = "", attribute: str | int | None = None) -> str:
    values = list(values)
    if any(isinstance(value, _CONTAINERS) for value in values):
        raise SecurityError("a list of lists is not text; join each of them")
    _refuse_more(len(values) * len(str(d)))
    return str(do_join(context, values, d, attribute))


# --- Types ------------------------------------------------------------------------------------------------------------


def _is_known(value: Any) -> bool:
    kind = value if isinstance(value, type) else type(value)
    return _is_ours(kind.__module__.partition(".")[0])


@cache
def _is_ours(module: str) -> bool:
    if module in FAMILIAR:
        return True
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module not in sys.stdlib_module_names and "site-packages" not in Path(file).parts
