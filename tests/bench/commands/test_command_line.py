"""The command line: quick answers, one clear message for each mistake, and a real sweep from end to end."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from test_executors import STUB
from test_record import BEIT, VIT
from test_sweep import record

from bench.commands import command_line, doctor
from bench.commands.selection import profile_of, recipes_of, seconds_of
from bench.errors import Complaint
from bench.plans.plan import PlannedCell, make_plan
from bench.plans.profiles import PRECISIONS
from bench.records.run_file import append, encode, read
from bench.running import executors, sweep


def bench(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        command_line.main(arguments)
    assert isinstance(end.value.code, int)
    return end.value.code


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run sweeps with workers that need no torch."""
    monkeypatch.setattr(executors, "LocalProcesses", lambda: STUB)
    monkeypatch.setattr(sweep, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(doctor, "complaints", lambda: [Complaint("battery", "there is no plug", "plug it in")])


# ── Quick ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["list"]])
def test_help_and_list_answer_without_loading_what_is_slow_to_load(arguments: list[str]) -> None:
    code = f"import sys, runpy; sys.argv = ['bench', *{arguments!r}]\n"
    code += "try: runpy.run_module('bench', run_name='__main__')\nexcept SystemExit: pass\n"
    code += "print({'torch', 'transformers', 'numpy', 'rich'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("set()\n")


def test_list_shows_all_that_can_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("list") == 0
    text = capsys.readouterr().out
    for name in (
        "Conditional-DETR",
        "facebook/detr-resnet-50",
        "197.8 M",
        "800×1066",
        "paper-2023",
        "max-autotune",
        "autocast-bfloat16",
        "TF32",
        "deploy",
    ):
        assert name in text


# ── Mistakes ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "--model", "Segfromer"], ["model 'Segfromer' is not known", "Segformer"]),
        (["run", "--profile", "standrad"], ["profile 'standrad'", "standard"]),
        (["run", "--device", "cdua"], ["device 'cdua'", "cuda"]),
        (["run", "--device", "cuda"], ["no cuda device here", "present: cpu"]),
        (["run", "--variant", "reduce_overheads"], ["variant", "compile:reduce-overhead"]),
        (["run", "--dtype", "fp16"], ["dtype 'fp16'", "float16"]),
        (["run", "--dtype", "autocast", "float16"], ["dtype 'autocast'", "autocast-float16"]),
        (["run", "--dtype", "float32", "tf32"], ["--dtype TF32: a cpu device does not offer TF32", "--device cuda"]),
        (["run", "--weights", "trained"], ["weights 'trained'", "pretrained"]),
        (["run", "--batch-size", "0"], ["--batch-size", "from 1 to"]),
        (["run", "--batch-size", "four"], ["--batch-size", "'four'"]),
        (["run", "--processes", "-1"], ["--processes"]),
        (["run", "--time-budget", "soon"], ["'soon' is not a duration", "9m"]),
        (["run", "--time-budget", "3 minutes"], ["'3 minutes' is not a duration", "9m"]),
        (["run", "--time-budget", "-5m"], ["'-5m' is not a duration", "9m"]),
        (["run", "--time-budget", ""], ["'' is not a duration", "9m"]),
        (["run", "--time-budget", "0m"], ["leaves no time to measure", "9m"]),
        (["run", "--time-budget", "1e9h"], ["'1e9h' is not a duration", "9m"]),
        (["run", "--time-budget", "99999h"], ["longer than a year", "9m"]),
        (["run", "--time-budget", "9" * 5000 + "h"], ["is not a duration", "9m"]),
        (["run", "--processes", "9" * 5000], ["--processes", "from 1 to"]),
        (["run", "--out", "README.md"], ["README.md: is a file, but a folder is needed here", "choose a folder"]),
        (["run", "--out", "README.md/records"], ["is a file, but a folder is needed here"]),
        (["export", "csv", "--out", "docs"], ["docs: is a folder, but a file is needed here"]),
        (["run", "--checkpoint", "no such thing"], ["neither a local folder nor a Hugging Face Hub ID"]),
        (["run", "--checkpoint", "a/b"], ["--task"]),
        (["run", "--checkpoint", "a/b", "--task", "object-detecting"], ["did you mean object-detection?"]),
        (
            ["run", "--checkpoint", "a/b", "--task", "depth-estimation"],
            ["choose one of image-classification, object-detection, image-segmentation"],
        ),
        (["run", "--checkpoint", "a/b", "--task", "video-classification"], ["choose one of image-classification, "]),
        (["run", "--task", "object-detection"], ["--task only applies to a checkpoint"]),
        (["run", "--name", "x"], ["--name only applies to a checkpoint"]),
        (
            ["run", "--checkpoint", "a/b", "--task", "object-detection", "--name", "x"],
            ["--name", "is identified by its ID"],
        ),
        (["run", "--checkpoint", "docs", "--task", "object-detection"], ["contains no config.json", "save_pretrained"]),
        (["run", "--bacth-size", "1"], ["--bacth-size", "did you mean --batch-size?", "bench run --help"]),
        (["run", "more"], ["unrecognized arguments: more", "bench run --help"]),
        (["check", "README.md"], ["README.md: is not a run file"]),
        (["check", "docs"], ["docs: contains no record file"]),
        (["rnu"], ["rnu", "--help"]),
        ([], ["COMMAND"]),
        (["import", "huggingface-2024"], ["huggingface-2023"]),
        (["check", "nowhere.jsonl"], ["nowhere.jsonl", "no such file"]),
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
    assert "Traceback" not in text
    assert not (tmp_path / "out").exists()


# ── Run ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


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
    text = capsys.readouterr().out
    assert "is complete" in text
    assert "--fresh" in text
    assert path.read_bytes() == content
    assert bench(*arguments, "--fresh") == 0
    assert len(list((tmp_path / "out").glob("*.jsonl"))) == 2


@pytest.mark.usefixtures("stub")
def test_a_dry_run_says_what_would_be_done_and_does_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("run", "--profile", "standard", "--dry-run", "--out", str(tmp_path / "out")) == 0
    text = capsys.readouterr().out
    assert "72 processes of 12 cases, about" in text
    assert "(a guess: nothing was measured here yet)" in text
    assert re.search(r"^ViT +6 +\d+ min  python -m bench run --profile standard --model ViT ", text, re.MULTILINE)
    assert "--model Conditional-DETR --weights random --batch-size 1 --variant compile:default" in text
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("stub")
def test_shards_measure_every_case_once_each_into_its_own_file(tmp_path: Path) -> None:
    run = ["run", "--model", "ViT", "BeiT", "ResNet", "--out", str(tmp_path)]
    for shard in ("1/2", "2/2", "1/2"):
        assert bench(*run, "--shard", shard) == 0
    shards = [[each.cell.model for each in read(path)] for path in tmp_path.glob("*.jsonl")]
    assert sorted(shards) == [["BeiT"], ["ViT", "ResNet"]]


@pytest.mark.usefixtures("stub")
def test_a_command_in_a_record_measures_the_same_cell(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    options = [
        "--batch-size",
        "4",
        "--dtype",
        "bfloat16",
        "--variant",
        "default:dynamic",
        "--malloc",
        "default",
        "--allow-busy",
    ]
    assert bench("run", "--model", "BeiT", *options, *out) == 0
    (first,) = tmp_path.glob("*.jsonl")
    (record_,) = read(first)
    assert record_.command is not None
    assert bench(*record_.command.split()[3:], "--fresh", *out) == 0
    (second,) = set(tmp_path.glob("*.jsonl")) - {first}
    assert next(iter(read(second))).cell == record_.cell
    assert record_.cell.dynamic == "true"
    assert {"--allow-busy", "default"} <= set(record_.command.split())


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("device", ["cuda", "cpu"])
def test_the_command_of_a_cell_plans_the_same_cell_and_no_other(precision: str, device: str) -> None:
    made = planned("run", "--model", "ViT", "--dtype", *PRECISIONS, device=device)
    assert len({each.cell for each in made}) == len({each.command for each in made}) == len(PRECISIONS)
    (one,) = (each for each in made if f" --dtype {precision} " in each.command)
    assert planned(*shlex.split(one.command)[3:], device=device) == [one]
    assert one.cell.precision == precision.replace("-", " ")


def planned(*arguments: str, device: str) -> list[PlannedCell]:
    options = command_line.parser().parse_args(arguments)
    return list(make_plan(profile_of(options), recipes_of(options), device).planned)


@pytest.mark.usefixtures("stub")
def test_when_nothing_could_be_measured_the_status_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("run", "--model", "OwlViT", "--out", str(tmp_path)) == 1
    assert "crash" in capsys.readouterr().out


@pytest.mark.usefixtures("stub")
def test_the_end_of_the_budget_says_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ["run", "--model", "ViT", "BeiT", "--out", str(tmp_path), "--time-budget"]
    for budget in (["1s", "--dry-run"], ["1s"]):
        assert bench(*run, *budget) == (0 if "--dry-run" in budget else 1)
        text = capsys.readouterr().out
        assert "; none of them fit into the time budget" in text
        found = re.search(
            r"is too short: of 2 processes to go, the quickest takes about \d+ s. To continue: (.*)", text
        )
        assert found
        command = shlex.split(found[1])[3:]
        assert command[:-1] == run
    assert bench(*command) == 0
    assert "BeiT" in capsys.readouterr().out


@pytest.mark.usefixtures("stub")
def test_estimates_are_what_earlier_processes_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = ("run", "--model", "ViT", "BeiT", "--out", str(tmp_path))
    assert bench("run", "--model", "ViT", "--out", str(tmp_path)) == 0
    capsys.readouterr()
    assert bench(*run, "--dry-run") == 0
    assert re.search(r"2 processes, about [0-9] s \(based on earlier ones here\)", capsys.readouterr().out)
    assert bench(*run, "--time-budget", "90s") == 0
    assert "within the time budget" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("9m", 540), ("1h30m", 5400), ("45", 45), ("2h", 7200)])
def test_time_budgets(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


# ── Check and import ────────────────────────────────────────────────────────────────────────────────────────────────


def test_check_counts_files_and_lists_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append(tmp_path / "r.jsonl", [record(VIT), record(BEIT)])
    assert bench("check", str(tmp_path)) == 0
    assert "1 record file, no faults" in capsys.readouterr().out
    with (tmp_path / "r.jsonl").open("ab") as file:
        file.write(b"oops\n" + encode(record(VIT)))
    assert bench("check", str(tmp_path)) == 1
    text = capsys.readouterr().out
    assert f"{tmp_path / 'r.jsonl'}:3: not valid JSON" in text
    assert f"{tmp_path / 'r.jsonl'}:4: cell: repeats line 1" in text
    assert "2 faults" in text


def test_importing_writes_the_file_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert bench("import", "huggingface-2023", "--out", str(tmp_path)) == 0
    assert "136 records" in capsys.readouterr().out
    assert len(list(read(tmp_path / "huggingface-2023.jsonl"))) == 136
