#!/usr/bin/env python3
"""fa.attention_gradient and its steps, in the float64 evaluator or compiled, against formulas in numpy that share nothing with it.

    python3 gradients.py --program build/bin/fa-run [--seed SEED] [--cases N] [--only K] [--target cpu|interpret|cuda] [--most SIZE]

Random problems: sizes, grouped heads, orders of dimensions, lengths with NaN behind them, masks, score functions with their
gradients and captures, sinks, delta in place of the output, pieces of a problem, subsets of gradients, elements of f16. Each case runs
as a whole, or as the steps that tiling makes of it. Then one problem is held against finite differences of fa.attention.
A seed is printed. The last line is `N passed, N failed`.

Errors are norms, relative to the norm of what the gradient would be if none of its terms cancelled, each with the condition of
its weight: a score of x changes exp(x) by x times its own rounding.
"""

import argparse
import os
import random
import re
import secrets
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from gradient_problems import ORDERS, Problem, typed


class Runner:
    def __init__(self, program, target, chip):
        self.program, self.target, self.folder = program, target, Path(tempfile.mkdtemp())
        self.on_gpu, self.chip = target in ("interpret", "cuda"), chip

    def run(self, text, inputs, num_outputs):
        (self.folder / "a.mlir").write_text(text)
        command = [self.program, str(self.folder / "a.mlir"), f"--target={self.target}"]
        if self.target == "reference":
            command.append("--precision=float64")
        if self.on_gpu:
            command.append(f"--chip={self.chip}")
        for number, value in enumerate(inputs):
            if isinstance(value, str):
                command.append(f"--input={value}")
                continue
            np.save(self.folder / f"i{number}.npy", np.array(value, order="C"))
            command.append(f"--input=@{self.folder}/i{number}.npy")
        for number in range(num_outputs):
            command.append(f"--output=@{self.folder}/o{number}.npy")
        done = subprocess.run(command, capture_output=True, text=True)
        # A block drawn at random may be more than registers hold. The nearest that is named has to fit.
        misfit = re.search(r"config does not fit: ((?:query|key)_block) = (\d+) needs .*; the nearest is (\d+)$",
                           done.stderr, re.MULTILINE)
        if misfit:
            name, drawn, nearest = misfit.groups()
            (self.folder / "a.mlir").write_text(text.replace(f"{name} = {drawn},", f"{name} = {nearest},"))
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [np.load(self.folder / f"o{number}.npy").astype(np.float64) for number in range(num_outputs)]


def stored(array, element):
    return array.astype(np.float16 if element == "f16" else np.float32)


def compare(name, got, expected, magnitude, element, weights="f32"):
    # `magnitude` is the norm of the sums of magnitudes, where each weight counts 1 + |score| times: a rounding of the score, or of
    # the lse that is taken off, errs by u |score| in the exponent. With u = 2^-24 a term has these roundings: the product of the
    # score 2 (long sums err by less than two roundings of their magnitude, since signs alternate), scale 1, score function 3,
    # difference to lse 1, exponential 2, product with do 2, delta 2, its difference 1, times p 1, score_gradient 2, sum 2, scale 1.
    # They are 20, and 1e-6 is 17: as norms, independent roundings add up to far less. Stored as f16, 1e-3 is two of 2^-11.
    if got.shape != np.shape(expected):
        return f"{name}: shape {got.shape}, expected {np.shape(expected)}"
    error = np.linalg.norm(got - expected)
    # Numbers below the smallest normal one are multiples of the smallest of all.
    relative, smallest = (1e-3, 6e-8) if "f16" in (element, weights) else (1e-6, 1e-37)
    bound = relative * magnitude + smallest * np.sqrt(np.size(expected))
    return "" if error <= bound else f"{name}: error {error}, bound {bound}"


def queries_of_one_pass(problem, sums):
    """Queries of a step on a GPU that registers hold and two groups can divide; 0 where there are none."""
    d, widest, is_plain = problem.d, max(problem.d, problem.e), problem.score == "none" and not problem.dropout and not sums
    # A score that is kept leaves no registers for the product of a weight and its factor.
    if problem.dropout and (problem.score != "none" or sums):
        return 0
    if d % 16 or widest > 128:
        return 0
    if d % 32 == 0 and (is_plain or widest <= 64):
        return 64
    return 128 if is_plain and widest <= 64 else 0


def whole(problem, rng, runner):
    """fa.attention_gradient on the problem or on a piece of it."""
    full = [slice(0, size) for size in (problem.batch, problem.heads, problem.n, problem.m)]
    is_piece = rng.random() < 0.3
    piece = full
    if is_piece:
        def part(size, step=1):
            first = rng.randrange(size // step)
            return slice(first * step, rng.randint(first + 1, size // step) * step)
        piece = [part(problem.batch), part(problem.heads, problem.group), part(problem.n), part(problem.m)]
    b, h, i, j = piece
    kv = slice(h.start // problem.group, h.stop // problem.group)
    arguments, inputs = [], []

    def add(name, array, kind):
        arguments.append(f"{name}: {kind}")
        inputs.append(array)

    def order(array, name):
        """Adds a tensor whose dimensions stand in a random order; returns its type and the attribute of the order."""
        letters = rng.choice(ORDERS)
        turned = array.transpose(["bshd".index(letter) for letter in letters])
        return turned, f"{name}_dims = #fa.dims<{', '.join(letters)}>", letters

    # What lies behind a length is NaN.
    q, k, v, o, do = (a.copy() for a in (problem.q, problem.k, problem.v, problem.o, problem.do))
    lse, delta, dlse = problem.lse.copy(), problem.delta.copy(), problem.dlse.copy()
    for batch in range(problem.batch):
        if problem.query_lengths:
            for array in (q, o, do):
                array[batch, problem.query_lengths[batch]:] = np.nan
            for array in (lse, delta, dlse):
                array[batch, :, problem.query_lengths[batch]:] = np.nan
        if problem.key_lengths:
            for array in (k, v):
                array[batch, problem.key_lengths[batch]:] = np.nan
    attributes, types = [], {}
    for name, array in (("query", q[b, i, h]), ("key", k[b, j, kv]), ("value", v[b, j, kv]), ("output", o[b, i, h]),
                        ("output_gradient", do[b, i, h])):
        turned, attribute, _ = order(array, name)
        attributes.append(attribute)
        types[name] = typed(turned, problem.element)
        add(f"%{name}", stored(turned, problem.element), types[name])
    for name, array in (("lse", lse), ("delta", delta), ("dlse", dlse)):
        types[name] = typed(array[b, h, i], "f32")
        add(f"%{name}", array[b, h, i].astype(np.float32), types[name])
    add("%scale", f"f32={problem.scale!r}", "f32")
    has_capture = problem.t is not None
    if has_capture:
        scalar = isinstance(problem.t, float)
        add("%capture", f"f32={problem.t!r}" if scalar else stored(problem.t, problem.element), problem.capture_type())
    if problem.sink:
        scalar = isinstance(problem.u, float)
        add("%sinks", f"f32={problem.u!r}" if scalar else stored(problem.u, problem.element),
            "f32" if scalar else typed(problem.u, problem.element))
    uses_delta, uses_dlse = rng.random() < 0.3, rng.random() < 0.5
    terms_of_delta = None
    if uses_delta:
        delta_used = problem.delta
        of = f"of(%lse : {types['lse']}) delta(%delta : {types['delta']})"
    else:
        delta_used = np.einsum("bihe,bihe->bhi", problem.do, problem.o) - (problem.dlse if uses_dlse else 0)
        terms_of_delta = np.einsum("bihe,bihe->bhi", np.abs(problem.do), np.abs(problem.o)) + (np.abs(problem.dlse) if uses_dlse else 0)
        of = f"of(%output, %lse : {types['output']}, {types['lse']})"
    if not uses_delta and uses_dlse:
        given = f"gradients(%output_gradient, %dlse : {types['output_gradient']}, {types['dlse']})"
    else:
        given = f"gradients(%output_gradient : {types['output_gradient']})"
    expected, magnitudes = problem.gradients(delta_used, piece, terms_of_delta)
    names = [name for name in ("query", "key", "value", "capture[0]", "scale", "sink_capture[0]") if name in expected and rng.random() < 0.7]
    if runner.on_gpu:
        names = [name for name in names if not name.startswith("sink")]
        # All of them come in one pass, where there is one.
        if rng.random() < 0.5:
            names = ["query", "key", "value"] + [name for name in names if name in ("capture[0]", "scale")]
    names = names or ["query"]
    if runner.target == "cpu":
        form = rng.choice(["", *(f", gradient_form = {form}_pass" for form in ("one", "one", "two", "three"))])
        attributes.append(f"config = #fa.config<query_block = {rng.choice([16, 32, 64])}, "
                          f"key_block = {rng.choice([16, 40, 64])}{form}>")
    if runner.on_gpu:
        is_float = problem.element == "f32"
        form = rng.choice(["", "two", "three"] if max(problem.d, problem.e) <= (64 if is_float else 128) else ["", "three"])
        by_warps = runner.chip != "sm_90a" or is_float
        sums = [name for name in names if name in ("capture[0]", "scale")]
        # Values of two sums are more than registers hold beside all gradients.
        is_whole = {"query", "key", "value"} <= set(names) and (len(sums) < 2 or problem.score in ("alibi", "bias"))
        queries = queries_of_one_pass(problem, sums) if is_whole and not by_warps else 0
        in_any_order = ", deterministic = false" if sums else ""
        if form and by_warps:
            rows = rng.choice([64, 128]) if max(problem.d, problem.e) <= 64 else 64
            keys = 16 if sums else rng.choice([16, 32])
            if is_float:  # each warp splits 16 rows of either
                rows = keys = 32 if sums or problem.score != "none" or problem.dropout else rng.choice([32, 64])
            attributes.append(f"config = #fa.config<query_block = {rows}, key_block = {keys}, "
                              f"gradient_form = {form}_pass{in_any_order}>")
        elif queries and rng.random() < 0.5:
            attributes.append(f"config = #fa.config<query_block = {queries}, key_block = 128, deterministic = false>")
        elif form:
            keys = 64 if problem.score == "none" and not sums else 32
            attributes.append(f"config = #fa.config<query_block = 128, key_block = {keys}, "
                              f"gradient_form = {form}_pass{in_any_order}>")
    destinations, results, turns, elements = [], [], [], []
    for number, name in enumerate(names):
        array = np.asarray(expected[name])
        captured = {"capture[0]": problem.t, "sink_capture[0]": problem.u}.get(name)
        element = "f32" if name == "scale" or isinstance(captured, float) else \
            rng.choice(["f32", problem.element])
        if name in ("query", "key", "value"):
            array, attribute, letters = order(array, name + "_gradient")
            attributes.append(attribute)
        elements.append(element)
        turns.append(array)
        results.append(typed(array, element))
        add(f"%out{number}", stored(np.full(array.shape, np.nan), element), results[-1])
        destinations.append(f"{name} = %out{number} : {results[-1]}")
    sink = problem.sink_clause(rng.random() < 0.5) if "sink_capture[0]" in names else ""
    clauses = " scale(%scale)"
    for name, lengths in (("query_lengths", problem.query_lengths), ("key_lengths", problem.key_lengths)):
        if lengths:
            add(f"%{name}", np.array(lengths, np.int32), f"tensor<{problem.batch}xi32>")
            clauses += f" {name}(%{name} : tensor<{problem.batch}xi32>)"
    constants = ""
    if is_piece:
        values = [s.start for s in piece] + [problem.n, problem.m]
        constants = "".join(f"  %c{n} = arith.constant {value} : index\n" for n, value in enumerate(values))
        clauses += " offsets(%c0, %c1, %c2, %c3) extents(%c4, %c5)"
    text = f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n{problem.constants()}{constants}"
    text += f"  %r:{len(names)} = fa.attention_gradient ins(%query, %key, %value : {types['query']}, {types['key']}, {types['value']})"
    text += f"\n    {of} {given}\n    outs({', '.join(destinations)})\n   {clauses}{problem.clauses(sink=sink)} {{{', '.join(attributes)}}}\n"
    text += f"  return {', '.join(f'%r#{n}' for n in range(len(names)))} : {', '.join(results)}\n}}\n"
    outputs = runner.run(text, inputs, len(names))
    # A GPU rounds weights to the type of the operands.
    weights = problem.element if runner.on_gpu else "f32"
    errors = [compare(name, got, want, magnitudes[name], element, weights)
              for name, got, want, element in zip(names, outputs, turns, elements)]
    return text, [error for error in errors if error]


def steps(problem, rng, runner):
    """The steps of one batch and head: query_ranges and key_ranges over blocks, with everything around them."""
    n, m, d, e = problem.n, problem.m, problem.d, problem.e
    query_block, key_block = rng.choice([2, 4]), rng.choice([2, 4])
    batch, head = rng.randrange(problem.batch), rng.randrange(problem.heads)
    kv = head // problem.group
    element = problem.element
    arrays = {"q": (problem.q[batch, :, head], d), "k": (problem.k[batch, :, kv], d), "v": (problem.v[batch, :, kv], e),
              "o": (problem.o[batch, :, head], e), "do": (problem.do[batch, :, head], e)}
    text, inputs, arguments = "", [], []
    for name, (array, dim) in arrays.items():
        arguments.append(f"%{name}: memref<1x{array.shape[0]}x1x{dim}x{element}>")
        inputs.append(stored(array.reshape(1, -1, 1, dim), element))
    for name, array in (("lse", problem.lse), ("dlse", problem.dlse)):
        arguments.append(f"%{name}: memref<1x1x{n}xf32>")
        inputs.append(array[batch, head].reshape(1, 1, n).astype(np.float32))
    arguments.append("%scale: f32")
    inputs.append(f"f32={problem.scale!r}")
    memref = problem.capture_type().replace("tensor", "memref") if problem.t is not None else None
    if memref:
        arguments.append(f"%capture: {memref}")
        inputs.append(f"f32={problem.t!r}" if memref == "f32" else stored(problem.t, element))
    part = [slice(batch, batch + 1), slice(head, head + 1), slice(0, n), slice(0, m)]
    delta = np.einsum("bihe,bihe->bhi", problem.do, problem.o) - problem.dlse
    # One query head: its group is not summed.
    whole_group, problem.group = problem.group, 1
    k, v = problem.k, problem.v
    problem.k, problem.v = np.repeat(k, whole_group, 2), np.repeat(v, whole_group, 2)
    terms_of_delta = np.einsum("bihe,bihe->bhi", np.abs(problem.do), np.abs(problem.o)) + np.abs(problem.dlse)
    expected, magnitudes = problem.gradients(delta, part, terms_of_delta)
    problem.group, problem.k, problem.v = whole_group, k, v
    sizes = {"dq": (n, d), "dk": (m, d), "dv": (m, e)}
    for name, (rows, dim) in sizes.items():
        arguments.append(f"%{name}: memref<1x{rows}x1x{dim}x{element}>")
        inputs.append(stored(np.full((1, rows, 1, dim), np.nan), element))
    arguments.append("%dscale: memref<f32>")
    inputs.append(np.zeros((), np.float32))
    capture = ""
    if memref:
        shape = "".join(f"{size}x" for size in np.shape(problem.t))
        arguments.append(f"%gradient: memref<{shape}f32>")
        inputs.append(np.zeros(np.shape(problem.t), np.float32))
        capture = f", capture[0] = %gradient : memref<{shape}f32>"

    def tile(name, source, first, count, dim):
        rows = problem.n if source in ("q", "o", "do", "dq") else problem.m
        return (f"%{name} = memref.subview %{source}[0, {first}, 0, 0] [1, {count}, 1, {dim}] [1, 1, 1, 1] : "
                f"memref<1x{rows}x1x{dim}x{element}> to memref<1x?x1x{dim}x{element}, strided<[{rows * dim}, {dim}, {dim}, 1], "
                f"offset: ?>>\n"), f"memref<1x?x1x{dim}x{element}, strided<[{rows * dim}, {dim}, {dim}, 1], offset: ?>>"

    def row(name, source, first, count):
        kind = f"memref<1x1x?xf32, strided<[{n}, {n}, 1], offset: ?>>"
        return f"%{name} = memref.subview %{source}[0, 0, {first}] [1, 1, {count}] [1, 1, 1] : memref<1x1x{n}xf32> to {kind}\n", kind

    def step(op, own, outs, kinds):
        loads = ""
        names = []
        for name, source, first, count, dim in (("qs", "q", "%at_i", "%at_ni", d), ("ks", "k", "%at_j", "%at_nj", d),
                                                ("vs", "v", "%at_j", "%at_nj", e), ("dos", "do", "%at_i", "%at_ni", e)):
            line, kind = tile(name, source, first, count, dim)
            loads += line
            names.append(kind)
        for name, source in (("rows_lse", "reference"), ("rows_delta", "delta")):
            line, row_kind = row(name, source, "%at_i", "%at_ni")
            loads += line
        clauses = problem.clauses(is_step=True).replace("tensor.extract", "memref.load").replace("tensor<", "memref<")
        results = ", ".join(f"%{name}" for name in own)
        return (f"{loads}{results} = {op} ins(%qs, %ks, %vs, %dos : {', '.join(names)}) rows(%rows_lse, %rows_delta : {row_kind}, {row_kind})\n"
                f" outs({outs}) scale(%scale) offsets(%at_b, %at_h, %at_i, %at_j) extents(%n, %m){clauses}\n"
                f" fa.yield {results} : {', '.join(kinds)}\n")

    text += f"func.func @main({', '.join(arguments)}) {{\n{problem.constants()}"
    for name, value in (("c0", 0), ("n", n), ("m", m), ("at_b", batch), ("at_h", head), ("sq", query_block), ("sk", key_block)):
        text += f"%{name} = arith.constant {value} : index\n"
    row_type = f"memref<1x1x{n}xf32>"
    text += f"%delta = memref.alloc() : {row_type}\n%reference = memref.alloc() : {row_type}\n"
    text += f"fa.prepare_gradient of(%o, %do : memref<1x{n}x1x{e}x{element}>, memref<1x{n}x1x{e}x{element}>) "
    text += f"lse(%lse : {row_type}) lse_gradient(%dlse : {row_type}) outs(%delta, %reference : {row_type}, {row_type}) rows(%n)\n"
    key_state, value_state = f"tensor<{key_block}x{d}xf32>", f"tensor<{key_block}x{e}xf32>"
    query_state = f"tensor<{query_block}x{d}xf32>"
    text += f"scf.for %at_j = %c0 to %m step %sk {{\n %left = arith.subi %m, %at_j : index\n %at_nj = arith.minsi %left, %sk : index\n"
    text += f"%dk0 = arith.constant dense<0.0> : {key_state}\n%dv0 = arith.constant dense<0.0> : {value_state}\n"
    text += f"%g:2 = fa.query_ranges (%at_i, %at_ni) = [partial %c0 to %n] step {query_block} iter_args(%dki = %dk0, %dvi = %dv0)"
    text += f" -> ({key_state}, {value_state}) {{\n"
    text += step("fa.gradient_keys", ["dkn", "dvn"], f"key = %dki : {key_state}, value = %dvi : {value_state}",
                 [key_state, value_state]) + "}\n"
    for name, result, dim, scale in (("dk", "%g#0", d, " scale(%scale)"), ("dv", "%g#1", e, "")):
        line, kind = tile(name + "s", name, "%at_j", "%at_nj", dim)
        state = key_state if name == "dk" else value_state
        text += line + f"fa.finalize_gradient ins({result} : {state}){scale} outs(%{name}s : {kind}) rows(%at_nj)\n"
    text += "}\n"
    text += f"scf.for %at_i = %c0 to %n step %sq {{\n %left = arith.subi %n, %at_i : index\n %at_ni = arith.minsi %left, %sq : index\n"
    text += f"%dq0 = arith.constant dense<0.0> : {query_state}\n"
    text += f"%g = fa.key_ranges (%at_j, %at_nj) = [partial %c0 to %m] step {key_block} iter_args(%dqi = %dq0) -> ({query_state}) {{\n"
    text += step("fa.gradient_queries", ["dqn"], f"query = %dqi : {query_state}{capture}, scale = %dscale : memref<f32>",
                 [query_state]) + "}\n"
    line, kind = tile("dqs", "dq", "%at_i", "%at_ni", d)
    text += line + f"fa.finalize_gradient ins(%g : {query_state}) scale(%scale) outs(%dqs : {kind}) rows(%at_ni)\n}}\nreturn\n}}\n"
    names = ["%dq", "%dk", "%dv", "%dscale"] + ["%dt"] * bool(memref)
    outputs = dict(zip(names, runner.run(text, inputs, len(names))))
    wanted = {"%dq": ("query", element), "%dk": ("key", element), "%dv": ("value", element), "%dscale": ("scale", "f32")}
    if memref:
        wanted["%dt"] = ("capture[0]", "f32")
    errors = []
    for name, (of, kind) in wanted.items():
        want = np.asarray(expected[of])
        want = want[0, :, 0] if want.ndim == 4 and of in ("query", "key", "value") else want
        errors.append(compare(name, outputs[name].reshape(want.shape), want, magnitudes[of], kind))
    return text, [error for error in errors if error]


def finite_differences(rng, runner):
    """sum(o * do) + sum(lse * dlse) of fa.attention along a random direction, against the gradients times the direction."""
    g = np.random.default_rng(rng.getrandbits(32))
    b, n, m, hq, hk, d, e = 2, 5, 6, 4, 2, 4, 8

    def grid(*shape):
        return np.round(g.standard_normal(shape) * 16) / 16

    q, k, v, do, dlse = grid(b, n, hq, d), grid(b, m, hk, d), grid(b, m, hk, e), grid(b, n, hq, e), grid(b, hq, n)
    table, cap, scale, sinks = grid(hq), 1.5, 0.75, grid(hq)
    kinds = [typed(a, "f32") for a in (q, k, v, do, dlse, table)]
    sink = """sink(%b, %h, %i) captures(%u = %sinks : tensor<4xf32>) {
          %w = tensor.extract %u[%h] : tensor<4xf32>
          %x = arith.mulf %w, %w : f32
          fa.yield %x : f32
        }"""
    kq, kk, kv, ko, kl, kt = kinds
    score = """score(%s, %b, %h, %i, %j) captures(%t = %table : tensor<4xf32>, %c = %cap : f32) {
          %w = tensor.extract %t[%h] : tensor<4xf32>
          %a = arith.addf %s, %w : f32
          %r = arith.divf %a, %c : f32
          %u = math.tanh %r : f32
          %x = arith.mulf %u, %c : f32
          fa.yield %x : f32
        }"""
    gradient = """score_gradient(%dx, %s, %b, %h, %i, %j, %t, %c) {
          %w = tensor.extract %t[%h] : tensor<4xf32>
          %a = arith.addf %s, %w : f32
          %r = arith.divf %a, %c : f32
          %u = math.tanh %r : f32
          %one = arith.constant 1.0 : f32
          %u2 = arith.mulf %u, %u : f32
          %f = arith.subf %one, %u2 : f32
          %da = arith.mulf %dx, %f : f32
          fa.scatter_gradient %da to %t[%h] : f32, tensor<4xf32>
          %rf = arith.mulf %r, %f : f32
          %y = arith.subf %u, %rf : f32
          %dc = arith.mulf %dx, %y : f32
          fa.scatter_gradient %dc to %c[] : f32, f32
          fa.yield %da : f32
        }"""
    forward = f"""%o0 = tensor.empty() : {ko}
        %l0 = tensor.empty() : {kl}
        %o, %lse = fa.attention ins(%q, %k, %v : {kq}, {kk}, {kv}) outs(%o0, %l0 : {ko}, {kl}) scale(%scale)
        {score} mask causal {sink}"""
    signature = f"%q: {kq}, %k: {kk}, %v: {kv}, %do: {ko}, %dlse: {kl}, %table: {kt}, %sinks: {kt}, %cap: f32, %scale: f32"
    loss = f"""#m4 = affine_map<(a, b, c, d) -> (a, b, c, d)>
      #m3 = affine_map<(a, b, c) -> (a, b, c)>
      #z4 = affine_map<(a, b, c, d) -> ()>
      #z3 = affine_map<(a, b, c) -> ()>
      func.func @main({signature}) -> tensor<f64> {{
        {forward}
        %zero = arith.constant dense<0.0> : tensor<f64>
        %a = linalg.generic {{indexing_maps = [#m4, #m4, #z4], iterator_types = ["reduction", "reduction", "reduction", "reduction"]}}
            ins(%o, %do : {ko}, {ko}) outs(%zero : tensor<f64>) {{
        ^bb0(%x: f32, %y: f32, %acc: f64):
          %xe = arith.extf %x : f32 to f64
          %ye = arith.extf %y : f32 to f64
          %p = arith.mulf %xe, %ye : f64
          %s = arith.addf %acc, %p : f64
          linalg.yield %s : f64
        }} -> tensor<f64>
        %z = linalg.generic {{indexing_maps = [#m3, #m3, #z3], iterator_types = ["reduction", "reduction", "reduction"]}}
            ins(%lse, %dlse : {kl}, {kl}) outs(%a : tensor<f64>) {{
        ^bb0(%x: f32, %y: f32, %acc: f64):
          %xe = arith.extf %x : f32 to f64
          %ye = arith.extf %y : f32 to f64
          %p = arith.mulf %xe, %ye : f64
          %s = arith.addf %acc, %p : f64
          linalg.yield %s : f64
        }} -> tensor<f64>
        return %z : tensor<f64>
      }}"""
    results = [kq, kk, kv, kt, "tensor<f32>", "tensor<f32>", kt]
    backward = f"""func.func @main({signature}) -> ({', '.join(results)}) {{
        {forward}
        %e0 = tensor.empty() : {kq}
        %e1 = tensor.empty() : {kk}
        %e2 = tensor.empty() : {kv}
        %e3 = tensor.empty() : {kt}
        %e4 = tensor.empty() : tensor<f32>
        %g:7 = fa.attention_gradient ins(%q, %k, %v : {kq}, {kk}, {kv}) of(%o, %lse : {ko}, {kl}) gradients(%do, %dlse : {ko}, {kl})
            outs(query = %e0 : {kq}, key = %e1 : {kk}, value = %e2 : {kv}, capture[0] = %e3 : {kt}, capture[1] = %e4 : tensor<f32>,
                 scale = %e4 : tensor<f32>, sink_capture[0] = %e3 : {kt}) scale(%scale)
            {score} {gradient} mask causal {sink}
        return {', '.join(f'%g#{n}' for n in range(7))} : {', '.join(results)}
      }}"""
    values = [q, k, v, table, np.float64(cap), np.float64(scale), sinks]
    direction = [np.sign(grid(*np.shape(value))) + 0.0 for value in values]

    def run(text, step, count):
        moved = [value + step * way for value, way in zip(values, direction)]
        inputs = [moved[0], moved[1], moved[2], do, dlse, moved[3], moved[6]]
        inputs = [a.astype(np.float32) for a in inputs] + [f"f32={float(moved[4])!r}", f"f32={float(moved[5])!r}"]
        return runner.run(text, inputs, count)

    gradients = run(backward, 0.0, 7)
    slope = sum((got * way).sum() for got, way in zip(gradients, direction))
    h = 2.0**-7
    at = {k: float(run(loss, k * h, 1)[0]) for k in (-2, -1, 1, 2)}
    difference = (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * h)
    scale_of = sum(np.abs(got * way).sum() for got, way in zip(gradients, direction))
    error = abs(difference - slope) / scale_of
    print(f"finite differences: {difference:.7f}, gradients: {slope:.7f}, error {error:.1e}")
    return loss + backward, [] if error < 1e-6 and abs(slope) > 0 else [f"error {error} of finite differences"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="fa-run")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--cases", type=int, default=24)
    parser.add_argument("--only", type=int, default=None)
    parser.add_argument("--target", default="reference", choices=["reference", "cpu", "interpret", "cuda"])
    parser.add_argument("--chip", default="sm_90a", help="of the schedules that --target=interpret and cuda run")
    parser.add_argument("--most", type=int, default=9, help="largest number of queries and of keys")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbits(32))
    print(f"{options.cases} cases, seed {seed}")
    runner, failures, passed = Runner(options.program, options.target, options.chip), 0, 0
    # Differences of what is rounded to f32 say nothing of derivatives.
    cases = options.cases + (options.target == "reference")
    for case in range(cases) if options.only is None else [options.only]:
        rng = random.Random(seed * 1000 + case)
        try:
            if case == options.cases:
                text, errors = finite_differences(rng, runner)
            elif case % 3 == 2 and options.target == "reference":
                text, errors = steps(Problem(rng, options.most, lengths=False), rng, runner)
            else:
                text, errors = whole(Problem(rng, options.most, on_gpu=runner.on_gpu), rng, runner)
        except RuntimeError as error:
            text, errors = (runner.folder / "a.mlir").read_text(), [str(error)]
        if errors:
            failures += 1
            print(f"case {case}: {'; '.join(errors)}")
            if options.only is not None:
                print(text)
        else:
            passed += 1
    print(f"{passed} passed, {failures} failed")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
