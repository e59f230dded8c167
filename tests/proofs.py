"""Documents of proofs on GPUs that nobody has: between them, they have every check, finding and reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

from bench.records.proof import FIGURES_OF, SCHEMA, Check, CheckName, Finding, Proof, Reason
from bench.records.record import Environment

GPUS = ("NVIDIA H100 80GB HBM3", "NVIDIA RTX 6000 Ada Generation", "AMD Instinct MI300X")
FINDINGS: tuple[Finding, ...] = tuple(finding for finding in get_args(Finding) if finding != "passed")
TOLD = "in words of its own"


def every_reason() -> list[Proof]:
    """A document for each of `GPUS`."""
    reasons = get_args(Reason)
    return [_proof(gpu, reasons[number :: len(GPUS)]) for number, gpu in enumerate(GPUS)]


def _proof(gpu: str, reasons: tuple[Reason, ...]) -> Proof:
    names: tuple[CheckName, ...] = get_args(CheckName)
    checks = [_check(name, reason, reasons.index(reason)) for name, reason in zip(names, reasons, strict=False)]
    passed = Check(name=names[-1], variant="compiled", finding="passed", ratio=0.99, bound=0.05)
    return Proof(
        schema=SCHEMA,
        taken_at=datetime(2026, 1, 2, tzinfo=UTC),
        environment=Environment(device_name=gpu, torch="2.13.0", commit="abc"),
        command="python -m bench prove",
        device="cuda",
        model="ViT",
        checks=(*checks, passed),
    )


def _check(name: CheckName, reason: Reason, number: int) -> Check:
    return Check(
        name=name,
        variant="eager",
        finding=FINDINGS[number % len(FINDINGS)],
        ratio=1.0123,
        low=0.9876,
        high=1.0345,
        bound=0.05,
        figures=dict.fromkeys(FIGURES_OF.get(reason, ()), 0.25),
        reason=reason,
        told=TOLD,
    )
