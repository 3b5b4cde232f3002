"""Checks what the tools say about each wrong piece of a test file.

usage: one_diagnostic.py FOLDER FILE TOOL...

Every piece of FILE (pieces are parted by `// -----`) is given to each TOOL
alone, which may be a command with options. A piece with one `expected-error`
must end in exactly one diagnostic: a failing exit, one error, at most the line
it is about under it, and nothing on standard output. Prints how many pieces
were checked.
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def complaint(run):
    """What is wrong with the answer of a tool, or None."""
    lines = run.stderr.splitlines()
    errors = [line for line in lines if re.search(r"\berror: ", line)]
    if run.returncode != 1:
        return f"exit status {run.returncode}, expected 1"
    if run.stdout:
        return "printed results"
    if len(errors) != 1:
        return f"{len(errors)} errors, expected 1"
    # Two lines show each place: the source and a caret under it.
    places = sum(bool(re.search(r"\b(error|note): ", line)) for line in lines)
    if "see current operation" in run.stderr or len(lines) > 3 * places:
        return f"{len(lines)} lines for {places} diagnostics"
    return None


def check(tool, path):
    """Runs the tool; returns 1 and says why if its answer is wrong."""
    run = subprocess.run([*tool.split(), path], capture_output=True, text=True)
    problem = complaint(run)
    if problem:
        print(f"{tool} {path}: {problem}\n{run.stderr}")
    return int(problem is not None)


def main():
    folder, file, *tools = sys.argv[1:]
    with open(file) as source:
        pieces = source.read().split("// -----\n")
    paths = []
    for number, piece in enumerate(pieces):
        if piece.count("expected-error") != 1:
            continue
        paths.append(os.path.join(folder, f"{number}.mlir"))
        with open(paths[-1], "w") as output:
            # A tool would compare its own messages with such comments.
            output.write(re.sub(r"expected-(error|note).*", "", piece))
    with ThreadPoolExecutor() as pool:
        answers = [pool.submit(check, tool, path)
                   for path in paths for tool in tools]
    failures = sum(answer.result() for answer in answers)
    print(f"checked {len(paths)} pieces with {len(tools)} tools, "
          f"{failures} complaints")


if __name__ == "__main__":
    main()
