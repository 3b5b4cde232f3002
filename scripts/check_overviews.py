#!/usr/bin/env python3
"""Names the source files of more than 150 lines that do not begin with three lines on what they do and how to read them.

Such an overview is the comment under the banner and the licence (`comment_lines`), or a Python file's docstring
(`docstring_lines`). Examples, which are indented, do not count. `main` goes over the files of a tree.
"""

import argparse
import ast
import sys
from pathlib import Path

from check_format import ROOT, sources

FOLDERS = ["benchmarks", "cmake", "docs", "examples", "include", "lib", "python", "scripts", "test", "tools", "unittests"]
SUFFIXES = {".c", ".cpp", ".def", ".h", ".py", ".td"}
LONG = 150
WANTED = 3
# What is no prose behind the signs of a comment: the licence, and examples.
SKIPPED = (" Part of fa-mlir,", " SPDX-License-Identifier:", "   ")


def docstring_lines(text):
    """Lines of prose in the docstring."""
    docstring = ast.get_docstring(ast.parse(text)) or ""
    return [line for line in docstring.splitlines() if line.strip() and not line.startswith(" ")]


def comment_lines(text):
    """Lines of prose in the comments before the first line of code, in either style of C."""
    lines, in_block = [], False
    for line in map(str.strip, text.splitlines()):
        if not in_block and line and not line.startswith(("//", "/*")):
            break
        in_block = (in_block or line.startswith("/*")) and not line.endswith("*/")
        prose = line.removesuffix("*/").lstrip("/*")
        if prose.strip() and "===" not in prose and not prose.startswith(SKIPPED):
            lines.append(prose)
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to look at")
    root = parser.parse_args().root
    long_files = bare = 0
    for path in sources(FOLDERS, SUFFIXES, root):
        text = path.read_text()
        if text.count("\n") <= LONG:
            continue
        long_files += 1
        lines = len(docstring_lines(text) if path.suffix == ".py" else comment_lines(text))
        if lines < WANTED:
            bare += 1
            print(f"{path.relative_to(root)}:1: error: the overview has {lines} of {WANTED} lines: say what the file does "
                  "and in which order to read it")
    print(f"{long_files} files of more than {LONG} lines, {bare} without an overview")
    return 1 if bare else 0


if __name__ == "__main__":
    sys.exit(main())
