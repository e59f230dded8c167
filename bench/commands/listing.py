"""`list`: print the names of models, profiles, compile modes and data types.

python -m bench list
"""

from __future__ import annotations

import argparse

from bench.commands import OK, Commands
from bench.errors import counted
from bench.measuring.variants import VARIANTS
from bench.plans.models import MODELS
from bench.plans.profiles import PRECISIONS, PROFILES


def add(commands: Commands) -> None:
    """Add the command."""
    listing = commands.add_parser(
        "list", help="list models, profiles, compile modes and data types", allow_abbrev=False
    )
    listing.set_defaults(command=_list)


def _list(_options: argparse.Namespace) -> int:
    print("Models (--model)")
    for spec in MODELS:
        size = "×".join(map(str, spec.input_size))
        print(f"  {spec.label:<17}{spec.parameters / 1e6:>7.1f} M  {size:>9}  {spec.task:<21} {spec.checkpoint}")
    print("Any other checkpoint: --checkpoint ID_OR_DIR --task TASK\n\nProfiles (--profile)")
    for profile in PROFILES.values():
        sizes = ", ".join(map(str, profile.batch_sizes))
        cells = len(profile.models) * len(profile.batch_sizes) * len(profile.variants) * len(profile.dtypes)
        print(f"  {profile.name:<12} {profile.summary}")
        print(f"  {'':<12} batch size {sizes}; {', '.join(profile.variants)}; {', '.join(profile.dtypes)}")
        on_cpu = f" ({profile.cpu_processes} on a CPU)" if profile.cpu_processes else ""
        print(f"  {'':<12} {counted(cells, 'case')}, processes per case: {profile.processes}{on_cpu}")
    print(f"\nVariants (--variant)\n  {', '.join(VARIANTS)}")
    print(f"\nData types (--dtype)\n  {', '.join(PRECISIONS)}")
    print("  autocast: weights and inputs stay in float32; TF32: float32 with TF32 in all products, on an NVIDIA GPU")
    return OK
