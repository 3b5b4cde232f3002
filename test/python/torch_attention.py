# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""fa_mlir.attention on torch tensors, and the operators, against torch in float64."""

import io
import os
import subprocess
import sys
import threading
import unittest
from unittest import mock

import torch
from torch.utils.flop_counter import FlopCounterMode

import fa_mlir
from fa_mlir import assembler
from fa_mlir.problem import Specification, Types, write_forward
from fa_mlir.attention import TorchArrays, find_text, plan

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


def arguments(query, key, value, lse=True, **options):
    """Those of the operator."""
    names = ("score", "mask", "causal", "window", "softcap", "alibi", "bias", "scale", "query_lengths", "key_lengths")
    decided, tensors, numbers = plan(TorchArrays, query, key, value, *[options.get(name) for name in names], "bshd", lse)
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

    def test_out(self):
        inputs = make_inputs(gradient=False)
        out = torch.full((2, 7, 5, 16), torch.nan)[:, :, :4]
        self.assertIs(fa_mlir.attention(*inputs, out=out), out)
        self.assertTrue(torch.equal(out, fa_mlir.attention(*inputs)))
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'out'.*gradient"):
            fa_mlir.attention(*make_inputs(), out=torch.empty(2, 7, 4, 16))

    def test_nvjitlink(self):
        """torch brings an assembler that works without ptxas and without a GPU."""
        library = assembler.find_nvjitlink()
        if library is None:
            self.skipTest("this torch brings no nvJitLink")
        ptx = fa_mlir.compile(write_forward(Specification(mask="causal"), Types("bf16", 64, 64)), target="cuda",
                              chip="sm_90a", images="ptx")
        self.assertEqual((ptx.cubin, ptx.chip), (b"", "sm_90a"))
        self.assertTrue(library.assemble(ptx.ptx.encode(), "sm_90a").startswith(b"\x7fELF"))
        with mock.patch.dict(os.environ, FA_PTXAS="none"):
            made = fa_mlir.compile(write_forward(Specification(mask="causal"), Types("bf16", 64, 64)), target="cuda",
                                   chip="sm_90a")
        self.assertTrue(made.cubin.startswith(b"\x7fELF"))
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
        self.assertIn("f64", str(raised.exception))
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "f32 with a value of f16"):
            fa_mlir.attention(query, key, value.half())
        with self.assertRaisesRegex(RuntimeError, "rank 3, expected 4"):
            torch.ops.fa_mlir.attention(query[0], key, value, *arguments(query, key, value)[3:])
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "head dim"):
            fa_mlir.attention(query, key.mT, value)
        # An error leaves nothing behind.
        fa_mlir.attention(query, key, value)


if __name__ == "__main__":
    unittest.main()
