#!/usr/bin/env python3
"""Writes texts of this folder again: attention as torch programs spell it, by torch-mlir.

    pip install torch==2.12.1 torch-mlir==20261001 && python3 make_torch.py [--check] [FOLDER]

--check compares with what is there and writes nothing. Each function of `PROGRAMS` is a file for each of its forms: linalg, tosa,
or tm_tensor, in which torch-mlir keeps SDPA whole. The first line says how many `fa.attention` a correct raise gives. Names that
hold `neg` have none.
"""

import functools
import math
import sys
import warnings

import rewrite
import torch
import torch.nn.functional as F
from torch_mlir import fx

VERSIONS = {"torch": "2.12.1", "torch-mlir": "20261001"}
PROGRAMS = {}


class Program(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *arguments):
        return self.function(*arguments)


def tensor(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype)


def heads(dtype=torch.float32, count=4, kv_heads=4, queries=128):
    return tensor(2, count, queries, 64, dtype=dtype), *(tensor(2, kv_heads, 128, 64, dtype=dtype) for _ in range(2))


def program(expected, *arguments, forms=("linalg",), dynamic=None, sizes=None):
    """Registers a function under its name. `dynamic` are dimensions by argument; `sizes` those that tests give them."""
    def register(function):
        PROGRAMS[function.__name__] = (function, arguments, expected, forms, dynamic, sizes)
        return function
    return register


def scores(q, k):
    return q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])


@program(1, *heads())
def torch_sdpa_f32(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@program(1, *heads(torch.bfloat16), forms=("linalg", "tosa", "tm_tensor"))
def torch_sdpa_causal_bf16(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@program(1, *heads(queries=96))
def torch_sdpa_causal_cross_f32(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@program(1, *heads(), tensor(2, 1, 128, 128, dtype=torch.bool), forms=("linalg", "tosa", "tm_tensor"))
def torch_sdpa_boolmask_f32(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@program(1, *heads(torch.bfloat16), tensor(2, 1, 128, 128, dtype=torch.bfloat16))
def torch_sdpa_floatmask_bf16(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@program(1, *heads(torch.bfloat16, count=8, kv_heads=2), forms=("linalg", "tm_tensor"))
def torch_sdpa_gqa_causal_bf16(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


@program(1, tensor(8, 128, 64), tensor(8, 128, 64), tensor(8, 128, 64))
def torch_sdpa_3d_f32(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def hf_eager(q, k, v, mask):
    groups = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(groups, dim=1) for x in (k, v)) if groups > 1 else (k, v)
    weights = torch.matmul(q, k.transpose(2, 3)) * 64 ** -0.5 + mask
    weights = F.softmax(weights, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, v).transpose(1, 2).contiguous()


@program(1, *heads(), tensor(2, 1, 128, 128), forms=("linalg", "tosa"))
def torch_hf_eager_mask_f32(q, k, v, mask):
    return hf_eager(q, k, v, mask)


@program(1, *heads(torch.bfloat16, count=8, kv_heads=2), tensor(2, 1, 128, 128, dtype=torch.bfloat16))
def torch_hf_eager_gqa_bf16(q, k, v, mask):
    return hf_eager(q, k, v, mask)


BATCH, QUERIES, KEYS = (torch.export.Dim(name, min=2, max=4096) for name in ("batch", "queries", "keys"))


@program(1, *heads(), dynamic={"arguments": ({0: BATCH, 2: QUERIES}, {0: BATCH, 2: KEYS}, {0: BATCH, 2: KEYS})},
         sizes="2x4x5x64xf32, 2x4x7x64xf32, 2x4x7x64xf32")
def torch_sdpa_dynamic(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]), dim=-1)


@program(1, *heads(), tensor(128, 64), tensor(128, 64))
def torch_rope_causal(q, k, v, cos, sin):
    q, k = (x * cos + rotate_half(x) * sin for x in (q, k))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


@program(1, *heads())
def torch_nanogpt_f32(q, k, v):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    bias = torch.tril(torch.ones(128, 128)).view(1, 1, 128, 128)
    att = att.masked_fill(bias[:, :, :128, :128] == 0, float("-inf"))
    return F.softmax(att, dim=-1) @ v


@program(1, *heads())
def torch_gpt2_where_finfo_min_div(q, k, v):
    weights = torch.matmul(q, k.transpose(-1, -2))
    weights = weights / torch.full([], v.size(-1) ** 0.5, dtype=weights.dtype)
    mask = torch.tril(torch.ones(128, 128, dtype=torch.bool)).view(1, 1, 128, 128)
    least = torch.full([], torch.finfo(weights.dtype).min, dtype=weights.dtype)
    weights = torch.where(mask, weights, least)
    return torch.matmul(F.softmax(weights, dim=-1), v)


@program(1, *heads(), tensor(8, 1, 128))
def torch_bloom_baddbmm_alibi(q, k, v, alibi):
    q, k, v = (x.reshape(8, 128, 64) for x in (q, k, v))
    scores = alibi.baddbmm(batch1=q, batch2=k.transpose(-1, -2), beta=1.0, alpha=1 / math.sqrt(64))
    weights = F.softmax(scores.view(2, 4, 128, 128), dim=-1, dtype=torch.float32)
    return torch.bmm(weights.view(8, 128, 128), v).view(2, 4, 128, 64)


@program(1, *heads(torch.bfloat16), tensor(1, 4, 128, 128, dtype=torch.bfloat16))
def torch_t5_bias_noscale_bf16(q, k, v, bias):
    scores = torch.matmul(q, k.transpose(3, 2))
    scores += bias
    weights = F.softmax(scores.float(), dim=-1).type_as(scores)
    return torch.matmul(weights, v)


@program(1, *heads())
def torch_whisper_sqrt_both(q, k, v):
    scale = 64 ** -0.25
    return F.softmax((q * scale) @ (k * scale).transpose(-1, -2), dim=-1) @ v


@program(1, *heads())
def torch_softcap(q, k, v):
    weights = torch.matmul(q, k.transpose(2, 3)) * 64 ** -0.5
    weights = torch.tanh(weights / 50.0) * 50.0
    return torch.matmul(F.softmax(weights, dim=-1), v)


@program(1, *(tensor(2, 128, 4, 64) for _ in range(3)))
def torch_einsum_bqhd(q, k, v):
    weights = torch.einsum("bqhd,bkhd->bhqk", q, k) * 64 ** -0.5
    return torch.einsum("bhqk,bkhd->bqhd", weights.softmax(-1), v)


@program(1, *heads())
def torch_window_1e9(q, k, v):
    distance = torch.arange(128)[:, None] - torch.arange(128)[None, :]
    keep = (distance >= 0) & (distance < 32)
    return (scores(q, k) + torch.where(keep, 0.0, -1e9)).softmax(-1) @ v


@program(1, *heads(), torch.full((2,), 128))
def torch_key_padding_lengths(q, k, v, lengths):
    keep = torch.arange(128)[None, :] < lengths[:, None]
    return scores(q, k).masked_fill(~keep[:, None, None, :], float("-inf")).softmax(-1) @ v


@program("0 or 1", *heads(), tensor(4))
def torch_gptoss_sink(q, k, v, sinks):
    weights = torch.matmul(q, k.transpose(2, 3)) * 64 ** -0.5
    sinks = sinks.reshape(1, -1, 1, 1).expand(2, -1, 128, 1)
    combined = torch.cat([weights, sinks], dim=-1)
    combined = combined - combined.max(dim=-1, keepdim=True).values
    return torch.matmul(F.softmax(combined, dim=-1)[..., :-1], v)


@program(0, *heads())
def torch_neg_softmax_dim_q(q, k, v):
    return scores(q, k).softmax(-2) @ v


@program(0, *heads())
def torch_neg_dropout_train(q, k, v):
    return F.dropout(scores(q, k).softmax(-1), 0.1, training=True) @ v


@program("0 or 1", *heads(), tensor(1, 4, 1, 1))
def torch_neg_head_mask(q, k, v, head_mask):
    return (scores(q, k).softmax(-1) * head_mask) @ v


@program(0, *heads())
def torch_neg_output_attentions(q, k, v):
    weights = scores(q, k).softmax(-1)
    return weights @ v, weights


@program(0, *heads())
def torch_neg_relu_attention(q, k, v):
    return (F.relu(scores(q, k)) / 128) @ v


@program(1, *heads(torch.float16))
def torch_sdpa_f16(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@program(1, *heads(), forms=("linalg", "tm_tensor"))
def torch_sdpa_scale(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=0.2, is_causal=True)


@program(1, *heads(queries=1))
def torch_sdpa_one_query(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


@program(1, *heads())
def torch_softmax_dropout_eval(q, k, v):
    return F.dropout(scores(q, k).softmax(-1), 0.1, training=False) @ v


@program(1, *heads(), tensor(4))
def torch_alibi_slopes(q, k, v, slopes):
    position = torch.arange(128)
    distance = (position[None, :] - position[:, None]).to(torch.float32)
    return (scores(q, k) + slopes[:, None, None] * distance).softmax(-1) @ v


@program(1, tensor(8, 128, 64), tensor(8, 128, 64), tensor(8, 128, 64))
def torch_bmm(q, k, v):
    return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)) * 0.125, dim=-1), v)


@program(1, *heads())
def torch_masked_fill_causal(q, k, v):
    keep = torch.ones(128, 128, dtype=torch.bool).tril()
    return scores(q, k).masked_fill(~keep, float("-inf")).softmax(-1) @ v


@program(0, *heads())
def torch_neg_softmax_heads(q, k, v):
    return scores(q, k).softmax(1) @ v


@program(0, *heads())
def torch_neg_sigmoid(q, k, v):
    return torch.sigmoid(scores(q, k)) @ v


@program(0, *heads())
def torch_neg_layer_norm_probs(q, k, v):
    return F.layer_norm(scores(q, k), (128,)) @ v


@program(0, *heads())
def torch_neg_average_of_heads(q, k, v):
    p = scores(q, k).softmax(-1)
    return p @ v, p.mean(1)


def dump(name, form):
    function, arguments, expected, _, dynamic, sizes = PROGRAMS[name]
    keeps = form == "tm_tensor"
    options = {"decomposition_table": {}} if keeps else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = fx.export_and_import(Program(function), *arguments, dynamic_shapes=dynamic, **options,
                                      output_type="tosa" if form == "tosa" else "linalg-on-tensors")
    text = module.operation.get_asm(print_generic_op_form=keeps)
    producer = "+".join(f"{package}-{wanted}" for package, wanted in VERSIONS.items())
    head = f"// from {producer}{'-keep-sdpa' * keeps} | fa.attention expected: {expected}\n"
    head += f"// same function: {name}.linalg.mlir\n" if keeps else ""
    return head + (f"// arguments: {sizes}\n" if sizes else "") + text.rstrip("\n") + "\n"


FILES = [(name, form) for name, program in PROGRAMS.items() for form in program[3]]

if __name__ == "__main__":
    sys.exit(rewrite.main(VERSIONS, {f"{name}.{form}.mlir": functools.partial(dump, name, form) for name, form in FILES}))
