# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""Functions of Python under torch.compile, and FlexAttention's calls in its graphs.

`Functions` has score and mask functions whose captures change from call to call: `count_compiled` and `count_graphs`
say that nothing is compiled again. `FlexPass` tests the pass that replaces FlexAttention's calls. `Stopped` has scores that
keep gradients from some of their values, compiled or not. `Case.check` compares outputs and gradients.
"""

import functools
import os
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import torch
from torch.nn.attention import flex_attention as torch_flex
from torch.nn.attention.flex_attention import AuxRequest, BlockMask, create_block_mask, flex_attention

import fa_mlir
from fa_mlir.graph_regions import take_numbers
from fa_mlir.sdpa import override_counts

SEED = int(os.environ.get("FA_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))
print("seed", SEED, "torch", torch.__version__)
torch.manual_seed(SEED)
LENGTHS = 200, 300, 257, 390


def count_compiled():
    """Kernels that were made or found on disk."""
    return fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]


def count_graphs():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"]


def make_inputs(length, layout="bshd", key_heads=4, gradient=True):
    shapes = [(3, length, heads, 16) for heads in (4, key_heads, key_heads)]
    if layout == "bhsd":
        shapes = [(shape[0], shape[2], shape[1], shape[3]) for shape in shapes]
    return [torch.randn(shape, requires_grad=gradient) for shape in shapes]


def relative_error(got, expected):
    return float((got.detach().double() - expected.detach().double()).norm() / expected.detach().double().norm())


class Case(unittest.TestCase):
    def setUp(self):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()

    def check(self, got, expected, wanted, bound=2e-6):
        """Tensors, and gradients of them."""
        weights = [torch.randn_like(tensor) for tensor in got]
        found, right = (torch.autograd.grad(tensors, wanted, weights) for tensors in (got, expected))
        for one, other in zip([*got, *found], [*expected, *right]):
            self.assertEqual(one.shape, other.shape)
            self.assertLess(relative_error(one, other), bound)


class Functions(Case):
    """attention(score=, mask=) in a graph without breaks."""

    def test_lengths(self):
        table, one = torch.randn(4, 64, requires_grad=True), torch.tensor(0.5, requires_grad=True)
        ids = torch.randint(0, 3, (3, 2 * max(LENGTHS)), dtype=torch.int32)[:, ::2]

        def step(query, key, value, table, size):
            return fa_mlir.attention(
                query * 1, key, value, score=lambda s, b, h, q, k: s + table[h, (q - k) % 64] * one,
                mask=lambda b, h, q, k: (q - k < size) & (ids[b, q] == ids[b, k]), return_lse=True)

        for backend in "aot_eager", "inductor":
            compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=backend)
            kernels, graphs = [], []
            for length in LENGTHS:
                inputs = [*make_inputs(length), table]
                self.check(compiled(*inputs, 40), step(*inputs, 40), [*inputs, one])
                kernels.append(count_compiled())
                graphs.append(count_graphs())
            self.assertEqual((len(set(kernels)), len(set(graphs))), (1, 1), (kernels, graphs))
            torch._dynamo.reset()

    def test_numbers(self):
        """One that changes becomes an argument: the text of it is compiled no third time."""
        def step(query, size, cap):
            return fa_mlir.attention(query, query, query, score=lambda s, b, h, q, k: s * cap,
                                     mask=lambda b, h, q, k: (q - k).abs() < size)

        compiled = torch.compile(step, fullgraph=True, backend="eager")
        query = make_inputs(40, gradient=False)[0]
        kernels = []
        for size, cap in (3, 0.5), (7, 0.75), (11, 1.5), (13, 2.5), (17, 3.5):
            self.assertLess(relative_error(compiled(query, size, cap), step(query, size, cap)), 2e-6)
            kernels.append(count_compiled())
        self.assertEqual(len(set(kernels[2:])), 1, kernels)

    def test_windows(self):
        """What Dynamo takes for a symbol becomes a number of its graph, for which no kernel is compiled."""
        query = make_inputs(40, gradient=False)[0]
        step = lambda query, left: fa_mlir.attention(query, query, query, causal="bottom_right", window=(left, 0))
        for options in {}, {"dynamic": True}:
            torch._dynamo.reset()
            compiled, kernels = torch.compile(step, fullgraph=True, backend="eager", **options), []
            for left in 3, 4, 7, 11, -1:
                self.assertTrue(torch.equal(compiled(query, left), step(query, left)))
                kernels.append(count_compiled())
            self.assertEqual(len(set(kernels[:4])), 1, kernels)
            one = torch.compile(lambda query, key: fa_mlir.attention(query, key, key), fullgraph=True, backend="eager", **options)
            self.assertTrue(torch.equal(one(query[:, :1], query), fa_mlir.attention(query[:, :1], query, query)))

    def test_errors(self):
        """What is wrong is said where the graph breaks, and names the argument where it may not."""
        def branches(s, b, h, q, k):
            if q > k:
                return s
            return -s

        query, bias = make_inputs(40, gradient=False)[0], torch.ones(40, 40).numpy()
        cases = [({"window": 5}, "'window' is 5, expected two"), ({"key_lengths": [1, 2, 3]}, "'key_lengths' is a list, expected a torch"),
                 ({"bias": bias}, "'bias' is a ndarray"), ({"causal": True}, "'causal' is True, expected None"),
                 ({"softcap": -1.0}, "'softcap' is -1.0, expected a finite"), ({"score": branches}, "'score' is .*if q > k"),
                 ({"mask": lambda b, h: True}, r"'mask' is a function with the arguments \(b, h\)")]
        for options, message in cases:
            call = lambda: fa_mlir.attention(query, query, query, **options)
            torch._dynamo.reset()
            with self.subTest(message), self.assertRaisesRegex(fa_mlir.Error, message):
                torch.compile(call, backend="eager")()
            if "score" in options or "mask" in options or torch.torch_version.TorchVersion(torch.__version__) < (2, 12):
                continue
            torch._dynamo.reset()
            with self.subTest(message, fullgraph=True), self.assertRaisesRegex(torch._dynamo.exc.Unsupported, message):
                torch.compile(call, fullgraph=True, backend="eager")()

    def test_outputs(self):
        query = make_inputs(40, gradient=False)[0]
        out = torch.zeros_like(query)
        compiled = torch.compile(lambda query, out: fa_mlir.attention(query, query, query, out=out), fullgraph=True, backend="eager")
        compiled(query, out)
        self.assertTrue(torch.equal(out, fa_mlir.attention(query, query, query)))

    def test_numbers_that_graphs_read(self):
        """Tensors without dims of which a graph only reads the number become that number; others stay."""
        graph = torch.fx.Graph()
        score, read, used = (graph.placeholder(name) for name in ("score", "read", "used"))
        number = graph.call_method("item", (read,))
        number.meta["example_value"] = 3.0
        graph.output(graph.call_function(torch.add, (graph.call_function(torch.mul, (score, number)), used)))
        module = torch.fx.GraphModule({}, graph)
        examples = [torch.tensor(3.0), torch.tensor(0.5)]
        self.assertEqual(take_numbers(module, examples), {0})
        self.assertEqual(examples, [3.0, torch.tensor(0.5)])
        self.assertEqual(float(module(torch.tensor(2.0), 4.0, torch.tensor(1.0))), 9.0)
        self.assertEqual(take_numbers(module, []), set())

    def test_torch_imported_later(self):
        """In a process of its own, whose first call is traced."""
        program = ("import fa_mlir, torch\n"
                   "inputs = [torch.randn(1, 8, 2, 16) for _ in range(3)]\n"
                   "compiled = torch.compile(lambda *inputs: fa_mlir.attention(*inputs, causal='top_left'), fullgraph=True)\n"
                   "assert torch.equal(compiled(*inputs), fa_mlir.attention(*inputs, causal='top_left'))\n")
        subprocess.run([sys.executable, "-c", program], check=True)

    def test_refused(self):
        query = make_inputs(9, gradient=False)[0]
        step = lambda query: fa_mlir.attention(query, query, query, score=lambda s, b, h, q, k: s + torch.special.i0e(
            s))
        # The line of the operation is named.
        with self.assertRaisesRegex(Exception, "'score' is a function with the operation aten.special_i0e.*" + os.path.basename(
                __file__) + ":[0-9]+: .*torch.special.i0e"):
            torch.compile(step, fullgraph=True, backend="eager")(query)

    def test_export(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.slopes = torch.nn.Parameter(torch.rand(4))

            def forward(self, query):
                return fa_mlir.attention(query, query, query, score=lambda s, b, h, q, k: s - self.slopes[h] * (q - k).abs(),
                                         causal="bottom_right")

        model, length = Model(), torch.export.Dim("length")
        for strict in True, False:
            program = torch.export.export(model, (make_inputs(20, gradient=False)[0],), strict=strict,
                                          dynamic_shapes=({1: length},))
            query = make_inputs(31, gradient=False)[0]
            self.assertLess(relative_error(program.module()(query), model(query)), 1e-6)


def backend(**options):
    return functools.partial(fa_mlir.flex_backend, **{"inner": "aot_eager", **options})


@mock.patch.object(torch_flex, "_validate_device", lambda *operands: None)
class FlexPass(Case):
    """The operator in the place of torch's. torch refuses gradients on the CPU by _validate_device."""

    def test_lengths(self):
        table, padding = torch.randn(4, 64, requires_grad=True), torch.rand(3, 512) < 0.9

        def step(query, key, value, table, mask):
            output, aux = flex_attention(query, key, value, lambda s, b, h, q, k: s + table[h, (q - k) % 64], mask,
                                         enable_gqa=True, return_aux=AuxRequest(lse=True))
            return output * 1, aux.lse

        def visible(b, h, q, k):
            return (q >= k) & padding[b, k] | (q == k)

        for how in "exact", "function":
            torch._dynamo.reset()
            compiled = torch.compile(step, fullgraph=True, dynamic=True, backend=backend(block_mask=how))
            kernels, graphs = [], []
            for length in LENGTHS:
                inputs = [*make_inputs(length, "bhsd", 2), table]
                mask = create_block_mask(visible, 3, None, length, length, device="cpu")
                expected = fa_mlir.attention(*inputs[:3], score=lambda s, b, h, q, k: s + table[h, (q - k) % 64],
                                             mask=visible, layout="bhsd", return_lse=True)
                before = override_counts().get("flex_attention", 0)
                got = compiled(*inputs, mask)
                self.check(got, expected, inputs)
                self.assertLessEqual(override_counts()["flex_attention"], before + 1)
                kernels.append(count_compiled())
                graphs.append(count_graphs())
            self.assertEqual((len(set(kernels)), len(set(graphs[1:]))), (1, 1), (kernels, graphs))

    def test_against_torch(self):
        """Its own function in float64, as it is and compiled with changed graphs."""
        query, key, value = make_inputs(150, "bhsd", gradient=False)
        mask = create_block_mask(lambda b, h, q, k: (q - k).abs() < 30 + h, None, 4, 150, 150, device="cpu")
        for scale in None, 0.3, -0.1:
            step = lambda *operands: flex_attention(*operands, lambda s, b, h, q, k: torch.tanh(s) * 2, mask, scale)
            expected = step(*[tensor.double() for tensor in (query, key, value)])
            self.assertLess(relative_error(torch.compile(step, fullgraph=True, backend=backend())(query, key, value),
                                           expected), 2e-6)
            self.assertLess(relative_error(torch.compile(step, fullgraph=True, options={
                "pre_grad_custom_pass": fa_mlir.FlexPass()})(query, key, value), expected), 2e-6)
        step = lambda *operands: flex_attention(*operands)
        self.assertLess(relative_error(torch.compile(step, fullgraph=True, backend=fa_mlir.flex_backend)(
            query, key, value), step(*[tensor.double() for tensor in (query, key, value)])), 2e-6)

    def test_blocks_of_another(self):
        """Blocks that a mask_mod does not have are honoured: full ones are not asked."""
        def mask_mod(b, h, q, k):
            return q >= k

        counts = torch.tensor([[[1, 0]]], dtype=torch.int32)
        indices = torch.tensor([[[0, 1], [0, 1]]], dtype=torch.int32)[None]
        full_counts, full_indices = torch.tensor([[[1, 1]]], dtype=torch.int32), 1 - indices
        mask = BlockMask.from_kv_blocks(counts, indices, full_counts, full_indices, BLOCK_SIZE=64, mask_mod=mask_mod)
        inputs = make_inputs(128, "bhsd")
        i, j = torch.arange(128)[:, None], torch.arange(128)
        dense = torch.where(i < 64, (j >= 64) | (i >= j), j >= 64)
        step = lambda *operands: flex_attention(*operands, block_mask=mask)
        got = torch.compile(step, fullgraph=True, backend=backend())(*inputs)
        expected = torch.nn.functional.scaled_dot_product_attention(*[tensor.double() for tensor in inputs], dense)
        self.assertLess(relative_error(got, expected), 2e-6)
        promised = torch.compile(step, fullgraph=True, backend=backend(block_mask="function"))(*inputs)
        self.assertGreater(relative_error(promised, expected), 1e-2)

    def test_unsupported(self):
        inputs = [tensor.double() for tensor in make_inputs(20, "bhsd", gradient=False)]
        with self.assertRaisesRegex(Exception, "'query, key, value' is of torch.float64"):
            torch.compile(flex_attention, fullgraph=True, backend=backend())(*inputs)
        torch._dynamo.reset()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = torch.compile(flex_attention, fullgraph=True, backend=backend(
                inner="eager", on_unsupported="warn"))(*inputs)
        self.assertLess(relative_error(got, flex_attention(*inputs)), 1e-12)
        self.assertEqual(sum("torch.float64" in str(each.message) for each in caught), 1)
        self.assertEqual(sum(count for reason, count in override_counts().items() if "torch.float64" in reason), 1)
        with self.assertRaisesRegex(ValueError, "exact, function"):
            fa_mlir.FlexPass(block_mask="all")


def make_stopped_scores():
    """Of a table; torch evaluates them on whole tensors too."""
    yield "detached score", lambda T: lambda s, b, h, i, j: s.detach() * T[h, j] + s
    yield "detached table", lambda T: lambda s, b, h, i, j: s * T.detach()[h, j] + T[h, i] * s
    yield "detached element", lambda T: lambda s, b, h, i, j: s * T[h, j].detach() + T[h, i] * s
    yield "data", lambda T: lambda s, b, h, i, j: s * T.data[h, j] + T[h, i] * s.data

    def block(T):
        def score(s, b, h, i, j):
            with torch.no_grad():
                inner = torch.tanh(s * T[h, j]) + 1
            return inner * T[h, i] + s
        return score
    yield "no_grad", block

    def nested(T):
        def score(s, b, h, i, j):
            with torch.no_grad():
                read = T[h, j]
                with torch.enable_grad():
                    inner = T[h, i] * s
            return inner + read * s
        return score
    yield "enable_grad", nested

    def decorated(T):
        @torch.no_grad()
        def multiply(s, t):
            return s * t
        return lambda s, b, h, i, j: multiply(s, T[h, j]) + T[h, i] * s
    yield "function under no_grad", decorated

    def inference(T):
        def score(s, b, h, i, j):
            with torch.inference_mode():
                inner = s * T[h, j]
            return inner + T[h, i] * s
        return score
    yield "inference_mode", inference


@mock.patch.object(torch_flex, "_validate_device", lambda *operands: None)
class Stopped(Case):
    @staticmethod
    def expect(query, key, value, table, score, visible):
        scores = query @ key.mT / 4
        scores = score(table)(scores, *torch.meshgrid(*map(torch.arange, scores.shape), indexing="ij"))
        return torch.where(visible, scores, -torch.inf).softmax(-1) @ value

    def test_gradients(self):
        length = 24
        _, _, i, j = torch.meshgrid(*map(torch.arange, (3, 4, length, length)), indexing="ij")
        flags = torch.rand(length)
        mask = lambda b, h, i, j: (flags.detach()[j] > 0.3) | (i == j)
        for name, score in make_stopped_scores():
            def attend(query, key, value, table):
                return fa_mlir.attention(query, key, value, score=score(table), mask=mask, layout="bhsd")

            def flex(query, key, value, table):
                return flex_attention(query, key, value, score(table), blocks)

            blocks = create_block_mask(mask, None, None, length, length, device="cpu")
            for way, run in (("eager", attend), ("flex", lambda *operands: fa_mlir.flex_attention(
                    *operands[:3], score(operands[3]), blocks)),
                             ("compiled", torch.compile(attend, fullgraph=True, backend="aot_eager")),
                             ("FlexPass", torch.compile(flex, fullgraph=True, backend=backend()))):
                with self.subTest(name, way=way):
                    torch._dynamo.reset()
                    inputs = [*make_inputs(length, "bhsd"), torch.randn(4, length, requires_grad=True)]
                    wide = [tensor.detach().double().requires_grad_() for tensor in inputs]
                    got = run(*inputs)
                    expected = self.expect(*wide, score, mask(0, 0, i, j))
                    weights = torch.randn_like(got)
                    self.assertLess(relative_error(got, expected), 2e-6)
                    for one, other in zip(torch.autograd.grad(got, inputs, weights),
                                          torch.autograd.grad(expected, wide, weights.double()), strict=True):
                        self.assertLess(relative_error(one, other), 1e-5)


if __name__ == "__main__":
    unittest.main()
