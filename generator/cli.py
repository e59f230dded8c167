"""The commands that make and check the guide.

python -m generator guide            serve the guide, and measure this machine meanwhile
python -m generator messages         refresh the translation catalogs from the pages
python -m generator check            check pages and catalogs, and a built site
python -m generator status           show what is translated, by page and language, and what to translate next
python -m generator add-language     add a language
python -m generator export, import   convert catalogs to XLIFF or CSV, and back
python -m generator review           write a sheet for a native reader, and read it back
python -m generator stage            write the guide as plain files, for another site builder
python -m generator pseudo           build the site in two invented languages, for tests
python -m generator committed        check that nothing differs from the commit, before it is published
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from bench.choices import plain_file
from bench.errors import AtlasError, counted, unusable

if TYPE_CHECKING:
    from polib import POFile

    from generator.languages.coverage import Coverage
    from generator.languages.interchange import Format


class _Out(click.Path):
    """A path to write to. An empty one would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value).strip():
            self.fail("the path is empty", param, ctx)
        return super().convert(value, param, ctx)


Codes = TypeVar("Codes", str, tuple[str, ...])


class _Commands(click.Group):
    """A command group that reports errors with their place and remedy, without a traceback."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of our output has closed it; Click handles that
            raise
        except (AtlasError, OSError) as error:
            shown = unusable(error) if isinstance(error, OSError) else error
            click.echo(f"error: {shown}", err=True)
            sys.exit(2)


def _translated(_context: click.Context, _option: click.Parameter, given: Codes) -> Codes:
    """Refuse the source language, which has no catalog."""
    from generator.languages.language import SOURCE

    if given and SOURCE in ((given,) if isinstance(given, str) else given):
        raise AtlasError(
            "pages are written in English", where="--language", remedy="choose a language that they are translated into"
        )
    return given


_LANGUAGES = click.option(
    "--language",
    "codes",
    multiple=True,
    metavar="CODE",
    callback=_translated,
    help="Only this language. May be repeated.",
)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Turn records, pages and translations into the guide."""


@main.command()
@_LANGUAGES
def messages(codes: tuple[str, ...]) -> None:
    """Refresh locales/messages.pot and the catalogs from pages, templates and sources."""
    from generator.languages.catalogs import refresh

    for path, changed in refresh(codes=codes or None).items():
        click.echo(f"{'updated  ' if changed else 'unchanged'}  {_shown(path)}")


@main.command()
@_LANGUAGES
@click.option(
    "--site", type=click.Path(path_type=Path, file_okay=False), help="Also compare the pages of a built site."
)
@click.option(
    "--format",
    "layout",
    type=click.Choice(["text", "github", "sarif"]),
    default="text",
    help="Output format of the findings.",
)
def check(codes: tuple[str, ...], site: Path | None, layout: str) -> None:
    """Check pages and catalogs; exit with status 1 if something is wrong. Notes point out doubtful records."""
    from datetime import UTC, datetime

    from generator.checks.checks import check as findings_of, font_notes
    from generator.checks.data_notes import data_notes
    from generator.checks.rendered_checks import check_site
    from generator.data.load import load
    from generator.languages.findings import sarif
    from generator.languages.language import SOURCE

    findings = findings_of(codes=codes or None)
    if site:
        findings += check_site(site, (SOURCE, *codes) if codes else None)
    if layout == "sarif":
        click.echo(sarif(findings))
    for finding in findings if layout != "sarif" else ():
        click.echo(finding.annotation if layout == "github" else finding)
    for note in (*font_notes(codes or None), *data_notes(load(), datetime.now(UTC).date())):
        click.echo(f"note: {note}", err=True)
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
    from generator.live.live_run import BUDGET

    seconds_of(time_budget)  # raises at once, not after minutes
    os.environ[BUDGET] = time_budget
    cli(["serve", "--quiet", "--dev-addr", address])


@main.command()
def committed() -> None:
    """Check that no file differs from the commit: only what is committed is published."""
    from generator.languages.catalogs import ROOT
    from generator.site.publishing import refuse_uncommitted

    refuse_uncommitted(ROOT)


@main.command()
@_LANGUAGES
@click.option("--format", "layout", type=click.Choice(["text", "json", "badge"]), default="text", help="Output format.")
@click.option(
    "--views",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="CSV file with the columns page and views.",
)
def status(codes: tuple[str, ...], layout: str, views: Path | None) -> None:
    """Show what is translated, by page and language, and what to translate next."""
    import json

    from generator.drawing.badge import badge, share_colour
    from generator.languages import coverage
    from generator.languages.language import LOCALES

    rows = list(coverage.coverage(codes=codes or None))
    file = views or LOCALES / coverage.VIEWS
    following = coverage.next_up(rows, coverage.read_views(file) if file.is_file() else {})
    if layout == "json":
        click.echo(json.dumps(coverage.as_json(rows, following), indent=1))
    elif layout == "badge":
        share = coverage.percent(rows)
        click.echo(badge("translated", f"{share}%", share_colour(share / 100)), nl=False)
    else:
        _print_coverage(rows, following)


def _print_coverage(rows: list[Coverage], following: list[tuple[Coverage, int]]) -> None:
    from rich.console import Console
    from rich.table import Table

    from generator.languages.coverage import percent

    languages = list(dict.fromkeys(row.language for row in rows))
    table = Table("page", "words", title="Translated, in words", title_justify="left")
    for language in languages:
        table.add_column(language, justify="right")
    for page in dict.fromkeys(row.page for row in rows):
        of_page = [row for row in rows if row.page == page]
        table.add_row(page, str(of_page[0].total.words), *(_words(row) for row in of_page))
    console = Console()
    console.print(table)
    for language in languages:
        own = [row for row in rows if row.language == language]
        kinds = ("untranslated", "outdated", "fuzzy")
        left = ", ".join(f"{sum(getattr(row, kind).words for row in own)} {kind}" for kind in kinds)
        declared = "declared complete" if own[0].declared_complete else "not declared complete"
        console.print(f"{language}: {percent(own)}% of words translated; {left}; {declared}", highlight=False)
    if following:
        console.print("\nTo translate next:")
    for row, views in following[:NEXT]:
        read = f", {counted(views, 'view')}" if views else ""
        console.print(f"  {row.language} {row.page}: {counted(row.left.words, 'word')}{read}", highlight=False)


NEXT = 10
"""Number of pages to list under what to translate next."""


def _words(row: Coverage) -> str:
    kinds = ("untranslated", "outdated", "fuzzy")
    return ", ".join(f"{getattr(row, kind).words} {kind}" for kind in kinds if getattr(row, kind).messages) or "all"


@main.command("add-language")
@click.argument("code")
@click.option(
    "--font",
    type=click.Path(path_type=Path),
    help="A font file for the script, or a folder with Noto fonts. Default: the fonts installed on this machine.",
)
def add_language(code: str, font: Path | None) -> None:
    """Add a language by its code, such as ko or pt-BR, with a font for its script, and list what is left to do.

    To add the font later, run the command again.
    """
    from generator.commands.new_language import add_language as add

    for line in add(code, font=font):
        click.echo(line)


_FORMAT = click.option(
    "--format", "layout", type=click.Choice(["xliff", "csv"]), help="Default: the format of the file."
)
_LANGUAGE = click.option(
    "--language", "code", required=True, metavar="CODE", callback=_translated, help="The language of the catalog."
)


@main.command()
@_LANGUAGE
@_FORMAT
@click.option("--out", type=_Out(path_type=Path, dir_okay=False), help="Default: CODE.xlf or CODE.csv.")
def export(code: str, layout: Format | None, out: Path | None) -> None:
    """Write a catalog as XLIFF or CSV, for translators without gettext."""
    from generator.languages.interchange import SUFFIXES, export as exported

    kind: Format = layout or ("csv" if out and out.suffix == ".csv" else "xliff")
    path = out or Path(f"{code}{SUFFIXES[kind]}")
    path.write_bytes(exported(_catalog(code)[1], code, kind))
    click.echo(f"wrote {path}")


@main.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@_LANGUAGE
@_FORMAT
def import_(file: Path, code: str, layout: Format | None) -> None:
    """Copy the translations of an XLIFF or CSV file into a catalog."""
    from generator.languages.catalogs import write
    from generator.languages.interchange import import_ as imported

    path, catalog = _catalog(code)
    result = imported(
        catalog, plain_file(file).read_bytes(), layout or ("csv" if file.suffix == ".csv" else "xliff"), str(file)
    )
    write(result.catalog, path)
    click.echo(f"{counted(result.changed, 'message')} changed in {_shown(path)}")
    if result.unknown:
        unknown = counted(result.unknown, "text is", "texts are")
        click.echo(f"{unknown} no longer in the catalog; left out", err=True)
    click.echo("now run `python -m generator check`", err=True)


def _catalog(code: str) -> tuple[Path, POFile]:
    from generator.languages.catalogs import read
    from generator.languages.language import catalog_path, load_language

    load_language(code)  # its error names the command for a missing catalog
    return catalog_path(code), read(catalog_path(code))


@main.command()
@_LANGUAGE
@click.option(
    "--read",
    "filled_in",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Record the scores from this file.",
)
@click.option("--by", default="", help="With --read: the name to record for the reviewer. Default: none.")
@click.option("--out", type=_Out(path_type=Path, dir_okay=False), help="Default: review-CODE.html.")
@click.option(
    "--page", "pages", multiple=True, metavar="FILE", help="Only this page, such as docs/index.md. May be repeated."
)
@click.option(
    "--all", "everything", is_flag=True, help="Also include texts that somebody has already read in their present form."
)
@click.option("--site", help="Address of the guide, for links to each text. Default: the address in mkdocs.yml.")
def review(
    code: str,
    filled_in: Path | None,
    by: str,
    out: Path | None,
    pages: tuple[str, ...],
    everything: bool,
    site: str | None,
) -> None:
    """Write what has changed since the last review for a native reader, as a page for any browser and as CSV; with
    --read, record the scores and findings from the completed file."""
    from datetime import UTC, datetime

    from generator.commands.review_sheet import sheet, table
    from generator.languages import reviews
    from generator.languages.language import load_language
    from generator.site.stage import mkdocs_yml

    language, present, known = load_language(code), reviews.texts(code), reviews.reviews(code)
    if filled_in:
        today = datetime.now(UTC).date()
        content = plain_file(filled_in).read_bytes()
        answers = reviews.read_answers(content, present, code, today, by, str(filled_in))
        path, found = reviews.record(answers.review), counted(len(answers.review.faults), "finding")
        click.echo(f"{counted(len(answers.review.scores), 'text')} read, {found}; kept in {_shown(path)}")
        if answers.outdated:
            outdated = counted(answers.outdated, "text has", "texts have")
            click.echo(f"{outdated} changed since the sheet was written; left out", err=True)
        return
    wanted = present if everything else reviews.unread(present, known)
    if pages:
        wanted = [text for text in wanted if {*pages} & {*text.pages}]
    if not wanted:
        click.echo("nothing to review: no text has changed since the last review; to write every text, add --all")
        return
    path = out or Path(f"review-{code}.html")
    address = (site or str(mkdocs_yml()["site_url"])).rstrip("/") + "/"
    path.write_text(sheet(wanted, language, address), encoding="utf-8")
    path.with_suffix(".csv").write_bytes(table(wanted))
    size = f"{counted(len(wanted), 'text')}, {counted(sum(text.words for text in wanted), 'word')}"
    click.echo(f"wrote {path} for a browser and {path.with_suffix('.csv')} for a spreadsheet: {size}")
    click.echo(f"to record the completed review: python -m generator review --language {code} --read FILE")


_FOLDER = _Out(path_type=Path, file_okay=False)


@main.command()
@click.option("--out", type=_FOLDER, default=Path("staged"), help="Folder to write into. Default: staged.")
def stage(out: Path) -> None:
    """Write every page, chart and download of every language as plain files, for another site builder."""
    from generator.languages.language import published_languages
    from generator.site.stage import stage as staged

    click.echo(f"wrote {counted(staged(out), 'file')} into {out}; to build the site in {out / 'site'}:")
    click.echo(f"  for language in {' '.join(published_languages())}; do zensical build -f {out}/$language.yml; done")


@main.command()
@click.option("--out", type=_FOLDER, required=True, help="Folder to write into.")
def pseudo(out: Path) -> None:
    """Build the site in two invented languages, for testing only: it is never published."""
    from generator.commands.pseudo_site import build

    build(out)
    click.echo(f"wrote the site in English and in pseudo-locales into {out}")


def _shown(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
