"""Operations of the operators, for torch.utils.flop_counter: two for each product of visible pairs."""

from __future__ import annotations

import math

from .problem import Specification, find_rows_and_heads, from_text


def count_pairs(specification: Specification, queries: int, keys: int) -> int:
    """Visible pairs of one head, where the mask is known by its name, else all."""
    words = specification.mask.split("(")[0].split()
    if words[:1] == ["causal"]:
        return sum_clamped(queries, keys, keys - queries)
    if words[:1] == ["causal_top_left"]:
        return sum_clamped(queries, keys, 0)
    return queries * keys


def sum_clamped(queries: int, keys: int, shift: int) -> int:
    """The sum over i of the keys j <= i + shift, from 0 to all."""
    total, first = 0, max(0, -shift)
    full = max(first, min(queries, keys - shift))
    count = full - first
    total += count * (first + 1 + shift) + count * (count - 1) // 2
    return total + (queries - max(full, 0)) * keys if queries > full else total


def _count_flops(query_shape, key_shape, value_shape, tensors_shape, numbers, specification, *args, out_shape=None,
                 **kwargs) -> int:
    known = from_text(specification)
    if known.starts or known.pages:
        # How long sequences are lies in memory: all pairs of rows are counted.
        rows, keys = math.prod(query_shape[:-2]), math.prod(key_shape[:-2])
        return 2 * query_shape[-2] * rows * keys * (query_shape[-1] + value_shape[-1])
    sequence, heads = find_rows_and_heads(known.layout)
    pairs = count_pairs(known, query_shape[sequence], key_shape[sequence])
    return 2 * query_shape[0] * query_shape[heads] * pairs * (query_shape[-1] + value_shape[-1])


def _count_backward_flops(query_shape, key_shape, value_shape, output_shape, lse_shape, output_gradient_shape,
                          lse_gradient_shape, tensors_shape, numbers, specification, *args, out_shape=None,
                          **kwargs) -> int:
    return 5 * _count_flops(query_shape, key_shape, value_shape, None, None, specification) // 2


def add_flops() -> None:
    import torch
    from torch.utils.flop_counter import register_flop_formula

    register_flop_formula(torch.ops.fa_mlir.attention)(_count_flops)
    register_flop_formula(torch.ops.fa_mlir.attention_backward)(_count_backward_flops)
