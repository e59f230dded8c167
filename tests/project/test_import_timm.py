"""The weekly look for new files of timm, with a stand-in for GitHub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from conftest import ROOT

from bench.exchange.transfer import ImportOptions, import_
from bench.records.run_file import read

HEADER = (
    "model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts\n"
)
EAGER = f"{HEADER}resnet50,224,3200.0,80.0,256,25.56,4.11,11.11\ntest_vit,160,2000.0,512.0,1024,0.37,0.04,0.48\n"
DYNAMO = f"{HEADER}resnet50,224,6400.0,40.0,256,25.56,4.11,11.11\ntest_vit,160,2560.0,100.0,256,0.37,0.04,0.48\n"

KNOWN, NEWS = "amp-nchw-pt291-cu130-5090", "amp-nchw-pt2100-cu130-5090"
REPOSITORY, SHA = "huggingface/pytorch-image-models", "a" * 40


def name_of(setup: str) -> str:
    return f"benchmark-infer-{setup}.csv"


class Timm(ThreadingHTTPServer):
    """The GitHub of timm: files with their days and contents."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.files: dict[str, tuple[str, bytes]] = {}
        self.add("2026-01-06", **{KNOWN: EAGER, f"{KNOWN}-dynamo": DYNAMO})
        self.files["results-imagenet.csv"] = "2026-01-06", b"model,img_size,top1\nnew,224,80\n"

    def add(self, day: str, **contents: str) -> None:
        self.files |= {name_of(setup): (day, content.encode()) for setup, content in contents.items()}


class Answer(BaseHTTPRequestHandler):
    """Answers as GitHub does: a listing, the last commit of a path, or a file."""

    server: Timm

    def do_GET(self) -> None:
        files, url = self.server.files, urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        kind, _, name = url.path.removeprefix(f"/repos/{REPOSITORY}/").partition("/results/")
        if name:
            body = files[urllib.parse.unquote(name)][1]
        elif kind == "commits":
            known = files.get(query["path"].removeprefix("results/")) if "sha" in query else None
            day = known[0] if known else max(day for day, _ in files.values())
            body = json.dumps([{"sha": SHA, "commit": {"committer": {"date": f"{day}T12:00:00Z"}}}]).encode()
        else:
            body = json.dumps([{"name": name, "type": "file", "size": 1} for name in files]).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def timm() -> Iterator[Timm]:
    with Timm() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A folder of records with the older files of timm."""
    given = tmp_path / "given"
    given.mkdir()
    for setup, content in ((KNOWN, EAGER), (f"{KNOWN}-dynamo", DYNAMO)):
        (given / name_of(setup)).write_text(content)
    import_("timm", ImportOptions(files=tuple(given.iterdir()), date="2026-01-06"), tmp_path / "published")
    (tmp_path / "published" / "timm-imagenet.csv").write_text("# https://example.org 2026-01 Apache-2.0\nold\n")
    return tmp_path / "published"


def look(published: Path, timm: Timm) -> str:
    command = [sys.executable, ".github/scripts/import_timm.py", "--out", str(published)]
    variables = os.environ | {"GITHUB_API_URL": f"http://127.0.0.1:{timm.server_port}"}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_new_files_are_imported_and_what_is_left_out_is_told(published: Path, timm: Timm) -> None:
    timm.add("2026-03-04", **{NEWS: EAGER, f"{NEWS}-dynamo": DYNAMO, "amp-nchw-pt2100-cu130-3090": EAGER})
    timm.add("2026-03-04", **{"fp32-nchw-pt2100-cpu-i9_10940x-dynamo": DYNAMO})
    timm.add("2026-03-05", **{"int8-nchw-pt2100-cu130-5090": EAGER, "amp-nchw-pt2100-cu130-4090-dynamo": "<html>"})
    timm.add("2026-03-05", **{"amp-nchw-pt2100-cu130-50/../90`$(id)`": EAGER})
    told = look(published, timm)
    run = "timm-5090-torch-2.10.0-amp-nchw"
    assert f"| {run} | NVIDIA GeForce RTX 5090 | 2.10.0 | 2026-03-04 | 2 | 2 | 1 | 1 |" in told
    assert len(list(read(published / f"{run}.jsonl"))) == 2
    for one_sided in ("timm-3090-torch-2.10.0-amp-nchw", "timm-i9_10940x-torch-2.10.0-fp32-nchw"):
        assert len(list(read(published / f"{one_sided}.jsonl"))) == 2
    assert f"- `{name_of('int8-nchw-pt2100-cu130-5090')}` is not named like a file of timm" in told
    assert "-4090-dynamo.csv` has no column" in told
    assert "50?..?90???id??.csv` is not named like a file of timm" in told


def test_a_corrected_file_replaces_its_run_with_both_variants(published: Path, timm: Timm) -> None:
    timm.add("2026-02-03", **{KNOWN: EAGER.replace("3200.0,80.0", "3100.0,82.58")})
    look(published, timm)
    (resnet, _) = read(published / "timm-5090-torch-2.9.1-amp-nchw.jsonl")
    assert resnet.measurement
    assert resnet.measurement.compiled
    assert (resnet.measurement.eager.published_mean_ms, resnet.measurement.compiled.published_mean_ms) == (82.58, 40.0)


def test_newer_accuracies_are_copied_with_their_source(published: Path, timm: Timm) -> None:
    look(published, timm)
    copy = (published / "timm-imagenet.csv").read_text()
    assert copy.startswith(
        f"# https://github.com/{REPOSITORY}/blob/main/results/results-imagenet.csv 2026-01-06 Apache-2.0\n"
    )
    assert "accuracies" not in look(published, timm)
    assert (published / "timm-imagenet.csv").read_text() == copy
