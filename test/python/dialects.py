# REQUIRES: mlir-package
# RUN: env FA_MLIR_CACHE_DIR=none %python %s
"""Operations of the dialect in the MLIR of other packages, each of another LLVM: of all that are installed, in one process."""

import importlib
import importlib.util
import os
import unittest

import numpy

import fa_mlir
import fa_mlir.dialects

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED)
PACKAGES = [name for name, top in (("jaxlib.mlir", "jaxlib"), ("iree.compiler", "iree"), ("torch_mlir", "torch_mlir"))
            if importlib.util.find_spec(top) and importlib.util.find_spec(name)]
print("packages", *PACKAGES)
HEADS_FIRST = {name: "bhsd" for name in ("query", "key", "value", "output")}


class Dialects:
    """The tests of one package, `self.name`."""

    def setUp(self):
        self.ir = importlib.import_module(f"{self.name}.ir")
        self.func = importlib.import_module(f"{self.name}.dialects.func")
        self.fa = fa_mlir.dialects.bind(self.name)
        self.context = self.ir.Context()
        self.context.allow_unregistered_dialects = True

    def build(self, build, *types):
        """A module with a function of these types that `build` fills."""
        ir = self.ir
        with self.context, ir.Location.unknown():
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                self.func.FuncOp.from_py_func(*[ir.Type.parse(each) for each in types], name="attend")(build)
            return module

    def test_is_bound_once(self):
        self.assertIs(fa_mlir.dialects.bind(importlib.import_module(self.name)), self.fa)

    def test_numbers(self):
        query, key = "tensor<2x4x9x16xf32>", "tensor<2x2x13x16xf32>"

        def attend(q, k, v, init, lse, cap, bias):
            return self.fa.build_attention(q, k, v, init, lse=lse, score=f"softcap(%cap) bias(%bias : {bias.type})",
                                           mask="causal", captures={"cap": cap, "bias": bias}, dims=HEADS_FIRST)

        module = self.build(attend, query, key, key, query, "tensor<2x4x9xf32>", "f32", "tensor<1x4x9x13xf32>")
        self.assertIn('"fa.attention"', str(module))
        random = numpy.random.default_rng(SEED)
        q, k, v, bias = (random.standard_normal(shape, dtype=numpy.float32) for shape in
                         ((2, 4, 9, 16), (2, 2, 13, 16), (2, 2, 13, 16), (1, 4, 9, 13)))
        output, lse = fa_mlir.compile(module)(q, k, v, numpy.zeros_like(q), numpy.zeros((2, 4, 9), numpy.float32), 1.5,
                                              bias)
        k, v = (numpy.repeat(each.astype(float), 2, axis=1) for each in (k, v))
        scores = numpy.einsum("bhid,bhjd->bhij", q.astype(float), k) / 4
        scores = 1.5 * numpy.tanh(scores / 1.5) + bias
        scores[..., numpy.arange(13)[None] > numpy.arange(9)[:, None] + 4] = -numpy.inf
        weights = numpy.exp(scores)
        total = weights.sum(-1, keepdims=True)
        expected = weights / total @ v
        self.assertLess(numpy.linalg.norm(output - expected) / numpy.linalg.norm(expected), 2e-6)
        self.assertLess(numpy.abs(lse - numpy.log(total)[..., 0]).max(), 1e-5)

    def test_regions_and_scalars(self):
        kind = "tensor<1x8x1x4xf32>"

        def attend(q, k, v, init, scale, lengths):
            return self.fa.build_attention(
                q, k, v, init, scale=scale, key_lengths=lengths,
                mask="(%b, %h, %i, %j) { %x = arith.cmpi ne, %i, %j : index fa.yield %x : i1 }")

        module = self.build(attend, kind, kind, kind, kind, "f32", "tensor<1xi32>")
        with fa_mlir.Context() as context:
            again = fa_mlir.Module(context, module.operation.get_asm(print_generic_op_form=True))
            self.assertEqual(again.count("fa.attention"), 1)
            self.assertIn("scale(%arg4)", str(again))
            self.assertIn("arith.cmpi ne", str(again))

    def test_generated_classes(self):
        def attend(q, k, v, init):
            return self.fa.AttentionOp([q.type], q, k, v, [], [], [], [], [], init).outputs

        kind = "tensor<1x8x1x4xf32>"
        module = self.build(attend, kind, kind, kind, kind)
        self.assertIn("operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0>", str(module))

    def test_refusals(self):
        kind = "tensor<1x8x1x4xf32>"
        for error, message, named in (
                (fa_mlir.CompilationError, "expected .* one of causal", {"mask": "causel"}),
                (ValueError, "a capture is called 'key'", {"captures": {"key": 1}}),
                (ValueError, "dims are given for 'lse', expected one of query", {"dims": {"lse": "bhs"}})):
            with self.assertRaisesRegex(error, message):
                self.build(lambda q, named=named: self.fa.build_attention(q, q, q, q, **named), kind)


for name in PACKAGES:
    title = "".join(part.title() for part in name.replace("_", ".").split("."))
    globals()[title] = type(title, (Dialects, unittest.TestCase), {"name": name, "__module__": __name__})

if __name__ == "__main__":
    unittest.main()
