# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""The interfaces that others have: SDPA by torch's own samples, flash-attn, transformers.

One class for each: `SDPA`, torch's registry of implementations, flash-attn, vLLM, xformers, diffusers, transformers;
the last three are skipped where the package is not installed. `find_scores` and `bound_cancellation` say how exact SDPA
can be.
"""

import importlib.util
import os
import subprocess
import sys
import types
import unittest
import warnings
from unittest import mock

import torch
from torch.nn.functional import scaled_dot_product_attention as original

import fa_mlir
from fa_mlir import flash_attn, flash_attn_interface, flash_impl
from fa_mlir.sdpa import override_counts

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
# suites_on_device.py sets it.
DEVICE = os.environ.get("FA_TEST_DEVICE", "cpu")
if DEVICE != "cpu":
    torch.set_default_device(DEVICE)
print("seed", SEED)
torch.manual_seed(SEED)


def count_compiled():
    """Kernels that were made or found on disk."""
    return fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]


def relative_error(got, expected):
    return float((got.detach().double() - expected.detach().double()).norm() / expected.detach().double().norm().clamp(
        min=1e-30))


def rotate(rows, cos, sin, interleaved):
    """Rotary embedding of (sequence, heads, head dim) by the definition, in float64."""
    rows = rows.double().clone()
    half = cos.shape[1]
    for i in range(half):
        one, two = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
        c, s = cos[:, i, None].double(), sin[:, i, None].double()
        rows[..., one], rows[..., two] = rows[..., one] * c - rows[..., two] * s, rows[..., one] * s + rows[..., two] * c
    return rows


def find_scores(query, key, is_causal=False, attn_mask=None, enable_gqa=False, scale=None, dropout_p=0.0):
    """SDPA's scores by the definition, differentiable."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -torch.inf)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -torch.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return scores


def bound_cancellation(query, key, value, output, weights, options):
    """Norms of how far dP - sum(dO O) = sum(dO V') - sum(dO O) may be off in float32, by what is multiplied with it
    in the gradients of query, key and value: a sum of n products errs by n + 1 roundings of its absolute ones."""
    with torch.no_grad():
        groups = query.shape[-3] // key.shape[-3] if options.get("enable_gqa") else 1
        repeated = [tensor.repeat_interleave(groups, -3) if groups > 1 else tensor for tensor in (key, value)]
        pairs = weights.abs() @ repeated[1].abs().mT + (weights * output).abs().sum(-1, keepdim=True)
        pairs = pairs * find_scores(query, key, **options).softmax(-1).nan_to_num(0)
        pairs = pairs * (value.shape[-1] + 1) * 2 ** -24 * (options.get("scale") or query.shape[-1] ** -0.5)
        of_key = pairs.mT @ query.abs()
        if groups > 1:
            of_key = of_key.unflatten(-3, (-1, groups)).sum(-3)
        return [(pairs @ repeated[0].abs()).sum_to_size(query.shape).norm(), of_key.sum_to_size(key.shape).norm(),
                torch.zeros(())]


class SDPA(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("expecttest"), "no expecttest, which torch's samples need")
    def test_samples(self):
        """Those that torch tests its own with: results and gradients against float64.

        A gradient is computed from the output as it was stored: dS = P (dP - sum(dO O)). With scores of up
        to 200 P has one element near 1, and dP - sum(dO O) is hardly more than what 16 bits rounded off O. So the
        reference takes the stored output too. Its difference from the exact one is a row of P times
        sum(dO (stored - exact)): a gradient of lse. That part torch's fused kernels have as well. In float32
        it is what the two sums round off.
        """
        from torch.testing._internal.common_methods_invocations import op_db

        operation, = [info for info in op_db if info.name == "nn.functional.scaled_dot_product_attention"]
        refused, checked, dropped = {}, 0, 0
        for dtype, bound in (torch.float32, 4e-6), (torch.float16, 2e-3), (torch.bfloat16, 1.5e-2):
            for sample in operation.sample_inputs(DEVICE, dtype, requires_grad=True):
                with self.subTest(dtype=dtype, sample=sample.summary()):
                    operands = [sample.input, *sample.args]
                    try:
                        got = fa_mlir.sdpa(*operands, **sample.kwargs)
                    except fa_mlir.UnsupportedError as error:
                        refused[error.argument] = refused.get(error.argument, 0) + 1
                        continue
                    if sample.kwargs.get("dropout_p"):
                        # Which weights are dropped differs from torch's; torch_attention.py has the numbers.
                        self.assertEqual(got.shape, original(*operands, **sample.kwargs).shape)
                        again = []
                        for _ in range(2):
                            torch.manual_seed(SEED)
                            again.append(fa_mlir.sdpa(*operands, **sample.kwargs))
                        self.assertTrue(torch.equal(*again))
                        dropped += 1
                        continue
                    wide = [tensor.detach().double().requires_grad_() for tensor in operands]
                    options = dict(sample.kwargs)
                    mask = options.get("attn_mask")
                    if mask is not None and mask.dtype != torch.bool:
                        options["attn_mask"] = mask.detach().double()
                    expected = original(*wide, **options)
                    self.assertEqual(got.shape, expected.shape)
                    self.assertEqual(got.dtype, dtype)
                    self.assertLess(relative_error(got, expected), bound)
                    weights = torch.randn_like(got)
                    found = torch.autograd.grad(got, operands, weights)
                    right = torch.autograd.grad(expected, wide, weights.double())
                    theirs = torch.autograd.grad(original(*operands, **sample.kwargs), operands, weights)
                    rounded_off = (weights.double() * (got.detach().double() - expected.detach())).sum(-1)
                    stored = torch.autograd.grad([original(*wide, **options), find_scores(*wide[:2], **options).logsumexp(-1)], wide,
                                                 [weights.double(), -rounded_off])
                    lost = bound_cancellation(*wide, expected, weights.double(), options)
                    for one, two, exact, other, part in zip(found, theirs, right, stored, lost):
                        self.assertEqual(one.shape, exact.shape)
                        if dtype == torch.float32:
                            self.assertLess(relative_error(one, exact), max(3 * bound, 2 * relative_error(two, exact))
                                            + float(part / exact.norm().clamp(min=1e-30)))
                            continue
                        self.assertLess(relative_error(one, other), 3 * bound)
                        self.assertLess(relative_error(one, exact), 3 * bound + 2 * relative_error(other, exact))
                    checked += 1
        print("samples of SDPA:", checked, "checked,", dropped, "with dropout, refused by argument:", refused)
        self.assertGreater(checked, 30)
        self.assertEqual(refused, {})
        self.assertGreater(dropped, 0)

    def test_masks(self):
        query, key, value = (torch.randn(2, 4, 9, 16) for _ in range(3))
        row = torch.rand(2, 1, 1, 9) < 0.6
        for mask in (row.expand(2, 4, 9, 9), row, torch.randn(9, 9).t(), torch.randn(4, 9, 1), torch.rand(1, 9) < 0.5,
                     torch.randn(1, 1, 9, 9).expand(2, 4, 9, 9), torch.randn(2, 4, 9, 18)[..., ::2]):
            got = fa_mlir.sdpa(query, key, value, mask)
            wide = mask if mask.dtype == torch.bool else mask.double()
            expected = original(query.double(), key.double(), value.double(), wide)
            self.assertLess(relative_error(got, expected), 2e-6)
        key, value = key[:, :2], value[:, :2]
        got = fa_mlir.sdpa(query, key, value, is_causal=True, enable_gqa=True)
        self.assertLess(relative_error(got, original(query.double(), key.double(), value.double(), is_causal=True,
                                                     enable_gqa=True)), 2e-6)
        # Without a name for it, heads do not group.
        with self.assertRaises(RuntimeError):
            fa_mlir.sdpa(query, key, value)

    def test_override(self):
        operands = [torch.randn(1, 2, 8, 16) for _ in range(3)]
        function = lambda **options: torch.nn.functional.scaled_dot_product_attention(*operands, **options)
        expected = function()
        wide = [tensor.double() for tensor in operands]
        unsupported = lambda: torch.nn.functional.scaled_dot_product_attention(*wide)
        with fa_mlir.override_sdpa():
            before = override_counts().get("fa_mlir", 0)
            self.assertLess(relative_error(function(), expected), 2e-6)
            self.assertEqual(override_counts()["fa_mlir"], before + 1)
            with self.assertRaises(fa_mlir.UnsupportedError):
                unsupported()
            self.assertEqual(function(dropout_p=0.5).shape, expected.shape)
            with self.assertRaises(fa_mlir.UnsupportedError):
                with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                    function()
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, original)
        with fa_mlir.override_sdpa("warn"), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                unsupported()
        self.assertEqual(len(caught), 1)
        self.assertIn("f64", str(caught[0].message))
        self.assertEqual(sum(count for reason, count in override_counts().items() if "f64" in reason), 3)
        with self.assertRaisesRegex(ValueError, "error, warn, torch"):
            fa_mlir.override_sdpa("ignore").__enter__()


@unittest.skipUnless(hasattr(torch.nn.attention, "activate_flash_attention_impl"), "a torch without a registry")
class Registry(unittest.TestCase):
    """fa_mlir among torch's implementations of flash attention."""

    def setUp(self):
        fa_mlir.register_flash_attention_impl()
        torch.nn.attention.activate_flash_attention_impl("fa_mlir")
        self.addCleanup(torch.nn.attention.restore_flash_attention_impl, False)

    def test_sdpa(self):
        for options in {}, {"is_causal": True}, {"scale": 0.7}, {"attn_mask": torch.rand(9, 9) < 0.7}, {
                "attn_mask": torch.randn(2, 1, 9, 9)}:
            operands = [torch.randn(2, 4, 9, 16, requires_grad=True) for _ in range(3)]
            wide = [tensor.detach().double().requires_grad_() for tensor in operands]
            with mock.patch.object(flash_impl, "_forward", wraps=flash_impl._forward) as called:
                got = original(*operands, **options)
            called.assert_called_once()
            self.assertIn("FlashAttention", got.grad_fn.name())
            mask = options.get("attn_mask")
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                expected = original(*wide, **dict(options, attn_mask=mask if mask is None or mask.dtype == torch.bool
                                                  else mask.double()))
            weights = torch.randn_like(got)
            self.assertLess(relative_error(got, expected), 2e-6)
            for one, other in zip(torch.autograd.grad(got, operands, weights),
                                  torch.autograd.grad(expected, wide, weights.double())):
                self.assertLess(relative_error(one, other), 4e-6)

    def test_restore(self):
        torch.nn.attention.restore_flash_attention_impl()
        operands = [torch.randn(1, 2, 8, 16) for _ in range(3)]
        with mock.patch.object(flash_impl, "_forward", wraps=flash_impl._forward) as called:
            original(*operands)
            called.assert_not_called()
            torch.nn.attention.activate_flash_attention_impl("fa_mlir")
            self.assertEqual(torch.nn.attention.current_flash_attention_impl(), "fa_mlir")
            original(*operands)
            called.assert_called_once()

    def test_functions_of_cuda(self):
        """Those for CUDA alone, called on the CPU: dropout's state goes from forward to backward."""
        operands = [torch.randn(2, 4, 9, 16) for _ in range(3)]
        for dropout_p in 0.0, 0.4:
            output, lse, _, _, queries, keys, state, offset, _ = flash_impl.sdpa_forward(*operands, dropout_p, True)
            leaves = [tensor.clone().requires_grad_() for tensor in operands]
            right = fa_mlir.attention(*leaves, layout="bhsd", causal="top_left", dropout_p=dropout_p,
                                      dropout_state=state.view(torch.int64))
            self.assertTrue(torch.equal(output, right))
            weights = torch.randn_like(output)
            found = flash_impl.sdpa_backward(weights, *operands, output, lse, None, None, queries, keys, dropout_p, True,
                                             state, offset)
            for one, other in zip(found, torch.autograd.grad(right, leaves, weights)):
                self.assertTrue(torch.equal(one, other))

    def test_varlen_attn(self):
        from torch.nn.attention.varlen import AuxRequest, varlen_attn

        starts = torch.tensor([0, 5, 5, 26, 40], dtype=torch.int32)
        operands = [torch.randn(40, 4, 16, requires_grad=True) for _ in range(3)]
        for window in (-1, -1), (-1, 0), (6, 0):
            got, lse = varlen_attn(*operands, starts, starts, 21, 21, window_size=window, return_aux=AuxRequest(lse=True))
            leaves = [tensor.detach().requires_grad_() for tensor in operands]
            right, right_lse = fa_mlir.attention(*leaves, query_starts=starts, key_starts=starts, window=window,
                                                 return_lse=True)
            self.assertTrue(torch.equal(got, right))
            self.assertTrue(torch.equal(lse, right_lse))
            weights = torch.randn_like(got)
            for one, other in zip(torch.autograd.grad(got, operands, weights),
                                  torch.autograd.grad(right, leaves, weights)):
                self.assertLess(relative_error(one, other), 1e-6)


class FlashAttention(unittest.TestCase):
    def expect(self, q, k, v, causal=False, window=(-1, -1), softcap=0.0, slopes=None):
        q, k, v = (tensor.double().transpose(1, 2) for tensor in (q, k, v))
        k, v = (tensor.repeat_interleave(q.shape[1] // k.shape[1], 1) for tensor in (k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        shift = k.shape[2] - q.shape[2]
        i, j = torch.arange(q.shape[2])[:, None] + shift, torch.arange(k.shape[2])
        if softcap:
            scores = softcap * torch.tanh(scores / softcap)
        if slopes is not None:
            scores = scores - slopes.double()[:, None, None] * (i - j).abs()
        hidden = (j > i) if causal else torch.zeros(1, dtype=torch.bool)
        for size, distance in (window[0], i - j), (window[1], j - i):
            if size >= 0:
                hidden = hidden | (distance > size)
        scores = scores.masked_fill(hidden, -torch.inf)
        return (scores.softmax(-1).nan_to_num(0) @ v).transpose(1, 2), scores.logsumexp(-1)

    def test_functions(self):
        q = torch.randn(2, 30, 4, 16, dtype=torch.bfloat16)
        k, v = (torch.randn(2, 41, 2, 16, dtype=torch.bfloat16) for _ in range(2))
        slopes = torch.rand(4)
        for options in ({}, {"causal": True}, {"window_size": (5, 3)}, {"causal": True, "window_size": (7, -1)},
                        {"softcap": 3.0, "causal": True}, {"alibi_slopes": slopes, "causal": True},
                        {"window_size": tuple(torch.tensor([4, 2]))}):
            expected, lse = self.expect(q, k, v, options.get("causal", False), options.get("window_size", (-1, -1)),
                                        options.get("softcap", 0.0), options.get("alibi_slopes"))
            got, got_lse, probabilities = flash_attn.flash_attn_func(q, k, v, return_attn_probs=True, **options)
            self.assertLess(relative_error(got, expected), 6e-3)
            self.assertLess(float((got_lse - lse).abs().max()), 1e-2)
            self.assertIsNone(probabilities)
            packed = flash_attn.flash_attn_kvpacked_func(q, torch.stack([k, v], 2), **options)
            self.assertTrue(torch.equal(packed, got))
            if "alibi_slopes" not in options:
                third, third_lse = flash_attn_interface.flash_attn_func(q, k, v, return_attn_probs=True, **options)
                self.assertTrue(torch.equal(third, got))
        qkv = torch.randn(2, 30, 3, 4, 16, dtype=torch.bfloat16)
        self.assertTrue(torch.equal(flash_attn.flash_attn_qkvpacked_func(qkv, causal=True),
                                    flash_attn.flash_attn_func(*qkv.unbind(2), causal=True)))
        self.assertTrue(torch.equal(flash_attn_interface.flash_attn_qkvpacked_func(qkv, causal=True),
                                    flash_attn.flash_attn_func(*qkv.unbind(2), causal=True)))

    def test_rows_that_see_nothing(self):
        q, k = torch.randn(1, 9, 2, 16), torch.randn(1, 4, 2, 16)
        output, lse, _ = flash_attn.flash_attn_func(q, k, k, causal=True, return_attn_probs=True)
        self.assertFalse(output[:, :5].any())
        self.assertTrue(torch.isposinf(lse[:, :, :5]).all() and torch.isfinite(lse[:, :, 5:]).all())
        lse = flash_attn_interface.flash_attn_func(q, k, k, causal=True, return_attn_probs=True)[1]
        self.assertTrue(torch.isneginf(lse[:, :, :5]).all())

    def test_cache(self):
        q, k_new, v_new = torch.randn(2, 1, 4, 16), torch.randn(2, 1, 2, 16), torch.randn(2, 1, 2, 16)
        k_cache, v_cache = torch.randn(2, 20, 2, 16), torch.randn(2, 20, 2, 16)
        lengths = torch.tensor([7, 12], dtype=torch.int32)
        caches = k_cache.clone(), v_cache.clone()
        got = flash_attn.flash_attn_with_kvcache(q, *caches, k_new, v_new, cache_seqlens=lengths, causal=True)
        for item, length in enumerate(lengths.tolist()):
            k = torch.cat([k_cache[item:item + 1, :length], k_new[item:item + 1]], 1)
            v = torch.cat([v_cache[item:item + 1, :length], v_new[item:item + 1]], 1)
            self.assertLess(relative_error(got[item:item + 1], self.expect(q[item:item + 1], k, v, True)[0]), 2e-6)
            self.assertTrue(torch.equal(caches[0][item, length], k_new[item, 0]))

    def test_cache_of_pages(self):
        """As a contiguous one: with new keys, rotary positions, and items of the cache."""
        pages = torch.randperm(12)[:8].reshape(2, 4).int()
        pool = [torch.randn(12, 8, 2, 16) for _ in range(2)]
        cos, sin = torch.rand(40, 4), torch.rand(40, 4)
        lengths = torch.tensor([7, 25], dtype=torch.int32)
        for new in 0, 3:
            q = torch.randn(2, max(new, 1), 4, 16)
            more = [torch.randn(2, new, 2, 16) for _ in range(2)] if new else [None, None]
            for interleaved in True, False:
                options = dict(cache_seqlens=lengths, causal=True, return_softmax_lse=True)
                if new:
                    options.update(rotary_cos=cos, rotary_sin=sin, rotary_interleaved=interleaved)
                gathered = [cache[pages.long()].flatten(1, 2) for cache in pool]
                paged = [cache.clone() for cache in pool]
                got = flash_attn.flash_attn_with_kvcache(q, *paged, *more, block_table=pages, **options)
                right = flash_attn.flash_attn_with_kvcache(q, *gathered, *more, **options)
                for one, other in zip(got, right):
                    self.assertLess(relative_error(one, other), 1e-6)
                for one, other in zip(paged, gathered):
                    self.assertTrue(torch.equal(one[pages.long()].flatten(1, 2), other))
                third = flash_attn_interface.flash_attn_with_kvcache(q, *[cache.clone() for cache in pool], *more,
                                                                     page_table=pages, **options)
                self.assertTrue(torch.equal(third[0], got[0]))
                # By the definition: rotated in float64, in the order of a cache that is whole.
                if new:
                    for item in range(2):
                        length = int(lengths[item])
                        places = torch.arange(length, length + new)
                        turn = lambda x: rotate(x, cos[places], sin[places], interleaved)
                        k = torch.cat([pool[0][pages[item].long()].flatten(0, 1)[:length], turn(more[0][item])])[None]
                        v = torch.cat([pool[1][pages[item].long()].flatten(0, 1)[:length], more[1][item]])[None]
                        expected, lse = self.expect(turn(q[item])[None], k, v, True)
                        self.assertLess(relative_error(got[0][item:item + 1], expected), 2e-6)
                        self.assertLess(float((got[1][item:item + 1] - lse).abs().max()), 1e-5)
        caches, items = [torch.randn(5, 30, 2, 16) for _ in range(2)], torch.tensor([4, 1], dtype=torch.int32)
        q = torch.randn(2, 1, 4, 16)
        got = flash_attn.flash_attn_with_kvcache(q, *caches, cache_seqlens=lengths, cache_batch_idx=items)
        for i, item in enumerate(items.tolist()):
            k, v = (cache[item:item + 1, :int(lengths[i])] for cache in caches)
            self.assertLess(relative_error(got[i:i + 1], self.expect(q[i:i + 1], k, v)[0]), 2e-6)

    def test_packed(self):
        lengths = [(5, 9), (17, 17), (30, 21), (1, 40)]
        starts, key_starts = (torch.tensor([0, *(pair[i] for pair in lengths)]).cumsum(0).int() for i in range(2))
        q = torch.randn(int(starts[-1]), 4, 16, requires_grad=True)
        k, v = (torch.randn(int(key_starts[-1]), 2, 16, requires_grad=True) for _ in range(2))
        for options in {}, {"causal": True, "window_size": (7, 0)}, {"softcap": 3.0, "causal": True}, {
                "alibi_slopes": torch.rand(4), "causal": True}:
            got, got_lse, _ = flash_attn.flash_attn_varlen_func(q, k, v, starts, key_starts, 30, 40,
                                                                return_attn_probs=True, **options)
            expected, lse = [], []
            for b in range(len(lengths)):
                rows, keys = slice(starts[b], starts[b + 1]), slice(key_starts[b], key_starts[b + 1])
                one, sums = self.expect(q[None, rows], k[None, keys], v[None, keys], options.get("causal", False),
                                        options.get("window_size", (-1, -1)), options.get("softcap", 0.0),
                                        options.get("alibi_slopes"))
                expected.append(one[0])
                lse.append(sums[0])
            expected, lse = torch.cat(expected), torch.cat(lse, 1)
            self.assertLess(relative_error(got, expected), 2e-6)
            self.assertTrue(torch.equal(torch.isposinf(got_lse), torch.isneginf(lse)))
            self.assertLess(float((got_lse - lse)[torch.isfinite(lse)].abs().max()), 1e-5)
            weights = torch.randn_like(got)
            for one, other in zip(torch.autograd.grad(got, [q, k, v], weights),
                                  torch.autograd.grad(expected, [q, k, v], weights.double())):
                self.assertLess(relative_error(one, other), 4e-6)
            if "alibi_slopes" not in options:
                third = flash_attn_interface.flash_attn_varlen_func(q, k, v, starts, key_starts, 30, 40, **options)
                self.assertTrue(torch.equal(third, got))
        qkv = torch.randn(int(starts[-1]), 3, 2, 16)
        self.assertTrue(torch.equal(flash_attn.flash_attn_varlen_qkvpacked_func(qkv, starts, 30, causal=True),
                                    flash_attn.flash_attn_varlen_kvpacked_func(qkv[:, 0], qkv[:, 1:], starts, starts, 30,
                                                                               30, causal=True)))
        # The first rows of each alone.
        used = torch.tensor([3, 17, 0, 1], dtype=torch.int32), torch.tensor([9, 4, 21, 30], dtype=torch.int32)
        got = flash_attn_interface.flash_attn_varlen_func(q, k, v, starts, key_starts, 30, 40, *used, causal=True)
        for b in range(len(lengths)):
            rows, keys = (slice(begin[b], begin[b] + count[b]) for begin, count in zip((starts, key_starts), used))
            if used[0][b]:
                self.assertLess(relative_error(got[rows], self.expect(q[None, rows], k[None, keys], v[None, keys],
                                                                      True)[0][0]), 2e-6)

    def test_refused(self):
        q = torch.randn(1, 4, 2, 16)
        for call, argument in [
                (lambda: flash_attn.flash_attn_with_kvcache(q, q, q, cache_leftpad=q), "cache_leftpad"),
                (lambda: flash_attn_interface.flash_attn_func(q, q, q, attention_chunk=8), "attention_chunk"),
                (lambda: flash_attn_interface.flash_attn_func(q, q, q, q_descale=q), "q_descale")]:
            with self.assertRaises(NotImplementedError) as raised:
                call()
            self.assertEqual(raised.exception.argument, argument)

    def test_combine(self):
        q, k, v = torch.randn(2, 6, 2, 16), torch.randn(2, 20, 2, 16), torch.randn(2, 20, 2, 16)
        parts = [flash_attn_interface.flash_attn_func(q, k[:, part], v[:, part], return_attn_probs=True)
                 for part in (slice(0, 8), slice(8, 20))]
        output, lse = flash_attn_interface.flash_attn_combine(
            torch.stack([part[0] for part in parts]), torch.stack([part[1].transpose(1, 2) for part in parts]))
        expected, expected_lse = self.expect(q, k, v)
        self.assertLess(relative_error(output, expected), 2e-6)
        self.assertLess(float((lse.transpose(1, 2) - expected_lse).abs().max()), 1e-5)

    def test_names(self):
        script = ("import fa_mlir, fa_mlir.compat; fa_mlir.compat.install_flash_attn(); import flash_attn;"
                  "from flash_attn import flash_attn_func; from flash_attn_interface import flash_attn_combine;"
                  "assert flash_attn is fa_mlir.flash_attn")
        subprocess.run([sys.executable, "-c", script], check=True)


class VLLM(unittest.TestCase):
    """Against each sequence alone."""

    def setUp(self):
        self.lengths, self.queries = [9, 3, 20], [4, 1, 20]
        self.starts = torch.tensor([0, 4, 5, 25], dtype=torch.int32)
        self.query = torch.randn(25, 4, 16)
        self.keys = [torch.randn(length, 2, 2, 16) for length in self.lengths]

    def check(self, output, lse, sink=None, **options):
        for b, (length, count) in enumerate(zip(self.lengths, self.queries)):
            start = int(self.starts[b])
            key, value = self.keys[b].unbind(1)
            expected = fa_mlir.attention(self.query[start:start + count], key, value, sink=sink,
                                         return_lse=True, **options)
            self.assertLess(relative_error(output[start:start + count], expected[0]), 2e-6)
            self.assertLess(relative_error(lse[:, start:start + count], expected[1]), 2e-6)

    def test_pages(self):
        pages = torch.full((12, 2, 4, 2, 16), torch.nan)
        table = torch.zeros(3, 5, dtype=torch.int32)
        order = iter(torch.randperm(12).tolist())
        for b, length in enumerate(self.lengths):
            for page in range(-(-length // 4)):
                table[b, page] = next(order)
                rows = self.keys[b][4 * page:4 * page + 4]
                pages[table[b, page], :, :len(rows)] = rows.transpose(0, 1)
        used = torch.tensor(self.lengths, dtype=torch.int32)
        sinks, out = torch.randn(4), torch.full((25, 4, 16), torch.nan)
        for options, names in (({}, {}), ({"causal": True}, {"causal": "bottom_right"}),
                               ({"causal": True, "window_size": [5, 0]}, {"causal": "bottom_right", "window": (5, 0)}),
                               ({"softcap": 2.0, "softmax_scale": 0.5}, {"softcap": 2.0, "scale": 0.5})):
            output, lse = fa_mlir.vllm.flash_attn_varlen_func(
                self.query, pages[:, 0], pages[:, 1], 20, self.starts, 20, seqused_k=used, block_table=table, out=out,
                return_softmax_lse=True, k_descale=torch.ones(3, 2), fa_version=3, num_splits=4, **options)
            self.assertIs(output, out)
            self.check(output, lse, **names)
        found = fa_mlir.vllm.flash_attn_varlen_func(self.query, pages[:, 0], pages[:, 1], 20, self.starts, 20,
                                                    seqused_k=used, block_table=table, s_aux=sinks, return_softmax_lse=True)
        self.check(*found, sink=sinks)

    def test_packed(self):
        key, value = torch.cat(self.keys).unbind(1)
        starts = torch.tensor([0, 9, 12, 32], dtype=torch.int32)
        self.check(*fa_mlir.vllm.flash_attn_varlen_func(self.query, key, value, 20, self.starts, 20, starts, causal=True,
                                                        return_softmax_lse=True), causal="bottom_right")
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "block_table"):
            fa_mlir.vllm.flash_attn_varlen_func(self.query, key, value, 20, self.starts, 20)
        for options, said in (({"cp_world_size": 2}, "'cp_world_size' is 2, .* expected its default, 1: leave it out"),
                              ({"return_attn_probs": True}, "'return_attn_probs' is True, .* its default, False"),
                              ({"q_v": self.query}, r"'q_v' is of shape \(.*\), .* its default, None"),
                              ({"other": "this"}, "'other' is 'this', .* its default, None")):
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, said):
                fa_mlir.vllm.flash_attn_varlen_func(self.query, key, value, 20, self.starts, 20, starts, **options)

    def test_install(self):
        """A stand-in for the package: it has no wheel for a CPU."""
        theirs, metadata = lambda: None, lambda: None
        modules = {name: types.ModuleType(name) for name in ("vllm", "vllm.vllm_flash_attn", "vllm.backend", "other")}
        modules["vllm"].vllm_flash_attn = modules["vllm.vllm_flash_attn"]
        for name in "vllm.vllm_flash_attn", "vllm.backend", "other":
            modules[name].flash_attn_varlen_func, modules[name].get_scheduler_metadata = theirs, metadata
        with mock.patch.dict(sys.modules, modules):
            fa_mlir.vllm.install()
        for name in "vllm.vllm_flash_attn", "vllm.backend":
            self.assertIs(modules[name].flash_attn_varlen_func, fa_mlir.vllm.flash_attn_varlen_func)
        self.assertIs(modules["other"].flash_attn_varlen_func, theirs)


@unittest.skipUnless(importlib.util.find_spec("xformers"), "no xformers")
class XFormers(unittest.TestCase):
    """Each of its masks, by what it is as a tensor."""

    def check(self, mask, query, key, value, packed=False):
        from fa_mlir.xformers import memory_efficient_attention

        got = memory_efficient_attention(query, key, value, mask)
        bias = mask.materialize((query.shape[1], key.shape[1])).double()
        scores = query.double().transpose(1, 2) @ key.double().permute(0, 2, 3, 1) / query.shape[-1] ** 0.5 + bias
        expected = (scores.softmax(-1).nan_to_num(0) @ value.double().transpose(1, 2)).transpose(1, 2)
        self.assertLess(relative_error(got, expected), 2e-6, type(mask).__name__)

    def test_masks(self):
        from xformers.ops.fmha import attn_bias as masks

        query, key, value = torch.randn(2, 9, 4, 16), torch.randn(2, 13, 4, 16), torch.randn(2, 13, 4, 16)
        for mask in (masks.LowerTriangularMask(), masks.LowerTriangularFromBottomRightMask(),
                     masks.LowerTriangularFromBottomRightLocalAttentionMask(4),
                     masks.LocalAttentionFromBottomRightMask(window_left=3, window_right=2),
                     masks.LowerTriangularMaskWithTensorBias(torch.randn(2, 4, 9, 13))):
            self.check(mask, query, key, value)
        lengths, key_lengths = [3, 5, 1], [4, 7, 3]
        packed = [torch.randn(1, 9, 4, 16), torch.randn(1, 14, 4, 16), torch.randn(1, 14, 4, 16)]
        mask = masks.BlockDiagonalMask.from_seqlens(lengths, key_lengths, device=torch.device("cpu"))
        for each in (mask, mask.make_causal(), mask.make_causal_from_bottomright(), mask.make_local_attention(3),
                     mask.make_local_attention_from_bottomright(3)):
            self.check(each, *packed)
        padded = [torch.randn(1, 9, 4, 16), torch.randn(1, 24, 4, 16), torch.randn(1, 24, 4, 16)]
        for kind in (masks.BlockDiagonalPaddedKeysMask, masks.BlockDiagonalCausalWithOffsetPaddedKeysMask):
            self.check(kind.from_seqlens(lengths, 8, key_lengths, device=torch.device("cpu")), *padded)
        self.check(masks.BlockDiagonalCausalLocalAttentionPaddedKeysMask.from_seqlens_local(
            q_seqlen=lengths, kv_padding=8, kv_seqlen=key_lengths, window_size=3), *padded)
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'attn_bias' is a BlockDiagonalGappyKeysMask"):
            self.check(masks.BlockDiagonalGappyKeysMask.from_seqlens(
                q_seqlen=lengths, kv_seqstarts=[0, 8, 16, 24], kv_seqlen=key_lengths,
                device=torch.device("cpu")), *padded)

    def test_pages(self):
        from fa_mlir.xformers import memory_efficient_attention
        from xformers.ops.fmha import attn_bias as masks

        table = torch.randperm(6).reshape(3, 2).int()
        dense = masks.BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens([2, 1, 2], 16, [9, 16, 3], device=torch.device("cpu"))
        query, pages = torch.randn(1, 5, 4, 16), torch.randn(6, 8, 4, 16)
        flat = pages.reshape(1, 48, 4, 16)
        gathered = pages[table.long()].reshape(1, 48, 4, 16)
        self.assertLess(relative_error(
            memory_efficient_attention(query, flat, flat, dense.make_paged(
                table, 8, masks.PagedBlockDiagonalCausalWithOffsetPaddedKeysMask)),
            memory_efficient_attention(query, gathered, gathered, dense)), 1e-6)

    def test_shapes(self):
        from fa_mlir.xformers import memory_efficient_attention

        query, key, value = torch.randn(2, 9, 4, 16), torch.randn(2, 13, 2, 16), torch.randn(2, 13, 2, 16)
        grouped = memory_efficient_attention(query.reshape(2, 9, 2, 2, 16), *[
            tensor[:, :, :, None].expand(2, 13, 2, 2, 16) for tensor in (key, value)], scale=0.3)
        self.assertTrue(torch.equal(grouped.flatten(2, 3), fa_mlir.attention(query, key, value, scale=0.3)))
        one = memory_efficient_attention(query[:, :, 0], key[:, :, 0], value[:, :, 0], output_dtype=torch.float64)
        self.assertEqual((one.shape, one.dtype), ((2, 9, 16), torch.float64))


@unittest.skipUnless(importlib.util.find_spec("diffusers"), "no diffusers")
class Diffusers(unittest.TestCase):
    def test_backend(self):
        from diffusers.models import attention_dispatch as dispatch

        fa_mlir.diffusers.register()
        fa_mlir.diffusers.register()
        query, key, value = torch.randn(2, 9, 4, 16), torch.randn(2, 13, 4, 16), torch.randn(2, 13, 4, 16)
        for mask in None, torch.rand(2, 13) < 0.8, torch.randn(2, 1, 9, 13):
            with dispatch.attention_backend("fa_mlir"):
                with mock.patch.object(dispatch._AttentionBackendRegistry, "_checks_enabled", True):
                    got = dispatch.dispatch_attention_fn(query, key, value, attn_mask=mask, scale=0.2)
            self.assertLess(relative_error(got, dispatch.dispatch_attention_fn(query, key, value, attn_mask=mask, scale=0.2)),
                            2e-6)

    def test_model(self):
        """A tiny transformer of images: its output, and gradients of its weights."""
        import diffusers

        torch.manual_seed(SEED)
        model = diffusers.FluxTransformer2DModel(
            patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
            joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=[4, 4, 8])
        inputs = dict(hidden_states=torch.randn(1, 16, 4), encoder_hidden_states=torch.randn(1, 8, 32),
                      pooled_projections=torch.randn(1, 32), img_ids=torch.randn(16, 3), txt_ids=torch.randn(8, 3),
                      timestep=torch.tensor([1.0]))
        found = []
        fa_mlir.diffusers.register()
        for name in "native", "fa_mlir":
            model.set_attention_backend(name)
            model.zero_grad()
            output = model(**inputs).sample
            output.square().sum().backward()
            found.append([output, *[parameter.grad for parameter in model.parameters() if parameter.grad is not None]])
        for one, other in zip(*found):
            self.assertLess(float((one - other).norm()), 2e-5 * max(1.0, float(other.norm())))


def make_models():
    """Random ones, tiny: (name, configuration)."""
    import transformers as t

    common = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
                  num_key_value_heads=2, head_dim=16, max_position_embeddings=128, pad_token_id=0, bos_token_id=1,
                  eos_token_id=2)
    yield "Llama", t.LlamaConfig(**common)
    yield "Qwen3", t.Qwen3Config(**common)
    yield "Gemma 2", t.Gemma2Config(**common, sliding_window=6, query_pre_attn_scalar=16, attn_logit_softcapping=3.0)
    yield "Gemma 3", t.Gemma3TextConfig(**common, sliding_window=6, query_pre_attn_scalar=16,
                                        layer_types=["sliding_attention", "full_attention"])
    yield "GPT-OSS", t.GptOssConfig(**common, sliding_window=6, num_local_experts=2, num_experts_per_tok=1,
                                    layer_types=["sliding_attention", "full_attention"])


@unittest.skipUnless(importlib.util.find_spec("transformers"), "no transformers")
class Transformers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import transformers

        fa_mlir.hf.register()
        cls.auto = transformers.AutoModelForCausalLM

    def make(self, config):
        models = []
        for name in "eager", "fa_mlir":
            torch.manual_seed(SEED)
            models.append(self.auto.from_config(config, attn_implementation=name).to(torch.float32).eval())
        for parameter, other in zip(*[model.parameters() for model in models]):
            other.data.copy_(parameter.data)
        return models

    def test_models(self):
        for name, config in make_models():
            with self.subTest(name):
                eager, ours = self.make(config)
                tokens = torch.randint(3, 64, (2, 19))
                padding = torch.ones_like(tokens)
                padding[0, :5] = 0
                for mask in None, padding:
                    right, got = (model(tokens, attention_mask=mask).logits for model in (eager, ours))
                    shown = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask.bool()
                    self.assertLess(relative_error(got[shown], right[shown]), 2e-5)
                for model in eager, ours:
                    model.zero_grad()
                    model(tokens, labels=tokens).loss.backward()
                for (parameter, one), two in zip(ours.named_parameters(), eager.parameters()):
                    if two.grad is not None:
                        self.assertLess(float((one.grad - two.grad).norm()), 2e-4 * max(float(two.grad.norm()), 1e-3),
                                        parameter)
                for options in {}, {"attention_mask": padding}, {"cache_implementation": "static"}:
                    right, got = (model.generate(tokens, max_new_tokens=8, do_sample=False, **options)
                                  for model in (eager, ours))
                    self.assertTrue(torch.equal(got, right), (options, got, right))

    def test_continuous_batching(self):
        """Requests of different lengths, in one cache of pages: the tokens that each has alone."""
        import transformers

        options = transformers.GenerationConfig(max_new_tokens=8, do_sample=False, pad_token_id=0)
        requests = [torch.randint(3, 64, (length,)) for length in (5, 17, 9, 30, 2)]
        sizes = transformers.ContinuousBatchingConfig(num_blocks=16, block_size=16, max_batch_tokens=64)
        for name, config in make_models():
            with self.subTest(name):
                # Nothing ends a request but its length.
                config.eos_token_id = None
                eager, ours = self.make(config)
                try:
                    found = ours.generate_batch(inputs=[tokens.tolist() for tokens in requests], generation_config=options,
                                                continuous_batching_config=sizes)
                except ValueError as error:
                    if "fa_mlir is not supported for continuous batching" not in str(error):
                        raise
                    self.skipTest(f"transformers {transformers.__version__} batches with its own attention alone")
                got = [found[key].generated_tokens for key in sorted(found, key=lambda key: int(key.split("_")[-1]))]
                right = [eager.generate(tokens[None], generation_config=options)[0, len(tokens):].tolist()
                         for tokens in requests]
                self.assertEqual(got, right)

    def test_lengths_do_not_compile(self):
        _, ours = self.make(next(make_models())[1])
        def run(batch, length):
            ours.generate(torch.randint(3, 64, (batch, length)), max_new_tokens=5, do_sample=False)
        run(2, 9)
        before = count_compiled()
        run(3, 17)
        run(2, 40)
        self.assertEqual(count_compiled(), before)


if __name__ == "__main__":
    unittest.main()
