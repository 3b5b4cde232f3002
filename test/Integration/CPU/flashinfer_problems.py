#!/usr/bin/env python3
"""Runs FlashInfer's problem statements (its tests/trace/*/*.json), and says of each whether it runs and verifies here,
or why it is not this project's.

    flashinfer_problems.py --build BUILD [--target cpu|interpret|cuda] [--only NAME] [--seed SEED] SOURCE...

A source is a JSON file, a clone of https://github.com/flashinfer-ai/flashinfer, or its bare repository. Of a clone
functions that a reference calls and its file lacks are taken from flashinfer/trace/templates. The files are read, and
none is kept.

Three sides have to agree on random inputs: compiled code, the float64 evaluator and numpy. The fourth is the reference
in the file; it needs torch (a CPU build will do), and without it the report says so. The last line is
`N verified, N not of this project, N unread, N refused, N failed`: unread is
attention that this program has no reader for, refused what a GPU has no schedule for.
"""

import argparse
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from grid import checks, statements
from grid.server import Server, ServerError

ROOT = Path(__file__).resolve().parent.parent.parent.parent
# Relative errors of outputs, absolute ones of the lse (docs/Spec.md, Errors).
BOUNDS, LSE_BOUND = {"bf16": 6e-3, "f16": 1e-3, "f32": 2e-6}, 1e-4
# Of copies: the least number there is.
EXACT = 5e-324
LSES = ("lse", "s", "s_merged")


class Refused(Exception):
    """What a compiler said of a function."""


class Source:
    """Files, a work tree or a git repository, by path."""

    def __init__(self, place):
        self.place, self.is_git = Path(place), not Path(place).is_file()
        if self.is_git:
            names = self.git("ls-tree", "-r", "--name-only", "HEAD", "tests/trace", "flashinfer/trace/templates").split()
            self.statements = [name for name in names if name.startswith("tests/trace/") and name.endswith(".json")]
            self.templates = [name for name in names if name.endswith(".py") and "/templates/" in name]
        else:
            self.statements, self.templates = [str(place)], []

    def git(self, *words):
        return subprocess.run(["git", "-C", str(self.place), *words], check=True, capture_output=True, text=True).stdout

    def read(self, name):
        return self.git("show", f"HEAD:{name}") if self.is_git else Path(name).read_text()

    def helpers(self):
        found = {}
        for name in self.templates:
            for function, text in statements.definitions(self.read(name)).items():
                if not function.endswith("_init"):
                    found.setdefault(function, "from __future__ import annotations\n" + text)
        return found


def lay_out(stated):
    """Bytes of all arrays, the request that names them, and where the results lie. Views of one array share its bytes."""
    data, at, end = [], {}, 0

    def place(array):
        nonlocal end
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        if id(whole) not in at:
            end = -(-end // 64) * 64
            at[id(whole)] = (end, whole)
            data.append((end, whole))
            end += whole.nbytes
        begin = at[id(whole)][0] + (array.__array_interface__["data"][0] - whole.__array_interface__["data"][0])
        return {"offset": begin, "shape": list(array.shape), "strides": [s // array.itemsize for s in array.strides]}

    arguments = [place(value) if isinstance(value, np.ndarray) else {"value": value} for value in stated.arguments]
    results = [place(array) for array in stated.results]
    size = -(-end // 64) * 64 + 64
    return data, size, {"arguments": arguments, "results": results}


def view(memory, place, kind):
    """An array of the bytes, which are a multiple of 64."""
    strides = [stride * np.dtype(kind).itemsize for stride in place["strides"]]
    return np.ndarray(place["shape"], kind, memory, place["offset"], strides)


def run(stated, server, folder):
    """Results of compiled code, and of the evaluator in float64, as outputs of the statement."""
    module, file, evaluated = folder / "module.mlir", folder / "data", folder / "reference"
    module.write_text(stated.text)
    try:
        server.load(module=str(module))
    except ServerError as error:
        raise Refused(str(error)) from None
    data, size, request = lay_out(stated)
    memory = np.full(size, 0xFF, np.uint8)
    for begin, array in data:
        memory[begin:begin + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    memory.tofile(file)
    server.run({"data": str(file), "reference": str(evaluated), **request})
    after, numbers = np.fromfile(file, np.uint8), np.fromfile(evaluated, np.float64)
    results = [view(after, place, array.dtype).astype(np.float64) for place, array in zip(request["results"], stated.results)]
    cuts = np.cumsum([array.size for array in stated.results])[:-1]
    exact = [part.reshape(array.shape) for part, array in zip(np.split(numbers, cuts), stated.results)]
    return stated.outputs(results), stated.outputs(exact)


def compare(name, side, found, wanted, bound):
    error = checks.absolute_error if name in LSES else checks.relative_error
    if found.shape != wanted.shape:
        return [f"{name} {side}: shape {found.shape}, expected {wanted.shape}"], 0.0
    return checks.compare(f"{name} {side}", found, wanted, error, bound)[0], error(found, wanted)


def verify(statement, seed, server, folder, helpers, torch):
    """Complaints, and a line on the errors."""
    stated = statements.make(statement, np.random.default_rng(seed))
    results, evaluated = run(stated, server, folder)
    try:
        values = statements.call_reference(statement, stated.inputs, helpers, torch)
        reference = dict(zip(stated.expected, values))
        against = "its reference"
    except ImportError as error:
        reference, against = {}, f"numpy ({error} is missing)"
    except NameError as error:
        reference, against = {}, f"numpy (its reference does not run: {error})"
    complaints, errors = [], []
    for name, wanted in stated.expected.items():
        bound = EXACT if stated.exact else LSE_BOUND if name in LSES else BOUNDS[stated.element]
        complaints += compare(name, "of the evaluator against numpy", evaluated[name], wanted, checks.REFERENCE_BOUND)[0]
        found, error = compare(name, "against numpy", results[name], wanted, bound)
        complaints += found
        if name in reference:
            found, error = compare(name, "against the reference", results[name], reference[name], bound)
            complaints += found
        errors.append(f"{name} {error:.1e}")
    operations = "fa.attention" if "fa.attention" in stated.text else "fa.append" if "fa.append" in stated.text else "fa.combine"
    return complaints, f"{operations}, from {against}: {', '.join(errors)}"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", metavar="SOURCE")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--target", choices=["cpu", "interpret", "cuda"], default="cpu")
    parser.add_argument("--chip", default="")
    parser.add_argument("--only", help="statements whose name has this in it")
    parser.add_argument("--seed", type=int, default=None, help="fresh where absent; it is printed")
    return parser.parse_args()


def main():
    arguments = parse()
    seed = secrets.randbelow(1 << 30) if arguments.seed is None else arguments.seed
    program = arguments.build / "bin/fa-grid"
    if not program.exists():
        sys.exit(f"error: {program.resolve()} does not exist; build the project first")
    try:
        import torch
    except ImportError:
        torch = None
    server = Server([program.absolute(), f"--target={arguments.target}"] + ([f"--chip={arguments.chip}"] if arguments.chip else []),
                    threads=2)
    counts = dict.fromkeys(["verified", "not of this project", "unread", "refused", "failed"], 0)
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as name:
        for place in arguments.sources:
            source = Source(place)
            helpers = source.helpers()
            for path in source.statements:
                statement = statements.read(source.read(path))
                if arguments.only and arguments.only not in statement.name:
                    continue
                try:
                    complaints, line = verify(statement, seed, server, Path(name), helpers, torch)
                except statements.NotOurs as reason:
                    unread = str(reason).startswith("unread: ")
                    counts["unread" if unread else "not of this project"] += 1
                    print(f"{statement.name}: {'' if unread else 'not ours: '}{reason}", flush=True)
                    continue
                except Refused as error:
                    # A CPU compiles all; a GPU has schedules for a part.
                    if arguments.target != "cpu":
                        counts["refused"] += 1
                        print(f"{statement.name}: refused: {error}", flush=True)
                        continue
                    complaints, line = [str(error)], ""
                except ServerError as error:
                    complaints, line = [str(error)], ""
                counts["failed" if complaints else "verified"] += 1
                print(f"{statement.name}: {'FAIL' if complaints else 'verified'}: {'; '.join(complaints) or line}", flush=True)
    server.close()
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(bool(counts["failed"]))


if __name__ == "__main__":
    main()
