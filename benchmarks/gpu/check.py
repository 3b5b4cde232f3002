"""Outputs against float64: a fast wrong answer is no result."""

import math

import torch


def heads_to_check(batch, heads):
    return sorted({(0, 0), (batch - 1, heads - 1), (batch // 2, heads // 3)})


def attention(q, k, v, score=None, mask=None, rows=None, block=2048):
    """One head in float64: q (queries, dim), k and v (keys, dim). `score(s, i, j)` and `mask(i, j)` take
    the scaled scores, and the numbers of queries and keys as a column and a row. `rows`: which queries."""
    rows = torch.arange(len(q), device=q.device) if rows is None else rows
    k, v = k.double(), v.double()
    output = torch.empty(len(rows), v.shape[1], dtype=torch.float64, device=q.device)
    key = torch.arange(len(k), device=q.device)
    for first in range(0, len(rows), block):
        query = rows[first:first + block]
        scores = q[query].double() @ k.T / math.sqrt(q.shape[1])
        query = query[:, None]
        if score:
            scores = score(scores, query, key)
        if mask:
            scores = scores.masked_fill(~mask(query, key), -math.inf)
        output[first:first + block] = torch.softmax(scores, -1) @ v
    return output


class Reference:
    """Some heads in float64. `score` and `mask`, where there are any, take the batch item and the
    head first and give what `attention` takes. Query heads share key heads by groups. `rows`: which queries."""

    def __init__(self, q, k, v, score=None, mask=None, rows=None):
        self.rows = slice(None) if rows is None else rows
        group = q.shape[2] // k.shape[2]
        self.heads = {(b, h): attention(q[b, :, h], k[b, :, h // group], v[b, :, h // group],
                                        score and score(b, h), mask and mask(b, h), rows)
                      for b, h in heads_to_check(q.shape[0], q.shape[2])}

    def error(self, output):
        """The norm of the difference over that of the reference, over the heads checked."""
        difference = sum((output[b, self.rows, h].double() - head).norm() ** 2
                         for (b, h), head in self.heads.items())
        norm = sum(head.norm() ** 2 for head in self.heads.values())
        return (difference / norm).sqrt().item()


def causal(queries, keys):
    """A causal mask for `Reference`, aligned to the last key."""
    return lambda b, h: lambda i, j: j <= i + (keys - queries)
