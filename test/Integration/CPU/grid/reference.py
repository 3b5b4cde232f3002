"""Attention in float64 with numpy, for problems of the grid.

Written from the pinned semantics only. It materialises the scores of one batch
item at a time.
"""

import numpy as np

from .clauses import Indices

# Dimensions in the order that the computation wants.
ORDER = "bhsd"


def arrange(array, dims):
    """An operand with dims such as "bshd" as (batch, heads, sequence, head dim)."""
    return np.transpose(array, [dims.index(dim) for dim in ORDER])


def restore(array, dims):
    """The opposite of `arrange`."""
    return np.transpose(array, [ORDER.index(dim) for dim in dims])


def attention_of_item(query, key, value, scale, indices, score, visible):
    """One batch item: (heads, queries, d), (heads, keys, d), (heads, keys, dv).

    `score` maps scaled scores to scores. Returns o and lse.
    """
    x = score(scale * (query @ np.swapaxes(key, 1, 2)), indices)
    x = np.where(visible, x, -np.inf)
    highest = np.max(x, axis=2, keepdims=True, initial=-np.inf)
    shift = np.where(highest == -np.inf, 0.0, highest)
    weights = np.exp(x - shift)
    total = np.sum(weights, axis=2, keepdims=True)
    empty = total == 0
    output = (weights @ value) / np.where(empty, 1.0, total)
    lse = np.where(empty, -np.inf, shift + np.log(np.where(empty, 1.0, total)))
    return np.where(empty, 0.0, output), lse[:, :, 0]


def find_indices(problem, b):
    """The indices of the pairs of a batch item, and which its mask shows: heads x queries x keys."""
    function, sizes = problem.function, problem.sizes
    queries = problem.length("query_lengths", b, sizes.queries)
    keys = problem.length("key_lengths", b, sizes.keys)
    indices = Indices(b, np.arange(sizes.heads)[:, None, None], np.arange(queries)[None, :, None],
                      np.arange(keys)[None, None, :], queries, keys)
    visible = np.ones((sizes.heads, queries, keys), dtype=bool)
    for clause in function.mask:
        visible &= clause.apply(indices, *problem.captures(clause))
    return indices, visible


def attention(problem):
    """(output, lse) of a problem in float64, in the operands' own orders. Rows past
    a query length hold what the destination held."""
    function = problem.function
    query, key, value = (
        arrange(problem.arrays[name].astype(np.float64), dims)
        for name, dims in zip(("query", "key", "value"), function.dims))
    output = arrange(problem.initial_output.astype(np.float64), function.dims[3]).copy()
    lse = problem.initial_lse.astype(np.float64)
    sizes = problem.sizes
    group = sizes.heads // sizes.key_heads
    heads = np.arange(sizes.heads)
    for b in range(sizes.batch):
        indices, visible = find_indices(problem, b)
        _, queries, keys = visible.shape

        def score(s, x):
            for clause in function.score:
                s = clause.apply(s, x, *problem.captures(clause))
            return s

        with np.errstate(invalid="ignore", over="ignore"):
            o, l = attention_of_item(query[b][:, :queries], key[b][heads // group, :keys],
                                     value[b][heads // group, :keys], problem.scale,
                                     indices, score, visible)
        output[b, :, :queries] = o
        lse[b, :, :queries] = l
    return restore(output, function.dims[3]), lse
