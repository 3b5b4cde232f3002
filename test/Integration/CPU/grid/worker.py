"""Runs functions of the grid in one process, on servers of its own.

`Worker.run_function` compiles a function on all servers and runs its problems. Read `run_problem`: `run_oracle` has the
results to compare with, `run_target` runs twice and checks results, what stands beside them and that both runs agree.
`launch_many` repeats all problems of a function in turn. `Plan` goes in, a `Result` of `Outcome`s comes out.
"""

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import checks, features, mutations, reference, refusals
from .layout import Layout
from .problems import Problem
from .server import Server, ServerError

THREADS = 2  # of compiled code, so that parallel loops are run as such


@dataclass
class Outcome:
    """Of one problem on one target."""

    name: str
    problem: int  # its number among those of the function
    target: str
    description: str
    complaints: list = field(default_factory=list)
    ratio: float = 0.0  # worst error over its bound
    features: set = field(default_factory=set)
    skipped: str = ""  # the reason

    @property
    def kind(self):
        return "failed" if self.complaints else "skipped" if self.skipped else "passed"


@dataclass
class Plan:
    """How a run tests its functions."""

    program: str
    profile: object
    oracle: str  # what runs beside the evaluator: cpu or none
    target: str
    chips: list
    mutation: str = ""
    launches: int = 0  # of each function, on problems of changing sizes
    peepholes: bool = True

    def commands(self):
        """Of the servers under test, by name."""
        if self.target == "none":
            return {}
        options = [f"--target={self.target}", f"--peepholes={str(self.peepholes).lower()}"]
        return {chip: [self.program, *options, f"--chip={chip}"] for chip in self.chips}


@dataclass
class Result:
    """Of one function."""

    outcomes: list = field(default_factory=list)
    compile_seconds: list = field(default_factory=list)
    launches: Counter = field(default_factory=Counter)  # by target


@dataclass
class Run:
    """One problem that ran on a target, with the bytes before and after."""

    request: dict
    before: np.ndarray
    after: np.ndarray
    outcome: Outcome


class Worker:
    current = None

    def __init__(self, chosen, plan, folder):
        self.chosen, self.plan = chosen, plan
        self.oracle = Server([plan.program, f"--target={plan.oracle}"], THREADS)
        self.tested = {name: Server(command, THREADS) for name, command in plan.commands().items()}
        if plan.target == "cpu":
            self.tested = {"cpu": self.oracle}
        self.folder = Path(tempfile.mkdtemp(dir=folder))

    @staticmethod
    def start(*arguments):
        Worker.current = Worker(*arguments)

    @staticmethod
    def run(index):
        return Worker.current.run_function(*Worker.current.chosen[index])

    def write_module(self, name, function, in_place):
        path = self.folder / f"{name}.mlir"
        path.write_text(function.text_in_place() if in_place else function.text())
        return str(path)

    def load(self, function, in_place):
        """Compiles on all servers. Returns the seconds, and what each target says that
        does not compile, by name."""
        mutated = mutations.OF_FUNCTIONS.get(self.plan.mutation, lambda same: same)(function)
        plain = self.write_module("plain", function, False)
        module = self.write_module("module", function, in_place)
        compiled = self.write_module("compiled", mutated, in_place)
        seconds, errors = [], {}
        if self.oracle not in self.tested.values():
            self.oracle.load(module=plain)
        for name, server in self.tested.items():
            try:
                seconds.append(server.load(module=module, compiled=compiled)["seconds"])
            except ServerError as error:
                errors[name] = str(error)
        return seconds, errors

    def run_function(self, function, seeds):
        problems = [Problem(function, seed, self.plan.profile) for seed in seeds]
        result = Result()
        self.runs = {name: [] for name in self.tested}
        try:
            result.compile_seconds, errors = self.load(function, problems[0].in_place)
        except ServerError as error:
            result.outcomes = [self.outcome(p, "oracle", [f"compiling: {error}"]) for p in problems]
            return result
        for problem in problems:
            try:
                result.outcomes += self.run_problem(problem, errors)
            except ServerError as error:
                result.outcomes.append(self.outcome(problem, "oracle", [str(error)]))
        for name, runs in self.runs.items():
            if self.plan.launches and runs:
                self.launch_many(self.tested[name], runs)
                result.launches[name] += self.plan.launches
        return result

    def launch_many(self, server, runs):
        """Launches of changing shapes one after the other give what each gave alone."""
        paths = [self.folder / f"data{number}" for number in range(len(runs))]
        for path, run in zip(paths, runs):
            run.before.tofile(path)
        try:
            server.run({"launches": self.plan.launches,
                        "problems": [{**run.request, "data": str(path)} for path, run in zip(paths, runs)]})
        except ServerError as error:
            server.discard()
            for run in runs:
                run.outcome.complaints.append(f"{self.plan.launches} launches of changing shapes: {error}")
            return
        for path, run in zip(paths, runs):
            if not np.array_equal(np.fromfile(path, np.uint8), run.after):
                run.outcome.complaints.append(f"after {self.plan.launches} launches of changing shapes the "
                                              "result differs from the first")

    def outcome(self, problem, target, complaints=(), has_empty_row=False):
        return Outcome(problem.function.name, problem.seed[2], target, problem.describe(), list(complaints),
                       features=features.of_problem(problem, has_empty_row))

    def run_problem(self, problem, errors):
        layout = Layout(problem)
        expected, results = self.run_oracle(layout)
        oracle = reference.attention(problem)
        complaints = checks.check_evaluator(expected, oracle)
        has_empty_row = bool(np.isneginf(oracle[1]).any())
        outcomes = []
        for name, server in self.tested.items():
            outcome = self.outcome(problem, name, complaints, has_empty_row)
            outcomes.append(outcome)
            if name in errors:
                outcome.skipped = refusals.reason(errors[name]) or ""
                if not outcome.skipped:
                    outcome.complaints.append(f"compiling: {errors[name]}")
                continue
            try:
                self.run_target(layout, server, expected, results, outcome)
            except ServerError as error:
                server.discard()
                outcome.complaints.append(str(error))
        return outcomes or [self.outcome(problem, "evaluator", complaints)]

    def run_oracle(self, layout):
        """Results of the evaluator, and those of the CPU where it is the second oracle."""
        data, evaluated = self.folder / "data", self.folder / "reference"
        layout.fill().tofile(data)
        self.oracle.run({**layout.request(data), "reference": str(evaluated)})
        numbers = np.fromfile(evaluated, np.float64)
        splits = np.cumsum([np.prod(view.shape, dtype=int) for view in layout.results])[:-1]
        expected = [part.reshape(view.shape) for part, view in zip(np.split(numbers, splits), layout.results)]
        after = np.fromfile(data, np.uint8)
        return expected, [view.of(after) for view in layout.results]

    def run_target(self, layout, server, expected, others, outcome):
        problem, data = layout.problem, self.folder / "data"
        before = layout.fill_in_place() if problem.in_place else layout.fill()
        request = layout.request_in_place(data) if problem.in_place else layout.request(data)

        def run():
            before.tofile(data)
            server.run(request)
            return np.fromfile(data, np.uint8)

        after = run()
        self.runs[outcome.target].append(Run(request, before, after, outcome))
        results = [view.of(after) for view in layout.results]
        if not np.array_equal(after, run()):
            outcome.complaints.append("a second run differs from the first run")
        changed = layout.changed_outside_results(before, after)
        if changed:
            outcome.complaints.append(f"{changed} bytes outside the results were changed")
        if self.plan.mutation in mutations.OF_RESULTS:
            mutations.OF_RESULTS[self.plan.mutation](problem, results)
        found, outcome.ratio = checks.check(problem, results, expected)
        outcome.complaints += found
        if self.plan.oracle == "cpu" and self.plan.target != "cpu":
            outcome.complaints += checks.check_against(problem, results, others)
