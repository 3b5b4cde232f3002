# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""fa_mlir.attention on torch tensors, and the operators, against torch in float64.

`expect` is attention in torch; `Attention.check` compares an output and its gradients with it. Gradients come first,
then what of torch calls them (compile, export, autocast, checkpoints), then packed sequences, pages and dropout. From
`test_fork` on: processes, packages and errors.
"""

import importlib.util
import io
import os
import subprocess
import sys
import threading
import unittest
import warnings
from unittest import mock

import numpy
import torch
from torch.utils.flop_counter import FlopCounterMode

import fa_mlir
from fa_mlir import assembler, entries, gradients, operator
from fa_mlir.problem import Specification, Types, from_text, make_deterministic, write_forward
from fa_mlir.attention import TorchArrays, find_text, pad_heads, plan

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED, "torch", torch.__version__)
torch.manual_seed(SEED)


def count_compiled():
    """Kernels that were made or found on disk."""
    return fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]


def make_inputs(batch=2, queries=7, keys=19, heads=4, key_heads=2, head_dim=16, dtype=torch.float32, gradient=True):
    return [torch.randn(shape, dtype=dtype, requires_grad=gradient) for shape in (
        (batch, queries, heads, head_dim), (batch, keys, key_heads, head_dim), (batch, keys, key_heads, head_dim))]


def expect(query, key, value, causal=None, bias=None, alibi=None, sink=None, softcap=None):
    """Output and lse by the definition, in float64, differentiable."""
    query, key, value = (tensor.double().transpose(1, 2) for tensor in (query, key, value))
    groups = query.shape[1] // key.shape[1]
    key, value = (tensor.repeat_interleave(groups, 1) for tensor in (key, value))
    scores = query @ key.mT / query.shape[-1] ** 0.5
    queries, keys = scores.shape[-2:]
    i, j = torch.arange(queries)[:, None], torch.arange(keys)
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    if alibi is not None:
        scores = scores - alibi.double()[:, None, None] * (i + keys - queries - j).abs()
    if bias is not None:
        scores = scores + bias.double()
    if causal:
        scores = scores.masked_fill(j > i + (keys - queries), -torch.inf)
    if sink is not None:
        scores = torch.cat([scores, sink.double()[:, None, None].expand(*scores.shape[:3], 1)], -1)
    weights = scores.softmax(-1)[..., :keys]
    return (weights @ value).transpose(1, 2), scores.logsumexp(-1)


def draw_factors(p, seed, offset, *sizes):
    """Those of fa.dropout, by its description in docs/Reference/FA.md: Philox 4x32-10."""
    low, high = numpy.uint64(0xFFFFFFFF), numpy.uint64(32)
    b, h, i, j = numpy.meshgrid(*[numpy.arange(size, dtype=numpy.uint64) for size in sizes], indexing="ij")
    seed, offset = seed % (1 << 64), offset % (1 << 64)
    counter = [j & low - numpy.uint64(9), i & low - numpy.uint64(9), b * (1 << 16) + h, numpy.full_like(j, offset & 0xFFFFFFFF)]
    key = [numpy.uint64(seed & 0xFFFFFFFF), numpy.uint64(((seed >> 32) + (offset >> 32)) & 0xFFFFFFFF)]
    for _ in range(10):
        products = counter[0] * numpy.uint64(0xD2511F53), counter[2] * numpy.uint64(0xCD9E8D57)
        counter = [products[1] >> high ^ counter[1] ^ key[0], products[1] & low, products[0] >> high ^ counter[3] ^ key[1],
                   products[0] & low]
        key = [key[0] + numpy.uint64(0x9E3779B9) & low, key[1] + numpy.uint64(0xBB67AE85) & low]
    # Bit 3 of query and key choose a word, bit 0 a byte of it; the draw has the lower byte of the number in common.
    words = numpy.choose((i // 8 % 2 * 2 + j // 8 % 2).astype(int), counter)
    own, common = words >> 16 * (i % 2) + 8 * (j % 2), counter[0] ^ counter[1] ^ counter[2] ^ counter[3]
    numbers = (own & numpy.uint64(0xFF)) * 256 + (common & numpy.uint64(0xFF))
    return numpy.where(numbers / 2.0 ** 16 < p, 0, 1 / (1 - p))


def arguments(query, key, value, lse=True, starts=None, **options):
    """Those of the operator."""
    names = ("score", "mask", "causal", "window", "softcap", "alibi", "bias", "scale", "query_lengths", "key_lengths")
    decided, tensors, numbers = plan(TorchArrays, query, key, value, *[options.get(name) for name in names], "bshd", lse,
                                     starts)
    return query, key, value, tensors or None, numbers or None, find_text(decided)


class Attention(unittest.TestCase):
    def close(self, got, expected, bound):
        error = (got.detach().double() - expected.detach().double()).norm() / max(float(expected.detach().double().norm()), 1e-30)
        self.assertLess(float(error), bound)

    def check(self, inputs, options, more=(), bound=2e-6):
        """Results and gradients, that of lse too."""
        got = fa_mlir.attention(*inputs, return_lse=True, **options)
        expected = expect(*inputs, **options)
        gradients = [torch.randn_like(tensor) for tensor in got]
        wanted = [*inputs, *more]
        found = torch.autograd.grad(got, wanted, gradients)
        right = torch.autograd.grad(expected, wanted, [gradient.double() for gradient in gradients])
        for tensors, others, factor in (got, expected, 1), (found, right, 2):
            for tensor, other in zip(tensors, others):
                self.assertEqual(tensor.shape, other.shape)
                # A gradient is products of two roundings more.
                self.close(tensor, other, factor * bound)
        with torch.no_grad():
            self.assertTrue(torch.equal(fa_mlir.attention(*inputs, **options), got[0]))

    def test_gradients(self):
        inputs = make_inputs()
        slopes, sink = torch.rand(4, requires_grad=True), torch.randn(4, requires_grad=True)
        bias, row = torch.randn(7, 19, requires_grad=True), torch.randn(2, 1, 1, 19, requires_grad=True)
        self.check(inputs, {})
        self.check(inputs, {"causal": "bottom_right", "alibi": slopes, "softcap": 1.5}, [slopes])
        self.check(inputs, {"bias": bias}, [bias])
        self.check(inputs, {"bias": row}, [row])
        self.check(inputs, {"sink": sink, "causal": "bottom_right"}, [sink])
        self.check(make_inputs(dtype=torch.bfloat16), {"causal": "bottom_right"}, bound=6e-3)

    def test_gradients_of_some(self):
        query, key, value = make_inputs()
        for wanted in [query], [key], [value], [query, value]:
            output = fa_mlir.attention(*[tensor if any(tensor is one for one in wanted) else tensor.detach()
                                         for tensor in (query, key, value)])
            for got, right in zip(torch.autograd.grad(output.sum(), wanted),
                                  torch.autograd.grad(expect(query, key, value)[0].sum(), wanted)):
                self.close(got, right, 2e-6)
        # Of lse alone, and of a strided gradient.
        lse = fa_mlir.attention(query, key, value, return_lse=True)[1]
        got, = torch.autograd.grad(lse.sum(), [key])
        self.close(got, torch.autograd.grad(expect(query, key, value)[1].sum(), [key])[0], 2e-6)
        output = fa_mlir.attention(query, key, value)
        expected = expect(query, key, value)[0]
        weights = torch.randn(16, 7, 4, 2).permute(3, 1, 2, 0)
        self.close(torch.autograd.grad(output, [key], weights)[0],
                   torch.autograd.grad(expected, [key], weights.double())[0], 2e-6)

    def test_padded_heads(self):
        """What a GPU's gradients need is the same attention."""
        query, key = make_inputs(head_dim=13)[:2]
        value = torch.randn(2, 19, 2, 5, requires_grad=True)
        *padded, scale = pad_heads(query, key, value, None)
        self.assertEqual([tensor.shape[-1] for tensor in padded], [16, 16, 8])
        got = fa_mlir.attention(*padded, scale=scale, causal="bottom_right")
        self.assertFalse(got[..., 5:].any())
        expected = expect(query, key, value, causal=True)[0]
        self.close(got[..., :5], expected, 2e-6)
        weights = torch.randn_like(expected)
        for one, other in zip(torch.autograd.grad(got[..., :5], [query, key, value], weights.float()),
                              torch.autograd.grad(expected, [query, key, value], weights)):
            self.assertEqual(one.shape, other.shape)
            self.close(one, other, 4e-6)

    def test_gradcheck(self):
        inputs = make_inputs(1, 3, 4, 2, 1, 8)
        self.assertTrue(torch.autograd.gradcheck(
            lambda *operands: fa_mlir.attention(*operands, causal="bottom_right", return_lse=True), inputs, eps=1e-2,
            atol=5e-3, rtol=5e-2))

    def test_opcheck(self):
        operator = torch.ops.fa_mlir.attention.default
        bias = torch.randn(2, 1, 7, 19, requires_grad=True)
        lengths = torch.tensor([19, 4], dtype=torch.int32)
        for options in ({}, {"causal": "bottom_right", "softcap": 2.0}, {"bias": bias}, {"key_lengths": lengths}):
            for inputs in make_inputs(), make_inputs(gradient=False), make_inputs(dtype=torch.float16):
                if options.get("bias") is not None:
                    bias.requires_grad_(inputs[0].requires_grad)
                torch.library.opcheck(operator, arguments(*inputs, **options))
        inputs = make_inputs(gradient=False)
        *given, text = arguments(*inputs)
        torch.library.opcheck(torch.ops.fa_mlir.attention_into.default, (*given, text, torch.empty_like(inputs[0])))
        output, lse = operator(*given, text)
        torch.library.opcheck(torch.ops.fa_mlir.attention_backward.default, (
            *inputs, output, lse, torch.randn_like(output), torch.randn_like(lse), None, None, text, "query,value"))

    def test_compile(self):
        """Lengths change: torch traces once, and one kernel of each kind is made."""
        traced = []

        def backend(graph, inputs):
            traced.append(graph)
            return graph

        def step(query, key, value, bias):
            return fa_mlir.attention(query * 1, key, value, causal="bottom_right", window=(9, 0), bias=bias)

        compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=backend)
        full = torch.compile(step, fullgraph=True, dynamic=True, backend="aot_eager")
        compilations = []
        for queries, keys in (7, 19), (12, 33), (5, 90), (31, 31):
            inputs = make_inputs(queries=queries, keys=keys)
            bias = torch.randn(queries, keys, requires_grad=True)
            wanted = [*inputs, bias]
            expected = step(*wanted)
            right = torch.autograd.grad(expected.square().sum(), wanted)
            for function in compiled, full:
                got = function(*wanted)
                self.assertTrue(torch.equal(got, expected))
                for found, other in zip(torch.autograd.grad(got.square().sum(), wanted), right):
                    self.close(found, other, 1e-6)
            compilations.append(count_compiled())
        self.assertEqual(len(traced), 1)
        self.assertEqual(len(set(compilations)), 1)
        self.assertIn("fa_mlir.attention", str(traced[0].code))

    def test_export(self):
        class Model(torch.nn.Module):
            def forward(self, query, key, value):
                return fa_mlir.attention(query, key, value, causal="top_left")

        inputs = make_inputs(gradient=False)
        length = torch.export.Dim("length")
        program = torch.export.export(Model(), tuple(inputs), dynamic_shapes=({1: length}, None, None))
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file).module()
        other = make_inputs(queries=11, gradient=False)
        self.assertTrue(torch.equal(loaded(other[0], *inputs[1:]), Model()(other[0], *inputs[1:])))

    def test_inductor(self):
        """Compiled code, and a package of it without Python's code."""
        class Model(torch.nn.Module):
            def forward(self, query, key, value, slopes):
                return fa_mlir.attention(query, key, value, causal="bottom_right", softcap=3.0, alibi=slopes) + 1

        inputs = [*make_inputs(gradient=False), torch.rand(4)]
        expected = Model()(*inputs)
        self.close(torch.compile(Model(), fullgraph=True)(*inputs), expected, 1e-6)
        with torch.no_grad():
            program = torch.export.export(Model(), tuple(inputs))
            loaded = torch._inductor.aoti_load_package(torch._inductor.aoti_compile_and_package(program))
            self.close(loaded(*inputs), expected, 1e-6)

    def test_autocast(self):
        inputs = make_inputs()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            output = fa_mlir.attention(*inputs)
            direct, _ = torch.ops.fa_mlir.attention(*arguments(*inputs))
        self.assertEqual((output.dtype, direct.dtype), (torch.bfloat16, torch.bfloat16))
        self.assertTrue(torch.equal(output, direct))
        for tensor in output, direct:
            gradient, = torch.autograd.grad(tensor.float().sum(), inputs[0], retain_graph=True)
            self.assertEqual(gradient.dtype, torch.float32)

    def test_checkpointing(self):
        inputs = make_inputs()
        output = torch.utils.checkpoint.checkpoint(
            lambda *operands: fa_mlir.attention(*operands, causal="bottom_right"), *inputs, use_reentrant=False)
        direct = fa_mlir.attention(*inputs, causal="bottom_right")
        weights = torch.randn_like(output)
        for got, right in zip(torch.autograd.grad(output, inputs, weights), torch.autograd.grad(direct, inputs, weights)):
            self.assertTrue(torch.equal(got, right))

    def test_packed(self):
        """Sequences one behind the other are each its own, in both directions; so are pages."""
        lengths = [(5, 9), (0, 4), (17, 17), (3, 0), (30, 41)]
        starts, key_starts = (torch.tensor([0, *(pair[i] for pair in lengths)]).cumsum(0).int() for i in range(2))
        # Two rows of no sequence.
        query = torch.randn(int(starts[-1]) + 2, 4, 16, requires_grad=True)
        key, value = (torch.randn(int(key_starts[-1]) + 2, 2, 16, requires_grad=True) for _ in range(2))
        sink = torch.randn(4, requires_grad=True)
        slopes = torch.rand(4, requires_grad=True)
        for options in {}, {"causal": "bottom_right", "sink": sink}, {"alibi": slopes, "window": (6, 2)}, {
                "score": lambda s, b, h, i, j: s + slopes[h] * (i - j) + b, "mask": lambda b, h, i, j: (i + j + b) % 3 > 0}:
            wanted = [query, key, value]
            wanted += [sink] if "sink" in options else [slopes] if options and "causal" not in options else []
            got = fa_mlir.attention(query, key, value, query_starts=starts, key_starts=key_starts, return_lse=True,
                                    **options)
            self.assertEqual((got[0].shape, got[1].shape), (query.shape, (4, query.shape[0])))
            self.assertFalse(got[0][-2:].any())
            rows, sums = [], []
            for b, (queries, keys) in enumerate(lengths):
                q = query[starts[b]:starts[b + 1]][None]
                k, v = (tensor[key_starts[b]:key_starts[b + 1]][None] for tensor in (key, value))
                own = dict(options)
                if "score" in own:
                    own["score"] = lambda s, _, h, i, j: s + slopes[h] * (i - j) + b
                    own["mask"] = lambda _, h, i, j: (i + j + b) % 3 > 0
                output, lse = fa_mlir.attention(q, k, v, return_lse=True, **own)
                rows.append(output[0])
                sums.append(lse[0])
            expected = torch.cat([*rows, torch.zeros(2, 4, 16)]), torch.cat([*sums, torch.zeros(4, 2)], 1)
            self.assertTrue(torch.equal(got[1].isinf(), expected[1].isinf()))
            weights = torch.randn_like(got[0]), torch.randn_like(got[1])
            # Of -inf there is no gradient.
            total = lambda pair: (pair[0] * weights[0]).sum() + (pair[1].masked_fill(pair[1].isinf(), 0) * weights[1]).sum()
            self.close(got[0], expected[0], 2e-6)
            for one, other in zip(torch.autograd.grad(total(got), wanted), torch.autograd.grad(total(expected), wanted)):
                self.close(one, other, 4e-6)
        torch.library.opcheck(torch.ops.fa_mlir.attention.default, arguments(
            query.detach(), key.detach(), value.detach(), starts=(starts, key_starts, None)))

    def test_pages(self):
        lengths = torch.tensor([5, 33, 16], dtype=torch.int32)
        pages = torch.randperm(20)[:12].reshape(3, 4).int()
        key, value = (torch.randn(20, 16, 2, 16) for _ in range(2))
        for queries in 1, 3:
            query = torch.randn(3, queries, 4, 16)
            got = fa_mlir.attention(query, key, value, key_pages=pages, key_lengths=lengths, causal="bottom_right")
            k, v = (tensor[pages.long()].flatten(1, 2) for tensor in (key, value))
            self.close(got, fa_mlir.attention(query, k, v, key_lengths=lengths, causal="bottom_right"), 1e-6)
            # A query of each sequence in packed rows.
            starts = torch.arange(0, 3 * queries + 1, queries, dtype=torch.int32)
            packed = fa_mlir.attention(query.flatten(0, 1), key, value, key_pages=pages, key_lengths=lengths,
                                       query_starts=starts, causal="bottom_right")
            self.close(packed, got.flatten(0, 1), 1e-6)
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'key_pages'.*no_grad"):
            fa_mlir.attention(query.requires_grad_(), key, value, key_pages=pages, key_lengths=lengths)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "without key_lengths"):
            fa_mlir.attention(query, key, value, key_pages=pages)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'key_pages' has dtype torch.int64, expected int32"):
            fa_mlir.attention(query, key, value, key_pages=pages.long(), key_lengths=lengths)

    def test_dropout(self):
        """The factors are those of the specification; gradients see the same ones."""
        query, key, value = inputs = make_inputs(2, 40, 50)
        state = torch.tensor([SEED + (3 << 40), 77])
        output = fa_mlir.attention(*inputs, causal="bottom_right", dropout_p=0.3, dropout_state=state)
        factors = torch.from_numpy(draw_factors(0.3, *state.tolist(), 2, 4, 40, 50))
        wide = [tensor.double().transpose(1, 2) for tensor in inputs]
        k, v = (tensor.repeat_interleave(2, 1) for tensor in wide[1:])
        i, j = torch.arange(40)[:, None], torch.arange(50)
        weights = (wide[0] @ k.mT / 4).masked_fill(j > i + 10, -torch.inf).softmax(-1) * factors
        expected = (weights @ v).transpose(1, 2)
        self.close(output, expected, 2e-6)
        gradient = torch.randn_like(output)
        for one, other in zip(torch.autograd.grad(output, inputs, gradient),
                              torch.autograd.grad(expected, inputs, gradient.double())):
            self.close(one, other, 4e-6)
        for wrong in 1.0, -0.1:
            with self.assertRaisesRegex(fa_mlir.ArgumentError, "'dropout_p' is .*from 0 to below 1"):
                fa_mlir.attention(*inputs, dropout_p=wrong)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'dropout_state'"):
            fa_mlir.attention(*inputs, dropout_p=0.5, dropout_state=state.int())

    def test_dropout_of_the_generator(self):
        """torch's seed decides, and a checkpoint draws again what it drew."""
        inputs = make_inputs(2, 40, 50)
        step = lambda *operands: fa_mlir.attention(*operands, dropout_p=0.4)
        results = []
        for _ in range(2):
            torch.manual_seed(5)
            results.append(step(*inputs))
        self.assertTrue(torch.equal(*results))
        self.assertFalse(torch.equal(step(*inputs), results[0]))
        for function in step, torch.compile(step, fullgraph=True, backend="aot_eager"):
            for reentrant in True, False:
                torch.manual_seed(5)
                output = torch.utils.checkpoint.checkpoint(function, *inputs, use_reentrant=reentrant)
                self.assertTrue(torch.equal(output, results[0]))
                for one, other in zip(torch.autograd.grad(output.sum(), inputs) if not reentrant else self.run_backward(
                        output, inputs), torch.autograd.grad(results[0].sum(), inputs, retain_graph=True)):
                    self.close(one, other, 1e-6)
        share = float((fa_mlir.attention(torch.zeros(1, 500, 1, 8), torch.zeros(1, 500, 1, 8), torch.ones(1, 500, 1, 8),
                                         dropout_p=0.25)).mean())
        self.assertLess(abs(share - 1), 0.02)

    @staticmethod
    def run_backward(output, inputs):
        for tensor in inputs:
            tensor.grad = None
        output.sum().backward()
        return [tensor.grad for tensor in inputs]

    def test_flops(self):
        query, key, value = make_inputs(2, 5, 9, 4, 2, 16)
        for causal, pairs in (None, 45), ("bottom_right", sum(range(5, 10))), ("top_left", 15):
            with FlopCounterMode(display=False) as counter:
                output = fa_mlir.attention(query, key, value, causal=causal)
            self.assertEqual(counter.get_total_flops(), 2 * 2 * 4 * pairs * 32)
            with FlopCounterMode(display=False) as counter:
                output.sum().backward()
            self.assertEqual(counter.get_total_flops(), 5 * 2 * 4 * pairs * 32)

    def test_shapes(self):
        for sizes in (0, 7, 19), (2, 0, 19), (2, 7, 0):
            inputs = make_inputs(*sizes)
            output, lse = fa_mlir.attention(*inputs, return_lse=True)
            self.assertEqual(output.shape, inputs[0].shape)
            self.assertFalse(output.any())
            for tensor, gradient in zip(inputs, torch.autograd.grad(output.sum(), inputs)):
                self.assertEqual(tensor.shape, gradient.shape)
                self.assertFalse(gradient.any())
        inputs = make_inputs(1)
        output = fa_mlir.attention(*[tensor[0] for tensor in inputs])
        self.assertTrue(torch.equal(output, fa_mlir.attention(*inputs)[0]))

    def test_deterministic(self):
        """The same bits from run to run, of what is summed by indices too."""
        inputs, table = make_inputs(2, 200, 300), torch.randn(4, 32, requires_grad=True)
        weights = torch.randn(2, 200, 4, 16)
        torch.use_deterministic_algorithms(True)
        self.addCleanup(torch.use_deterministic_algorithms, False)
        runs = []
        for _ in range(5):
            output = fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + table[h, (i - j) % 32],
                                       causal="bottom_right")
            runs.append([output, *torch.autograd.grad(output, [*inputs, table], weights)])
        for run in runs[1:]:
            self.assertTrue(all(torch.equal(one, other) for one, other in zip(run, runs[0])))

    def test_deterministic_on_gpus(self):
        """The compiler says which gradients of captures it sums in one order; no GPU is needed to ask."""
        inputs = make_inputs(head_dim=64, dtype=torch.bfloat16)
        slopes, table = torch.randn(4, requires_grad=True), torch.randn(4, 32, requires_grad=True)
        types, wanted, texts = Types("bf16", 64, 64), ("query", "score_0"), []
        for score in (lambda s, b, h, i, j: s * slopes[h], lambda s, b, h, i, j: s + table[h, (i - j) % 32]):
            decided, _, _ = plan(TorchArrays, *inputs, score, None, "bottom_right", None, None, None, None, None, None,
                                 None, "bshd", True)
            texts.append(find_text(decided))
        of_a_head, of_distances = texts
        self.addCleanup(torch.use_deterministic_algorithms, False)
        for warn_only in False, True:
            torch.use_deterministic_algorithms(True, warn_only=warn_only)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                ordered = gradients._order_sums(of_a_head, types, False, wanted, "sm_90a")
                self.assertEqual(gradients._order_sums(of_distances, types, False, wanted, None),
                                 make_deterministic(of_distances))
            self.assertTrue(from_text(ordered).deterministic)
            self.assertIn("kernel", entries.compile_gradient(from_text(ordered), types, False, wanted, "sm_90a").manifest)
        with self.assertWarnsRegex(UserWarning, "gradients of query, score_0 are summed in any order: sm_90a has no form"):
            self.assertEqual(gradients._order_sums(of_distances, types, False, wanted, "sm_90a"), of_distances)
        torch.use_deterministic_algorithms(True)
        ordered = gradients._order_sums(of_distances, types, False, wanted, "sm_90a")
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "in one order .*add to in any order on sm_90a"):
            entries.compile_gradient(from_text(ordered), types, False, wanted, "sm_90a")
        # What the call itself asks for is no choice of warn_only's.
        torch.use_deterministic_algorithms(True, warn_only=True)
        self.assertEqual(gradients._order_sums(ordered, types, False, wanted, "sm_90a"), ordered)

    def test_fork(self):
        """A child of a process that has run attention runs it, and compiles more."""
        script = """import os, sys, faulthandler, torch, fa_mlir
inputs = [torch.randn(2, 300, 4, 32) for _ in range(3)]
options = dict(causal="bottom_right"), dict(causal="top_left", softcap=2.5)
first = fa_mlir.attention(*inputs, **options[0]).numpy()
child = os.fork()
if not child:
    faulthandler.dump_traceback_later(100, exit=True)
    again, other = (fa_mlir.attention(*inputs, **each).numpy() for each in options)
    # torch's own threads do not outlive a fork.
    os._exit(0 if (again == first).all() and other.shape == first.shape and not (other == first).all() else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"""
        subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ, OMP_NUM_THREADS="2"))

    def test_fork_before_compiler(self):
        """A child that opens the compiler's library itself has not the threads of its parent's torch."""
        script = """import os, sys, faulthandler, torch, fa_mlir
from fa_mlir import compiler, operator
inputs = [torch.randn(2, 300, 4, 32) for _ in range(3)]
expected = torch.nn.functional.scaled_dot_product_attention(*(each.transpose(1, 2) for each in inputs)).transpose(1, 2)
operator.ready()
if compiler.Library._shared or compiler._thread_runner is None:
    sys.exit("expected torch's threads, and no library of the compiler")
child = os.fork()
if not child:
    faulthandler.dump_traceback_later(100, exit=True)
    # torch's own threads do not outlive a fork.
    os._exit(0 if abs(fa_mlir.attention(*inputs).numpy() - expected.numpy()).max() < 1e-4 else 3)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"""
        subprocess.run([sys.executable, "-c", script], check=True, env=dict(os.environ, OMP_NUM_THREADS="2"))

    def test_packaged_kernels(self):
        """Those of a wheel are for the texts that plain calls ask for."""
        path = os.path.join(os.path.dirname(__file__), "../../scripts/make_kernels.py")
        spec = importlib.util.spec_from_file_location("make_kernels", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sources = {request.source.decode() for request in module.make_requests(["sm_90a"])}
        for layout in "bshd", "bhsd":
            for causal in None, "bottom_right", "top_left":
                for lse in False, True:
                    inputs = make_inputs(head_dim=64, gradient=False)
                    decided, _, _ = plan(TorchArrays, *inputs, None, None, causal, None, None, None, None, None, None, None,
                                         layout, lse)
                    self.assertIn(write_forward(from_text(find_text(decided)), Types("bf16", 64, 64)), sources)

    def test_plain_calls(self):
        """The short way does what the operator does, and leaves to it what is not plain."""
        from fa_mlir.attention import _plain_calls

        def check(layout, causal, query, key, value):
            text = [find_text((layout, causal, False, None, None, None, False, None, "", "", (), lse))
                    for lse in (False, True)]
            both, lse = torch.ops.fa_mlir.attention(query, key, value, None, None, text[1])
            output = _plain_calls[layout, causal, False](query, key, value)
            pair = _plain_calls[layout, causal, True](query, key, value)
            for got, right in (output, both), (pair[0], both), (pair[1], lse):
                self.assertTrue(torch.equal(got, right))
                self.assertEqual((got.stride(), got.dtype), (right.stride(), right.dtype))
            # Into rows that lie further apart.
            for with_lse in False, True:
                out = torch.full((*output.shape[:2], output.shape[2] + 1, output.shape[3]), torch.nan)[:, :, :-1]
                found = _plain_calls[layout, causal, with_lse](query, key, value, out)
                self.assertIs(found[0] if with_lse else found, out)
                self.assertTrue(torch.equal(out, both))
                if with_lse:
                    self.assertTrue(torch.equal(found[1], lse))

        fa_mlir.attention(*make_inputs(gradient=False))
        for layout, causal in ("bshd", None), ("bshd", "top_left"), ("bhsd", "bottom_right"):
            for sizes in (2, 7, 19), (1, 5, 5), (2, 8, 9), (0, 7, 19):
                inputs = make_inputs(*sizes, gradient=False)
                # A value of another head dim, rows that are not dense, and a Parameter.
                wide = torch.randn(*inputs[2].shape[:3], 32)
                part = torch.cat(inputs, 2)[:, :, :4] if sizes[1] == sizes[2] else inputs[0]
                for operands in inputs, [*inputs[:2], wide], [part, *inputs[1:]]:
                    if layout == "bhsd":
                        operands = [tensor.transpose(1, 2) for tensor in operands]
                    check(layout, causal, *operands)
            check(layout, causal, *[torch.nn.Parameter(tensor.transpose(1, 2) if layout == "bhsd" else tensor, False)
                                    for tensor in make_inputs(gradient=False)])
        call = _plain_calls["bshd", None, False]
        query, key, value = make_inputs(gradient=False)
        for operands in ([query[:, :1], key, value], [query[0], key[0], value[0]], [query, key, value.half()],
                         [query.double(), key.double(), value.double()], [query, key[..., :8], value],
                         [query, key, value[:1]], [query, key, value.numpy()], [query, key], [],
                         [query, key, value, torch.empty(2, 7, 4, 15)], [query, key, value, torch.empty(2, 8, 4, 16)],
                         [query, key, value, query.half()], [query, key, value, torch._neg_view(query.clone())],
                         [query, key, value, torch.empty_like(query, device="meta")],
                         [query.clone().requires_grad_(), key, value, torch.empty_like(query)]):
            self.assertIsNone(call(*operands))
        with torch.autocast("cpu", dtype=torch.bfloat16):
            self.assertIsNone(call(query, key, value))
        with FlopCounterMode(display=False) as counter:
            fa_mlir.attention(query, key, value)
        self.assertGreater(counter.get_total_flops(), 0)
        taken = []
        torch.func.vjp(lambda query: taken.append(call(query, key, value)) or query, query)
        self.assertEqual(taken, [None])
        # Many shapes in turn, and what compiled code was forgotten for.
        for _ in range(2):
            for queries in range(2, 14):
                check("bshd", "bottom_right", *make_inputs(queries=queries, gradient=False))
            operator.clear()

    def test_plain_gradients(self):
        inputs = make_inputs(dtype=torch.bfloat16)
        weights = torch.randn_like(inputs[0])
        for wanted in [inputs[0]], [inputs[2]], inputs:
            operands = [tensor if any(tensor is one for one in wanted) else tensor.detach() for tensor in inputs]
            output = fa_mlir.attention(*operands, causal="bottom_right")
            self.assertEqual(len(output.grad_fn.next_functions), 3)
            pair = fa_mlir.attention(*operands, causal="bottom_right", return_lse=True)
            self.assertTrue(torch.equal(pair[0], output))
            found = torch.autograd.grad(output, wanted, weights)
            for got, right, again in zip(found, torch.autograd.grad(
                    expect(*operands, causal="bottom_right")[0], wanted, weights.double()),
                    torch.autograd.grad(pair[0], wanted, weights)):
                self.close(got, right, 1.2e-2)
                self.assertTrue(torch.equal(got, again))

    def test_out(self):
        inputs = make_inputs(gradient=False)
        out = torch.full((2, 7, 5, 16), torch.nan)[:, :, :4]
        self.assertIs(fa_mlir.attention(*inputs, out=out), out)
        self.assertTrue(torch.equal(out, fa_mlir.attention(*inputs)))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out'.*gradient"):
            fa_mlir.attention(*make_inputs(), out=torch.empty(2, 7, 4, 16))

    def test_out_is_written_for_autograd(self):
        """What saved an output for its backward learns that it was written, by both ways of a call."""
        inputs = make_inputs(gradient=False)
        for more in ({}, {"scale": 0.5}):
            out, weight = torch.ones(2, 7, 4, 16), torch.ones(2, 7, 4, 16, requires_grad=True)
            product = (out * weight).sum()
            fa_mlir.attention(*inputs, out=out, **more)
            self.assertEqual(out._version, 1)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                product.backward()
            for wrong in (torch.ones(2, 7, 4, 16, requires_grad=True), weight * 2):
                with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out' requires a gradient"):
                    fa_mlir.attention(*inputs, out=wrong, **more)
                with torch.no_grad():
                    self.assertIs(fa_mlir.attention(*inputs, out=wrong, **more), wrong)

    def test_nvjitlink(self):
        """torch brings an assembler that works without ptxas and without a GPU."""
        library = assembler.find_nvjitlink()
        if library is None:
            self.skipTest("this torch brings no nvJitLink")
        ptx = fa_mlir.compile(write_forward(Specification(mask="causal"), Types("bf16", 64, 64)), target="cuda",
                              chip="sm_90a", images="ptx")
        self.assertEqual((ptx.cubin, ptx.chip), (b"", "sm_90a"))
        self.assertTrue(library.assemble(ptx.ptx.encode(), "sm_90a").startswith(b"\x7fELF"))
        # The warp-specialised form is left to the driver: this library ignores setmaxnreg.
        for chip, start in ("sm_80", b"\x7fELF"), ("sm_90a", b""):
            with mock.patch.dict(os.environ, FA_PTXAS="none"):
                made = fa_mlir.compile(write_forward(Specification(mask="causal"), Types("bf16", 64, 64)),
                                       target="cuda", chip=chip)
            self.assertEqual(made.cubin[:4], start)
            self.assertEqual("setmaxnreg" in made.ptx, chip == "sm_90a")
        with self.assertRaisesRegex(fa_mlir.CompilationError, "nvJitLink .* refused the kernel"):
            library.assemble(b"no text", "sm_90a")

    @unittest.skipIf(os.environ.get("FA_NOT_TIMED"), "not timed")
    def test_import(self):
        """Beside torch it takes at most 0.15 s, with no bytecode kept, and loads no library of the compiler."""
        script = ("import sys, time, torch; start = time.perf_counter(); import fa_mlir;"
                  "print(time.perf_counter() - start, sum('libFA.so' in line for line in open('/proc/self/maps')))")
        found = [subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True,
                                check=True).stdout.split() for _ in range(3)]
        print("seconds of importing:", min(float(seconds) for seconds, _ in found))
        self.assertLess(min(float(seconds) for seconds, _ in found), 0.15)
        self.assertEqual({mapped for _, mapped in found}, {"0"})
        self.assertLessEqual(set(fa_mlir.__all__), set(dir(fa_mlir)))
        for name in fa_mlir.__all__:
            getattr(fa_mlir, name)
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            fa_mlir.nothing

    def test_threads(self):
        inputs = make_inputs(head_dim=24, gradient=False)
        before = count_compiled()
        outputs = []
        threads = [threading.Thread(target=lambda: outputs.append(fa_mlir.attention(*inputs))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(outputs), 8)
        self.assertTrue(all(torch.equal(output, outputs[0]) for output in outputs))
        self.assertEqual(count_compiled(), before + 1)

    def test_errors(self):
        query, key, value = make_inputs(gradient=False)
        with self.assertRaises(fa_mlir.UnsupportedError) as raised:
            fa_mlir.attention(query.double(), key.double(), value.double())
        self.assertIn("float64", str(raised.exception))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'value' has dtype torch.float16, expected that of the query"):
            fa_mlir.attention(query, key, value.half())
        # Of a GPU, which there need not be.
        for dims, expected in ((64, 512), "'value' is of head dim 512 on sm_90a.* at most 256"), ((320, 64), "'query' is of head dim 320"):
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, expected):
                entries.compile_forward(Specification(), Types("bf16", *dims), "sm_90a")
        with self.assertRaisesRegex(RuntimeError, "expected 4"):
            torch.ops.fa_mlir.attention(query[0], key, value, *arguments(query, key, value)[3:])
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "head dim"):
            fa_mlir.attention(query, key.mT, value)
        # An error leaves nothing behind.
        fa_mlir.attention(query, key, value)


if __name__ == "__main__":
    unittest.main()
