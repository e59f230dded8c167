"""Signatures of run files, by which contributors vouch for what they measured.

``FILE.jsonl.sig`` beside a run file is a signature of the whole file. `verify` asks OpenSSH whether a contributor made
it with a key of the atlas, which lists them in ``signers``: a line with login, type and public key for each. `signers`
reads who that is from the same files, without OpenSSH: a build shows what a check has verified.

    ssh-keygen -Y sign -n compile-atlas -f KEY FILE.jsonl
"""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.errors import AtlasError
from bench.records.record import RESULTS
from bench.records.run_file import read, run_files, run_of

SUFFIX, NAME, NAMESPACE = ".sig", "signers", "compile-atlas"
"""What follows the name of a signed file, the name of the list of keys, and what the signatures are for."""

MAX_BYTES = 1024 * 1024
"""Limit for the list, and for a signature, none of which takes 4 KiB."""

SECONDS = 60
"""How long OpenSSH may take to verify one."""

_LINE = re.compile(r"([A-Za-z0-9][\w.-]*) (?:sk-)?(?:ssh|ecdsa)-[\w.@-]+ (AAAA[A-Za-z0-9+/]+={0,2})", re.ASCII)
_ARMOUR = re.compile(rb"-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)-----END SSH SIGNATURE-----\s*")
_HEAD = len(b"SSHSIG") + 4  # and a version; a length of four bytes and the public key follow


def signatures(path: Path) -> list[Path]:
    """Return the signatures at or below a path. Those of a run file lie beside it, those of a list below its folder."""
    if path.is_dir() or path.name == NAME:
        found = (path if path.is_dir() else path.parent).rglob(f"*{SUFFIX}")
        return sorted(each for each in found if each.is_file())
    signature = path if path.suffix == SUFFIX else signature_of(path)
    return [signature] if signature.is_file() else []


def signature_of(run: Path) -> Path:
    """Return the place of the signature of a run file."""
    return run.with_name(run.name + SUFFIX)


def signers(results: Path = RESULTS) -> Mapping[str, Sequence[str]]:
    """Return the logins whose key signed a run, by run: of signatures as they are, which `verify` has verified.

    Raises `AtlasError` for a file that is no signature and a list that is none.
    """
    signed = [(run_of(path), signature_of(path)) for path in run_files(results) if signature_of(path).is_file()]
    listed = keys(results / NAME)
    return {run: listed.get(_key(signature), ()) for run, signature in signed}


def verify(signature: Path, listed: Path = RESULTS / NAME) -> bool:
    """Return whether a signature was verified: False without OpenSSH. `listed` has the keys.

    Raises `AtlasError` for a signature that does not fit its file, or is not that of its contributor.
    """
    run = signature.with_suffix("")
    if not run.is_file():
        what, remedy = f"signs {run.name}, which is missing", "restore the file, or remove its signature"
        raise AtlasError(what, where=str(signature), remedy=remedy)
    names = keys(listed).get(_key(signature), ())
    if not names:
        remedy = f"add a line to {listed.name}: your login and the first two words of KEY.pub"
        raise AtlasError(f"was made with a key that {listed.name} does not list", where=str(signature), remedy=remedy)
    program = shutil.which("ssh-keygen")
    if program and not _fits(program, signature, run, names[0], listed):
        what = f"does not match {run.name}: a signature covers the whole file, and the file has changed or grown"
        remedy = f"restore the file, or sign it again: ssh-keygen -Y sign -n {NAMESPACE} -f KEY {run.name}"
        raise AtlasError(what, where=str(signature), remedy=remedy)
    if others := {record.contributor for record in read(run)} - set(names):
        shown = ", ".join(sorted(ascii(other) if other else "nobody" for other in others))
        what = f"was made by {' or '.join(names)}, but records of {run.name} name {shown} as contributor"
        remedy = "sign only what you measured with your login in --by, or remove the signature"
        raise AtlasError(what, where=str(signature), remedy=remedy)
    return program is not None


def _fits(program: str, signature: Path, run: Path, name: str, listed: Path) -> bool:
    command = [program, "-Y", "verify", "-n", NAMESPACE, "-f", str(listed), "-I", name, "-s", str(signature)]
    with run.open("rb") as file:
        try:
            done = subprocess.run(command, stdin=file, capture_output=True, check=False, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            what, remedy = f"cannot be verified: {error}", "try again with a different version of OpenSSH"
            raise AtlasError(what, where=str(signature), remedy=remedy) from None
    return done.returncode == 0


def keys(listed: Path) -> Mapping[bytes, Sequence[str]]:
    """Return the logins of each public key of the list, which need not exist. Raises `AtlasError` for a bad line."""
    found: dict[bytes, list[str]] = {}
    for number, line in enumerate(_content(listed).splitlines() if listed.is_file() else (), start=1):
        text = line.decode(errors="replace")
        if text.strip() and not text.startswith("#"):
            if (parts := _LINE.fullmatch(text)) is None or len(parts[2]) % 4:
                what = "is not a login with key type and public key, or has a comment, which may name a machine"
                remedy = "write: LOGIN ssh-ed25519 AAAA…, with the first two words of KEY.pub"
                raise AtlasError(what, where=f"{listed}:{number}", remedy=remedy)
            found.setdefault(base64.b64decode(parts[2]), []).append(parts[1])
    return found


def _key(signature: Path) -> bytes:
    """Return the public key that a signature contains."""
    armour = _ARMOUR.fullmatch(_content(signature).replace(b"\r\n", b"\n"))
    try:
        blob = base64.b64decode(armour[1]) if armour else b""
    except ValueError:
        blob = b""
    if not blob.startswith(b"SSHSIG"):
        remedy = f"sign the file again: ssh-keygen -Y sign -n {NAMESPACE} -f KEY {signature.stem}"
        raise AtlasError("is not a signature made by ssh-keygen", where=str(signature), remedy=remedy)
    start = _HEAD + 4
    return blob[start : start + int.from_bytes(blob[_HEAD:start], "big")]


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise AtlasError(f"cannot be read: {error.strerror}", where=str(path), remedy="check the path") from None
    if len(content) > MAX_BYTES:
        raise AtlasError(f"is larger than {MAX_BYTES:,} bytes", where=str(path), remedy="restore it, or remove it")
    return content
