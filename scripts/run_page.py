#!/usr/bin/env python3
"""Runs the commands that a page of the documentation shows.

Every block that begins with ```sh is run by bash from the root of the
repository, in order; the first that fails ends the run with its status. Blocks
without that word are shown to the reader only. A page without a ```sh block is
an error. `build/` in a command stands for the folder given by --build, and
`build/venv` for the virtual environment that runs this.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("page", type=Path)
    arguments = parser.parse_args()
    text = arguments.page.read_text()
    blocks = list(BLOCK.finditer(text))
    if not blocks:
        print(f"error: {arguments.page} has no block that begins with ```sh", file=sys.stderr)
        return 1
    for block in blocks:
        line = text.count("\n", 0, block.start()) + 1
        commands = re.sub(r"(?<![\w/.-])build/venv/", f"{sys.prefix}/", block[1])
        commands = re.sub(r"(?<![\w/.-])build/", f"{arguments.build.resolve()}/", commands)
        print(f"{arguments.page.name}:{line}:\n{commands}", flush=True)
        status = subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=ROOT).returncode
        if status != 0:
            print(f"error: {arguments.page}:{line}: exit status {status}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
