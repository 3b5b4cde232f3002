"""The command line and the summary of the scripts that execute PTX.

    SCRIPT PROGRAM [--replace OLD NEW] CASE...

PROGRAM makes the PTX. A fault may be put into it, by replacing text.
"""

import sys

import numpy as np


class Fault:
    """Replaces text of the PTX, which has to be there."""

    def __init__(self, old="", new=""):
        self.old, self.new = old, new

    def put_into(self, text):
        assert self.old in text, f"the PTX has no '{self.old}'"
        return text.replace(self.old, self.new)


def run_cases(check):
    """Calls check(PROGRAM, CASE, fault) for each case; it says whether the case is right."""
    np.seterr(all="ignore")
    program, *cases = sys.argv[1:]
    fault = Fault()
    if cases[0] == "--replace":
        fault, cases = Fault(*cases[1:3]), cases[3:]
    results = [check(program, case, fault) for case in cases]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
