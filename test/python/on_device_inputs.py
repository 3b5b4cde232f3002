"""Inputs of the checks and times on a device, queries, keys and values (batch, rows, heads, head dim), and what
attention of them is, in float64."""

import torch

BOUNDS = {torch.float16: 1e-3, torch.bfloat16: 6e-3, torch.float32: 2e-6}


def make_inputs(batch=2, queries=300, keys=300, heads=4, key_heads=2, head_dim=64, dtype=torch.bfloat16, gradient=False):
    shapes = (batch, queries, heads, head_dim), (batch, keys, key_heads, head_dim), (batch, keys, key_heads, head_dim)
    return [torch.randn(shape, device="cuda", dtype=dtype, requires_grad=gradient) for shape in shapes]


def expect(query, key, value, causal=None, window=None, softcap=None, alibi=None, bias=None, mask=None, scale=None,
           key_lengths=None, sink=None, score=None):
    query, key, value = (tensor.double().transpose(1, 2) for tensor in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    key, value = (tensor.repeat_interleave(groups, 1) for tensor in (key, value))
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    queries, keys = scores.shape[-2:]
    lengths = torch.full((query.shape[0],), keys, device="cuda") if key_lengths is None else key_lengths
    shift = (lengths - queries)[:, None, None, None]
    i, j = torch.arange(queries, device="cuda")[:, None], torch.arange(keys, device="cuda")
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if alibi is not None:
        scores = scores - alibi.double()[:, None, None] * (i + shift - j).abs()
    if bias is not None:
        scores = scores + bias.double()
    if score is not None:
        batch, heads = torch.arange(query.shape[0], device="cuda"), torch.arange(query.shape[1], device="cuda")
        scores = score(scores, batch[:, None, None, None], heads[:, None, None], i, j)
    visible = (j < lengths[:, None, None, None]).expand(scores.shape)
    diagonal = 0 if causal == "top_left" else shift
    if causal:
        visible = visible & (j <= i + diagonal)
    if window is not None:
        visible = visible & (j >= i + diagonal - window[0]) & (j <= i + diagonal + window[1])
    if mask is not None:
        visible = visible & mask
    scores = scores.masked_fill(~visible, -torch.inf)
    if sink is not None:
        scores = torch.cat([scores, sink.double()[:, None, None].expand(*scores.shape[:3], 1)], -1)
    weights = scores.softmax(-1).nan_to_num(0)[..., :keys]
    return (weights @ value).transpose(1, 2), scores.logsumexp(-1)


def relative_error(got, expected):
    return float((got.double() - expected).norm() / expected.norm().clamp(min=1e-30))
