#!/usr/bin/env python3
"""A two-layer model of torch, with causal attention and grouped heads, compiled by fa-mlir for this processor.

    pip install torch==2.12.1 torch-mlir==20261001 && python3 examples/from_torch.py [--build build]

torch.export traces the model, torch-mlir writes it as linalg, `fa-opt` raises both attentions. The last line says how far
torch's numbers and ours are apart; above 2e-5 the exit status is 1.
"""

import sys

import numpy as np
import torch
import torch.nn.functional as F
from front_ends import compare, make_weights, options, run_here
from torch_mlir import fx

BATCH, LENGTH, HEADS, KV_HEADS, DIM, WIDTH = 2, 96, 8, 2, 32, 64


def layer(x, wq, wk, wv, wo, up, down):
    y = x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + 1e-6)
    q = (y @ wq).view(BATCH, LENGTH, HEADS, DIM).transpose(1, 2)
    k = (y @ wk).view(BATCH, LENGTH, KV_HEADS, DIM).transpose(1, 2)
    v = (y @ wv).view(BATCH, LENGTH, KV_HEADS, DIM).transpose(1, 2)
    o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    x = x + o.transpose(1, 2).reshape(BATCH, LENGTH, HEADS * DIM) @ wo
    return x + F.gelu(x @ up) @ down


class Model(torch.nn.Module):
    def forward(self, x, *weights):
        return layer(layer(x, *weights[:6]), *weights[6:])


def main():
    chosen = options()
    rng = np.random.default_rng(chosen.seed)
    x = rng.standard_normal((BATCH, LENGTH, WIDTH)).astype(np.float32)
    arguments = [x, *make_weights(rng, 2, WIDTH, HEADS * DIM, KV_HEADS * DIM)]
    tensors = [torch.from_numpy(array) for array in arguments]
    text = str(fx.export_and_import(Model(), *tensors, output_type="linalg-on-tensors"))
    ours = run_here(text, arguments, chosen.build, [])
    return compare("torch", Model()(*tensors).numpy(), ours)


if __name__ == "__main__":
    sys.exit(main())
