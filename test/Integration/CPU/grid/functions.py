"""Random functions, each compiled once by fa-grid and run on several random problems."""

import sys
import tempfile
from pathlib import Path

import numpy as np

from .server import Server, ServerError


def add_options(parser, functions):
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--functions", type=int, default=functions)
    parser.add_argument("--problems", type=int, default=6)
    parser.add_argument("--only", default="")
    parser.add_argument("--target", choices=["cpu", "interpret", "cuda"], default="cpu")
    parser.add_argument("--chip", help="whose schedule a function is turned into")


def run(options, seed, make_function, make_problem, judge, describe):
    """Returns how many problems passed and how many failed.

    `judge(problem, server, folder)` gives what is wrong with the results of a problem, a list of sentences,
    and `describe(problem)` says in a failure which problem it was.
    """
    program = options.build / "bin" / "fa-grid"
    if not program.exists():
        sys.exit(f"error: {program} does not exist; build the project first")
    command = [program.absolute(), f"--target={options.target}"] + ([f"--chip={options.chip}"] if options.chip else [])
    server, passed, failed = Server(command, threads=2), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(options.functions):
            label = f"f{number:03}"
            if options.only and options.only != label:
                continue
            rng = np.random.default_rng([seed, number])
            function = make_function(rng)
            module = folder / "module.mlir"
            module.write_text(function.text())
            try:
                server.load(module=str(module))
            except ServerError as error:
                print(f"FAIL {label}: {error}\n{function.text()}")
                failed += options.problems
                continue
            for _ in range(options.problems):
                problem = make_problem(function, rng)
                try:
                    complaints = judge(problem, server, folder)
                except ServerError as error:
                    complaints = [str(error)]
                passed, failed = passed + (not complaints), failed + bool(complaints)
                if complaints:
                    print(f"FAIL {label} (seed {seed}; {describe(problem)}): {'; '.join(complaints)}")
                    if options.only:
                        print(function.text())
    server.close()
    return passed, failed
