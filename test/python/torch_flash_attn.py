# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""flash-attn's functions, of FlashAttention-2 and -3, and vLLM's, against attention in float64.

`FlashAttention.expect` is attention by the definition, `rotate` rotary embedding. `VLLM.check` compares packed and
paged sequences with each sequence alone.
"""

import itertools
import subprocess
import sys
import types
import unittest
import warnings
from unittest import mock

import numpy
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils.flop_counter import FlopCounterMode

import fa_mlir
from fa_mlir import append, flash_attn, flash_attn_interface
from torch_numbers import relative_error


def rotate(rows, cos, sin, interleaved):
    """Rotary embedding of (sequence, heads, head dim) by the definition, in float64."""
    rows = rows.double().clone()
    half = cos.shape[1]
    for i in range(half):
        one, two = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
        c, s = cos[:, i, None].double(), sin[:, i, None].double()
        rows[..., one], rows[..., two] = rows[..., one] * c - rows[..., two] * s, rows[..., one] * s + rows[..., two] * c
    return rows


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
            packed = flash_attn.flash_attn_kvpacked_func(q, torch.stack([k, v], 2), return_attn_probs=True, **options)[0]
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

    def test_pages_in_a_graph(self):
        """A pool has as many pages as it likes."""
        q, pool = torch.randn(2, 1, 4, 16), torch.randn(7, 8, 2, 16)
        pages, lengths = torch.tensor([[3, 0], [6, 1]], dtype=torch.int32), torch.tensor([9, 16], dtype=torch.int32)
        read = lambda q, pool, pages, lengths: fa_mlir.attention(q, pool, pool, key_lengths=lengths, key_pages=pages)
        graph = torch.compile(read, fullgraph=True, backend="aot_eager")
        self.assertTrue(torch.equal(graph(q, pool, pages, lengths), read(q, pool, pages, lengths)))

    def test_new_rows(self):
        """Into items of a cache, of which others stay as they are, by the definition; also in a graph."""
        step = lambda *args, **named: flash_attn.flash_attn_with_kvcache(*args, **named)
        graph = torch.compile(step, fullgraph=True, backend="aot_eager")
        for kind, turned, interleaved, causal in ((torch.float32, 4, True, True), (torch.float32, 8, False, False),
                                                  (torch.bfloat16, 3, False, True), (torch.float16, 0, True, True)):
            bound = 2e-6 if kind == torch.float32 else 2e-2
            caches = [torch.randn(5, 30, 2, dim).to(kind) for dim in (16, 24)]
            q, new = torch.randn(2, 3, 4, 16).to(kind), [torch.randn(2, 3, 2, dim).to(kind) for dim in (16, 24)]
            angles = [torch.rand(30, turned).to(kind) for _ in range(2)] if turned else [None, None]
            lengths, items = torch.tensor([7, 27], dtype=torch.int32), torch.tensor([4, 1])
            for run in step, graph:
                after = [cache.clone() for cache in caches]
                got = run(q, *after, *new, *angles, cache_seqlens=lengths, cache_batch_idx=items, causal=causal,
                          rotary_interleaved=interleaved)
                for i, (item, length) in enumerate(zip(items.tolist(), lengths.tolist())):
                    places = torch.arange(length, length + 3)
                    turn = lambda x, at: rotate(x.double(), *[table.double()[at] for table in angles], interleaved) if turned else x.double()
                    k = torch.cat([caches[0][item, :length].double(), turn(new[0][i], places)])[None]
                    v = torch.cat([caches[1][item, :length], new[1][i]])[None].double()
                    asked = turn(q[i], places if causal else places[:1].expand(3))[None]
                    self.assertLess(relative_error(got[i:i + 1], self.expect(asked, k, v, causal)[0]), bound)
                    self.assertLess(relative_error(after[0][item, length:length + 3], k[0, length:]), bound)
                    self.assertTrue(torch.equal(after[1][item, length:length + 3], new[1][i]))
                    for cache in after:
                        cache[item, length:length + 3] = 0
                for cache, before in zip(after, caches):
                    for item, length in zip(items.tolist(), lengths.tolist()):
                        before = before.clone().index_put((torch.tensor(item), torch.arange(length, length + 3)), before.new_zeros(()))
                    self.assertTrue(torch.equal(cache, before))

    def test_packed_queries_of_a_cache(self):
        """FlashAttention-3's, contiguous and in pages, with packed new rows and without, as each sequence alone."""
        starts, lengths = torch.tensor([0, 3, 3, 8]), [11, 5, 20]
        counts = starts.diff().tolist()
        q = torch.randn(8, 4, 16)
        new = [torch.randn(8, 2, dim) for dim in (16, 24)]
        pages = torch.randperm(12)[:9].reshape(3, 3).int()
        pool = [torch.randn(12, 8, 2, dim) for dim in (16, 24)]
        whole = [cache[pages.long()].flatten(1, 2) for cache in pool]
        for table, caches in (pages, pool), (None, whole):
            for has_rows, causal in ((False, True), (True, True), (True, False)):
                after = [cache.clone() for cache in caches]
                before = [length - (count if has_rows else 0) for length, count in zip(lengths, counts)]
                output, lse = flash_attn_interface.flash_attn_with_kvcache(
                    q, *after, *(new if has_rows else [None, None]), cache_seqlens=torch.tensor(before, dtype=torch.int32),
                    page_table=table, cu_seqlens_q=starts.int(), cu_seqlens_k_new=starts.int() if has_rows else None, max_seqlen_q=5,
                    causal=causal, return_softmax_lse=True)
                self.assertEqual((output.shape, lse.shape), ((8, 4, 24), (4, 8)))
                for item, (length, count) in enumerate(zip(lengths, counts)):
                    rows = slice(int(starts[item]), int(starts[item + 1]))
                    held = [cache[item, :length].clone() for cache in whole]
                    for cache, mine, added in zip(after, held, new):
                        if has_rows and count:
                            mine[length - count:] = added[rows]
                        kept = cache[pages[item].long()].flatten(0, 1) if table is not None else cache[item]
                        self.assertTrue(torch.equal(kept[:length], mine))
                    if count:
                        expected, of_rows = self.expect(q[None, rows], held[0][None], held[1][None], causal)
                        self.assertLess(relative_error(output[None, rows], expected), 2e-6)
                        self.assertLess(float((lse[:, rows] - of_rows[0]).abs().max()), 1e-5)
        refused = lambda **more: flash_attn_interface.flash_attn_with_kvcache(
            q, *whole, **{"cache_seqlens": 4, "cu_seqlens_q": starts.int(), **more})
        for more, error, text in (({"cu_seqlens_q": starts}, ValueError, "cu_seqlens_q' has shape .* torch.int64"),
                                  ({"cu_seqlens_k_new": starts.int()}, ValueError, "cu_seqlens_k_new' is given without k")):
            with self.assertRaisesRegex(error, text):
                refused(**more)
        # What only a GPU knows gives NaN there.
        too_long = {"k": new[0], "v": new[1], "cache_seqlens": 22, "cu_seqlens_k_new": starts.int()}
        if q.is_cuda:
            output = refused(**too_long)
            self.assertTrue(output[:3].isnan().all() and output[3:].isnan().all())
        else:
            with self.assertRaisesRegex(ValueError, "cache_seqlens' has the length 22 for batch item 0, expected 0 to 21"):
                refused(**too_long)

    def test_positions_of_their_own(self):
        """Rotary embedding where positions are not rows of the cache, or rows are packed; and keys that pad on the left."""
        starts, lengths, firsts, padding = torch.tensor([0, 3, 8]), [9, 4], [2, 17], torch.tensor([4, 0], dtype=torch.int32)
        cos, sin = torch.rand(40, 6), torch.rand(40, 6)
        cache = torch.randn(2, 30, 2, 16)
        for is_packed, interleaved, causal in itertools.product((False, True), repeat=3):
            counts = starts.diff().tolist() if is_packed else [5, 5]
            shape = (8,) if is_packed else (2, 5)
            q, k, v = torch.randn(*shape, 4, 16), torch.randn(*shape, 2, 16), torch.randn(*shape, 2, 16)
            after = cache.clone(), cache.clone()
            more = dict(cu_seqlens_q=starts.int(), cu_seqlens_k_new=starts.int()) if is_packed else {}
            output = flash_attn_interface.flash_attn_with_kvcache(
                q, *after, k, v, rotary_cos=cos, rotary_sin=sin, cache_seqlens=torch.tensor(lengths, dtype=torch.int32),
                rotary_seqlens=torch.tensor(firsts, dtype=torch.int32), rotary_interleaved=interleaved, causal=causal,
                cache_leftpad=padding, **more)
            for item, (length, first, count) in enumerate(zip(lengths, firsts, counts)):
                rows = (slice(int(starts[item]), int(starts[item + 1])),) if is_packed else (item,)
                places = torch.arange(first, first + count)
                turn = lambda x, at: rotate(x, cos[at], sin[at], interleaved)
                keys = torch.cat([cache[item, :length].double(), turn(k[rows], places)])[int(padding[item]):]
                values = torch.cat([cache[item, :length], v[rows]])[int(padding[item]):]
                expected, _ = self.expect(turn(q[rows], places if causal else places[:1].expand(count))[None], keys[None], values[None], causal)
                self.assertLess(relative_error(output[rows][None], expected), 2e-6)
        for wrong, text in ((torch.zeros(2), "dtype torch.float32"), ([0, 0], "is a list"), (padding[:1], r"shape \(1,\).*int32 on [^.]*$"),
                            (padding.long(), r"torch.int64 .* int32 on .*: \.to\(torch.int32\)$")):
            with self.assertRaisesRegex(ValueError, f"cache_leftpad' .*{text}"):
                flash_attn.flash_attn_with_kvcache(torch.randn(2, 1, 4, 16), cache, cache, cache_seqlens=4, cache_leftpad=wrong)

    def test_chunks(self):
        """A query sees keys of its own chunk, counted from behind the padding; with gradients, packed, and of a cache."""
        def expect(q, k, v, chunk, causal, padding=0):
            q, k, v = q.double(), k.double()[:, padding:], v.double()[:, padding:]
            k, v = (tensor.repeat_interleave(2, 2) for tensor in (k, v))
            i, j = torch.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1], torch.arange(k.shape[1])
            hidden = (i.div(chunk, rounding_mode="floor") != j // chunk) | (causal & (j > i))
            scores = torch.einsum("bihd,bjhd->bhij", q, k) / q.shape[-1] ** 0.5
            weights = torch.softmax(scores.masked_fill(hidden, -torch.inf), -1).nan_to_num(0)
            return torch.einsum("bhij,bjhd->bihd", weights, v)

        for chunk, causal in itertools.product((1, 5, 16, 100), (False, True)):
            for queries, keys in (9, 23), (23, 9), (17, 17):
                q, k, v = (torch.randn(2, rows, heads, 16, requires_grad=True) for rows, heads in ((queries, 4), (keys, 2), (keys, 2)))
                output = flash_attn_interface.flash_attn_func(q, k, v, causal=causal, attention_chunk=chunk)
                expected = expect(q, k, v, chunk, causal)
                self.assertLess(relative_error(output.detach(), expected.detach()), 2e-6)
                seed = torch.randn_like(output)
                for one, other in zip(torch.autograd.grad(output, (q, k, v), seed), torch.autograd.grad(expected, (q, k, v), seed.double())):
                    # Of a chunk of one key they are 0, and dP less its mean over keys is what rounding leaves.
                    self.assertLess(float((one - other).norm() / (1 + other.norm())), 1e-5)
            starts, key_starts = torch.tensor([0, 4, 4, 30]), torch.tensor([0, 21, 30, 40])
            q, k, v = torch.randn(30, 4, 16), torch.randn(40, 2, 16), torch.randn(40, 2, 16)
            packed = flash_attn_interface.flash_attn_varlen_func(q, k, v, starts.int(), key_starts.int(), 26, 21, causal=causal,
                                                                 attention_chunk=chunk)
            cache, lengths, padding = torch.randn(3, 30, 2, 16), [27, 9, 30], [4, 0, 11]
            of_cache = flash_attn_interface.flash_attn_with_kvcache(
                q, cache, cache, cache_seqlens=torch.tensor(lengths, dtype=torch.int32), cu_seqlens_q=starts.int(), causal=causal,
                cache_leftpad=torch.tensor(padding, dtype=torch.int32), attention_chunk=chunk)
            for item in 0, 2:
                rows, keys = (slice(int(each[item]), int(each[item + 1])) for each in (starts, key_starts))
                self.assertLess(relative_error(packed[rows], expect(q[None, rows], k[None, keys], v[None, keys], chunk, causal)[0]), 2e-6)
                held = cache[None, item, :lengths[item]]
                self.assertLess(relative_error(of_cache[rows], expect(q[None, rows], held, held, chunk, causal, padding[item])[0]), 2e-6)
        with self.assertRaisesRegex(ValueError, "attention_chunk' is -1, expected an integer from 0"):
            flash_attn_interface.flash_attn_func(q[None], k[None], v[None], attention_chunk=-1)

    def test_items_of_tables(self):
        """FlashAttention-3's page_table is of all items of the cache, of which sequences have some."""
        pool, tables = torch.randn(12, 8, 2, 16), torch.randperm(12).reshape(4, 3).int()
        q, lengths = torch.randn(2, 1, 4, 16), torch.tensor([9, 20], dtype=torch.int32)
        for items in torch.tensor([3, 1]), torch.tensor([0, 2], dtype=torch.int32):
            got = flash_attn_interface.flash_attn_with_kvcache(q, pool, pool, cache_seqlens=lengths, page_table=tables, cache_batch_idx=items)
            self.assertTrue(torch.equal(got, flash_attn_interface.flash_attn_with_kvcache(
                q, pool, pool, cache_seqlens=lengths, page_table=tables[items.long()])))
        for items, text in ((torch.tensor([0.0, 1.0]), "dtype torch.float32"), (torch.tensor([[0, 1]]), r"shape \(1, 2\)"), ([0, 1], "list")):
            with self.assertRaisesRegex(ValueError, f"cache_batch_idx' .*{text}"):
                flash_attn_interface.flash_attn_with_kvcache(q, pool, pool, cache_seqlens=lengths, page_table=tables, cache_batch_idx=items)

    def test_wrong_steps(self):
        """What a step cannot be is an error by the caller's name where the host reads it, and NaN in a graph."""
        q, cache = torch.randn(2, 1, 4, 16), torch.randn(2, 30, 2, 16)
        k, rows = torch.randn(2, 2, 2, 16), torch.randn(3, 2, 16)
        cos = torch.rand(30, 4)
        ints = lambda *numbers: torch.tensor(numbers, dtype=torch.int32)
        call = lambda **more: flash_attn_interface.flash_attn_with_kvcache(q, cache.clone(), cache.clone(), **{"cache_seqlens": ints(5, 6), **more})
        tables = {"rotary_cos": cos, "rotary_sin": cos}
        on_host = [] if q.is_cuda else [
            ({"k": rows, "v": rows, "cu_seqlens_k_new": ints(0, 3, 8)}, r"cu_seqlens_k_new' is \[0, 3, 8\], .* 0 to 3, the rows of k"),
            ({"k": rows, "v": rows, "cu_seqlens_k_new": ints(-3, 1, 3)}, "cu_seqlens_k_new' is"),
            ({"k": rows, "v": rows, "cu_seqlens_k_new": ints(0, 2, 1)}, "cu_seqlens_k_new' is"),
            ({"k": k, "v": k, **tables, "rotary_seqlens": ints(5, 29)}, "rotary_seqlens' has the position 29 for batch item 1, expected 0 to 28"),
            ({"k": k, "v": k, **tables, "rotary_seqlens": ints(-1, 3)}, "rotary_seqlens' has the position -1"),
            ({**tables, "cache_seqlens": ints(30, 3)}, "cache_seqlens' has the length 30 for batch item 0, expected 0 to 29, a row of rotary_cos"),
            ({"q": q[:, 0], "cu_seqlens_q": ints(0, 2, 1)}, r"cu_seqlens_q' is \[0, 2, 1\], .* 0 to 2, the rows of q"),
            ({"q": q[:, 0], "cu_seqlens_q": ints(0, 1, 3)}, "cu_seqlens_q' is"),
            ({"page_table": ints(0, 1)[:, None], "cache_seqlens": ints(5, 31)}, "cache_seqlens' has the length 31 for batch item 1, expected 0 to 30")]
        for more, text in [*on_host,
                           ({"k": rows, "v": rows, "cu_seqlens_k_new": ints(0, 3)}, r"cu_seqlens_k_new' has shape \(2,\).* expected \(3,\)"),
                           ({"cu_seqlens_q": ints(0, 1, 2).long()}, r"cu_seqlens_q' has .* and int32: \.to\(torch.int32\)$"),
                           ({"page_table": ints(0, 1)[:, None].long()}, r"page_table' has .* expected \(2, pages\) and int32: \.to\(torch.int32\)$"),
                           ({"page_table": ints(0, 1)}, r"page_table' has .* expected \(2, pages\) and int32$"),
                           ({"cu_seqlens_q": ints()}, "cu_seqlens_q' has no numbers"),
                           ({"cu_seqlens_q": 3}, "cu_seqlens_q' is a int"),
                           ({"q": q.sum(), "cu_seqlens_q": ints(0, 1, 2)}, r"q' has shape \(\), expected \(query rows, heads, head dim\)"),
                           ({"k": k, "v": k, **tables, "rotary_seqlens": torch.rand(2)}, "rotary_seqlens' has dtype torch.float32"),
                           ({"k": k, "v": k, **tables, "rotary_seqlens": 30}, "rotary_seqlens' has the position 30, expected 0 to 29"),
                           ({"k": torch.randn(2, 31, 2, 16), "v": k}, r"v' has shape"),
                           ({"k": torch.randn(2, 31, 2, 16), "v": torch.randn(2, 31, 2, 16)}, "k' has 31 rows, expected at most the 30"),
                           ({"q": q.half(), **tables}, "k_cache' has dtype torch.float32, expected that of q, torch.float16"),
                           ({"q": q.half()}, "dtype torch.float")]:
            changed = {"q": q, "k_cache": cache.clone(), "v_cache": cache.clone(), "cache_seqlens": ints(5, 6), **more}
            with self.assertRaisesRegex(ValueError, text):
                flash_attn_interface.flash_attn_with_kvcache(**changed)
        # Positions without tables are not read, as in FlashAttention-3.
        self.assertTrue(torch.equal(call(k=k, v=k, rotary_seqlens=ints(99, -1)), call(k=k, v=k)))
        # Tables of other types are taken as f32.
        self.assertTrue(call(k=k, v=k, rotary_cos=torch.ones(30, 4, dtype=torch.int32), rotary_sin=torch.zeros(30, 4)).isfinite().all())
        graph = torch.compile(call, fullgraph=True, backend="aot_eager")
        for more, shown in (({"k": rows, "v": rows, "cu_seqlens_k_new": ints(0, 3, 8)}, r"\d+"),
                            ({"k": k, "v": k, "cache_seqlens": ints(5, 29)}, "31"), ({"k": k, "v": k, "cache_seqlens": ints(5, -2)}, "-2"),
                            ({"k": k, "v": k, "cache_seqlens": ints(5, 2**31 - 1)}, r"-?\d+"),
                            ({"k": k, "v": k, **tables, "rotary_seqlens": ints(5, 99)}, "")):
            if shown and not q.is_cuda:
                with self.assertRaisesRegex(RuntimeError, f"has the length {shown} for batch item 1, expected 0 to 30"):
                    graph(**more)
                continue
            output = graph(**more)
            self.assertTrue(output[0].isfinite().all() and output[1].isnan().all(), list(more))

    def test_written_caches(self):
        """Autograd knows that a cache was written; transforms of torch.func are refused."""
        q, k, cache = torch.randn(2, 1, 4, 16), torch.randn(2, 1, 2, 16), torch.randn(2, 9, 2, 16)
        weight = torch.ones((), requires_grad=True)
        loss = (weight * cache).sum()
        flash_attn.flash_attn_with_kvcache(q, cache, cache.clone(), k, k, cache_seqlens=4)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()
        step = lambda q, k: flash_attn.flash_attn_with_kvcache(q, cache, cache.clone(), k, k, cache_seqlens=4)
        with self.assertRaisesRegex(NotImplementedError, "torch.vmap"):
            torch.vmap(step)(q[None], k[None])

    def test_new_rows_of_the_cache(self):
        """What is written while it is read is refused; rows beside the cache in its storage are none of it."""
        q, memory = torch.randn(2, 1, 4, 16), torch.randn(2, 40, 2, 16)
        cache, values, apart = memory[:, :30], torch.randn(2, 30, 2, 16), torch.randn(2, 1, 2, 16)
        before = memory.clone()
        for k, v, text in ((cache[:, 4:5], apart, "k' shares memory with k_cache"), (apart, cache[:, 4:5], "v' shares memory with k_cache"),
                           (values[:, 4:5], apart, "k' shares memory with v_cache")):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, f"{text}, .* expected memory of its own: .clone\\(\\)"):
                flash_attn.flash_attn_with_kvcache(q, cache, values, k, v, cache_seqlens=4)
        rows = torch.randn(2, 30, 4, 16)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "q' shares memory with k_cache"):
            flash_attn.flash_attn_with_kvcache(rows[:, 4:5], rows, rows.clone(), q, q, cache_seqlens=4)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "v_cache' shares memory with k_cache"):
            flash_attn.flash_attn_with_kvcache(q, cache, cache, apart, apart, cache_seqlens=4)
        self.assertTrue(torch.equal(memory, before))
        flash_attn.flash_attn_with_kvcache(q, cache, values, memory[:, 35:36], apart, cache_seqlens=4)
        self.assertTrue(torch.equal(memory[:, 4], before[:, 35]))
        # Each of the two has a storage of its own.
        array = numpy.zeros((2, 30, 2, 16), numpy.float32)
        caches = [torch.from_numpy(part).cpu() for part in (array[:, 1:], array[:, :29])]
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "v_cache' shares memory with k_cache"):
            flash_attn.flash_attn_with_kvcache(q.cpu(), *caches, apart.cpu(), apart.cpu(), cache_seqlens=4)

    def test_traced_steps(self):
        """Traces have the write, and lengths and items of each call, not those of the first."""
        q, k, v = torch.randn(2, 1, 4, 16), torch.randn(2, 1, 2, 16), torch.randn(2, 1, 2, 16)
        caches, ints = [torch.randn(2, 30, 2, 16) for _ in "kv"], lambda *values: torch.tensor(values, dtype=torch.int32)
        step = flash_attn.flash_attn_with_kvcache
        writes = lambda q, k_cache, v_cache, k, v, lengths: step(q, k_cache, v_cache, k, v, cache_seqlens=lengths)
        reads = lambda q, k_cache, v_cache, lengths, items: step(q, k_cache, v_cache, cache_seqlens=lengths, cache_batch_idx=items)
        copies = lambda: [cache.clone() for cache in caches]
        traces = {mode: lambda run, *given, mode=mode: make_fx(run, tracing_mode=mode)(*given) for mode in ("real", "fake")}
        traces["before dispatch"] = lambda run, *given: make_fx(run, pre_dispatch=True)(*given)
        traces["jit"] = lambda run, *given: torch.jit.trace(run, given, check_trace=False)
        for name, trace in traces.items():
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                traced, got, right = trace(writes, q, *copies(), k, v, ints(4, 5)), copies(), copies()
                for one, other in zip((traced(q, *got, k, v, ints(9, 2)), *got), (writes(q, *right, k, v, ints(9, 2)), *right)):
                    self.assertTrue(torch.equal(one, other))
                traced = trace(reads, q, *caches, ints(4, 5), ints(0, 1))
                self.assertTrue(torch.equal(traced(q, *caches, ints(9, 2), ints(1, 0)), reads(q, *caches, ints(9, 2), ints(1, 0))))

    def test_traced_packed_steps(self):
        """The same of packed rows of items of a table, where sizes of tensors are of each call, too."""
        def step(q, k_cache, v_cache, k, v, starts, lengths, firsts, table, items, cos, sin):
            return flash_attn_interface.flash_attn_with_kvcache(
                q, k_cache, v_cache, k, v, rotary_cos=cos, rotary_sin=sin, cache_seqlens=lengths, cu_seqlens_q=starts,
                cu_seqlens_k_new=starts, rotary_seqlens=firsts, page_table=table, cache_batch_idx=items, causal=True)

        def draw(starts, lengths, firsts, items):
            k, v = torch.randn(starts[-1], 2, 16), torch.randn(starts[-1], 2, 16)
            pages = torch.randperm(12).reshape(4, 3).int()
            return [torch.randn(starts[-1], 4, 16), torch.randn(12, 8, 2, 16), torch.randn(12, 8, 2, 16), k, v,
                    *[torch.tensor(each, dtype=torch.int32) for each in (starts, lengths, firsts)], pages,
                    torch.tensor(items, dtype=torch.int32), torch.rand(24, 6), torch.rand(24, 6)]

        first, other = draw([0, 3, 5], [4, 5], [4, 5], [0, 2]), draw([0, 1, 5], [9, 2], [3, 7], [3, 1])
        longer = draw([0, 2, 5, 6], [9, 2, 0], [3, 7, 0], [3, 1, 2])
        # Behind the table, and of a row that it has not: NaN, and nothing is written.
        wrong = draw([0, 1, 5], [-1, 2], [3, 7], [3, 1]), draw([0, 1, 5], [24, 2], [3, 7], [3, 1]), draw([0, 1, 5], [9, 2], [3, 7], [4, 1])
        for name in "real", "fake", "jit":
            with self.subTest(name), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                given = [tensor.clone() for tensor in first]
                traced = torch.jit.trace(step, tuple(given), check_trace=False) if name == "jit" else make_fx(step, tracing_mode=name)(*given)
                for call in other, *([longer] if name == "jit" else ()):
                    got, right = [tensor.clone() for tensor in call], [tensor.clone() for tensor in call]
                    self.assertTrue(torch.equal(traced(*got), step(*right)))
                    for one, another in zip(got, right):
                        self.assertTrue(torch.equal(one, another))
                for call in wrong:
                    got = [tensor.clone() for tensor in call]
                    output = traced(*got)
                    self.assertTrue(output[:1].isnan().all() and output[1:].isfinite().all())
                    written = (got[1] != call[1]).flatten(1).any(1).nonzero().flatten().tolist()
                    self.assertEqual(written, call[8][1, :1].tolist())

    def test_steps_in_modes(self):
        """A mode, which traces nothing, changes no check ahead of the write."""
        q, new, cache = torch.randn(2, 1, 4, 16), torch.randn(2, 1, 2, 16), torch.zeros(2, 30, 2, 16)
        call = lambda lengths, **more: flash_attn.flash_attn_with_kvcache(q, cache, cache.clone(), new, new, cache_seqlens=lengths, **more)
        with FlopCounterMode(display=False):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "'cache_seqlens' has the length 30 for batch item 1, expected 0 to 29"):
                call([3, 30])
            if not q.is_cuda:
                with self.assertRaisesRegex(fa_mlir.ArgumentError, "'cache_batch_idx' has the item 7 for batch item 1, expected 0 to 1"):
                    call([3, 4], cache_batch_idx=torch.tensor([0, 7]))
            self.assertFalse(cache.any())
            call([3, 4])
        self.assertEqual(cache.flatten(2).any(2).nonzero().tolist(), [[0, 3], [1, 4]])

    def test_no_room_for_new_rows(self):
        """What only the device knows: that sequence is left alone and its queries are NaN, others are turned."""
        q, new, cache = torch.randn(3, 1, 2, 8), torch.randn(3, 2, 2, 8), torch.randn(3, 10, 2, 8)
        after, ends = cache.clone(), torch.tensor([11, 10, 1], dtype=torch.int32)
        turned = append.append(append.Arguments(q, new, new, after, after.clone(), ends, is_local=True))
        self.assertTrue(turned[[0, 2]].isnan().all() and torch.equal(turned[1], q[1]))
        self.assertTrue(torch.equal(after[[0, 2]], cache[[0, 2]]) and torch.equal(after[1, 8:], new[1]))

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
                (lambda: flash_attn_interface.flash_attn_with_kvcache(q, q, q, qv=q), "qv"),
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


if __name__ == "__main__":
    unittest.main()
