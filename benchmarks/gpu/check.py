"""Outputs against float64: a fast wrong answer is no result."""

import math

import torch


def heads_to_check(batch, heads):
    return sorted({(0, 0), (batch - 1, heads - 1), (batch // 2, heads // 3)})


def attention(q, k, v, score=None, mask=None, rows=None, block=2048, lse=False, factor=None):
    """One head in float64: q (queries, dim), k and v (keys, dim). `score(s, i, j)`, `mask(i, j)` and
    `factor(i, j)`, of weights, take the scaled scores, and the numbers of queries and keys as a column and
    a row. `rows`: which queries. With `lse`, also the log-sum-exp of each."""
    rows = torch.arange(len(q), device=q.device) if rows is None else rows
    k, v = k.double(), v.double()
    outputs, sums = [], []
    key = torch.arange(len(k), device=q.device)
    for query in rows.split(block):
        scores = q[query].double() @ k.T / math.sqrt(q.shape[1])
        query = query[:, None]
        if score:
            scores = score(scores, query, key)
        if mask:
            scores = scores.masked_fill(~mask(query, key), -math.inf)
        weights = torch.softmax(scores, -1)
        outputs.append((weights * factor(query, key) if factor else weights) @ v)
        sums.append(torch.logsumexp(scores, -1))
    return (torch.cat(outputs), torch.cat(sums)) if lse else torch.cat(outputs)


class Reference:
    """Some heads in float64. `score`, `mask` and `factor`, where there are any, take the batch item and the
    head first and give what `attention` takes. Query heads share key heads by groups. `rows`: which queries."""

    def __init__(self, q, k, v, score=None, mask=None, rows=None, factor=None):
        self.rows = slice(None) if rows is None else rows
        group = q.shape[2] // k.shape[2]
        self.heads = {(b, h): attention(q[b, :, h], k[b, :, h // group], v[b, :, h // group],
                                        score and score(b, h), mask and mask(b, h), rows,
                                        factor=factor and factor(b, h))
                      for b, h in heads_to_check(q.shape[0], q.shape[2])}

    def error(self, output):
        """The norm of the difference over that of the reference, over the heads checked."""
        difference = sum((output[b, self.rows, h].double() - head).norm() ** 2
                         for (b, h), head in self.heads.items())
        norm = sum(head.norm() ** 2 for head in self.heads.values())
        return (difference / norm).sqrt().item()


def gradients(q, k, v, gradient, score=None, mask=None, block=2048, factor=None):
    """dq, dk and dv of one head, by torch's autograd in float64; arguments as `attention`'s. `gradient` is dO."""
    q, k, v = (x.double().detach().requires_grad_() for x in (q, k, v))
    sums = [torch.zeros_like(x) for x in (q, k, v)]
    with torch.enable_grad():
        for rows in torch.arange(len(q), device=q.device).split(block):
            output = attention(q, k, v, score, mask, rows, block, factor=factor)
            for total, part in zip(sums, torch.autograd.grad(output, (q, k, v), gradient[rows].double())):
                total += part
    return sums


class GradientReference:
    """dq, dk and dv in float64, of some heads. Of grouped heads a key head needs its whole group."""

    def __init__(self, q, k, v, gradient, score=None, mask=None, factor=None):
        self.group = group = q.shape[2] // k.shape[2]
        self.heads = {}
        for b, h in heads_to_check(q.shape[0], k.shape[2]):
            found = [gradients(q[b, :, i], k[b, :, h], v[b, :, h], gradient[b, :, i],
                               score and score(b, i), mask and mask(b, i), factor=factor and factor(b, i))
                     for i in range(h * group, (h + 1) * group)]
            dq, dk, dv = zip(*found)
            self.heads[b, h] = torch.stack(dq, 1), sum(dk), sum(dv)

    def error(self, found):
        """The largest of the three gradients' errors, each the norm of the difference over that of the reference."""
        dq, dk, dv = found
        errors = []
        for i in range(3):
            difference = norm = 0
            for (b, h), right in self.heads.items():
                got = (dq[b, :, h * self.group:(h + 1) * self.group], dk[b, :, h], dv[b, :, h])[i]
                difference += (got.double() - right[i]).norm() ** 2
                norm += right[i].norm() ** 2
            errors.append((difference / norm).sqrt().item())
        return math.nan if any(map(math.isnan, errors)) else max(errors)


def causal(queries, keys):
    """A causal mask for `Reference`, aligned to the last key."""
    return lambda b, h: lambda i, j: j <= i + (keys - queries)
