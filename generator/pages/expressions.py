"""Evaluates the expressions of pages, in Jinja's sandbox, and says where and how to mend one that fails.

Takes the names that pages may use, the text of a page and what it knows of itself; returns the text.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bench.errors import AtlasError
from generator.languages.language import UNKNOWN
from generator.pages.site_file import SiteFile

WRITERS = frozenset({"numpy", "pandas", "pathlib"})
"""Modules whose values have methods that write files: expressions read no attribute of them."""

_FAILURES = (
    *(jinja2.TemplateError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError),
    *(SyntaxError, RecursionError, MemoryError),  # from more nested brackets than Python can compile
)


class _Unknown(jinja2.StrictUndefined):
    """A name that does not exist. Its error has the name and the object that lacks it."""

    __slots__ = ()

    def __init__(
        self,
        hint: str | None = None,
        obj: Any = jinja2.utils.missing,
        name: str | None = None,
        exc: Callable[[str], Exception] = jinja2.UndefinedError,
    ) -> None:
        unknown = exc is jinja2.UndefinedError
        raised = (lambda _: _UnknownNameError(str(name), obj)) if unknown else exc
        super().__init__(hint, obj, name, raised)  # type: ignore[arg-type]  # it is only called


class _UnknownNameError(jinja2.UndefinedError):
    def __init__(self, name: str, owner: Any) -> None:
        super().__init__(name)
        self.name = name
        self.owner = owner


class Expressions(ImmutableSandboxedEnvironment):
    """Evaluates expressions with some names: objects, and functions, which are filters as well.

    The files that functions emit while a page is rendered are in `emitted`.
    """

    def __init__(self, names: Mapping[str, Any], emitted: list[SiteFile] | None = None) -> None:
        super().__init__(
            undefined=_Unknown,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            autoescape=False,  # the output is Markdown, and the vocabulary escapes what it returns
            finalize=lambda value: UNKNOWN if value is None else value,
        )
        self.globals |= names
        self.filters |= {name: value for name, value in names.items() if callable(value)}
        self.emitted: list[SiteFile] = [] if emitted is None else emitted
        self._compiled: dict[tuple[str, str], CodeType] = {}  # a page for each device has one text

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether an expression may read `attr` of `obj`."""
        kind = obj if isinstance(obj, type) else type(obj)
        return kind.__module__.partition(".")[0] not in WRITERS and super().is_safe_attribute(obj, attr, value)

    def evaluate(self, text: str, context: Mapping[str, Any], where: str, first_line: int) -> str:
        """Return `text` with its expressions evaluated. Raises `AtlasError` with the line of the page."""
        if "{" not in text:
            return text
        try:
            if (text, where) not in self._compiled:
                self._compiled[text, where] = self.compile(text, filename=where)
            return jinja2.Template.from_code(self, self._compiled[text, where], self.globals).render(context)
        except jinja2.TemplateSyntaxError as error:
            what, remedy = self._syntax_error(error)
            raise AtlasError(what, where=f"{where}:{error.lineno + first_line}", remedy=remedy) from None
        except AtlasError as error:
            place = _line(error, where, first_line)
            raise AtlasError(error.what, where=error.where or place, remedy=error.remedy) from None
        except _UnknownNameError as error:
            what, near = _unknown_name(error, {*self.globals, *context})
            others = "see docs/ for examples, and generator/pages/vocabulary.py for every name"
            remedy = f"did you mean {near}?" if near else others
            raise AtlasError(what, where=_line(error, where, first_line), remedy=remedy) from None
        except _FAILURES as error:
            raise AtlasError(
                f"the expression cannot be evaluated: {error} ({_origin(error)})",
                where=_line(error, where, first_line),
                remedy="correct its arguments; generator/pages/vocabulary.py documents them",
            ) from error

    def _syntax_error(self, error: jinja2.TemplateSyntaxError) -> tuple[str, str]:
        """Return the fault and its remedy."""
        message = error.message or "the expression is not valid"
        unknown = re.match(r"No (filter|test) named '(\w+)'", message)
        if unknown is None:
            return (
                message,
                "correct the expression; put text that Jinja must not read between {% raw %} and {% endraw %}",
            )
        known = self.filters if unknown[1] == "filter" else self.tests
        near = _near(unknown[2], known)
        return (
            f"there is no {unknown[1]} {unknown[2]!r}",
            f"did you mean {near}?" if near else f"use one of {', '.join(sorted(known))}",
        )


def _unknown_name(error: _UnknownNameError, names: Iterable[str]) -> tuple[str, str]:
    """Return the fault, and similar names."""
    if error.owner is jinja2.utils.missing:
        return f"there is no figure {error.name!r}", _near(error.name, names)
    kind = type(error.owner).__name__
    attributes = [name for name in dir(error.owner) if not name.startswith("_")]
    return f"there is no figure {error.name!r} in {kind}", _near(error.name, attributes)


def _near(name: str, names: Iterable[str]) -> str:
    return ", ".join(difflib.get_close_matches(str(name), [*names], n=3, cutoff=0.5))


def _line(error: BaseException, where: str, first_line: int) -> str:
    """Return ``file:line`` of the innermost template line that an error passed through."""
    line = 0
    trace = error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == where:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{where}:{line + first_line}" if line else where


def _origin(error: BaseException) -> str:
    """Return where the error was raised, for whoever fixes the function behind an expression."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    name = type(error).__name__
    return f"{name} in {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else name
