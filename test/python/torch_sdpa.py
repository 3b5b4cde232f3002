# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""SDPA by fa_mlir: against torch's own samples of it in float64, in its place, and in torch's registry.

`SDPA` has the samples, masks and the override, `Registry` fa_mlir among torch's implementations of flash attention.
`find_scores` and `bound_cancellation` say how exact gradients can be.
"""

import itertools
import importlib.util
import unittest
import warnings
from unittest import mock

import torch
from torch.nn.functional import scaled_dot_product_attention as original

import fa_mlir
from fa_mlir import flash_impl
from fa_mlir.sdpa import override_counts
from torch_numbers import DEVICE, SEED, relative_error


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
            # With is_causal too, where torch 2.11 takes one of the two.
            visible = torch.ones(9, 9).tril().bool()
            both = visible & wide if mask.dtype == torch.bool else wide.masked_fill(~visible, -torch.inf)
            got = fa_mlir.sdpa(query, key, value, mask, is_causal=True)
            expected = original(query.double(), key.double(), value.double(), both)
            self.assertLess(relative_error(got[expected.isfinite()], expected[expected.isfinite()]), 2e-6)
        key, value = key[:, :2], value[:, :2]
        got = fa_mlir.sdpa(query, key, value, is_causal=True, enable_gqa=True)
        self.assertLess(relative_error(got, original(query.double(), key.double(), value.double(), is_causal=True,
                                                     enable_gqa=True)), 2e-6)
        # Without a name for it, heads do not group.
        with self.assertRaises(RuntimeError):
            fa_mlir.sdpa(query, key, value)

    def test_masks_of_the_least_number(self):
        """Models mask by it. Rows with nothing else are averages, of which a padded model has no gradient."""
        for dtype, bounds in (torch.bfloat16, (6e-3, 1.2e-2)), (torch.float32, (2e-6, 5e-6)):
            mask = torch.zeros(2, 1, 70, 70, dtype=dtype).masked_fill(torch.rand(2, 1, 70, 70) < 0.3, torch.finfo(dtype).min)
            mask[1, :, :20] = torch.finfo(dtype).min
            operands = [torch.randn(2, 4, 70, 64, dtype=dtype, requires_grad=True) for _ in range(3)]
            wide = [tensor.detach().double().requires_grad_() for tensor in operands]
            got, expected = fa_mlir.sdpa(*operands, mask), original(*wide, mask.double())
            self.assertLess(relative_error(got, expected), bounds[0])
            weights = torch.randn_like(got)
            weights[1, :, :20] = 0
            for one, other in zip(torch.autograd.grad(got, operands, weights),
                                  torch.autograd.grad(expected, wide, weights.double())):
                self.assertLess(relative_error(one, other), bounds[1])

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
        self.assertIn("float64", str(caught[0].message))
        self.assertEqual(sum(count for reason, count in override_counts().items() if "float64" in reason), 3)
        for choice in "torch", "warn", "error":
            with self.subTest(choice), fa_mlir.override_sdpa(choice), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                before = sum(count for reason, count in override_counts().items() if "'dropout_p' is 1.0" in reason)
                if choice == "error":
                    with self.assertRaisesRegex(fa_mlir.ArgumentError, "'dropout_p' is 1.0"):
                        function(dropout_p=1.0)
                    continue
                # Not a number of torch's own on a GPU.
                self.assertTrue(torch.allclose(function(dropout_p=1.0), original(*operands, dropout_p=1.0), equal_nan=True))
                after = sum(count for reason, count in override_counts().items() if "'dropout_p' is 1.0" in reason)
                self.assertEqual((after - before, len(caught)), (1, choice == "warn"))
                # What torch refuses too it says itself.
                with self.assertRaisesRegex(TypeError, "must be float"):
                    function(scale="1")
        with self.assertRaisesRegex(ValueError, "error, warn, torch"):
            fa_mlir.override_sdpa("ignore").__enter__()

    def test_override_falls_back_in_graphs(self):
        """What has no form is known when a graph is traced, with sizes that are symbols too."""
        function = lambda tensor: torch.nn.functional.scaled_dot_product_attention(tensor, tensor, tensor) * 2
        for operand, reason in ((torch.randn(1, 2, 8, 16).double(), "of type float64"), (torch.randn(1, 2, 8, 520), "of head dim 520")):
            for dynamic, choice in itertools.product((False, True), ("torch", "warn", "error")):
                torch.compiler.reset()
                compiled = torch.compile(function, fullgraph=True, backend="eager", dynamic=dynamic)
                before = sum(count for text, count in override_counts().items() if reason in text)
                with self.subTest(reason, dynamic=dynamic, choice=choice), fa_mlir.override_sdpa(choice), \
                        warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    if choice == "error":
                        # Dynamo of torch 2.11 says the class of an exception alone.
                        says_all = torch.torch_version.TorchVersion(torch.__version__) >= (2, 12)
                        with self.assertRaisesRegex(Exception, reason if says_all else "UnsupportedError"):
                            compiled(operand)
                        continue
                    for _ in range(3):
                        found = compiled(operand)
                    self.assertTrue(torch.equal(found, original(operand, operand, operand) * 2))
                    self.assertEqual(sum(count for text, count in override_counts().items() if reason in text), before + 3)
                    self.assertEqual(sum(reason in str(each.message) for each in caught), choice == "warn")

    def test_override_in_graphs(self):
        """torch.compile needs no break for it, and takes torch's own again where it is left."""
        graphs = []

        def backend(graph, inputs):
            graphs.append("fa_mlir" in str(graph.code))
            return graph

        operands = [torch.randn(1, 2, 8, 16) for _ in range(3)]
        function = torch.compile(lambda *operands: torch.nn.functional.scaled_dot_product_attention(
            *operands, is_causal=True) * 2, fullgraph=True, backend=backend)
        expected = original(*[tensor.double() for tensor in operands], is_causal=True) * 2
        before = override_counts().get("fa_mlir", 0)
        for _ in range(2):
            with fa_mlir.override_sdpa():
                self.assertLess(relative_error(function(*operands), expected), 2e-6)
            self.assertLess(relative_error(function(*operands), expected), 2e-6)
        self.assertEqual(graphs[:2], [True, False])
        self.assertEqual(override_counts()["fa_mlir"], before + 2)


@unittest.skipUnless(hasattr(torch.nn.attention, "activate_flash_attention_impl"), "a torch without a registry")
class Registry(unittest.TestCase):
    """fa_mlir among torch's implementations of flash attention. On CUDA torch's has neither float32 nor masks."""

    DTYPE, BOUNDS = (torch.float32, (2e-6, 4e-6)) if DEVICE == "cpu" else (torch.float16, (1e-3, 2e-3))

    def setUp(self):
        fa_mlir.register_flash_attention_impl()
        torch.nn.attention.activate_flash_attention_impl("fa_mlir")
        self.addCleanup(torch.nn.attention.restore_flash_attention_impl, False)

    def run_sdpa(self, *operands, **options):
        """SDPA by the backend that the registry implements, and how often fa_mlir was called."""
        with mock.patch.object(flash_impl, "_forward", wraps=flash_impl._forward) as called, \
                torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            return original(*operands, **options), called.call_count

    def test_sdpa(self):
        masks = [{"attn_mask": torch.rand(9, 9) < 0.7}, {"attn_mask": torch.randn(2, 1, 9, 9)}]
        for options in {}, {"is_causal": True}, {"scale": 0.7}, *(masks if DEVICE == "cpu" else ()):
            operands = [torch.randn(2, 4, 9, 16, dtype=self.DTYPE, requires_grad=True) for _ in range(3)]
            wide = [tensor.detach().double().requires_grad_() for tensor in operands]
            got, calls = self.run_sdpa(*operands, **options)
            self.assertEqual(calls, 1)
            self.assertIn("FlashAttention", got.grad_fn.name())
            mask = options.get("attn_mask")
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                expected = original(*wide, **dict(options, attn_mask=mask if mask is None or mask.dtype == torch.bool
                                                  else mask.double()))
            weights = torch.randn_like(got)
            self.assertLess(relative_error(got, expected), self.BOUNDS[0])
            for one, other in zip(torch.autograd.grad(got, operands, weights),
                                  torch.autograd.grad(expected, wide, weights.double())):
                self.assertLess(relative_error(one, other), self.BOUNDS[1])

    def test_restore(self):
        torch.nn.attention.restore_flash_attention_impl()
        operands = [torch.randn(1, 2, 8, 16, dtype=self.DTYPE) for _ in range(3)]
        self.assertEqual(self.run_sdpa(*operands)[1], 0)
        torch.nn.attention.activate_flash_attention_impl("fa_mlir")
        self.assertEqual(torch.nn.attention.current_flash_attention_impl(), "fa_mlir")
        self.assertEqual(self.run_sdpa(*operands)[1], 1)

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
        for window in (-1, -1), (-1, 0), (6, 0), (-7, 0):
            got, lse = varlen_attn(*operands, starts, starts, 21, 21, window_size=window, return_aux=AuxRequest(lse=True))
            leaves = [tensor.detach().requires_grad_() for tensor in operands]
            # To torch each negative size is unlimited.
            right, right_lse = fa_mlir.attention(*leaves, query_starts=starts, key_starts=starts, return_lse=True,
                                                 window=tuple(max(size, -1) for size in window))
            self.assertTrue(torch.equal(got, right))
            self.assertTrue(torch.equal(lse, right_lse))
            weights = torch.randn_like(got)
            for one, other in zip(torch.autograd.grad(got, operands, weights),
                                  torch.autograd.grad(right, leaves, weights)):
                self.assertLess(relative_error(one, other), 1e-6)


if __name__ == "__main__":
    unittest.main()
