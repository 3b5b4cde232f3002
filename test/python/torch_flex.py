# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""Score functions and masks of Python against torch's own FlexAttention in float64, gradients of what they capture too.

`make_scores` and `make_masks` have those of attention-gym, written again; a new one is an entry there.
`Functions.check` runs one on both. `Traces` tests what a trace keeps of the captured values, and its errors.
"""

import functools
import math
import os
import unittest

import torch
from torch.nn.attention.flex_attention import (BlockMask, and_masks, create_block_mask, flex_attention, noop_mask,
                                               or_masks)

import fa_mlir
from fa_mlir import tracing

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
# suites_on_device.py sets it.
DEVICE = os.environ.get("FA_TEST_DEVICE", "cpu")
if DEVICE != "cpu":
    torch.set_default_device(DEVICE)
# A GPU has gradients of 16 bits: the bounds of outputs and of gradients are its.
TYPE, BOUND, GRADIENT_BOUND = (torch.float32, 4e-6, 2e-5) if DEVICE == "cpu" else (torch.float16, 1e-3, 5e-3)
print("seed", SEED)
torch.manual_seed(SEED)
BATCH, HEADS, QUERIES, KEYS = 2, 4, 48, 48


def count_compiled():
    """Kernels that were made or found on disk."""
    return fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]


def leaf(*shape):
    return torch.randn(shape, requires_grad=True)


#===--- Score functions ---------------------------------------------------===#

def make_scores():
    """(name, function, tensors that it captures and that get gradients)."""
    yield "identity", lambda s, b, h, q, k: s, []
    slopes = torch.exp2(-8.0 * torch.arange(1, HEADS + 1) / HEADS).requires_grad_()
    yield "alibi", lambda s, b, h, q, k: s + slopes[h] * (k - q), [slopes]
    yield "alibi, computed", lambda s, b, h, q, k: s + torch.exp2(-((h + 1) * 8.0 / HEADS)) * (k - q), []

    def make_softcap(cap):
        return lambda s, b, h, q, k: cap * torch.tanh(s / cap)
    yield "softcap", make_softcap(1.5), []
    yield "relative position", lambda s, b, h, q, k: s + (q - k), []
    table = leaf(HEADS, 2 * KEYS)
    yield "relative position bias", lambda s, b, h, q, k: s + table[h, q - k + KEYS], [table]
    # An index below 0 counts from the end.
    yield "negative index", lambda s, b, h, q, k: s + table[h, q - k], [table]
    buckets = leaf(32, HEADS)

    def t5(s, b, h, q, k):
        distance = torch.abs(k - q)
        large = 8 + (torch.log(torch.clamp(distance, min=1).float() / 8) / math.log(128 / 8) * 8).to(torch.int64)
        bucket = torch.where(distance < 8, distance, torch.clamp(large, max=15)) + torch.where(k > q, 16, 0)
        return s + buckets[bucket, h]
    yield "t5 buckets", t5, [buckets]
    bias = leaf(BATCH, HEADS, QUERIES, KEYS)
    yield "bias", lambda s, b, h, q, k: s + bias[b, h, q, k], [bias]

    def nested(s, b, h, q, k):
        return s + bias[b][h][q][k]
    # torch cannot differentiate it.
    nested.plain = lambda s, b, h, q, k: s + bias[b, h, q, k]
    yield "bias, nested indices", nested, [bias]
    gate = leaf(BATCH, HEADS)
    yield "gate of a head", lambda s, b, h, q, k: s * torch.sigmoid(gate[b, h]), [gate]
    one = torch.tensor(0.7, requires_grad=True)
    yield "a captured scalar", lambda s, b, h, q, k: s * one, [one]
    rows, columns = leaf(QUERIES), leaf(KEYS)
    yield "rows and columns", lambda s, b, h, q, k: s + rows[q] * columns[k], [rows, columns]
    yield "where", lambda s, b, h, q, k: torch.where((q - k).abs() % 3 == 0, s * 2, s - 0.25), []
    yield "inf", lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")), []
    yield "activations", lambda s, b, h, q, k: torch.nn.functional.silu(s) + torch.nn.functional.softplus(s), []
    yield "inverse hyperbolic", lambda s, b, h, q, k: (torch.asinh(s) + torch.acosh(1.5 + s * s)
                                                       + torch.atanh(0.9 * torch.tanh(s))), []
    yield "clamp and cube", lambda s, b, h, q, k: s.clamp(-1, 1) * s + 0.1 * s ** 3, []
    yield "hardswish", lambda s, b, h, q, k: torch.nn.functional.hardswish(s), []
    if DEVICE == "cpu":  # eager FlexAttention fails with it on CUDA
        yield "logsigmoid", lambda s, b, h, q, k: torch.nn.functional.logsigmoid(s), []

    # As the decomposition of logsigmoid on CUDA.
    def with_unread(s, b, h, q, k):
        s.new_zeros((0,))
        return s * 2
    # torch maps it over all pairs.
    with_unread.plain = lambda s, b, h, q, k: s * 2
    yield "a value that nobody reads", with_unread, []
    ids = torch.randint(0, 3, (BATCH, KEYS))
    yield "checkerboard", lambda s, b, h, q, k: torch.where(ids[b, q] == ids[b, k], s, s * 0.5 - 1), []
    weights = leaf(3)
    yield "polynomial", lambda s, b, h, q, k: weights[0] + weights[1] * s + weights[2] * s ** 2 * 0.1, [weights]
    frequency = leaf(HEADS, 4)

    def rotary(s, b, h, q, k):
        angle = (q - k).to(torch.float32)
        return s + frequency[h, 0] * torch.cos(angle * 0.5) + frequency[h, -1] * torch.sin(angle)
    yield "cosine of distance", rotary, [frequency]


#===--- Masks -------------------------------------------------------------===#

def make_masks():
    def causal(b, h, q, k):
        return q >= k
    yield "causal", causal

    def make_window(size):
        return lambda b, h, q, k: (q >= k) & (q - k <= size)
    yield "sliding window", make_window(11)
    yield "window by and_masks", and_masks(causal, lambda b, h, q, k: q - k <= 7)
    yield "prefix", or_masks(lambda b, h, q, k: k < 13, causal)
    prefixes = torch.tensor([5, 30])
    yield "prefix of each item", or_masks(lambda b, h, q, k: k < prefixes[b], causal)
    ids = torch.sort(torch.randint(0, 4, (KEYS,)))[0].to(torch.int32)
    yield "documents", lambda b, h, q, k: ids[q] == ids[k]
    offsets = torch.searchsorted(ids, torch.arange(5, dtype=torch.int32)).to(torch.int64)

    def document_causal(b, h, q, k):
        return (ids[q] == ids[k]) & (q - offsets[ids[q]] >= k - offsets[ids[k]])
    yield "causal in documents", document_causal

    def make_dilated(size, step):
        return lambda b, h, q, k: ((q - k).abs() <= size) & ((q - k) % step == 0)
    yield "dilated window", make_dilated(12, 3)

    def make_neighbourhood(width, size):
        def neighbourhood(b, h, q, k):
            x, y, u, v = q % width, q // width, k % width, k // width
            x, y = x.clamp(size // 2, width - 1 - size // 2), y.clamp(size // 2, KEYS // width - 1 - size // 2)
            return ((x - u).abs() <= size // 2) & ((y - v).abs() <= size // 2)
        return neighbourhood
    yield "neighbourhood of an image", make_neighbourhood(8, 3)

    def make_tiles(width, tile):
        def tiles(b, h, q, k):
            return ((q % width) // tile == (k % width) // tile) & ((q // width) // tile == (k // width) // tile)
        return tiles
    yield "tiles of an image", make_tiles(8, 2)
    yield "global tokens", or_masks(lambda b, h, q, k: (q < 4) | (k < 4), make_window(5))
    heads = torch.tensor([3, 9, 20, 48])
    yield "window of each head", lambda b, h, q, k: (q - k).abs() < heads[h]
    visible = torch.rand(BATCH, KEYS) < 0.6
    yield "padding", lambda b, h, q, k: visible[b, k]
    yield "random table", functools.partial(
        lambda table, b, h, q, k: table[q // 4, k // 4], torch.rand(QUERIES // 4, KEYS // 4) < 0.5)
    modalities = torch.tensor([[3, 9], [20, 12]])

    def transfusion(b, h, q, k):
        allowed = q >= k
        for i in range(2):
            start, size = modalities[i, 0], modalities[i, 1]
            allowed = allowed | ((q >= start) & (q < start + size) & (k >= start) & (k < start + size))
        return allowed
    yield "transfusion", transfusion
    times = torch.tensor([4, 20, 33])

    def flamingo(b, h, q, k):
        image = (q >= times[0]).to(torch.int64) + (q >= times[1]) + (q >= times[2])
        return k // 12 == image
    yield "images between text", flamingo
    yield "strided", lambda b, h, q, k: (q >= k) & ((q - k < 6) | (k % 7 == 6))
    yield "not", lambda b, h, q, k: ~(q == k)
    permutation = torch.randperm(KEYS)
    yield "causal, permuted", lambda b, h, q, k: permutation[q] >= permutation[k]


class Functions(unittest.TestCase):
    def check(self, score, mask, captures, head_dim=16):
        inputs = [torch.randn(BATCH, HEADS, length, head_dim, requires_grad=True, dtype=TYPE)
                  for length in (QUERIES, KEYS, KEYS)]
        got, lse = fa_mlir.flex_attention(*inputs, score, mask, return_lse=True)
        weights, lse_weights = torch.randn_like(got), torch.randn_like(lse)
        block_mask = create_block_mask(mask, BATCH, HEADS, QUERIES, KEYS, device=DEVICE) if mask else None
        wide = [tensor.detach().double().requires_grad_() for tensor in inputs]
        # Numbers that changed since the last trace are symbols, which it refuses.
        torch._dynamo.reset()
        expected, expected_lse = flex_attention(*[tensor.detach() for tensor in wide], score, block_mask, return_lse=True)
        # A row that sees nothing has lse -inf here, and no gradient.
        seen = torch.isfinite(expected_lse)
        self.assertTrue(torch.equal(torch.isfinite(lse), seen))
        expected = torch.where(seen[..., None], expected, 0)
        self.assertLess(float((got - expected).detach().norm() / expected.detach().norm()), BOUND)
        self.assertLess(float((lse - expected_lse)[seen].detach().abs().max()), 2e-5 if TYPE == torch.float32 else 1e-3)
        wanted = [tensor for tensor in captures if tensor.requires_grad]
        lse_weights = torch.where(seen, lse_weights, 0)
        found = torch.autograd.grad([got, lse], inputs + wanted, [weights, lse_weights])
        *dense, scores = self.reference(wide, getattr(score, "plain", score), mask)
        *right, score_gradient = torch.autograd.grad(dense, wide + wanted + [scores], [weights.double(), lse_weights.double()],
                                                     retain_graph=True)
        self.assertLess(float((dense[0] - expected).detach().norm() / expected.detach().norm()), 1e-6)
        sizes = [float(other.norm()) for other in right]
        if wanted:
            sizes[3:] = map(max, sizes[3:], self.find_sizes_of_terms(scores, wanted, score_gradient))
        for one, other, size in zip(found, right, sizes):
            self.assertLess(float((one - other).norm() / max(size, 1e-6)), GRADIENT_BOUND)

    @staticmethod
    def find_sizes_of_terms(scores, captures, score_gradient):
        """Of the sums that gradients of captures are: what they would be if their terms had random signs.
        Terms are rounded one by one, and a sum of many may lie near zero."""
        draws = [torch.autograd.grad(scores, captures, score_gradient * (2.0 * torch.randint_like(scores, 2) - 1), retain_graph=True)
                 for _ in range(8)]
        return [math.sqrt(sum(float(draw.norm()) ** 2 for draw in each) / len(each)) for each in zip(*draws)]

    @staticmethod
    def reference(inputs, score, mask):
        """The same in float64, differentiable: output, lse, and the scores that the function gave."""
        query, key, value = inputs
        scores = query @ key.mT / query.shape[-1] ** 0.5
        indices = [torch.arange(size) for size in scores.shape]
        with tracing.TransformGetItemToIndex():
            def over(function, first):
                for place in range(4):
                    dims = [None] * 4
                    dims[3 - place] = 0
                    function = torch.vmap(function, in_dims=(*first, *dims), out_dims=0)
                return function
            if score:
                scores = over(score, (0,))(scores, *indices).to(torch.float64)
            visible = over(mask, ())(*indices) if mask else torch.tensor(True)
        given = scores
        visible = visible.expand(scores.shape) & torch.isfinite(scores)
        scores = torch.where(visible, scores, -1e30)
        top = scores.max(-1, keepdim=True)[0].detach()
        weights = torch.where(visible, torch.exp(scores - top), 0)
        total = weights.sum(-1, keepdim=True)
        return weights @ value / total.clamp(min=1e-300), torch.log(total.clamp(min=1e-300))[..., 0] + top[..., 0], given

    def test_scores(self):
        for name, score, captures in make_scores():
            with self.subTest(name):
                self.check(score, None, captures)

    def test_masks(self):
        for name, mask in make_masks():
            with self.subTest(name):
                self.check(None, mask, [])

    def test_both(self):
        slopes = leaf(HEADS)
        self.check(lambda s, b, h, q, k: s + slopes[h] * (q - k), lambda b, h, q, k: (q >= k) & (q - k < 20), [slopes])


class Traces(unittest.TestCase):
    def setUp(self):
        self.inputs = [torch.randn(1, 2, 24, 8) for _ in range(3)]

    def test_numbers_are_arguments(self):
        """Other numbers, lengths and tables run the same code."""
        def make(window, slope, table):
            return (lambda s, b, h, q, k: s * slope + table[q % table.shape[0]],
                    lambda b, h, q, k: (q - k).abs() <= window)

        def run(window, slope, length, entries):
            table = torch.randn(entries)
            inputs = [torch.randn(1, 2, length, 8) for _ in range(3)]
            score, mask = make(window, slope, table)
            got = fa_mlir.flex_attention(*inputs, score, mask)
            expected, *_ = Functions.reference([tensor.double() for tensor in inputs], score, mask)
            self.assertLess(float((got - expected).norm() / expected.norm()), 4e-6)

        run(5, 0.5, 24, 7)
        before = count_compiled()
        traced = sum(map(len, tracing._templates.values()))
        for sizes in (9, 0.25, 24, 7), (1, -3.0, 40, 11), (100, 2.0, 3, 1000):
            run(*sizes)
        self.assertEqual(count_compiled(), before)
        self.assertEqual(sum(map(len, tracing._templates.values())), traced)

    def test_numbers_that_decide(self):
        def make(count):
            def score(s, b, h, q, k):
                for i in range(count):
                    s = s + torch.where((q + k) % (i + 2) == 0, 0.5, 0.0)
                return s
            return score

        for count in 0, 1, 3, 1:
            got = fa_mlir.flex_attention(*self.inputs, make(count))
            expected, *_ = Functions.reference([tensor.double() for tensor in self.inputs], make(count), None)
            self.assertLess(float((got - expected).norm() / expected.norm()), 4e-6)

    def test_state_of_objects(self):
        class Model:
            def __init__(self):
                self.gain, self.table = 2.0, torch.randn(24)

            def score(self, s, b, h, q, k):
                return s * self.gain + self.table[k]

        model = Model()
        for gain in 2.0, 0.5:
            model.gain, model.table = gain, torch.randn(24)
            got = fa_mlir.flex_attention(*self.inputs, model.score)
            expected, *_ = Functions.reference([tensor.double() for tensor in self.inputs], model.score, None)
            self.assertLess(float((got - expected).norm() / expected.norm()), 4e-6)

    def test_block_masks(self):
        """Blocks that say something else than the function are honoured."""
        inputs = [torch.randn(1, 2, 256, 8) for _ in range(3)]
        counts = torch.tensor([[[1, 2]]], dtype=torch.int32)
        indices = torch.tensor([[[[1, 0], [0, 1]]]], dtype=torch.int32)
        for function in noop_mask, lambda b, h, q, k: q >= k:
            mask = BlockMask.from_kv_blocks(counts, indices, BLOCK_SIZE=128, mask_mod=function)
            got = fa_mlir.flex_attention(*inputs, block_mask=mask)

            def dense(b, h, q, k):
                return (q // 128 == 1) | (k // 128 == 1) if function is noop_mask else (q >= k) & (q // 128 == 1)
            expected, *_ = Functions.reference([tensor.double() for tensor in inputs], None, dense)
            self.assertLess(float((got - expected).norm() / expected.norm()), 4e-6)
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device=DEVICE)
        self.assertTrue(torch.equal(fa_mlir.flex_attention(*inputs, block_mask=mask),
                                    fa_mlir.attention(*inputs, causal="top_left", layout="bhsd")))

    def test_block_masks_of_other_lengths(self):
        """They are refused, as torch does; strides are not."""
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 256, 256, device=DEVICE)
        for length in 200, 300:
            inputs = [torch.randn(1, 2, length, 8) for _ in range(3)]
            with self.assertRaisesRegex(fa_mlir.ArgumentError, f"'block_mask' is of 256 queries and 256 keys, expected {length}"):
                fa_mlir.flex_attention(*inputs, block_mask=mask)
            self.assertTrue(torch.equal(fa_mlir.flex_attention(*inputs, block_mask=mask.mask_mod),
                                        fa_mlir.attention(*inputs, causal="top_left", layout="bhsd")))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' has batch 2, expected the query's 3, or 1"):
            fa_mlir.flex_attention(*[torch.randn(batch, 2, 8, 8) for batch in (3, 2, 2)])
        query = self.inputs[0].mT.contiguous().mT
        self.assertTrue(torch.equal(fa_mlir.flex_attention(query, *self.inputs[1:]), fa_mlir.flex_attention(*self.inputs)))

    def test_errors(self):
        def sorts(b, h, q, k):
            return torch.sort(q)[0] > k

        def branches(s, b, h, q, k):
            if q > k:
                return s
            return -s

        def skips(s, b, h, q, k):
            return s + torch.ones(24, 24)[:, 3].sum()

        for name, function, what in (("block_mask", sorts, "sort"), ("score_mod", branches, "if q > k"),
                                     ("score_mod", skips, "aten.ones")):
            with self.assertRaises(fa_mlir.UnsupportedError) as raised:
                fa_mlir.flex_attention(*self.inputs, **{name: function})
            self.assertEqual(raised.exception.argument, name)
            self.assertIn(what, str(raised.exception))
            self.assertIn(os.path.basename(__file__), str(raised.exception))
        row = [1.0] * 24
        for function, what in ((lambda s, h, q, k: s, r"arguments \(s, h, q, k\) .* expected 5: the score, batch, head, query and key"),
                               (lambda s, b, h, q, k: s * (q >= k and k > 3), "& | ~, torch.where"),
                               (lambda s, b, h, q, k: s * row[k], "index a torch tensor"),
                               (lambda s, b, h, q, k: s * int(q), "int, .item()"),
                               (lambda s, b, h, q, k: None, "a result of NoneType .* expected one scalar for each pair")):
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, what):
                fa_mlir.flex_attention(*self.inputs, score_mod=function)
        with self.assertRaisesRegex(NameError, "missing"):
            fa_mlir.flex_attention(*self.inputs, score_mod=lambda s, b, h, q, k: s * missing)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "enable_gqa"):
            fa_mlir.flex_attention(self.inputs[0], self.inputs[1][:, :1], self.inputs[2][:, :1])


if __name__ == "__main__":
    unittest.main()
