#!/usr/bin/env python3
"""Random functions, compiled and compared with their evaluation in float64.

    python3 random_functions.py --program build/bin/fa-run [--seed SEED] [--functions N] [--only K] [--narrow | --memory | --elementwise]

On tensors, for the CPU: attention, arithmetic on tensors, operations that write to a destination, slices, choices, branches and loops, whose
values are used again and returned in any order, several times too: what is checked is where results lie in memory.
With --narrow also tensors of i1 and of integers that fill no bytes: arguments, constants, comparisons, arithmetic, in other
shapes, as conditions and as results.
With --memory on memory, for the CPU and in schedules of both forms: attentions, and copies and stores of the host between
them, whose effects are to be seen in order.
With --elementwise on tensors, for the CPU and in schedules of both forms: what is computed for each element beside
attention. --target runs on one target alone, for example "cuda --chip=sm_90a".
Functions that the compiler refuses by name count apart; any other error is a failure. A seed is printed; `--only K`
prints function K of it and runs that alone. The last line is `N passed, N failed`.
"""

import argparse
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from elementwise_sampler import ElementwiseSampler

TENSOR = {False: "tensor<2x9x2x8xf32>", True: "tensor<1x?x2x8xf32>"}
NARROW = {False: "tensor<2x9x2x8x{}>", True: "tensor<1x?x2x8x{}>"}
FLAT = {False: "tensor<2x9x16x{}>", True: "tensor<1x?x16x{}>"}
WIDTHS = ["i1", "i1", "i1", "i2", "i3", "i4", "i5", "i6", "i7", "i12", "i24"]
SLICE = {False: "tensor<2x9x1x8xf32>", True: "tensor<1x?x1x8xf32>"}
# The last one in the words of MLIR's bufferization: some loops in loops that carry one value twice.
REFUSALS = ("is not known to keep its size", "is known inside of a branch alone", "in memory of its own, which nothing would free",
            "cannot avoid RaW conflict")


# What is said of functions whose results are as small as their roundings: nothing is known of them.
CANCELLED = "cancelled"


class Sampler:
    """The text of one function. Values are names, all of one type."""

    def __init__(self, seed, narrow):
        self.rng = random.Random(seed)
        self.dynamic = self.rng.random() < 0.3
        self.type, self.slice = TENSOR[self.dynamic], SLICE[self.dynamic]
        self.arguments = ["%a"] if self.dynamic else ["%a", "%b"][:self.rng.randint(1, 2)]
        self.lines, self.count, self.left = [], 0, self.rng.randint(4, 12)
        # Tensors of the function's own block by their elements, if there are narrow ones.
        self.narrow = {"i1": ["%m"]} if narrow else {}

    def emit(self, text):
        """A line that defines the value it returns; `{}` is its name."""
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(text.replace("{}", name))
        return name

    def pick(self, values):
        """A value, one of the last ones as often as any."""
        return self.rng.choice(values[-3:] if self.rng.random() < 0.5 else values)

    def empty(self):
        return self.emit(f"{{}} = tensor.empty({'%size' if self.dynamic else ''}) : {self.type}")

    def destination(self, values):
        chance = self.rng.random()
        if chance < 0.45:
            return self.pick(values)
        empty = self.empty()
        if chance < 0.8:
            return empty
        return self.emit(f"{{}} = linalg.fill ins(%half : f32) outs({empty} : {self.type}) -> {self.type}")

    def attention(self, values):
        query, key = self.pick(values), "%keys" if self.dynamic else self.pick(values)
        mask = " mask causal" if self.rng.random() < 0.3 else ""
        return self.emit(f"{{}} = fa.attention ins({query}, {key}, {key} : {self.type}, {self.type}, {self.type}) "
                         f"outs({self.destination(values)} : {self.type}){mask}")

    def arithmetic(self, values):
        a, b = self.pick(values), self.pick(values)
        return self.emit(f"{{}} = arith.{self.rng.choice(['subf', 'maximumf', 'minimumf'])} {a}, {b} : {self.type}")

    def overwriting(self, values):
        a = self.pick(values)
        to = a if self.rng.random() < 0.3 else self.destination(values)
        name = self.rng.choice(["abs", "negf", "tanh", "copy"])
        return self.emit(f"{{}} = linalg.{name} ins({a} : {self.type}) outs({to} : {self.type}) -> {self.type}")

    def updating(self, values):
        """Reads what it overwrites."""
        a, to = self.pick(values), self.pick(values)
        return self.emit(f"{{}} = linalg.generic {{indexing_maps = [#id, #id], iterator_types = [\"parallel\", \"parallel\", "
                         f"\"parallel\", \"parallel\"]}} ins({a} : {self.type}) outs({to} : {self.type}) {{\n"
                         f"^bb0(%x: f32, %y: f32):\n  %z = arith.subf %x, %y : f32\n  %w = arith.mulf %z, %half : f32\n"
                         f"  linalg.yield %w : f32\n}} -> {self.type}")

    def moving(self, values):
        """A head of one value put into a head of another one."""
        batch, size = (1, "%size") if self.dynamic else (2, "9")
        place = "[0, 0, {}, 0] [{}, {}, 1, 8] [1, 1, 1, 1]"
        source, to = (place.format(self.rng.randint(0, 1), batch, size) for _ in range(2))
        head = self.emit(f"{{}} = tensor.extract_slice {self.pick(values)}{source} : {self.type} to {self.slice}")
        if self.rng.random() < 0.5:
            head = self.emit(f"{{}} = linalg.negf ins({head} : {self.slice}) outs({head} : {self.slice}) -> {self.slice}")
        return self.emit(f"{{}} = tensor.insert_slice {head} into {self.pick(values)}{to} : {self.slice} into {self.type}")

    def choice(self, values):
        condition, a, b = self.rng.choice(["%p", "%q"]), self.pick(values), self.pick(values)
        return self.emit(f"{{}} = arith.select {condition}, {a}, {b} : {self.type}")

    def narrow_operand(self, element):
        """A tensor that there is, a constant, or bits of an argument, which are exact."""
        type, chance = NARROW[self.dynamic].format(element), self.rng.random()
        if chance < 0.4 and element in self.narrow:
            return self.rng.choice(self.narrow[element])
        if chance < 0.6 and not self.dynamic:
            listed = ", ".join(str(self.rng.randint(0, 1)) for _ in range(288))
            listed = self.emit(f"{{}} = arith.constant dense<[{listed}]> : tensor<288x{element}>")
            return self.emit(f"{{}} = tensor.expand_shape {listed} [[0, 1, 2, 3]] output_shape [2, 9, 2, 8] "
                             f": tensor<288x{element}> into {type}")
        wide = NARROW[self.dynamic].format("i32")
        bits = self.emit(f"{{}} = arith.bitcast {self.rng.choice(self.arguments)} : {self.type} to {wide}")
        return self.emit(f"{{}} = arith.trunci {bits} : {wide} to {type}")

    def conditions(self, values, depth):
        """Narrow integers are computed, read in another shape, kept, and choose elements of values."""
        element = self.rng.choice(WIDTHS)
        type, flat = NARROW[self.dynamic].format(element), FLAT[self.dynamic].format(element)
        a, b = self.narrow_operand(element), self.narrow_operand(element)
        kinds = ["xori", "andi", "ori", "addi", "subi", "maxsi", "minui"]
        result = self.emit(f"{{}} = arith.{self.rng.choice(kinds)} {a}, {b} : {type}")
        if self.rng.random() < 0.5:
            collapsed = self.emit(f"{{}} = tensor.collapse_shape {result} [[0], [1], [2, 3]] : {type} into {flat}")
            other = self.emit(f"{{}} = arith.addi {collapsed}, {collapsed} : {flat}")
            other = self.emit(f"{{}} = arith.subi {other}, {collapsed} : {flat}")
            sizes = "1, %size, 2, 8" if self.dynamic else "2, 9, 2, 8"
            result = self.emit(f"{{}} = tensor.expand_shape {other} [[0], [1], [2, 3]] output_shape [{sizes}] : {flat} into {type}")
        chosen, bit = result, NARROW[self.dynamic].format("i1")
        if element != "i1":
            chosen = self.emit(f"{{}} = arith.cmpi {self.rng.choice(['slt', 'ult', 'eq'])}, {result}, {b} : {type}")
        if depth == 0:
            self.narrow.setdefault(element, []).append(result)
            self.narrow["i1"].append(chosen)
        return self.emit(f"{{}} = arith.select {chosen}, {self.pick(values)}, {self.pick(values)} : {bit}, {self.type}")

    def body(self, values, depth, results):
        inner = list(values)
        for _ in range(self.rng.randint(0, 3)):
            self.operation(inner, depth + 1)
        given = [self.pick(inner) for _ in range(results)]
        self.lines.append(f"scf.yield {', '.join(given)} : {', '.join([self.type] * results)}")

    def branch(self, values, depth):
        results = self.rng.randint(1, 3)
        name = self.emit(f"{{}}:{results} = scf.if {self.rng.choice(['%p', '%q'])} -> ({', '.join([self.type] * results)}) {{")
        self.body(values, depth, results)
        self.lines.append("} else {")
        self.body(values, depth, results)
        self.lines.append("}")
        values += [f"{name}#{i}" for i in range(results)]

    def loop(self, values, depth):
        results = self.rng.randint(1, 3)
        carried = [f"%c{self.count}_{i}" for i in range(results)]
        begins = ", ".join(f"{name} = {self.pick(values)}" for name in carried)
        name = self.emit(f"{{}}:{results} = scf.for %i{self.count} = %zero to %n step %one iter_args({begins}) "
                         f"-> ({', '.join([self.type] * results)}) {{")
        self.body(values + carried, depth, results)
        self.lines.append("}")
        values += [f"{name}#{i}" for i in range(results)]

    def operation(self, values, depth):
        self.left -= 1
        if self.left > 0 and depth < 2 and self.rng.random() < 0.3:
            self.rng.choice([self.branch, self.loop])(values, depth)
            return
        if self.narrow and self.rng.random() < 0.5:
            values.append(self.conditions(values, depth))
            return
        kinds = [self.attention, self.arithmetic, self.overwriting, self.overwriting, self.updating, self.moving, self.choice]
        values.append(self.rng.choice(kinds)(values))

    def sample(self):
        values = list(self.arguments)
        while self.left > 0:
            self.operation(values, 0)
        results = [self.pick(values) for _ in range(self.rng.randint(1, 4))]
        types = [self.type] * len(results)
        if self.narrow:
            results.append(self.rng.choice(self.narrow["i1"]))
            types.append(NARROW[self.dynamic].format("i1"))
        inputs = self.arguments + (["%keys"] if self.dynamic else [])
        mask = f"%m: {NARROW[self.dynamic].format('i1')}, " if self.narrow else ""
        head = ["#id = affine_map<(a, b, c, d) -> (a, b, c, d)>",
                f"func.func @f({', '.join(f'{name}: {self.type}' for name in inputs)}, {mask}%p: i1, %q: i1, %n: index)",
                f"    -> ({', '.join(types)}) {{",
                "%zero = arith.constant 0 : index", "%one = arith.constant 1 : index", "%half = arith.constant 0.5 : f32",
                f"%size = tensor.dim %a, %one : {self.type}"]
        tail = [f"return {', '.join(results)} : {', '.join(types)}", "}"]
        return "\n".join(head + self.lines + tail) + "\n"

    def inputs(self):
        shapes = ["1x9x2x8xf32", "1x5x2x8xf32"] if self.dynamic else ["2x9x2x8xf32"] * len(self.arguments)
        shapes += ([f"{'1' if self.dynamic else '2'}x9x2x8xi1"] if self.narrow else [])
        flags = [f"i1={self.rng.randint(0, 1)}", f"i1={self.rng.randint(0, 1)}", f"index={self.rng.choice([0, 1, 3])}"]
        return [f"--input={each}" for each in shapes + flags]


class MemorySampler:
    """The text of one function on memory: of a tile alone, or of several."""

    READ, WRITTEN = ["%p", "%q", "%r"], ["%a", "%b", "%c", "%d"]
    TARGETS = [["--target=cpu"]] + [["--target=interpret", f"--chip={chip}"] for chip in ("sm_80", "sm_90a")]

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.type = self.rng.choice(["memref<1x9x1x16xf32>", "memref<2x9x2x16xf32>"])
        self.loads = 0

    def statement(self):
        a, b, c, d = self.rng.sample(self.WRITTEN, 4)
        kind = self.rng.choice(["attention", "attention", "scaled", "memref.copy", "linalg.copy", "store", "scale"])
        if kind == "memref.copy":
            return [f"memref.copy {a}, {b} : {self.type} to {self.type}"]
        if kind == "linalg.copy":
            return [f"linalg.copy ins({a} : {self.type}) outs({b} : {self.type})"]
        if kind == "store":
            return [f"memref.store %half, {a}[%zero, %zero, %zero, %zero] : {self.type}"]
        if kind == "scale":
            return ["memref.store %half, %s[] : memref<f32>"]
        text = f"fa.attention ins({a}, {b}, {c} : {self.type}, {self.type}, {self.type}) outs({d} : {self.type})"
        if kind == "attention":
            return [text]
        self.loads += 1
        return [f"%x{self.loads} = memref.load %s[] : memref<f32>", f"{text} scale(%x{self.loads})"]

    def sample(self):
        # What a function writes holds no numbers before.
        lines = [f"memref.copy {source}, {to} : {self.type} to {self.type}" for source, to in zip(self.READ * 2, self.WRITTEN)]
        lines += ["memref.copy %t, %s : memref<f32> to memref<f32>"]
        lines += [line for _ in range(self.rng.randint(3, 7)) for line in self.statement()]
        lines += [f"fa.attention ins(%a, %b, %b : {self.type}, {self.type}, {self.type}) outs(%c : {self.type})"]
        arguments = [f"{name}: {self.type}" for name in (*self.READ, *self.WRITTEN)] + ["%s: memref<f32>", "%t: memref<f32>"]
        return "\n".join([f"func.func @f({', '.join(arguments)}) {{", "%zero = arith.constant 0 : index",
                          "%half = arith.constant 0.5 : f32", *lines, "return", "}"]) + "\n"

    def inputs(self):
        return []


def make_sampler(seed, kind):
    if kind == "elementwise":
        return ElementwiseSampler(seed)
    return MemorySampler(seed) if kind == "memory" else Sampler(seed, kind == "narrow")


def run(program, folder, seed, kind, target):
    """"" for what passes, the name of a refusal, or what went wrong."""
    sampler = make_sampler(seed, kind)
    file = Path(folder) / f"{seed}.mlir"
    file.write_text(sampler.sample())
    targets = [f"--target={target}".split()] if target else getattr(sampler, "TARGETS", [["--target=cpu"]])
    outcomes = [run_on(program, file, seed, [*target, *sampler.inputs()]) for target in targets]
    return next((outcome for outcome in outcomes if outcome != ("", "")), ("", ""))


def has_cancelled(report):
    """Whether results failed by their relative error alone, and err by no more than ten roundings of values of 1, which inputs and outputs
    of attentions are like: they are differences of such values that are alike."""
    failed = [result for result in json.loads(report.read_text())["verify"]["results"] if not result["passed"]]
    return bool(failed) and all(result["measure"] == "relative" and result["mismatches"] == 0 and result["finite"] > 0 and
                                result["largest_error"] <= 10 * 2**-23 for result in failed)


def run_on(program, file, seed, options):
    # Values add up through attention: a bound of ten times that of one.
    report = file.with_suffix(".json")
    report.unlink(missing_ok=True)
    command = [program, file, "--verify", f"--seed={seed}", "--bound=2e-5", f"--json={report}", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "", f"function {seed} takes more than 120 s"
    if done.returncode == 0 and "verified all rows" in done.stdout:
        return "", ""
    errors = [line for line in done.stderr.splitlines() if "error:" in line]
    if done.returncode == 1 and not errors and report.exists() and has_cancelled(report):
        return CANCELLED, ""
    refusal = next((text for text in REFUSALS if len(errors) == 1 and text in errors[0]), "")
    if refusal and done.returncode == 1:
        return refusal, ""
    return "", f"function {seed}, {' '.join(options)}, exit status {done.returncode}:\n{done.stdout}{done.stderr}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, help="fa-run")
    parser.add_argument("--seed", type=int, default=os.environ.get("FA_TEST_SEED") or secrets.randbelow(10**9))
    parser.add_argument("--functions", type=int, default=40)
    parser.add_argument("--only", type=int, metavar="K")
    for kind, text in (("narrow", "tensors of i1 and of integers that fill no bytes too"), ("memory", "functions on memory"),
                       ("elementwise", "what is computed for each element beside attention")):
        parser.add_argument(f"--{kind}", dest="kind", action="store_const", const=kind, help=text)
    parser.add_argument("--target")
    arguments = parser.parse_args()
    seeds = [arguments.seed + k for k in range(arguments.functions)]
    if arguments.only is not None:
        seeds = [arguments.seed + arguments.only]
        print(make_sampler(seeds[0], arguments.kind).sample())
    print(f"{len(seeds)} functions, seed {arguments.seed}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(lambda seed: run(arguments.program, folder, seed, arguments.kind, arguments.target), seeds))
    refused = [refusal for refusal, _ in outcomes if refusal]
    failures = [failure for _, failure in outcomes if failure]
    for failure in failures:
        print(failure)
    cancelled = refused.count(CANCELLED)
    print(f"refused by name: {len(refused) - cancelled}, with results that cancel: {cancelled}")
    print(f"{len(seeds) - len(refused) - len(failures)} passed, {len(failures)} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
