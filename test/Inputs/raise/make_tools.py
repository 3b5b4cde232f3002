#!/usr/bin/env python3
"""Writes texts of this folder again: attention of JAX and torch after other compilers' tools.

    pip install jax==0.10.2 flax==0.12.8 torch==2.12.1 torch-mlir==20261001 iree-base-compiler==3.13.0
    python3 make_tools.py [--check] [FOLDER]

--check compares with what is there and writes nothing. `*.torch-mlir.linalg.mlir` and `*.iree.linalg.mlir` are a JAX program
after the tool's passes from StableHLO to linalg; `iree_*` are a torch program that IREE takes to its own attention operation.
"""

import functools
import subprocess
import sys
import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import rewrite
import torch
import torch.nn.functional as F
from jax import export
from make_jax import heads, spec
from make_torch import Program
from torch_mlir import fx

VERSIONS = {"jax": "0.10.2", "torch": "2.12.1", "torch-mlir": "20261001", "iree-base-compiler": "3.13.0"}
TOOLS = {"torch-mlir": (f"torch-mlir-opt-{VERSIONS['torch-mlir']}",
                        ["torch-mlir-opt", "--inline", "--symbol-dce", "--stablehlo-legalize-to-linalg"]),
         "iree": (f"iree-opt-{VERSIONS['iree-base-compiler']}",
                  ["iree-opt", "--iree-stablehlo-input-transformation-pipeline"])}
attention = jax.nn.dot_product_attention
JAX_PROGRAMS = {
    "jax_dpa_causal_f32": (lambda q, k, v: attention(q, k, v, is_causal=True), heads()),
    "jax_dpa_gqa_f32": (lambda q, k, v: attention(q, k, v), heads(count=8, kv_heads=2)),
    "jax_dpa_bias_f32": (lambda q, k, v, bias: attention(q, k, v, bias=bias), (*heads(), spec(1, 4, 128, 128))),
    "jax_einsum_f32": (lambda q, k, v: jnp.einsum(
        "bhts,bshd->bthd", jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q, k) * 0.125, axis=-1), v), heads()),
    "jax_single_head_2d": (lambda q, k, v: jax.nn.softmax(q @ k.T * 0.125, axis=-1) @ v, [spec(128, 64)] * 3),
}
BATCH, QUERIES, KEYS = (torch.export.Dim(name, min=2, max=4096) for name in ("batch", "queries", "keys"))
IREE_PROGRAMS = {
    "iree_sdpa_causal_bf16": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), torch.bfloat16, None),
    "iree_sdpa_dynamic": (F.scaled_dot_product_attention, torch.float32,
                          {"arguments": ({0: BATCH, 2: QUERIES}, {0: BATCH, 2: KEYS}, {0: BATCH, 2: KEYS})}),
}


def tool(command, text):
    folder = Path(sys.executable).parent
    return subprocess.run([folder / command[0], *command[1:], "-"], input=text, text=True, capture_output=True,
                          check=True).stdout


def write_jax(name, kind):
    function, specs = JAX_PROGRAMS[name]
    label, command = TOOLS[kind]
    text = tool(command, export.export(jax.jit(function))(*specs).mlir_module())
    return f"// from jax-{VERSIONS['jax']}+{label} | fa.attention expected: 1\n{text}"


def write_iree(name):
    function, dtype, dynamic = IREE_PROGRAMS[name]
    arguments = [torch.zeros(2, 4, 128, 64, dtype=dtype) for _ in range(3)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = fx.export_and_import(Program(function), *arguments, output_type="raw", decomposition_table={},
                                      dynamic_shapes=dynamic)
    # The attention operation is there once the input is read; other tools read the generic form.
    text = tool(["iree-compile", "--iree-input-type=torch", "--compile-to=input", "--mlir-print-op-generic",
                 "--iree-hal-target-backends=llvm-cpu"], str(module))
    return f"// from iree-{VERSIONS['iree-base-compiler']} | fa.attention expected: 1\n{text}"


TEXTS = {f"{name}.{kind}.linalg.mlir": functools.partial(write_jax, name, kind) for name in JAX_PROGRAMS for kind in TOOLS}
TEXTS |= {f"{name}.linalg_ext.mlir": functools.partial(write_iree, name) for name in IREE_PROGRAMS}

if __name__ == "__main__":
    sys.exit(rewrite.main(VERSIONS, TEXTS))
