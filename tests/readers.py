"""Everything that reads untrusted files, as functions of bytes that accept them or raise `AtlasError`.

Anything else is a defect: another error, a file in another place, an endless loop. `tests/project/test_hostile.py`
calls them with mutations of valid files.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from atlas_data import measured, telling, write
from guide_figures import figures
from mkdocs.exceptions import MkDocsException
from test_importers_pytorch_oss_v3 import entry

from bench.errors import AtlasError
from bench.exchange.check import check
from bench.exchange.source_files import ImportOptions
from bench.exchange.transfer import export, import_
from bench.plans.checkpoints import refuse_unsafe
from bench.records.examples import EXAMPLES, read as read_examples
from bench.records.record import RESULTS
from bench.records.run_file import encode
from generator.checks import checks
from generator.checks.message_checks import check_translation
from generator.data.load import load
from generator.languages import pofile
from generator.languages.catalogs import ROOT, Message
from generator.languages.glossary import GLOSSARY, Glossary, load_glossary
from generator.languages.language import LIST, LOCALES, catalog_path, listed, load_language
from generator.languages.page_source import parse_page
from generator.pages import downloads
from generator.pages.pages import render_pages
from generator.site import PLUGIN, material
from generator.site.mkdocs_internals import load_separate_config

REFUSED: tuple[type[Exception], ...] = (AtlasError, MkDocsException)
"""Errors that explain a mistake in the input."""


@contextmanager
def folder() -> Iterator[Path]:
    """Give an input a folder. A refusal is fine."""
    with tempfile.TemporaryDirectory() as name, suppress(*REFUSED):
        yield Path(name)


# ── Records and documents ───────────────────────────────────────────────────────────────────────────────────────────

RECORD: dict[str, Any] = json.loads(encode(measured(run="r", figures=telling())))
PUBLISHED: dict[str, Any] = json.loads(
    (RESULTS / "published" / "huggingface-2023.jsonl").read_text(encoding="utf-8").splitlines()[0]
)


def records(content: bytes) -> None:
    """Read a run file."""
    with folder() as results:
        (results / "r.jsonl").write_bytes(content)
        read_all(results)


def compressed(content: bytes) -> None:
    """Read a compressed run file."""
    with folder() as results:
        (results / "r.jsonl.gz").write_bytes(content)
        read_all(results)


def read_all(results: Path) -> None:
    """Read records as the check of a pull request does, and as the site does."""
    for finding in check([results], results):
        assert str(finding).isprintable() or "\n" in str(finding)
    loaded = load(results)
    downloads.as_csv(loaded)
    json.loads(downloads.as_json(loaded))
    assert loaded.problems is not None


OUTPUT = (EXAMPLES / "output.json").read_bytes()


def output(content: bytes) -> None:
    """Read a document, such as the output of the examples."""
    with folder() as place:
        path = place / "output.json"
        path.write_bytes(content)
        read_examples(path)


# ── Checkpoints ─────────────────────────────────────────────────────────────────────────────────────────────────────

INDEX = json.dumps({"metadata": {"total_size": 8}, "weight_map": {"a": "model.safetensors"}}).encode()


def checkpoint(content: bytes) -> None:
    """Read a directory with a configuration and a list of weights, as `refuse_unsafe` does before any library."""
    with folder() as directory:
        for name in ("config.json", "model.safetensors.index.json"):
            (directory / name).write_bytes(content)
        refuse_unsafe(directory)


# ── Imports ─────────────────────────────────────────────────────────────────────────────────────────────────────────

TOLD: dict[str, Any] = {
    "date": "2026-11",
    "url": "https://example.org",
    "licence": "Apache-2.0",
    "torch": "2.9.0",
    "device_name": "NVIDIA T4",
}
TIMM = (
    b"model,infer_img_size,infer_samples_per_sec,infer_step_time,infer_batch_size,param_count,infer_gmacs,infer_macts\n"
    b"resnet50,224,3200.0,80.0,256,25.56,4.11,11.11\nvit,224,2000.0,512.0,1024,86.57,16.87,16.49\n"
)
DYNAMO = (
    b"dev,name,batch_size,speedup,abs_latency,compilation_latency,compression_ratio,eager_peak_mem,dynamo_peak_mem\n"
    b"cuda,beit_base_patch16_224,128,1.5,20.0,30.0,0.9,2.0,1.8\ncuda,resnet18,128,0.0,20.0,30.0,0.9,2.0,1.8\n"
)
ENTRIES = [entry("speedup", 1.5), entry("abs_latency", 20.0)]
TABLE_NAMES = {
    "timm": "benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv",
    "pytorch-dynamo": "inductor_no_cudagraphs_timm_models_amp_inference_cuda_performance.csv",
    "table": "table.csv",
    "optimum-benchmark": "benchmark.json",
    "pytorch-oss-v3": "benchmark.json",
}


def exported(form: str) -> bytes:
    """Return a record of the atlas in another format."""
    with tempfile.TemporaryDirectory() as place:
        export(form, [write(Path(place, "records"), [measured(run="r", figures=telling())])], Path(place, "out"))
        return Path(place, "out").read_bytes()


def importing(source: str, content: bytes) -> None:
    """Import a file into a folder. Nothing may be written outside it."""
    with folder() as place:
        path = place / "given" / TABLE_NAMES[source]
        path.parent.mkdir()
        path.write_bytes(content)
        out = place / "out" / "records"
        try:
            written = import_(source, ImportOptions(files=(path,), **TOLD), out)
            assert all(each.parent == out for each in written)
            assert {file.suffix for file in out.iterdir()} <= {".jsonl", ".gz", ".toml"}, "runs, and their seals"
            read_all(out)
        finally:
            assert {each.name for each in place.iterdir()} <= {"given", "out"}
            assert {each.name for each in place.glob("out/*")} <= {"records"}


# ── Catalogs, glossary, languages ───────────────────────────────────────────────────────────────────────────────────

CATALOG = """\
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"
"X-Complete: yes\\n"

#: docs/index.md
msgid "A **page** of {{ x }}, see [here](a.md) and `code`."
msgstr "{{ x }} 的**页面**，见[此处](a.md)和 `code`。"

msgid "%(n)s row"
msgid_plural "%(n)s rows"
msgstr[0] "%(n)s 行"

#, fuzzy
#| msgid "old"
msgid "new"
msgstr "新"

#~ msgid "gone"
#~ msgstr "无"
""".encode()
MESSAGES = (
    Message(None, "A **page** of {{ x }}, see [here](a.md) and `code`."),
    Message(None, "%(n)s row", "%(n)s rows"),
)


@cache
def terms() -> Glossary:
    """The glossary of the project."""
    return load_glossary()


def catalog(content: bytes) -> None:
    """Read a catalog."""
    with folder() as locales:
        path = catalog_path("zh", locales)
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        language = load_language("zh", locales)
        for message, plural in (("%(n)s row", "%(n)s rows"), ("new", "new")):
            assert language.ngettext(message, plural, 3) % {"n": 3}
        list(checks.check_catalog(pofile.parse(content, "zh"), MESSAGES, "zh", terms(), "zh"))


TRANSLATION = "{{ x }} 的**页面**，见[此处](a.md)和 `code`。".encode()


def translation(content: bytes) -> None:
    """Check one translation."""
    for code in ("zh", "ar"):
        list(check_translation(MESSAGES[0].id, content.decode(errors="replace"), code, terms()))


GLOSSARY_TEXT = (LOCALES / GLOSSARY).read_bytes()
LANGUAGES_TEXT = (LOCALES / LIST).read_bytes()


def glossary(content: bytes) -> None:
    """Read a glossary."""
    with folder() as locales:
        (locales / GLOSSARY).write_bytes(content)
        load_glossary(locales)


def languages(content: bytes) -> None:
    """Read a list of languages."""
    with folder() as locales:
        (locales / LIST).write_bytes(content)
        assert listed(locales)[0] == "en"


_TAGGED = re.compile(r"(?m)^(?:site_url|watch:).*\n(?:  .*\n)*")
SETTINGS: dict[str, Any] = yaml.safe_load(_TAGGED.sub("", (ROOT / "mkdocs.yml").read_text(encoding="utf-8")))
"""The settings without what reads the environment or folders that are not there."""


def settings(content: bytes) -> None:
    """``mkdocs.yml``, as the plugin takes it for a language. MkDocs reads the YAML."""
    with folder() as project:
        (project / "docs" / "theme").mkdir(parents=True)
        (project / "mkdocs.yml").write_bytes(content)
        config = load_separate_config(str(project / "mkdocs.yml"))
        material.apply_language(config, load_language("zh"))
        if PLUGIN in config.plugins:
            assert config.plugins[PLUGIN].languages


# ── Pages ───────────────────────────────────────────────────────────────────────────────────────────────────────────

PAGE = b"""---
title: A page
description: "About {{ atlas.devices | length }}"
constants: ["95 %"]
---

# Title {#title}

A paragraph with `code`, a [link](index.md){ .md-button } and {{ atlas.devices | length }}.

- a list
    - deeper

| a | b |
| --- | --- |
{% for x in [1, 2] %}
| {{ x }} | c |
{% endfor %}

!!! note "Title"
    Text.

=== "Tab"
    Text.

![An image](a.svg)

```python
code
```

<div>html</div>
"""


def page(content: bytes) -> None:
    """Read an authored page."""
    with folder() as docs:
        (docs / "index.md").write_bytes(content)
        source = parse_page("index.md", content.decode(errors="replace"), "docs/index.md")
        list(checks.check_pages([source]))
        language = load_language("en")
        assert all(isinstance(made.content, str) for made in render_pages(language, figures(language), docs))
