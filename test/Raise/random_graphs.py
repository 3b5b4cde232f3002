#!/usr/bin/env python3
"""Random spellings of attention, half of them broken by one change, raised and evaluated in float64.

    python3 random_graphs.py --opt build/bin/fa-opt --run build/bin/fa-run [--seed SEED] [--graphs N] [--before N] [--only K]

A graph draws its dimensions and their order, where it scales, score functions, masks of scores or weights, bases of the exponential,
with or without a maximum, when and how it divides, and how each step is spelled. A broken one differs from attention by one of `BREAKS`. Checked:

- Source and raised graph agree to 1e-10 with NaN and infinities at the same places, broken or not.
- A broken graph has no attention.
- At least 99 of 100 that are not broken have one; those that return the logsumexp, too, have two results.

With --before N, N passes of linalg that keep the meaning come first. A seed is printed; `--only K` prints graph K of it and runs that alone. The last line is `N passed, N failed`.
"""

import argparse
import os
import random
import re
import secrets
import sys
import tempfile
from pathlib import Path

import numpy as np

from wide import difference, run

BOUND = 1e-10
BATCH = 50
SIZES = {"x": 2, "b": 2, "h": 3, "c": 2, "g": 2, "q": 5, "k": 7, "d": 8, "e": 4}
LOWEST = {"f32": "0xFF800000", "bf16": "0xFF80"}
EQUIVALENT = ["--linalg-generalize-named-ops", "--canonicalize", "--cse", "--linalg-fuse-elementwise-ops",
              "--linalg-fold-unit-extent-dims"]
BREAKS = ["sum over queries", "sum of squares", "sum from one", "returns probabilities", "gates probabilities",
          "drops below a threshold", "second exponential", "masks after the division", "masks the dividend", "other scale",
          "output from one", "maximum over queries", "maximum from zero", "maximum of magnitudes", "transposed", "mixes heads",
          "softmax over heads", "no exponential", "subtracts twice the maximum from the dividend", "squares probabilities",
          "logarithm of another base", "logarithm beside ln(2) in f32", "power of the softmax", "sum of visible keys",
          "hides weights, then quotients"]


class Graph:
    """The text of one function. A tensor is its name, a letter for each dimension, and its element type."""

    def __init__(self, seed, number, broken):
        self.rng = random.Random(f"{seed} {number}")
        self.number, self.lines, self.count = number, [], 0
        self.broken = self.rng.choice(BREAKS) if broken else None
        self.divides, self.has_bias, self.is_low = True, False, False
        self.sizes = dict(SIZES)
        self.arguments, self.results = [], []
        self.build()

    def chance(self, probability):
        return self.rng.random() < probability

    def emit(self, text):
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"    {name} = {text}")
        return name

    def type(self, letters, element="f32"):
        return f"tensor<{''.join(str(self.sizes[letter]) + 'x' for letter in letters)}{element}>"

    def argument(self, letters, element="f32"):
        name = f"%a{len(self.arguments)}"
        self.arguments.append((name, self.type(letters, element)))
        return (name, letters, element)

    def constant(self, value, element="f32"):
        return self.emit(f"arith.constant {value} : {element}")

    def filled(self, letters, value, element="f32"):
        empty = self.emit(f"tensor.empty() : {self.type(letters, element)}")
        type = self.type(letters, element)
        return self.emit(f"linalg.fill ins({self.constant(value, element)} : {element}) outs({empty} : {type}) -> {type}")

    def generic(self, inputs, letters, body, init=None, element="f32"):
        """Loops are the letters of the result, then all others of the inputs, which are reduced."""
        rest = "".join(dict.fromkeys(letter for _, of, _ in inputs for letter in of if letter not in letters))
        loops = letters + rest
        if not rest and init is None:
            shuffled = self.rng.sample(letters, len(letters)) if self.chance(0.2) else letters
            loops = "".join(shuffled)
        place = {letter: f"d{i}" for i, letter in enumerate(loops)}
        dims = ", ".join(place.values())
        maps = [f"affine_map<({dims}) -> ({', '.join(place[letter] for letter in of)})>" for _, of, _ in inputs]
        maps.append(f"affine_map<({dims}) -> ({', '.join(place[letter] for letter in letters)})>")
        kinds = ", ".join('"reduction"' if letter in rest else '"parallel"' for letter in loops)
        type = self.type(letters, element)
        out = init or self.emit(f"tensor.empty() : {type}")
        names = [f"%i{i}" for i in range(len(inputs))]
        arguments = ", ".join(f"{name}: {of}" for name, (_, _, of) in zip(names + ["%out"], inputs + [("", "", element)]))
        types = ", ".join(self.type(of, of_element) for _, of, of_element in inputs)
        ins = f" ins({', '.join(name for name, _, _ in inputs)} : {types})" if inputs else ""
        lines = body(names, place, loops)
        text = (f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}}{ins} "
                f"outs({out} : {type}) {{\n    ^bb0({arguments}):\n")
        return (self.emit(text + "".join(f"      {line}\n" for line in lines) + f"    }} -> {type}"), letters, element)

    def elementwise(self, inputs, letters, *ops, element="f32"):
        """`ops` in terms of %i0, %i1, ...; the last one defines %r."""
        return self.respell(self.generic(inputs, letters, lambda *_: [*ops, f"linalg.yield %r : {element}"], element=element))

    def binary(self, op, first, second):
        letters = first[1] if len(first[1]) >= len(second[1]) else second[1]
        if self.chance(0.3) and set(first[1]) == set(letters) == set(second[1]) and first[1] == second[1]:
            type = self.type(letters)
            return (self.emit(f"arith.{op} {first[0]}, {second[0]} : {type}"), letters, "f32")
        pair = [self.broadcast(operand, letters) if self.chance(0.3) else operand for operand in (first, second)]
        return self.elementwise(pair, letters, f"%r = arith.{op} %i0, %i1 : f32")

    def broadcast(self, tensor, letters):
        if set(tensor[1]) == set(letters):
            return tensor
        return self.generic([tensor], letters, lambda *_: [f"linalg.yield %i0 : {tensor[2]}"], element=tensor[2])

    def respell(self, tensor):
        """The same tensor with its dimensions in another order, now and then."""
        name, letters, element = tensor
        if len(letters) < 2 or not self.chance(0.12):
            return tensor
        order = self.rng.sample(range(len(letters)), len(letters))
        moved = "".join(letters[i] for i in order)
        empty = self.emit(f"tensor.empty() : {self.type(moved, element)}")
        types = f"{self.type(letters, element)}) outs({empty} : {self.type(moved, element)}"
        return (self.emit(f"linalg.transpose ins({name} : {types}) permutation = {order}"), moved, element)

    def contract(self, first, second, letters, start="0.000000e+00"):
        """Sums in f32 of the products of elements of f32 or bf16."""
        init = self.filled(letters, start)
        inputs = self.rng.sample([first, second], 2)
        def body(names, place, loops):
            lines = []
            for i, (name, operand) in enumerate(zip(names, inputs)):
                if operand[2] != "f32":
                    lines.append(f"%w{i} = arith.extf {name} : {operand[2]} to f32")
                    names[i] = f"%w{i}"
            return lines + [f"%p = arith.mulf {names[0]}, {names[1]} : f32", "%r = arith.addf %out, %p : f32",
                            "linalg.yield %r : f32"]
        return self.respell(self.generic(inputs, letters, body, init=init))

    def reduce(self, tensor, over, start, *ops):
        letters = "".join(letter for letter in tensor[1] if letter not in over)
        body = lambda *_: [*ops, "linalg.yield %r : f32"]
        return self.respell(self.generic([tensor], letters, body, init=self.filled(letters, start)))

    def folded(self, tensor):
        """Batch and heads as one dimension."""
        name, letters, element = tensor
        self.sizes["f"] = self.sizes["b"] * self.sizes["h"]
        inner = "f" + letters[2:]
        groups = "[[0, 1], [2], [3]]"
        types = f"{self.type(letters, element)} into {self.type(inner, element)}"
        return (self.emit(f"tensor.collapse_shape {name} {groups} : {types}"), inner, element)

    # The steps of attention.

    def scaled(self, tensor, factor):
        spelling = self.rng.choice(["multiply", "divide", "argument"])
        if spelling == "argument" and self.broken is None:
            scalar = self.argument("")
            return self.elementwise([tensor, scalar], tensor[1], "%r = arith.mulf %i0, %i1 : f32")
        if spelling == "divide":
            value = self.constant(f"{1 / factor:.6e}")
            return self.elementwise([tensor], tensor[1], f"%r = arith.divf %i0, {value} : f32")
        value = self.constant(f"{factor:.6e}")
        return self.elementwise([tensor], tensor[1], f"%r = arith.mulf %i0, {value} : f32")

    def indices(self, letters, *ops, element="i1"):
        """A tensor computed from %q and %k, the positions of a pair."""
        def body(names, place, loops):
            return [f"%q = linalg.index {loops.index('q')} : index", f"%k = linalg.index {loops.index('k')} : index",
                    *ops, f"linalg.yield %r : {element}"]
        return self.generic([], letters, body, element=element)

    def mask(self):
        """Which keys a query sees."""
        # What is hidden twice by one condition is attention.
        others = ["from the end", "window", "argument", "argument of keys", "either"]
        kind = self.rng.choice(others if self.broken == "hides weights, then quotients" else ["causal", *others])
        if kind == "either":
            place = self.emit("arith.constant 2 : index")
            return self.indices("qk", "%l = arith.cmpi sge, %q, %k : index", f"%u = arith.cmpi eq, %k, {place} : index",
                                "%r = arith.xori %l, %u : i1")
        if kind == "causal":
            return self.indices("qk", "%r = arith.cmpi sge, %q, %k : index")
        if kind == "from the end":
            shift = self.emit(f"arith.constant {self.sizes['k'] - self.sizes['q']} : index")
            return self.indices("qk", f"%s = arith.addi %q, {shift} : index", "%r = arith.cmpi sge, %s, %k : index")
        if kind == "window":
            width = self.emit("arith.constant 3 : index")
            return self.indices("qk", f"%s = arith.addi %k, {width} : index", "%l = arith.cmpi sge, %s, %q : index",
                                "%u = arith.cmpi sge, %q, %k : index", "%r = arith.andi %l, %u : i1")
        return self.argument("qk" if kind == "argument" else "k", "i1")

    def masked(self, scores, mask):
        spelling = self.rng.choice(["-inf", "-1e30", "-1e9", "added", "added -inf"])
        # A product of a score near -1e9 and log2(e) has 7 digits in float64 where its row sees no key.
        if self.base2 and spelling == "added":
            spelling = "added -inf"
        low = {"-inf": LOWEST["f32"], "added -inf": LOWEST["f32"], "-1e30": "-1.000000e+30"}.get(spelling, "-1.000000e+09")
        self.is_low = low != LOWEST["f32"]
        if spelling.startswith("added"):
            values = [self.constant("0.000000e+00"), self.constant(low)]
            bias = self.elementwise([mask], mask[1], f"%r = arith.select %i0, {values[0]}, {values[1]} : f32")
            return self.binary("addf", scores, bias)
        value = self.constant(low)
        return self.elementwise([mask, scores], scores[1], f"%r = arith.select %i0, %i1, {value} : f32")

    def modified(self, scores):
        """Score functions, in any order."""
        for kind in self.rng.sample(["softcap", "bias", "position"], self.rng.choice([0, 0, 1, 1, 2])):
            if kind == "softcap":
                cap = self.constant("5.000000e+00")
                scores = self.elementwise([scores], scores[1], f"%c = arith.divf %i0, {cap} : f32", "%t = math.tanh %c : f32",
                                          f"%r = arith.mulf %t, {cap} : f32")
            elif kind == "bias":
                self.has_bias = True
                letters = "".join(letter for letter in scores[1] if letter in "qk" or self.chance(0.5))
                scores = self.binary("addf", scores, self.argument(letters))
            else:
                distance = self.indices("qk", "%s = arith.subi %k, %q : index", "%n = arith.index_cast %s : index to i32",
                                        "%r = arith.sitofp %n : i32 to f32", element="f32")
                slope = self.constant("-2.500000e-01")
                distance = self.elementwise([distance], distance[1], f"%r = arith.mulf %i0, {slope} : f32")
                scores = self.binary("addf", scores, distance)
        return scores

    def exponential(self, tensor):
        return self.elementwise([tensor], tensor[1], f"%r = math.{'exp2' if self.base2 else 'exp'} %i0 : f32")

    def maximum(self, scores):
        over, start = "k", LOWEST["f32"]
        if self.broken == "maximum over queries":
            over = "q"
        if self.broken == "maximum from zero":
            start = "0.000000e+00"
        if self.broken == "maximum of magnitudes":
            scores = self.elementwise([scores], scores[1], "%r = math.absf %i0 : f32")
        if self.broken is None and self.chance(0.2):
            return self.reduce(scores, over, self.rng.choice(["-3.40282347E+38", start]), "%r = arith.maxnumf %i0, %out : f32")
        if self.broken is None and self.chance(0.2):
            start = "-3.40282347E+38"
        return self.reduce(scores, over, start, "%r = arith.maximumf %i0, %out : f32")

    def build(self):
        rng, broken = self.rng, self.broken
        outer, of_keys = rng.choice([("", ""), ("b", "b"), ("bh", "bh"), ("bh", "bh"), ("xbh", "xbh"), ("bcg", "bc"), ("bh", "b")])
        if broken in ("mixes heads", "softmax over heads"):
            outer = of_keys = "bh"
        if broken == "transposed":
            self.sizes["q"] = self.sizes["k"]
        elif self.chance(0.1) and broken is None:
            self.sizes["q"] = 1
        if self.chance(0.5):
            self.sizes["e"] = self.sizes["d"]
        element = "bf16" if self.chance(0.2) else "f32"
        order = lambda letters: "".join(rng.sample(letters, len(letters))) if self.chance(0.5) else letters
        q, k, v = (self.argument(order(letters), element) for letters in (outer + "qd", of_keys + "kd", of_keys + "ke"))
        folded = outer == of_keys == "bh" and broken is None and self.chance(0.4) and \
            all(letters.startswith("bh") for _, letters, _ in (q, k, v))
        if folded:
            q, k, v = (self.folded(tensor) for tensor in (q, k, v))
            outer = of_keys = "f"
        factor = rng.choice([0.125, 0.3535534, 1.0])
        if element == "f32" and self.chance(0.3):
            q = self.scaled(q, factor)
            if self.chance(0.3):
                k = self.scaled(k, factor)
            factor = 1.0
        grouped = outer != of_keys
        if grouped and self.chance(0.5):
            letters = outer + "kd"
            k = self.broadcast(k, letters)
            v = self.broadcast(v, outer + "ke")
        scores = self.contract(q, k, order(outer + "qk"))
        if factor != 1.0:
            scores = self.scaled(scores, factor)
        scores = self.modified(scores)
        self.base2 = self.chance(0.2) or broken == "logarithm beside ln(2) in f32"
        # Hidden by weights of 0, which leaves scores as they are.
        self.hides = broken in ("sum of visible keys", "hides weights, then quotients") or broken is None and self.chance(0.15)
        if self.chance(0.5) and not self.hides and broken not in ("masks the dividend", "masks after the division"):
            scores = self.masked(scores, self.mask())
        if self.base2:
            log2e = self.constant("1.44269502")
            scores = self.elementwise([scores], scores[1], f"%r = arith.mulf %i0, {log2e} : f32")
        p, total, shift = self.softmax(scores)
        self.finish(p, total, v, outer)
        if broken and broken.startswith("logarithm") or shift and broken is None and self.chance(0.2):
            self.results.append(self.logsumexp(total, shift))

    def softmax(self, scores):
        """What the probabilities are divided from, and by."""
        broken, shift, shifted = self.broken, None, scores
        if broken and broken.startswith(("maximum", "subtracts", "logarithm")) or self.chance(0.9):
            shift = self.maximum(scores)
            shifted = self.binary("subf", scores, shift)
        p = self.exponential(shifted)
        if self.hides:
            return self.hidden(p, shift)
        # Without a maximum, the sum of a row that low scores hide is 0, whose logarithm is infinite.
        if broken == "power of the softmax" or broken is None and not self.base2 and self.chance(0.1) and \
                (shift or not self.is_low):
            return self.by_logarithm(shifted, p, shift)
        if broken == "no exponential":
            p = self.elementwise([shifted], shifted[1], "%r = math.absf %i0 : f32")
        if broken == "subtracts twice the maximum from the dividend":
            total = self.reduce(p, "k", "0.000000e+00", "%r = arith.addf %i0, %out : f32")
            return self.exponential(self.binary("subf", shifted, shift)), total, shift
        summed, over, start = p, "k", "0.000000e+00"
        if broken == "sum over queries":
            over = "q"
        if broken == "softmax over heads":
            over = "h"
        if broken == "sum from one":
            start = "1.000000e+00"
        if broken == "sum of squares":
            summed = self.binary("mulf", p, p)
        if broken == "second exponential":
            half = self.constant("5.000000e-01")
            summed = self.exponential(self.elementwise([shifted], shifted[1], f"%r = arith.mulf %i0, {half} : f32"))
        total = self.reduce(summed, over, start, "%r = arith.addf %i0, %out : f32")
        if broken == "other scale":
            two = self.constant("2.000000e+00")
            p = self.exponential(self.elementwise([shifted], shifted[1], f"%r = arith.mulf %i0, {two} : f32"))
        if broken == "masks the dividend":
            zero = self.constant("0.000000e+00")
            seen = self.indices("qk", "%r = arith.cmpi sge, %q, %k : index")
            p = self.elementwise([seen, p], p[1], f"%r = arith.select %i0, %i1, {zero} : f32")
        return p, total, shift

    def hidden(self, p, shift):
        """Weights that are 0 where a key is not seen, their sum, and where no weight is left perhaps 1 in its place."""
        zero, one = self.constant("0.000000e+00"), self.constant("1.000000e+00")
        seen = self.mask()
        spelling = self.rng.choice(["select", "product"])
        ones = self.elementwise([seen, p], p[1], f"%r = arith.select %i0, {one}, {zero} : f32")
        p = self.binary("mulf", p, ones) if spelling == "product" else \
            self.elementwise([seen, p], p[1], f"%r = arith.select %i0, %i1, {zero} : f32")
        summed = ones if self.broken == "sum of visible keys" else p
        total = self.reduce(summed, "k", "0.000000e+00", "%r = arith.addf %i0, %out : f32")
        # A bias may be -inf everywhere, which makes the sum NaN. The logarithm of a guarded one is another.
        if self.has_bias:
            return p, total, None
        if self.chance(0.5):
            guarded = self.elementwise([total], total[1], f"%c = arith.cmpf oeq, %i0, {zero} : f32",
                                       f"%r = arith.select %c, {one}, %i0 : f32")
            return p, guarded, None
        return p, total, shift

    def by_logarithm(self, shifted, p, shift):
        """Divided by the sum in the exponent."""
        self.divides = False
        total = self.reduce(p, "k", "0.000000e+00", "%r = arith.addf %i0, %out : f32")
        logarithm = self.elementwise([total], total[1], "%r = math.log %i0 : f32")
        exponent = self.binary("subf", shifted, logarithm)
        if self.broken:
            two = self.constant("2.000000e+00")
            exponent = self.elementwise([exponent], exponent[1], f"%r = arith.mulf %i0, {two} : f32")
        return self.exponential(exponent), total, shift

    def logsumexp(self, total, shift):
        """Of base 2 where the exponentials are, sometimes made natural, of the other sign, or of bf16."""
        log = "log2" if self.base2 != bool(self.broken) else "log"
        lines = [f"%l = math.{log} %i0 : f32"]
        names, element = ["%l", "%i1"], "f32"
        if self.broken == "logarithm beside ln(2) in f32":
            lines.append(f"%s = arith.mulf %i1, {self.constant('6.93147182E-01')} : f32")
            names[1] = "%s"
        self.rng.shuffle(names)
        result = "%r0"
        lines.append(f"{result} = arith.addf {', '.join(names)} : f32")
        if self.chance(0.3):
            number = self.constant(self.rng.choice(["6.93147182E-01", "-1.000000e+00", "2.000000e+00"]))
            result = "%r1"
            lines.append(f"{result} = arith.mulf {number}, %r0 : f32")
        if self.chance(0.3):
            element = "bf16"
            lines.append(f"%r = arith.truncf {result} : f32 to bf16")
        else:
            lines[-1] = lines[-1].replace(result, "%r")
        return self.elementwise([total, shift], total[1], *lines, element=element)

    def divided(self, tensor, total):
        if self.chance(0.3):
            one = self.constant("1.000000e+00")
            inverse = self.elementwise([total], total[1], f"%r = arith.divf {one}, %i0 : f32")
            return self.binary("mulf", tensor, inverse)
        return self.binary("divf", tensor, total)

    def finish(self, p, total, v, outer):
        broken = self.broken
        late = self.divides and self.chance(0.3) and broken is None
        if self.divides and not late:
            p = self.divided(p, total)
        zero = "0.000000e+00"
        if broken == "gates probabilities":
            p = self.binary("mulf", p, self.argument("qk"))
        if broken == "drops below a threshold":
            least, none = self.constant("1.500000e-01"), self.constant(zero)
            p = self.elementwise([p], p[1], f"%l = arith.cmpf ogt, %i0, {least} : f32",
                                 f"%r = arith.select %l, %i0, {none} : f32")
        if broken == "squares probabilities":
            p = self.binary("mulf", p, p)
        if broken in ("masks after the division", "hides weights, then quotients"):
            none = self.constant(zero)
            seen = self.indices("qk", "%r = arith.cmpi sge, %q, %k : index")
            p = self.elementwise([seen, p], p[1], f"%r = arith.select %i0, %i1, {none} : f32")
        if v[2] != "f32" and self.chance(0.5):
            p = self.elementwise([p], p[1], "%r = arith.truncf %i0 : f32 to bf16", element="bf16")
        letters = outer + "qe"
        if broken == "transposed":
            swapped = p[1].replace("q", "?").replace("k", "q").replace("?", "k")
            o = self.contract((p[0], swapped, p[2]), v, letters)
        elif broken == "mixes heads":
            self.sizes["g"] = self.sizes["h"]
            o = self.contract((p[0], p[1].replace("h", "g"), p[2]), v, "bqe")
        else:
            o = self.contract(p, v, letters, "1.000000e+00" if broken == "output from one" else zero)
        if late:
            o = self.divided(o, total)
        self.results = [o] + ([p] if broken == "returns probabilities" else [])

    def text(self):
        parameters = ", ".join(f"{name}: {type}" for name, type in self.arguments)
        types = ", ".join(self.type(letters, element) for _, letters, element in self.results)
        end = f"    return {', '.join(name for name, _, _ in self.results)} : {types}"
        return "\n".join([f"  func.func private @f{self.number}({parameters}) -> ({types}) {{", *self.lines, end, "  }\n"])


def module(graphs):
    """The graphs, and a function that calls them all and returns doubles."""
    lines, parameters, results, types = [], [], [], []
    for graph in graphs:
        names = [f"%f{graph.number}_{i}" for i in range(len(graph.arguments))]
        parameters += [f"{name}: {type}" for name, (_, type) in zip(names, graph.arguments)]
        own = [graph.type(letters, element) for _, letters, element in graph.results]
        call = f"%r{graph.number}"
        lines.append(f"    {call}:{len(own)} = func.call @f{graph.number}({', '.join(names)}) : "
                     f"({', '.join(type for _, type in graph.arguments)}) -> ({', '.join(own)})")
        for i, type in enumerate(own):
            wide = re.sub(r"(bf16|f32)>", "f64>", type)
            lines.append(f"    {call}_{i} = arith.extf {call}#{i} : {type} to {wide}")
            results.append(f"{call}_{i}")
            types.append(wide)
    head = f"  func.func @wide({', '.join(parameters)}) -> ({', '.join(types)}) {{"
    tail = f"    return {', '.join(results)} : {', '.join(types)}\n  }}"
    return "module {\n" + "".join(graph.text() for graph in graphs) + "\n".join([head, *lines, tail]) + "\n}\n", len(results)


def evaluate(options, text, count, folder, name):
    path = Path(folder) / f"{name}.mlir"
    path.write_text(text)
    outputs = [str(Path(folder) / f"{name}.{i}.npy") for i in range(count)]
    run([options.run, str(path), "--entry=wide", "--target=reference", "--precision=float64", f"--seed={options.seed}"]
        + [f"--output=@{output}" for output in outputs])
    return [np.load(output) for output in outputs]


def check(options, graphs, folder):
    """For each graph whether it was raised, and what is wrong with it, if anything."""
    text, count = module(graphs)
    expected = evaluate(options, text, count, folder, "source")
    passes = random.Random(f"{options.seed} {graphs[0].number}").sample(EQUIVALENT, 3)
    raised = run([options.opt, "-", *passes[:options.before], "--fa-raise-attention"], input=text)
    found = evaluate(options, raised, count, folder, "raised")
    errors = [difference(a, b) for a, b in zip(found, expected, strict=True)]
    results, position = [], 0
    for graph in graphs:
        own = errors[position:position + len(graph.results)]
        position += len(own)
        body = re.search(rf"func\.func private @f{graph.number}\(.*?\n  }}\n", raised, re.S).group(0)
        is_raised = len(re.findall(r"^ *%\S+ = \"?fa\.attention\b", body, re.M)) == 1
        wrong = None
        if not max(own) <= BOUND:
            wrong = f"error {max(own):.1e}"
        elif is_raised and graph.broken:
            wrong = "raised"
        results.append((is_raised, wrong))
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--seed", type=int, default=os.environ.get("FA_TEST_SEED") or secrets.randbelow(2**31))
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--before", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = range(options.graphs) if options.only is None else [options.only]
    graphs = [Graph(options.seed, number, broken=number % 2 == 1) for number in numbers]
    print(f"{len(graphs)} graphs, seed {options.seed}")
    failed = 0
    # Whether graphs that are attention were raised, by their number of results.
    whole = {1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        for first in range(0, len(graphs), BATCH):
            batch = graphs[first:first + BATCH]
            for graph, (is_raised, wrong) in zip(batch, check(options, batch, folder)):
                failed += wrong is not None
                if wrong:
                    print(f"FAILED graph {graph.number} ({graph.broken or 'not broken'}): {wrong}")
                if not graph.broken:
                    whole[len(graph.results)].append((graph.number, is_raised))
    if options.only is not None:
        print(graphs[0].text())
    for count, name in ((1, "attention"), (2, "attention with logsumexp")):
        missed = [str(number) for number, is_raised in whole[count] if not is_raised]
        print(f"{name}: raised {len(whole[count]) - len(missed)} of {len(whole[count])}"
              + (f", not {' '.join(missed[:10])}" if missed else ""))
    results = [is_raised for of_kind in whole.values() for _, is_raised in of_kind]
    few = results.count(False) > 0.01 * len(results) and options.only is None
    print(f"{len(graphs) - failed} passed, {failed} failed")
    return 1 if failed or few else 0


if __name__ == "__main__":
    sys.exit(main())
