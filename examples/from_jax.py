#!/usr/bin/env python3
"""A two-layer model of JAX, with causal attention and grouped heads, compiled by fa-mlir for this processor.

    pip install jax==0.10.2 && python3 examples/from_jax.py [--build build]

JAX exports the model as StableHLO. `fa-opt` imports that and raises both attentions; no other tool is needed. The last line
says how far JAX's numbers and ours are apart; above 2e-5 the exit status is 1.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from front_ends import compare, make_weights, options, run_here
from jax import export
from jax._src.interpreters import mlir as lowering
from jaxlib.mlir import ir

BATCH, LENGTH, HEADS, KV_HEADS, DIM, WIDTH = 2, 96, 8, 2, 32, 64


def layer(x, wq, wk, wv, wo, up, down):
    y = x / jnp.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6)
    q = (y @ wq).reshape(BATCH, LENGTH, HEADS, DIM)
    k = (y @ wk).reshape(BATCH, LENGTH, KV_HEADS, DIM)
    v = (y @ wv).reshape(BATCH, LENGTH, KV_HEADS, DIM)
    o = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    x = x + o.reshape(BATCH, LENGTH, HEADS * DIM) @ wo
    return x + jax.nn.gelu(x @ up) @ down


def model(x, *weights):
    return layer(layer(x, *weights[:6]), *weights[6:])


def stablehlo(function, arguments):
    """Generic text: what a tool without StableHLO reads."""
    exported = export.export(jax.jit(function))(*arguments)
    with lowering.make_ir_context():
        return ir.Module.parse(exported.mlir_module()).operation.get_asm(print_generic_op_form=True)


def main():
    chosen = options()
    rng = np.random.default_rng(chosen.seed)
    x = rng.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
    arguments = [x, *make_weights(rng, 2, WIDTH, HEADS * DIM, KV_HEADS * DIM)]
    ours = run_here(stablehlo(model, arguments), arguments, chosen.build,
                    ["--allow-unregistered-dialect", "--fa-import-stablehlo"])
    return compare("JAX", np.asarray(jax.jit(model)(*arguments)), ours)


if __name__ == "__main__":
    sys.exit(main())
