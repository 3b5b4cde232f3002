#!/usr/bin/env python3
"""Draws the pictures of docs/pictures from what the tools print, so that they stay true.

    python3 scripts/pictures/draw.py --build build          # writes docs/pictures/*.svg
    python3 scripts/pictures/draw.py --build build --check  # fails where a file would change
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import block_map
import levels
import shared_memory
import timeline

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {"levels": levels, "block-map": block_map, "timeline": timeline, "shared-memory": shared_memory}
CAUSAL = """\
!mem = memref<?x?x?x64xbf16, strided<[?, ?, ?, 1], offset: ?>>
func.func @attention(%query: !mem, %key: !mem, %value: !mem, %output: !mem) {
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) mask causal
  return
}
"""


class Tools:
    """The built programs, and the schedule that two pictures show."""

    def __init__(self, build, folder):
        self.build, self.folder = build, Path(folder)
       
        self.schedule = self.run("fa-opt", "-", "--fa-to-schedule=chip=sm_90a", text=CAUSAL)

    def run(self, program, *options, text, both=False):
        done = subprocess.run([self.build / "bin" / program, *options], input=text, capture_output=True, text=True)
        if done.returncode:
            raise ValueError(f"{program} failed: {done.stderr.strip()}")
        return done.stdout + done.stderr if both else done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--check", action="store_true", help="write nothing")
    arguments = parser.parse_args()
    changed = []
    with tempfile.TemporaryDirectory() as folder:
        try:
            tools = Tools(arguments.build.resolve(), folder)
            drawn = {name: program.draw(tools).text() for name, program in PICTURES.items()}
        except ValueError as error:
            sys.exit(f"error: {error}")
    for name, text in drawn.items():
        path = ROOT / "docs" / "pictures" / f"{name}.svg"
        if path.exists() and path.read_text() == text:
            continue
        changed.append(path.relative_to(ROOT))
        if not arguments.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    for path in changed:
        print(f"{path} {'is not what the tools draw; run scripts/pictures/draw.py' if arguments.check else 'written'}")
    return 1 if arguments.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
