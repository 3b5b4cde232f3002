"""Finds what the mlir blocks of a page show in the file that they are from.

    quoted_lines.py PAGE FILE

Every line of a block has to be in the file, whatever the indentation and line breaks
there. Comments are left out, and `...` stands for more.
"""

import re
import sys
from pathlib import Path

page, source = (Path(path).read_text() for path in sys.argv[1:])


def squeeze(text):
    return re.sub(r"\s+", " ", re.sub(r"//.*", "", text)).strip()


def pieces(block):
    for line in block.splitlines():
        yield from filter(None, (squeeze(piece) for piece in line.split("...")))


whole = squeeze(source)
blocks = re.findall(r"^```mlir\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
shown = [piece for block in blocks for piece in pieces(block)]
missing = [piece for piece in shown if piece not in whole]
print("\n".join(missing + [f"{len(shown)} pieces, {len(missing)} missing"]))
sys.exit(1 if missing else 0)
