# REQUIRES: jax
# RUN: rm -rf %t.cache
# The oracle's 700 operations are compiled for a few numbers each.
# RUN: env FA_MLIR_CACHE_DIR=%t.cache XLA_FLAGS=--xla_backend_optimization_level=0 %jax_python %s
"""fa_mlir.jax.attention against jax's own operations, and its gradients by differences.

`expect` is attention in jax's operations. `test_options` compares results and gradients of each option, `compare` those
of one call with functions of Python (`test_masks`, `test_scores`). Then types, layouts, lengths, dropout and errors.
"""

import os
import unittest

import jax

jax.config.update("jax_platforms", os.environ.get("FA_TEST_PLATFORM", "cpu"))
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


def apply(function, *arguments):
    """A function of scalars on all pairs: (batch, heads, queries, keys)."""
    *scores, (batch, heads, queries, keys) = arguments
    for dim in 3, 2, 1, 0:
        places = [None] * 4
        places[dim] = 0
        function = jax.vmap(function, ([0] if scores else []) + places)
    return function(*scores, *(jnp.arange(size, dtype="int32") for size in (batch, heads, queries, keys)))


def expect(query, key, value, causal=None, window=None, softcap=None, alibi=None, bias=None, mask=None, sink=None,
           key_lengths=None, scale=None, score=None):
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
    if score is not None:
        scores = apply(lambda s, *places: score(s, *places).astype("float64"), scores, scores.shape)
    visible = j < lengths[:, None, None, None]
    if causal == "bottom_right":
        visible = visible & (j <= i)
    if causal == "top_left":
        visible = visible & (j <= jnp.arange(queries)[:, None])
    if window is not None:
        visible = visible & (j >= i - window[0]) & (j <= i + window[1])
    if mask is not None:
        visible = visible & (apply(mask, scores.shape) if callable(mask) else mask)
    scores = jnp.where(visible, scores, -1e300)
    if sink is not None:
        scores = jnp.concatenate([scores, jnp.broadcast_to(sink.astype("float64")[:, None, None], (*scores.shape[:3], 1))], -1)
    weights = jax.nn.softmax(scores, -1)[..., :keys]
    return (weights @ value).swapaxes(1, 2), jax.nn.logsumexp(scores, -1)


class Attention(unittest.TestCase):
    def close(self, got, expected, bound, terms=None):
        """The error is relative to what is expected, or to the terms of which that is the sum."""
        self.assertEqual(got.shape, expected.shape)
        error = numpy.linalg.norm(numpy.asarray(got, "float64") - expected)
        self.assertLess(error, bound * numpy.linalg.norm(expected if terms is None else terms))

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

    def compare(self, given, make_options, captures, compiled=False, bound=2e-6):
        """Output, lse and gradients of operands and captures; make_options: of captures. The gradient of a
        captured number sums terms of all pairs, which may cancel: its error is relative to theirs."""
        def run(function):
            def call(operands, values):
                return function(*operands, **make_options(*values))
            return jax.jit(call) if compiled else call
        got, pull = jax.vjp(run(lambda *args, **named: attention(*args, return_lse=True, **named)), given, captures)
        expected, pull_expected = jax.vjp(run(expect), given, captures)
        for one, other in zip(got, expected):
            self.close(one, other, bound)
        weights = draw(*got[0].shape), draw(*got[1].shape)
        found = jax.tree.leaves(pull(weights))
        weights = tuple(weight.astype("float64") for weight in weights)
        right = jax.tree.leaves(pull_expected(weights))
        terms = [None] * len(right)
        if any(jnp.ndim(value) == 0 for value in captures):
            of_pairs = [jnp.full((2, 4, 7, 9), value, "float64") for value in captures]
            pull_terms = jax.vjp(lambda values: expect(*given, **make_options(*values)), of_pairs)[1]
            terms[-len(captures):] = jax.tree.leaves(pull_terms(weights))
        for one, other, each in zip(found, right, terms, strict=True):
            other = numpy.asarray(other, "float64")
            if numpy.linalg.norm(other):
                self.close(one, other, 1e-5, each)

    def test_masks(self):
        documents, lengths = jnp.asarray(RANDOM.integers(0, 3, (2, 9)), "int32"), jnp.array([4, 9], "int32")
        seen, order = jnp.asarray(RANDOM.random((4, 7, 9)) < 0.6), jnp.asarray(RANDOM.permutation(9), "int32")
        masks = {
            "causal": lambda b, h, q, k: q >= k, "band": lambda b, h, q, k: (q - k < 3) & ~(k > q) | (k < 2),
            "documents": lambda b, h, q, k: documents[b, q] == documents[b, k],
            "length": lambda b, h, q, k: k < lengths[b], "blocks": lambda b, h, q, k: q // 3 == k // 4,
            "signed blocks": lambda b, h, q, k: (q - k) // 3 != -1, "stripes": lambda b, h, q, k: (k - q) % 3 != 1,
            "remainder": lambda b, h, q, k: jax.lax.rem(q - k, jnp.int32(3)) != -1, "heads": lambda b, h, q, k: seen[h][q, k],
            "order": lambda b, h, q, k: order[q] >= order[k], "last": lambda b, h, q, k: seen[-1, q, -k - 1],
            "take": lambda b, h, q, k: jnp.take(seen, q + 2, axis=1, mode="clip")[h, k],
            "filled": lambda b, h, q, k: jnp.take(order, k + 3, mode="fill", fill_value=5) > 3,
            "past": lambda b, h, q, k: order[k + 4] > 2, "turned": lambda b, h, q, k: seen.T[k, q, h],
            "outside": lambda b, h, q, k: (seen | (jnp.arange(9) == 0))[h, q, k],
            "wraps": lambda b, h, q, k: (q * 715827883 + k * 1431655765) % 7 < 4,
            "wraps in 64 bits": lambda b, h, q, k: (q.astype("int64") * 6364136223846793005) % 7 == k % 7,
            "shifts": lambda b, h, q, k: (((1 << k * 5) % 7 < 4) ^ ((q - k) >> (q * 9) < 0)) | (seen[0, q >> 1, k] & ((k << 29) < 0)),
            "shifts past the width": lambda b, h, q, k: (((q << (k * 9 - 3)) % 5 < 2) ^ ((q - k) >> order[k] * 9 - 30 == -1)),
            "where": lambda b, h, q, k: jnp.where(h < 2, q >= k, jnp.abs(q - k) <= 2),
            "clip": lambda b, h, q, k: jnp.clip(q + 1, 2, 5) >= jnp.minimum(k, jnp.maximum(q, 3)),
            "cond": lambda b, h, q, k: jax.lax.cond(h == 1, lambda: q > k, lambda: q <= k),
            "float": lambda b, h, q, k: jnp.sin(q * 1.5 + k) > -0.5, "sign": lambda b, h, q, k: jnp.sign(q - k) != 1,
            "all": lambda b, h, q, k: True, "number": lambda b, h, q, k: (q - k) & 3,
        }
        for name, mask in masks.items():
            with self.subTest(name):
                first = (lambda *pair: mask(*pair).astype(bool) | (pair[3] == 0)) if name != "all" else (
                    lambda *pair: jnp.asarray(True))
                operands = make_inputs()
                got, expected = (function(*operands, mask=first) for function in (attention, lambda *args, **named: expect(
                    *args, **named)[0]))
                self.close(got, expected, 2e-6)

    def test_scores(self):
        bias, slopes, buckets, factor = draw(4, 7, 9), draw(2, 4), draw(32, 4), jnp.float32(1.7)

        def find_bucket(distance):
            wide = 4 + (jnp.log(distance / 4.0) / jnp.log(16.0) * 12).astype("int32")
            return jnp.where(distance < 4, distance, jnp.minimum(wide, 15))

        edges = jnp.asarray(RANDOM.permutation(numpy.array([-3, -1, 0, 0, 3, 6, 6, 7, 0.5], "float32")))
        scores = {
            "edges": (lambda t: lambda s, b, h, q, k: s + (jax.nn.relu(t[k]) - q * jax.nn.relu6(t[k])) * 0.2
                      + jax.nn.hard_sigmoid(t[k]) * bias[h, q, k] + jax.nn.relu(q - k), [edges]),
            "cap": (lambda f: lambda s, *pair: (f[pair] if f.ndim else f) * jnp.tanh(s / (f[pair] if f.ndim else f)), [factor]),
            "slopes": (lambda t: lambda s, b, h, q, k: s + t[b, h] * (k - q), [slopes]),
            "bias": (lambda t: lambda s, b, h, q, k: s + t[h][q][k] * 0.5, [bias]),
            "outside": (lambda t: lambda s, b, h, q, k: s * (t * t).mean() + jax.nn.softmax(t)[h, q, k], [bias]),
            "buckets": (lambda t: lambda s, b, h, q, k: s + t[find_bucket(jnp.maximum(q - k, 0)), h], [buckets]),
            "activations": (lambda: lambda s, b, h, q, k: jax.nn.silu(s) + jax.nn.gelu(s) + jax.nn.softplus(s)
                            - jnp.exp2(-(h + 1.0)), []),
            "powers": (lambda: lambda s, b, h, q, k: s ** 3 - jnp.sqrt(s ** 2 + 1) + (s * s + 0.5) ** 0.3 + s ** -2 * 0, []),
            "branches": (lambda t: lambda s, b, h, q, k: jnp.where(k > q + 3, -jnp.inf, jnp.where(k < q, s, t[b, h] * s)),
                         [slopes]),
            "stops": (lambda t: lambda s, b, h, q, k: jax.lax.stop_gradient(s) * t[h, q, k] + s * jax.lax.stop_gradient(t)[h, q, k]
                      + s * jax.lax.stop_gradient(t[h])[q, k] + jax.lax.stop_gradient(jnp.tanh(t[h, q, k])) * t[h, 0, k], [bias]),
            "constant": (lambda: lambda s, b, h, q, k: jnp.where(q == k, 1.0, s.astype("bfloat16").astype("float32") * 0), []),
        }
        for name, (make, captures) in scores.items():
            for compiled in False, True:
                with self.subTest(name, compiled=compiled):
                    self.compare(make_inputs(), lambda *values: {"score": make(*values), "softcap": 9.0}, captures,
                                 compiled)

    def test_grads_of_functions(self):
        operands = make_inputs(1, 3, 4, 2, 1, 8)
        check_grads(lambda operands, bias, cap: attention(
            *operands, score=lambda s, b, h, q, k: cap * jnp.tanh((s + jnp.asarray(bias)[h, k - q]) / cap),
            mask=lambda b, h, q, k: (q + 1 >= k) | (h == 1)), (operands, draw(2, 6), jnp.float32(1.5)), order=1,
            modes=["rev"], eps=1e-2, atol=5e-3, rtol=5e-2)

    def test_functions_of_other_lengths(self):
        def run(batch, queries, keys):
            documents, bias = jnp.zeros((batch, keys), "int32"), draw(4, queries, keys)
            return attention(*make_inputs(batch, queries, keys), score=lambda s, b, h, q, k: s + bias[h, q, k],
                             mask=lambda b, h, q, k: (documents[b, k] == 0) & (q // 2 >= k // 2))
        run(2, 7, 9)
        count = fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]
        for sizes in (3, 20, 31), (2, 64, 80):
            run(*sizes)
        self.assertEqual(fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"], count)

    def test_functions_in_a_batch(self):
        operands, slopes = make_inputs(), draw(3, 4)
        run = lambda slope: attention(*operands, score=lambda s, b, h, q, k: s * slope[h])
        got = jax.vmap(run)(slopes)
        for i in range(3):
            self.assertTrue(numpy.array_equal(got[i], run(slopes[i])))

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
        for sizes in (1, 64, 80), (5, 2, 12, 6, 3):
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
        table, wide = draw(9, 9), jnp.zeros(9, "uint32")

        @jax.custom_jvp
        def own(x):
            return x

        own.defjvps(lambda t, y, x: 2 * t)
        for reason, name, function in (
                ("cannot be traced .TracerBoolConversionError.*jax_attention.py:", "mask", lambda b, h, q, k: q if q > k else k),
                ("cannot be traced .NameError.*missing", "score", lambda s, *_: s + missing),
                ("the operation cumsum .*jax_attention.py:", "score", lambda s, b, h, q, k: s + jnp.cumsum(table[q])[k]),
                ("add on a whole array", "score", lambda s, b, h, q, k: (s + table)[q, k]),
                ("division by what is not a constant", "mask", lambda b, h, q, k: k // (q + 1) == 0),
                ("uint32", "mask", lambda b, h, q, k: wide[k] == 0),
                ("custom_jvp", "score", lambda s, *_: own(s)), ("an array as a result", "score", lambda s, b, h, q, k: table[q]),
                ("2 results", "mask", lambda b, h, q, k: (q > k, k > q)), ("the operation igamma", "score", lambda s, *_: jax.lax.igamma(s, s))):
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, f"'{name}' is a function with .*{reason}"):
                attention(query, key, value, **{name: function})
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "dropout_state"):
            attention(query, key, value, dropout_p=0.5)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' has 3 heads"):
            attention(query, key[:, :, :1].repeat(3, 2), value[:, :, :1].repeat(3, 2))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, r"'window' is \(-5, 0\), expected sizes from 0"):
            attention(query, key, value, window=(-5, 0))
        with self.assertRaisesRegex(Exception, "float64"):
            jax.block_until_ready(attention(*[array.astype("float64") for array in (query, key, value)]))


if __name__ == "__main__":
    unittest.main()
