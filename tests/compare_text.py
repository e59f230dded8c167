"""Compare the text of two built sites page by page. Run it by hand after a change that should lose nothing.

python tests/compare_text.py ../before/site site --language ar --pages 'models/*'

Only the article of a page counts. A row of a table is one line with its cells between bars; any other block element
is one line. Lines that are gone start with "-", new ones with "+". Order counts.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import re
from html.parser import HTMLParser
from pathlib import Path

BLOCK = re.compile(
    r"blockquote|br|button|caption|d[dlt]|details|div|fieldset|figcaption|figure|form|h[1-6]|label|legend|li|ol|option"
    r"|p|pre|section|select|summary|svg|table|tr|ul"
)
CELLS, SKIPPED = frozenset({"td", "th"}), frozenset({"script", "style", "template"})


class _Article(HTMLParser):
    """The text of a page's article, as lines."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._line, self._articles, self._skipped, self._in_cell = "", 0, 0, False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._articles += tag == "article"
        self._skipped += tag in SKIPPED
        self._break_at(tag)
        self._in_cell = self._in_cell or tag in CELLS
        self._line += " | " if tag in CELLS else ""
        if tag in {"img", "input"}:
            attributes = dict(attrs)
            self.handle_data(f" [{attributes.get('alt') or attributes.get('placeholder') or tag}] ")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag not in CELLS
        self._break_at(tag)
        self._articles -= tag == "article"
        self._skipped -= tag in SKIPPED

    def handle_data(self, data: str) -> None:
        if self._articles and not self._skipped:
            self._line += data

    def _break_at(self, tag: str) -> None:
        if not BLOCK.fullmatch(tag):
            return
        if self._in_cell:
            self._line += " "
        else:
            if re.search(r"[^\s|]", self._line):
                self.lines.append(" ".join(self._line.split()))
            self._line = ""


def lines(path: Path) -> list[str]:
    """Return the lines of a page, or none if it does not exist."""
    return _Article(path.read_text(encoding="utf-8")).lines if path.is_file() else []


def main() -> None:
    """Print which lines are gone and new on each page, then how many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a built site")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("--language", choices=["en", "zh", "ja", "ar"], help="compare only this one")
    parser.add_argument("--pages", default="*", help="compare only these, such as 'models/*', in each language")
    parser.add_argument("--totals", action="store_true", help="print only the totals")
    options = parser.parse_args()
    totals, gone, new = [], 0, 0
    names = {path.relative_to(site).as_posix() for site in (options.old, options.new) for path in site.rglob("*.html")}
    for name in sorted(names):
        code, _, rest = name.partition("/")
        language, page = (code, rest) if code in {"zh", "ja", "ar"} else ("en", name)
        if options.language not in {None, language} or not fnmatch.fnmatch(page, options.pages):
            continue
        diff = difflib.unified_diff(lines(options.old / name), lines(options.new / name), n=0, lineterm="")
        changed = [line for line in list(diff)[2:] if not line.startswith("@@")]
        if changed and not options.totals:
            print(name, *changed, "", sep="\n")
        if changed:
            minus = sum(line.startswith("-") for line in changed)
            totals.append(f"-{minus:<6} +{len(changed) - minus:<6} {name}")
            gone, new = gone + minus, new + len(changed) - minus
    print(*totals, f"-{gone:<6} +{new:<6} in all: {len(totals)} of {len(names)} pages differ", sep="\n")


if __name__ == "__main__":
    main()
