"""Holds the pages that people read to their sizes, and their links to what is there.

    check_pages.py ROOT

Sizes are counted as by `wc -w`; that of docs/ leaves out what is generated: the reference, and docs/Raising.md. A link is a relative path, with a heading
of the page behind `#`. A cell of the status links what proves it, or where it is said why not.
"""

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
LIMITS = {"README.md": 600, "docs/STATUS.md": 500, "benchmarks/README.md": 600}
DOCS_LIMIT = 15000
GENERATED = ("docs/Reference", "docs/Raising.md")
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# The rows below the heading of a table.
TABLE = re.compile(r"^\|[-|]+\|\n((?:\|.*\n)+)", re.MULTILINE)
INCLUDE = re.compile(r'^\[include "', re.MULTILINE)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(CODE.sub("", text))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(page):
    for link in LINK.findall(CODE.sub("", page.read_text())):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        name = f"{page.relative_to(ROOT)}: {link}"
        if not target.exists():
            yield f"{name}: there is no such file"
        elif anchor and target.suffix == ".md":
            text = target.read_text()
            # Headings of generated parts are not in the page yet.
            if anchor not in anchors(text) and not INCLUDE.search(text):
                yield f"{name}: there is no such heading"


def check_size(name, pages, limit):
    words = sum(len(page.read_text().split()) for page in pages)
    if words > limit:
        yield f"{name}: has {words} words, expected at most {limit}"


def check_cells(page):
    for table in TABLE.findall(page.read_text()):
        for line in table.splitlines():
            feature, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            yield from (f"{page.relative_to(ROOT)}: {feature}: '{cell}' has no link" for cell in cells if not LINK.search(cell))


pages = [page for folder in ("docs", "benchmarks", "test", "examples") for page in sorted((ROOT / folder).rglob("*.md"))
         if "Inputs" not in page.parts]
problems = [problem for page in [ROOT / "README.md", *pages] for problem in check_links(page)]
for name, limit in LIMITS.items():
    if (ROOT / name).exists():
        problems += check_size(name, [ROOT / name], limit)
if (ROOT / "docs/STATUS.md").exists():
    problems += check_cells(ROOT / "docs/STATUS.md")
written = [page for page in pages if page.relative_to(ROOT).parts[0] == "docs"
           and not page.relative_to(ROOT).as_posix().startswith(GENERATED)]
problems += check_size("docs", written, DOCS_LIMIT)
print("\n".join(problems + [f"{len(pages) + 1} pages, {len(problems)} problems"]))
sys.exit(1 if problems else 0)
