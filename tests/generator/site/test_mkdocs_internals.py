"""The undocumented parts of MkDocs are those that `generator.site.mkdocs_internals` was written for."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest
from conftest import ROOT
from mkdocs.commands import build
from mkdocs.config import load_config
from mkdocs.config.config_options import Plugins
from mkdocs.livereload import LiveReloadServer

from generator.site.mkdocs_internals import VERSION, load_separate_config

READ: dict[Callable[..., Any], str] = {
    build.build: "c476b64474ac",
    build._populate_page: "31a70ea4caef",
    build._build_page: "adcdbd14b236",
    build._build_theme_template: "628a78f6a129",
    Plugins.load_plugin: "2cc0a6432aad",
    LiveReloadServer.__init__: "e79efeb939bf",
    LiveReloadServer.serve: "e1d492bd6096",
    LiveReloadServer._build_loop: "0bea1402bb4a",
    LiveReloadServer._serve_request: "3b1515c96f56",
}
"""The functions whose code our plugin depends on, with the digest of their code in `VERSION`."""


@pytest.mark.parametrize("function", READ, ids=lambda function: function.__qualname__)
def test_mkdocs_is_as_it_was_read(function: Callable[..., Any]) -> None:
    name = f"{function.__module__}.{function.__qualname__}"
    digest = hashlib.sha256(inspect.getsource(function).encode()).hexdigest()[:12]
    assert digest == READ[function], (
        f"{name} is not what it was in MkDocs {VERSION}: compare both, adapt generator/site/mkdocs_internals.py, "
        f"and record {digest} here"
    )


def test_a_separate_configuration_shares_no_plugin_and_leaves_those_of_others_alone() -> None:
    path = str(ROOT / "mkdocs.yml")
    first = load_config(path)
    separate = load_separate_config(path, "build")
    again = load_config(path)
    for name in ("compile-atlas", "material/search"):
        assert first.plugins[name] is again.plugins[name]
        assert first.plugins[name] is not separate.plugins[name]
