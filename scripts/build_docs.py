#!/usr/bin/env python3
"""Joins the hand-written pages of docs/ with the generated ones.

A line `[include "FAOps.md"]` in a page stands for the file of that name in the
folder of generated pages. The joined pages go to the output folder, in the
same layout as docs/. An include that names no generated page is an error.
"""

import argparse
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^\[include "([^"]+)"\]$')


def expand(page, generated):
    lines = []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            lines.append(line)
            continue
        part = generated / match[1]
        if not part.exists():
            available = ", ".join(sorted(path.name for path in generated.glob("*.md")))
            raise FileNotFoundError(
                f"{page}:{number}: error: no generated page '{match[1]}'; there are {available}")
        lines.append(part.read_text().rstrip())
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--generated", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        for page in sorted(arguments.source.rglob("*.md")):
            target = arguments.output / page.relative_to(arguments.source)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(expand(page, arguments.generated))
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
