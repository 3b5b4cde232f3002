# REQUIRES: jaxlib
# RUN: env FA_MLIR_CACHE_DIR=none %python %s
"""jit() of functions of JAX, and of torch where torch-mlir is installed, beside their own numbers.

`Jit` runs functions of JAX: parameters, attention that is raised, threads, numbers, refusals. `JitTorch` does the same
with modules of torch, and with the names and buffers that only these have. Each test calls the function itself for what
to expect.
"""

import importlib.util
import os
import threading
import unittest

import jax
import jax.numpy as jnp
import numpy

import fa_mlir

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED)
RANDOM = numpy.random.default_rng(SEED)
HAS_TORCH = all(importlib.util.find_spec(name) for name in ("torch", "torch_mlir"))


def random(*shape):
    return RANDOM.standard_normal(shape, dtype=numpy.float32)


def attend(parameters, x, *, bias):
    """Attention between projections, in containers."""
    q, k, v = (jnp.einsum("btw,whd->bthd", x, parameters[name]) for name in "qkv")
    return {"output": jax.nn.dot_product_attention(q, k, v, bias=bias, is_causal=True), "twice": [x * 2]}


class Jit(unittest.TestCase):
    def check(self, ours, theirs):
        ours, theirs = numpy.asarray(ours, numpy.float64), numpy.asarray(theirs, numpy.float64)
        self.assertEqual(ours.shape, theirs.shape)
        self.assertLess(numpy.linalg.norm(ours - theirs) / numpy.linalg.norm(theirs), 2e-6)

    def make(self, length=20):
        return {name: random(24, 4, 16) / 5 for name in "qkv"}, random(2, length, 24), random(2, 4, length, length)

    def test_jax(self):
        jitted = fa_mlir.jit(attend)
        for length in (20, 20, 33):
            parameters, x, bias = self.make(length)
            expected = attend(parameters, x, bias=bias)
            ours = jitted(parameters, x, bias=bias)
            self.assertEqual(list(ours), ["output", "twice"])
            self.check(ours["output"], expected["output"])
            self.check(ours["twice"][0], expected["twice"][0])
            # Arrays of JAX, too.
            self.check(jitted(parameters, jnp.asarray(x), bias=jnp.asarray(bias))["output"], expected["output"])
        self.assertEqual(jitted.__name__, "attend")

    def test_attention_is_raised(self):
        function = fa_mlir.jit(attend).compile(*self.make()[:2], bias=self.make()[2])
        names = [remark.pass_name for remark in function.remarks]
        self.assertIn("fa-select-config", names)
        self.assertIn("fa-specialize-mask", names)

    def test_own_pipeline(self):
        parameters, x, bias = self.make()
        with self.assertRaisesRegex(fa_mlir.CompilationError, "fa-raise"):
            fa_mlir.jit(attend, pipeline="fa-import-stablehlo,fa-raise")(parameters, x, bias=bias)

    def test_threads(self):
        jitted, found = fa_mlir.jit(attend), []
        parameters, x, bias = self.make()

        def work():
            found.append(jitted(parameters, x, bias=bias)["output"])

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 4)
        for output in found:
            self.check(output, attend(parameters, x, bias=bias)["output"])

    def test_numbers(self):
        def function(x, scale, offset, *, keep):
            return jnp.where(keep, x * scale + offset, x), scale + 1

        jitted = fa_mlir.jit(function)
        for x in (random(3, 4), random(3, 4).astype(jnp.bfloat16)):
            for scale, offset in ((0.5, 2), (numpy.float32(3.0), numpy.asarray(1, numpy.int32)), (jnp.float32(2), -1)):
                ours, one = jitted(x, scale, offset, keep=True)
                theirs, other = function(x, jnp.asarray(scale), offset, keep=True)
                self.assertEqual((ours.dtype, one.dtype, one.shape), (theirs.dtype, other.dtype, ()))
                self.check(ours, theirs)
                self.check(one, other)
        # Other numbers are no reason to compile again.
        before = fa_mlir.stats()["compilations"]
        jitted(random(3, 4), 7.0, 1, keep=False)
        self.assertEqual(fa_mlir.stats()["compilations"], before)

    def test_arrays_of_numpy(self):
        """Of 64 bits, as JAX takes them; in other orders; read-only."""
        def function(x):
            return jax.nn.softmax(x @ x.T) @ x

        jitted, x = fa_mlir.jit(function), random(6, 5)
        expected = function(x)
        read_only = x.copy()
        read_only.flags.writeable = False
        wide = numpy.zeros((6, 10), numpy.float32)
        wide[:, ::2] = x
        for array in (x, x.astype(numpy.float64), numpy.asfortranarray(x), x[::-1].copy()[::-1], wide[:, ::2],
                      read_only):
            self.check(jitted(array), expected)

    def test_refusals(self):
        with self.assertRaisesRegex(TypeError, "jit got a int, expected a function or a torch module"):
            fa_mlir.jit(3)
        with self.assertRaisesRegex(TypeError, "an argument is of type str, expected arrays, numbers and containers"):
            fa_mlir.jit(attend)("x")
        with self.assertRaisesRegex(ValueError, r"an argument has the shape \(0, 3\), expected no dim of size 0"):
            fa_mlir.jit(lambda x: x)(random(0, 3))
        with self.assertRaisesRegex(fa_mlir.CompilationError, "has an argument or result 'arg0' of rank 7"):
            fa_mlir.jit(lambda x: x + 1)(random(1, 1, 1, 1, 1, 1, 1))


@unittest.skipUnless(HAS_TORCH, "torch and torch-mlir are not installed")
class JitTorch(unittest.TestCase):
    def check(self, ours, theirs):
        self.assertIs(type(ours), type(theirs))
        self.assertLess(((ours - theirs).norm() / theirs.norm()).item(), 2e-6)

    def test_module(self):
        import torch
        module = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True).eval()
        jitted = fa_mlir.jit(module)
        x = torch.from_numpy(random(2, 24, 32))
        with torch.no_grad():
            self.check(jitted(x), module(x))
            # Parameters are arguments: no new compilation.
            before = fa_mlir.stats()["compilations"]
            module.linear1.weight.mul_(1.5)
            self.check(jitted(x), module(x))
            self.assertEqual(fa_mlir.stats()["compilations"], before)

    def test_function(self):
        import torch
        attention = torch.nn.functional.scaled_dot_product_attention
        q, k, v = (torch.from_numpy(random(2, 4, 24, 16)) for _ in range(3))
        output, more = fa_mlir.jit(lambda q, k, v: (attention(q, k, v, is_causal=True), q + 1))(q, k, v)
        self.check(output, attention(q, k, v, is_causal=True))
        self.check(more, q + 1)

    def test_containers_and_names(self):
        import torch
        attention = torch.nn.functional.scaled_dot_product_attention

        def function(inputs, scale, *, mask=None, shift=1):
            output = attention(inputs["q"], *inputs["kv"], attn_mask=mask, scale=scale)
            return {"output": output, "more": [(output * output).sum() + shift]}

        jitted = fa_mlir.jit(function)
        q, k, v = (torch.from_numpy(random(2, 4, 24, 16)) for _ in range(3))
        mask = torch.from_numpy(random(24, 24)) > -0.5
        for named in ({}, {"mask": mask}, {"mask": mask, "shift": 3.5}):
            ours, theirs = (each({"q": q, "kv": (k, v)}, 0.3, **named) for each in (jitted, function))
            self.assertEqual(list(ours), ["output", "more"])
            self.check(ours["output"], theirs["output"])
            self.assertEqual(ours["more"][0].shape, ())
            self.check(ours["more"][0], theirs["more"][0])

    def test_buffers(self):
        """Of rank 0 and of integers; those that a module changes are changed."""
        import copy
        import torch
        module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8))
        x = torch.from_numpy(random(6, 8))
        with torch.no_grad():
            self.check(fa_mlir.jit(module.eval())(x), module(x))
            module.train()
            other = copy.deepcopy(module)
            jitted = fa_mlir.jit(other)
            for _ in range(2):
                self.check(jitted(x), module(x))
                for ours, theirs in zip(other.buffers(), module.buffers()):
                    self.assertTrue(torch.allclose(ours, theirs, rtol=1e-5, atol=1e-6))
            self.assertEqual(other[1].num_batches_tracked.item(), 2)

    def test_arguments(self):
        """Changed in place, closed over, transposed, needing gradients, given twice."""
        import torch
        weight, x = torch.from_numpy(random(8, 8)), torch.from_numpy(random(6, 8))
        linear = torch.nn.Linear(8, 8)
        y = x.clone()
        with torch.no_grad():
            self.check(fa_mlir.jit(lambda a: a.add_(1) * 2)(y), (x + 1) * 2)
            self.check(y, x + 1)
            self.check(fa_mlir.jit(lambda a: linear(a @ weight))(x), linear(x @ weight))
            multiply = fa_mlir.jit(lambda a, b: a.mT @ b)
            for a in (x, weight[:6].T.contiguous().T, weight[:, ::2], x.clone().requires_grad_()):
                self.check(multiply(a, a), a.mT @ a)

    def test_refusals(self):
        import torch
        with self.assertRaisesRegex(TypeError, "the function returns a int, expected tensors and containers of them"):
            fa_mlir.jit(lambda x: (x, 1))(torch.zeros(2))
        with self.assertRaisesRegex(ValueError, r"has the shape \(0, 2\), expected no dim of size 0"):
            fa_mlir.jit(lambda x: x)(torch.zeros(0, 2))


if __name__ == "__main__":
    unittest.main()
