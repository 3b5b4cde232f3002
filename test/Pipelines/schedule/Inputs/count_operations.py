"""Compares the sizes of two schedules.

    count_operations.py FA_OPT DERIVED WRITTEN

Prints how many operations each has, and the ratio. Functions of the written one are inlined before; what only says
what it computes (operations of fa, its function, assertions) is not counted.
"""

import json
import subprocess
import sys

FA_OPT, DERIVED, WRITTEN = sys.argv[1:4]
UNCOUNTED = ("builtin.", "cf.", "fa.", "func.")


def count(path):
    pipeline = "builtin.module(inline,symbol-dce,canonicalize,cse,print-op-stats{json=true})"
    done = subprocess.run([FA_OPT, path, f"--pass-pipeline={pipeline}"], capture_output=True, text=True, check=True)
    operations = json.loads(done.stderr)
    return sum(number for name, number in operations.items() if not name.startswith(UNCOUNTED))


derived, written = count(DERIVED), count(WRITTEN)
print(f"derived {derived}, written {written}, ratio {derived / written:.2f}")
