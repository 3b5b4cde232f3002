# RUN: env FA_MLIR_CACHE_DIR=none %python %s
"""fa_mlir.attention on numpy arrays, against its definition in float64.

`expect` is the definition, `make_inputs` draws operands, and `Attention.check` compares one call with it. Tests go from
single options to packed sequences and dropout. `SequenceErrors` tests sequence_errors(), which says which sequences are
broken.
"""

import itertools
import os
import sys
import unittest
import unittest.mock

import ml_dtypes
import numpy

import fa_mlir
import fa_mlir.problem

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED)
RANDOM = numpy.random.default_rng(SEED)


def draw(*shape, dtype=numpy.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


def expect(query, key, value, *, causal=None, window=None, softcap=None, alibi=None, bias=None, mask=None, sink=None,
           scale=None, query_lengths=None, key_lengths=None, layout="bshd"):
    """Output and lse by the definition, in float64."""
    query, key, value = (array.astype(numpy.float64) for array in (query, key, value))
    if layout == "bshd":
        query, key, value = (array.swapaxes(1, 2) for array in (query, key, value))
    batch, heads, queries, head_dim = query.shape
    keys = key.shape[2]
    key, value = (numpy.repeat(array, heads // key.shape[1], axis=1) for array in (key, value))
    scores = (1 / numpy.sqrt(head_dim) if scale is None else scale) * numpy.einsum("bhid,bhjd->bhij", query, key)
    valid_queries = numpy.full(batch, queries) if query_lengths is None else query_lengths
    valid_keys = numpy.full(batch, keys) if key_lengths is None else key_lengths
    shift = (valid_keys - valid_queries)[:, None, None, None]
    i, j = numpy.arange(queries)[:, None], numpy.arange(keys)[None]
    if softcap is not None:
        scores = softcap * numpy.tanh(scores / softcap)
    if alibi is not None:
        slopes = alibi if alibi.ndim == 2 else alibi[None]
        scores = scores - slopes[:, :, None, None] * abs(i + shift - j)
    if bias is not None:
        scores = scores + bias.astype(numpy.float64)
    visible = numpy.broadcast_to(j < valid_keys[:, None, None, None], scores.shape)
    diagonal = 0 if causal == "top_left" else shift
    if causal:
        visible = visible & (j <= i + diagonal)
    if window is not None:
        left, right = (numpy.inf if size is None or size < 0 else size for size in window)
        visible = visible & (j >= i + diagonal - left) & (j <= i + diagonal + right)
    if mask is not None:
        visible = visible & mask
    scores = numpy.where(visible, scores, -numpy.inf)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        top = scores.max(-1, initial=-numpy.inf, keepdims=True)
        if sink is not None:
            top = numpy.maximum(top, sink[:, None, None])
        weights = numpy.where(numpy.isneginf(scores), 0, numpy.exp(scores - top))
        total = weights.sum(-1, keepdims=True)
        if sink is not None:
            total = total + numpy.exp(sink[:, None, None] - top)
        output = numpy.einsum("bhij,bhjd->bhid", numpy.where(total == 0, 0, weights / total), value)
        lse = numpy.where(total == 0, -numpy.inf, numpy.log(total) + top)[..., 0]
    is_past = numpy.arange(queries) >= valid_queries[:, None]
    output = numpy.where(is_past[:, None, :, None], 0, output)
    lse = numpy.where(is_past[:, None], 0, lse)
    return (output.swapaxes(1, 2) if layout == "bshd" else output), lse


def make_inputs(batch=2, queries=7, keys=19, heads=4, key_heads=2, head_dim=16, value_head_dim=16, layout="bshd",
                dtype=numpy.float32):
    shapes = [(batch, queries, heads, head_dim), (batch, keys, key_heads, head_dim),
              (batch, keys, key_heads, value_head_dim)]
    return [draw(*shape, dtype=dtype).swapaxes(1, 2) if layout == "bhsd" else draw(*shape, dtype=dtype)
            for shape in shapes]


class Attention(unittest.TestCase):
    def check(self, inputs, bound=2e-6, **options):
        got, lse = fa_mlir.attention(*inputs, return_lse=True, **options)
        output, expected_lse = expect(*inputs, **options)
        norm = numpy.linalg.norm(output) or 1
        self.assertLess(numpy.linalg.norm(got.astype(numpy.float64) - output) / norm, bound)
        finite = numpy.isfinite(expected_lse)
        self.assertTrue((numpy.isneginf(lse) == ~finite).all())
        self.assertLess(abs(lse[finite] - expected_lse[finite]).max(initial=0), 1e-4)
        # Without the second result the first is the same.
        self.assertTrue((fa_mlir.attention(*inputs, **options) == got).all())
        return got

    def test_types_and_layouts(self):
        for layout, dtype in itertools.product(
                ("bshd", "bhsd"), (numpy.float32, numpy.float16, ml_dtypes.bfloat16)):
            with self.subTest(layout=layout, dtype=dtype):
                inputs = make_inputs(layout=layout, dtype=dtype, value_head_dim=24)
                bound = {4: 2e-6, 2: 1e-3 if dtype == numpy.float16 else 6e-3}[numpy.dtype(dtype).itemsize]
                got = self.check(inputs, bound, layout=layout, causal="bottom_right")
                self.assertEqual(got.dtype, dtype)

    def test_masks(self):
        inputs = make_inputs()
        more_queries = make_inputs(queries=23, keys=9)
        for causal, window in itertools.product(
                (None, "bottom_right", "top_left"), (None, (-1, None), (3, 0), (2, 4), (-1, 1), (0, -1))):
            for operands in inputs, more_queries:
                with self.subTest(causal=causal, window=window):
                    self.check(operands, causal=causal, window=window)
                    pairs = operands[0].shape[1], operands[1].shape[1]
                    self.check(operands, causal=causal, window=window, mask=RANDOM.random(pairs) < 0.7)
        for shape in (2, 4, 7, 19), (1, 4, 7, 19), (2, 1, 1, 19), (7, 1), (19,):
            self.check(inputs, mask=RANDOM.random(shape) < 0.4, causal="bottom_right")
        self.check(inputs, mask=numpy.broadcast_to(RANDOM.random((2, 1, 1, 19)) < 0.5, (2, 4, 7, 19)))

    def test_scores(self):
        inputs = make_inputs()
        slopes = abs(draw(4))
        self.check(inputs, softcap=0.7)
        self.check(inputs, alibi=slopes, causal="bottom_right")
        self.check(inputs, alibi=abs(draw(2, 4)), key_lengths=numpy.array([19, 3], numpy.int32))
        for shape in (2, 4, 7, 19), (4, 1, 19), (7, 19), (1, 1, 7, 1):
            self.check(inputs, bias=draw(*shape))
        self.check(inputs, bias=draw(4, 7, 19, dtype=numpy.float16))
        self.check(inputs, softcap=2.5, alibi=slopes, bias=draw(7, 19), causal="top_left", window=(5, -1))
        self.check(inputs, sink=draw(4), causal="bottom_right")
        self.check(make_inputs(queries=9, keys=4), sink=draw(4), causal="bottom_right")
        for scale in 0.3, 1.0, 0.0, -0.2, 0.25:
            self.check(inputs, scale=scale)

    def test_lengths(self):
        inputs = make_inputs(batch=3)
        query_lengths, key_lengths = (numpy.array(values, numpy.int32) for values in ([7, 0, 4], [19, 5, 0]))
        for array, lengths in (inputs[1], key_lengths), (inputs[2], key_lengths), (inputs[0], query_lengths):
            for item, length in zip(array, lengths):
                item[length:] = numpy.nan
        clean = [numpy.nan_to_num(array) for array in inputs]
        options = dict(query_lengths=query_lengths, key_lengths=key_lengths, causal="bottom_right")
        got, lse = fa_mlir.attention(*inputs, return_lse=True, **options)
        output, expected = expect(*clean, **options)
        self.assertLess(abs(got - output).max(), 1e-5)
        self.assertTrue((numpy.isneginf(lse) == numpy.isneginf(expected)).all())
        self.assertFalse(numpy.isnan(lse).any())

    def test_shapes(self):
        self.check(make_inputs(batch=0))
        self.check(make_inputs(queries=0))
        empty = fa_mlir.attention(*make_inputs(keys=0), return_lse=True)
        self.assertFalse(empty[0].any())
        self.assertTrue(numpy.isneginf(empty[1]).all())
        inputs = make_inputs(batch=1)
        output, lse = fa_mlir.attention(*[array[0] for array in inputs], return_lse=True)
        self.assertEqual((output.shape, lse.shape), ((7, 4, 16), (4, 7)))
        self.assertTrue((output == fa_mlir.attention(*inputs)[0]).all())

    def test_out_and_strides(self):
        query, key, value = make_inputs()
        wide = numpy.full((2, 19, 2, 48), numpy.nan, numpy.float32)
        wide[..., 16:32] = key
        out = numpy.full((2, 7, 5, 16), numpy.nan, numpy.float32)[:, :, :4]
        got = fa_mlir.attention(query, wide[..., 16:32], value, out=out)
        self.assertIs(got, out)
        self.assertTrue((got == fa_mlir.attention(query, key, value)).all())
        self.assertTrue(numpy.isnan(out.base[:, :, 4]).all())

    def test_compiles_once(self):
        """Nothing of a call but types, ranks and which arguments there are."""
        def call(batch, queries, keys, heads, key_heads, window, softcap, scale):
            inputs = make_inputs(batch, queries, keys, heads, key_heads, head_dim=8, value_head_dim=8)
            wide = draw(batch, keys, key_heads, 8 + batch)[..., :8]
            self.check([inputs[0], inputs[1], wide], causal="bottom_right", window=window, softcap=softcap,
                       scale=scale, alibi=abs(draw(heads)), bias=draw(batch, 1, queries, keys))
        call(2, 7, 19, 4, 2, (5, 0), 3.0, 0.4)
        before = fa_mlir.stats()["compilations"]
        call(3, 40, 8, 6, 6, (2, 9), 11.0, 0.2)
        call(3, 2, 100, 8, 1, (-1, 9), 0.5, 5.0)
        call(2, 130, 257, 2, 1, (40, 40), 50.0, 0.01)
        self.assertEqual(fa_mlir.stats()["compilations"], before)
        # One query has code of its own for its heads.
        call(3, 1, 100, 8, 1, (-1, 9), 0.5, 5.0)
        once = fa_mlir.stats()["compilations"]
        self.assertGreater(once, before)
        call(2, 1, 31, 8, 1, (3, 9), 2.0, 0.3)
        self.assertEqual(fa_mlir.stats()["compilations"], once)

    def test_one_query(self):
        lengths = numpy.array([5, 300], numpy.int32)
        for layout, (heads, key_heads), key_lengths in itertools.product(
                ("bshd", "bhsd"), ((8, 2), (3, 3), (6, 1)), (None, lengths)):
            with self.subTest(layout=layout, heads=heads, key_lengths=key_lengths):
                inputs = make_inputs(2, 1, 300, heads, key_heads, layout=layout)
                self.check(inputs, layout=layout, key_lengths=key_lengths, causal="bottom_right",
                           alibi=abs(draw(heads)))

    def test_gradients_say_that_they_are_deterministic(self):
        text = fa_mlir.problem.Specification().text
        types = fa_mlir.problem.Types("f32", 64, 64)
        for each, is_said in (text, False), (fa_mlir.problem.make_deterministic(text), True):
            written = fa_mlir.problem.write_gradient(fa_mlir.problem.from_text(each), types, False, ("query",))
            self.assertEqual("{deterministic}" in written, is_said)

    def test_out_past_lengths(self):
        """Rows that nothing is computed for are 0, whatever was there."""
        query, key, value = make_inputs()[:3]
        lengths = numpy.array([3, 7], numpy.int32)
        out = numpy.full_like(query, 7)
        found = fa_mlir.attention(query, key, value, query_lengths=lengths, out=out)
        numpy.testing.assert_array_equal(out, fa_mlir.attention(query, key, value, query_lengths=lengths))
        self.assertFalse(out[0, 3:].any())
        self.assertTrue(numpy.shares_memory(found, out))
        out.setflags(write=False)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' is read-only"):
            fa_mlir.attention(query, key, value, query_lengths=lengths, out=out)

    def test_explain_of_long_sequences(self):
        """Operations are those of all visible pairs, not of the first ones scaled."""
        queries, keys, width = 9000, 10000, 128
        query, key = draw(1, queries, 2, 16), draw(1, keys, 2, 16)
        i, j = numpy.arange(queries), numpy.arange(keys)
        last = i + keys - queries
        band = lambda left, right: (numpy.minimum(keys - 1, last + right) - numpy.maximum(0, last - left) + 1).sum()
        stripes = (j // 500 % 3 == 0) | (j > 7000)
        for options, pairs, bound in (
                ({}, queries * keys, 0), ({"causal": "bottom_right"}, band(keys, 0), 0),
                ({"causal": "top_left"}, (i + 1).sum(), 0),
                ({"causal": "bottom_right", "window": (width, 0)}, band(width, 0), 0),
                ({"window": (width, 40)}, band(width, 40), 0), ({"window": (-1, 3)}, band(keys, 3), 0),
                ({"causal": "top_left", "window": (width, -1)}, numpy.minimum(i + 1, width + 1).sum(), 0),
                ({"query_lengths": numpy.array([100], numpy.int32), "key_lengths": numpy.array([9000], numpy.int32)},
                 100 * 9000, 0),
                ({"mask": stripes[None]}, queries * int(stripes.sum()), 0),
                ({"mask": numpy.tri(queries, keys, dtype=bool)}, (i + 1).sum(), 1e-3)):
            with self.subTest(options=list(options)):
                found = fa_mlir.explain(query, key, key, measure=False, chip="sm_90a", **options)
                self.assertLessEqual(abs(found.operations / (2 * 2 * 32 * int(pairs)) - 1), bound + 1e-12)

    def test_explain(self):
        inputs = make_inputs(queries=64, keys=64)
        found = fa_mlir.explain(*inputs, causal="bottom_right", window=(16, 0))
        rows = found.picture.splitlines()
        self.assertEqual((len(rows), rows[0][:3], rows[-1][-1], rows[-1][0]), (32, "\u2592  ", "\u2592", " "))
        self.assertIn("\u2588", rows[20])
        self.assertAlmostEqual(found.visible, sum(min(i, 16) + 1 for i in range(64)) / 64 ** 2)
        self.assertIn("fa.attention", found.problem)
        self.assertTrue(any(remark.pass_name == "fa-specialize-mask" for remark in found.remarks))
        self.assertGreater(found.seconds, 0)
        self.assertIn("visible pairs", str(found))
        self.assertIsNone(found.predicted)
        narrow = [array.astype(numpy.float16) for array in inputs]
        found = fa_mlir.explain(*narrow, chip="sm_90a", softcap=3.0)
        self.assertEqual((found.target, found.seconds, found.unsupported), ("sm_90a", None, ""))
        self.assertIn(".target sm_90a", found.ptx)
        self.assertTrue(any(remark.pass_name == "fa-select-config" for remark in found.remarks))
        # One query of long keys reads them; long queries multiply. An H200 took 0.418 ms for the latter.
        query, key = (numpy.zeros((4, rows, 16, 128), numpy.float16) for rows in (1, 4096))
        found = fa_mlir.explain(query, key, key, chip="sm_90a")
        self.assertAlmostEqual(found.predicted, 5e-6 + 2 * (query.nbytes + key.nbytes) / 4.8e12, places=9)
        self.assertIn("predicted: ", str(found))
        found = fa_mlir.explain(key, key, key, causal="bottom_right", chip="sm_90a")
        self.assertLess(abs(found.predicted / 0.418e-3 - 1), 0.25)
        self.assertEqual(found.block, (128, 128))
        self.assertIn("a sign for 128 x 128 of them", str(found))
        for options, message in (({"chip": "h100"}, "'chip' is 'h100', expected one of .*sm_90a"), ({"softcap": -1}, "'softcap' is -1")):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "argument " + message):
                fa_mlir.explain(*inputs, **options)
        found = fa_mlir.explain(*[array.astype(numpy.float64) for array in inputs])
        self.assertIn("float64", found.unsupported)

    def test_explain_of_every_option(self):
        """Sinks, dropout, packed sequences and pages: the problem has them, pairs are counted
        by each sequence, and the picture has a block for each."""
        heads, dim = 2, 16
        sizes = numpy.array([5, 0, 12, 15]), numpy.array([9, 3, 12, 8])
        starts = [numpy.concatenate([[0], each.cumsum()]).astype(numpy.int32) for each in sizes]
        query, key = draw(32, heads, dim), draw(32, heads, dim)
        packed = {"query_starts": starts[0], "key_starts": starts[1]}
        # By the definition, row by row.
        seen = numpy.zeros((32, 32), bool)
        for top, left, queries, keys in zip(*starts, *sizes):
            for i in range(queries):
                seen[top + i, left:left + max(0, i + keys - queries + 1)] = True
        found = fa_mlir.explain(query, key, key, causal="bottom_right", **packed)
        self.assertEqual(found.unsupported, "")
        self.assertEqual(found.operations, 2 * heads * 2 * dim * seen.sum())
        self.assertAlmostEqual(found.visible, seen.sum() / (sizes[0] * sizes[1]).sum())
        self.assertEqual(found.picture, "\n".join("".join(" \u2588"[int(pair)] for pair in row) for row in seen))
        self.assertIn("query_starts(%query_starts", found.problem)
        self.assertGreater(found.seconds, 0)

        found = fa_mlir.explain(query, key, key, key_lengths=numpy.array([4, 3, 0, 8], numpy.int32), **packed)
        self.assertEqual(found.operations, 2 * heads * 2 * dim * (5 * 4 + 15 * 8))
        inputs = make_inputs(batch=2, queries=8, keys=24, heads=heads, key_heads=heads, head_dim=dim)
        found = fa_mlir.explain(*inputs, sink=draw(heads), dropout_p=0.25)
        self.assertEqual((found.unsupported, found.visible), ("", 1))
        self.assertIn("sink(%b, %h, %i)", found.problem)
        self.assertIn("dropout(%dropout_p", found.problem)
        self.assertNotIn("lse", found.problem)
        lengths = numpy.array([24, 6], numpy.int32)
        found = fa_mlir.explain(*inputs, key_lengths=lengths, mask=numpy.arange(2)[:, None, None, None] == numpy.array([[[[1]]]]))
        self.assertEqual(found.operations, 2 * heads * 2 * dim * 8 * 6)
        pages = draw(4, 16, heads, dim)
        found = fa_mlir.explain(inputs[0], pages, pages, key_pages=numpy.array([[3, 0], [1, 2]], numpy.int32),
                                key_lengths=lengths)
        self.assertEqual((found.unsupported, found.operations), ("", 2 * heads * 2 * dim * 8 * (24 + 6)))
        self.assertIn("key_pages(%key_pages", found.problem)
        found = fa_mlir.explain(query, key, key, bias=draw(32), **packed)
        self.assertIn("'bias' is an array with packed", found.unsupported)
        for message, options in (("'sink' has shape", {"sink": draw(3)}), ("'dropout_p' is 2", {"dropout_p": 2}),
                                 ("'causal' is True", {"causal": True}), ("'key' has rank 3", {"query_starts": starts[0]}),
                                 ("'layout'", {"layout": "bhsd", **packed})):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, message):
                fa_mlir.explain(query, key, key, **options)
        with self.assertRaisesRegex(TypeError, "'casual', expected one of alibi"):
            fa_mlir.explain(*inputs, casual="bottom_right")

    def test_negative_strides(self):
        """They are copied; what is written to has none."""
        query, key, value = inputs = make_inputs()
        turned = [numpy.ascontiguousarray(array[:, ::-1])[:, ::-1] for array in inputs]
        bias = draw(7, 19)
        self.assertTrue(numpy.array_equal(fa_mlir.attention(*turned, bias=bias[::-1][::-1]), fa_mlir.attention(*inputs, bias=bias)))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' has the strides .*none that is negative"):
            fa_mlir.attention(*inputs, out=numpy.empty_like(query)[:, ::-1])

    def test_errors(self):
        query, key, value = make_inputs()
        wrong = [
            ("causal.*1", dict(causal=[1])), ("layout.*'b'", dict(layout=["b"])), ("return_lse.*'yes'.*True or", dict(return_lse="yes")),
            ("scale.*nan.*finite", dict(scale=float("nan"))), ("scale.*1e\\+39.*float32", dict(scale=1e39)),
            ("softcap.*1e\\+50.*finite", dict(softcap=1e50)), ("sink.*complex", dict(sink=draw(4) + 1j)),
            ("mask.*is a bool", dict(mask=True)), ("key_lengths.*int64.*astype", dict(key_lengths=numpy.ones(2, int))),
            ("causal.*True.*bottom_right", dict(causal=True)), ("layout.*'sbhd'", dict(layout="sbhd")),
            ("softcap.*-1.*above 0", dict(softcap=-1.0)), ("window.*5", dict(window=5)),
            ("window.*\\(0, -2\\).*from 0; -1 or None is", dict(window=(0, -2))), ("window.*'a'", dict(window=("a", 0))), ("alibi.*rank 3", dict(alibi=draw(1, 2, 4))),
            ("alibi.*shape.*expected \\(4,\\)", dict(alibi=draw(5))), ("alibi.*float64", dict(alibi=numpy.ones(4))),
            ("bias.*broadcasts to \\(2, 4, 7, 19\\)", dict(bias=draw(8, 19))), ("bias.*rank 5", dict(bias=draw(1, 1, 1, 7, 19))),
            ("bias.*bool.*mask", dict(bias=numpy.ones((7, 19), bool))), ("mask.*float32.*bias", dict(mask=draw(7, 19))),
            ("key_lengths.*int64", dict(key_lengths=numpy.ones(2, int))),
            ("query_lengths.*shape", dict(query_lengths=numpy.ones(3, numpy.int32))), ("sink.*expected \\(4,\\)", dict(sink=draw(3)))]
        for pattern, options in wrong:
            with self.subTest(options=options), self.assertRaisesRegex(fa_mlir.ArgumentError, pattern):
                fa_mlir.attention(query, key, value, **options)
        for pattern, operands in [
                ("query.*is None", (None, key, value)), ("key.*is None", (query, None, value)), ("query.*is a list", ([1], key, value)),
                ("key.*rank 4.*3 as the query", (query[0], key, value)), ("key.*rank 3.*expected 4", (query, key[0], value)),
                ("key.*float32.*float16", (query.astype(numpy.float16), key, value)),
                ("value.*float16.*float32", (query, key, value.astype(numpy.float16))),
                ("query.*rank 2", (query[0, 0], key, value)), ("key.*head dim 8", (query, key[..., :8], value)),
                ("value.*shape", (query, key, value[:, :4])), ("key.*batch 1", (query, key[:1], value[:1])),
                ("key.*3 heads", (query, draw(2, 19, 3, 16), draw(2, 19, 3, 16))),
                ("query.*stride 4", (draw(2, 7, 16, 4).swapaxes(2, 3), key, value))]:
            with self.subTest(pattern), self.assertRaisesRegex(fa_mlir.ArgumentError, pattern):
                fa_mlir.attention(*operands)
        with self.assertRaises(fa_mlir.UnsupportedError) as raised:
            fa_mlir.attention(*[array.astype(numpy.float64) for array in (query, key, value)])
        self.assertEqual(raised.exception.argument, "query")
        self.assertIn("expected", str(raised.exception))
        self.assertIsInstance(raised.exception, NotImplementedError)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'dropout_p' is 1.5"):
            fa_mlir.attention(query, key, value, dropout_p=1.5)

    def test_what_is_missing(self):
        with self.assertRaisesRegex(fa_mlir.Error, "none.json': No such file.*fa_mlir.compile"):
            fa_mlir.load("none.json")
        self.assertRegex(fa_mlir.__version__, r"^\d+\.\d+\.\d+$")
        with unittest.mock.patch.dict(sys.modules, {"torch": None, "jax": None}):
            for module in "tracing", "regions":
                sys.modules.pop("fa_mlir." + module, None)
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'mask' is a function where torch is not installed.*pip install"):
                fa_mlir.attention(*make_inputs(), mask=lambda b, h, q, k: q >= k)
            with self.assertRaisesRegex(ModuleNotFoundError, "jit takes functions of JAX, which is not installed"):
                fa_mlir.jit(lambda array: array)(draw(3))

    def test_packed(self):
        """Rows of other sequences are not read, and those of none are 0."""
        key, value = draw(11, 2, 16), draw(11, 2, 16)
        query, starts, key_starts = draw(9, 4, 16), numpy.array([1, 4, 8], numpy.int32), numpy.array([0, 6, 11], numpy.int32)
        got, lse = fa_mlir.attention(query, key, value, query_starts=starts, key_starts=key_starts, causal="bottom_right",
                                     return_lse=True)
        for b in range(2):
            rows, keys = slice(starts[b], starts[b + 1]), slice(key_starts[b], key_starts[b + 1])
            output, sums = expect(query[None, rows], key[None, keys], value[None, keys], causal="bottom_right")
            self.assertLess(numpy.linalg.norm(got[rows] - output[0]), 2e-6 * numpy.linalg.norm(output))
            self.assertLess(abs(lse[:, rows] - sums[0]).max(), 1e-5)
        self.assertFalse(got[[0, 8]].any())

    def test_dropout(self):
        state = numpy.array([SEED, 1])
        inputs = make_inputs()
        first, second = (fa_mlir.attention(*inputs, dropout_p=0.5, dropout_state=state) for _ in range(2))
        self.assertTrue(numpy.array_equal(first, second))
        self.assertFalse(numpy.array_equal(first, fa_mlir.attention(*inputs, dropout_p=0.5)))


class SequenceErrors(unittest.TestCase):
    def test_words(self):
        query, pool = draw(3, 2, 4, 32), draw(5, 8, 2, 32)
        table = numpy.array([[4, 0, 5], [1, 2, -1], [3, 3, 3]], numpy.int32)
        lengths = numpy.array([17, 16, 25], numpy.int32)
        words = fa_mlir.sequence_errors(query, pool, pool, key_lengths=lengths, key_pages=table)
        self.assertEqual(words.tolist(), [fa_mlir.SequenceError.KEY_PAGES, 0, fa_mlir.SequenceError.KEY_LENGTH])
        output = fa_mlir.attention(query, pool, pool, key_lengths=lengths, key_pages=table)
        self.assertEqual(numpy.isnan(output).all((1, 2, 3)).tolist(), (words != 0).tolist())
        rows = draw(20, 2, 32)
        starts = numpy.array([0, 9, 5, 21], numpy.int32)
        words = fa_mlir.sequence_errors(rows, rows, rows, query_starts=starts, key_starts=starts)
        both = fa_mlir.SequenceError.QUERY_STARTS | fa_mlir.SequenceError.KEY_STARTS
        self.assertEqual(words.tolist(), [0, both, both])
        self.assertEqual(fa_mlir.SequenceError(17), fa_mlir.SequenceError.QUERY_STARTS | fa_mlir.SequenceError.KEY_PAGES)

    def test_arguments(self):
        query = draw(3, 2, 4, 32)
        lengths = numpy.array([2, 2, 2], numpy.int32)
        for message, tables in (("'query_lengths' is None", {}),
                                ("'key_lengths' is of 2 sequences, expected 3", {"key_lengths": lengths[:2]}),
                                ("'key_lengths' has dtype int64", {"key_lengths": lengths.astype(numpy.int64)}),
                                ("'query' has rank 4, expected 3", {"query_starts": numpy.zeros(4, numpy.int32)})):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, message):
                fa_mlir.sequence_errors(query, query, query, **tables)


if __name__ == "__main__":
    unittest.main()
