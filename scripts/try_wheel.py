"""Compiles and runs attention with the installed package, as a new user would."""

import subprocess
import sys
import time
from pathlib import Path

start = time.perf_counter()
import fa_mlir  # noqa: E402 (timed)

imported = time.perf_counter() - start
import numpy  # noqa: E402

TEXT = """
!q = tensor<?x?x8x64xf32>
func.func @attention(%query: !q, %key: tensor<?x?x2x64xf32>, %value: tensor<?x?x2x64xf32>) -> !q {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %query, %c0 : !q
  %rows = tensor.dim %query, %c1 : !q
  %init = tensor.empty(%batch, %rows) : !q
  %output = fa.attention ins(%query, %key, %value : !q, tensor<?x?x2x64xf32>, tensor<?x?x2x64xf32>) outs(%init : !q)
      mask causal
  return %output : !q
}
"""


def expect(query, key, value):
    query, key, value = (array.astype(numpy.float64) for array in (query, key, value))
    key, value = (numpy.repeat(array, 4, axis=2) for array in (key, value))
    scores = numpy.einsum("bihd,bjhd->bhij", query, key) / 8
    rows, keys = scores.shape[-2:]
    scores[..., numpy.arange(keys)[None] > numpy.arange(rows)[:, None] + keys - rows] = -numpy.inf
    weights = numpy.exp(scores - scores.max(-1, keepdims=True))
    return numpy.einsum("bhij,bjhd->bihd", weights / weights.sum(-1, keepdims=True), value)


def main():
    random = numpy.random.default_rng()
    query = random.standard_normal((2, 300, 8, 64), dtype=numpy.float32)
    key, value = (random.standard_normal((2, 500, 2, 64), dtype=numpy.float32) for _ in range(2))
    start = time.perf_counter()
    attention = fa_mlir.compile(TEXT)
    seconds = time.perf_counter() - start
    expected = expect(query, key, value)
    error = numpy.linalg.norm(attention(query, key, value) - expected) / numpy.linalg.norm(expected)
    kernel = fa_mlir.compile(TEXT, target="cuda", chip="sm_90a", images="ptx")
    print(f"imported in {imported:.3f} s, compiled in {seconds:.2f} s, relative error {error:.1e}, "
          f"PTX of {len(kernel.ptx)} bytes")
    if error > 2e-6:
        sys.exit("error: the relative error is above 2e-6")
    try:
        fa_mlir.Runtime(driver="nowhere.so")
        sys.exit("error: the launcher opens a driver that is not there")
    except fa_mlir.Error as refusal:
        if refusal.kind != "no driver":
            raise
    Path("attention.mlir").write_text(TEXT)
    level2 = subprocess.run(["fa-opt", "attention.mlir", "--fa-to-level2"], capture_output=True, text=True, check=True)
    if "fa.online_attention" not in level2.stdout:
        sys.exit("error: fa-opt does not tile")
    verified = subprocess.run(["fa-run", "attention.mlir", "--verify", "--input=1x50x8x64xf32",
                               "--input=1x60x2x64xf32", "--input=1x60x2x64xf32"], capture_output=True, text=True)
    if verified.returncode or "verified all rows" not in verified.stdout:
        sys.exit(f"error: fa-run: {verified.stdout}{verified.stderr}")
    subprocess.run(["fa-compile", "attention.mlir", "-images=ptx", "-o", "kernels"], check=True)
    failing = subprocess.run(["fa-opt", "nowhere.mlir"], capture_output=True, text=True)
    if failing.returncode != 1 or "nowhere.mlir" not in failing.stderr:
        sys.exit(f"error: fa-opt ends with {failing.returncode}: {failing.stderr}")


if __name__ == "__main__":
    main()
