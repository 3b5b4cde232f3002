"""Interprets scores that caps of run time bound, or do not, and compares them with float64.

    bounded_scores.py CHIP FOLDER

Where all scores are known to be small there is no running maximum: a range that is too narrow makes weights that are no
numbers, and one that is too wide keeps the maximum, which is checked too.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

CHIP, FOLDER = sys.argv[1:]
# What is made of %t, the tanh of a score, and of %c, a number of run time; and whether that has a bound of 50.
SCORES = {
    "held": ("%l = arith.maximumf %c, %low : f32; %k = arith.minimumf %l, %high : f32; %z = arith.mulf %t, %k : f32", True),
    "held_below": ("%k = arith.maximumf %c, %low : f32; %z = arith.mulf %t, %k : f32", False),
    "held_above": ("%k = arith.minimumf %c, %high : f32; %z = arith.mulf %t, %k : f32", False),
    "size": ("%a = math.absf %c : f32; %k = arith.minimumf %a, %high : f32; %z = arith.mulf %t, %k : f32", True),
    "size_below": ("%a = math.absf %c : f32; %k = arith.maximumf %a, %low : f32; %z = arith.mulf %t, %k : f32", False),
    "opposite": ("%l = arith.maximumf %c, %low : f32; %n = arith.negf %l : f32; %k = arith.maximumf %n, %low : f32;"
                 "%z = arith.mulf %t, %k : f32", True),
    "opposite_below": ("%l = arith.minimumf %c, %high : f32; %n = arith.negf %l : f32;"
                       "%k = arith.maximumf %n, %low : f32; %z = arith.mulf %t, %k : f32", False),
    "twice": ("%l = arith.maximumf %c, %low : f32; %k = arith.minimumf %l, %high : f32; %u = arith.mulf %t, %t : f32;"
              "%z = arith.mulf %u, %k : f32", True),
    "product": ("%l = arith.maximumf %c, %low : f32; %k = arith.minimumf %l, %high : f32;"
                "%u = arith.mulf %k, %k : f32; %z = arith.mulf %t, %u : f32", False),
    "small_product": ("%l = arith.maximumf %c, %few : f32; %k = arith.minimumf %l, %more : f32;"
                      "%u = arith.mulf %k, %k : f32; %z = arith.mulf %t, %u : f32", True),
    "size_of_scores": ("%l = arith.maximumf %c, %low : f32; %k = arith.minimumf %l, %high : f32;"
                       "%u = arith.mulf %t, %k : f32; %z = math.absf %u : f32", True),
    "held_scores": ("%u = arith.mulf %t, %c : f32; %l = arith.maximumf %u, %low : f32;"
                    "%z = arith.minimumf %l, %high : f32", True),
    "number_or_none": ("%l = arith.maxnumf %c, %low : f32; %k = arith.minnumf %l, %high : f32;"
                       "%z = arith.mulf %t, %k : f32", False),
    "none_or_number": ("%l = arith.maximumf %c, %low : f32; %k = arith.minimumf %l, %high : f32;"
                       "%m = arith.minnumf %k, %far : f32; %z = arith.mulf %t, %m : f32", False),
    "lopsided": ("%l = arith.maximumf %c, %below : f32; %k = arith.minimumf %l, %more : f32; %a = math.absf %t : f32;"
                 "%z = arith.mulf %a, %k : f32", False),
    "size_of_lopsided": ("%l = arith.maximumf %c, %below : f32; %k = arith.minimumf %l, %more : f32;"
                         "%a = math.absf %k : f32; %z = arith.mulf %t, %a : f32", False),
    "sum": ("%l = arith.maximumf %c, %low : f32; %k = arith.minimumf %l, %high : f32; %u = arith.mulf %t, %k : f32;"
            "%z = arith.addf %u, %c : f32", False),
    "too_large": ("%limit = arith.constant 51.0 : f32; %l = arith.maximumf %c, %low : f32;"
                  "%k = arith.minimumf %l, %limit : f32; %z = arith.mulf %t, %k : f32", False),
}
FUNCTION = """
!mem = memref<1x200x1x64xbf16>
func.func @NAME(%query: !mem, %key: !mem, %value: !mem, %cap: f32, %output: !mem) {
  %scale = arith.constant 100.0 : f32
  fa.attention ins(%query, %key, %value : !mem, !mem, !mem) outs(%output : !mem) scale(%scale)
      score(%s, %b, %h, %i, %j) captures(%c = %cap : f32) {
        %low = arith.constant -50.0 : f32
        %high = arith.constant 50.0 : f32
        %few = arith.constant -5.0 : f32
        %more = arith.constant 7.0 : f32
        %below = arith.constant -900.0 : f32
        %far = arith.constant 1000.0 : f32
        %t = math.tanh %s : f32
        SCORE
        fa.yield %z : f32
      }
  return
}
"""
SHAPE = "--input=1x200x1x64xbf16"
CAPS = ("-10000", "-50", "-0.25", "6.5", "50", "10000")


def run(problem):
    name, cap = problem
    path = os.path.join(FOLDER, name + ".mlir")
    command = ["fa-run", path, "--chip=" + CHIP, "--target=interpret", "--verify", *[SHAPE] * 3, "--input=f32=" + cap]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode == 0 and "verified all rows" in result.stdout:
        return True
    print("failed:", name, cap, result.stdout + result.stderr)
    return False


def has_bound(name):
    """Whether the schedule is one without a running maximum."""
    with open(os.path.join(FOLDER, name + ".mlir"), "w") as file:
        file.write(FUNCTION.replace("NAME", name).replace("SCORE", SCORES[name][0].replace(";", "\n")))
    command = ["fa-opt", file.name, "--fa-to-schedule=chip=" + CHIP]
    schedule = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "fagpu.reduce max" not in schedule


os.makedirs(FOLDER, exist_ok=True)
for name, (_, expected) in SCORES.items():
    if has_bound(name) != expected:
        print(f"failed: {name} {'has no' if expected else 'has a'} bound")
problems = [(name, cap) for name in SCORES for cap in CAPS]
# What is no number is left out by minnumf and maxnumf.
problems += [("none_or_number", "nan"), ("number_or_none", "nan")]
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(run, problems))
print(f"{sum(results)} of {len(results)} runs verified")
sys.exit(not all(results))
