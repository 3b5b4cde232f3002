#!/usr/bin/env python3
"""Functions that fa-differentiate makes, of random functions around an attention, against finite differences in float64.

    python3 function_gradients.py --program build/bin/fa-run --opt build/bin/fa-opt [--seed SEED] [--functions N] [--only K]

Each function has tensors, a weight, a table and a number as arguments and is a random chain of products, attention, arithmetic on
tensors, transposes, broadcasts, sums, slices and shapes, whose values are used again. What the gradients say of a random direction
is compared with float64 differences of the function's own result. The last line is `N passed, N failed`.
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

X, W, ROW = "tensor<2x6x8xf32>", "tensor<8x8xf32>", "tensor<8xf32>"
HEADS = "tensor<2x6x2x4xf32>"
SHAPES = {"x": (2, 6, 8), "w": (8, 8), "row": (8,), "number": ()}


class Function:
    def __init__(self, rng):
        self.rng, self.lines, self.count, self.values = rng, [], 0, ["%x"]
        steps = [self.product, self.elementwise, self.body, self.transposed, self.broadcast, self.scaled, self.reduced,
                 self.sliced, self.inserted, self.contracted]
        self.values.append(self.attention())
        for step in rng.sample(steps, rng.randint(2, 5)):
            self.values.append(step())
        if rng.random() < 0.5:
            self.values.append(self.attention())
        self.result = self.emit(f"arith.addf {self.values[-1]}, {self.pick()} : {X}")

    def emit(self, text):
        self.count += 1
        self.lines.append(f"%n{self.count} = {text}")
        return f"%n{self.count}"

    def pick(self):
        return self.rng.choice(self.values[-3:])

    def zeros(self, kind):
        zero = self.emit("arith.constant 0.0 : f32")
        empty = self.emit(f"tensor.empty() : {kind}")
        return self.emit(f"linalg.fill ins({zero} : f32) outs({empty} : {kind}) -> {kind}")

    def empty(self, kind):
        return self.emit(f"tensor.empty() : {kind}")

    def attention(self):
        q, k, v = (self.emit(f"tensor.expand_shape {self.pick()} [[0], [1], [2, 3]] output_shape [2, 6, 2, 4] : {X} into {HEADS}")
                   for _ in range(3))
        score = self.rng.choice(["", "score alibi(%slopes : tensor<2xf32>)", "score softcap(%cap)"])
        slopes = self.emit(f"tensor.extract_slice %row[2] [2] [1] : {ROW} to tensor<2xf32>")
        one = self.emit("arith.constant 1.5 : f32")
        square = self.emit("arith.mulf %number, %number : f32")
        cap = self.emit(f"arith.addf {square}, {one} : f32")
        scale = self.rng.choice(["", "scale(%number)"])
        mask = self.rng.choice(["", "mask causal"])
        lse = self.rng.random() < 0.4
        rows = "tensor<2x2x6xf32>"
        destination = self.empty(HEADS)
        score = score.replace("%slopes", slopes).replace("%cap", cap)
        if not lse:
            o = self.emit(f"fa.attention ins({q}, {k}, {v} : {HEADS}, {HEADS}, {HEADS}) outs({destination} : {HEADS}) "
                          f"{scale} {score} {mask}")
        else:
            empty = self.empty(rows)
            o = self.emit(f"fa.attention ins({q}, {k}, {v} : {HEADS}, {HEADS}, {HEADS}) outs({destination}, {empty} : {HEADS}, "
                          f"{rows}) {scale} {score} {mask}")
            self.lines[-1] = self.lines[-1].replace(f"{o} =", f"{o}, {o}_lse =")
        flat = self.emit(f"tensor.collapse_shape {o} [[0], [1], [2, 3]] : {HEADS} into {X}")
        if not lse:
            return flat
        return self.with_lse(flat, o, rows)

    def with_lse(self, flat, o, rows):
        first = self.emit(f"tensor.extract_slice {o}_lse[0, 1, 0] [2, 1, 6] [1, 1, 1] : {rows} to tensor<2x6xf32>")
        return self.emit(f"linalg.generic {{indexing_maps = [affine_map<(b, i, d) -> (b, i, d)>, affine_map<(b, i, d) -> (b, i)>, "
                         f"affine_map<(b, i, d) -> (b, i, d)>], iterator_types = [\"parallel\", \"parallel\", \"parallel\"]}} "
                         f"ins({flat}, {first} : {X}, tensor<2x6xf32>) outs({self.empty(X)} : {X}) {{ ^bb0(%a: f32, %l: f32, %z: f32): "
                         f"%s = arith.addf %a, %l : f32 linalg.yield %s : f32 }} -> {X}")

    def product(self):
        rows = "tensor<12x8xf32>"
        flat = self.emit(f"tensor.collapse_shape {self.pick()} [[0, 1], [2]] : {X} into {rows}")
        out = self.emit(f"linalg.matmul ins({flat}, %w : {rows}, {W}) outs({self.zeros(rows)} : {rows}) -> {rows}")
        return self.emit(f"tensor.expand_shape {out} [[0, 1], [2]] output_shape [2, 6, 8] : {rows} into {X}")

    def contracted(self):
        square = "tensor<2x6x6xf32>"
        other = self.emit(f"linalg.transpose ins({self.pick()} : {X}) outs({self.empty('tensor<2x8x6xf32>')} : tensor<2x8x6xf32>) "
                          "permutation = [0, 2, 1]")
        inner = self.emit(f"linalg.batch_matmul ins({self.pick()}, {other} : {X}, tensor<2x8x6xf32>) "
                          f"outs({self.zeros(square)} : {square}) -> {square}")
        return self.emit(f"linalg.contract indexing_maps = [affine_map<(b, i, j, d) -> (b, i, j)>, "
                         f"affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, d)>] "
                         f"ins({inner}, {self.pick()} : {square}, {X}) outs({self.pick()} : {X}) -> {X}")

    def elementwise(self):
        # A maximum has no derivative where a step crosses from one side to the other.
        name = self.rng.choice(["arith.addf", "arith.mulf", "arith.subf"])
        bounded = self.emit(f"math.tanh {self.pick()} : {X}")
        return self.emit(f"{name} {bounded}, {self.pick()} : {X}")

    def body(self):
        return self.emit(f"linalg.generic {{indexing_maps = [affine_map<(b, i, d) -> (b, i, d)>, affine_map<(b, i, d) -> (d)>, "
                         f"affine_map<(b, i, d) -> (b, i, d)>], iterator_types = [\"parallel\", \"parallel\", \"parallel\"]}} "
                         f"ins({self.pick()}, %row : {X}, {ROW}) outs({self.empty(X)} : {X}) {{ ^bb0(%a: f32, %r: f32, %z: f32): "
                         f"%s = math.sin %a : f32 %m = arith.mulf %s, %r : f32 linalg.yield %m : f32 }} -> {X}")

    def transposed(self):
        turned = "tensor<6x2x8xf32>"
        a = self.emit(f"linalg.transpose ins({self.pick()} : {X}) outs({self.empty(turned)} : {turned}) permutation = [1, 0, 2]")
        s = self.emit(f"math.atan {a} : {turned}")
        return self.emit(f"linalg.transpose ins({s} : {turned}) outs({self.empty(X)} : {X}) permutation = [1, 0, 2]")

    def broadcast(self):
        wide = self.emit(f"linalg.broadcast ins(%row : {ROW}) outs({self.empty(X)} : {X}) dimensions = [0, 1]")
        return self.emit(f"arith.mulf {wide}, {self.pick()} : {X}")

    def scaled(self):
        wide = self.emit(f"tensor.extract %w[%c1, %c3] : {W}")
        factor = self.emit(f"arith.addf {wide}, %number : f32")
        zero = self.emit(f"linalg.fill ins({factor} : f32) outs({self.empty(X)} : {X}) -> {X}")
        return self.emit(f"arith.mulf {zero}, {self.pick()} : {X}")

    def reduced(self):
        small = "tensor<2x8xf32>"
        total = self.emit(f"linalg.reduce ins({self.pick()} : {X}) outs({self.zeros(small)} : {small}) dimensions = [1] "
                          "(%a: f32, %acc: f32) { %s = arith.addf %a, %acc : f32 linalg.yield %s : f32 }")
        wide = self.emit(f"linalg.broadcast ins({total} : {small}) outs({self.empty(X)} : {X}) dimensions = [1]")
        quarter = self.emit(f"arith.constant dense<0.25> : {X}")
        less = self.emit(f"arith.mulf {wide}, {quarter} : {X}")
        return self.emit(f"arith.addf {less}, {self.pick()} : {X}")

    def sliced(self):
        part = "tensor<2x3x8xf32>"
        piece = self.emit(f"tensor.extract_slice {self.pick()}[0, 1, 0] [2, 3, 8] [1, 2, 1] : {X} to {part}")
        return self.emit(f"tensor.insert_slice {piece} into {self.pick()}[0, 2, 0] [2, 3, 8] [1, 1, 1] : {part} into {X}")

    def inserted(self):
        plane = "tensor<6x8xf32>"
        piece = self.emit(f"tensor.extract_slice {self.pick()}[1, 0, 0] [1, 6, 8] [1, 1, 1] : {X} to {plane}")
        return self.emit(f"tensor.insert_slice {piece} into {self.pick()}[0, 0, 0] [1, 6, 8] [1, 1, 1] : {plane} into {X}")

    def text(self, name, lines, result, kind):
        body = "\n  ".join(lines)
        return (f"func.func @{name}(%x: {X}, %w: {W}, %row: {ROW}, %number: f32) -> {kind} {{\n  %c1 = arith.constant 1 : index\n"
                f"  %c3 = arith.constant 3 : index\n  {body}\n  return {result} : {kind}\n}}\n")

    def given(self):
        return self.text("f", self.lines, self.result, X)

    def wide(self):
        """The function with a result that is not rounded to f32."""
        wide = X.replace("f32", "f64")
        return self.text("wide", [*self.lines, f"%wide = arith.extf {self.result} : {X} to {wide}"], "%wide", wide)


class Runner:
    def __init__(self, program, opt):
        self.program, self.opt, self.folder = program, opt, Path(tempfile.mkdtemp())

    def call(self, command):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)

    def load(self, function):
        (self.folder / "a.mlir").write_text(function.given())
        self.call([self.opt, self.folder / "a.mlir", "--fa-differentiate", "-o", self.folder / "f_vjp.mlir"])
        (self.folder / "wide.mlir").write_text(function.wide())

    def run(self, entry, inputs, count):
        command = [self.program, self.folder / f"{entry}.mlir", f"--entry={entry}", "--target=reference", "--precision=float64"]
        for position, value in enumerate(inputs):
            np.save(self.folder / f"i{position}.npy", np.asarray(value, np.float32))
            command.append(f"--input=f32={float(value)!r}" if np.shape(value) == () else f"--input=@{self.folder}/i{position}.npy")
        command += [f"--output=@{self.folder}/o{position}.npy" for position in range(count)]
        self.call(command)
        return [np.load(self.folder / f"o{position}.npy").astype(np.float64) for position in range(count)]


def check(function, rng, runner):
    runner.load(function)
    g = np.random.default_rng(rng.getrandbits(32))
    # Sixty-fourths: steps are exact in f32.
    values = [np.round(g.standard_normal(shape) * 32) / 64 for shape in SHAPES.values()]
    cotangent = np.round(g.standard_normal(SHAPES["x"]) * 64) / 64
    gradients = runner.run("f_vjp", values + [cotangent], 4)
    errors = []
    for turn, name in enumerate(SHAPES):
        way = np.sign(np.round(g.standard_normal(np.shape(values[turn])) * 4) + 0.5)

        def loss(step):
            moved = [value + step * way if position == turn else value for position, value in enumerate(values)]
            return (runner.run("wide", moved, 1)[0] * cotangent).sum()

        def difference(h):
            return (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)

        got = (gradients[turn].reshape(np.shape(way)) * way).sum()
        # Gradients are rounded to f32.
        size = np.abs(gradients[turn]).sum() + np.abs(cotangent).sum() / 8
        # Functions that bend much take the smallest steps, which are still exact.
        wanted = []
        for exponent in (14, 17, 20):
            wanted.append(difference(2.0**-exponent))
            if abs(wanted[-1] - got) <= 1e-6 * size:
                break
        else:
            errors.append(f"{name}: {got}, by differences {', '.join(map(str, wanted))}, of {size}")
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="fa-run")
    parser.add_argument("--opt", default="fa-opt")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--functions", type=int, default=8)
    parser.add_argument("--only", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbits(32))
    print(f"{options.functions} functions, seed {seed}")
    runner, passed, failed = Runner(options.program, options.opt), 0, 0
    for number in range(options.functions) if options.only is None else [options.only]:
        rng = random.Random(seed * 1000 + number)
        function = Function(rng)
        try:
            errors = check(function, rng, runner)
        except RuntimeError as error:
            errors = [str(error)]
        passed, failed = passed + (not errors), failed + bool(errors)
        if errors:
            print(f"function {number}: {'; '.join(errors)}")
            if options.only is not None:
                print(function.given())
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
