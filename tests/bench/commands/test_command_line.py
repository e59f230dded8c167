"""The command line: quick answers, one clear message for each mistake, and a real sweep from end to end."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_record import BEIT, VIT
from test_worker_process import run_stub

from bench.commands import command_line, doctor
from bench.commands.selection import profile_of, recipes_of, seconds_of
from bench.errors import AtlasError, Complaint
from bench.measuring.variants import VARIANTS
from bench.plans.plan import PlannedCell, make_plan
from bench.plans.profiles import PRECISIONS
from bench.records.run_file import append, encode, read
from bench.running import sweep, worker_process

ROOT = Path(__file__).resolve().parents[3]


def bench(*arguments: str) -> int:
    """Run a command and return its exit status."""
    with pytest.raises(SystemExit) as end:
        command_line.main(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


def options_of(*arguments: str) -> SimpleNamespace:
    """Parse the arguments of `run`."""
    return SimpleNamespace(**command_line.main.commands["run"].make_context("run", list(arguments)).params)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run sweeps with workers that need no torch."""
    monkeypatch.setattr(worker_process, "run_worker", run_stub)
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(doctor, "complaints", lambda _: [Complaint("battery", "there is no plug", "plug it in")])


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["list"]])
def test_help_and_list_answer_without_loading_what_is_slow_to_load(arguments: list[str]) -> None:
    code = f"import sys, runpy; sys.argv = ['bench', *{arguments!r}]\n"
    code += "try: runpy.run_module('bench', run_name='__main__')\nexcept SystemExit: pass\n"
    code += "print({'torch', 'transformers', 'numpy', 'pandas', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")


DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / ".github").rglob("*.yml")),
]
STANDS_FOR = {
    "$(BUDGET)": "6m",
    "$PROFILE": "quick",
    "$TIME_BUDGET": "4h",
    "$OPTIONS": "",
    '"$@"': "",
    "--checkpoint`": "--checkpoint a/b`",
}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_commands_in_documents_parse(document: Path) -> None:
    text = re.sub(r"\{\{ *model\.chosen_by *\}\}", "--model ViT", document.read_text("utf-8"))
    text = re.sub(r"\{\{[^}]*\}\}", "name", text)
    for shown, value in STANDS_FOR.items():
        text = text.replace(shown, value)
    for line in re.findall(r"python -m bench ([a-z][^`\n#&{]*)", text):
        name, *arguments = shlex.split(line.strip().rstrip("."))
        command = command_line.main.commands[name]
        is_alone = len(arguments) == 0 and any(each.required for each in command.params)  # named in running text
        if not is_alone and "--help" not in arguments:
            command.make_context(name, arguments)


def test_list_shows_all_that_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("list") == 0
    text = capsys.readouterr().out
    for name in ("facebook/detr-resnet-50", "197.8 M", "800×1066", "paper-2023", *PRECISIONS, *VARIANTS):
        assert name in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--model", "Segfromer"], ["model 'Segfromer' is not known", "Segformer"]),
        (["run", "--profile", "standrad"], ["profile 'standrad'", "did you mean standard?"]),
        (["run", "--device", "cuda"], ["no cuda device here", "present: cpu"]),
        (["run", "--variant", "reduce_overheads"], ["variant", "compile:reduce-overhead"]),
        (["run", "--dtype", "float32", "autocast"], ["dtype 'autocast'", "autocast-float16"]),
        (["run", "--dtype", "float32", "tf32"], ["--dtype TF32: a cpu device does not offer TF32", "--device cuda"]),
        (["run", "--time-budget", "3 minutes"], ["'3 minutes' is not a duration", "9m"]),
        (["run", "--out", "README.md/records"], ["is a file, but a folder is needed here", "choose a folder"]),
        (["run", "--out", ""], ["--out: the path is empty"]),
        (["run", "--checkpoint", "no such thing"], ["neither a local folder nor a Hugging Face Hub ID"]),
        (["run", "--checkpoint", "a/b"], ["--task"]),
        (["run", "--checkpoint", "a/b", "--task", "boxes"], ["choose one of image-classification, object-detection"]),
        (["run", "--task", "object-detection"], ["--task only applies to a checkpoint"]),
        (["run", "--checkpoint", "a/b", "--task", "object-detection", "--name", "x"], ["is identified by its ID"]),
        (["run", "--checkpoint", "docs", "--task", "object-detection"], ["contains no config.json", "save_pretrained"]),
        (["check", "docs"], ["docs: contains no record file"]),
        (["check", "nowhere.jsonl"], ["nowhere.jsonl", "no such file"]),
        (["import", "tim", "a.csv"], ["did you mean timm?"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("stub")
def test_a_mistake_is_one_message_with_a_remedy(
    arguments: list[str], says: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path / "out")] if arguments[:1] == ["run"] and "--out" not in arguments else []
    assert bench(*arguments, *out) == 2
    text = capsys.readouterr().err
    assert all(each in text for each in [*says, "error: ", "remedy: "])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "COMMAND"),
        (["rnu"], "Did you mean 'run'?"),
        (["run", "--bacth-size", "1"], "Did you mean '--batch-size'?"),
        (["run", "--out", "a", "b"], "unexpected extra argument (b)"),  # it takes one value
        (["run", "--batch-size", "1", "0"], "0 is not in the range"),
        (["run", "--processes", "-1"], "-1 is not in the range"),
        (["compare", "a", "b", "--threshold", "much"], "'--threshold'"),
    ],
)
def test_a_line_that_cannot_be_parsed_is_refused_with_its_usage(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(*arguments) == 2
    text = capsys.readouterr().err
    assert says in text
    assert "--help" in text


def test_a_variant_without_its_package_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "compile:default:marked"
    monkeypatch.setitem(VARIANTS, name, replace(VARIANTS[name], needs=("torch", "no-such-package")))
    with pytest.raises(AtlasError, match="needs no-such-package") as error:
        profile_of(options_of("--variant", "default:marked"))
    assert error.value.remedy == "pip install no-such-package"


@pytest.mark.usefixtures("stub")
def test_a_run_measures_reports_and_is_not_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("run", "--model", "ViT", "ConvNeXT", "--processes", "2", "--out", str(tmp_path / "out"))
    assert bench(*arguments) == 0
    text = capsys.readouterr().out
    assert "[1/4] ViT" in text
    assert text.count("warning: battery: there is no plug\n  remedy: plug it in\n") == 1
    assert re.search(r"^ViT +\d\d\.\d+ +\d\d?\.\d+ +[12]\.\d+× .* 2  pass$", text, re.MULTILINE)
    assert re.search(r"^ConvNeXT +\d\d\.\d+ +– .*oom$", text, re.MULTILINE)
    (path,) = (tmp_path / "out").glob("*.jsonl")
    assert [each.process for each in read(path)] == [0, 0, 1]
    assert {each.flags for each in read(path)} == {("doctor-battery",)}
    content = path.read_bytes()

    assert bench(*arguments) == 0
    assert "is complete. To measure again, add --fresh" in capsys.readouterr().out
    assert path.read_bytes() == content
    assert bench(*arguments, "--fresh") == 0
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 2


@pytest.mark.usefixtures("stub")
def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("run", "--profile", "standard", "--dry-run", "--out", str(tmp_path / "out")) == 0
    text = capsys.readouterr().out
    assert "72 processes of 24 cases, about" in text
    assert re.search(r"^ViT +3 +\d+ min  python -m bench run --profile standard --model ViT ", text, re.MULTILINE)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("stub")
def planned(*arguments: str, device: str) -> list[PlannedCell]:
    options = options_of(*arguments)
    return list(make_plan(profile_of(options), recipes_of(options), device, options.threads).planned)


@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_command_of_a_cell_plans_the_same_cell_and_no_other(device: str) -> None:
    how = ["--batch-size", "4", "16", "--malloc", "default", "--allow-busy", "--variant", *VARIANTS]
    how += ["--threads", "1"] if device == "cpu" else []
    made = planned("--model", "ViT", "BeiT", "--dtype", *PRECISIONS, *how, device=device)
    assert len({each.cell for each in made}) == len(made) == 2 * 2 * len(PRECISIONS) * len(VARIANTS)
    for each in made:
        assert planned(*shlex.split(each.command)[4:], device=device) == [each]


@pytest.mark.usefixtures("stub")
def test_the_end_of_the_budget_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--model", "ViT", "BeiT", "--out", str(tmp_path), "--time-budget"]
    assert bench(*run, "1s") == 1
    text = capsys.readouterr().out
    assert "; none of them fit into the time budget" in text
    found = re.search(r"run the same command with --time-budget (\d+m) or more", text)
    assert found
    assert bench(*run, found[1]) == 0
    assert "BeiT" in capsys.readouterr().out


@pytest.mark.usefixtures("stub")
def test_an_interrupted_run_has_its_own_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sweep, "run", interrupted)
    assert bench("run", "--model", "ViT", "--out", str(tmp_path)) == 130
    assert "To continue, run the same command again" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("9m", 540), ("1h30m", 5400), ("45", 45), ("2h", 7200)])
def test_time_budgets(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


def test_check_counts_files_and_lists_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append(tmp_path / "run-1.jsonl", [VIT, BEIT])
    assert bench("check", str(tmp_path)) == 0
    assert "1 record file, no faults" in capsys.readouterr().out
    with (tmp_path / "run-1.jsonl").open("ab") as file:
        file.write(b"oops\n" + encode(VIT))
    assert bench("check", str(tmp_path)) == 1
    text = capsys.readouterr().out
    assert f"{tmp_path / 'run-1.jsonl'}:3: not valid JSON" in text
    assert f"{tmp_path / 'run-1.jsonl'}:4: cell: repeats line 1" in text
    assert "2 faults" in text
