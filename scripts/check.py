#!/usr/bin/env python3
"""Runs the stages of `make check` and sums them up in one line.

Each stage streams its own output. The last line of standard output is
`N passed, N failed` over all stages, whatever happened; the exit status is 0
only if nothing failed.
"""

import argparse
import os
import re
import secrets
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed$")


@dataclass
class Result:
    passed: int = 0
    failed: int = 0
    # Reason to names of tests.
    skipped: dict = field(default_factory=dict)

    def count_skipped(self):
        return sum(map(len, self.skipped.values()))


def stream(command, environment=None):
    """Runs a command, passing its output on. Returns (status, last line)."""
    last = ""
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", cwd=ROOT,
        env=environment)
    for line in process.stdout:
        sys.stdout.write(line)
        sys.stdout.flush()
        last = line.strip() or last
    return process.wait(), last


def choose_seed():
    """The seed of random tests, FA_TEST_SEED, where it is not given: of the commit,
    so that a commit gives the same tests everywhere and the next one tries others."""
    if os.environ.get("FA_TEST_SEED"):
        return
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    seed = int(commit.stdout[:7], 16) if commit.returncode == 0 else secrets.randbits(28)
    os.environ["FA_TEST_SEED"] = str(seed)


def check_format(build, results):
    status, _ = stream([sys.executable, ROOT / "scripts/check_format.py"])
    return Result(passed=int(status == 0), failed=int(status != 0))


def read_junit(path):
    """Counts the test cases of a JUnit file as lit writes it."""
    result = Result()
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            result.failed += 1
        elif skip is not None:
            # Of tests in no folder lit has the suite's name twice.
            suite, _, folder = case.get("classname", "").partition(".")
            place = suite if folder == suite else f"{suite}.{folder}"
            name = f'{place}/{case.get("name")}'.removeprefix("FA.")
            result.skipped.setdefault(skip.get("message") or "no reason given", []).append(name)
        else:
            result.passed += 1
    return result


def run_lit(build, results):
    """FileCheck tests and, as a suite of their own, the unit tests."""
    report = results / "lit.xml"
    report.unlink(missing_ok=True)
    # lit comes with the environment whose Python runs this script.
    status, _ = stream(
        [Path(sys.executable).parent / "lit", "-sv", "--timeout", "900",
         "--xunit-xml-output", report, build / "test", build / "test/Unit"])
    if not report.exists():
        return Result(failed=1)
    result = read_junit(report)
    if status != 0 and result.failed == 0:
        result.failed = 1
    return result


def run_grid(build, results):
    """The numeric grid, a program that ends with a summary line of its own."""
    grid = ROOT / "test/Integration/CPU/numeric_grid.py"
    if not grid.exists():
        print("there is no numeric grid in this tree")
        return Result()
    status, last = stream([sys.executable, grid, "--build", build])
    match = SUMMARY.match(last)
    if not match:
        print(f"the numeric grid ended without its summary, with status {status}")
        return Result(failed=1)
    result = Result(passed=int(match[1]), failed=int(match[2]))
    if status != 0 and result.failed == 0:
        result.failed = 1
    return result


# What a machine lacks, by the feature that a test requires.
LACKS = {
    "cuda": "no CUDA device on this machine: nothing was run on a GPU",
    "ptxas": "no ptxas on this machine: no kernel was assembled",
    "avx512": "no AVX-512 in this processor",
}


def explain(reason):
    """The reason of a skipped test in words about the machine."""
    missing = re.match(r"Missing required feature\(s\): (\w+)$", reason)
    return LACKS.get(missing[1], reason) if missing else reason


STAGES = {
    "format": ("Format of the sources", check_format),
    "lit": ("FileCheck and unit tests", run_lit),
    "grid": ("Numeric grid", run_grid),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", nargs="+", choices=STAGES, default=list(STAGES))
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    results = build / "test-results"
    results.mkdir(parents=True, exist_ok=True)
    choose_seed()
    print(f"seed of the random tests (FA_TEST_SEED): {os.environ['FA_TEST_SEED']}")

    total = Result()
    lines = []
    for name in arguments.only:
        title, run = STAGES[name]
        print(f"== {title}", flush=True)
        try:
            result = run(build, results)
        except (OSError, ElementTree.ParseError) as error:
            print(f"{title}: {error}")
            result = Result(failed=1)
        lines.append(f"{title}: {result.passed} passed, {result.failed} failed, "
                     f"{result.count_skipped()} skipped")
        total.passed += result.passed
        total.failed += result.failed
        for reason, names in result.skipped.items():
            total.skipped.setdefault(reason, []).extend(names)

    print("== Summary")
    for line in lines:
        print(line)
    for reason, names in sorted(total.skipped.items()):
        print(f"skipped {len(names)}: {explain(reason)}")
        for name in sorted(names):
            print(f"  {name}")
    print(f"{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
