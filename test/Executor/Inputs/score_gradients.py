#!/usr/bin/env python3
"""Gradients that fa-differentiate-score derives, of random score functions, against finite differences in float64.

    python3 score_gradients.py --program build/bin/fa-run [--opt build/bin/fa-opt] [--seed SEED] [--functions N] [--only K]

A function takes the score, a capture of each key and one that is a number. With one query of 1, delta 0 and lse 0 the gradient of
a value is p = exp(x(s)), which no derived region enters, and that of a key is dp/ds: one run holds both, batches
beside the first being moved ones. Function 0 to the number
of operations less one use one operation each, later ones chains of them in all float types. Where the differences of two steps
disagree, at jumps and kinks, a number is not looked at; most must be. With --opt the region is derived by fa-opt, printed and
parsed first, else fa-run derives it. The last line is `N passed, N failed`.
"""

import argparse
import os
import random
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

KEYS = 48
STEPS = (2.0**-6, 2.0**-7)
# The function, and four points for each step and each of its three inputs.
RUNS = 1 + 3 * 4 * len(STEPS)
# Where a function is defined and not too steep: the argument is first mapped there.
ANY = ["absf", "atan", "cbrt", "cos", "erf", "erfc", "sin", "tanh", "sinh", "cosh", "asinh", "exp", "exp2", "expm1", "floor",
       "ceil", "round", "roundeven", "trunc"]
ABOVE_ONE = ["log", "log2", "log10", "sqrt", "rsqrt", "log1p", "acosh"]
BELOW_ONE = ["asin", "acos", "atanh", "tan"]
BINARY = ["addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf", "copysign", "atan2", "powf"]
OTHER = ["negf", "fma", "clampf", "select", "fpowi", "sincos", "left_out"]
OPERATIONS = ANY + ABOVE_ONE + BELOW_ONE + BINARY + OTHER
WIDTH = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}


class Function:
    def __init__(self, rng, first=None):
        self.rng, self.lines, self.count = rng, [], 0
        self.values = ["%s", "%w", "%c"]
        self.types = {"%s": "f32", "%w": "f32", "%c": "f32"}
        for step in range(1 if first else rng.randint(2, 7)):
            self.values.append(self.apply(first or rng.choice(OPERATIONS)))
        # All of it counts, and the score is bounded.
        total = self.cast(self.values[-1], "f32")
        for value in ("%w", "%c", "%s"):
            total = self.emit(f"arith.addf {total}, {self.cast(value, 'f32')} : f32", "f32")
        quarter = self.constant(0.25, "f32")
        self.result = self.emit(f"math.tanh {self.emit(f'arith.mulf {total}, {quarter} : f32', 'f32')} : f32", "f32")

    def emit(self, text, kind, results=1):
        self.count += 1
        name = f"%n{self.count}"
        self.lines.append(f"{name}{':2' if results == 2 else ''} = {text}")
        self.types[name] = kind
        return name

    def constant(self, value, kind):
        return self.emit(f"arith.constant {value!r} : {kind}", kind)

    def cast(self, value, kind):
        own = self.types[value]
        if own == kind:
            return value
        if WIDTH[own] == WIDTH[kind]:
            value, own = self.emit(f"arith.extf {value} : {own} to f32", "f32"), "f32"
        return self.emit(f"arith.{'extf' if WIDTH[own] < WIDTH[kind] else 'truncf'} {value} : {own} to {kind}", kind)

    def bounded(self, value, kind):
        return self.emit(f"math.tanh {value} : {kind}", kind)

    def apply(self, name):
        rng = self.rng
        kind = rng.choice(["f32", "f32", "f16", "bf16", "f64"])
        a, b = (self.cast(rng.choice(self.values[-3:] + ["%s"]), kind) for _ in range(2))
        if name in ABOVE_ONE:
            a = self.emit(f"math.absf {a} : {kind}", kind)
            a = self.emit(f"arith.addf {a}, {self.constant(1.25, kind)} : {kind}", kind)
        elif name in BELOW_ONE:
            a = self.emit(f"arith.mulf {self.bounded(a, kind)}, {self.constant(0.75, kind)} : {kind}", kind)
        elif name in ANY or name in ("fpowi", "powf", "mulf"):
            a, b = self.bounded(a, kind), self.bounded(b, kind)
        if name in ("divf", "remf", "powf", "left_out", "atan2"):
            positive = self.emit(f"math.absf {a if name == 'powf' else b} : {kind}", kind)
            positive = self.emit(f"arith.addf {positive}, {self.constant(0.75, kind)} : {kind}", kind)
            a, b = (positive, b) if name == "powf" else (a, positive)
        if name in ANY + ABOVE_ONE + BELOW_ONE:
            return self.emit(f"math.{name} {a} : {kind}", kind)
        if name in BINARY:
            return self.emit(f"{'math' if name in ('copysign', 'atan2', 'powf') else 'arith'}.{name} {a}, {b} : {kind}", kind)
        if name == "negf":
            return self.emit(f"arith.negf {a} : {kind}", kind)
        if name == "fma":
            return self.emit(f"math.fma {self.bounded(a, kind)}, {b}, {a} : {kind}", kind)
        if name == "clampf":
            low, high = (self.constant(value, kind) for value in (-0.5, 0.75))
            return self.emit(f"math.clampf {a} to [{low}, {high}] : {kind}", kind)
        if name == "fpowi":
            n = self.emit(f"arith.constant {rng.randint(0, 3)} : i32", "i32")
            return self.emit(f"math.fpowi {a}, {n} : {kind}, i32", kind)
        if name == "sincos":
            self.emit(f"math.sincos {a} : {kind}", kind, results=2)
            base = f"%n{self.count}"
            self.types[base + "#0"] = self.types[base + "#1"] = kind
            return self.emit(f"arith.addf {base}#0, {base}#1 : {kind}", kind)
        zero = self.constant(0.0, kind)
        above = self.emit(f"arith.cmpf ogt, {a}, {zero} : {kind}", "i1")
        if name == "select":
            return self.emit(f"arith.select {above}, {a}, {b} : {kind}", kind)
        # The log and the root of a negative number are NaN, and not chosen.
        log, root = (self.emit(f"math.{f} {a} : {kind}", kind) for f in ("log", "sqrt"))
        both = self.emit(f"arith.mulf {log}, {root} : {kind}", kind)
        small = self.constant(0.25, kind)
        enough = self.emit(f"arith.cmpf ogt, {a}, {small} : {kind}", "i1")
        return self.emit(f"arith.select {enough}, {both}, {b} : {kind}", kind)

    def text(self):
        body = "\n          ".join(self.lines)
        row, keys, lse = f"tensor<{RUNS}x1x1x1xf32>", f"tensor<{RUNS}x{KEYS}x1x1xf32>", f"tensor<{RUNS}x1x1xf32>"
        table, moves, number = f"tensor<{RUNS}x{KEYS}xf32>", f"tensor<{RUNS}xf32>", "tensor<f32>"
        results = f"{keys}, {keys}, {table}, {number}"
        return f"""func.func @main(%q: {row}, %k: {keys}, %v: {keys}, %lse: {lse}, %t: {table}, %moves: {moves}, %number: f32)
            -> ({results}) {{
        %scale = arith.constant 1.0 : f32
        %e0 = tensor.empty() : {keys}
        %e1 = tensor.empty() : {table}
        %e2 = tensor.empty() : {number}
        %r:4 = fa.attention_gradient ins(%q, %k, %v : {row}, {keys}, {keys}) of(%lse : {lse}) delta(%lse : {lse})
            gradients(%q : {row})
            outs(key = %e0 : {keys}, value = %e0 : {keys}, capture[0] = %e1 : {table}, capture[1] = %e2 : {number}) scale(%scale)
            score(%s, %b, %h, %i, %j) captures(%ta = %t : {table}, %nu = %number : f32, %mo = %moves : {moves}) {{
          %w = tensor.extract %ta[%b, %j] : {table}
          %move = tensor.extract %mo[%b] : {moves}
          %c = arith.addf %nu, %move : f32
          {body}
          fa.yield {self.result} : f32
        }}
        return %r#0, %r#1, %r#2, %r#3 : {results}
      }}"""


class Runner:
    def __init__(self, program, opt):
        self.program, self.opt, self.folder = program, opt, Path(tempfile.mkdtemp())

    def load(self, text):
        (self.folder / "a.mlir").write_text(text)
        if self.opt:
            done = subprocess.run([self.opt, str(self.folder / "a.mlir"), "--fa-differentiate-score", "-o",
                                   str(self.folder / "b.mlir")], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(done.stderr)

    def run(self, scores, table, moves, number):
        one = np.ones((RUNS, 1, 1, 1))
        # Where the value is 0 so is the gradient of the score: what all batches share has that of the first alone.
        values = np.zeros((RUNS, KEYS, 1, 1))
        values[0] = 1
        inputs = [one, scores.reshape(RUNS, KEYS, 1, 1), values, np.zeros((RUNS, 1, 1)), table, moves]
        command = [self.program, str(self.folder / ("b.mlir" if self.opt else "a.mlir")), "--target=reference"]
        for position, value in enumerate(inputs):
            np.save(self.folder / f"i{position}.npy", value.astype(np.float32))
            command.append(f"--input=@{self.folder}/i{position}.npy")
        command.append(f"--input=f32={number!r}")
        command += [f"--output=@{self.folder}/o{position}.npy" for position in range(4)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        keys, weights, tables, number = (np.load(self.folder / f"o{position}.npy").astype(np.float64) for position in range(4))
        return keys[0].reshape(-1), weights.reshape(RUNS, KEYS), tables[0], float(number)


def check(function, rng, runner):
    runner.load(function.text())
    g = np.random.default_rng(rng.getrandbits(32))
    # Sixteenths, so that steps are exact, off the places where tests of zero and floors jump and where two are equal.
    scores = np.tile(g.integers(-40, 40, KEYS) / 16 + 1 / 32, (RUNS, 1))
    table = np.tile(g.integers(-40, 40, KEYS) / 16 + 1 / 64, (RUNS, 1))
    moves, number = np.zeros(RUNS), float(g.integers(-24, 24) / 16 + 1 / 128)
    runs = iter(range(1, RUNS))
    places = {}
    for name, moved in (("score", scores), ("table", table), ("number", moves)):
        for h in STEPS:
            for k in (-2, -1, 1, 2):
                places[name, h, k] = run = next(runs)
                moved[run] += k * h
    keys, weights, tables, shared = runner.run(scores, table, moves, number)
    errors, looked = [], 0

    def differences(name, h):
        """Central differences of order 4."""
        at = {k: weights[places[name, h, k]] for k in (-2, -1, 1, 2)}
        return (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)

    for name, got in (("score", keys), ("table", tables), ("number", None)):
        coarse, fine = (differences(name, h) for h in STEPS)
        size = weights[0] + np.abs(fine)
        is_smooth = np.abs(coarse - fine) <= 2e-4 * size
        if name == "number":
            # What all pairs share: the sum, if it is smooth for all.
            if is_smooth.all() and not abs(shared - fine.sum()) <= 1e-3 * size.sum():
                errors.append(f"number: {shared}, by differences {fine.sum()}")
            looked += is_smooth.all()
            continue
        looked += is_smooth.sum()
        wrong = is_smooth & ~(np.abs(got - fine) <= 1e-3 * size)
        errors += [f"{name} {place}: {got[place]}, by differences {fine[place]}" for place in np.flatnonzero(wrong)[:1]]
    if not (np.isfinite(keys).all() and np.isfinite(tables).all() and np.isfinite(shared)):
        errors.append("a gradient is not finite")
    if looked < KEYS:
        errors.append(f"only {looked} of {2 * KEYS + 1} numbers are smooth")
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="fa-run")
    parser.add_argument("--opt", default=None)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--functions", type=int, default=len(OPERATIONS) + 10)
    parser.add_argument("--only", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbits(32))
    print(f"{options.functions} functions, seed {seed}")
    runner, passed, failed = Runner(options.program, options.opt), 0, 0
    for number in range(options.functions) if options.only is None else [options.only]:
        rng = random.Random(seed * 1000 + number)
        function = Function(rng, OPERATIONS[number] if number < len(OPERATIONS) else None)
        try:
            errors = check(function, rng, runner)
        except RuntimeError as error:
            errors = [str(error)]
        passed, failed = passed + (not errors), failed + bool(errors)
        if errors:
            print(f"function {number}: {'; '.join(errors)}")
            if options.only is not None:
                print(function.text())
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
