# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""attention() under torch.func and torch.jit.trace, and derivatives of its gradients, against torch in float64.

`CASES` are calls with a tensor more that gets a gradient; each test runs them under transforms of its own.
Read `CASES`, then `Transforms`; second derivatives, which are refused, and torch.jit.trace follow.
"""

import itertools
import unittest
import warnings
from unittest.mock import patch

import torch
from torch._subclasses import FakeTensorMode
from torch.func import functional_call, grad, jacrev, vjp, vmap
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import fa_mlir
from fa_mlir import tracing
from torch_numbers import Edges, expect, make_inputs

#: (name, shape of what more is given, options of a call with it, what it adds to scores).
CASES = (("plain", (1,), lambda more: {}, None), ("softcap", (1,), lambda more: {"softcap": 2.0}, None),
         ("bias", (4, 8, 8), lambda more: {"bias": more}, lambda more: more),
         ("score", (8,), lambda more: {"score": lambda s, b, h, i, j: s + more[j] * i}, lambda more: more * torch.arange(8.0, device=more.device)[:, None]))


def make(case):
    """A number of three operands and what more is given, by both."""
    _, _, options, added = case

    def ours(query, key, value, more):
        output, lse = fa_mlir.attention(query, key, value, return_lse=True, **options(more))
        return (output * torch.arange(16.0, device=output.device)).sum() + 0 * lse.sum()

    def right(query, key, value, more):
        output = expect(query, key, value, bias=None if added is None else added(more), softcap=options(more).get("softcap"))
        return (output * torch.arange(16.0, device=output.device)).sum()
    return ours, right


class Transforms(Edges):
    def places(self, case):
        """Of the operands that a case has gradients of."""
        return (0, 1, 2, 3) if case[3] is not None else (0, 1, 2)

    def test_grad(self):
        for case in CASES:
            with self.subTest(case[0]):
                operands, (ours, right) = [*make_inputs(), torch.randn(case[1])], make(case)
                places = self.places(case)
                for one, other in zip(grad(ours, places)(*operands), grad(right, places)(*operands)):
                    self.close(one, other, 5e-6)
                value, pull = vjp(lambda *operands: fa_mlir.attention(*operands, **case[2](torch.ones(case[1]))), *operands[:3])
                self.assertEqual([each.shape for each in pull(torch.ones_like(value))], [each.shape for each in operands[:3]])

    def test_vmap(self):
        filters = warnings.catch_warnings()
        filters.__enter__()
        self.addCleanup(filters.__exit__, None, None, None)
        warnings.simplefilter("error")
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "over a dim of size 0"):
            vmap(fa_mlir.attention)(*[torch.randn(0, 1, 8, 2, 16)] * 3)
        for case in CASES:
            with self.subTest(case[0]):
                operands, (ours, right) = [*make_inputs(3), torch.randn(3, *case[1])], make(case)
                expected = torch.stack([right(*[operand[i] for operand in operands]) for i in range(3)])
                self.close(vmap(ours)(*operands), expected)
                # Over other dims, and over some operands alone.
                moved = [operands[0].movedim(0, 2), operands[1][0], operands[2].movedim(0, -1).contiguous(), operands[3]]
                expected = torch.stack([right(operands[0][i], operands[1][0], operands[2][i], operands[3][i]) for i in range(3)])
                self.close(vmap(ours, (2, None, -1, 0))(*moved), expected)

    def test_vmap_over_captures_alone(self):
        """Rows that are all there is to map over, also within other maps and with gradients."""
        operands, rows = make_inputs(), torch.randn(3, 8)
        for name, call in (("score", lambda row: {"score": lambda s, b, h, i, j: s + row[j]}), ("bias", lambda row: {"bias": row}),
                           ("mask", lambda row: {"mask": lambda b, h, i, j: row[j] > row[0]}),
                           ("sink", lambda row: {"sink": row[:4]}), ("alibi", lambda row: {"alibi": row[4:]}),
                           ("lengths", lambda row: {"key_lengths": (row[:2] > 0).int() + 3})):
            with self.subTest(name):
                function = lambda row: fa_mlir.attention(*operands, **call(row))
                self.assertTrue(torch.equal(vmap(function)(rows), torch.stack(list(map(function, rows)))))
        right = torch.stack([torch.stack([expect(query, *operands[1:], bias=row) for row in rows]) for query in (operands[0], -operands[0])])
        function = lambda query, row: fa_mlir.attention(query, *operands[1:], score=lambda s, b, h, i, j: s + row[j])
        queries = torch.stack([operands[0], -operands[0]])
        self.close(vmap(vmap(function, (None, 0)), (0, None))(queries, rows), right)
        self.close(vmap(vmap(function, (0, None)), (None, 0))(queries, rows), right.transpose(0, 1))
        summed = lambda run: lambda row: (run(row) * torch.arange(16.0, device=row.device)).sum()
        for one, row in zip(vmap(grad(summed(lambda row: function(operands[0], row))))(rows), rows):
            self.close(one, grad(summed(lambda row: expect(*operands, bias=row)))(row))

    def test_vmap_with_out(self):
        operands, rows, out = make_inputs(), torch.randn(3, 8), torch.zeros(3, 2, 8, 4, 16)
        for dims in (0, 0), (0, None):
            with self.subTest(dims=dims), self.assertRaisesRegex(fa_mlir.UnsupportedError, "'out' is given under torch.func.vmap"):
                vmap(lambda row, out: fa_mlir.attention(*operands, bias=row, out=out), dims)(rows, out[0] if dims[1] is None else out)
        # What is not mapped over is one call.
        vmap(lambda row: fa_mlir.attention(*operands, out=out[0]) + row[0])(rows)
        self.close(out[0], expect(*operands))

    def test_both(self):
        """Gradients of each item, and of a sum over items."""
        for case in CASES:
            with self.subTest(case[0]):
                operands, (ours, right) = [*make_inputs(3), torch.randn(3, *case[1])], make(case)
                places = self.places(case)
                dims = (0, 0, None, 0)
                operands[2] = operands[2][0]
                each = [torch.stack(found) for found in zip(*[grad(right, places)(
                    *[operand if dim is None else operand[i] for operand, dim in zip(operands, dims)]) for i in range(3)])]
                for one, other in zip(vmap(grad(ours, places), dims)(*operands), each):
                    self.close(one, other)
                total = [found.sum(0) if place == 2 else found for place, found in zip(places, each)]
                for one, other in zip(grad(lambda *operands: vmap(ours, dims)(*operands).sum(), places)(*operands), total):
                    self.close(one, other)

    def test_jacobian_of_a_module(self):
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.project = torch.nn.Linear(4, 4)

            def forward(self, hidden):
                return fa_mlir.attention(self.project(hidden), hidden, hidden, causal="top_left")

        model, hidden = Model(), torch.randn(1, 5, 2, 4)
        state = dict(model.named_parameters())
        found = jacrev(lambda state: functional_call(model, state, (hidden,)))(state)
        weight = state["project.weight"].detach()
        for name in "project.weight", "project.bias":
            def run(each):
                query = functional_call(model.project, {**{key.partition(".")[2]: value for key, value in state.items()},
                                                        name.partition(".")[2]: each}, (hidden,))
                mask = torch.ones(5, 5).tril().log()
                return expect(query, hidden, hidden, bias=mask)
            self.close(found[name], torch.autograd.functional.jacobian(run, state[name].detach()), 1e-5)
        self.assertEqual(found["project.weight"].shape, (1, 5, 2, 4, *weight.shape))


    def test_what_masks_capture(self):
        """It has a gradient of zero, also where nothing else has one."""
        operands, table = make_inputs(), torch.randn(8, 8)
        attend = lambda table, **options: fa_mlir.attention(*operands, mask=lambda b, h, i, j: table[i, j] > -1, **options)
        value, pull = vjp(attend, table)
        self.close(value, expect(*operands, mask=table > -1))
        tables = torch.stack([table, -table])
        summed = lambda table: attend(table).sum()
        for found in (pull(torch.ones_like(value))[0], grad(summed)(table), jacrev(summed)(table), vmap(grad(summed))(tables),
                      grad(lambda tables: vmap(attend)(tables).sum())(tables),
                      grad(lambda table: attend(table, return_lse=True)[1].sum())(table)):
            self.assertFalse(found.any())
        score = lambda query, table: fa_mlir.attention(query, *operands[1:], mask=lambda b, h, i, j: table[i, j] > -1).square().sum()
        right = lambda query: expect(query, *operands[1:], mask=table > -1).square().sum()
        found = grad(score, (0, 1))(operands[0], table)
        self.close(found[0], grad(right)(operands[0]), 1e-5)
        self.assertFalse(found[1].any())
        # Which is none of an output's.
        grad(lambda table: attend(table, out=operands[0].clone()).sum())(table)

    def test_tensors_of_objects(self):
        """Those that a function reads of an object are no constants: they are refused, and captured ones followed."""
        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.row = torch.nn.Parameter(torch.randn(8))

            def forward(self, operands, captured):
                row = self.row
                return fa_mlir.attention(*operands, score=(lambda s, b, h, i, j: s + row[j]) if captured else (
                    lambda s, b, h, i, j: s + self.row[j]))

        model, operands = Model(), make_inputs()
        state = dict(model.named_parameters())
        run = lambda state, captured: functional_call(model, state, (operands, captured)).square().sum()
        right, = torch.autograd.grad(expect(*operands, bias=model.row).square().sum(), model.row)
        self.close(grad(run)(state, True)["row"], right)
        with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'score' is a function that reads tensors of an object"):
            grad(run)(state, False)


#: Each way in which a tensor more is read.
CAPTURES = CASES[2:] + (
    ("alibi", (4,), lambda more: {"alibi": more},
     lambda more: -more[:, None, None] * (torch.arange(8.0, device=more.device)[:, None] - torch.arange(8, device=more.device)).abs()),
    ("mask", (8,), lambda more: {"bias": more, "mask": lambda b, h, i, j: more[j] > -9}, lambda more: more))


class Compiled(Edges):
    """torch.compile around torch.func, where no tensor says whether it requires a gradient."""

    def compile(self, function, backend):
        torch.compiler.reset()
        return torch.compile(function, fullgraph=True, backend=backend)

    def test_vmap(self):
        """Of tensors that require gradients outside."""
        for case, backend in itertools.product(CASES[:1] + CAPTURES, ("eager", "aot_eager")):
            with self.subTest(case[0], backend=backend):
                operands, (ours, right) = [*make_inputs(3), torch.randn(3, *case[1])], make(case)
                count = 3 if case[3] is None else 4
                found, expected = [], []
                for function, results in (self.compile(vmap(ours), backend), found), (vmap(right), expected):
                    leaves = [tensor.clone().requires_grad_() for tensor in operands]
                    output = function(*leaves)
                    results += [output, *torch.autograd.grad(output.square().sum(), leaves[:count])]
                for one, other in zip(found, expected):
                    self.close(one, other, 1e-5)

    def test_grad(self):
        for case, backend in itertools.product(CASES[:1] + CAPTURES, ("eager", "aot_eager")):
            operands, (ours, right) = [*make_inputs(3), torch.randn(3, *case[1])], make(case)
            places, items = (0, 1, 2) if case[3] is None else (0, 1, 2, 3), [operand[0] for operand in operands]
            for name, transform, given in (
                    ("grad", lambda run: grad(run, places), items), ("vmap of grad", lambda run: vmap(grad(run, places)), operands),
                    ("grad of vmap", lambda run: grad(lambda *operands: vmap(run)(*operands).sum(), places), operands),
                    ("jacrev", lambda run: jacrev(run, places), items),
                    ("vjp", lambda run: lambda *operands: vjp(run, *operands)[1](torch.ones(()))[:len(places)], items)):
                with self.subTest(case[0], backend=backend, transform=name):
                    expected = transform(lambda *operands: right(*operands).float())(*given)
                    for one, other in zip(self.compile(transform(ours), backend)(*given), expected, strict=True):
                        self.close(one, other, 1e-5)


class Batched(Edges):
    """Several gradients of one output at once, by torch's earlier vmap."""

    def test_grads(self):
        cases = (*CASES[:1], *CAPTURES, ("sink", (4,), lambda more: {"sink": more}, None))
        for (name, shape, options, _), has_lse in itertools.product(cases, (False, True)):
            leaves = [tensor.requires_grad_() for tensor in [*make_inputs(), torch.randn(shape)]]
            found = fa_mlir.attention(*leaves[:3], return_lse=has_lse, **options(leaves[3]))
            outputs = found if has_lse else [found]
            wanted = leaves[:3] if name == "plain" else leaves
            weights = [torch.randn(3, *output.shape) for output in outputs]
            each = [torch.autograd.grad(outputs, wanted, [weight[i] for weight in weights], retain_graph=True) for i in range(3)]
            with self.subTest(name, has_lse=has_lse):
                got = torch.autograd.grad(outputs, wanted, weights, is_grads_batched=True, retain_graph=True)
                for one, other in zip(got, zip(*each)):
                    self.close(one, torch.stack(other), 1e-6)
                # Items that lie in another dim.
                weights = [weight.movedim(0, -1).contiguous().movedim(-1, 0) for weight in weights]
                got = torch.autograd.grad(outputs, wanted, weights, is_grads_batched=True, retain_graph=True)
                for one, other in zip(got, zip(*each)):
                    self.close(one, torch.stack(other), 1e-6)

    def test_unknown_levels(self):
        """A GPU's backward runs in a thread that does not know how many levels there are."""
        operands = [tensor.requires_grad_() for tensor in make_inputs()]
        output, weights = fa_mlir.attention(*operands), torch.randn(3, 2, 8, 4, 16)
        differentiate = lambda weight: torch.autograd.grad(output, operands, weight, retain_graph=True)

        def run(weight):
            with patch("torch._C._vmapmode_increment_nesting", lambda: 1), patch("torch._C._vmapmode_decrement_nesting", lambda: 0):
                return differentiate(weight)

        for one, other in zip(torch._vmap_internals._vmap(run)(weights), zip(*map(differentiate, weights))):
            self.close(one, torch.stack(other), 1e-6)

    def test_jacobian(self):
        operands = [tensor[:1, :3, :, :4].contiguous() for tensor in make_inputs()]
        jacobian = torch.autograd.functional.jacobian
        got = jacobian(lambda *operands: fa_mlir.attention(*operands), tuple(operands), vectorize=True)
        right = jacobian(lambda *operands: expect(*operands), tuple(operands), vectorize=True)
        for one, other in zip(got, right):
            self.close(one, other, 1e-5)


class SecondDerivatives(unittest.TestCase):
    """They are refused where others would see zeros."""

    def test_refused(self):
        for case in CASES:
            ours, _ = make(case)
            operands = [*make_inputs(), torch.randn(case[1])]
            function = lambda query: ours(query * 1.0, *operands[1:])
            leaf = operands[0].clone().requires_grad_()
            with self.subTest(case[0]):
                with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'create_graph' is True.* expected first derivatives"):
                    torch.autograd.functional.hessian(function, operands[0])
                with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'create_graph' is True"):
                    jacrev(grad(function))(operands[0])
                # First ones of a graph that could go on.
                gradient, = torch.autograd.grad(function(leaf), leaf, create_graph=True)
                self.assertTrue(gradient.requires_grad)
                right, = torch.autograd.grad(function(leaf), leaf)
                self.assertTrue(torch.equal(gradient.detach(), right))
                with self.assertRaisesRegex(fa_mlir.UnsupportedError, "'create_graph' is True"):
                    torch.autograd.grad(gradient.sum(), leaf, allow_unused=True)

    def test_others_go_on(self):
        """What does not pass through attention has second derivatives."""
        leaf = torch.randn(2, 8, 4, 16, requires_grad=True)
        output = fa_mlir.attention(*make_inputs()) * leaf ** 3
        gradient, = torch.autograd.grad(output.sum(), leaf, create_graph=True)
        second, = torch.autograd.grad(gradient.sum(), leaf)
        self.assertLess(float((second - 2 * gradient / leaf).detach().norm() / second.norm()), 1e-5)


class Traced(unittest.TestCase):
    def test_jit_trace(self):
        """The graph has the operator, of whatever call."""
        slopes = torch.rand(4)
        for options in {}, {"causal": "top_left"}, {"softcap": 2.0}, {"alibi": slopes}, {"return_lse": True}:
            for gradient in False, True:
                inputs = [tensor.requires_grad_(gradient) for tensor in make_inputs()]
                with self.subTest(options=options, gradient=gradient), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function = lambda query, key, value: fa_mlir.attention(query, key, value, **options)
                    traced = torch.jit.trace(function, tuple(inputs))
                    self.assertIn("fa_mlir::attention", str(traced.graph))
                    others = make_inputs()
                    got, right = traced(*others), function(*others)
                    for one, other in zip(*[each if options.get("return_lse") else [each] for each in (got, right)]):
                        self.assertTrue(torch.equal(one, other))


    def test_functions_within_other_traces(self):
        """A function is traced by itself, whoever traces the call."""
        def attend(query, table):
            return fa_mlir.attention(query, query, query, score=lambda s, b, h, i, j: s + table[i, j],
                                     mask=lambda b, h, i, j: (table[i, j] > 0) | (i == j))

        query, table = torch.randn(1, 5, 2, 8), torch.randn(5, 5)
        for mode in "real", "fake", "symbolic":
            tracing._templates.clear()
            with self.subTest(mode):
                graph = make_fx(attend, tracing_mode=mode)(query, table)
                self.assertIn("fa_mlir.attention", graph.code)
                self.assertTrue(torch.equal(graph(query, -table), attend(query, -table)))
                if mode == "symbolic":
                    query, table = torch.randn(1, 9, 2, 8), torch.randn(9, 9)
                    self.assertTrue(torch.equal(graph(query, table), attend(query, table)))
        for shape_env in None, ShapeEnv():
            tracing._templates.clear()
            with FakeTensorMode(shape_env=shape_env, allow_non_fake_inputs=True):
                fake = torch.empty(1, 9, 2, 8)
                for captured in table, torch.empty(9, 9):
                    self.assertEqual(attend(fake, captured).shape, fake.shape)

    def test_gradients_of_a_graph_without(self):
        """What was exported for tensors that need none has no log-sum-exp to compute them from."""
        class Model(torch.nn.Module):
            def forward(self, query, key, value):
                return fa_mlir.attention(query, key, value)

        program = torch.export.export(Model(), tuple(make_inputs())).module()
        leaves = [tensor.requires_grad_() for tensor in make_inputs()]
        output = program(*leaves)
        with self.assertRaisesRegex(fa_mlir.ArgumentError, "'specification' has no lse.*tensors that require gradients"):
            torch.autograd.grad(output.sum(), leaves)


if __name__ == "__main__":
    unittest.main()
