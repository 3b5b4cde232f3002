#!/usr/bin/env python3
"""Times attention with dropout, and its gradients, beside torch's FLASH backend with dropout, in one interleaved run.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only '*_full_*bf16' '*_causal_*bf16' --out KERNELS   (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/dropout.py --kernels KERNELS --out DIR

This project's kernels without dropout take part too. Its masks are drawn again in torch for float64; torch's are its own, so
that its results are only looked at for NaN. Work is counted as without dropout.
"""

import math
import sys

import torch
from torch.nn.attention import SDPBackend

import bars
import cases
import options
from bench import BOUND, TYPES, Bench
from check import GradientReference, Reference, attention, causal
from gradients import BOUND as GRADIENT_BOUND
from gradients import by_autograd
from kernels import Kernels
from peers import torch_backend

WORD = 0xFFFFFFFF


def philox(counter, key):
    """Philox 4x32-10 (Salmon et al. 2011) of words in int64, whose products wrap."""
    for _ in range(10):
        a, b = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [b >> 32 & WORD ^ counter[1] ^ key[0], b & WORD, a >> 32 & WORD ^ counter[3] ^ key[1], a & WORD]
        key = [key[0] + 0x9E3779B9 & WORD, key[1] + 0xBB67AE85 & WORD]
    return counter


def factors(p, seed, offset):
    """What weights are multiplied by, as `check.Reference` takes it: fa.dropout of docs/Reference/FA.md."""
    def of_head(b, h):
        def of_pairs(i, j):
            i, j = torch.broadcast_tensors(i, j)
            counter = [j & ~9, i & ~9, torch.full_like(i, (b << 16) + h), torch.full_like(i, offset & WORD)]
            words = torch.stack(philox(counter, [seed & WORD, (seed >> 32) + (offset >> 32) & WORD]))
            word = words.gather(0, ((i & 8) // 4 + (j & 8) // 8)[None])[0]
            common = words[0] ^ words[1] ^ words[2] ^ words[3]
            number = (word >> 16 * (i & 1) + 8 * (j & 1) & 0xFF) << 8 | common & 0xFF
            return (number / 2.0**16 >= p).double() / (1 - p)
        return of_pairs
    return of_head


class Finite:
    """Stands for float64 where nothing says which weights were dropped."""

    def error(self, found):
        found = found if isinstance(found, (list, tuple)) else [found]
        return 0.0 if all(x.isfinite().all() for x in found) else math.nan


class Dropout:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bench = Bench(arguments.seed, {"burst": arguments.rounds}, arguments.kernels, arguments.out,
                           f"{arguments.form}-dropout-{'-'.join(arguments.elements)}")
        self.kernels = Kernels(arguments.kernels, arguments.form)
        self.peer = torch_backend(SDPBackend.FLASH_ATTENTION, ("bf16", "f16"), arguments.p)
        numbers = {"seed": 2**40 + 7, "offset": 2**33 + arguments.seed}
        self.factor = factors(float(torch.tensor(arguments.p)), **numbers)
        self.values = {name: torch.tensor(value, device="cuda") for name, value in numbers.items()} | {"p": arguments.p}

    def own(self, case, problem):
        return self.kernels.find(problem, case.head_dim, case.element)

    def measure(self, case, what, prepared, own, operations):
        self.bench.measure(prepared, [kernel.name for kernel in own], [], operations, case=f"{what} {case.name}",
                           part="dropout", group=f"{what} {case.group}", label=case.name.split()[-1], element=case.element,
                           head_dim=case.head_dim, length=case.keys, form=self.arguments.form)

    def forward(self, case, tensors, mask):
        own, bench = self.own(case, f"dropout_{case.problem}"), self.bench
        reference, plain = Reference(*tensors, mask=mask, factor=self.factor), Reference(*tensors, mask=mask)
        prepared = [bench.prepare(case.name, kernel.name, lambda: self.kernels.make(kernel, *tensors, **self.values),
                                  reference, BOUND[case.element], is_own=True) for kernel in own]
        prepared += [bench.prepare(case.name, "without dropout", lambda: self.kernels.make(kernel, *tensors), plain,
                                   BOUND[case.element]) for kernel in self.own(case, case.problem)[:1]]
        prepared.append(bench.prepare(case.name, "fa2", lambda: self.peer(case, *tensors), Finite(), 1))
        self.measure(case, "forward", prepared, own, case.operations)

    def gradients(self, case, tensors, gradient, mask):
        own, bench = self.own(case, f"gradient_dropout_{case.problem}"), self.bench
        prepared = []
        for kernels, factor, name in ((own, self.factor, None),
                                      (self.own(case, f"gradient_{case.problem}")[:1], None, "without dropout")):
            if not kernels:
                continue
            output, lse = self.results(case, tensors, mask, factor)
            reference = GradientReference(*tensors, gradient, mask=mask, factor=factor)
            prepared += [bench.prepare(case.name, name or kernel.name,
                                       lambda: self.make_gradient(kernel, tensors, output, lse, gradient),
                                       reference, GRADIENT_BOUND[case.element], is_own=not name) for kernel in kernels]
        inputs = [x.detach().requires_grad_() for x in tensors]
        with torch.enable_grad():
            prepared.append(bench.prepare(case.name, "fa2", lambda: by_autograd(self.peer(case, *inputs), inputs, gradient),
                                          Finite(), 1))
        self.measure(case, "gradients", prepared, own, 5 * case.operations // 2)

    def results(self, case, tensors, mask, factor):
        """The output and the log-sum-exp (batch, heads, queries) of all heads, from float64."""
        q, k, v = tensors
        output, lse = torch.empty_like(q), torch.empty(q.shape[0], q.shape[2], q.shape[1], device=q.device)
        for b in range(q.shape[0]):
            for h in range(q.shape[2]):
                output[b, :, h], lse[b, h] = attention(q[b, :, h], k[b, :, h], v[b, :, h], None, mask and mask(b, h), lse=True,
                                                       factor=factor and factor(b, h))
        return output, lse

    def make_gradient(self, kernel, tensors, output, lse, gradient):
        found = [torch.full_like(x, math.nan) for x in tensors]
        names = ("query_gradient", "key_gradient", "value_gradient")
        launch = self.kernels.make(kernel, *tensors, output=output, lse=lse, output_gradient=gradient,
                                   **dict(zip(names, found)), **self.values)

        def run():
            launch()
            return found
        return run

    def cell(self, case):
        torch.manual_seed(self.arguments.seed)
        *tensors, gradient = (torch.randn(case.batch, case.queries, case.query_heads, case.head_dim, device="cuda",
                                          dtype=TYPES[case.element]) for _ in range(4))
        mask = causal(case.queries, case.keys) if case.causal else None
        if "forward" in self.arguments.parts:
            self.forward(case, tensors, mask)
        if "gradients" in self.arguments.parts:
            self.gradients(case, tensors, gradient, mask)


def parse():
    parser = options.make_parser(__doc__, "fa2", rounds=7)
    options.add_shapes(parser, [1024, 4096, 8192], grouped="not used")
    parser.set_defaults(head_dims=[64, 128])
    parser.add_argument("--p", type=float, default=0.1)
    parser.add_argument("--parts", nargs="+", choices=["forward", "gradients"], default=["forward", "gradients"])
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    dropout = Dropout(arguments)
    with torch.no_grad():
        for element in arguments.elements:
            for case in cases.forward_cases(arguments.head_dims, arguments.lengths, element, arguments.tokens, arguments.hidden):
                if not dropout.bench.is_stopped:
                    dropout.cell(case)
                    torch.cuda.empty_cache()
    results = dropout.bench.write(bars=bars.judge(dropout.bench.cells))
    bars.show(results["bars"])
    return 1 if dropout.bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
