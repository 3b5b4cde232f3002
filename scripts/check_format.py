#!/usr/bin/env python3
"""Checks the format of the C++ sources (clang-format-22, LLVM style) and that
the MLIR examples hold one operation a line. --fix rewrites the C++ sources."""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CPP_FOLDERS = ["cmake", "examples", "include", "lib", "test", "tools", "unittests"]
CPP_SUFFIXES = {".c", ".cpp", ".h"}
# `%result = ` or `%a, %b = ` at the start of an operation.
RESULT = re.compile(r"%[\w$.-]+(?::\d+)?(?:\s*,\s*%[\w$.-]+)*\s*=\s+[\"a-z]")


def sources(folders, suffixes, root=ROOT):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in suffixes and not any(
                    part.startswith("build") for part in path.relative_to(root).parts[:-1]):
                yield path


def check_cpp(fix):
    tool = shutil.which("clang-format-22")
    if not tool:
        print("error: clang-format-22 is not installed", file=sys.stderr)
        return False
    files = list(sources(CPP_FOLDERS, CPP_SUFFIXES))
    if fix:
        return subprocess.run([tool, "-i"] + files, cwd=ROOT).returncode == 0
    good = True
    for path in files:
        check = subprocess.run([tool, "--dry-run", "-Werror", path], cwd=ROOT,
                               capture_output=True, text=True)
        if check.returncode != 0:
            places = check.stderr.count("error:")
            print(f"{path.relative_to(ROOT)}: error: clang-format would change "
                  f"{places} places")
            good = False
    return good


def check_examples():
    good = True
    for path in sources(["examples"], {".mlir"}):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if len(RESULT.findall(code)) > 1:
                print(f"{path.relative_to(ROOT)}:{number}: error: more than one "
                      "operation in this line")
                good = False
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fix", action="store_true", help="rewrite the C++ sources")
    arguments = parser.parse_args()
    good = check_cpp(arguments.fix)
    good = check_examples() and good
    print("format: " + ("good" if good else "see above; `make format` rewrites the C++ sources"))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
