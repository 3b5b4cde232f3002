#!/usr/bin/env python3
"""Raises spellings at the edge of attention: rows that see no key, weights that conditions hide, and what is no softmax.

    python3 edges.py --opt build/bin/fa-opt --run build/bin/fa-run [--only NAME]

`CASES` gives each spelling's steps, and whether it is an attention. Source and raised text agree to 1e-10 in float64, with NaN at the
same places; query 0 of the mask `later` sees no key. --only prints the text of one. The last line is `N passed, N failed`.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

from wide import difference, evaluate, run

BOUND = 1e-10
PAIRS, ROWS, SEEN, OUTPUT = "tensor<2x5x7xf32>", "tensor<2x5xf32>", "tensor<5x7xi1>", "tensor<2x5x8xf32>"
HEAD = f"""#pair = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#seen = affine_map<(b, i, j) -> (i, j)>
#rows = affine_map<(b, i) -> (b, i)>
#places = affine_map<(i, j) -> (i, j)>
func.func @main(%q: {OUTPUT}, %k: tensor<2x7x8xf32>, %v: tensor<2x7x8xf32>, %number: i64) -> {OUTPUT} {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %none = arith.constant 0 : i64
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %pairs = tensor.empty() : {PAIRS}
  %of_rows = tensor.empty() : {ROWS}
  %of_seen = tensor.empty() : {SEEN}
  %zeros = linalg.fill ins(%zero : f32) outs(%pairs : {PAIRS}) -> {PAIRS}
  %zero_rows = linalg.fill ins(%zero : f32) outs(%of_rows : {ROWS}) -> {ROWS}
  %least_rows = linalg.fill ins(%infinity : f32) outs(%of_rows : {ROWS}) -> {ROWS}
  %s = linalg.batch_matmul
      indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>,
                       affine_map<(b, i, j, d) -> (b, i, j)>]
      ins(%q, %k : {OUTPUT}, tensor<2x7x8xf32>) outs(%zeros : {PAIRS}) -> {PAIRS}
"""
# Tensors of pairs are %s, %p, ...; those of rows are %m, %l, ...; masks are words.
KINDS = {"causal": ("#seen", SEEN), "later": ("#seen", SEEN), "behind": ("#seen", SEEN), "either": ("#seen", SEEN)}
MASKS = {"causal": "%r = arith.cmpi sle, %j, %i : index", "later": "%r = arith.cmpi slt, %j, %i : index",
         "behind": "%r = arith.cmpi sge, %j, %c3 : index",
         "either": "%a = arith.cmpi sle, %j, %i : index\n    %b = arith.cmpi eq, %j, %c3 : index\n    %r = arith.xori %a, %b : i1"}


def kind(name):
    return KINDS.get(name) or (("#row", ROWS) if name[0] in "ml" else ("#pair", PAIRS))


def generic(name, inputs, loops, output, destination, body):
    operands = ", ".join(f"%{each}" for each in inputs)
    maps = ", ".join([each_map for each_map, _ in inputs.values()] + [output[0]])
    types = ", ".join(each_type for _, each_type in inputs.values())
    element = lambda type: type.split("x")[-1].rstrip(">")
    arguments = ", ".join([f"%x{i}: {element(type)}" for i, (_, type) in enumerate(inputs.values())]
                          + [f"%out: {element(output[1])}"])
    lines = "".join(f"    {line.strip()}\n" for line in body.split("\n"))
    return (f"  %{name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}}"
            + (f" ins({operands} : {types})" if inputs else "") + f" outs(%{destination} : {output[1]}) {{\n  ^bb0({arguments}):\n"
            + lines + f"    linalg.yield %r : {element(output[1])}\n  }} -> {output[1]}\n")


def each(name, inputs, body):
    """A tensor of pairs from the elements of others."""
    loops = '"parallel", "parallel", "parallel"'
    return generic(name, {of: kind(of) for of in inputs.split()}, loops, ("#pair", PAIRS), "pairs", body)


def row(name, of, body):
    return generic(name, {of: ("#rows", ROWS)}, '"parallel", "parallel"', ("#rows", ROWS), "of_rows", body)


def reduce(name, of, start, op):
    loops = '"parallel", "parallel", "reduction"'
    return generic(name, {of: ("#pair", PAIRS)}, loops, ("#row", ROWS), start, f"%r = arith.{op} %x0, %out : f32")


def mask(name):
    body = f"%i = linalg.index 0 : index\n%j = linalg.index 1 : index\n{MASKS[name]}"
    return generic(name, {}, '"parallel", "parallel"', ("#places", SEEN), "of_seen", body)


def hide(name, by, of, number="zero"):
    return each(name, f"{by} {of}", f"%r = arith.select %x0, %x1, %{number} : f32")


def scores(by):
    """The scores %x, hidden by a mask, and their maximum %m."""
    return mask(by) + hide("x", by, "s", "infinity") + MAXIMUM


def add_up(name="l", of="p"):
    return reduce(name, of, "zero_rows", "addf")


def divide(name, of, by="l"):
    return each(name, f"{of} {by}", "%r = arith.divf %x0, %x1 : f32")


MAXIMUM = reduce("m", "x", "least_rows", "maximumf")
ALL = each("x", "s", "%r = arith.addf %x0, %zero : f32") + MAXIMUM
EXPONENTIAL = each("p", "x m", "%d = arith.subf %x0, %x1 : f32\n%r = math.exp %d : f32")
FINITE = row("mf", "m", "%c = arith.cmpf oeq, %x0, %infinity : f32\n%r = arith.select %c, %zero, %x0 : f32")
OF_FINITE = each("p", "x mf", "%d = arith.subf %x0, %x1 : f32\n%r = math.exp %d : f32")
NO_MAXIMUM = each("p", "x", "%r = math.exp %x0 : f32")
GUARD = row("lg", "l", "%c = arith.cmpf oeq, %x0, %zero : f32\n%r = arith.select %c, %one, %x0 : f32")
CHOICE = each("c", "causal", "%r = arith.select %x0, %one, %zero : f32")
PRODUCT = each("w", "p c", "%r = arith.mulf %x0, %x1 : f32")
LOGARITHM = each("d", "x m", "%r = arith.subf %x0, %x1 : f32") + each("p", "d", "%r = math.exp %x0 : f32") + add_up()
OF_LOGARITHM = each("o", "d l", "%g = math.log %x1 : f32\n%e = arith.subf %x0, %g : f32\n%r = math.exp %e : f32")
POWER = each("o", "d l", "%g = math.log %x1 : f32\n%e = arith.subf %x0, %g : f32\n%t = arith.mulf %e, %two : f32\n%r = math.exp %t : f32")
LATER = scores("later")
WEIGHTS = mask("later") + ALL + EXPONENTIAL + hide("w", "later", "p") + add_up(of="w")
# The last tensor of pairs multiplies the values.
CASES = {
    # Rows that see no key are NaN, or 0 where something guards them.
    "plain": (True, LATER + EXPONENTIAL + add_up() + divide("o", "p")),
    "no_maximum": (True, LATER + NO_MAXIMUM + add_up() + divide("o", "p")),
    "no_maximum_guarded_sum": (True, LATER + NO_MAXIMUM + add_up() + GUARD + divide("o", "p", "lg")),
    "guarded_sum": (True, LATER + EXPONENTIAL + add_up() + GUARD + divide("o", "p", "lg")),
    "finite_maximum": (True, LATER + FINITE + OF_FINITE + add_up() + divide("o", "p")),
    "finite_maximum_guarded_sum": (True, LATER + FINITE + OF_FINITE + add_up() + GUARD + divide("o", "p", "lg")),
    "hides_dividend": (True, LATER + EXPONENTIAL + hide("w", "later", "p") + add_up() + divide("o", "w")),
    "hides_quotient": (True, LATER + EXPONENTIAL + add_up() + divide("n", "p") + hide("o", "later", "n")),
    "hides_weights": (True, LATER + EXPONENTIAL + hide("w", "later", "p") + add_up(of="w") + divide("o", "w")),
    "hides_weights_guarded_sum": (True, LATER + EXPONENTIAL + hide("w", "later", "p") + add_up(of="w") + GUARD
                                  + divide("o", "w", "lg")),
    "hides_quotient_of_logarithm": (True, LATER + LOGARITHM + OF_LOGARITHM.replace("%o =", "%n =") + hide("o", "later", "n")),
    "only_weights": (True, WEIGHTS + divide("o", "w")),
    "only_weights_guarded_sum": (True, WEIGHTS + GUARD + divide("o", "w", "lg")),
    "only_weights_then_quotients": (True, WEIGHTS + divide("n", "w") + hide("o", "later", "n")),
    "scores_and_weights": (True, LATER + mask("behind") + EXPONENTIAL + hide("w", "behind", "p") + add_up(of="w") + divide("o", "w")),
    "scores_and_weights_guarded_sum": (False, LATER + mask("behind") + EXPONENTIAL + hide("w", "behind", "p") + add_up(of="w")
                                       + GUARD + divide("o", "w", "lg")),
    "scores_and_weights_then_quotients": (False, LATER + mask("behind") + EXPONENTIAL + hide("w", "behind", "p") + add_up(of="w")
                                          + divide("n", "w") + hide("o", "later", "n")),
    # Weights times 1 or 0.
    "product": (True, mask("causal") + ALL + EXPONENTIAL + CHOICE + PRODUCT + add_up(of="w") + divide("o", "w")),
    "product_of_quotient": (False, mask("causal") + ALL + EXPONENTIAL + CHOICE + add_up() + divide("p2", "p")
                            + PRODUCT.replace("%p,", "%p2,").replace("%w =", "%o =")),
    "counts_keys": (False, mask("causal") + ALL + EXPONENTIAL + CHOICE + PRODUCT + add_up(of="c") + divide("o", "w")),
    # Conditions that the sum does not have.
    "second_condition": (False, mask("causal") + mask("behind") + ALL + EXPONENTIAL + hide("w", "behind", "p") + add_up(of="w")
                         + hide("w2", "causal", "w") + divide("o", "w2")),
    "second_condition_of_quotient": (False, mask("causal") + mask("behind") + ALL + EXPONENTIAL + hide("w", "behind", "p")
                                     + add_up(of="w") + divide("n", "w") + hide("o", "causal", "n")),
    "logarithm": (True, ALL + LOGARITHM + OF_LOGARITHM),
    "power_by_logarithm": (False, ALL + LOGARITHM + POWER),
    "either_mask": (True, scores("either") + EXPONENTIAL + add_up() + divide("o", "p")),
    # A number that may be negative is no size.
    "negative_number": (True, each("x", "s", "%c = arith.cmpi sge, %number, %none : i64\n%t = arith.mulf %x0, %two : f32\n"
                                             "%r = arith.select %c, %x0, %t : f32")
                        + MAXIMUM + EXPONENTIAL + add_up() + divide("o", "p")),
}


def write(steps):
    return HEAD + steps + f"""  %init = linalg.fill ins(%zero : f32) outs(%q : {OUTPUT}) -> {OUTPUT}
  %result = linalg.batch_matmul ins(%o, %v : {PAIRS}, tensor<2x7x8xf32>) outs(%init : {OUTPUT}) -> {OUTPUT}
  return %result : {OUTPUT}
}}
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--only", choices=CASES)
    options = parser.parse_args()
    if options.only:
        print(write(CASES[options.only][1]))
        return 0
    rng = np.random.default_rng(5)
    arguments = [rng.standard_normal(shape).astype(np.float32) for shape in ((2, 5, 8), (2, 7, 8), (2, 7, 8))] + [np.int64(-3)]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, (is_attention, steps) in CASES.items():
            path = Path(folder) / f"{name}.mlir"
            path.write_text(write(steps))
            # Printed as evaluate reads it.
            source, raised = (run([options.opt, str(path), *passes]) for passes in ((), ("--fa-raise-attention",)))
            count = len(re.findall(r"^ *%\S+ = fa\.attention\b", raised, re.M))
            found, expected = (evaluate(options.run, text, arguments, folder, name)[0] for text in (raised, source))
            error = difference(found, expected)
            good = count == is_attention and error <= BOUND
            failed += not good
            print(f"{'' if good else 'FAILED '}{name}: {count}, error {error:.1e}, {np.isnan(expected).sum()} NaN")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
