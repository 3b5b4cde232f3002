#!/usr/bin/env python3
"""Numbers in bf16 and f16 that do not depend on scores keep their roundings when they are raised.

    python3 rounded.py --opt build/bin/fa-opt --run build/bin/fa-run [--only NAME]

Of 300 positions in bf16 those above 256 are even, so that a mask that compares them hides other keys than one of exact
positions. Each case is a mask or a bias of such numbers. Source and raised text are evaluated with every result rounded to its
type, and the raised text is compiled, too. `exact` is the same case without its roundings: it has to differ from the source,
so that a dropped rounding shows. `--only` prints a source. The last line is `N passed, N failed`.
"""

import argparse
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

from wide import call, difference, run

# Sums of f32 in another order; where scores are in bf16, their roundings are gone.
BOUND, BOUND_OF_NARROW = 1e-5, 1.5e-2
KEYS = 300
SCORES, ROWS, OUTPUT = f"tensor<2x{KEYS}x{KEYS}xf32>", f"tensor<2x{KEYS}xf32>", f"tensor<2x{KEYS}x8xf32>"
HEAD = f"""#pair = affine_map<(b, i, j) -> (b, i, j)>
#row = affine_map<(b, i, j) -> (b, i)>
#query = affine_map<(b, i, j) -> (i)>
#key = affine_map<(b, i, j) -> (j)>
#one = affine_map<(i) -> (i)>
#sum = affine_map<(i, j) -> (i)>
#summed = affine_map<(i, j) -> (j)>
func.func @f(%q: {OUTPUT}, %k: {OUTPUT}, %v: {OUTPUT}, %bias: {SCORES}) -> {OUTPUT} {{
  %zero = arith.constant 0.0 : f32
  %infinity = arith.constant 0xFF800000 : f32
  %pairs = tensor.empty() : {SCORES}
  %rows = tensor.empty() : {ROWS}
  %of_output = tensor.empty() : {OUTPUT}
  %zeros = linalg.fill ins(%zero : f32) outs(%pairs : {SCORES}) -> {SCORES}
  %zero_rows = linalg.fill ins(%zero : f32) outs(%rows : {ROWS}) -> {ROWS}
  %least_rows = linalg.fill ins(%infinity : f32) outs(%rows : {ROWS}) -> {ROWS}
  %s = linalg.batch_matmul
      indexing_maps = [affine_map<(b, i, j, d) -> (b, i, d)>, affine_map<(b, i, j, d) -> (b, j, d)>, affine_map<(b, i, j, d) -> (b, i, j)>]
      ins(%q, %k : {OUTPUT}, {OUTPUT}) outs(%zeros : {SCORES}) -> {SCORES}
"""


def generic(name, inputs, maps, loops, destination, type, body):
    """`body` is in terms of %x0, %x1 and so on, and of %out; it defines %r. Inputs have their types after a colon."""
    names, types = zip(*(each.split(": ") for each in inputs)) if inputs else ((), ())
    element = lambda of: of.split("x")[-1].rstrip(">")
    arguments = ", ".join([f"%x{i}: {element(of)}" for i, of in enumerate(types)] + [f"%out: {element(type)}"])
    kinds = ", ".join(f'"{kind}"' for kind in loops.split())
    ins = f"ins({', '.join(names)} : {', '.join(types)}) " if inputs else ""
    return (f"  {name} = linalg.generic {{indexing_maps = [{', '.join(maps.split())}], iterator_types = [{kinds}]}} {ins}"
            f"outs({destination} : {type}) {{\n  ^bb0({arguments}):\n    " + "\n    ".join(body.split("; "))
            + f"\n    linalg.yield %r : {element(type)}\n  }} -> {type}\n")


def positions(element, body, name="%at"):
    """A tensor of a number for each position, from its index %p in i64."""
    type = f"tensor<{KEYS}x{element}>"
    return (f"  {name}_empty = tensor.empty() : {type}\n"
            + generic(name, [], "#one", "parallel", f"{name}_empty", type,
                      f"%place = linalg.index 0 : index; %p = arith.index_cast %place : index to i64; {body}"))


def pairs(name, inputs, maps, body, type=SCORES, destination="%pairs"):
    return generic(name, inputs, maps, "parallel parallel parallel", destination, type, body)


def compare(element, condition):
    """Scores where a condition on the positions %x1 of the query and %x2 of the key holds."""
    of = f"tensor<{KEYS}x{element}>"
    return pairs("%x", [f"%s: {SCORES}", f"%at: {of}", f"%at: {of}"], "#pair #query #key #pair",
                 f"{condition}; %r = arith.select %c, %x0, %infinity : f32")


def count(element, name):
    """How many positions there are up to each, added up in a type."""
    type = f"tensor<{KEYS}x{element}>"
    return (f"  {name}_one = arith.constant 1.0 : {element}\n  {name}_none = arith.constant 0.0 : {element}\n"
            f"  {name}_empty = tensor.empty() : {type}\n"
            f"  {name}_zeros = linalg.fill ins({name}_none : {element}) outs({name}_empty : {type}) -> {type}\n"
            f"  {name}_ones = linalg.fill ins({name}_one : {element}) outs({name}_empty : {type}) -> {type}\n"
            + generic(name, [f"{name}_ones: {type}"], "#summed #sum", "parallel reduction", f"{name}_zeros", type,
                      f"%i = linalg.index 0 : index; %j = linalg.index 1 : index; %c = arith.cmpi sle, %j, %i : index; "
                      f"%t = arith.select %c, %x0, {name}_none : {element}; %r = arith.addf %out, %t : {element}"))


def softmax():
    return (generic("%m", [f"%x: {SCORES}"], "#pair #row", "parallel parallel reduction", "%least_rows", ROWS,
                    "%r = arith.maximumf %x0, %out : f32")
            + pairs("%e", [f"%x: {SCORES}", f"%m: {ROWS}"], "#pair #row #pair",
                    "%d = arith.subf %x0, %x1 : f32; %r = math.exp %d : f32")
            + generic("%l", [f"%e: {SCORES}"], "#pair #row", "parallel parallel reduction", "%zero_rows", ROWS,
                      "%r = arith.addf %x0, %out : f32")
            + pairs("%w", [f"%e: {SCORES}", f"%l: {ROWS}"], "#pair #row #pair", "%r = arith.divf %x0, %x1 : f32"))


NEAR = ("%d = arith.subf %x1, %x2 : {0}; %a = math.absf %d : {0}; %far = arith.constant 3.0 : {0}; "
        "%c = arith.cmpf olt, %a, %far : {0}")
SLOPED = ("%d = arith.subf %x2, %x1 : {0}; %slope = arith.constant 0.015625 : {0}; %third = arith.constant 0.33 : {0}; "
          "%n = arith.addf %d, %third : {0}; %t = arith.mulf %n, %slope : {0}; ")
ADDED = "; %r = arith.addf %x0, %wide : f32"
OF_F32 = f"tensor<{KEYS}xf32>"
# By name: the source, and the same without roundings.
CASES = {
    "compares_converted": (
        positions("bf16", "%r = arith.sitofp %p : i64 to bf16") + compare("bf16", "%c = arith.cmpf oge, %x1, %x2 : bf16"),
        positions("f32", "%r = arith.sitofp %p : i64 to f32") + compare("f32", "%c = arith.cmpf oge, %x1, %x2 : f32")),
    "compares_rounded": (
        positions("bf16", "%w = arith.sitofp %p : i64 to f32; %r = arith.truncf %w : f32 to bf16")
        + compare("bf16", "%c = arith.cmpf oge, %x1, %x2 : bf16"),
        positions("f32", "%r = arith.sitofp %p : i64 to f32") + compare("f32", "%c = arith.cmpf oge, %x1, %x2 : f32")),
    "compares_rounded_of_double": (
        positions("bf16", "%w = arith.sitofp %p : i64 to f64; %r = arith.truncf %w : f64 to bf16")
        + compare("bf16", "%c = arith.cmpf ogt, %x1, %x2 : bf16"),
        positions("f32", "%r = arith.sitofp %p : i64 to f32") + compare("f32", "%c = arith.cmpf ogt, %x1, %x2 : f32")),
    "compares_f16": (
        positions("f16", "%far = arith.constant 2000 : i64; %n = arith.addi %p, %far : i64; %r = arith.uitofp %n : i64 to f16")
        + compare("f16", "%c = arith.cmpf oge, %x1, %x2 : f16"),
        positions("f32", "%r = arith.uitofp %p : i64 to f32") + compare("f32", "%c = arith.cmpf oge, %x1, %x2 : f32")),
    "window": (
        positions("bf16", "%r = arith.sitofp %p : i64 to bf16") + compare("bf16", NEAR.format("bf16")),
        positions("f32", "%r = arith.sitofp %p : i64 to f32") + compare("f32", NEAR.format("f32"))),
    "bias_of_positions": (
        positions("bf16", "%r = arith.sitofp %p : i64 to bf16")
        + pairs("%x", [f"%s: {SCORES}", f"%at: tensor<{KEYS}xbf16>", f"%at: tensor<{KEYS}xbf16>"], "#pair #query #key #pair",
                SLOPED.format("bf16") + "%wide = arith.extf %t : bf16 to f32" + ADDED),
        positions("f32", "%r = arith.sitofp %p : i64 to f32")
        + pairs("%x", [f"%s: {SCORES}", f"%at: {OF_F32}", f"%at: {OF_F32}"], "#pair #query #key #pair",
                SLOPED.format("f32") + "%r = arith.addf %x0, %t : f32")),
    "bias_of_argument": (
        pairs("%x", [f"%s: {SCORES}", f"%bias: {SCORES}"], "#pair #pair #pair",
              "%n = arith.truncf %x1 : f32 to bf16; %wide = arith.extf %n : bf16 to f32" + ADDED),
        pairs("%x", [f"%s: {SCORES}", f"%bias: {SCORES}"], "#pair #pair #pair", "%r = arith.addf %x0, %x1 : f32")),
    "bias_of_exponentials": (
        pairs("%x", [f"%s: {SCORES}", f"%bias: {SCORES}"], "#pair #pair #pair",
              "%n = arith.truncf %x1 : f32 to bf16; %g = math.exp %n : bf16; %wide = arith.extf %g : bf16 to f32" + ADDED),
        pairs("%x", [f"%s: {SCORES}", f"%bias: {SCORES}"], "#pair #pair #pair", "%g = math.exp %x1 : f32; %r = arith.addf %x0, %g : f32")),
    # Sums in bf16 end at 256, and are others than those in f32 that stand beside them.
    "compares_sums": (
        count("f32", "%exact") + count("bf16", "%at")
        + pairs("%x", [f"%s: {SCORES}", f"%exact: {OF_F32}", f"%at: tensor<{KEYS}xbf16>"], "#pair #key #key #pair",
                "%w = arith.extf %x2 : bf16 to f32; %c = arith.cmpf oge, %w, %x1 : f32; %r = arith.select %c, %x0, %infinity : f32"),
        count("f32", "%at") + compare("f32", "%c = arith.cmpf oge, %x2, %x2 : f32")),
    # The scores lose their roundings, what hides them does not.
    "scores_of_bf16": (
        positions("bf16", "%r = arith.sitofp %p : i64 to bf16")
        + f"  %narrow = tensor.empty() : {SCORES.replace('f32', 'bf16')}\n  %low = arith.constant 0xFF80 : bf16\n"
        + pairs("%n", [f"%s: {SCORES}", f"%at: tensor<{KEYS}xbf16>", f"%at: tensor<{KEYS}xbf16>"], "#pair #query #key #pair",
                "%t = arith.truncf %x0 : f32 to bf16; %c = arith.cmpf oge, %x1, %x2 : bf16; "
                "%r = arith.select %c, %t, %low : bf16", SCORES.replace("f32", "bf16"), "%narrow")
        + pairs("%x", [f"%n: {SCORES.replace('f32', 'bf16')}"], "#pair #pair", "%r = arith.extf %x0 : bf16 to f32"),
        positions("f32", "%r = arith.sitofp %p : i64 to f32") + compare("f32", "%c = arith.cmpf oge, %x1, %x2 : f32")),
}


def write(steps):
    return HEAD + steps + softmax() + f"""  %init = linalg.fill ins(%zero : f32) outs(%of_output : {OUTPUT}) -> {OUTPUT}
  %result = linalg.batch_matmul ins(%w, %v : {SCORES}, {OUTPUT}) outs(%init : {OUTPUT}) -> {OUTPUT}
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
        print(write(CASES[options.only][0]))
        return 0
    rng = np.random.default_rng(11)
    arguments = [rng.standard_normal((2, KEYS, 8)).astype(np.float32) for _ in range(3)]
    arguments.append(rng.standard_normal((2, KEYS, KEYS)).astype(np.float32))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        def compute(text, name, *target):
            path = Path(folder) / f"{name}.mlir"
            path.write_text(text)
            return call([options.run, str(path), *target], arguments, 1, folder, name)[0]

        for name, (steps, exact) in CASES.items():
            source = write(steps)
            raised = run([options.opt, "-", "--fa-raise-attention"], input=source)
            attentions = len(re.findall(r"^ *%\S+ = fa\.attention\b", raised, re.M))
            declared = ("--target=reference", "--precision=declared")
            expected = compute(source, "source", *declared)
            without = difference(compute(write(exact), "exact", *declared), expected)
            errors = [difference(compute(raised, "raised", *target), expected) for target in (declared, ("--target=cpu",))]
            bound = BOUND_OF_NARROW if name == "scores_of_bf16" else BOUND
            good = attentions == 1 and max(errors) <= bound < without
            failed += not good
            print(f"{'' if good else 'FAILED '}{name}: {attentions}, errors {errors[0]:.1e} and {errors[1]:.1e}, "
                  f"without roundings {without:.1e}")
    print(f"{len(CASES) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
