"""The Python of the guide does what its page says: programs run, and names of PyTorch exist.

Blocks come from the Markdown sources, so one run holds for all languages. Models are the shrunken ones of
`bench.plans.models`: nothing is downloaded, and what is compiled is traced, but not turned into machine code.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
import torch
import transformers
from guide_figures import shipped
from jinja2 import Environment

from bench.measuring.build import IMAGE
from bench.plans.models import MODELS, ModelSpec
from generator.languages.language import load_language
from generator.pages.atlas import Atlas, auto_class

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))


@dataclass(frozen=True)
class Snippet:
    """A block of Python: its place, and its text without the indent of a tab."""

    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(DOCS)}:{self.line}"

    def run(self, names: dict[str, Any], **replaced: Any) -> dict[str, Any]:
        """Run the snippet, with line numbers of its page in any traceback."""
        text = Environment(autoescape=False, trim_blocks=True).from_string(self.text).render(replaced)
        exec(compile("\n" * self.line + text, str(self.page), "exec"), names)
        return names


def snippets(page: Path) -> Iterator[Snippet]:
    source = page.read_text(encoding="utf-8")
    for match in re.finditer(r"(?ms)^(?P<indent> *)```python\n(?P<text>.*?)^(?P=indent)```$", source):
        yield Snippet(page, source.count("\n", 0, match.start()) + 1, textwrap.dedent(match["text"]))


START = DOCS / "compile.md"
PROGRAMS = list(snippets(START))
CONTINUED = [page for page in PAGES if page.parent == DOCS and page != START and any(snippets(page))]


# ── A hub of shrunken models ────────────────────────────────────────────────────────────────────────────────────────


def spec_of(checkpoint: str) -> ModelSpec:
    return next(spec for spec in MODELS if spec.checkpoint == checkpoint)


def shrunken_processor(checkpoint: str, **_: Any) -> Any:
    spec = spec_of(checkpoint).shrink()
    return getattr(transformers, spec.processor_class)(**spec.processor)


def shrunken_model(auto: Any, checkpoint: str, /, *, dtype: torch.dtype = torch.float32, **_: Any) -> torch.nn.Module:
    """Build what `auto.from_pretrained` would build, if `auto` is the right class for the checkpoint."""
    spec = spec_of(checkpoint).shrink()
    architecture = getattr(transformers, spec.architecture)
    config = architecture.config_class(**spec.config)
    of_auto = getattr(auto, "_model_mapping", {type(config): auto})
    assert of_auto[type(config)] is architecture, f"{auto.__name__} does not load {checkpoint}"
    model: torch.nn.Module = architecture(config).to(dtype)
    return model


COMPILE = torch.compile


def traced(model: Any, *, mode: str = "default", backend: str = "eager", **options: Any) -> Any:
    """Run `torch.compile` without code generation. Refuses a mode that Inductor does not know."""
    from torch._inductor import list_mode_options

    assert list_mode_options(mode) is not None
    return COMPILE(model, backend=backend, **options)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Provide a folder with a photo, classes that load shrunken models, and a compiler that only traces."""
    shutil.copy(IMAGE, tmp_path / "photo.jpg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", shrunken_processor)
    for name in {auto_class(spec.checkpoint, spec.task) for spec in MODELS}:
        monkeypatch.setattr(getattr(transformers, name), "from_pretrained", classmethod(shrunken_model))
    monkeypatch.setattr(torch, "compile", traced)
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


# ── Python ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_complete_programs_run(program: Snippet, hub: None, capsys: pytest.CaptureFixture[str]) -> None:
    names = program.run({})
    assert capsys.readouterr().out.strip()
    is_compiled = isinstance(names["model"], torch._dynamo.OptimizedModule)
    assert is_compiled == ("torch.compile" in program.text)


def test_compiled_programs_only_add_lines_to_eager_ones() -> None:
    assert len(PROGRAMS) == 10
    for eager, compiled in zip(PROGRAMS[::2], PROGRAMS[1::2], strict=True):
        added = [line for line in compiled.text.splitlines() if line not in eager.text.splitlines()]
        assert [line for line in compiled.text.splitlines() if line not in added] == eager.text.splitlines()
        assert sum("torch.compile" in line for line in added) == 1


@pytest.mark.parametrize("page", CONTINUED, ids=lambda page: page.name)
def test_snippets_that_go_on_from_the_first_program(page: Path, hub: None, artifacts: None) -> None:
    names = PROGRAMS[0].run({})
    with torch.inference_mode():
        names["inputs"] = names["processor"](images=names["image"], return_tensors="pt").to(names["device"])
        for snippet in snippets(page):
            snippet.run(names)


@pytest.fixture
def artifacts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing produces no artifacts and no package: stand-ins are saved and loaded in their place."""
    content = b"artifacts"

    def load_artifacts(found: bytes) -> None:
        assert found == content

    monkeypatch.setattr(torch.compiler, "save_cache_artifacts", lambda: (content, object()))
    monkeypatch.setattr(torch.compiler, "load_cache_artifacts", load_artifacts)
    monkeypatch.setattr(
        torch._inductor,
        "aoti_compile_and_package",
        lambda program, *, package_path: torch.export.save(program, package_path),
    )
    monkeypatch.setattr(torch._inductor, "aoti_load_package", lambda path: torch.export.load(path).module())


def test_the_snippet_of_each_model_page_loads_its_model(hub: None) -> None:
    (snippet,) = snippets(DOCS / "models" / "each.md")
    for model in Atlas(shipped(), load_language("en")).models:
        names = snippet.run({}, model=model)
        assert isinstance(names["model"], torch._dynamo.OptimizedModule), model.label


# ── Names in running text ───────────────────────────────────────────────────────────────────────────────────────────


def test_names_of_pytorch_exist() -> None:
    named = {(name, page) for page in PAGES for name in re.findall(r"`(torch(?:\.\w+)+)", page.read_text("utf-8"))}
    assert named
    for name, page in named:
        assert resolve_name(name) is not None, page


def test_logs_exist() -> None:
    from torch._logging._internal import log_registry

    known = {*log_registry.log_alias_to_log_qnames, *log_registry.artifact_names}
    named = [re.findall(r"TORCH_LOGS=([\w,+-]+)", page.read_text("utf-8")) for page in PAGES]
    settings = ",".join(setting for settings in named for setting in settings)
    assert settings
    assert {name.lstrip("+-") for name in settings.split(",")} <= known
