# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""What calls on torch tensors do at their edges: values that change between calls, tensors
that overlap, rows past lengths, and errors."""

import math
import os
import sys
import threading
import types
import unittest

import torch
from torch.nn.functional import scaled_dot_product_attention as original

import fa_mlir
from fa_mlir import flash_attn
from fa_mlir.problem import Specification
from fa_mlir.sdpa import override_counts

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED)
torch.manual_seed(SEED)


def make_inputs(dtype=torch.float32):
    return [torch.randn(2, 8, 4, 16, dtype=dtype) for _ in range(3)]


def expect(query, key, value, mask=None, bias=None):
    """In float64, differentiable."""
    scores = torch.einsum("bihd,bjhd->bhij", query.double(), key.double()) / math.sqrt(query.shape[-1])
    if bias is not None:
        scores = scores + bias.double()
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), value.double())


def band(width):
    return (torch.arange(8)[:, None] - torch.arange(8)).abs() < width


class Edges(unittest.TestCase):
    def close(self, got, expected, bound=2e-6):
        error = (got.detach().double() - expected.detach().double()).norm() / expected.detach().double().norm()
        self.assertLess(float(error), bound)


class Functions(Edges):
    """What functions of Python read is read in each call."""

    def test_attributes(self):
        settings = types.ModuleType("settings_of_a_test")
        helpers = types.ModuleType("helpers_of_a_test")
        exec("WIDTH = 2\ndef is_near(i, j): return (i - j).abs() < WIDTH", helpers.__dict__)

        class Settings:
            WIDTH = 2

        table = {"width": 2}
        read = table.get
        inputs = make_inputs()
        for name, owner, mask in (
                ("module", settings, lambda b, h, i, j: (i - j).abs() < settings.WIDTH),
                ("class", Settings, lambda b, h, i, j: (i - j).abs() < Settings.WIDTH),
                ("function of a module", helpers, lambda b, h, i, j: helpers.is_near(i, j)),
                ("method of a dict", None, lambda b, h, i, j: (i - j).abs() < read("width"))):
            for width in 2, 4, 3:
                with self.subTest(name, width=width):
                    if owner is None:
                        table["width"] = width
                    else:
                        owner.WIDTH = width
                    self.close(fa_mlir.attention(*inputs, mask=mask), expect(*inputs, band(width)))

    def test_global_with_the_name_of_a_builtin(self):
        scope = {}
        exec("len = 2\ndef mask(b, h, i, j): return (i - j).abs() < len", scope)
        inputs = make_inputs()
        for width in 2, 4:
            scope["len"] = width
            self.close(fa_mlir.attention(*inputs, mask=scope["mask"]), expect(*inputs, band(width)))

    def test_functions_of_torch_are_traced_once(self):
        """Modules whose functions are pure do not make a function unknown."""
        from fa_mlir import tracing

        walk = tracing._Walk()
        walk.fingerprint(lambda s, b, h, i, j: torch.where(i > j, torch.nn.functional.silu(s) * math.pi, float(2)))
        self.assertTrue(walk.is_known)

    def test_wide_integers(self):
        """Those that a float does not hold keep their bits."""
        inputs = make_inputs()
        i, j = torch.arange(8)[:, None], torch.arange(8)

        def mask(b, h, i, j):
            return ((i * 8 + j + 1) ^ number) % 3 != 0

        for number in (5, 2**53 - 1, 2**53 + 1, 6364136223846793005, 6, -(2**53) - 1, 2**62 + 1, 2**63 - 1):
            with self.subTest(number=number):
                self.close(fa_mlir.attention(*inputs, mask=mask), expect(*inputs, mask(0, 0, i, j)))


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
