#!/usr/bin/env python3
"""Sampled attention problems, compiled and compared with a float64 evaluation.

At most 150 functions with dynamic sizes are compiled; each runs on many problems
with fresh random inputs and poisoned outputs. Three sides meet: machine code, the
project's float64 evaluator (bounds of docs/Spec.md), and a numpy computation of
the same problem that shares no code with either (equal up to the order of sums).

The last line is `N passed, N failed`. To repeat one function of a run:
  numeric_grid.py --seed SEED --only f012
"""

import os

# Worker processes share the cores already.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import multiprocessing
import secrets
import shutil
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from grid import checks, mutations, reference
from grid.layout import Layout
from grid.problems import Problem, sample_functions
from grid.server import Server, ServerError

ROOT = Path(__file__).resolve().parent.parent.parent.parent
THREADS = 2  # of compiled code, so that parallel loops are run as such


@dataclass
class Outcome:
    """Of one problem."""

    name: str
    description: str
    complaints: list = field(default_factory=list)
    ratio: float = 0.0  # worst error over its bound


class Worker:
    """Runs functions in one process with one fa-grid of its own."""

    current = None

    def __init__(self, chosen, program, folder, mutation, reference_only):
        self.chosen = chosen
        command = [program] + (["--reference-only"] if reference_only else [])
        self.server = Server(command, THREADS)
        self.folder = Path(tempfile.mkdtemp(dir=folder))
        self.mutation = mutation
        self.reference_only = reference_only

    @staticmethod
    def start(*arguments):
        Worker.current = Worker(*arguments)

    @staticmethod
    def run(index):
        return Worker.current.run_function(*Worker.current.chosen[index])

    def run_function(self, function, seeds):
        """Outcomes of all problems, and the seconds that compiling took."""
        module = self.folder / f"{function.name}.mlir"
        module.write_text(function.text())
        files = {"module": str(module)}
        if self.mutation in mutations.OF_FUNCTIONS:
            wrong = self.folder / "mutated.mlir"
            wrong.write_text(mutations.OF_FUNCTIONS[self.mutation](function).text())
            files["compiled"] = str(wrong)
        problems = [Problem(function, seed) for seed in seeds]
        try:
            seconds = self.server.load(**files)["seconds"]
        except ServerError as error:
            return [Outcome(function.name, p.describe(), [f"compiling: {error}"])
                    for p in problems], 0.0
        return [self.run_problem(problem) for problem in problems], seconds

    def run_problem(self, problem):
        outcome = Outcome(problem.function.name, problem.describe())
        try:
            self.check_problem(problem, outcome)
        except ServerError as error:
            outcome.complaints.append(str(error))
        return outcome

    def check_problem(self, problem, outcome):
        layout = Layout(problem)
        before = layout.fill()
        data, evaluated = self.folder / "data", self.folder / "reference"
        before.tofile(data)
        request = layout.request(data, evaluated)
        self.server.run(request)
        after = np.fromfile(data, np.uint8)
        results = [view.of(after) for view in layout.results]
        numbers = np.fromfile(evaluated, np.float64)
        splits = np.cumsum([result.size for result in results])[:-1]
        expected = [part.reshape(result.shape)
                    for part, result in zip(np.split(numbers, splits), results)]
        outcome.complaints += checks.check_evaluator(expected, reference.attention(problem))
        if self.reference_only:
            return
        before.tofile(data)
        request.pop("reference")
        self.server.run(request)
        if not np.array_equal(after, np.fromfile(data, np.uint8)):
            outcome.complaints.append("a second run differs from the first run")
        changed = layout.changed_outside_results(before, after)
        if changed:
            outcome.complaints.append(f"{changed} bytes outside the results were changed")
        if self.mutation in mutations.OF_RESULTS:
            mutations.OF_RESULTS[self.mutation](problem, results)
        found, outcome.ratio = checks.check(problem, results, expected)
        outcome.complaints += found


def write_junit(path, outcomes):
    suite = ElementTree.Element("testsuite", name="numeric grid", tests=str(len(outcomes)),
                                failures=str(sum(bool(o.complaints) for o in outcomes)))
    for outcome in outcomes:
        case = ElementTree.SubElement(suite, "testcase", classname=outcome.name,
                                      name=outcome.description)
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
    parser.add_argument("--seed", type=int, help="fresh where absent; it is printed")
    parser.add_argument("--functions", type=int, default=130)
    parser.add_argument("--problems", type=int, default=12, help="of each function")
    parser.add_argument("--only", help="name of one function, as in f012")
    parser.add_argument("--jobs", type=int, default=max(1, len(os.sched_getaffinity(0)) - 1))
    parser.add_argument("--mutate", choices=[*mutations.OF_FUNCTIONS, *mutations.OF_RESULTS],
                        help="put in a fault that the grid has to find")
    parser.add_argument("--reference-only", action="store_true",
                        help="compile nothing, compare the evaluator with numpy")
    arguments = parser.parse_args()
    if not 1 <= arguments.functions <= 150:
        parser.error(f"--functions is {arguments.functions}, expected 1 to 150")
    return arguments


def choose_functions(arguments, seed):
    """(function, seeds of its problems) for all functions of this run."""
    functions = sample_functions(np.random.default_rng(seed), arguments.functions)
    chosen = [(function, [(seed, number, k) for k in range(arguments.problems)])
              for number, function in enumerate(functions)]
    if arguments.only:
        chosen = [entry for entry in chosen if entry[0].name == arguments.only]
        if not chosen:
            sys.exit(f"error: there is no function '{arguments.only}', "
                     f"expected f000 to f{arguments.functions - 1:03d}")
    return chosen


def report(outcomes, compile_seconds):
    failed = [o for o in outcomes if o.complaints]
    for outcome in failed[:40]:
        print(f"FAIL {outcome.description}")
        for complaint in outcome.complaints:
            print(f"     {complaint}")
    if len(failed) > 40:
        print(f"and {len(failed) - 40} more")
    good = [o.ratio for o in outcomes if not o.complaints]
    if good:
        print(f"largest error of those that passed: {max(good):.2f} of its bound")
    if compile_seconds:
        print(f"compiling a function: median {np.median(compile_seconds):.2f} s, "
              f"longest {max(compile_seconds):.2f} s")
    return len(failed)


def main():
    arguments = parse_arguments()
    program = arguments.build.resolve() / "bin/fa-grid"
    if not program.exists():
        sys.exit(f"error: {program} does not exist; build the project first")
    seed = secrets.randbelow(10**9) if arguments.seed is None else arguments.seed
    chosen = choose_functions(arguments, seed)
    total = sum(len(seeds) for _, seeds in chosen)
    print(f"{total} problems, {len(chosen)} compiled functions, seed {seed}", flush=True)
    progress = Progress(total)
    outcomes, compile_seconds = [], []
    folder = tempfile.mkdtemp(prefix="fa-grid-")
    try:
        # Functions hold code, which cannot be sent to a process; a forked one has
        # them already.
        with ProcessPoolExecutor(
                arguments.jobs, multiprocessing.get_context("fork"), Worker.start,
                (chosen, program, folder, arguments.mutate, arguments.reference_only)) as pool:
            pending = [pool.submit(Worker.run, index) for index in range(len(chosen))]
            for future in as_completed(pending):
                found, seconds = future.result()
                outcomes += found
                compile_seconds.append(seconds)
                progress.show(len(outcomes), sum(bool(o.complaints) for o in outcomes))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print()
    failed = report(sorted(outcomes, key=lambda o: o.name), compile_seconds)
    results = arguments.build.resolve() / "test-results"
    results.mkdir(exist_ok=True)
    write_junit(results / "numeric_grid.xml", outcomes)
    if failed:
        print(f"repeat with --seed {seed}, and one function with --only NAME")
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
