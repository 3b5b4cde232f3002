"""Inputs of the checks and times on a device: queries, keys and values (batch, rows, heads, head dim)."""

import torch


def make_inputs(batch=2, queries=300, keys=300, heads=4, key_heads=2, head_dim=64, dtype=torch.bfloat16, gradient=False):
    shapes = (batch, queries, heads, head_dim), (batch, keys, key_heads, head_dim), (batch, keys, key_heads, head_dim)
    return [torch.randn(shape, device="cuda", dtype=dtype, requires_grad=gradient) for shape in shapes]
