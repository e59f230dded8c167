"""The strip about a live_run: in the language of each page, up to date, and never in the way of other files."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import LANGUAGES

from bench.live_progress import LiveProgress
from generator.languages.language import load_language
from generator.live.live_run import LiveRun, Stage
from generator.live.strip import Strip

ANCHOR = b'<div data-md-component="announce">'
PAGE = b"<html><head></head><body>" + ANCHOR + b"</div><h1>Page</h1></body></html>"
MOUNT = "/atlas/"


class Site:
    """A server of one page and one file of data, with the strip, at a path that is not the root."""

    def __init__(self, folder: Path, own_devices: frozenset[str] = frozenset()) -> None:
        self.live_run = LiveRun(folder, "3m")
        results = SimpleNamespace(own_devices=own_devices)
        guide: Any = SimpleNamespace(languages=[load_language(code) for code in LANGUAGES], results=results)
        self.seen: list[bool] = []
        self._app = Strip(self.live_run, guide, MOUNT).around(self._site, ANCHOR)

    def _site(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        begun, ended = self.live_run.served.state()
        self.seen.append(begun > ended)
        is_page = environ["PATH_INFO"].endswith("/")
        kind, body = ("text/html", PAGE) if is_page else ("application/json", b"{}" + ANCHOR)
        start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(len(body)))])
        return [body]

    def get(self, path: str, method: str = "GET") -> tuple[str, dict[str, str], str]:
        """Return status, headers and body."""
        answer: list[Any] = []
        environ = {"PATH_INFO": MOUNT + path, "REQUEST_METHOD": method}
        body = b"".join(self._app(environ, lambda *arguments: answer.extend(arguments)))
        return answer[0], dict(answer[1]), body.decode()


def measuring(left_s: float = 290.0) -> LiveProgress:
    return LiveProgress(model="Segformer", number=1, of=3, ends_at=time.time() + left_s, phase="building")


SAID = {
    "en": "Measuring Segformer, 1 of 3: about 5 min left.",
    "zh": "正在测量 Segformer，第 1 个，共 3 个，大约还需 5 分钟。",
    "ja": "Segformer を測定しています（3 件中 1 件目）。残り時間は約 5 分です。",
    "ar": "يجري قياس",
}


@pytest.mark.parametrize("code", LANGUAGES)
def test_each_page_says_in_its_language_what_is_measured(tmp_path: Path, code: str) -> None:
    site = Site(tmp_path)
    site.live_run._enter(Stage.MEASURING, measuring())
    prefix = "" if code == "en" else f"{code}/"
    _, headers, body = site.get(f"{prefix}modes/")
    assert SAID[code] in body
    assert f'data-measuring="{MOUNT}measuring/{code}/1"' in body
    assert "untranslated" not in body
    assert body.index("<h1>") > body.index("atlas-measuring") > body.index(ANCHOR.decode())
    assert f'src="{MOUNT}measuring/strip.js"' in body
    assert int(headers["Content-Length"]) == len(body.encode())
    for stage in (Stage.INSTALLING, Stage.CHECKING, Stage.DONE, Stage.STOPPED, Stage.FAILED):
        site.live_run._enter(stage)
        assert "untranslated" not in site.get(f"{prefix}modes/")[2], stage


def test_other_files_stay_as_they_are(tmp_path: Path) -> None:
    assert Site(tmp_path).get("data/records.json")[2] == "{}" + ANCHOR.decode()


def test_the_strip_has_its_script_and_style(tmp_path: Path) -> None:
    for name, kind in (("strip.js", "text/javascript"), ("strip.css", "text/css")):
        status, headers, body = Site(tmp_path).get(f"measuring/{name}")
        assert (status, headers["Content-Type"]) == ("200 OK", kind)
        assert "measuring" in body


def test_a_request_counts_while_it_is_answered_and_a_question_of_the_strip_does_not(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.get("modes/")
    assert site.seen == [True]
    assert site.live_run.served.state() == (1, 1)
    site.get("measuring/en/17")
    assert site.live_run.served.state() == (1, 1)


def test_the_script_gets_an_answer_when_something_changes(tmp_path: Path) -> None:
    site = Site(tmp_path)
    answers: list[str] = []
    waiting = threading.Thread(target=lambda: answers.append(site.get("measuring/en/0")[2]))
    waiting.start()
    time.sleep(0.05)
    assert not answers
    site.live_run._enter(Stage.MEASURING, measuring(30.0))
    waiting.join(30.0)
    assert "about 1 min left" in answers[0]
    assert "measuring/en/1" in answers[0]


def test_the_page_of_the_machine_is_linked_once_it_has_a_row(tmp_path: Path) -> None:
    assert "devices/" not in Site(tmp_path / "none").get("ar/")[2]
    site = Site(tmp_path / "one", frozenset({"amd-epyc"}))
    assert f'href="{MOUNT}ar/devices/amd-epyc/"' in site.get("ar/")[2]
    site.live_run._enter(Stage.DONE)
    assert f'<a href="{MOUNT}devices/">Compare it with the other devices</a>' in site.get("")[2]


def test_a_reader_closes_it_when_nothing_is_measured_any_more(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert "data-close" not in site.get("")[2]
    assert site.get("measuring/close", "POST")[0] == "204 No Content"
    assert "atlas-measuring" in site.get("")[2], "it is still being measured"
    site.live_run._enter(Stage.DONE)
    assert f'data-close="{MOUNT}measuring/close"' in site.get("")[2]
    site.get("measuring/close", "GET")
    assert "atlas-measuring" in site.get("")[2], "only a click closes it"
    site.get("measuring/close", "POST")
    assert site.get("")[2] == PAGE.decode()
    assert site.get("measuring/en/0")[2] == ""
