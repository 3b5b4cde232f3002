# REQUIRES: jaxlib
# RUN: env FA_MLIR_CACHE_DIR=none %python %s
"""jit() of functions of JAX, and of torch where torch-mlir is installed, beside their own numbers."""

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

    def test_refusals(self):
        with self.assertRaisesRegex(TypeError, "jit got a int, expected a function or a torch module"):
            fa_mlir.jit(3)
        with self.assertRaisesRegex(TypeError, "an argument is of type float, expected arrays"):
            fa_mlir.jit(attend)(1.0)


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

    def test_refusals(self):
        import torch
        with self.assertRaisesRegex(TypeError, "got argument 'x' by name, expected tensors in order"):
            fa_mlir.jit(lambda y, x: y)(torch.zeros(2), x=torch.zeros(2))


if __name__ == "__main__":
    unittest.main()
