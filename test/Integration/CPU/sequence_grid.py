#!/usr/bin/env python3
"""Sampled problems of packed sequences, pages and sinks, compared with numpy and the
float64 evaluator. Sequences lie among NaN; a part of the problems has starts, lengths
or pages that cannot be, of one sequence, whose rows have to be NaN, and no others.

The last line is `N passed, N failed`. To repeat one function of a run:
  sequence_grid.py --seed SEED --only f012
"""

import argparse
import os
import re
import secrets
import sys
import tempfile
from pathlib import Path

import numpy as np

from grid import checks, problems, sequences
from grid.server import Server, ServerError

ROOT = Path(__file__).resolve().parent.parent.parent.parent
PROFILES = {"cpu": problems.CPU, "interpret": problems.INTERPRETER, "cuda": problems.GPU}


def lay_out(problem):
    """The bytes of all arguments and results, and the request that names them."""
    end, arguments, views = 0, [], []

    def place(array):
        nonlocal end
        begin = end = -(-end // 64) * 64
        end += array.nbytes
        views.append((begin, array))
        strides = [stride // array.itemsize for stride in np.empty(array.shape, array.dtype).strides]
        return {"offset": begin, "shape": list(array.shape), "strides": strides}

    for name, kind in problem.function.arguments():
        value = problem.arrays[name]
        arguments.append(place(value) if kind.startswith("tensor") else {"value": value})
    results = [place(problem.arrays[name]) for name in problem.results]
    data = np.full(end + 64, 0xFF, np.uint8)
    for begin, array in views[:len(views) - len(results)]:
        data[begin:begin + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    return data, {"arguments": arguments, "results": results}, views[len(views) - len(results):]


def read(data, views):
    return [data[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape) for begin, array in views]


def run_problem(problem, server, folder):
    """Complaints, and the worst error over its bound."""
    data, request, views = lay_out(problem)
    file, evaluated = folder / "data", folder / "reference"
    data.tofile(file)
    server.run({"data": str(file), "reference": str(evaluated), **request})
    after = np.fromfile(file, np.uint8)
    typed = read(after, views)
    results = [array.astype(np.float64) for array in typed]
    numbers = np.fromfile(evaluated, np.float64)
    cuts = np.cumsum([array.size for _, array in views])[:-1]
    evaluated = [part.reshape(array.shape) for part, (_, array) in zip(np.split(numbers, cuts), views)]
    complaints, worst = [], 0.0
    sides = zip(["o", "lse"], results, evaluated, problem.allowed(evaluated), problem.allowed(results),
                [checks.relative_error_of(typed[0].dtype), checks.absolute_error], [problem.base.output_bound, problem.base.lse_bound])
    for name, result, of_evaluator, of_numpy, allowed, error, bound in sides:
        complaints += checks.compare(f"{name} of the evaluator against numpy", of_evaluator, of_numpy,
                                     checks.absolute_error if name == "lse" else checks.relative_error,
                                     checks.REFERENCE_BOUND)[0]
        found, ratio = checks.compare(name, result, allowed, error, bound)
        complaints += found
        worst = max(worst, ratio)
    end = views[0][0]
    if not np.array_equal(after[:end], data[:end]):
        complaints.append("bytes outside the results were changed")
    return complaints, worst


def load(server, function, module):
    """Compiles it. Where blocks of a configuration do not fit, the nearest that the error names have to. Returns whether it took these."""
    module.write_text(function.text())
    try:
        server.load(module=str(module))
        return False
    except ServerError as error:
        nearest = re.search(r"the nearest is query_block = (\d+) and key_block = (\d+)$", str(error), re.MULTILINE)
        if not nearest:
            raise
        function.use_blocks(*nearest.groups())
        module.write_text(function.text())
        server.load(module=str(module))
        return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--target", choices=PROFILES, default="cpu")
    parser.add_argument("--chip", default="")
    parser.add_argument("--seed", type=int, help="fresh where absent; it is printed")
    parser.add_argument("--functions", type=int, default=60)
    parser.add_argument("--problems", type=int, default=8, help="of each function")
    parser.add_argument("--only", help="name of one function, as in f012")
    parser.add_argument("--shared", action="store_true", help="all sequences have the same keys")
    parser.add_argument("--decode", action="store_true", help="one query for each sequence, whose keys are split")
    parser.add_argument("--spoil", action="store_true", help="expect NaN everywhere, which the grid has to find")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbelow(1 << 30))
    program = arguments.build / "bin/fa-grid"
    if not program.exists():
        sys.exit(f"error: {program.resolve()} does not exist; build the project first")
    profile = PROFILES[arguments.target]
    rng = np.random.default_rng(seed)
    bases = problems.sample_functions(rng, arguments.functions, profile)
    forms = [sequences.sample_form(rng, on_gpu=not profile.has_config) for _ in bases]
    if arguments.shared:
        forms = [sequences.share_keys(rng, form) for form in forms]
    if arguments.decode:
        forms = [sequences.decode(rng, form) for form in forms]
    functions = [sequences.SequenceFunction(base, form) for base, form in zip(bases, forms)]
    command = [program.absolute(), f"--target={arguments.target}"]
    if arguments.chip:
        command.append(f"--chip={arguments.chip}")
    server = Server(command, threads=2)
    passed = failed = broken = with_nearest = 0
    worst = 0.0
    print(f"{len(functions)} compiled functions, seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, function in enumerate(functions):
            if arguments.only and function.base.name != arguments.only:
                continue
            chosen = [sequences.SequenceProblem(function, (seed, number, i), profile) for i in range(arguments.problems)]
            try:
                with_nearest += load(server, function, folder / "module.mlir")
            except ServerError as error:
                failed += len(chosen)
                print(f"FAIL {chosen[0].describe()}\n  compiling: {error}")
                if arguments.only:
                    print(function.text())
                continue
            for problem in chosen:
                try:
                    complaints, ratio = run_problem(problem, server, folder)
                except ServerError as error:
                    complaints, ratio = [str(error)], np.inf
                if arguments.spoil:
                    problem.want[0][...] = np.nan
                    complaints = complaints or run_problem(problem, server, folder)[0]
                broken += bool(problem.broken)
                worst = max(worst, ratio)
                passed += not complaints
                failed += bool(complaints)
                if complaints:
                    print(f"FAIL {problem.describe()}")
                    print("\n".join(f"  {complaint}" for complaint in complaints))
    server.close()
    print(f"{with_nearest} functions with the nearest blocks that fit")
    print(f"{broken} with a broken sequence, worst error {worst:.2f} of its bound")
    print(f"{passed} passed, {failed} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
