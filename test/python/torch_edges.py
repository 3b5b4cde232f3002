# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""What calls on torch tensors do at their edges: tensors that overlap, rows past lengths, and errors.

`Tensors` has odd operands and gradients, `Errors` one message for each wrong use, `Override` who is called while several
overrides of SDPA are entered. Captures of functions are in torch_captures.py.
"""

import copy
import math
import pickle
import subprocess
import sys
import threading
import unittest

import numpy
import torch
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.functional import scaled_dot_product_attention as original

import fa_mlir
from fa_mlir import flash_attn
from fa_mlir.problem import Specification
from fa_mlir.sdpa import override_counts
from torch_numbers import DEVICE, Edges, expect, make_inputs, to_numpy

# Of numbers in a GPU's memory nothing is read on the host: that would wait for what was launched.
READS_NUMBERS = DEVICE == "cpu"


class Tensors(Edges):
    def test_gradient_of_an_overlapping_leaf(self):
        inputs = make_inputs()
        for name, view in ("leaf", lambda leaf: leaf), ("view", lambda leaf: leaf[:]):
            with self.subTest(name):
                leaf = torch.randn(1, 1, 8, 8).expand(2, 4, 8, 8).detach().requires_grad_()
                dense = leaf.detach().contiguous().requires_grad_()
                fa_mlir.attention(*inputs, bias=view(leaf)).square().sum().backward()
                expect(*inputs, bias=dense).square().sum().backward()
                self.close(leaf.grad, dense.grad, 4e-6)
        # What is expanded from a tensor is not made whole.
        small = torch.randn(1, 1, 8, 8, requires_grad=True)
        other = small.detach().clone().requires_grad_()
        output = fa_mlir.attention(*inputs, bias=small.expand(2, 4, 8, 8))
        self.assertIn((1, 1, 8, 8), [tuple(tensor.shape) for tensor in output.grad_fn.saved_tensors])
        output.square().sum().backward()
        expect(*inputs, bias=other).square().sum().backward()
        self.close(small.grad, other.grad, 4e-6)

    def test_sinks_of_minus_infinity(self):
        """Beside no key: no weight at all. Beside keys: none of the sink."""
        inputs = [tensor.requires_grad_() for tensor in make_inputs()]
        sink = torch.full((4,), -math.inf, requires_grad=True)
        lengths = torch.tensor([0, 8], dtype=torch.int32)
        output, lse = fa_mlir.attention(*inputs, sink=sink, key_lengths=lengths, return_lse=True)
        self.assertFalse(output[0].any())
        self.assertTrue((lse[0] == -math.inf).all())
        self.close(output[1:], expect(*[tensor[1:] for tensor in inputs]))
        for gradient in torch.autograd.grad(output.sum(), [*inputs, sink]):
            self.assertTrue(gradient.isfinite().all())
        output, lse = fa_mlir.attention(*[to_numpy(tensor) for tensor in inputs], sink=to_numpy(sink),
                                        key_lengths=to_numpy(lengths), return_lse=True)
        self.assertFalse(output[0].any())
        self.assertTrue((lse[0] == -math.inf).all())

    def test_rows_past_query_lengths(self):
        inputs = make_inputs()
        lengths = torch.tensor([3, 8], dtype=torch.int32)
        expected, _ = fa_mlir.attention(*inputs, query_lengths=lengths, sink=torch.ones(4), return_lse=True)
        out = torch.full_like(inputs[0], 7.0)
        _, lse = fa_mlir.attention(*inputs, query_lengths=lengths, sink=torch.ones(4), return_lse=True, out=out)
        self.assertFalse(out[0, 3:].any())
        self.assertFalse(lse[0, :, 3:].any())
        self.assertTrue(torch.equal(out, expected))
        starts = torch.tensor([0, 3, 8], dtype=torch.int32)
        packed = [tensor.flatten(0, 1) for tensor in inputs]
        out = torch.full_like(packed[0], 7.0)
        fa_mlir.attention(*packed, query_starts=starts, key_starts=starts, out=out)
        self.assertFalse(out[8:].any())
        self.assertTrue(torch.equal(out, fa_mlir.attention(*packed, query_starts=starts, key_starts=starts)))

    def test_memory_with_the_other_sign(self):
        """As torch keeps the imaginary part of a conjugate."""
        query, key, value = make_inputs()
        bias = torch.randn(8, 8)
        expected = expect(-query, key, value)
        for options in {}, {"return_lse": True}, {"scale": 0.25}:
            got = fa_mlir.attention(torch._neg_view(query), key, value, **options)
            self.close(got[0] if options.get("return_lse") else got, expected)
        self.close(fa_mlir.attention(query, torch._neg_view(key), torch._neg_view(value)), expect(query, -key, -value))
        self.close(fa_mlir.attention(query, key, value, bias=torch._neg_view(bias)), expect(query, key, value, bias=-bias))
        negated = torch._neg_view(bias)
        self.close(fa_mlir.attention(query, key, value, score=lambda s, b, h, i, j: s + negated[i, j]),
                   expect(query, key, value, bias=-bias))
        leaf, other = query.clone().requires_grad_(), query.clone().requires_grad_()
        output_gradient = torch.randn_like(query)
        fa_mlir.attention(torch._neg_view(leaf), key, value).backward(torch._neg_view(output_gradient))
        expect(-other, key, value).backward(-output_gradient.double())
        self.close(leaf.grad, other.grad)
        halves = [tensor.to(torch.bfloat16) for tensor in (query, key, value)]
        self.assertTrue(torch.equal(fa_mlir.attention(torch._neg_view(halves[0]), *halves[1:]),
                                    fa_mlir.attention(-halves[0], *halves[1:])))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "argument 'out' is read with the other sign"):
            fa_mlir.attention(query, key, value, out=torch._neg_view(torch.empty_like(query)))

    def test_tangents_are_refused(self):
        """Forward-mode differentiation gets no derivative of zero."""
        query, key, value = make_inputs()
        bias = torch.randn(8, 8)
        refusal = "is a tensor with a tangent of forward-mode differentiation.* expected one without: differentiate in reverse"
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(query, torch.ones_like(query))
            for options in {}, {"softcap": 2.0}, {"return_lse": True}:
                with self.assertRaisesRegex(fa_mlir.UnsupportedError, "argument 'query' " + refusal):
                    fa_mlir.attention(dual, key, value, **options)
            captured = forward_ad.make_dual(bias, torch.ones_like(bias))
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, "argument 'bias' " + refusal):
                fa_mlir.attention(query, key, value, bias=captured)
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, "argument 'score' " + refusal):
                fa_mlir.attention(query, key, value, score=lambda s, b, h, i, j: s + captured[i, j])
            self.close(fa_mlir.attention(query, key, value), expect(query, key, value))
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "argument 'key' " + refusal):
            torch.func.jvp(lambda key: fa_mlir.attention(query, key, value), (key,), (torch.ones_like(key),))

    def test_nothing_leaks_from_a_failed_call(self):
        query, key, value = make_inputs()
        wide = torch.randn(1, 1, 1, 1, 1, 1, 1)
        text = Specification().text
        run, run_back = torch.ops.fa_mlir.attention, torch.ops.fa_mlir.attention_backward
        lse = torch.zeros(2, 4, 8)
        for name, call in (
                ("rank of a tensor", lambda: run(wide, key, value, [key, value], [1.0], text)),
                ("rank in a list", lambda: run(query, key, value, [key, wide], None, text)),
                ("specification", lambda: run(query, key, value, [key], None, "{}")),
                ("out", lambda: torch.ops.fa_mlir.attention_into(query, key, value, [key], None, text, wide)),
                ("backward", lambda: run_back(query, key, wide, query, lse, query, lse, [key], None, text, "query"))):
            with self.subTest(name):
                kept = query, key, value, wide, lse
                before = [tensor._use_count() for tensor in kept]
                for _ in range(5):
                    with self.assertRaises(RuntimeError):
                        call()
                self.assertEqual([tensor._use_count() for tensor in kept], before)
        with self.assertRaisesRegex(RuntimeError, "argument 'query' has rank 7, expected"):
            run(wide, key, value, None, None, text)
        with self.assertRaisesRegex(RuntimeError, r"argument 'tensors\[1\]' has rank 7, expected"):
            run(query, key, value, [key, wide], None, text)
        with self.assertRaisesRegex(RuntimeError, "argument 'output_gradient' has rank 7, expected"):
            run_back(query, key, value, query, lse, wide, None, None, None, text, "query")


class Errors(Edges):
    def test_an_earlier_error_is_not_raised_again(self):
        query, key, value = make_inputs()
        with self.assertRaises(RuntimeError):
            torch.ops.fa_mlir.attention(query.double(), key.double(), value.double(), None, None, Specification().text)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' has head dim 32"):
            fa_mlir.attention(query, torch.randn(2, 8, 4, 32), value)

    def test_arguments(self):
        query, key, value = make_inputs()
        lengths = [({"key_lengths": torch.tensor([-3, 8], dtype=torch.int32)}, "'key_lengths' has the length -3"),
                   ({"key_lengths": torch.tensor([3, 100], dtype=torch.int32)}, "'key_lengths' has the length 100")]
        for options, message in (
                *(lengths if READS_NUMBERS else ()),
                ({"out": torch.empty(2, 8, 4, 16, dtype=torch.float64)}, "'out' has dtype torch.float64, expected torch.float32"),
                ({"out": torch.empty(2, 4, 4, 16)}, r"'out' has shape \(2, 4, 4, 16\), expected \(2, 8, 4, 16\)"),
                ({"out": torch.empty(2, 8, 4, 16, device="meta")}, f"'out' is on meta, expected {query.device}")):
            with self.subTest(message), self.assertRaisesRegex(fa_mlir.ArgumentError, message):
                fa_mlir.attention(query, key, value, **options)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'query' has dtype torch.int32, expected float16, bfloat16 or float32"):
            fa_mlir.attention(query.int(), key, value)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' has rank 3, expected 4; of rank 3 it is packed, which key_starts says"):
            fa_mlir.attention(query[0], key[0], value[0], query_starts=torch.tensor([0, 8], dtype=torch.int32))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'causal' is 'top_left', expected True or False"):
            fa_mlir.flash_attn.flash_attn_func(query, key, value, causal="top_left")
        wrong = numpy.empty((2, 8, 4, 16), "float32")[:, :4]
        with self.assertRaisesRegex(fa_mlir.ArgumentError, r"'out' has shape \(2, 4, 4, 16\)"):
            fa_mlir.attention(to_numpy(query), to_numpy(key), to_numpy(value), out=wrong)

    def test_kinds_of_arguments(self):
        """What is no tensor, or none of numbers that lie as strides say, is named."""
        query, key, value = inputs = make_inputs()
        ones = numpy.ones(4, "float32")
        for name, wrong in (("alibi", [1.0] * 4), ("alibi", ones), ("bias", 1.0), ("bias", numpy.ones((8, 8), "float32")),
                            ("mask", [[True]]), ("mask", "causal"), ("mask", numpy.ones((8, 8), bool)), ("sink", ones),
                            ("key_lengths", [3, 4]), ("query_starts", [0, 8]), ("out", [1.0])):
            with self.subTest(name, wrong=wrong), self.assertRaisesRegex(
                    fa_mlir.ArgumentError, f"argument '{name}' is a {type(wrong).__name__}, expected a torch.Tensor, as the query"):
                fa_mlir.attention(*inputs, **{name: wrong})
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "argument 'alibi' is a list, expected an array of numpy's"):
            fa_mlir.attention(*[to_numpy(tensor) for tensor in inputs], alibi=[1.0] * 4)
        for operands, message in (
                ((to_numpy(query), key.cpu().requires_grad_(), value), "'key' is a Tensor that numpy does not take"),
                ((to_numpy(query), key.cpu().bfloat16(), value), "'key' is a Tensor that numpy does not take"),
                ((to_numpy(query), key.to("meta"), value), "'key' is on meta, expected host memory, as the query"),
                ((query, to_numpy(key), value), "'key' is a ndarray, expected a torch.Tensor"),
                ((query, key, None), "'value' is None, expected a torch.Tensor")):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, message):
                fa_mlir.attention(*operands)
        for operands, message in (
                ((query.to_sparse(), key, value), r"'query' is a tensor of layout torch.sparse_coo.*: \.to_dense"),
                ((query, key, value.cpu().to_mkldnn()), "'value' is a tensor of layout torch._mkldnn"),
                ((torch.nested.nested_tensor([query[0], query[1]]), key, value), "'query' is a nested tensor.*query_starts"),
                ([tensor.to(torch.complex64) for tensor in inputs], "'query' is of another type, .* expected float16, bfloat16 or"),
                ([tensor[..., :0] for tensor in inputs], "'query' is of head dim 0, .* expected 1 to 512"),
                ((query, key, torch.zeros(2, 8, 4, 513)), "'value' is of head dim 513, .* expected 1 to 512")):
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, message):
                fa_mlir.attention(*operands)
        for options, message in (
                ({"score": "softcap"}, "'score' is a str, expected a function"), ({"score": query}, "'score' is a Tensor, expected a"),
                ({"softcap": math.inf}, "'softcap' is inf, expected a finite number above 0"),
                ({"dropout_p": 0.5, "dropout_state": torch.zeros(2, dtype=torch.uint64)}, "'dropout_state' has .*uint64, expected"),
                ({"window": (2.5, 0)}, "'window' is .* expected integers"),
                ({"window": (-5, 0)}, r"'window' is \(-5, 0\), expected sizes from 0; -1 or None is unlimited"),
                ({"window": (4, torch.tensor(-2))}, r"'window' is \(4, tensor\(-2.*\)\), expected sizes from 0"),
                ({"window": numpy.array(3)}, "'window' is array.3., expected two integers")):
            with self.subTest(message), self.assertRaisesRegex(fa_mlir.ArgumentError, message):
                fa_mlir.attention(*inputs, **options)
        self.assertIsInstance(fa_mlir.attention(*inputs, return_lse=None), torch.Tensor)
        self.assertTrue(torch.equal(fa_mlir.attention(*inputs, window=(torch.tensor(2), numpy.int64(1))),
                                    fa_mlir.attention(*inputs, window=(2, 1))))

    def test_numbers(self):
        query, key, value = inputs = make_inputs()
        for name in "scale", "softcap", "dropout_p":
            for wrong, shown in (("0.5", "'0.5'"), ([0.5], r"\[0.5\]"), (1j, "1j"), (10**400, "10+"), (torch.ones(2), r"of shape \(2,\)")):
                for operands in inputs, [to_numpy(tensor) for tensor in inputs]:
                    with self.subTest(name, wrong=shown), self.assertRaisesRegex(
                            fa_mlir.ArgumentError, rf"argument '{name}' is {shown}(\.\.\.)?, expected a"):
                        fa_mlir.attention(*operands, **{name: wrong})
        expected = fa_mlir.attention(*inputs, scale=0.5, softcap=2.0)
        for half, two in (torch.tensor(0.5), numpy.int64(2)), (numpy.float32(0.5), 2):
            self.assertTrue(torch.equal(fa_mlir.attention(*inputs, scale=half, softcap=two), expected))

    def test_windows_beyond_each_length(self):
        """They are no limit, as -1, in each interface."""
        query, (key, value) = torch.randn(1, 5, 2, 8), [torch.randn(1, 9, 2, 8) for _ in range(2)]
        operands, visible = (query, key, value), torch.ones(5, 9, dtype=torch.bool)
        for size in 1 << 62, sys.maxsize, 1 << 63, 1 << 64, 10 ** 400:
            for window, mask in (((-1, size), visible), ((size, size), visible), ((size, 1), visible.tril(5)),
                                 ((2, size), visible.triu(2))):
                right = expect(*operands, mask=mask)
                with self.subTest(size.bit_length(), window=mask.sum().item()):
                    self.close(fa_mlir.attention(*operands, window=window), right)
                    self.close(flash_attn.flash_attn_func(*operands, window_size=window), right)
                    found = fa_mlir.attention(*map(to_numpy, operands), window=window)
                    self.close(torch.from_numpy(found), right.cpu())
        # flash-attn has no limit either where a size is less than -1.
        self.close(flash_attn.flash_attn_func(*operands, window_size=(-5, 1)), expect(*operands, mask=visible.tril(5)))
        pictures = [fa_mlir.explain(*operands, measure=False, window=(2, size)).picture for size in (-1, sys.maxsize * 4)]
        self.assertEqual(*map(str, pictures))

    def test_names_of_other_interfaces(self):
        """An error has the names of the function that was called."""
        operands = [torch.randn(2, 4, 8, 16) for _ in range(3)]
        few = [operands[0], *[tensor[:, :2] for tensor in operands[1:]]]
        rows = [torch.randn(16, 4, 16) for _ in range(3)]
        starts, long = torch.tensor([0, 8, 16], dtype=torch.int32), torch.tensor([0, 8, 16])
        cases = [
            (lambda: fa_mlir.sdpa(*operands, attn_mask=torch.ones(3, 3)), "attn_mask' has shape .3, 3., expected"),
            (lambda: fa_mlir.sdpa(*operands, attn_mask=torch.ones(3, 3).bool()), "attn_mask' has shape .3, 3., expected"),
            (lambda: fa_mlir.sdpa(*operands, attn_mask=numpy.ones((8, 8), "float32")), "attn_mask' is a ndarray, .*fa_mlir.attention"),
            (lambda: fa_mlir.sdpa(*[to_numpy(tensor) for tensor in operands]), "query' is a ndarray, .*fa_mlir.attention takes"),
            (lambda: fa_mlir.sdpa(operands[0], None, None), "key' is a NoneType, expected a torch.Tensor$"),
            (lambda: fa_mlir.sdpa(*few), "key' has 2 heads, expected 4 or 1; .*enable_gqa=True"),
            (lambda: fa_mlir.sdpa(*operands[:2], torch.randn(3, 4, 8, 16)), r"query' has the leading dims \(2,\), 'key' \(2,\) and 'value' \(3,\)"),
            (lambda: fa_mlir.flex_attention(*few), "key' has 2 heads, expected the query's 4, or enable_gqa=True"),
            (lambda: fa_mlir.flex_attention(*operands, score_mod=3), "score_mod' is a int, expected a function"),
            (lambda: fa_mlir.flex_attention(*operands, block_mask=3), "block_mask' is a int, expected a BlockMask or a function"),
            (lambda: fa_mlir.flex_attention(to_numpy(operands[0]), *operands[1:]), "query' is a ndarray"),
            (lambda: fa_mlir.flex_attention(*[tensor[0] for tensor in operands]), "query' has rank 3, expected 4"),
            (lambda: flash_attn.flash_attn_func(operands[0], *[tensor[:, :, :3] for tensor in operands[1:]]), "k' has 3 heads"),
            (lambda: flash_attn.flash_attn_func(*operands, alibi_slopes=torch.ones(3)), r"alibi_slopes' has shape \(3,\)"),
            (lambda: flash_attn.flash_attn_func(*operands, window_size=3), "window_size' is 3, expected two integers"),
            (lambda: flash_attn.flash_attn_func(*operands, softmax_scale="1"), "softmax_scale' is '1'"),
            (lambda: flash_attn.flash_attn_kvpacked_func(operands[0], torch.randn(3, 4, 2, 8, 16)), "kv' has batch 3"),
            (lambda: flash_attn.flash_attn_varlen_func(*rows, long, starts, 8, 8), "cu_seqlens_q' has dtype torch.int64"),
            (lambda: flash_attn.flash_attn_varlen_func(*rows, starts, starts[:2], 8, 8), r"cu_seqlens_k' has shape \(2,\)"),
            (lambda: flash_attn.flash_attn_varlen_qkvpacked_func(torch.stack(rows, 1), long, 8), "cu_seqlens' has dtype torch.int64"),
            (lambda: flash_attn.flash_attn_with_kvcache(*operands, block_table=torch.ones(2, 2), cache_seqlens=starts[:2]),
             "block_table' has .* dtype torch.float32, expected .* int32"),
            (lambda: flash_attn.flash_attn_with_kvcache(*operands, cache_seqlens=starts), r"cache_seqlens' has shape \(3,\), expected \(2,\)"),
            (lambda: flash_attn.flash_attn_with_kvcache(*operands, cache_seqlens=torch.ones(2)), "cache_seqlens' has dtype torch.float32"),
            (lambda: fa_mlir.flash_attn_interface.flash_attn_varlen_func(*rows, starts, starts, 8, 8, seqused_k=long), "seqused_k' has shape"),
            (lambda: flash_attn.flash_attn_func(to_numpy(operands[0]), *operands[1:]), "q' is a ndarray"),
            (lambda: flash_attn.flash_attn_qkvpacked_func(torch.randn(2, 8, 4, 4, 16)), r"qkv' has shape \(2, 8, 4, 4, 16\), expected"),
            (lambda: flash_attn.flash_attn_qkvpacked_func(torch.randn(2, 8, 4, 16)), r"qkv' has shape \(2, 8, 4, 16\), expected"),
            (lambda: flash_attn.flash_attn_kvpacked_func(operands[0], torch.randn(2, 8, 3, 4, 16)), "kv' has shape .*sequence, 2, heads"),
            (lambda: flash_attn.flash_attn_varlen_func(*rows, None, starts, 8, 8), "cu_seqlens_q' is None, expected int32"),
            (lambda: fa_mlir.flash_attn_interface.flash_attn_qkvpacked_func(torch.randn(2, 8, 8, 16), num_heads_q=3), "qkv' has .* 2 key"),
            (lambda: fa_mlir.flash_attn_interface.flash_attn_qkvpacked_func(torch.randn(2, 8, 8, 16)), "num_heads_q' is None with a qkv of"),
            (lambda: flash_attn.flash_attn_varlen_func(*rows, starts, [0, 8, 16], 8, 8, block_table=long), "cu_seqlens_k' is .0, 8, 16., exp"),
            (lambda: flash_attn.flash_attn_func(*operands, return_attn_probs="yes"), "return_attn_probs' is 'yes'"),
            (lambda: flash_attn.flash_attn_with_kvcache(*operands, cache_seqlens=[9, 9]),
             "cache_seqlens' has the length 9( for batch item 0)?, expected 0 to 4"),
            (lambda: fa_mlir.flash_attn_interface.flash_attn_combine(torch.randn(2, 2, 3, 4, 8), None), "lse_partial' is a NoneType"),
            (lambda: fa_mlir.flex_attention(*operands, return_aux=True), "return_aux' is True, expected torch's AuxRequest"),
            (lambda: fa_mlir.sdpa(*operands, torch.ones(8, 8).int()), "attn_mask' has dtype torch.int32, expected bool, float16"),
            (lambda: fa_mlir.explain(operands[0], None, operands[2]), "key' is None"),
            (lambda: fa_mlir.explain(operands[0], *[tensor[:1] for tensor in operands[1:]]), "key' has batch 1, expected that of the query, 2"),
            (lambda: fa_mlir.vllm.flash_attn_varlen_func(*rows, 8, starts, 8, starts, s_aux=torch.ones(3)), r"s_aux' has shape \(3,\)"),
            (lambda: fa_mlir.xformers.memory_efficient_attention(*operands, attn_bias=torch.ones(3, 3)), "attn_bias' has shape"),
            (lambda: fa_mlir.diffusers.attend(*operands, attn_mask=torch.ones(3, 3)), "attn_mask' has shape")]
        for call, message in cases:
            with self.subTest(message), self.assertRaisesRegex(fa_mlir.ArgumentError, "argument '" + message):
                call()
        with self.assertRaises(fa_mlir.UnsupportedError) as raised:
            flash_attn.flash_attn_func(*[tensor.double() for tensor in operands])
        self.assertEqual(raised.exception.argument, "q")

    def test_out_where_keys_are(self):
        """What is read by others while it is written is no output; the query's own rows are."""
        for options in {}, {"softcap": 2.0}:
            for place, name in (1, "key"), (2, "value"):
                inputs = [torch.randn(1, 300, 2, 16) for _ in range(3)]
                with self.assertRaisesRegex(fa_mlir.ArgumentError, f"'out' shares memory with the {name}"):
                    fa_mlir.attention(*inputs, out=inputs[place], **options)
                memory = torch.randn(2, 300, 2, 16)
                inputs[place] = memory[:1]
                with self.assertRaisesRegex(fa_mlir.ArgumentError, f"'out' shares memory with the {name}"):
                    fa_mlir.attention(*inputs, out=memory.flatten()[16:16 + 9600].view(1, 300, 2, 16), **options)
                self.assertTrue(fa_mlir.attention(*inputs, out=memory[1:], **options).isfinite().all())
            # Rows beside each other.
            packed = torch.randn(1, 300, 4, 2, 16)
            inputs = [packed[:, :, i] for i in range(3)]
            right = fa_mlir.attention(*inputs, **options)
            self.assertTrue(torch.equal(fa_mlir.attention(*inputs, out=packed[:, :, 3], **options), right))
            self.assertTrue(torch.equal(fa_mlir.attention(*inputs, out=inputs[0], **options), right))
            rows = torch.randn(1, 370, 2, 16)
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' shares memory with the query"):
                fa_mlir.attention(rows[:, :300], *inputs[1:], out=rows[:, 70:], **options)
            # Some of another's heads.
            heads = torch.randn(1, 300, 5, 16)
            key, value, query = heads[:, :, 1:3], heads[:, :, 3:], torch.randn(1, 300, 2, 16)
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' shares memory with the key"):
                fa_mlir.attention(query, key, value, out=heads[:, :, :2], **options)
            self.assertTrue(fa_mlir.attention(query, key, key, out=heads[:, :, 3:], **options).isfinite().all())
            with FakeTensorMode():
                fake = torch.empty(1, 300, 2, 16)
                self.assertEqual(fa_mlir.attention(fake, fake, fake, out=torch.empty_like(fake), **options).shape, fake.shape)
        arrays = [to_numpy(torch.randn(1, 300, 2, 16)) for _ in range(3)]
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' shares memory with the value"):
            fa_mlir.attention(*arrays, out=arrays[2])

    def test_out_with_gradients(self):
        """Refused by that, whatever its shape: of a head dim of 13 a GPU computes 16 where a gradient is asked for."""
        inputs = [torch.randn(1, 8, 2, 13) for _ in range(3)]
        inputs[0].requires_grad_()
        for head_dim in 12, 13, 16:
            with self.subTest(head_dim), self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' is given, expected None where a gradient"):
                fa_mlir.attention(*inputs, out=torch.empty(1, 8, 2, head_dim))

    def test_out_where_captures_are(self):
        """Nor is what scores, masks and lengths are read from."""
        memory, inputs = torch.zeros(2, 8, 4, 16), make_inputs()
        flat = memory.flatten()
        row, lengths, starts = flat[:8], flat[40:42].view(torch.int32), flat[:3].view(torch.int32)
        lengths.fill_(8)
        captured = "tensor that score captures"
        cases = [
            ("bias", {"bias": flat[:64].view(8, 8)}), ("bias", {"bias": flat[:16].view(8, 2)[:, :1]}),
            ("bias", {"bias": flat[960:].view(8, 8)}), ("mask", {"mask": flat.view(torch.bool)[5:69].view(8, 8)}),
            ("alibi", {"alibi": flat[9:13]}), ("sink", {"sink": flat[-4:]}), ("query_lengths", {"query_lengths": lengths}),
            ("key_lengths", {"key_lengths": lengths}),
            ("dropout_state", {"dropout_p": 0.5, "dropout_state": flat[-4:].view(torch.int64)}),
            (captured, {"score": lambda s, b, h, i, j: s + row[j]}),
            ("tensor that mask captures", {"bias": torch.zeros(8, 8), "mask": lambda b, h, i, j: row[i] < 1})]
        for name, options in cases:
            with self.subTest(name), self.assertRaisesRegex(fa_mlir.ArgumentError, f"'out' shares memory with the {name}, which"):
                fa_mlir.attention(*inputs, out=memory, **options)
        packed = [tensor.flatten(0, 1) for tensor in inputs]
        starts.copy_(torch.tensor([0, 8, 16]))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' shares memory with the query_starts, which"):
            fa_mlir.attention(*packed, query_starts=starts, key_starts=starts.clone(), out=memory.flatten(0, 1))
        # Beside each other in one storage, and what is copied before.
        both = torch.randn(1088)
        for bias in both[:64].view(8, 8), both[64:576].view(8, 8, 8)[..., 0]:
            right = fa_mlir.attention(*inputs, bias=bias)
            out = both[64:].view(2, 8, 4, 16)
            self.assertTrue(torch.equal(fa_mlir.attention(*inputs, bias=bias, out=out), right))
        array, arrays = numpy.zeros((2, 8, 4, 16), "float32"), [to_numpy(tensor) for tensor in inputs]
        for name, options in (("bias", {"bias": array.reshape(-1)[:8]}), ("alibi", {"alibi": array.reshape(-1)[:4]}),
                              ("mask", {"mask": array.view(bool).reshape(-1)[:8]})):
            with self.subTest(name), self.assertRaisesRegex(fa_mlir.ArgumentError, f"'out' shares memory with the {name}, which"):
                fa_mlir.attention(*arrays, out=array, **options)

    def test_autocast_of_float64(self):
        """torch leaves it as it is; so it is refused, and not rounded."""
        inputs = [tensor.double() for tensor in make_inputs()]
        with torch.autocast(DEVICE, dtype=torch.bfloat16), self.assertRaisesRegex(fa_mlir.UnsupportedError, "'query' is of type float64"):
            fa_mlir.attention(*inputs)

    def test_copies(self):
        """Errors go from one process to another as they are."""
        query, key, value = make_inputs()
        for call in (lambda: fa_mlir.attention(query.double(), key.double(), value.double()),
                     lambda: fa_mlir.attention(query, key[..., :8], value), lambda: fa_mlir.compile("nonsense")):
            with self.assertRaises(fa_mlir.Error) as raised:
                call()
            error = raised.exception
            for other in pickle.loads(pickle.dumps(error)), copy.deepcopy(error):
                self.assertIs(type(other), type(error))
                self.assertEqual((str(other), vars(other)), (str(error), vars(error)))

    def test_operators(self):
        query, key, value = make_inputs()
        lse, text = torch.zeros(2, 4, 8), Specification().text
        for wrong in "", "x", "{}", "|", '{"a":1}', "[]", text.replace("bshd", "dhsb"):
            with self.subTest(wrong), self.assertRaisesRegex(RuntimeError, "argument 'specification' is .*expected the text"):
                torch.ops.fa_mlir.attention(query, key, value, None, None, wrong)
        for wrong in "", "nothing", "query,,key":
            with self.subTest(wanted=wrong), self.assertRaisesRegex(
                    RuntimeError, f"argument 'wanted' is '{wrong}', expected names among query, key, value"):
                torch.ops.fa_mlir.attention_backward(query, key, value, query, lse, query, None, None, None, text, wrong)

    def test_what_explain_cannot_read(self):
        """A call that attention() refuses is explained by its refusal, and wrong starts give no rows of nowhere."""
        query, key, value = make_inputs()
        for operands, options in (([torch.nested.as_nested_tensor(list(tensor)) for tensor in (query, key, value)], {}),
                                  ((query.to_sparse(), key, value), {}), ((query, key, value), {"mask": torch.ones(8, 8).bool().to_sparse()}),
                                  ((query, key, value), {"mask": lambda b, h, i, j: True if i > j else j > 3})):
            with self.assertRaises(fa_mlir.UnsupportedError) as raised:
                fa_mlir.attention(*operands, **options)
            found = fa_mlir.explain(*operands, measure=False, **options)
            self.assertEqual((found.unsupported, found.picture), (str(raised.exception), ""))
        rows = [tensor.flatten(0, 1) for tensor in (query, key, value)]
        count = rows[0].shape[0]
        ints = lambda *numbers: torch.tensor(numbers, dtype=torch.int32)
        for starts in ints(0, 3, 2**30), ints(-5, 3, count), ints(0, count, 3):
            found = fa_mlir.explain(*rows, query_starts=starts, key_starts=starts, measure=False)
            self.assertLessEqual(found.visible, 1)
            self.assertEqual(found.unsupported, "")
        with torch.autocast(query.device.type, torch.bfloat16):
            self.assertIn("x16xbf16", fa_mlir.explain(query, key.bfloat16(), value, measure=False).problem)

    def test_threads(self):
        """Code for CPUs runs on torch's threads: OpenMP's own would wait beside them, for the same processors."""
        code = """
import os, sys, torch, fa_mlir
inputs = torch.randn(3, 2, 64, 8, 32, device="cpu").unbind()
count = lambda: len(os.listdir("/proc/self/task"))
torch.set_num_threads(1)
alone, before = fa_mlir.attention(*inputs), count()
torch.set_num_threads(3)
assert torch.equal(fa_mlir.attention(*inputs), alone)
print(count() - before, flush=True)
child = os.fork()
if not child:
    # It has none of these threads.
    os._exit(0 if torch.equal(fa_mlir.attention(*inputs), alone) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
        self.assertEqual(ran.stdout, "2\n")

    def test_cache_lengths(self):
        query, key, value = (tensor[:, :1] for tensor in make_inputs())
        second = "16 for batch item 1"
        tensors = [(torch.tensor([-1, 5], dtype=torch.int32), "-1 for batch item 0"), (torch.tensor([3, 16], dtype=torch.int32), second)]
        for lengths, shown in (-1, "-1"), (16, "16"), ([3, 16], second), *(tensors if READS_NUMBERS else ()):
            cache, values = torch.randn(2, 16, 4, 16), torch.randn(2, 16, 4, 16)
            before = cache.clone()
            with self.subTest(lengths), self.assertRaisesRegex(
                    fa_mlir.ArgumentError, f"'cache_seqlens' has the length {shown}, expected 0 to 15"):
                flash_attn.flash_attn_with_kvcache(query, cache, values, k=key, v=value, cache_seqlens=lengths)
            self.assertTrue(torch.equal(cache, before))


    def test_caches_are_written_when_all_is_right(self):
        query, cache, values = torch.randn(2, 3, 4, 16), torch.randn(2, 30, 2, 16), torch.randn(2, 30, 2, 16)
        key, value, cos = torch.randn(2, 3, 2, 16), torch.randn(2, 3, 2, 16), torch.randn(30, 8)
        new = {"k": key, "v": value, "cache_seqlens": 5}
        before = cache.clone(), values.clone()
        cases = [
            ({"cache_seqlens": 2**40}, "cache_seqlens' has the length 1099511627776, expected 0 to 30"),
            ({"cache_seqlens": "5"}, "cache_seqlens' is '5'"), ({**new, "cache_seqlens": 28}, "cache_seqlens' has the length 28, .* 0 to 27"),
            ({**new, "cache_seqlens": None}, "k' is given without cache_seqlens"),
            ({**new, "v": value[:, :2]}, r"v' has shape \(2, 2, 2, 16\), expected \(2, 3, 2, 16\)"), ({**new, "k": key[:1]}, "k' has shape"),
            ({**new, "k": key[:, :, :1]}, r"k' has shape \(2, 3, 1, 16\)"), ({**new, "v": None}, "k' is given alone, expected k and v"),
            ({**new, "k": None}, "v' is given alone"), ({**new, "rotary_sin": cos}, "rotary_sin' is given alone"),
            ({**new, "rotary_cos": cos[:5], "rotary_sin": cos[:5]}, r"rotary_cos' has shape \(5, 8\), expected the 30 positions of"),
            ({**new, "rotary_cos": torch.randn(30, 9), "rotary_sin": torch.randn(30, 9)}, r"rotary_cos' has .* at most 8 columns, half of q's head dim"),
            ({**new, "rotary_cos": cos[0], "rotary_sin": cos[0]}, r"rotary_cos' has shape \(8,\), expected \(positions, columns\)"),
            ({**new, "rotary_cos": cos, "rotary_sin": cos[:, :3]}, r"rotary_sin' has shape \(30, 3\), expected that of rotary_cos, \(30, 8\)"),
            ({**new, "cache_batch_idx": [0, 1]}, "cache_batch_idx' is a list"), ({**new, "softcap": -1.0}, "softcap' is -1.0"),
            ({**new, "window_size": 3}, "window_size' is 3"), ({**new, "softmax_scale": "1"}, "softmax_scale' is '1'"),
            ({**new, "q": query.half()}, "k_cache' has dtype torch.float32, expected that of q"), ({**new, "q": None}, "q' is None"),
            ({**new, "q": query[:, :, :3]}, "k_cache' has 2 heads, expected a divisor of q's 3"),
            ({**new, "rotary_interleaved": "no"}, "rotary_interleaved' is 'no', expected True or False"),
            ({**new, "q": query[0]}, r"q' has shape \(3, 4, 16\), expected \(batch, queries, heads, head dim\)"),
            ({"k_cache": cache[0], "block_table": 0}, r"k_cache' has shape \(30, 2, 16\), expected \(pages, page size, key heads, head dim\)")]
        if READS_NUMBERS:
            cases += [({"cache_seqlens": torch.tensor([2**40, 3])}, "cache_seqlens' has the length 2147483647"),
                      ({**new, "cache_batch_idx": torch.tensor([-1, 0])}, "cache_batch_idx' has the item -1 for batch item 0, expected 0 to 1")]
        for options, message in cases:
            with self.subTest(message), self.assertRaisesRegex(fa_mlir.ArgumentError, "argument '" + message) as raised:
                flash_attn.flash_attn_with_kvcache(**{"q": query, "k_cache": cache, "v_cache": values, **options})
            self.assertEqual(raised.exception.argument, message.partition("'")[0])
            self.assertTrue(torch.equal(cache, before[0]) and torch.equal(values, before[1]))
        pad = lambda tensor: torch.nn.functional.pad(tensor, (0, 504))
        for change, message in (torch.Tensor.double, "'q' is of type float64"), (pad, "'q' is of head dim 520, .* 1 to 512"):
            rows, caches = ({name: change(tensor) for name, tensor in group.items()} for group in (
                {"q": query, "k": key, "v": value}, {"k_cache": cache, "v_cache": values}))
            kept = caches["k_cache"].clone()
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, message):
                flash_attn.flash_attn_with_kvcache(**{**rows, **caches}, cache_seqlens=5)
            self.assertTrue(torch.equal(caches["k_cache"], kept))

    def test_what_a_cache_is_given(self):
        query, cache, values = torch.randn(2, 3, 4, 16), torch.randn(2, 30, 2, 16), torch.randn(2, 30, 2, 16)
        call = lambda lengths, **options: flash_attn.flash_attn_with_kvcache(query, cache, values, cache_seqlens=lengths, **options)
        expected = call(7)
        for lengths in (torch.tensor([7, 7], dtype=torch.int32, device="cpu"), torch.tensor([7, 7]), torch.tensor([7]), torch.tensor(7), torch.tensor([7, 7], dtype=torch.uint8), [7, 7]):
            self.assertTrue(torch.equal(call(lengths), expected))
        items = torch.tensor([1, 0], dtype=torch.int16)
        self.assertTrue(torch.equal(call(7, cache_batch_idx=items), flash_attn.flash_attn_with_kvcache(
            query, cache[[1, 0]], values[[1, 0]], cache_seqlens=7)))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'cache_seqlens' has the length 31.*, expected 0 to 30"):
            call(torch.tensor([7, 31], dtype=torch.int32, device="cpu"))
        # Of tensors without memory nothing is read.
        made = flash_attn.flash_attn_with_kvcache(*[tensor.to("meta") for tensor in (query, cache, values)],
                                                  cache_batch_idx=items.to("meta"))
        self.assertEqual(made.shape, query.shape)

    def test_autocast_of_packed_rows_and_caches(self):
        """Types may differ before it."""
        query, cache, values = torch.randn(2, 3, 4, 16), torch.randn(2, 30, 2, 16).bfloat16(), torch.randn(2, 30, 2, 16).bfloat16()
        starts, key_starts = (torch.tensor([0, rows], dtype=torch.int32) for rows in (3, 30))
        rows = query[0].bfloat16(), cache[0], values[0]
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            self.assertTrue(torch.equal(flash_attn.flash_attn_with_kvcache(query, cache, values, cache_seqlens=7),
                                        flash_attn.flash_attn_with_kvcache(query.bfloat16(), cache, values, cache_seqlens=7)))
            self.assertTrue(torch.equal(fa_mlir.attention(query[0], *rows[1:], query_starts=starts, key_starts=key_starts),
                                        fa_mlir.attention(*rows, query_starts=starts, key_starts=key_starts)))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' has dtype torch.bfloat16, expected that of the query"):
            fa_mlir.attention(query[0], *rows[1:], query_starts=starts, key_starts=key_starts)

    def test_devices(self):
        query, key, value = make_inputs()
        for operands in (query.to("meta"), key, value), (query, key.to("meta"), value):
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key' is on .*, expected the query's device"):
                fa_mlir.attention(*operands)
        self.assertEqual(fa_mlir.attention(*[tensor.to("meta") for tensor in (query, key, value)]).device.type, "meta")


class Override(Edges):
    """torch's own is back when the last override is left, in whichever order."""

    def count(self):
        before = override_counts().get("fa_mlir", 0)
        torch.nn.functional.scaled_dot_product_attention(*[torch.randn(1, 2, 8, 16)] * 3)
        return override_counts().get("fa_mlir", 0) - before

    def test_order(self):
        self.addCleanup(setattr, torch.nn.functional, "scaled_dot_product_attention", original)
        one, two = fa_mlir.override_sdpa("torch"), fa_mlir.override_sdpa("error")
        one.__enter__()
        two.__enter__()
        with self.assertRaises(fa_mlir.UnsupportedError):
            torch.nn.functional.scaled_dot_product_attention(*[torch.randn(1, 2, 8, 16).double()] * 3)
        one.__exit__(None, None, None)
        self.assertEqual(self.count(), 1)
        two.__exit__(None, None, None)
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, original)
        self.assertEqual(self.count(), 0)

    def test_modes_are_no_subclasses(self):
        """What makes torch ask of every tensor whether it has a function of its own."""
        for on_unsupported in "error", "torch":
            with fa_mlir.override_sdpa(on_unsupported), torch.device(DEVICE):
                self.assertEqual(self.count(), 1)
                compiled = torch.compile(lambda query: torch.nn.functional.scaled_dot_product_attention(query, query, query),
                                         backend="aot_eager", fullgraph=True)
                query = torch.randn(1, 2, 8, 16)
                before = override_counts()
                self.close(compiled(query), original(query, query, query))
                after = override_counts()
                self.assertEqual({name: count - before.get(name, 0) for name, count in after.items()
                                  if count != before.get(name, 0)}, {"fa_mlir": 1})

        class Named(torch.Tensor):
            pass

        with fa_mlir.override_sdpa("error"), self.assertRaisesRegex(
                fa_mlir.UnsupportedError, "argument 'query' is a subclass of tensor, .* expected a torch.Tensor"):
            torch.nn.functional.scaled_dot_product_attention(*[torch.randn(1, 2, 8, 16).as_subclass(Named)] * 3)

    def test_tracing_is_no_subclass(self):
        """Nor are the tensors by which torch traces."""
        class Model(torch.nn.Module):
            def forward(self, query):
                return torch.nn.functional.scaled_dot_product_attention(query, query, query)

        query = torch.randn(1, 2, 8, 16)
        for how in "error", "warn":
            with fa_mlir.override_sdpa(how):
                graphs = [make_fx(Model(), tracing_mode=mode)(query) for mode in ("real", "fake", "symbolic")]
                graphs += [torch.export.export(Model(), (query,), strict=strict).module() for strict in (False, True)]
            for graph in graphs:
                self.assertIn("fa_mlir", graph.code)
                self.close(graph(query), original(query, query, query))

    def test_threads(self):
        self.addCleanup(setattr, torch.nn.functional, "scaled_dot_product_attention", original)
        previous = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        self.addCleanup(sys.setswitchinterval, previous)

        def work():
            for _ in range(200):
                with fa_mlir.override_sdpa("torch"):
                    pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, original)

    def test_others(self):
        """What another puts in its place meanwhile stays, and calls torch's own afterwards."""
        self.addCleanup(setattr, torch.nn.functional, "scaled_dot_product_attention", original)
        with fa_mlir.override_sdpa("torch"):
            inner = torch.nn.functional.scaled_dot_product_attention

            def other(*operands):
                return inner(*operands)

            torch.nn.functional.scaled_dot_product_attention = other
            self.assertEqual(self.count(), 1)
        self.assertIs(torch.nn.functional.scaled_dot_product_attention, other)
        self.assertEqual(self.count(), 0)


if __name__ == "__main__":
    unittest.main()
