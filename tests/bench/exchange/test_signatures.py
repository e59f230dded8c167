"""Signatures of run files: those of contributors are verified by OpenSSH, and all others are refused."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from test_check import BEIT, VIT
from test_sweep import record

from bench.exchange import signatures
from bench.exchange.check import Problem, check
from bench.records.run_file import append
from generator.data.load import load

needs_openssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs ssh-keygen")


def key(folder: Path, name: str) -> Path:
    """Make a key pair, and return the private key."""
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(path)], check=True)
    return path


def line(login: str, private: Path) -> str:
    return f"{login} {private.with_suffix('.pub').read_text().strip()}\n"


def sign(run: Path, private: Path, namespace: str = "compile-atlas") -> None:
    command = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", str(private), str(run)]
    signatures.signature_of(run).unlink(missing_ok=True)
    subprocess.run(command, check=True, capture_output=True)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a run of ann that she has signed. The keys of ann and bob are in the list, that of eve is not."""
    atlas = tmp_path / "atlas"
    path = atlas / "measured" / "r.jsonl"
    append(path, [msgspec.structs.replace(record(VIT), contributor="ann")])
    keys = {name: key(tmp_path, name) for name in ("ann", "bob", "eve")}
    (atlas / "signers").write_text("# keys\n\n" + line("ann", keys["ann"]) + line("bob", keys["bob"]))
    sign(path, keys["ann"])
    return path


def problems(run: Path) -> list[Problem]:
    return list(check([run.parent.parent], run.parent.parent))


def private(run: Path, name: str) -> Path:
    return run.parents[2] / name


@needs_openssh
def test_a_signature_of_the_contributor_is_verified_and_shown(run: Path) -> None:
    assert problems(run) == []
    assert list(check([run], run.parent.parent)) == []
    assert load(run.parent.parent).signers == {"r": ["ann"]}


def tamper(run: Path) -> None:
    run.write_bytes(run.read_bytes().replace(b"Test CPU @ 1GHz", b"Test CPU @ 2GHz"))


def grow(run: Path) -> None:
    append(run, [msgspec.structs.replace(record(BEIT), contributor="ann")])


def of_something_else(run: Path) -> None:
    sign(run, private(run, "ann"), namespace="file")


def by_nobody_known(run: Path) -> None:
    sign(run, private(run, "eve"))


def by_another(run: Path) -> None:
    sign(run, private(run, "bob"))


def claimed_by_another(run: Path) -> None:
    """The list says that the key is bob's, and the record names ann."""
    (run.parent.parent / "signers").write_text(line("bob", private(run, "ann")))


def of_no_contributor(run: Path) -> None:
    append(run, [record(BEIT)])
    sign(run, private(run, "ann"))


def without_file(run: Path) -> None:
    run.unlink()


def torn(run: Path) -> None:
    signature = signatures.signature_of(run)
    signature.write_bytes(signature.read_bytes()[:99])


def endless(run: Path) -> None:
    signatures.signature_of(run).write_bytes(b"A" * 2_000_000)


@needs_openssh
@pytest.mark.parametrize(
    ("change", "what", "remedy"),
    [
        (tamper, "does not match r.jsonl: ", "restore the file, or sign it again: ssh-keygen -Y sign"),
        (grow, "covers the whole file, and the file has changed or grown", "sign it again"),
        (of_something_else, "does not match r.jsonl", "-n compile-atlas"),
        (by_nobody_known, "was made with a key that signers does not list", "add a line to"),
        (by_another, "was made by bob, but records of r.jsonl name 'ann' as contributor", "--by"),
        (claimed_by_another, "was made by bob, but records of r.jsonl name 'ann' as contributor", "--by"),
        (of_no_contributor, "was made by ann, but records of r.jsonl name nobody as contributor", "--by"),
        (without_file, "signs r.jsonl, which is missing", "remove its signature"),
        (torn, "is not a signature made by ssh-keygen", "sign the file again"),
        (endless, "is larger than 1,048,576 bytes", "remove it"),
    ],
)
def test_any_other_signature_is_refused(run: Path, change: Callable[[Path], None], what: str, remedy: str) -> None:
    change(run)
    (problem,) = problems(run)
    assert problem.where == f"{run}.sig"
    assert not problem.is_note
    assert what in problem.what
    assert remedy in problem.remedy


@needs_openssh
def test_without_openssh_a_note_says_so_and_what_can_be_read_is_still_refused(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    (note,) = problems(run)
    assert note.is_note
    assert (note.where, note.what) == (f"{run}.sig", "cannot be verified: ssh-keygen is missing")
    claimed_by_another(run)
    (problem,) = problems(run)
    assert not problem.is_note


@pytest.mark.parametrize(
    "wrong",
    ["ann", "ann ssh-ed25519 AAAAC3Nz me@host", "* ssh-ed25519 AAAAC3Nz", "ann cert-authority ssh-rsa AAAAC3Nz"],
)
def test_the_list_has_logins_and_keys_alone(tmp_path: Path, wrong: str) -> None:
    (tmp_path / "signers").write_text(f"# keys\n{wrong}\n")
    append(tmp_path / "r.jsonl", [record(VIT)])
    (problem,) = check([tmp_path], tmp_path)
    assert problem.where == f"{tmp_path / 'signers'}:2"
    assert "LOGIN ssh-ed25519" in problem.remedy


@needs_openssh
def test_a_broken_list_is_no_reason_to_say_more_than_that(run: Path) -> None:
    (run.parent.parent / "signers").write_text("ann\n")
    assert [problem.where for problem in problems(run)] == [f"{run.parent.parent / 'signers'}:1"]
