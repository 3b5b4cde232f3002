#!/usr/bin/env python3
"""Writes the StableHLO texts of this folder again: attention as JAX programs spell it.

    pip install jax==0.10.2 flax==0.12.8 && python3 make_jax.py [--check] [FOLDER]

--check compares with what is there and writes nothing. Each function of `PROGRAMS` is one file; its first line says how many
`fa.attention` a correct raise gives. Names that hold `neg` have none.
"""

import functools
import math
import sys

import jax
import jax.numpy as jnp
import rewrite
from flax import linen
from jax import export, lax
from jax._src.interpreters import mlir as lowering
from jaxlib.mlir import ir

VERSIONS = {"jax": "0.10.2", "flax": "0.12.8"}
bf16, f16, f32 = jnp.bfloat16, jnp.float16, jnp.float32
PROGRAMS = {}


def spec(*shape, dtype=f32):
    return jax.ShapeDtypeStruct(shape, dtype)


def heads(dtype=f32, queries=128, keys=128, dim=64, value_dim=None, kv_heads=4, count=4):
    """Query, key and value as (batch, sequence, heads, dim)."""
    return (spec(2, queries, count, dim, dtype=dtype), spec(2, keys, kv_heads, dim, dtype=dtype),
            spec(2, keys, kv_heads, value_dim or dim, dtype=dtype))


def program(expected, *specs, **said):
    """Registers a function under its name. `said` are lines for the tests: `arguments` of dynamic sizes, and how many numbers
    `sums` have whose roundings large scores make larger."""
    def register(function):
        PROGRAMS[function.__name__] = (function, specs, expected, said)
        return function
    return register


def scores(q, k, scale=None):
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    return jnp.einsum("bthd,bshd->bhts", q, k, preferred_element_type=f32) * f32(scale)


def weigh(p, v):
    return jnp.einsum("bhts,bshd->bthd", p.astype(v.dtype), v)


def causal(t, s, offset=0):
    return jnp.arange(t)[:, None] + offset >= jnp.arange(s)[None, :]


# What has attention.


@program(1, *heads(f16))
def jax_einsum_f16(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1), v)


@program(1, *heads(f32, kv_heads=1))
def jax_dpa_mqa_f32(q, k, v):
    return jax.nn.dot_product_attention(q, k, v)


@program(1, *heads(f32, dim=48, value_dim=48))
def jax_dpa_head_dim_48(q, k, v):
    return jax.nn.dot_product_attention(q, k, v, scale=0.3)


@program(1, *heads(f32, value_dim=32))
def jax_einsum_value_dim_32(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1), v)


@program(1, *heads(f32, queries=96))
def jax_einsum_cross_causal(q, k, v):
    return weigh(jax.nn.softmax(jnp.where(causal(96, 128), scores(q, k), -jnp.inf), axis=-1), v)


@program(1, *heads(f32))
def jax_einsum_additive_mask(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k) + jnp.where(causal(128, 128), 0.0, -1e9), axis=-1), v)


@program(1, *heads(f32))
def jax_einsum_exp2(q, k, v):
    s = scores(q, k) * f32(math.log2(math.e))
    p = jnp.exp2(s - s.max(axis=-1, keepdims=True))
    return weigh(p / p.sum(axis=-1, keepdims=True), v)


@program(1, *heads(f32))
def jax_einsum_softcap(q, k, v):
    return weigh(jax.nn.softmax(30 * jnp.tanh(scores(q, k) / 30), axis=-1), v)


@program(1, *heads(f32))
def jax_einsum_alibi(q, k, v):
    slopes = 2.0 ** (-2.0 * jnp.arange(1, 5, dtype=f32))
    distance = (jnp.arange(128)[None, :] - jnp.arange(128)[:, None]).astype(f32)
    return weigh(jax.nn.softmax(scores(q, k) + slopes[:, None, None] * distance, axis=-1), v)


@program(1, *heads(f32), spec())
def jax_einsum_scale_argument(q, k, v, scale):
    s = jnp.einsum("bthd,bshd->bhts", q, k) * scale
    return weigh(jax.nn.softmax(s, axis=-1), v)


@program(1, *heads(f32))
def jax_einsum_scale_both_sides(q, k, v):
    root = f32(64 ** -0.25)
    return weigh(jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q * root, k * root), axis=-1), v)


@program(1, *heads(f32))
def jax_einsum_scale_query(q, k, v):
    return weigh(jax.nn.softmax(jnp.einsum("bthd,bshd->bhts", q / 8, k), axis=-1), v)


@program(1, spec(2, 4, 128, 64), spec(2, 4, 64, 128), spec(2, 4, 128, 64))
def jax_matmul_transposed_key(q, k, v):
    return jnp.matmul(jax.nn.softmax(jnp.matmul(q, k) * 0.125, axis=-1), v)


@program(1, spec(8, 128, 64), spec(8, 128, 64), spec(8, 128, 64))
def jax_matmul_3d(q, k, v):
    return jax.nn.softmax(q @ k.transpose(0, 2, 1) * 0.125, axis=-1) @ v


@program(1, spec(128, 64), spec(96, 64), spec(96, 64))
def jax_matmul_2d(q, k, v):
    return jax.nn.softmax(q @ k.T / 8, axis=-1) @ v


@program(1, spec(2, 3, 32, 4, 16), spec(2, 3, 48, 4, 16), spec(2, 3, 48, 4, 16))
def jax_einsum_6d(q, k, v):
    p = jax.nn.softmax(jnp.einsum("xbthd,xbshd->xbhts", q, k) * 0.25, axis=-1)
    return jnp.einsum("xbhts,xbshd->xbthd", p, v)


@program(1, *heads(f32, kv_heads=2, count=8))
def jax_einsum_repeat_heads(q, k, v):
    k, v = jnp.repeat(k, 4, axis=2), jnp.repeat(v, 4, axis=2)
    return weigh(jax.nn.softmax(scores(q, k), axis=-1), v)


@program(1, *heads(f32, kv_heads=2, count=8))
def jax_einsum_grouped_5d(q, k, v):
    grouped = q.reshape(2, 128, 2, 4, 64)
    s = jnp.einsum("btkgd,bskd->bkgts", grouped, k) * 0.125
    return jnp.einsum("bkgts,bskd->btkgd", jax.nn.softmax(s, axis=-1), v).reshape(2, 128, 8, 64)


@program(1, *heads(bf16), spec(2, 128, dtype=jnp.bool_))
def jax_einsum_key_padding_bf16(q, k, v, keep):
    s = jnp.where(keep[:, None, None, :], scores(q, k), -1e30)
    return weigh(jax.nn.softmax(s, axis=-1), v)


@program(1, *heads(f32), spec(2, 128, dtype=jnp.int32))
def jax_einsum_documents(q, k, v, ids):
    s = jnp.where(ids[:, None, :, None] == ids[:, None, None, :], scores(q, k), -jnp.inf)
    return weigh(jax.nn.softmax(s, axis=-1), v)


@program(1, *heads(f32))
def jax_vmap_heads(q, k, v):
    def head(q, k, v):
        return jax.nn.softmax(q @ k.T / 8, axis=-1) @ v
    return jax.vmap(jax.vmap(head, in_axes=1, out_axes=1))(q, k, v)


@program(2, spec(2, 64, 32), spec(32, 96), spec(32, 32), spec(32, 96), spec(32, 32))
def jax_two_layers_causal(x, qkv0, out0, qkv1, out1):
    for qkv, out in ((qkv0, out0), (qkv1, out1)):
        q, k, v = jnp.split((x @ qkv).reshape(2, 64, 3, 2, 16), 3, axis=2)
        o = jax.nn.dot_product_attention(q[:, :, 0], k[:, :, 0], v[:, :, 0], is_causal=True)
        x = x + o.reshape(2, 64, 32) @ out
    return x


@program(1, spec(1, 1, 8, 64), spec(1, 256, 8, 64), spec(1, 256, 8, 64), spec(1, 1, 8, 64), spec(1, 1, 8, 64),
         spec(dtype=jnp.int32))
def jax_decode_cache_update(q, keys, values, k, v, position):
    keys = lax.dynamic_update_slice(keys, k, (0, position, 0, 0))
    values = lax.dynamic_update_slice(values, v, (0, position, 0, 0))
    s = jnp.where(jnp.arange(256) <= position, scores(q, keys), -1e30)
    return weigh(jax.nn.softmax(s, axis=-1), values)


def rotate(x):
    """Rotary position embedding of (batch, sequence, heads, dim)."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10000.0 ** (jnp.arange(half) / half)
    cos, sin = (f(angle)[None, :, None, :].astype(x.dtype) for f in (jnp.cos, jnp.sin))
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


@program(1, *heads())
def jax_rope_causal(q, k, v):
    return jax.nn.dot_product_attention(rotate(q), rotate(k), v, is_causal=True)


@program(1, spec(2, 64, 4, 32), spec(2, 6, 8, 4, 32), spec(2, 6, 8, 4, 32))
def jax_image_keys(q, k, v):
    s = jnp.einsum("bthd,byxhd->bhtyx", q, k) / math.sqrt(32)
    return jnp.einsum("bhtyx,byxhd->bthd", jax.nn.softmax(s, axis=(-2, -1)), v)


# What looks like attention and is none, or another function.


@program(0, *heads(f32))
def jax_neg_softmax_over_queries(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=2), v)


@program(0, *heads(f32))
def jax_neg_softmax_over_batch(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=0), v)


@program(0, *heads(f32))
def jax_neg_other_maximum(q, k, v):
    s = scores(q, k)
    p = jnp.exp(s - jnp.abs(s).max(axis=-1, keepdims=True))
    return weigh(p / jnp.abs(p).max(axis=-1, keepdims=True), v)


@program(0, *heads(f32))
def jax_neg_denominator_of_squares(q, k, v):
    s = scores(q, k)
    p = jnp.exp(s - s.max(axis=-1, keepdims=True))
    return weigh(p / (p * p).sum(axis=-1, keepdims=True), v)


@program(0, *heads(f32))
def jax_neg_normalised_scores(q, k, v):
    s = scores(q, k)
    return weigh(s / jnp.sqrt((s * s).sum(axis=-1, keepdims=True)), v)


@program(0, *heads(f32))
def jax_neg_linear_attention(q, k, v):
    s = jnp.einsum("bthd,bshd->bhts", jax.nn.elu(q) + 1, jax.nn.elu(k) + 1)
    return weigh(s / s.sum(axis=-1, keepdims=True), v)


@program(0, *heads(f32), spec(4, 128, 128))
def jax_neg_gated_probs(q, k, v, gate):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1) * gate, v)


@program(0, *heads(f32))
def jax_neg_mean_of_probs(q, k, v):
    p = jax.nn.softmax(scores(q, k), axis=-1)
    return weigh(p, v), p.mean(axis=1)


@program(0, *heads(f32))
def jax_neg_squared_probs(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1) ** 2, v)


@program(0, *heads(f32))
def jax_neg_two_maps(q, k, v):
    p = jax.nn.softmax(scores(q, k), axis=-1) - 0.5 * jax.nn.softmax(scores(k, q), axis=-1)
    return weigh(p, v)


@program(0, *heads(f32))
def jax_neg_heads_averaged(q, k, v):
    p = jax.nn.softmax(scores(q, k), axis=-1).mean(axis=1)
    return jnp.einsum("bts,bshd->bthd", p, v)


@program(0, spec(2, 16, 2, 600), spec(2, 16, 2, 600), spec(2, 16, 2, 600))
def jax_neg_head_dim_600(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1), v)


@program(0, *heads(f32))
def jax_neg_transposed_probs(q, k, v):
    p = jax.nn.softmax(scores(q, k), axis=-1)
    return jnp.einsum("bhst,bshd->bthd", p, v)


@program("0 or 1", *heads(f32), spec(2, 128, 4, 64, dtype=f32))
def jax_neg_scores_of_three(q, k, v, w):
    s = jnp.einsum("bthd,bshd,bthd->bhts", q, k, w)
    return weigh(jax.nn.softmax(s / s.shape[-1] * scores(k, q), axis=-1), v)


@program(0, *heads(f32))
def jax_neg_top_rows(q, k, v):
    s = scores(q, k)
    p = jax.nn.softmax(jnp.where(s >= s.mean(axis=-1, keepdims=True), s, -jnp.inf), axis=-1)
    return weigh(p, v)


@program(0, *heads(f32))
def jax_neg_entropy(q, k, v):
    p = jax.nn.softmax(scores(q, k), axis=-1)
    return weigh(p, v), -(p * jnp.log(p)).sum(axis=-1)


@program(0, *heads(f32))
def jax_neg_sinkhorn(q, k, v):
    p = jnp.exp(scores(q, k))
    p = p / p.sum(axis=-1, keepdims=True)
    return weigh(p / p.sum(axis=-2, keepdims=True), v)


@program(0, *heads(f32))
def jax_neg_output_normalised(q, k, v):
    s = scores(q, k)
    o = weigh(jnp.exp(s - s.max(axis=-1, keepdims=True)), v)
    return o / jnp.abs(o).sum(axis=-1, keepdims=True)


@program("0 or 1", *heads(f32))
def jax_neg_softmax_plus_one(q, k, v):
    s = scores(q, k)
    m = s.max(axis=-1, keepdims=True)
    p = jnp.exp(s - m)
    return weigh(p / (jnp.exp(-m) + p.sum(axis=-1, keepdims=True)), v)


dpa = jax.nn.dot_product_attention


def heads_first(dtype=f32):
    """Query, key and value as (batch, heads, sequence, dim)."""
    return [spec(2, 4, 128, 64, dtype=dtype)] * 3


def first_scores(q, k):
    return jnp.einsum("bhtd,bhsd->bhts", q, k) * f32(0.125)


@program(1, spec(2, 1, 4, 64), spec(2, 128, 4, 64), spec(2, 128, 4, 64))
def jax_decode_one_query(q, k, v):
    return dpa(q, k, v)


@program(1, *heads())
def jax_dpa_f32(q, k, v):
    return dpa(q, k, v)


@program(1, *heads(bf16), spec(1, 4, 128, 128, dtype=bf16))
def jax_dpa_bias_bf16(q, k, v, bias):
    return dpa(q, k, v, bias=bias)


@program(1, *heads(bf16))
def jax_dpa_causal_bf16(q, k, v):
    return dpa(q, k, v, is_causal=True)


@program(1, *heads(bf16, count=8, kv_heads=2))
def jax_dpa_causal_gqa_bf16(q, k, v):
    return dpa(q, k, v, is_causal=True)


@program(1, *heads(), spec(2, 1, 128, 128, dtype=jnp.bool_))
def jax_dpa_mask_f32(q, k, v, mask):
    return dpa(q, k, v, mask=mask)


@program(1, *heads())
def jax_dpa_window_f32(q, k, v):
    return dpa(q, k, v, is_causal=True, local_window_size=(31, 0))


@program(1, *heads(bf16), spec(2, dtype=jnp.int32), spec(2, dtype=jnp.int32))
def jax_dpa_seqlens_bf16(q, k, v, queries, keys):
    return dpa(q, k, v, query_seq_lengths=queries, key_value_seq_lengths=keys)


@program(1, *heads())
def jax_dpa_lse_f32(q, k, v):
    return dpa(q, k, v, return_residual=True)


BATCH, QUERIES, KEYS = export.symbolic_shape("b, t, s")


@program(1, spec(BATCH, QUERIES, 4, 64), spec(BATCH, KEYS, 4, 64), spec(BATCH, KEYS, 4, 64),
         arguments="2x5x4x64xf32, 2x7x4x64xf32, 2x7x4x64xf32")
def jax_dpa_dynamic_f32(q, k, v):
    return dpa(q, k, v)


@program(1, *heads(bf16))
def jax_einsum_bf16(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1), v)


@program(1, *heads())
def jax_exp_log_softmax(q, k, v):
    return weigh(jnp.exp(jax.nn.log_softmax(scores(q, k), axis=-1)), v)


@program(1, *heads(bf16), spec(1, 4, 128, 128, dtype=bf16))
def jax_flax_linen_dpa_bias_bf16(q, k, v, bias):
    return linen.dot_product_attention(q, k, v, bias=bias, force_fp32_for_softmax=True)


@program(1, *heads(bf16), spec(2, 1, 1, 128, dtype=jnp.bool_))
def jax_flax_linen_dpa_mask_bf16(q, k, v, mask):
    return linen.dot_product_attention(q, k, v, mask=mask)


@program(1, *heads(bf16, count=8, kv_heads=2))
def jax_gemma2_softcap_gqa_bf16(q, k, v):
    q = (q * bf16(64 ** -0.5)).reshape(2, 128, 2, 4, 64)
    logits = jnp.einsum("btkgh,bskh->btkgs", q, k).reshape(2, 128, 8, 128)
    logits = jnp.tanh(logits / 50) * 50
    logits = jnp.where(causal(128, 128)[None, :, None, :], logits, -2.3819763e38)
    probabilities = jax.nn.softmax(logits, axis=-1).astype(bf16).reshape(2, 128, 2, 4, 128)
    return jnp.einsum("btkgs,bskh->btkgh", probabilities, v).reshape(2, 128, 8, 64)


# Standard normal weights make scores in the hundreds.
@program(1, spec(2, 128, 256), *[spec(256, 256)] * 4, sums=256)
def jax_mha_block_causal(x, wq, wk, wv, wo):
    q, k, v = ((x @ w).reshape(2, 128, 4, 64) for w in (wq, wk, wv))
    return x + dpa(q, k, v, is_causal=True).reshape(2, 128, 256) @ wo


@program(1, *heads_first())
def jax_safe_softmax_div_after(q, k, v):
    s = first_scores(q, k)
    p = jnp.exp(s - s.max(axis=-1, keepdims=True))
    return jnp.einsum("bhts,bhsd->bhtd", p, v) / p.sum(axis=-1, keepdims=True)


@program(1, *heads_first())
def jax_unsafe_softmax_div_after(q, k, v):
    p = jnp.exp(first_scores(q, k))
    return jnp.einsum("bhts,bhsd->bhtd", p, v) / p.sum(axis=-1, keepdims=True)


@program(1, *heads())
def jax_scan_layers(x, k, v):
    return lax.scan(lambda x, _: (dpa(x, k, v), None), x, None, length=3)[0]


@program(1, *heads(), spec(2, 1, 128, 128, dtype=jnp.bool_))
def jax_softmax_where(q, k, v, mask):
    return weigh(jax.nn.softmax(scores(q, k), axis=-1, where=mask), v)


@program(2, *heads(), spec(2, 128, 4, 64))
def jax_two_attentions_chained(q, k, v, w):
    return dpa(dpa(q, k, v), k, w)


@program(0, *heads())
def jax_neg_grad(q, k, v):
    return jax.grad(lambda *each: dpa(*each).sum(), argnums=(0, 1, 2))(q, k, v)


@program(0, *heads_first())
def jax_neg_returns_probs(q, k, v):
    p = jax.nn.softmax(first_scores(q, k), axis=-1)
    return jnp.einsum("bhts,bhsd->bhtd", p, v), p


@program(0, *heads_first())
def jax_neg_sigmoid(q, k, v):
    return jnp.einsum("bhts,bhsd->bhtd", jax.nn.sigmoid(first_scores(q, k)), v)


@program(0, *heads())
def jax_neg_softmax_over_heads(q, k, v):
    return weigh(jax.nn.softmax(scores(q, k), axis=1), v)


@program(0, *heads_first(), spec(4, 4))
def jax_neg_talking_heads(q, k, v, mix):
    s = jnp.einsum("bhts,hg->bgts", first_scores(q, k), mix)
    return jnp.einsum("bhts,bhsd->bhtd", jax.nn.softmax(s, axis=-1), v)


@program(0, *heads_first())
def jax_neg_threshold_probs(q, k, v):
    p = jax.nn.softmax(first_scores(q, k), axis=-1)
    return jnp.einsum("bhts,bhsd->bhtd", jnp.where(p > 0.01, p, 0.0), v)


def dump(name):
    function, specs, expected, said = PROGRAMS[name]
    exported = export.export(jax.jit(function))(*specs)
    with lowering.make_ir_context():
        module = ir.Module.parse(exported.mlir_module())
        text = module.operation.get_asm(print_generic_op_form=True)
    head = f"// from jax-{VERSIONS['jax']}-generic | fa.attention expected: {expected}\n"
    return head + "".join(f"// {key}: {value}\n" for key, value in said.items()) + text + "\n"


if __name__ == "__main__":
    sys.exit(rewrite.main(VERSIONS, {f"{name}.stablehlo.mlir": functools.partial(dump, name) for name in PROGRAMS}))
