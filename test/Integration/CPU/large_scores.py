#!/usr/bin/env python3
"""Scores of an additive mask, as large as f32 has them: whole rows, halves of rows, single keys.

    python3 large_scores.py --build FOLDER --seed N

Attention and its gradients, and keys in parts, of each element type on a CPU and in the interpreter of
GPU schedules, against the float64 evaluator. An lse of such a size has no digit for a sum: rows with only
such scores give no gradient. A bounded function times a large number too. Prints `N passed, N failed`.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

QUERIES, KEYS = 64, 128
LEAST = float(np.finfo(np.float32).min)
ELEMENTS = {"bf16": ml_dtypes.bfloat16, "f16": np.float16, "f32": np.float32}

GRADIENT = """func.func @attend(%q: {q}, %k: {k}, %v: {k}, %mask: {mask}, %gradient: {q}) -> ({q}, {lse}, {q}, {k}, {k}, {mask}) {{
  %rows = tensor.empty() : {q}
  %sums = tensor.empty() : {lse}
  %o, %lse = fa.attention ins(%q, %k, %v : {q}, {k}, {k}) outs(%rows, %sums : {q}, {lse}) score bias(%mask : {mask})
  %keys = tensor.empty() : {k}
  %masks = tensor.empty() : {mask}
  %g:4 = fa.attention_gradient ins(%q, %k, %v : {q}, {k}, {k}) of(%o, %lse : {q}, {lse}) gradients(%gradient : {q})
      outs(query = %rows : {q}, key = %keys : {k}, value = %keys : {k}, capture[0] = %masks : {mask})
      score bias(%mask : {mask})
  return %o, %lse, %g#0, %g#1, %g#2, %g#3 : {q}, {lse}, {q}, {k}, {k}, {mask}
}}
"""

BOUNDED = """func.func @attend(%q: {q}, %k: {k}, %v: {k}) -> ({q}, {lse}) {{
  %rows = tensor.empty() : {q}
  %sums = tensor.empty() : {lse}
  %o, %lse = fa.attention ins(%q, %k, %v : {q}, {k}, {k}) outs(%rows, %sums : {q}, {lse})
      score (%s, %b, %h, %i, %j) {{
        %large = arith.constant 1.0e+30 : f32
        %small = arith.constant 1.0e+05 : f32
        %steep = arith.mulf %s, %small : f32
        %sign = math.tanh %steep : f32
        %x = arith.mulf %sign, %large : f32
        fa.yield %x : f32
      }}
  return %o, %lse : {q}, {lse}
}}
"""

PARTS = """func.func @attend(%q: {q}, %k: {k}, %v: {k}, %mask: {mask}) -> ({q}, {lse}) {{
  %rows = tensor.empty() : {q}
  %sums = tensor.empty() : {lse}
  %o, %lse = fa.attention ins(%q, %k, %v : {q}, {k}, {k}) outs(%rows, %sums : {q}, {lse}) score bias(%mask : {mask})
      {{config = #fa.config<query_block = 64, key_block = 64, split_keys = 64>}}
  return %o, %lse : {q}, {lse}
}}
"""


def make_mask(random):
    """Rows 5 and 9 have no other score, rows up to 40 half of them, and a key of row 40 is all that counts."""
    mask = random.standard_normal((1, 1, QUERIES, KEYS)).astype(np.float32)
    mask[0, 0, [5, 9]] = [[LEAST], [-1e20]]
    mask[0, 0, 20:30, :KEYS // 2] = LEAST
    mask[0, 0, 30:40, KEYS // 2:] = LEAST
    mask[0, 0, 40, 17] = 1e20
    return mask


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    random = np.random.default_rng(options.seed)
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        np.save(folder / "mask.npy", make_mask(random))
        for element, dtype in ELEMENTS.items():
            np.save(folder / "gradient.npy", random.standard_normal((1, QUERIES, 2, 64)).astype(dtype))
            shapes = {"q": f"tensor<1x{QUERIES}x2x64x{element}>", "k": f"tensor<1x{KEYS}x2x64x{element}>",
                      "mask": f"tensor<1x1x{QUERIES}x{KEYS}xf32>", "lse": f"tensor<1x2x{QUERIES}xf32>"}
            for text, more in ((GRADIENT, ["--input=@mask.npy", "--input=@gradient.npy"]), (PARTS, ["--input=@mask.npy"]),
                               (BOUNDED, [])):
                (folder / "attend.mlir").write_text(text.format(**shapes))
                for target in ["--target=cpu"], ["--target=interpret", "--chip=sm_80"], ["--target=interpret", "--chip=sm_90a"]:
                    done = subprocess.run(
                        [options.build.resolve() / "bin/fa-run", "attend.mlir", "--verify", f"--seed={options.seed}", *target,
                         *(f"--input={shapes[name].removeprefix('tensor<')[:-1]}" for name in "qkk"), *more], cwd=folder, capture_output=True, text=True)
                    if done.returncode == 0 and "verified all rows" in done.stdout:
                        passed += 1
                        continue
                    failed += 1
                    print("FAIL", element, *target, *more, done.stdout, done.stderr)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
