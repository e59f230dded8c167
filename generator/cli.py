"""The commands that make and check the guide.

python -m generator guide            serve the guide, and measure this machine meanwhile
python -m generator messages         refresh the translation catalogs from the pages
python -m generator check            check pages and catalogs
python -m generator status           count what is missing or fuzzy in each language
python -m generator stage            write the guide as plain files, for another site builder
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bench.choices import folder
from bench.commands import Commands
from bench.errors import AtlasError, counted


def _translated(code: str) -> str:
    """Refuse the source language, which has no catalog."""
    if code == "en":
        remedy = "choose a language that they are translated into"
        raise AtlasError("pages are written in English", where="--language", remedy=remedy)
    return code


_LANGUAGES = click.option(
    "--language", "codes", type=_translated, multiple=True, metavar="CODE", help="Only this language. May be repeated."
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Turn records, pages and translations into the guide."""


@main.command()
@_LANGUAGES
def messages(codes: tuple[str, ...]) -> None:
    """Refresh the catalogs from pages, templates and sources."""
    from generator.languages.catalogs import refresh
    from generator.languages.language import shown

    for path, changed in refresh(codes=codes or None).items():
        click.echo(f"{'updated  ' if changed else 'unchanged'}  {shown(path)}")


@main.command()
@_LANGUAGES
def check(codes: tuple[str, ...]) -> None:
    """Check pages and catalogs; exit with status 1 if something is wrong."""
    from generator.checks.checks import check as findings_of

    findings = findings_of(codes=codes or None)
    for finding in findings:
        click.echo(finding)
    click.echo(counted(len(findings), "finding") if findings else "no findings", err=True)
    sys.exit(1 if findings else 0)


@main.command()
@click.option("--dev-addr", "address", metavar="HOST:PORT", default="127.0.0.1:8000", show_default=True)
@click.option(
    "--time-budget", metavar="TIME", default="6m", show_default=True, help="How long to measure: 90s, 9m, 1h30m."
)
def guide(address: str, time_budget: str) -> None:
    """Serve the guide, install the dependencies for measuring, and measure this machine meanwhile."""
    import os

    from mkdocs.__main__ import cli

    from bench.commands.selection import seconds_of
    from generator.live import BUDGET

    seconds_of(time_budget)  # raises at once, not after minutes
    os.environ[BUDGET] = time_budget
    cli(["serve", "--quiet", "--dev-addr", address])


@main.command()
@_LANGUAGES
def status(codes: tuple[str, ...]) -> None:
    """Count the messages of each language that are missing or fuzzy, and show the first of them."""
    from generator.checks.checks import short
    from generator.languages.catalogs import read
    from generator.languages.language import catalog_path, load_language, shown, translated_languages
    from generator.languages.pofile import english, forms

    for code in codes or translated_languages():
        load_language(code)  # its error names the command for a missing catalog
        live = [message for message in read(code) if message.id]
        missing = [message for message in live if not all(forms(message))]
        fuzzy = [message for message in live if message.fuzzy and all(forms(message))]
        click.echo(f"{code}: {counted(len(live), 'message')}, {len(missing)} missing, {len(fuzzy)} fuzzy")
        for message in (missing + fuzzy)[:10]:  # the first tell where to begin
            click.echo(f"  {shown(catalog_path(code))}:{message.lineno}: {short(english(message)[0])}")


@main.command()
@click.option("--out", type=folder, default="staged", metavar="DIR", help="Folder to write into. Default: staged.")
def stage(out: Path) -> None:
    """Write every page, chart and download of every language as plain files, for another site builder."""
    from generator.languages.language import published_languages
    from generator.site.stage import stage as staged

    click.echo(f"wrote {counted(staged(out), 'file')} into {out}; to build the site in {out / 'site'}:")
    click.echo(f"  for language in {' '.join(published_languages())}; do zensical build -f {out}/$language.yml; done")
