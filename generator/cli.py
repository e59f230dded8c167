"""The commands that make and check the guide.

python -m generator messages    refresh the translation catalogs from the pages
python -m generator check       check pages and catalogs
python -m generator status      what is translated, by page and language
python -m generator build       write the guide as plain files, for another site builder
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from bench.errors import AtlasError


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


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
