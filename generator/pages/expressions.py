"""Evaluates the expressions of pages, in Jinja's sandbox, and says where and how to mend one that fails.

Takes the names that pages may use, the text of a page and the variables of the page; returns the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import lru_cache, partial
from pathlib import Path
from traceback import extract_tb
from typing import Any

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bench.errors import AtlasError
from generator.languages.language import UNKNOWN
from generator.pages.site_file import SiteFile

WRITERS = frozenset({"numpy", "pandas", "pathlib"})
"""Modules whose values have methods that write files: expressions read no attribute of them."""

_RAW = "put text that Jinja must not read between {% raw %} and {% endraw %}"


class _UnknownNameError(AttributeError):
    """A page uses a name that does not exist: `obj` lacks it, or nothing has it."""


class _Unknown(jinja2.StrictUndefined):
    """The value of a name that does not exist: any use of it is an `_UnknownNameError`."""

    __slots__ = ()

    def __init__(self, hint: str | None = None, **named: Any) -> None:
        if hint is None:
            named["exc"] = partial(_UnknownNameError, name=named["name"], obj=named.get("obj", jinja2.utils.missing))
        super().__init__(hint, **named)


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
        self._compiled = lru_cache(maxsize=None)(  # a page for each device has one text
            lambda text, where: self.compile(text, filename=where)
        )

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Return whether an expression may read `attr` of `obj`."""
        kind = obj if isinstance(obj, type) else type(obj)
        return kind.__module__.partition(".")[0] not in WRITERS and super().is_safe_attribute(obj, attr, value)

    def evaluate(self, text: str, context: Mapping[str, Any], where: str, first_line: int) -> str:
        """Return `text` with its expressions evaluated. Raises `AtlasError` with the line of the page."""
        if "{" not in text:
            return text
        try:
            return jinja2.Template.from_code(self, self._compiled(text, where), self.globals).render(context)
        except Exception as error:
            frames = extract_tb(error.__traceback__)
            lines = [frame.lineno for frame in frames if frame.filename == where and frame.lineno]
            place = f"{where}:{lines[-1] + first_line}" if lines else where
            if isinstance(error, AtlasError):
                raise AtlasError(error.what, where=error.where or place, remedy=error.remedy) from None
            raised = f"{type(error).__name__} in {Path(frames[-1].filename).name}:{frames[-1].lineno}"
            what, remedy = self._explained(error, {*self.globals, *context}) or (
                f"the expression cannot be evaluated: {error} ({raised})",
                "correct its arguments; generator/pages/vocabulary.py documents them",
            )
            raise AtlasError(what, where=place, remedy=remedy) from error

    def _explained(self, error: Exception, names: Iterable[str]) -> tuple[str, str] | None:
        """Return the fault and its remedy of a page that is not written correctly."""
        if isinstance(error, _UnknownNameError):
            is_name = error.obj is jinja2.utils.missing
            owner = "" if is_name else f" in {type(error.obj).__name__}"
            near = nearest(str(error.name), names if is_name else (each for each in dir(error.obj) if each[0] != "_"))
            others = "see docs/ for examples, and generator/pages/vocabulary.py for every name"
            return f"there is no figure {error.name!r}{owner}", f"{near or others}; {_RAW}"
        if not isinstance(error, jinja2.TemplateSyntaxError):
            return None
        unknown = re.match(r"No (filter|test) named '(\w+)'", str(error))
        if not unknown:
            return str(error.message), f"correct the expression; {_RAW}"
        kind, name = unknown.groups()
        known = self.filters if kind == "filter" else self.tests
        return f"there is no {kind} {name!r}", nearest(name, known) or f"use one of {', '.join(sorted(known))}"


def nearest(name: str, names: Iterable[str]) -> str:
    """Return the question which of some similar names was meant; "" if none is similar."""
    near = get_close_matches(name, sorted(names), n=3, cutoff=0.6)
    return f"did you mean {', '.join(near)}?" if near else ""
