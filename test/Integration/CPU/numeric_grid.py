#!/usr/bin/env python3
"""Sampled attention problems, compiled and compared with a float64 evaluation.

Functions with dynamic sizes are compiled; each runs on many problems with fresh
random inputs and poisoned outputs. Three sides meet: the target, the project's
float64 evaluator (bounds of docs/Spec.md), and a numpy computation of the same
problem that shares no code with either (equal up to the order of sums). On a GPU
the compiled CPU code is a fourth.

--target=cuda derives schedules for the chips of --chips and launches them;
--target=interpret runs them on small problems in the interpreter. What a GPU target
is known to refuse is counted as skipped, by its reason and by feature.

The last line is `N passed, N failed`. To repeat one function of a run, or its
problem 3 alone:
  numeric_grid.py --seed SEED --only f012
  numeric_grid.py --seed SEED --only f012:3
"""

import os

# Worker processes share the cores already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from grid import mutations, problems
from grid.features import Coverage
from grid.problems import sample_functions
from grid.worker import Plan, Result, Worker

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# Profile, second oracle, functions, chips of each target.
TARGETS = {"cpu": (problems.CPU, "cpu", 130, []),
           "interpret": (problems.INTERPRETER, "none", 130, ["sm_80", "sm_90a"]),
           "cuda": (problems.GPU, "cpu", 220, []),
           "none": (problems.CPU, "none", 130, [])}


def write_junit(path, outcomes):
    suite = ElementTree.Element("testsuite", name="numeric grid", tests=str(len(outcomes)),
                                failures=str(sum(bool(o.complaints) for o in outcomes)))
    for outcome in outcomes:
        case = ElementTree.SubElement(suite, "testcase", classname=outcome.name,
                                      name=f"{outcome.target} {outcome.description}")
        if outcome.kind == "skipped":
            ElementTree.SubElement(case, "skipped", message=outcome.skipped)
        if outcome.complaints:
            ElementTree.SubElement(case, "failure").text = "\n".join(outcome.complaints)
    ElementTree.ElementTree(suite).write(path, encoding="unicode")


class Progress:
    """A line that is rewritten on a terminal, and now and then a line elsewhere."""

    def __init__(self, total):
        self.total, self.start, self.shown = total, time.monotonic(), 0.0

    def show(self, done, failed):
        now = time.monotonic()
        terminal = sys.stdout.isatty()
        if not terminal and now - self.shown < 15 and done < self.total:
            return
        self.shown = now
        text = f"{done} of {self.total} problems, {failed} failed, {now - self.start:.0f} s"
        print(("\r" if terminal else "") + text, end="" if terminal else "\n", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--program", type=Path, help="fa-grid; that of the build where absent")
    parser.add_argument("--target", choices=TARGETS, default="cpu",
                        help="none compares the evaluator with numpy")
    parser.add_argument("--chips", help="separated by commas; those of the device's forms for cuda")
    parser.add_argument("--no-peepholes", action="store_true", help="schedules without passes that only make them faster")
    parser.add_argument("--seed", type=int, help="fresh where absent; it is printed")
    parser.add_argument("--functions", type=int)
    parser.add_argument("--problems", type=int, default=12, help="of each function")
    parser.add_argument("--launches", type=int, default=1000,
                        help="of each function on its problems in random order, for cuda")
    parser.add_argument("--only", help="name of one function, as in f012, or of a problem, as in f012:3")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--mutate", choices=[*mutations.OF_FUNCTIONS, *mutations.OF_RESULTS], default="",
                        help="put in a fault that the grid has to find")
    arguments = parser.parse_args()
    profile, oracle, functions, chips = TARGETS[arguments.target]
    arguments.functions = functions if arguments.functions is None else arguments.functions
    if not 1 <= arguments.functions <= 400:
        parser.error(f"--functions is {arguments.functions}, expected 1 to 400")
    program = arguments.program or arguments.build / "bin/fa-grid"
    if not program.exists():
        sys.exit(f"error: {program.resolve()} does not exist; build the project first")
    # Not what a link leads to: the name says which tool it is.
    program = str(program.absolute())
    if arguments.chips:
        chips = arguments.chips.split(",")
    elif arguments.target == "cuda":
        chips = find_chips(program)
    launches = arguments.launches if arguments.target == "cuda" else 0
    return arguments, Plan(program, profile, oracle, arguments.target, chips, arguments.mutate, launches,
                           not arguments.no_peepholes)


def find_chips(program):
    """Chips of both forms of schedules that the device runs."""
    listed = subprocess.run([program, "--list-chips"], stdout=subprocess.PIPE, text=True)
    if listed.returncode:
        sys.exit(listed.returncode)
    return listed.stdout.split()


def choose_functions(arguments, plan, seed):
    """(function, seeds of its problems) for all functions of this run."""
    functions = sample_functions(np.random.default_rng(seed), arguments.functions, plan.profile)
    chosen = [(function, [(seed, number, k) for k in range(arguments.problems)])
              for number, function in enumerate(functions)]
    if arguments.only:
        name, _, problem = arguments.only.partition(":")
        chosen = [entry for entry in chosen if entry[0].name == name]
        if not chosen:
            sys.exit(f"error: there is no function '{name}', "
                     f"expected f000 to f{arguments.functions - 1:03d}")
        if problem:
            chosen = [(function, seeds[int(problem):][:1]) for function, seeds in chosen]
    return chosen


def repetition(outcome, arguments, seed):
    """The options that repeat one problem."""
    options = [f"--seed {seed}", f"--functions {arguments.functions}",
               f"--only {outcome.name}:{outcome.problem}"]
    if arguments.target != "cpu":
        options.append(f"--target {arguments.target}")
    if outcome.target.startswith("sm_"):
        options.append(f"--chips {outcome.target}")
    if arguments.no_peepholes:
        options.append("--no-peepholes")
    return " ".join(options)


def report(outcomes, compile_seconds, arguments, seed):
    failed = [o for o in outcomes if o.kind == "failed"]
    for outcome in failed[:40]:
        print(f"FAIL {outcome.target} {outcome.description}")
        for complaint in outcome.complaints:
            print(f"     {complaint}")
        print(f"     repeat: {repetition(outcome, arguments, seed)}")
    if len(failed) > 40:
        print(f"and {len(failed) - 40} more")
    good = [o.ratio for o in outcomes if o.kind == "passed"]
    if good:
        print(f"largest error of those that passed: {max(good):.2f} of its bound")
    if compile_seconds:
        print(f"compiling a function: median {np.median(compile_seconds):.2f} s, "
              f"longest {max(compile_seconds):.2f} s")


def report_coverage(outcomes, targets):
    """What was run and what was skipped, for each chip of a GPU target."""
    for target in targets:
        coverage, reasons = Coverage(), Counter()
        for outcome in outcomes:
            if outcome.target == target:
                coverage.add(outcome.kind, outcome.features)
                if outcome.kind == "skipped":
                    reasons[outcome.skipped] += 1
        print(f"== {target}")
        for line in coverage.lines():
            print(line)
        for reason, count in reasons.most_common():
            print(f"skipped {count}: {reason}")


def run_functions(chosen, plan, jobs):
    total = sum(len(seeds) for _, seeds in chosen) * max(1, len(plan.chips))
    progress = Progress(total)
    whole = Result()
    folder = tempfile.mkdtemp(prefix="fa-grid-")
    try:
        # Functions hold code, which cannot be sent to a process; a forked one has
        # them already.
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork"), Worker.start,
                                 (chosen, plan, folder)) as pool:
            pending = [pool.submit(Worker.run, index) for index in range(len(chosen))]
            for future in as_completed(pending):
                result = future.result()
                whole.outcomes += result.outcomes
                whole.compile_seconds += result.compile_seconds
                whole.launches += result.launches
                progress.show(len(whole.outcomes), sum(o.kind == "failed" for o in whole.outcomes))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print()
    whole.outcomes.sort(key=lambda o: (o.name, o.problem, o.target))
    return whole


def main():
    arguments, plan = parse_arguments()
    seed = arguments.seed if arguments.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbelow(10**9))
    chosen = choose_functions(arguments, plan, seed)
    total = sum(len(seeds) for _, seeds in chosen)
    where = f", each on {' and '.join(plan.chips)}" if plan.chips else ""
    print(f"{total} problems, {len(chosen)} compiled functions{where}, seed {seed}", flush=True)
    result = run_functions(chosen, plan, arguments.jobs)
    outcomes = result.outcomes
    report(outcomes, result.compile_seconds, arguments, seed)
    report_coverage(outcomes, plan.chips)
    for chip, count in sorted(result.launches.items()):
        print(f"{count} launches of changing shapes on {chip}")
    results = arguments.build.resolve() / "test-results"
    results.mkdir(parents=True, exist_ok=True)
    write_junit(results / f"numeric_grid_{arguments.target}.xml", outcomes)
    count = Counter(o.kind for o in outcomes)
    if count["skipped"]:
        print(f"{count['skipped']} skipped")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 1 if count["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
