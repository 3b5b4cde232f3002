#!/usr/bin/env python3
"""Writes texts of this folder again: linalg.softmax between two products, decomposed by stock MLIR.

    python3 make_mlir.py [--check] [FOLDER]

--check compares with what is there and writes nothing. Needs mlir-opt-22 of LLVM `VERSION`.
"""

import functools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import rewrite

VERSION = "22.1"
DECOMPOSE = """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    %softmax = transform.structured.match ops{["linalg.softmax"]} in %root : (!transform.any_op) -> !transform.any_op
    %steps = transform.structured.decompose_interface %softmax : (!transform.any_op) -> !transform.any_op
    transform.yield
  }
}
"""
# Keys come transposed: linalg-specialize-generic-ops of LLVM 22 makes of a product with a transposed operand one without. A bias
# stands between the scores and their softmax; `pairs` and `rows` are sizes of tensor.empty.
PROGRAM = """func.func @main(%q: {q}, %k: {k}, %v: {v}, %bias: {s}) -> {q} {{
  %zero = arith.constant 0.0 : {element}
  %scale = arith.constant 0.125 : {element}
  {dims}
  %e = tensor.empty({pairs}) : {s}
  %f = linalg.fill ins(%zero : {element}) outs(%e : {s}) -> {s}
  %x = linalg.batch_matmul ins(%q, %k : {q}, {k}) outs(%f : {s}) -> {s}
  %factor = linalg.fill ins(%scale : {element}) outs(%e : {s}) -> {s}
  %scaled = linalg.mul ins(%x, %factor : {s}, {s}) outs(%e : {s}) -> {s}
  %biased = linalg.add ins(%scaled, %bias : {s}, {s}) outs(%e : {s}) -> {s}
  %p = linalg.softmax dimension(2) ins(%biased : {s}) outs(%e : {s}) -> {s}
  %oe = tensor.empty({rows}) : {q}
  %of = linalg.fill ins(%zero : {element}) outs(%oe : {q}) -> {q}
  %o = linalg.batch_matmul ins(%p, %v : {s}, {v}) outs(%of : {q}) -> {q}
  return %o : {q}
}}
"""
STATIC = dict(q="tensor<8x128x64xf32>", k="tensor<8x64x96xf32>", v="tensor<8x96x64xf32>", s="tensor<8x128x96xf32>", element="f32",
              dims="", pairs="", rows="")
DYNAMIC = dict(q="tensor<?x?x64xf32>", k="tensor<?x64x?xf32>", v="tensor<?x?x64xf32>", s="tensor<?x?x?xf32>", element="f32",
               dims="""%c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %q, %c0 : tensor<?x?x64xf32>
  %m = tensor.dim %q, %c1 : tensor<?x?x64xf32>
  %n = tensor.dim %v, %c1 : tensor<?x?x64xf32>""", pairs="%b, %m, %n", rows="%b, %m")
PROGRAMS = {"mlir_softmax_f32": (STATIC, None),
            "mlir_softmax_dynamic": (DYNAMIC, "3x5x64xf32, 3x64x7xf32, 3x7x64xf32, 3x5x7xf32")}


def run(*arguments, **options):
    return subprocess.run(["mlir-opt-22", *arguments], check=True, capture_output=True, text=True, **options).stdout


def dump(name):
    found = re.search(r"LLVM version (\d+\.\d+)", run("--version")).group(1)
    if found != VERSION:
        sys.exit(f"error: mlir-opt-22 is {found}, expected {VERSION}")
    fields, arguments = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "decompose.mlir"
        library.write_text(DECOMPOSE)
        text = run(f"--transform-preload-library=transform-library-paths={library}", "--transform-interpreter",
                   input=PROGRAM.format(**fields))
    said = f"// arguments: {arguments}\n" if arguments else ""
    return f"// from mlir-{VERSION} | fa.attention expected: 1\n{said}{text}"


if __name__ == "__main__":
    sys.exit(rewrite.main({}, {f"{name}.linalg.mlir": functools.partial(dump, name) for name in PROGRAMS}))
