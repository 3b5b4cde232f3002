# REQUIRES: jax
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %jax_python %s
"""fa_mlir.jax.attention against jax's own operations, and its gradients by differences."""

import os
import unittest

import jax

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp
import numpy
from jax.test_util import check_grads

import fa_mlir
from fa_mlir.jax import attention

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED, "jax", jax.__version__)
RANDOM = numpy.random.default_rng(SEED)


def draw(*shape, dtype="float32"):
    return jnp.asarray(RANDOM.standard_normal(shape), dtype)


def make_inputs(batch=2, queries=7, keys=9, heads=4, key_heads=2, head_dim=16, dtype="float32"):
    return [draw(batch, queries, heads, head_dim, dtype=dtype)] + [
        draw(batch, keys, key_heads, head_dim, dtype=dtype) for _ in range(2)]


def expect(query, key, value, causal=None, window=None, softcap=None, alibi=None, bias=None, mask=None, sink=None,
           key_lengths=None, scale=None):
    """Output and lse by the definition, in float64."""
    query, key, value = (array.astype("float64").swapaxes(1, 2) for array in (query, key, value))
    key, value = (jnp.repeat(array, query.shape[1] // key.shape[1], 1) for array in (key, value))
    scores = query @ key.swapaxes(2, 3) * (query.shape[-1] ** -0.5 if scale is None else scale)
    queries, keys = scores.shape[-2:]
    lengths = jnp.full(query.shape[0], keys) if key_lengths is None else key_lengths
    i, j = jnp.arange(queries)[:, None] + (lengths - queries)[:, None, None, None], jnp.arange(keys)
    if softcap is not None:
        scores = softcap * jnp.tanh(scores / softcap)
    if alibi is not None:
        scores = scores - alibi.astype("float64")[:, None, None] * abs(i - j)
    if bias is not None:
        scores = scores + bias
    visible = j < lengths[:, None, None, None]
    if causal == "bottom_right":
        visible = visible & (j <= i)
    if causal == "top_left":
        visible = visible & (j <= jnp.arange(queries)[:, None])
    if window is not None:
        visible = visible & (j >= i - window[0]) & (j <= i + window[1])
    if mask is not None:
        visible = visible & mask
    scores = jnp.where(visible, scores, -1e300)
    if sink is not None:
        scores = jnp.concatenate([scores, jnp.broadcast_to(sink.astype("float64")[:, None, None], (*scores.shape[:3], 1))], -1)
    weights = jax.nn.softmax(scores, -1)[..., :keys]
    return (weights @ value).swapaxes(1, 2), jax.nn.logsumexp(scores, -1)


class Attention(unittest.TestCase):
    def close(self, got, expected, bound):
        self.assertEqual(got.shape, expected.shape)
        error = numpy.linalg.norm(numpy.asarray(got, "float64") - expected)
        self.assertLess(error, bound * numpy.linalg.norm(expected))

    def test_options(self):
        slopes, sink, bias = abs(draw(4)), draw(4), draw(2, 1, 7, 9)
        lengths = jnp.array([9, 4], "int32")
        for options in ({}, {"causal": "bottom_right"}, {"causal": "top_left"}, {"window": (3, 1), "softcap": 2.0},
                        {"alibi": slopes, "causal": "bottom_right"}, {"bias": bias}, {"sink": sink, "scale": 0.4},
                        {"mask": jnp.asarray(RANDOM.random((2, 1, 7, 9)) < 0.8).at[..., 0].set(True)},
                        {"key_lengths": lengths}):
            captures = [name for name in ("alibi", "bias", "sink") if name in options]
            for compiled in False, True:
                def run(function, operands, values):
                    return function(*operands, **dict(options, **dict(zip(captures, values))))
                ours = lambda *given: run(lambda *args, **named: attention(*args, return_lse=True, **named), *given)
                if compiled:
                    ours = jax.jit(ours)
                operands, values = make_inputs(), [options[name] for name in captures]
                got, pull = jax.vjp(ours, operands, values)
                expected, pull_expected = jax.vjp(lambda *given: run(expect, *given), operands, values)
                self.close(got[0], expected[0], 2e-6)
                self.close(got[1], expected[1], 2e-6)
                weights = draw(*got[0].shape), draw(*got[1].shape)
                found = jax.tree.leaves(pull(weights))
                right = jax.tree.leaves(pull_expected(tuple(weight.astype("float64") for weight in weights)))
                for one, other in zip(found, right):
                    self.close(one, numpy.asarray(other, "float64"), 1e-5)

    def test_types(self):
        for dtype, bound in ("bfloat16", 6e-3), ("float16", 1e-3):
            operands = make_inputs(dtype=dtype)
            self.close(attention(*operands, causal="bottom_right"), expect(*operands, causal="bottom_right")[0], bound)

    def test_grads(self):
        operands = make_inputs(1, 3, 4, 2, 1, 8)
        check_grads(lambda *operands: attention(*operands, causal="bottom_right", return_lse=True), operands, order=1,
                    modes=["rev"], eps=1e-2, atol=5e-3, rtol=5e-2)

    def test_layouts_and_batches(self):
        operands = make_inputs()
        expected = attention(*operands)
        swapped = attention(*[array.swapaxes(1, 2) for array in operands], layout="bhsd")
        self.assertTrue(numpy.array_equal(swapped.swapaxes(1, 2), expected))
        self.assertTrue(numpy.array_equal(attention(*[array[0] for array in operands]), expected[0]))
        stacked = [jnp.stack([array, array * 2]) for array in operands]
        got = jax.vmap(lambda *operands: attention(*operands, causal="top_left"))(*stacked)
        for i in range(2):
            self.assertTrue(numpy.array_equal(got[i], attention(*[array[i] for array in stacked], causal="top_left")))

    def test_lengths(self):
        query_lengths, key_lengths = jnp.array([7, 3], "int32"), jnp.array([5, 9], "int32")
        operands = make_inputs()
        output, lse = attention(*operands, query_lengths=query_lengths, key_lengths=key_lengths, return_lse=True)
        self.assertFalse(output[1, 3:].any() or lse[1, :, 3:].any())
        self.close(output[0], expect(*operands, key_lengths=key_lengths)[0][0], 2e-6)
        before = fa_mlir.stats()
        attention(*make_inputs(3, 20, 31), causal="bottom_right")
        count = fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]
        for sizes in (1, 64, 80), (5, 1, 12, 6, 3):
            attention(*make_inputs(*sizes), causal="bottom_right")
        self.assertEqual(fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"], count)
        self.assertGreaterEqual(count, before["compilations"])

    def test_dropout(self):
        operands, state = make_inputs(), jnp.array([SEED, 3])
        got, again = (attention(*operands, dropout_p=0.5, dropout_state=state) for _ in range(2))
        self.assertTrue(numpy.array_equal(got, again))
        self.assertTrue(numpy.array_equal(got, fa_mlir.attention(
            *map(numpy.asarray, operands), dropout_p=0.5, dropout_state=numpy.asarray(state))))

    def test_errors(self):
        query, key, value = make_inputs()
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'mask' is a function"):
            attention(query, key, value, mask=lambda b, h, q, k: q >= k)
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "dropout_state"):
            attention(query, key, value, dropout_p=0.5)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' has 3 heads"):
            attention(query, key[:, :, :1].repeat(3, 2), value[:, :, :1].repeat(3, 2))
        with self.assertRaisesRegex(Exception, "f64"):
            jax.block_until_ready(attention(*[array.astype("float64") for array in (query, key, value)]))


if __name__ == "__main__":
    unittest.main()
