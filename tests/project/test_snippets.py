"""Every code block of the guide does what its page says: programs run, commands parse, names of PyTorch exist.

Blocks come from the Markdown sources, so one run holds for all languages. Models are the shrunken ones of
`bench.plans.models`: nothing is downloaded, and what is compiled is traced, but not turned into machine code.
"""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import transformers
from jinja2 import Environment

from bench.commands import command_line
from bench.commands.selection import profile_of, recipes_of
from bench.measuring.build import IMAGE
from bench.plans.models import MODELS, ModelSpec
from bench.plans.profiles import KEEP_MEMORY
from generator import cli as generator_cli
from generator.data.load import load
from generator.languages.blocks import split
from generator.languages.language import load_language
from generator.pages.atlas import Atlas

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md"))

FENCE = re.compile(r"(?ms)^(?P<indent>[ ]*)```(?P<kind>\w+)\n(?P<text>.*?)^(?P=indent)```$")


@dataclass(frozen=True)
class Snippet:
    """A fenced code block: its place, its language, and its text without the indent of a tab."""

    page: Path
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(DOCS)}:{self.line}"


def snippets(page: Path, kind: str) -> Iterator[Snippet]:
    source = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(source):
        if match["kind"] == kind:
            yield Snippet(page, source.count("\n", 0, match.start()) + 1, kind, textwrap.dedent(match["text"]))


START = DOCS / "compile.md"
PROGRAMS = list(snippets(START, "python"))
CONTINUED = [page for page in PAGES if page.parent == DOCS and page != START and any(snippets(page, "python"))]
COMMANDS = [snippet for page in PAGES for snippet in snippets(page, "console")]


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
    assert auto._model_mapping[type(config)] is architecture, f"{auto.__name__} does not load {checkpoint}"
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
    for name in {model.auto_class for model in Atlas(load(), load_language("en")).models}:
        monkeypatch.setattr(getattr(transformers, name), "from_pretrained", classmethod(shrunken_model))
    monkeypatch.setattr(torch, "compile", traced)
    torch.manual_seed(0)
    yield
    torch._dynamo.reset()


def run(snippet: Snippet, names: dict[str, Any]) -> dict[str, Any]:
    """Run the snippet, with line numbers of its page in any traceback."""
    exec(compile("\n" * snippet.line + snippet.text, str(snippet.page), "exec"), names)
    return names


# ── Python ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_complete_programs_run(program: Snippet, hub: None, capsys: pytest.CaptureFixture[str]) -> None:
    names = run(program, {})
    assert capsys.readouterr().out.strip()
    is_compiled = isinstance(names["model"], torch._dynamo.OptimizedModule)
    assert is_compiled == ("torch.compile" in program.text)


def test_compiled_programs_only_add_lines_to_eager_ones() -> None:
    assert len(PROGRAMS) == 6
    for eager, compiled in zip(PROGRAMS[::2], PROGRAMS[1::2], strict=True):
        added = [line for line in compiled.text.splitlines() if line not in eager.text.splitlines()]
        assert [line for line in compiled.text.splitlines() if line not in added] == eager.text.splitlines()
        assert sum("torch.compile" in line for line in added) == 1


@pytest.mark.parametrize("page", CONTINUED, ids=lambda page: page.name)
def test_snippets_that_go_on_from_the_first_program(page: Path, hub: None, artifacts: None) -> None:
    names = run(PROGRAMS[0], {})
    with torch.inference_mode():
        names["inputs"] = names["processor"](images=names["image"], return_tensors="pt").to(names["device"])
        for snippet in snippets(page, "python"):
            run(snippet, names)


@pytest.fixture
def artifacts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tracing produces no artifacts, so stand-ins are saved and loaded in their place."""
    content = b"artifacts"

    def load_artifacts(found: bytes) -> None:
        assert found == content

    monkeypatch.setattr(torch.compiler, "save_cache_artifacts", lambda: (content, object()))
    monkeypatch.setattr(torch.compiler, "load_cache_artifacts", load_artifacts)


def test_the_snippet_of_each_model_page_loads_its_model(hub: None) -> None:
    (snippet,) = snippets(DOCS / "models" / "each.md", "python")
    template = Environment(autoescape=False).from_string(snippet.text)
    for model in Atlas(load(), load_language("en")).models:
        text = template.render(model=model)
        names = run(Snippet(snippet.page, snippet.line, snippet.kind, text), {})
        assert isinstance(names["model"], torch._dynamo.OptimizedModule), model.label


def test_code_is_no_message_so_all_languages_have_the_same() -> None:
    for page in PAGES:
        document = split(page.read_text(encoding="utf-8"))
        literal = [part for part in document.parts if isinstance(part, str)]
        for match in FENCE.finditer(page.read_text(encoding="utf-8")):
            assert any(match["text"] in part for part in literal), page


# ── Commands ────────────────────────────────────────────────────────────────────────────────────────────────────────


def lines(snippet: Snippet) -> Iterator[list[str]]:
    chosen = re.sub(r"\{\{ *model\.chosen_by *\}\}", "--model ViT", snippet.text)
    return (shlex.split(line, comments=True) for line in chosen.splitlines() if line.strip())


@pytest.mark.parametrize("snippet", COMMANDS, ids=str)
def test_commands_are_commands(snippet: Snippet) -> None:
    for words in lines(snippet):
        match words:
            case ["python" | ".venv/bin/python", "-m", "bench", *arguments]:
                check_bench(arguments)
            case ["python", "-m", "generator", command, *arguments]:
                generator_cli.main.commands[command].make_context(command, arguments)
            case ["make", target]:
                assert re.search(rf"(?m)^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"))
            case ["git", "add" | "commit", *_]:
                pass
            case ["export", *settings]:
                assert dict(setting.split("=") for setting in settings) == KEEP_MEMORY
            case [setting, "python", "serve.py"]:
                check_logs(setting.removeprefix("TORCH_LOGS="))
            case _:
                pytest.fail(f"no test knows the command {shlex.join(words)}")


def check_bench(arguments: list[str]) -> None:
    """The options exist, and their values are names that the bench knows."""
    name, *rest = arguments
    options = SimpleNamespace(**command_line.main.commands[name].make_context(name, rest).params)
    if name == "run":
        profile_of(options)
        assert recipes_of(options)


def check_logs(setting: str) -> None:
    from torch._logging._internal import log_registry

    known = {*log_registry.log_alias_to_log_qnames, *log_registry.artifact_names}
    assert {name.lstrip("+-") for name in setting.split(",")} <= known


# ── Names in running text ───────────────────────────────────────────────────────────────────────────────────────────

INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")


def inline_code() -> list[tuple[str, str]]:
    texts = [(page, FENCE.sub("", page.read_text(encoding="utf-8"))) for page in PAGES]
    return [(page.relative_to(DOCS).as_posix(), code) for page, text in texts for code in INLINE.findall(text)]


def test_names_of_pytorch_exist() -> None:
    for page, code in inline_code():
        if name := re.match(r"torch(?:\.\w+)+", code):
            assert resolve_name(name[0]) is not None, f"{page}: {name[0]}"


def test_logs_in_running_text_exist() -> None:
    settings = [code.removeprefix("TORCH_LOGS=") for _, code in inline_code() if code.startswith("TORCH_LOGS=")]
    assert settings
    for setting in settings:
        check_logs(setting)
