#!/usr/bin/env python3
"""Raises every text of the corpus and checks how many attentions it gives, and that it computes the same.

    python3 corpus.py --opt build/bin/fa-opt --run build/bin/fa-run [--seed SEED] [--before N] [--compiled] [FILE...]

The first line of a text says how many `fa.attention` are expected: a number, or `1 or 0`. StableHLO is imported and TOSA lowered
by stock passes first. Source and raised text are evaluated in float64 on random arguments of a printed seed; they agree to
1e-10, with NaN and infinities at the same places. A text without attention stays as it is. What the evaluator does not know
has a line `// same function: FILE`, whose numbers are taken; IREE's own functions are counted only.

With --before N, each text is raised N times more, each time after three other passes of linalg in a random order. With
--compiled, code of the raised text for this processor is compared with the source in float64, too, by the bounds of
`COMPILED`; where a line `// sums: N` says that scores are large, by `conditioned_bound`. The last lines count the texts, and
are `N passed, N failed`.
"""

import argparse
import itertools
import os
import random
import re
import secrets
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from wide import argument_specs, compute, difference, evaluate, random_array, run

BOUND = 1e-10
# The norm of the error over that of the result, by the result's type; raising may drop roundings of bf16 and f16.
COMPILED = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 6e-3}
# What rounding to f32 changes a number by, relatively, and a change of arguments that results follow linearly.
ROUNDING, CHANGE = 2 ** -24, 2 ** -14
FOLDER = Path(__file__).resolve().parent.parent / "Inputs" / "raise"
TOSA = ("tosa-infer-shapes", "tosa-make-broadcastable", "tosa-to-linalg-named", "canonicalize", "tosa-to-linalg",
        "tosa-to-arith", "tosa-to-tensor", "canonicalize")
TO_LINALG = {
    "stablehlo": ["--allow-unregistered-dialect", "--fa-import-stablehlo"],
    "tosa": [f"--pass-pipeline=builtin.module(func.func({','.join(TOSA)}))"],
    "tm_tensor": ["--allow-unregistered-dialect"],
    "linalg_ext": ["--allow-unregistered-dialect"],
}
# Stock passes that leave the meaning as it is.
EQUIVALENT = {
    "generalise": ["--linalg-generalize-named-ops"],
    "specialise": ["--linalg-specialize-generic-ops"],
    "fuse": ["--linalg-fuse-elementwise-ops"],
    "fold": ["--linalg-fold-unit-extent-dims"],
    "clean": ["--canonicalize", "--cse"],
}


class Failure(Exception):
    pass


class NotMade(Exception):
    """Stock passes refused their own output: specialise of LLVM 22 makes batch_matmul of two batch dimensions."""


class Text:
    """A file of the corpus, as linalg, with its numbers."""

    def __init__(self, path, options, folder):
        self.path, self.options, self.folder = path, options, folder
        first = path.open().readline()
        self.expected = [int(count) for count in re.search(r"expected: (.*)$", first).group(1).split(" or ")]
        self.kind = path.name.split(".")[-2]
        self.linalg = self.opt(path.read_text(), *TO_LINALG.get(self.kind, []))
        sums = re.search(r"^// sums: (\d+)$", path.read_text(), re.M)
        self.sums = int(sums.group(1)) if sums else 0
        reference = re.search(r"^// same function: (.*)$", path.read_text(), re.M)
        self.source = self.linalg
        if reference:
            self.source = self.opt((path.parent / reference.group(1)).read_text())
        self.numbers = None
        if self.kind == "linalg_ext":
            return
        rng = np.random.default_rng(options.seed)
        self.arguments = [random_array(rng, spec, empty_rows=not reference) for spec in argument_specs(path, self.source)]

    def opt(self, text, *passes):
        return run([self.options.opt, "-", *passes], input=text)

    def evaluate(self, text, name, arguments=None):
        return evaluate(self.options.run, text, arguments or self.arguments, self.folder, f"{self.path.name}.{name}")

    def conditioned_bound(self):
        """What f32 may lose where scores are large. A sum of n numbers in f32 is the exact sum of numbers that differ by up to
        sqrt(n) roundings (Higham and Mary, SIAM J. Sci. Comput. 41, 2019), and the source in float64 says how far such
        arguments move the results."""
        rng = np.random.default_rng(self.options.seed)
        changed = [(each * (1 + CHANGE * rng.uniform(-1, 1, each.shape))).astype(each.dtype) for each in self.arguments]
        moved = max(difference(a, b) for a, b in zip(self.evaluate(self.source, "changed", changed), self.numbers, strict=True))
        return moved / CHANGE * ROUNDING * self.sums ** 0.5

    def check_compiled(self, raised):
        """Raises Failure where compiled code differs. Returns the error."""
        found = compute(self.options.run, raised, self.arguments, self.folder, f"{self.path.name}.compiled")
        least, worst = self.conditioned_bound() if self.sums else 0.0, 0.0
        for i, (ours, theirs) in enumerate(zip(found, self.numbers, strict=True)):
            error, bound = difference(ours, theirs), max(least, COMPILED.get(str(ours.dtype), 0.0))
            if not error <= bound:
                raise Failure(f"compiled, result {i} has error {error:.1e} above {bound:.1e}")
            worst = max(worst, error)
        return worst

    def check(self, name, order):
        """Raises after other passes. Returns the number of attentions and the error."""
        extra = ["--allow-unregistered-dialect"] if self.kind in ("tm_tensor", "linalg_ext") else []
        before = [option for step in order for option in EQUIVALENT[step]]
        try:
            start = self.opt(self.linalg, *extra, *before)
        except RuntimeError as error:
            raise NotMade(error) from error
        raised = self.opt(start, *extra, "--fa-raise-attention")
        count = len(re.findall(r"^ *%\S+ = \"?fa\.attention\b", raised, re.M))
        if count not in self.expected:
            raise Failure(f"{count} attentions, expected {' or '.join(map(str, self.expected))}")
        if count == 0:
            if raised != start:
                raise Failure("changed without an attention")
            return count, 0.0
        if self.kind == "linalg_ext":
            return count, float("nan")
        if self.numbers is None:
            self.numbers = self.evaluate(self.source, "source")
        found = self.evaluate(raised, name)
        error = max(difference(a, b) for a, b in zip(found, self.numbers, strict=True))
        if error > BOUND and order and self.kind != "tm_tensor":
            # Stock passes fold constants in f32: sqrt(1 / sqrt(64)) of ONNX is then another number.
            folded = self.evaluate(start, f"{name}.start")
            error = max(difference(a, b) for a, b in zip(found, folded, strict=True))
        if not error <= BOUND:
            raise Failure(f"{count} attentions, error {error:.1e} above {BOUND}")
        again = self.opt(raised, *extra, "--fa-raise-attention")
        if again != raised:
            raise Failure("raising again changes the text")
        if self.options.compiled and not order:
            error = max(error, self.check_compiled(raised))
        return count, error


def orders(seed, count):
    """The text as it is, then after three passes in random orders, all of them different."""
    every = list(itertools.permutations(EQUIVALENT, 3))
    random.Random(seed).shuffle(every)
    return [()] + every[:count], every[count:]


def report(path, options, folder):
    """Lines to print, how many checks passed and failed, and whether an attention is expected."""
    lines, passed, failed = [], 0, 0
    wanted, others = orders(f"{options.seed} {path.name}", options.before)
    try:
        text = Text(path, options, folder)
    except RuntimeError as error:
        return [f"FAILED {path.name}: {error}"], 0, len(wanted), False
    while wanted:
        order = wanted.pop(0)
        name = path.name + (f" after {', '.join(order)}" if order else "")
        try:
            count, error = text.check(str(len(wanted)), order)
            passed += 1
            lines.append(f"{name}: {count}, error {error:.1e}")
        except NotMade:
            lines.append(f"not made: {name}")
            if others:
                wanted.append(others.pop(0))
        except (Failure, RuntimeError) as error:
            failed += 1
            lines.append(f"FAILED {name}: {error}")
    return lines, passed, failed, max(text.expected) > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--seed", type=int, default=os.environ.get("FA_TEST_SEED") or secrets.randbelow(2**31))
    parser.add_argument("--before", type=int, default=0)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    files = options.files or sorted(FOLDER.glob("*.mlir"))
    passed = failed = positive = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        for lines, good, bad, has_attention in pool.map(lambda path: report(path, options, folder), files):
            print("\n".join(lines), flush=True)
            passed, failed, positive = passed + good, failed + bad, positive + has_attention
    print(f"{positive} texts with attention, {len(files) - positive} without")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
