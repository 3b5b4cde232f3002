#!/usr/bin/env python3
"""Spellings of log-sum-exp beside an attention, raised and evaluated in float64.

    python3 logsumexp.py --opt build/bin/fa-opt --run build/bin/fa-run [--seed SEED]

Each of `VARIANTS` is a function that returns softmax(Q K) V and a logarithm of the softmax's sums. Source and raised text agree
to 1e-10, with NaN at the same places. Where the numbers of a source make its logarithm another one than the attention's, such as
ln(2) in f32, the text stays, and a remark names both numbers. The last line is `N passed, N failed`.
"""

import argparse
import os
import secrets
import subprocess
import sys
import tempfile
from dataclasses import dataclass

import numpy as np

from wide import difference, evaluate, random_array

BOUND = 1e-10
# In f32: 1.9e-9 and 1.9e-8 from the numbers they stand for.
LN2, LOG2E = "0.693147182", "1.44269502"


@dataclass
class Variant:
    name: str
    # Of a score %a and the maximum %m.
    weight: str
    # Of the sum %t and the maximum %m.
    logarithm: str
    # Factor of the maximum in the source, and in the attention's logarithm; none where it is raised.
    numbers: tuple = ()
    has_maximum: bool = True
    # Without keys for the first rows.
    is_masked: bool = False
    element: str = "f32"


def subtract(op, *more):
    return "; ".join(["%d = arith.subf %a, %m : f32", *more, f"%r = math.{op} {'%e' if more else '%d'} : f32"])


def times(name, value, number, op="mulf"):
    return f"{name}n = arith.constant {number} : f32; {name} = arith.{op} {value}, {name}n : f32"


LOG, LOG2 = "%l = math.log %t : f32", "%l = math.log2 %t : f32"
SUM = "%r = arith.addf %l, %m : f32"
VARIANTS = [
    Variant("natural", subtract("exp"), f"{LOG}; {SUM}"),
    Variant("natural_without_keys", subtract("exp"), f"{LOG}; {SUM}", is_masked=True),
    Variant("natural_rounded", subtract("exp"), f"{LOG}; %s = arith.addf %m, %l : f32; %r = arith.truncf %s : f32 to bf16",
            element="bf16"),
    Variant("natural_doubled", subtract("exp"), f"{LOG}; %s = arith.addf %l, %m : f32; {times('%r', '%s', '2.0')}"),
    Variant("natural_negated", subtract("exp"), f"{LOG}; %s = arith.addf %l, %m : f32; %r = arith.negf %s : f32"),
    Variant("natural_in_base_2", subtract("exp"), f"{LOG}; %s = arith.addf %l, %m : f32; {times('%r', '%s', LN2, 'divf')}"),
    Variant("natural_scaled", subtract("exp", times("%e", "%d", "0.125")), f"{LOG}; {times('%s', '%m', '0.125')}; "
            "%r = arith.addf %l, %s : f32"),
    Variant("natural_without_maximum", "%r = math.exp %a : f32", "%r = math.log %t : f32", has_maximum=False),
    Variant("base_2", subtract("exp2"), f"{LOG2}; {SUM}"),
    Variant("base_2_without_keys", subtract("exp2"), f"{LOG2}; {SUM}", is_masked=True),
    Variant("base_2_rounded", subtract("exp2"), f"{LOG2}; %s = arith.addf %l, %m : f32; %r = arith.truncf %s : f32 to bf16",
            element="bf16"),
    Variant("base_2_made_natural", subtract("exp2"), f"{LOG2}; %s = arith.addf %l, %m : f32; {times('%r', '%s', LN2)}"),
    Variant("base_2_made_natural_by_parts", subtract("exp2"), f"{LOG2}; {times('%x', '%l', LN2)}; {times('%y', '%m', LN2)}; "
            "%r = arith.addf %x, %y : f32"),
    Variant("base_2_scaled", subtract("exp2", times("%e", "%d", LOG2E)), f"{LOG2}; {times('%s', '%m', LOG2E)}; "
            "%r = arith.addf %s, %l : f32"),
    Variant("base_2_without_maximum", "%r = math.exp2 %a : f32", "%r = math.log2 %t : f32", has_maximum=False),
    Variant("natural_of_base_2_without_maximum", "%r = math.exp2 %a : f32", "%r = math.log %t : f32", has_maximum=False),
    Variant("natural_of_base_2", subtract("exp2"), f"{LOG}; {times('%s', '%m', LN2)}; %r = arith.addf %l, %s : f32",
            numbers=("0.69314718246459961", "0.69314718055994529")),
    Variant("base_2_of_natural", subtract("exp"), f"{LOG2}; {times('%s', '%l', LN2)}; %r = arith.addf %s, %m : f32",
            numbers=("1", "1.0000000027478")),
    Variant("natural_of_scaled_base_2", subtract("exp2", times("%e", "%d", LOG2E)), f"{LOG}; {SUM}",
            numbers=("1", "0.99999998665")),
    Variant("half_of_the_maximum", subtract("exp"), f"{LOG}; {times('%s', '%m', '0.5')}; %r = arith.addf %l, %s : f32",
            numbers=("0.5", "1")),
]

TEXT = """\
#pair = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @%(name)s(%%q: tensor<16x32xf32>, %%k: tensor<24x32xf32>, %%v: tensor<24x32xf32>) -> (tensor<16x32xf32>, tensor<16x%(element)s>) {
  %%zero = arith.constant 0.0 : f32
  %%least = arith.constant 0xFF800000 : f32
  %%scale = arith.constant 0.176776695 : f32
  %%c5 = arith.constant 5 : index
  %%empty = tensor.empty() : tensor<16x24xf32>
  %%er = tensor.empty() : tensor<16xf32>
  %%el = tensor.empty() : tensor<16x%(element)s>
  %%eo = tensor.empty() : tensor<16x32xf32>
  %%i = linalg.fill ins(%%zero : f32) outs(%%empty : tensor<16x24xf32>) -> tensor<16x24xf32>
  %%product = linalg.matmul indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
      ins(%%q, %%k : tensor<16x32xf32>, tensor<24x32xf32>) outs(%%i : tensor<16x24xf32>) -> tensor<16x24xf32>
  %%scores = linalg.generic {indexing_maps = [#pair, #pair], iterator_types = ["parallel", "parallel"]}
      ins(%%product : tensor<16x24xf32>) outs(%%empty : tensor<16x24xf32>) {
  ^bb0(%%a: f32, %%out: f32):
    %%y = arith.mulf %%a, %%scale : f32
    %%row = linalg.index 0 : index
    %%key = linalg.index 1 : index
    %%later = arith.addi %%key, %%c5 : index
    %%sees = arith.cmpi sle, %%later, %%row : index
    %%masked = arith.select %%sees, %%y, %%least : f32
    linalg.yield %(score)s : f32
  } -> tensor<16x24xf32>
%(maximum)s  %%p = linalg.generic {indexing_maps = [#pair, %(map)s#pair], iterator_types = ["parallel", "parallel"]}
      ins(%%scores%(max)s : tensor<16x24xf32>%(type)s) outs(%%empty : tensor<16x24xf32>) {
  ^bb0(%%a: f32, %(parameter)s%%out: f32):
    %(weight)s
    linalg.yield %%r : f32
  } -> tensor<16x24xf32>
  %%ti = linalg.fill ins(%%zero : f32) outs(%%er : tensor<16xf32>) -> tensor<16xf32>
  %%sum = linalg.reduce { arith.addf } ins(%%p : tensor<16x24xf32>) outs(%%ti : tensor<16xf32>) dimensions = [1]
  %%lse = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, %(place)saffine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%%sum%(max)s : tensor<16xf32>%(type)s) outs(%%el : tensor<16x%(element)s>) {
  ^bb0(%%t: f32, %(parameter)s%%out: %(element)s):
    %(logarithm)s
    linalg.yield %%r : %(element)s
  } -> tensor<16x%(element)s>
  %%n = linalg.generic {indexing_maps = [#pair, #row, #pair], iterator_types = ["parallel", "parallel"]}
      ins(%%p, %%sum : tensor<16x24xf32>, tensor<16xf32>) outs(%%empty : tensor<16x24xf32>) {
  ^bb0(%%a: f32, %%b: f32, %%out: f32):
    %%r = arith.divf %%a, %%b : f32
    linalg.yield %%r : f32
  } -> tensor<16x24xf32>
  %%oi = linalg.fill ins(%%zero : f32) outs(%%eo : tensor<16x32xf32>) -> tensor<16x32xf32>
  %%o = linalg.matmul ins(%%n, %%v : tensor<16x24xf32>, tensor<24x32xf32>) outs(%%oi : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %%o, %%lse : tensor<16x32xf32>, tensor<16x%(element)s>
}
"""
MAXIMUM = """\
  %mi = linalg.fill ins(%least : f32) outs(%er : tensor<16xf32>) -> tensor<16xf32>
  %max = linalg.reduce { arith.maximumf } ins(%scores : tensor<16x24xf32>) outs(%mi : tensor<16xf32>) dimensions = [1]
"""


def write(variant):
    has = variant.has_maximum
    lines = lambda body: body.replace("; ", "\n    ")
    return TEXT % {
        "name": variant.name, "element": variant.element, "score": "%masked" if variant.is_masked else "%y",
        "maximum": MAXIMUM if has else "", "max": ", %max" if has else "", "type": ", tensor<16xf32>" if has else "",
        "map": "#row, " if has else "", "place": "affine_map<(i) -> (i)>, " if has else "",
        "parameter": "%m: f32, " if has else "", "weight": lines(variant.weight), "logarithm": lines(variant.logarithm)}


def check(options, variant, arguments, folder):
    """What is wrong, or None, and a word on what happened."""
    opt = lambda text, *passes: subprocess.run([options.opt, "-", *passes], input=text, capture_output=True, text=True, check=True)
    source = opt(write(variant)).stdout
    result = opt(source, "--fa-raise-attention")
    if variant.numbers:
        written, expected = variant.numbers
        if result.stdout != source:
            return "raised", ""
        remark = f"the maximum's factor in this logarithm of sums is {written}, expected {expected}"
        return (None, "left") if remark in result.stderr else (f"no remark '{remark}' in: {result.stderr}", "")
    if "2 = fa.attention" not in result.stdout or "math.log" in result.stdout:
        return f"not raised: {result.stderr}", ""
    expected = evaluate(options.run, source, arguments, folder, f"{variant.name}.source")
    found = evaluate(options.run, result.stdout, arguments, folder, f"{variant.name}.raised")
    if np.isnan(expected[1]).any() != variant.is_masked:
        return "NaN is not where a row sees no key", ""
    error = max(difference(a, b) for a, b in zip(found, expected, strict=True))
    return (None if error <= BOUND else f"above {BOUND}"), f"error {error:.1e}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--opt", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--seed", type=int, default=os.environ.get("FA_TEST_SEED") or secrets.randbelow(2**31))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    rng = np.random.default_rng(int(options.seed))
    arguments = [random_array(rng, spec) for spec in ("16x32xf32", "24x32xf32", "24x32xf32")]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for variant in VARIANTS:
            wrong, said = check(options, variant, arguments, folder)
            failed += wrong is not None
            print(f"FAILED {variant.name}: {wrong} {said}" if wrong else f"{variant.name}: {said}")
    print(f"{len(VARIANTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
