"""The commands that make and check the guide.

python -m generator messages    refresh the translation catalogs from the pages
python -m generator check       check pages and catalogs
python -m generator status      what is translated, by page and language
python -m generator build       write the guide as plain files, for another site builder
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bench.errors import AtlasError

if TYPE_CHECKING:
    from generator.coverage import Coverage


class _Commands(click.Group):
    """A command group whose users see the message of an `AtlasError`, and never a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except AtlasError as error:
            click.echo(f"error: {error}", err=True)
            sys.exit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Turn records, pages and translations into the guide."""


@main.command()
@click.option("--language", "codes", multiple=True, metavar="CODE", help="Only this language; may be given again.")
def messages(codes: tuple[str, ...]) -> None:
    """Refresh locales/messages.pot and the catalogs from pages, templates and sources."""
    from generator.catalogs import refresh
    from generator.language import LANGUAGES

    for path, changed in refresh(codes=codes or LANGUAGES[1:]).items():
        click.echo(f"{'updated  ' if changed else 'unchanged'}  {_shown(path)}")


@main.command()
@click.option("--language", "codes", multiple=True, metavar="CODE", help="Only this language; may be given again.")
@click.option(
    "--format", "layout", type=click.Choice(["text", "github"]), default="text", help="How to write findings."
)
def check(codes: tuple[str, ...], layout: str) -> None:
    """Check pages and catalogs; exit with 1 where something is wrong. What the data lint doubts is noted."""
    from datetime import UTC, datetime

    from generator.checks import check as findings_of
    from generator.data_notes import data_notes
    from generator.language import LANGUAGES
    from generator.load import load

    for note in data_notes(load(), datetime.now(UTC).date()):
        click.echo(f"note: {note}", err=True)
    findings = findings_of(codes=codes or LANGUAGES[1:])
    for finding in findings:
        click.echo(finding.annotation if layout == "github" else finding)
    if findings:
        click.echo(f"{len(findings)} findings", err=True)
        sys.exit(1)
    click.echo("no findings", err=True)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Write JSON instead of a table.")
def status(as_json: bool) -> None:
    """Show what is translated, by page and language."""
    from generator.coverage import coverage

    rows = list(coverage())
    if as_json:
        import dataclasses
        import json

        click.echo(json.dumps([{**dataclasses.asdict(row), "missing": row.missing} for row in rows], indent=1))
    else:
        _print_coverage(rows)


def _print_coverage(rows: list[Coverage]) -> None:
    from rich.console import Console
    from rich.table import Table

    languages = list(dict.fromkeys(row.language for row in rows))
    table = Table("page", "messages", title="Translated messages", title_justify="left")
    for language in languages:
        table.add_column(language, justify="right")
    for page in dict.fromkeys(row.page for row in rows):
        of_page = [row for row in rows if row.page == page]
        table.add_row(page, str(of_page[0].messages), *(_words(row) for row in of_page))
    console = Console()
    console.print(table)
    for language in languages:
        own = [row for row in rows if row.language == language]
        missing, fuzzy = sum(row.missing for row in own), sum(row.fuzzy for row in own)
        declared = "declared complete" if own[0].declared_complete else "not declared complete"
        console.print(f"{language}: {missing} missing, {fuzzy} fuzzy; {declared}")


def _words(row: Coverage) -> str:
    if row.translated == row.messages:
        return "all"
    left = [f"{row.missing} missing"] * bool(row.missing) + [f"{row.fuzzy} fuzzy"] * bool(row.fuzzy)
    return ", ".join(left)


@main.command()
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write into.")
def build(out: Path) -> None:
    """Write every page, chart and download of every language as plain files."""
    from generator.stage import stage

    click.echo(f"wrote {stage(out)} files into {out}")


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
