"""The strip at the foot of every page while this machine is measured: what is being done, and how long it takes.

Takes the `LiveRun` beside a development server. Returns a WSGI application around that of the server. It adds the
strip to pages, and answers the script that keeps the strip up to date, ``strip.js``: one request at a time, which
waits until there is something new.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from generator.figures.markup import render
from generator.figures.words import Words
from generator.languages.language import SOURCE, Language
from generator.live.live_run import LiveRun, Situation, Stage
from generator.live.wsgi import App, Response
from generator.pages.guide import Guide

PATH = "measuring"
"""The folder of the addresses that the script asks."""

FILES = {"strip.js": "text/javascript", "strip.css": "text/css"}
"""What only the server uses, beside this module."""

NEWS_WITHIN_S = 60.0
"""The longest that the script waits: the time that is left changes without any event."""

_REQUEST = re.compile(rf"{PATH}/([\w-]+)/(\d+)")


class Strip:
    """The strip in all languages of a guide. `mount_path` is the path at which the server has it."""

    def __init__(self, live_run: LiveRun, guide: Guide, mount_path: str) -> None:
        self._live_run = live_run
        self._guide = guide
        self._root = mount_path

    def around(self, app: App, anchor: bytes) -> App:
        """Return an application that inserts the strip after `anchor` in each page of `app`, and answers the script."""

        def with_strip(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            path = environ["PATH_INFO"].removeprefix(self._root)
            if path == f"{PATH}/close" and environ["REQUEST_METHOD"] == "POST":
                self._live_run.close()
                start_response("204 No Content", [])
                return []
            if (name := path.removeprefix(f"{PATH}/")) in FILES:
                start_response("200 OK", [("Content-Type", FILES[name])])
                return [Path(__file__).with_name(name).read_bytes()]
            if request := _REQUEST.fullmatch(path):
                situation = self._live_run.wait(int(request[2]), NEWS_WITHIN_S)
                start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
                return [self._html(situation, request[1])]
            if environ["PATH_INFO"].startswith("/livereload/"):
                return app(environ, start_response)
            with self._live_run.served.counted():
                answer = Response.of(app, environ).with_page(lambda page: self._inserted(page, anchor, path))
                return answer.send(start_response)

        return with_strip

    def _inserted(self, page: bytes, anchor: bytes, path: str) -> bytes:
        html = self._html(self._live_run.situation, self._language_of(path))
        script = f'<script type="module" src="{self._root}{PATH}/strip.js"></script>'.encode() if html else b""
        return page.replace(anchor, anchor + html, 1).replace(b"</head>", script + b"</head>", 1)

    def _language_of(self, path: str) -> str:
        folder = path.partition("/")[0]
        return next((each.code for each in self._guide.languages if each.prefix == f"{folder}/"), SOURCE)

    def _html(self, situation: Situation, code: str) -> bytes:
        """Return the strip in a language; nothing once the reader has closed it, or while there is no page to show."""
        language = next((each for each in self._guide.languages if each.code == code), None)
        if language is None or situation.stage is Stage.CLOSED:
            return b""
        words = Words(language, html=True)
        plain = Words(language, html=False)
        gettext, progress = language.gettext, situation.progress
        link, link_text = self._link(situation, language)
        return render(
            "measuring.html.jinja",
            address=f"{self._root}{PATH}/{code}/{situation.number}",
            root=self._root,
            path=PATH,
            stage=situation.stage.value,
            label=plain.phrase(gettext("Measurement of this machine")),
            text=_text(situation, words),
            link=link,
            link_text=words.phrase(link_text),
            closing="" if self._live_run.is_running else plain.phrase(gettext("Do not show this again")),
            value=progress.number - 1 if progress else 0,
            of=progress.of if progress and self._live_run.is_running else 0,
        ).encode()

    def _link(self, situation: Situation, language: Language) -> tuple[str, str]:
        """Return the address and the text of the link: "" before this machine has a row."""
        device = next(iter(sorted(self._guide.results.own_devices)), "")
        folder = f"{self._root}{language.prefix}devices/"
        if not device:
            return "", ""
        if situation.stage is Stage.DONE:
            return folder, language.gettext("Compare it with the other devices")
        return f"{folder}{device}/", language.gettext("See the figures for this machine")


def _text(situation: Situation, words: Words) -> str:
    language, progress = words.language, situation.progress
    gettext = language.gettext
    if situation.stage is Stage.MEASURING and progress is not None:
        minutes = max(1, math.ceil((progress.ends_at - time.time()) / 60))
        return words.say(
            gettext("Measuring %(model)s, %(number)s of %(count)s: about %(time)s left."),
            model=progress.model,
            number=language.number(progress.number, 0),
            count=language.number(progress.of, 0),
            time=language.unit(minutes, "duration-minute", 0),
        )
    return words.phrase(
        {
            Stage.INSTALLING: gettext("Installing PyTorch to measure this machine."),
            Stage.CHECKING: gettext("Checking this machine before measuring."),
            Stage.DONE: gettext("This machine has been measured."),
            Stage.STOPPED: gettext(
                "The measurement was stopped. Finished records are kept. Run <code>make guide</code> again to measure "
                "the rest."
            ),
            Stage.FAILED: gettext("This machine could not be measured. The terminal shows the reason."),
        }[situation.stage]
    )
