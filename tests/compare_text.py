"""Compare the text of two built sites page by page. Run it by hand after a change that should lose nothing.

    python tests/compare_text.py ../before/site site 'zh/models/*'

Only the article of a page counts. A row of a table is one line with its cells between bars; any other block element
is one line. Lines that are gone start with "-", new ones with "+". Order counts.
"""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import html
import re
from pathlib import Path

ARTICLE = re.compile(r"<article\b.*</article>", re.DOTALL)
SKIPPED = re.compile(r"<(script|style|template)\b.*?</\1>", re.DOTALL)
IMAGE = re.compile(r'<img\b[^>]*?\balt="?([^">]*)[^>]*>')
CELL = re.compile(r"<t[dh]\b.*?</t[dh]>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
BLOCK = re.compile(
    r"</?(?:blockquote|br|button|caption|d[dlt]|details|div|fieldset|figcaption|figure|form|h[1-6]|label|legend|li|ol"
    r"|option|p|pre|section|select|summary|svg|table|tr|ul)\b[^>]*>"
)


def lines(path: Path) -> list[str]:
    """Return the lines of a page, or none if it does not exist."""
    article = ARTICLE.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    text = IMAGE.sub(r" [\1] ", SKIPPED.sub("", article[0] if article else "")).replace("\n", " ")
    text = CELL.sub(lambda cell: " | " + TAG.sub("", BLOCK.sub(" ", cell[0])), text)
    blocks = (html.unescape(TAG.sub("", block)).split() for block in BLOCK.split(text))
    return [" ".join(words) for words in blocks if set(words) - {"|"}]


def main() -> None:
    """Print which lines are gone and new on each page, then how many."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a built site")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("pages", nargs="?", default="*", help="compare only these, such as 'models/*'")
    options = parser.parse_args()
    totals, gone, new = [], 0, 0
    names = {path.relative_to(site).as_posix() for site in (options.old, options.new) for path in site.rglob("*.html")}
    for name in fnmatch.filter(sorted(names), options.pages):
        diff = difflib.unified_diff(lines(options.old / name), lines(options.new / name), n=0, lineterm="")
        changed = [line for line in list(diff)[2:] if not line.startswith("@@")]
        if changed:
            print(name, *changed, "", sep="\n")
            minus = sum(line.startswith("-") for line in changed)
            totals.append(f"-{minus:<6} +{len(changed) - minus:<6} {name}")
            gone, new = gone + minus, new + len(changed) - minus
    print(*totals, f"-{gone:<6} +{new:<6} in all: {len(totals)} of {len(names)} pages differ", sep="\n")


if __name__ == "__main__":
    main()
