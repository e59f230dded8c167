"""The list of pages for language models, as https://llmstxt.org describes it.

Takes an `Edition` and the settings of its site; returns ``llms.txt``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from generator.data import schema
from generator.languages.typography import in_markdown
from generator.pages.guide import Edition
from generator.pages.site_file import DATA, SiteFile, page_path

NAME = "llms.txt"


def list_of_pages(edition: Edition, settings: Mapping[str, Any]) -> SiteFile:
    """Return the list: each page as Markdown, in the order of the navigation, and the downloads."""
    gettext, address, root = edition.language.gettext, settings["site_url"] or "", settings["extra"]["root"]
    has_folders = settings.get("use_directory_urls", True)
    pages = {page.uri: page for page in edition.pages}
    titles = {uri: page.title or uri for uri, page in pages.items()}

    def listed(items: Iterable[Any]) -> Iterator[str]:
        for item in items:
            entries = item.items() if isinstance(item, dict) else [(titles.get(item, item), item)]
            for title, entry in entries:
                if isinstance(entry, list):
                    yield from listed(entry)
                elif entry in pages:
                    description = in_markdown(pages[entry].description)
                    path = f"{page_path(entry)}index.md" if has_folders else entry
                    link = f"- [{in_markdown(title)}]({address}{path})"
                    yield f"{link}: {description}" if description else link

    sections: dict[str, Iterable[str]] = {}
    for item in settings["nav"] or pages:
        title = next(iter(item)) if isinstance(item, dict) else titles.get(item, item)
        sections[title] = listed([item])
    downloads = {
        "compile-atlas.csv": gettext("every row of every run"),
        "compile-atlas.json": gettext("the same as JSON"),
        "schema.json": gettext("what each column means, as JSON Schema"),
    }
    folder = f"{root}{DATA}/v{schema.VERSION}/"
    sections[gettext("Data files")] = (f"- [{name}]({folder}{name}): {text}" for name, text in downloads.items())
    about = gettext(
        "Each page is also available as Markdown: add index.md to its address. All numbers come from the same records."
    )
    parts = [f"# {settings['site_name']}", f"> {settings['site_description']}", about]
    for title, lines in sections.items():
        parts += [f"## {in_markdown(title)}", "\n".join(lines)]
    return SiteFile(NAME, "\n\n".join(parts) + "\n")
