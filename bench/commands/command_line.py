"""The command line of `python -m bench`: runs a command and prints errors. Only worker processes import torch.

python -m bench --help
"""

from __future__ import annotations

import click

from bench.commands import Commands, compare, doctor, examples, exchange, install, run
from bench.errors import counted
from bench.measuring.variants import VARIANTS
from bench.plans.models import MODELS
from bench.plans.profiles import PRECISIONS, PROFILES


@click.command("list")
def list_command() -> None:
    """List models, profiles, variants and data types."""
    click.echo("Models (--model)")
    for spec in MODELS:
        size = "×".join(map(str, spec.input_size))
        click.echo(f"  {spec.label:<17}{spec.parameters / 1e6:>7.1f} M  {size:>9}  {spec.task:<21} {spec.checkpoint}")
    click.echo("Any other checkpoint: --checkpoint ID_OR_DIR --task TASK\n\nProfiles (--profile)")
    for profile in PROFILES.values():
        sizes = ", ".join(map(str, profile.batch_sizes))
        cells = len(profile.models) * len(profile.batch_sizes) * len(profile.variants) * len(profile.dtypes)
        click.echo(f"  {profile.name:<12} {profile.summary}")
        click.echo(f"  {'':<12} batch size {sizes}; {', '.join(profile.variants)}; {', '.join(profile.dtypes)}")
        click.echo(f"  {'':<12} {counted(cells, 'case')}, processes per case: {profile.processes}")
    click.echo(f"\nVariants (--variant)\n  {', '.join(VARIANTS)}")
    click.echo(f"\nData types (--dtype)\n  {', '.join(PRECISIONS)}")
    click.echo("  autocast: weights and inputs stay in float32; TF32: in all products, on an NVIDIA GPU")


main = Commands(
    help="Measure vision models, eager against torch.compile, and keep the records.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120, "show_default": True},
    commands=(
        *(install.install_command, list_command, run.run_command, compare.compare_command, doctor.doctor_command),
        *(doctor.selfcheck_command, exchange.check_command, exchange.import_command),
        examples.examples_command,
    ),
)
