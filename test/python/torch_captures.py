# REQUIRES: torch
# RUN: rm -rf %t.cache
# RUN: env FA_MLIR_CACHE_DIR=%t.cache %torch_python %s
"""What functions of Python capture is read in each call, against attention in float64.

Numbers, sizes and attributes change between calls of `Functions`; some change what the function does. Then come modes,
threads, and arithmetic as torch has it.
"""

import math
import sys
import threading
import types
import unittest
from unittest import mock

import torch
from torch.nn.attention.flex_attention import and_masks

import fa_mlir
from fa_mlir import tracing
from fa_mlir.problem import from_text
from torch_numbers import Edges, band, expect, make_inputs


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

    def test_masks_that_torch_joins(self):
        """and_masks makes functions of torch's module with captures of the user's."""
        inputs = make_inputs()
        for width in 2, 7, 3, 5:
            mask = and_masks(lambda b, h, i, j: i >= j, lambda b, h, i, j: i - j < width)
            self.close(fa_mlir.attention(*inputs, mask=mask), expect(*inputs, band(width).tril()))
            # The next one may get its address.
            del mask

    def test_numbers_that_decide(self):
        """Those that a function compares, or takes an item by, are no mere arguments."""
        def compared(number, limit=100):
            return lambda s, b, h, i, j: s * number * 0.1 if number < limit else s

        def divided(number):
            return lambda s, b, h, i, j: s * 2 if number // 100 == 0 else s

        factors = [2.0, 3.0, 0.5, 2.0, 2.0, 2.0]

        def taken(number):
            layer = number % 6
            return lambda s, b, h, i, j: s * factors[layer]

        def finite(number):
            return lambda s, b, h, i, j: s * number if math.isfinite(number) else s * 0.5

        inputs = make_inputs()
        for number in 3.0, math.inf, 2.0, -math.inf, math.nan:
            self.close(fa_mlir.attention(*inputs, score=finite(number)),
                       expect((number if math.isfinite(number) else 0.5) * inputs[0], *inputs[1:]))
        for number in 6, 7, 200, 3, 8, 150:
            for make, factor in ((compared, number * 0.1 if number < 100 else 1), (divided, 2 if number < 100 else 1),
                                 (taken, factors[number % 6])):
                with self.subTest(make.__name__, number=number):
                    self.close(fa_mlir.attention(*inputs, score=make(number)),
                               expect(factor * inputs[0], *inputs[1:]))

    def test_numbers_that_c_code_reads(self):
        """math, items and ranges read a number without a method of it. What torch computes stays an argument."""
        factors = (2.0, 3.0, 0.5, 2.0, 3.0, 0.5, 7.0, 7.0)
        table = torch.randn(9)
        where, clamp = torch.where, torch.clamp

        def make(n):
            return {"root": lambda s, b, h, i, j: s * n * 0.1 if math.sqrt(n) < 2 else s,
                    "hypotenuse": lambda s, b, h, i, j: s * n * 0.1 if math.hypot(n, 4) <= 5 else s,
                    "item": lambda s, b, h, i, j: s * factors[int is type(n) and n] * n,
                    "same item": lambda s, b, h, i, j: s * (factors[n] if isinstance(n, int) else 1) * n,
                    "range": lambda s, b, h, i, j: s * len(range(round(n))) * n,
                    "set": lambda s, b, h, i, j: s * n if n in {1, 3} else s + n,
                    "text": lambda s, b, h, i, j: s * n if f"{n:2}" == " 3" else s + n,
                    "part": lambda s, b, h, i, j: s * n.real,
                    # Arguments, but for the last of them.
                    "product": lambda s, b, h, i, j: n * s - n, "alone": lambda s, b, h, i, j: n * 1.0 if n > 4 else n,
                    "result": lambda s, b, h, i, j: n, "clamp": lambda s, b, h, i, j: clamp(s, -n, n) + s.clamp(max=n),
                    "where": lambda s, b, h, i, j: where(i - j < n, s, n), "size": lambda s, b, h, i, j: s * (table.shape[0] * n),
                    "most": lambda s, b, h, i, j: s + torch.sym_max(table.shape[0], n), "power": lambda s, b, h, i, j: 1.5 ** (n / 50) * s,
                    # Products times a number stay within 2^25 on a GPU (docs/Spec.md).
                    "small power": lambda s, b, h, i, j: 0.75 ** n * s, "large power": lambda s, b, h, i, j: 1.5 ** n * 2.0 ** -n * s,
                    "float": lambda s, b, h, i, j: s * torch.sym_float(n), "tensor": lambda s, b, h, i, j: s * torch.tensor(n)}

        inputs = make_inputs()
        scores = torch.einsum("bihd,bjhd->bhij", *inputs[:2]) / 4
        i, j = torch.arange(8)[:, None], torch.arange(8)
        for name in make(1):
            for number in (1, 4, 2, 6, 3.0, 200.0, 0.5):
                function = make(number)[name]
                with self.subTest(name, number=number):
                    right = torch.as_tensor(function(scores, 0, 0, i, j)).expand(2, 4, 8, 8)
                    self.close(fa_mlir.attention(*inputs, score=function), expect(*inputs, bias=right - scores), 1e-5)

    def test_numbers_that_torch_reads_are_arguments(self):
        """They compile once."""
        inputs = make_inputs()
        for name, make in (("product", lambda n: lambda s, b, h, i, j: n * s - n), ("result", lambda n: lambda s, b, h, i, j: n),
                           ("clamp", lambda n: lambda s, b, h, i, j: s.clamp(max=n)),
                           ("where", lambda n: lambda s, b, h, i, j: torch.where(i - j < n, s, n))):
            for numbers in (2, 5, 3), (2.5, 0.5, 3.0):
                fa_mlir.attention(*inputs, score=make(numbers[0]))
                before = fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"]
                for number in numbers[1:]:
                    fa_mlir.attention(*inputs, score=make(number))
                with self.subTest(name, numbers=numbers):
                    self.assertEqual(fa_mlir.stats()["compilations"] + fa_mlir.stats()["disk_hits"], before)

    def test_sizes_that_decide(self):
        def counted(table):
            return lambda s, b, h, i, j: s * len(table) * 0.1

        def compared(table):
            return lambda s, b, h, i, j: s * 2 if table.shape[0] > 10 else s

        def alike(table, other=torch.zeros(7)):
            return lambda s, b, h, i, j: s * 2 if table.shape[0] == other.shape[0] else s

        inputs = make_inputs()
        for size in 7, 20, 5, 7, 11:
            for make, factor in (counted, size * 0.1), (compared, 1 + (size > 10)), (alike, 1 + (size == 7)):
                with self.subTest(make.__name__, size=size):
                    self.close(fa_mlir.attention(*inputs, score=make(torch.zeros(size))),
                               expect(factor * inputs[0], *inputs[1:]))

    def test_what_names_do_not_say(self):
        """Attributes of functions, imports inside of them, sizes."""
        def attribute(b, h, i, j):
            return (i - j).abs() < attribute.width

        module = sys.modules["widths_of_a_test"] = types.ModuleType("widths_of_a_test")
        self.addCleanup(sys.modules.pop, "widths_of_a_test")

        def imported(b, h, i, j):
            from widths_of_a_test import width
            return (i - j).abs() < width

        scope = {}
        exec("def read(b, h, i, j): return (i - j).abs() < globals()['width']", scope)
        inputs = make_inputs()
        for width in 2, 4, 3:
            attribute.width = module.width = scope["width"] = width
            sizes = torch.empty(5, width).shape
            for mask in attribute, imported, scope["read"], lambda b, h, i, j: (i - j).abs() < sizes[1]:
                with self.subTest(mask.__name__, width=width):
                    self.close(fa_mlir.attention(*inputs, mask=mask), expect(*inputs, band(width)))

    def test_inference_mode(self):
        """A server traces functions, and reads tensors, that are made in it."""
        with torch.inference_mode():
            inputs, bias = make_inputs(), torch.randn(8, 8)
            offset = torch.tensor(2)
            got = fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + bias[i, j],
                                    mask=lambda b, h, i, j: (i - j).abs() < offset + 1)
            self.close(got, expect(*inputs, band(3), bias))

    def test_default_dtypes(self):
        """They decide in which type integers are divided, and compared with floats."""
        inputs = make_inputs()
        i, j = torch.arange(8)[:, None], torch.arange(8)

        def divides(s, b, h, i, j):
            return s + (j / 3) * .5

        def compares(s, b, h, i, j):
            return s + torch.where(i + 2**24 > 2**24 + 0.5, j, i)

        self.addCleanup(torch.set_default_dtype, torch.get_default_dtype())
        for dtype in torch.bfloat16, torch.float32, torch.float64, torch.bfloat16:
            # A compiler may keep 16-bit values wider until they are compared.
            for score in (divides, compares) if dtype.itemsize > 2 else (divides,):
                with self.subTest(score.__name__, dtype=dtype):
                    torch.set_default_dtype(dtype)
                    got, bias = fa_mlir.attention(*inputs, score=score), score(0, 0, 0, i, j)
                    torch.set_default_dtype(torch.float32)
                    self.close(got, expect(*inputs, bias=bias.expand(8, 8)))

    def test_threads(self):
        """Functions are traced by several at once, and torch.nn.Module is left as it was."""
        inputs = make_inputs()
        call, results = torch.nn.Module.__call__, {}

        def run(number):
            def mask(b, h, i, j):
                for _ in range(number):
                    i = i + 1
                return (i - number - j).abs() < 2 + number
            results[number] = fa_mlir.attention(*inputs, mask=mask)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(5):
            self.close(results[number], expect(*inputs, band(2 + number)))
        self.assertIs(torch.nn.Module.__call__, call)

    def test_functions_of_torch_are_traced_once(self):
        """Modules whose functions are pure do not make a function unknown."""
        from fa_mlir import captures

        walk = captures.Walk()
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

    def check_scores(self, *functions, keys=300, bound=4e-6):
        """Scores of 4 queries and some keys with what each function adds, against eager torch."""
        query, key, value = (torch.randn(1, rows, 2, 8) for rows in (4, keys, keys))
        i, j = torch.arange(4)[:, None], torch.arange(keys)
        for place, function in enumerate(functions):
            with self.subTest(place), tracing.TransformGetItemToIndex():
                bias = function(i, j).expand(4, keys)
                self.close(fa_mlir.attention(query, key, value, score=lambda s, b, h, i, j: s + function(i, j)),
                           expect(query, key, value, bias=bias), bound)

    def test_integers_that_wrap(self):
        """A product or a sum of positions may be negative in its type; indices and remainders then are as torch's."""
        table, small = torch.randn(256), torch.randn(7)
        to = lambda dtype: lambda value: value.to(dtype)
        short, half, word = map(to, (torch.int8, torch.int16, torch.int32))
        self.check_scores(
            lambda i, j: table[short(j * 7).long()], lambda i, j: short(j) % 7, lambda i, j: (word(j) * 2**25) % 7,
            lambda i, j: table[half(j * 300).long() % 256], lambda i, j: (short(j * 128).abs() % 7) + small[j % 7],
            lambda i, j: (j * 6364136223846793005) % 7, lambda i, j: small[(j << 56) % 7], lambda i, j: (-short(j * 128)) % 7,
            lambda i, j: torch.maximum(j % 2 == 0, i > 1) * 1.0, lambda i, j: small[((j * 2**62) ^ 5) % 7],
            lambda i, j: small[torch.where(i > 1, short(j), short(j * 5)).long() % 7], lambda i, j: small[(j ** 9 * 2**20) % 7],
            lambda i, j: (short(j) + short(j)) // 3 % 5, lambda i, j: (short(j) + 300).float() / 100,
            lambda i, j: table[(j * 6364136223846793005) & 255])

    def test_shifts(self):
        """By the width of the type or more, and by counts below 0, nothing but the sign is left."""
        counts, places = torch.randint(-80, 80, (300,)), torch.randn(300)
        few = counts.to(torch.int32)
        for count in 0, 3, 7, 8, 31, 32, 63, 64, 70, -1, -3:
            self.check_scores(
                lambda i, j: (2 - j) >> count, lambda i, j: ((j << count) % 7) * 0.1, lambda i, j: (-j.to(torch.int8)) >> count,
                lambda i, j: (j.to(torch.int32) << count) % 5, keys=40)
        self.check_scores(
            lambda i, j: (-j) >> 70, lambda i, j: ((150 - j) >> counts[j]) % 7, lambda i, j: ((150 - j) << counts[j]) % 7,
            lambda i, j: ((150 - j).to(torch.int32) << few[j]) % 7, lambda i, j: (j.to(torch.int32) >> few[i + j % 8]) % 7,
            lambda i, j: (1 << (j % 70)) % 9, lambda i, j: (1000 >> j % 70) % 9, lambda i, j: places[j >> 1],
            lambda i, j: (j << j % 3) * 0.01)
        for function in lambda s, b, h, i, j: s + places[j >> 1] + places[(j % 4) << 3], lambda s, b, h, i, j: s + (i << 2) % 3:
            clause = tracing.trace("score", function).clause
            self.assertEqual((clause.count("arith.cmpi"), clause.count("arith.minui")), (0, 0))

    def check_gradients(self, *functions, tables=1):
        """Of what is computed of tables that lie at edges, against eager torch."""
        query, key, value = inputs = make_inputs()
        edges = torch.tensor([-6., -3, -1, 0, 1, 3, 6, 0.5])
        weights = torch.randn(8)
        for place, function in enumerate(functions):
            leaves = [edges[torch.randperm(8)].requires_grad_() for _ in range(tables)]
            with self.subTest(place):
                def score(s, b, h, i, j):
                    return s + function(*[leaf[j] for leaf in leaves]) * weights[j]
                got = fa_mlir.attention(*inputs, score=score)
                wide = [leaf.detach().double().requires_grad_() for leaf in leaves]
                expected = expect(*inputs, bias=(function(*wide) * weights).expand(8, 8))
                self.close(got, expected)
                out_gradient = torch.randn_like(got)
                found = torch.autograd.grad(got, leaves, out_gradient, allow_unused=True, materialize_grads=True)
                right = torch.autograd.grad(expected, wide, out_gradient.double(), allow_unused=True, materialize_grads=True)
                for one, other in zip(found, right):
                    self.assertLess(float((one - other).abs().max()), 1e-4)

    def test_functions_of_two(self):
        self.check_gradients(
            lambda x, y: torch.lerp(x, y, 0.3), lambda x, y: torch.lerp(x, y, 0.7), lambda x, y: torch.lerp(x, y, y * 0.1),
            lambda x, y: torch.hypot(x, y + 0.1), torch.copysign, lambda x, y: torch.copysign(x, -2.0) * y, torch.fmax, torch.fmin,
            lambda x, y: torch.nan_to_num(x / (y - 1), 2.0, 1.5, -1.5).detach() * x, lambda x, y: torch.atan2(x, y + 0.1),
            lambda x, y: torch.erfc(x) * y, lambda x, y: torch.copysign(x, -0.0 * y.abs()), tables=2)
        values = torch.tensor([math.nan, -1, -0.0, math.inf, -math.inf, 0, 2, math.nan])
        self.check_scores(*[lambda i, j, function=function: function(values[j % 8], values[j // 8 % 8]).clamp(-3, 3) for function in (
            lambda x, y: torch.fmax(x, y).nan_to_num(1.5), lambda x, y: torch.fmin(x, y).nan_to_num(), lambda x, y: x.isposinf() * 1.0,
            lambda x, y: torch.copysign(y.nan_to_num(2.0), x), lambda x, y: torch.signbit(x) * 2.0 + y.isneginf())])

    def test_numbers_before_values(self):
        self.check_scores(
            lambda i, j: 100 % (j + 1) * 0.1, lambda i, j: torch.remainder(-100, j + 1) * 0.1, lambda i, j: (1 << (j % 9)) * 0.1,
            lambda i, j: torch.bitwise_and(6, j) * 0.1, lambda i, j: torch.bitwise_xor(6, j) % 11 * 0.1, lambda i, j: 2 ** (j % 5) * 0.1,
            lambda i, j: 100 // (j + 1) * 0.1, lambda i, j: 7.5 % (j + 1) * 0.1)

    def test_dims_in_another_order(self):
        table, deep = torch.randn(8, 8, requires_grad=True), torch.randn(4, 3, 8, 8, requires_grad=True)
        for place, (function, bias) in enumerate((
                (lambda h, i, j: table.T[j, i], table), (lambda h, i, j: table.mT[j][i], table), (lambda h, i, j: table[:, 2][i], table[:, 2:3]),
                (lambda h, i, j: table[:, -1][j], table[:, -1]), (lambda h, i, j: table.t()[j, i - 8], table),
                (lambda h, i, j: deep.permute(2, 0, 3, 1)[i, h, j, -1], deep[:, 2]),
                (lambda h, i, j: deep[:, 1].transpose(-1, -2)[h, j, i], deep[:, 1]),
                (lambda h, i, j: deep.select(1, 0)[h][i][j - 8], deep[:, 0]),
                (lambda h, i, j: deep.permute(1, 0, 2, 3)[2, h, i, j] * deep.permute(1, 0, 2, 3).shape[0], deep[:, 2] * 3))):
            with self.subTest(place):
                inputs = make_inputs()
                got = fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + function(h, i, j))
                expected = expect(*inputs, bias=bias.expand(4, 8, 8))
                self.close(got, expected)
                out_gradient = torch.randn_like(got)
                found, right = (torch.autograd.grad(result, (table, deep), weights, allow_unused=True, materialize_grads=True, retain_graph=True)
                                for result, weights in ((got, out_gradient), (expected, out_gradient.double())))
                for one, other in zip(found, right):
                    self.assertLess(float((one - other).abs().max()), 1e-4)
        for function, message in ((lambda s, b, h, i, j: s + table[1:][i, j], "a slice of a captured tensor"),
                                  (lambda s, b, h, i, j: s + table.view(-1)[i], "aten.view.default on a whole tensor"),
                                  (lambda s, b, h, i, j: s + table[:, j][i], "without slices beside the value")):
            with self.assertRaisesRegex(fa_mlir.UnsupportedError, message):
                fa_mlir.attention(*make_inputs(), score=function)

    def test_gradients_at_edges(self):
        functional, few = torch.nn.functional, 3.0
        self.check_gradients(
            torch.relu, functional.relu6, functional.hardtanh, lambda x: functional.hardtanh(x, -3, 0.5), functional.hardsigmoid,
            functional.hardswish, lambda x: x.clamp(-1, 3), lambda x: x.clamp(min=0), lambda x: torch.clamp_max(x, 0),
            lambda x: functional.threshold(x, 0.5, 2.0), functional.leaky_relu, functional.selu, functional.softshrink,
            functional.hardshrink, torch.abs, lambda x: torch.logit(x, 0.25), lambda x: x.clamp(-few, few))
        self.check_gradients(lambda x, y: x.clamp(max=y), lambda x, y: torch.clamp(x, y, y.detach() + 3), tables=2)

    def test_ties_and_casts(self):
        """Of equal numbers each has half of the gradient; an integer that is cast has none."""
        self.check_gradients(
            lambda x: torch.maximum(x, x.detach()), lambda x: torch.minimum(x.round(), x.detach().round()) + torch.maximum(x, x) * x,
            lambda x: torch.nn.functional.logsigmoid(x), lambda x: x * (x * 3).long() + x.int(), lambda x: x.to(torch.int8) * 0.5 * x)

    def test_float64(self):
        inputs, bias = make_inputs(), torch.randn(8, 8, dtype=torch.float64, requires_grad=True)
        weights = torch.randn_like(inputs[0])
        for score, added in ((lambda s, b, h, i, j: s + bias[i, j], lambda: bias), (lambda s, b, h, i, j: s + bias[i, 0] * j, lambda: (
                bias[:, :1] * torch.arange(8)))):
            found, = torch.autograd.grad(fa_mlir.attention(*inputs, score=score), bias, weights)
            right, = torch.autograd.grad(expect(*inputs, bias=added()), bias, weights.double())
            self.assertEqual(found.dtype, torch.float64)
            self.close(found, right, 5e-6)

    def test_tables_read_at_the_score(self):
        """Each pair adds to the element that its score says. No score of this seed is near one of another element."""
        torch.manual_seed(1)
        inputs, values = make_inputs(), torch.randn(5)
        weights = torch.randn_like(inputs[0])
        for factor, apply in (1, lambda s, t: s * t), (3, lambda s, t: s + t):
            table, other = values.clone().requires_grad_(), values.double().requires_grad_()
            found, = torch.autograd.grad(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: apply(
                s, table[(s * factor).long().clamp(0, 4)])), table, weights)
            query, key, _value = (tensor.double().transpose(1, 2) for tensor in inputs)
            scores = query @ key.mT / math.sqrt(query.shape[-1])
            change = apply(scores, other[(scores * factor).long().clamp(0, 4)]) - scores
            right, = torch.autograd.grad(expect(*inputs, bias=change), other, weights.double())
            self.close(found, right, 5e-6)

    def test_deterministic_sums(self):
        """Also where captures alone have a gradient."""
        table = torch.randn(8, requires_grad=True)
        module = sys.modules["fa_mlir.attention"]
        for is_asked in False, True:
            with mock.patch.object(module, "_call_torch", wraps=module._call_torch) as called:
                fa_mlir.attention(*make_inputs(), score=lambda s, b, h, i, j: s + table[j], deterministic=is_asked).sum().backward()
            self.assertEqual(from_text(called.call_args.args[1].text).deterministic, is_asked)

    def test_explained_gradient(self):
        """explain() plans as attention() does, which makes the lse for the gradient of a capture."""
        for is_asked in False, True:
            table = torch.randn(8, requires_grad=is_asked)
            found = fa_mlir.explain(*make_inputs(), score=lambda s, b, h, i, j: s + table[j], measure=False)
            self.assertEqual("lse" in found.problem, is_asked)

    def test_one_plan(self):
        """Also where captures alone have a gradient."""
        table = torch.randn(8, requires_grad=True)
        module = sys.modules["fa_mlir.attention"]
        with mock.patch.object(module, "plan", wraps=module.plan) as planned, mock.patch.object(
                tracing, "trace", wraps=tracing.trace) as traced:
            output = fa_mlir.attention(*make_inputs(), score=lambda s, b, h, i, j: s + table[j], mask=lambda b, h, i, j: i >= j)
        self.assertIsNotNone(output.grad_fn)
        self.assertEqual((planned.call_count, traced.call_count), (1, 2))

    def test_what_is_no_number_at_edges(self):
        """NaN stays, and a bound may be one."""
        functional, nan = torch.nn.functional, math.nan
        values = torch.tensor([nan, -1, 0, 1, nan, 4, -math.inf, math.inf])
        others = torch.tensor([0., nan, nan, 0, nan, 3, 1, 2])
        for place, function in enumerate((
                lambda x, y: torch.relu(x), lambda x, y: functional.relu6(x), lambda x, y: functional.hardtanh(x),
                lambda x, y: functional.hardsigmoid(x), lambda x, y: functional.threshold(x, 1.0, 0.0), lambda x, y: x.clamp(-1, 2),
                lambda x, y: x.clamp(min=y), lambda x, y: x.clamp(max=y), lambda x, y: x.clamp(y, y + 1),
                lambda x, y: x.clamp(0, nan), lambda x, y: torch.hypot(x, y),
                lambda x, y: torch.hypot(x * 1e30, y.nan_to_num() * 1e30) * 1e-30,
                lambda x, y: torch.hypot(x * 1e-30, y.nan_to_num() * 1e-30) * 1e30)):
            def count(x, y):
                found = function(x, y)
                return torch.where(found.isnan(), 3.0, found.clamp(-2, 2))
            with self.subTest(place):
                inputs = make_inputs()
                self.close(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + count(values[j], others[j])),
                           expect(*inputs, bias=count(values, others).expand(8, 8)))

    def test_alpha(self):
        """The factor of what is added, by position or by name, a number that is captured too."""
        table, factor, whole = torch.randn(300), 0.3, 3
        scalar = torch.ops.aten.sub.Scalar
        functions = [lambda i, j, operation=operation, rest=rest, alpha=alpha: operation(table[j], rest(i), alpha=alpha) * table[j]
                     for operation in (torch.add, torch.sub, torch.rsub) for alpha in (2, 0.5)
                     for rest in (lambda i: table[i], lambda i: 2, lambda i: 1.5)]
        functions += [lambda i, j: torch.rsub(j, 1, alpha=2) * 0.1, lambda i, j: torch.rsub(j, i, alpha=2) * 0.1,
                      lambda i, j: torch.sub(table[j], i, alpha=2), lambda i, j: torch.add(j, 5, alpha=whole) % 7,
                      lambda i, j: torch.rsub(table[j], 1., alpha=factor), lambda i, j: torch.add(table[j], j % 3, alpha=factor),
                      lambda i, j: scalar(table[j], 1.0, 2) * table[j], lambda i, j: torch.sub(table[j], whole, alpha=whole) * table[j]]
        self.check_scores(*functions)

    def test_hash_of_a_pair(self):
        query, key, value = inputs = make_inputs()
        i, j = torch.arange(8)[:, None], torch.arange(8)
        for factor in (6364136223846793005, 2**63 - 1, 3 * 2**61):
            def mask(b, h, i, j):
                return ((i * factor + j * 1442695040888963407) % 100 < 50) | (i == j)
            self.close(fa_mlir.attention(*inputs, mask=mask), expect(*inputs, mask(0, 0, i, j)))

    def test_positions_keep_simple_code(self):
        """What cannot wrap is known not to be negative: an index needs no choice, a remainder no correction."""
        table = torch.randn(4096)
        for function in (lambda s, b, h, i, j: s + table[i * 3 + j], lambda s, b, h, i, j: s + (i + 5 * j) % 7 + i // 64,
                         lambda s, b, h, i, j: s + table[(i - j).abs() % 7], lambda s, b, h, i, j: s + table[(i * 48 + j) % 100 // 3],
                         lambda s, b, h, i, j: s + table[i.to(torch.int32)] + table[(i - j).clamp(0, 9)] + table[(i - j) & 255],
                         lambda s, b, h, i, j: s + table[torch.where(i > j, i, j)]):
            with self.subTest():
                self.assertEqual(tracing.trace("score", function).clause.count("arith.cmpi slt"), 0)

    def test_quotients_of_floats(self):
        """Where a quotient is rounded to an integer, its rest is not 0."""
        inputs = make_inputs()
        i, j = torch.arange(8)[:, None], torch.arange(8)
        # Of 0 a quotient is infinite, or no number.
        sides = lambda x, y: torch.where(x // y > 0, 1.0, 0.0) - torch.where(x // y < 0, 2.0, 0.0)
        self.close(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + sides(i.float(), j - 3.0)),
                   expect(*inputs, bias=sides(i.float(), j - 3.0)), 4e-6)
        for divisor in 0.1, -0.1, 0.3, -3.0, 2.5, math.inf:
            for name, divide in (("rest", lambda x: 4 * (x % divisor)), ("quotient", lambda x: x // divisor),
                                 ("fmod", lambda x: torch.fmod(x, divisor))):
                if name == "rest" and divisor == math.inf:
                    continue
                with self.subTest(name, divisor=divisor):
                    self.close(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + divide((j - i).float())),
                               expect(*inputs, bias=divide((j - i).float())), 4e-6)

    def test_integer_powers(self):
        inputs = make_inputs()
        i, j = torch.arange(8)[:, None], torch.arange(8)
        for power in 0, 3, 9, 14:
            self.close(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + (i - j) ** power * 8.0 ** -power),
                       expect(*inputs, bias=(i - j) ** power * 8.0 ** -power), 4e-6)
        for power in 3, 4:
            self.close(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + 0.01 * (i - j) ** power),
                       expect(*inputs, bias=0.01 * (i - j) ** power), 4e-6)
        # Of a table, which is known when it runs; torch refuses negative ones.
        exponents = torch.tensor([0, 2, 5])
        self.close(fa_mlir.attention(*inputs, score=lambda s, b, h, i, j: s + (i - j) ** exponents[j % 3] * 8.0 ** -5),
                   expect(*inputs, bias=(i - j) ** exponents[j % 3] * 8.0 ** -5), 4e-6)


if __name__ == "__main__":
    unittest.main()
