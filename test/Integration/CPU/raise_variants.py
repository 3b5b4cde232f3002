#!/usr/bin/env python3
"""Attention spelled in many ways, raised, and compared with its source.

Each case is a function on tensors, made of choices from a seed: where the scale
stands, which bias, mask and softcap there are and how they are written, how the
softmax is computed, in which order dimensions lie, how heads are shared. A
mutation, if there is one, makes it something other than attention. fa-opt
raises it. A case without a mutation is to become one fa.attention and nothing
of queries x keys beside it; one with a mutation none. What was raised is
evaluated in float64 beside its source: within 1e-10, NaN in the same places.
"""

import argparse
import os
import random
import subprocess
import sys
from pathlib import Path

SIZES = {"b": 2, "g": 2, "r": 2, "h": 4, "i": 6, "j": 9, "d": 8, "e": 5, "t": 4}

MUTATIONS = ["softmax_of_queries", "returned", "gate", "foreign_sum", "foreign_maximum",
             "maximum_from_zero", "other_weights", "first_output", "dropped", "f64", "squared",
             "sum_from_one", "shifted_keys", "mixed_heads"]


class Text:
    """A function under construction: names of tensors with their dimensions."""

    def __init__(self, element):
        self.lines, self.arguments, self.count = [], [], 0
        self.element = element

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def size(self, dims):
        return "x".join(str(SIZES[dim]) for dim in dims)

    def type(self, dims, element=None):
        element = element or self.element
        return f"tensor<{self.size(dims)}x{element}>" if dims else f"tensor<{element}>"

    def argument(self, dims, element=None):
        name = f"%a{len(self.arguments)}"
        self.arguments.append((name, self.type(dims, element)))
        return (name, dims, element or self.element)

    def fill(self, dims, value, element=None):
        element = element or self.element
        constant, empty, result = self.name(), self.name(), self.name()
        suffix = "" if element == "i1" else f" : {element}"
        self.lines += [f"{constant} = arith.constant {value}{suffix}",
                       f"{empty} = tensor.empty() : {self.type(dims, element)}",
                       f"{result} = linalg.fill ins({constant} : {element}) outs({empty} : "
                       f"{self.type(dims, element)}) -> {self.type(dims, element)}"]
        return (result, dims, element)

    def generic(self, dims, inputs, body, element=None, initial=None, reduced=""):
        """`body` has {0}, {1}, ... for elements, {out}, {index:i} for a loop's
        index, and ends in the value %r."""
        element = element or self.element
        init = initial or self.fill(dims, "0.0" if element != "i1" else "false", element)
        loops = dims + reduced
        maps = [f"affine_map<({', '.join(loops)}) -> ({', '.join(part)})>"
                for part in [value[1] for value in inputs] + [dims]]
        kinds = ['"parallel"'] * len(dims) + ['"reduction"'] * len(reduced)
        result = self.name()
        ins = ""
        if inputs:
            ins = (f"ins({', '.join(value[0] for value in inputs)} : "
                   f"{', '.join(self.type(value[1], value[2]) for value in inputs)}) ")
        parameters = ", ".join([f"%x{n}: {value[2]}" for n, value in enumerate(inputs)] +
                               [f"%out: {element}"])
        text = body.format(*[f"%x{n}" for n in range(len(inputs))], out="%out")
        for position, loop in enumerate(loops):
            text = text.replace(f"index({loop})", f"linalg.index {position} : index")
        self.lines += [f"{result} = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
                       f"iterator_types = [{', '.join(kinds)}]}} {ins}outs({init[0]} : "
                       f"{self.type(dims, element)}) {{",
                       f"^bb0({parameters}):", text, f"linalg.yield %r : {element}",
                       f"}} -> {self.type(dims, element)}"]
        return (result, dims, element)

    def function(self, results):
        arguments = ", ".join(f"{name}: {type}" for name, type in self.arguments)
        types = ", ".join(self.type(value[1], value[2]) for value in results)
        names = ", ".join(value[0] for value in results)
        body = "\n  ".join(self.lines)
        return f"func.func @main({arguments}) -> ({types}) {{\n  {body}\n  return {names} : {types}\n}}\n"


def make(rng, mutation):
    element = "f64" if mutation == "f64" else "f32"
    text = Text(element)
    choices = []

    def choose(*options):
        choices.append(rng.choice(options))
        return choices[-1]

    # Heads are one index (h), or key heads and heads that share them (g, r).
    grouped = choose("no", "digits", "repeat")
    heads = "gr" if grouped == "digits" else "h"
    batch = choose("b", "")
    if mutation == "mixed_heads":
        grouped, heads = "no", "h"
    rows = batch + heads + "i"
    key_heads = "g" if grouped != "no" else "h"

    def shuffled(dims):
        dims = list(dims)
        rng.shuffle(dims)
        return "".join(dims)

    q = text.argument(shuffled(rows + "d"))
    k = text.argument(shuffled(batch + key_heads + "jd"))
    v = text.argument(shuffled(batch + key_heads + "je"))

    def factor(number):
        return f"%n = arith.constant {number} : {element}\n%r = arith.mulf {{0}}, %n : {element}"

    def repeat(value, rest):
        """Key heads stored as often as query heads, then one dimension."""
        wide = text.generic(batch + "gr" + rest, [value], factor(1.0))
        result = text.name()
        groups = [[n] for n in range(len(batch))] + [[len(batch), len(batch) + 1]]
        groups += [[len(batch) + 2], [len(batch) + 3]]
        text.lines.append(f"{result} = tensor.collapse_shape {wide[0]} {groups} : {text.type(wide[1])} "
                          f"into {text.type(batch + 'h' + rest)}")
        return (result, batch + "h" + rest, element)

    if grouped == "repeat":
        k, v = repeat(k, "jd"), repeat(v, "je")
    scale = choose("none", "query", "both", "after", "divided", "argument")
    if scale in ("query", "both"):
        q = text.generic(q[1], [q], factor(0.4))
    if scale == "both":
        k = text.generic(k[1], [k], factor(0.7))
    scores = shuffled(rows + "j") if choose("given", "shuffled") == "shuffled" else rows + "j"
    product = "%m = arith.mulf {0}, {1} : T\n%r = arith.addf {out}, %m : T".replace("T", element)
    x = text.generic(scores, [q, k], product, reduced="d")
    if scale == "after":
        x = text.generic(scores, [x], factor(0.3))
    elif scale == "divided":
        x = text.generic(scores, [x], factor(3.0).replace("mulf", "divf"))
    elif scale == "argument":
        x = text.generic(scores, [x, text.argument("")], "%r = arith.mulf {0}, {1} : " + element)

    for step in rng.sample(["softcap", "bias", "alibi"], choose(0, 0, 1, 2)):
        choices.append(step)
        if step == "softcap":
            x = text.generic(scores, [x], "%c = arith.constant 5.0 : T\n%q = arith.divf {0}, %c : T\n"
                             "%t = math.tanh %q : T\n%r = arith.mulf %t, %c : T".replace("T", element))
        elif step == "bias":
            dims = "".join(dim for dim in scores if dim == "j" or rng.random() < 0.6)
            x = text.generic(scores, [x, text.argument(dims)], "%r = arith.addf {1}, {0} : " + element)
        else:
            slopes = text.argument(heads)
            x = text.generic(scores, [x, slopes],
                             "%i = index(i)\n%j = index(j)\n%di = arith.subi %i, %j : index\n"
                             "%dc = arith.index_cast %di : index to i32\n%df = arith.sitofp %dc : i32 to T\n"
                             "%da = math.absf %df : T\n%p = arith.mulf {1}, %da : T\n"
                             "%r = arith.subf {0}, %p : T".replace("T", element))

    condition = {
        "causal": "%i = index(i)\n%j = index(j)\n%c = arith.cmpi sle, %j, %i : index\n",
        "window": "%i = index(i)\n%j = index(j)\n%dd = arith.subi %i, %j : index\n%w = arith.constant 2 : index\n"
                  "%c1 = arith.cmpi sle, %dd, %w : index\n%c2 = arith.cmpi sle, %j, %i : index\n"
                  "%c = arith.andi %c1, %c2 : i1\n",
        "later": "%i = index(i)\n%j = index(j)\n%o = arith.constant 4 : index\n%s = arith.addi %j, %o : index\n"
                 "%c = arith.cmpi sle, %s, %i : index\n",
        "argument": "%c = arith.andi {1}, {1} : i1\n",
    }
    mask = choose("none", "none", "causal", "window", "later", "argument")
    spelling = choose("select", "select_not", "add", "product")
    number = choose("0xFF800000", "-1.0e+30", "-3.0e+38", "-1.0e+09", "-1.0e+04")
    if element == "f64" and number.startswith("0x"):
        number = "0xFFF0000000000000"
    guard = choose("none", "none", "all") if mask != "none" else "none"
    if mask != "none":
        if spelling == "product" and number.startswith("0x"):
            spelling = "select"
        inputs = [x]
        if mask == "argument":
            inputs.append(text.argument("".join(d for d in scores if d in "bij"), "i1"))
        low = f"%low = arith.constant {number} : {element}\n%zero = arith.constant 0.0 : {element}\n"
        low += f"%one = arith.constant 1.0 : {element}\n%true = arith.constant true\n"
        x = text.generic(scores, inputs, condition[mask] + low + {
            "select": "%r = arith.select %c, {0}, %low : T",
            "select_not": "%n = arith.xori %c, %true : i1\n%r = arith.select %n, %low, {0} : T",
            "add": "%f = arith.select %c, %zero, %low : T\n%r = arith.addf {0}, %f : T",
            "product": "%u = arith.uitofp %c : i1 to T\n%l = arith.subf %one, %u : T\n"
                       "%f = arith.mulf %l, %low : T\n%r = arith.addf %f, {0} : T",
        }[spelling].replace("T", element))

    # The softmax.
    infinity = "0xFF800000" if element == "f32" else "0xFFF0000000000000"
    stats = "".join(dim for dim in scores if dim != "j")
    over = "j"
    if mutation == "softmax_of_queries":
        stats, over = "".join(dim for dim in scores if dim != "i"), "i"
    base = choose("exp", "exp", "exp2")
    maximum = choose("yes", "yes", "twice", "none") if mask == "none" or guard == "none" else "yes"
    # Fills above -1e30 are scores. Without a maximum, their exponentials are 0 too, and
    # a row of them divides 0 by 0 where attention has the mean of the values.
    if mask in ("later", "argument") and number in ("-1.0e+09", "-1.0e+04"):
        maximum = "yes" if maximum == "none" else maximum
    if mutation in ("foreign_maximum", "maximum_from_zero"):
        maximum = "yes"
    y, log2e = x, "1.44269504088896340736"
    if base == "exp2":
        y = text.generic(scores, [x], factor(log2e))

    def find_maximum(value):
        first = text.fill(stats, "0.0" if mutation == "maximum_from_zero" else infinity)
        kind = choose("maximumf", "maxnumf")
        return text.generic(stats, [value], f"%r = arith.{kind} {{0}}, {{out}} : {element}",
                            initial=first, reduced=over)

    if maximum != "none":
        source = y
        if mutation == "foreign_maximum":
            source = text.generic(scores, [y], factor(0.5))
        subtract = "%r = arith.subf {0}, {1} : " + element
        below = text.generic(scores, [y, find_maximum(source)], subtract)
        if maximum == "twice":
            below = text.generic(scores, [below, find_maximum(below)], subtract)
        y = below
    weights = text.generic(scores, [y], f"%r = math.{base} {{0}} : {element}")
    summed = weights
    if mutation == "other_weights":
        summed = text.generic(scores, [y], "%t = arith.addf {0}, {0} : T\n%r = math.exp %t : T".replace("T", element))
    first = text.fill(stats, "1.0" if mutation == "sum_from_one" else "0.0")
    total = text.generic(stats, [summed], "%r = arith.addf {0}, {out} : " + element, initial=first, reduced=over)
    if mutation == "foreign_sum":
        total = text.generic(stats, [total], factor(1.0).replace("mulf", "addf"))
    division = choose("before", "reciprocal", "after")
    if guard == "all" or mutation in ("returned", "gate", "dropped", "softmax_of_queries", "squared", "mixed_heads"):
        division = "before"
    p = weights
    if division == "before":
        p = text.generic(scores, [p, total], "%r = arith.divf {0}, {1} : " + element)
    elif division == "reciprocal":
        inverse = text.generic(stats, [total], "%n = arith.constant 1.0 : T\n%r = arith.divf %n, {0} : T".replace("T", element))
        p = text.generic(scores, [p, inverse], "%r = arith.mulf {0}, {1} : " + element)
    if guard == "all":
        empty = text.generic(scores, [x], f"%n = arith.constant {infinity} : {element}\n"
                             f"%r = arith.cmpf oeq, {{0}}, %n : {element}", element="i1")
        none = text.generic(stats, [empty], "%r = arith.andi {0}, {out} : i1", element="i1",
                            initial=text.fill(stats, "true", "i1"), reduced=over)
        p = text.generic(scores, [none, p], "%n = arith.constant 0.0 : T\n"
                         "%r = arith.select {0}, %n, {1} : T".replace("T", element))
    if mutation == "gate":
        p = text.generic(scores, [p, text.argument(scores)], "%r = arith.mulf {0}, {1} : " + element)
    if mutation == "mixed_heads":
        p = text.generic(scores, [(p[0], p[1].replace("h", "t"), element), text.argument("th")], product, reduced="t")
    if mutation == "squared":
        p = text.generic(scores, [p], "%r = arith.mulf {0}, {0} : " + element)
    if mutation == "dropped":
        p = text.generic(scores, [p], "%i = index(i)\n%j = index(j)\n%c = arith.cmpi ne, %i, %j : index\n"
                         "%n = arith.constant 0.0 : T\n%r = arith.select %c, {0}, %n : T".replace("T", element))

    # The second product, its factors in either order.
    output = shuffled(rows + "e")
    initial = text.argument(output) if mutation == "first_output" else None
    pair = [p, v]
    if mutation == "shifted_keys":
        # The weights of the next key, of all but the last.
        dims = p[1]
        p = text.generic(dims, [], "".join(
            f"%n{dim} = index({dim})\n" for dim in dims) + "%t = arith.constant 1 : index\n"
            "%l = arith.constant 8 : index\n%s = arith.addi %nj, %t : index\n%o = arith.minsi %s, %l : index\n"
            "%r = tensor.extract " + p[0] + "[" +
            ", ".join("%o" if dim == "j" else f"%n{dim}" for dim in dims) + f"] : {text.type(dims)}")
        pair = [p, v]
    rng.shuffle(pair)
    o = text.generic(output, pair, product, initial=initial, reduced="j")
    if division == "after":
        o = text.generic(output, [o, total], "%r = arith.divf {0}, {1} : " + element)
    results = [o, p] if mutation == "returned" else [o]
    return text.function(results), choices


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


def check(arguments, seed, mutation):
    rng = random.Random(f"{seed} {mutation}")
    source, choices = make(rng, mutation)
    path = arguments.folder / f"case{seed}{mutation or ''}.mlir"
    raised = path.with_suffix(".raised.mlir")
    path.write_text(source)
    result = run(["fa-opt", path, "--fa-raise-attention", "-o", raised])
    title = f"seed {seed}, mutation {mutation}, {choices}"
    if result.returncode:
        return f"{title}: fa-opt failed: {result.stderr}"
    text = raised.read_text()
    count = text.count("fa.attention ")
    if count != (0 if mutation else 1):
        remarks = [line for line in result.stderr.splitlines() if "remark" in line]
        return f"{title}: {count} attentions {remarks}"
    if mutation:
        return None
    if "reduction" in text:
        return f"{title}: a reduction is left"
    # Beside -1e9, float64 keeps 7 digits of what is added to it.
    bound = "1e-6" if "-1.0e+09" in choices else "1e-10"
    compared = run(["fa-run", raised, f"--against={path}", "--target=reference", f"--bound={bound}", f"--seed={seed}"])
    if compared.returncode and "NaN in all" not in compared.stdout:
        return f"{title}: {compared.stdout}{compared.stderr}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--folder", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    seed = arguments.seed
    if seed is None:
        seed = int(os.environ.get("FA_TEST_SEED") or random.SystemRandom().randrange(10**9))
    print(f"seed {seed}")
    problems = []
    for number in range(arguments.count):
        problems.append(check(arguments, seed + number, None))
        problems.append(check(arguments, seed + number, MUTATIONS[number % len(MUTATIONS)]))
    problems = [problem for problem in problems if problem]
    for problem in problems:
        print(problem)
    print(f"{2 * arguments.count} cases, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
