#!/usr/bin/env python3
"""Times gradients of attention beside FlashAttention-4 and torch's backends, on one GPU and in one interleaved run.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only 'sm_90a_backward*' --out KERNELS   (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/gradients.py --kernels KERNELS --out DIR

A launch computes dq, dk and dv from q, k, v, o, the log-sum-exp and do; everything before and behind the
main kernel is inside the figures, of this project and of the peers. Gradients are compared with float64
first, on some heads, and one that is wrong is not timed. Work is 10 x visible pairs x head dim, the five
products that any backward needs.
"""

import math
import sys

import torch

import bars
import cases
import options
from bench import PEER_BOUND, TYPES, Bench
from check import GradientReference, causal
from kernels import Kernels
from peers import find_flash_attention, torch_backend
from torch.nn.attention import SDPBackend

# Relative errors of gradients: P and dS are rounded to 16 bits on their way into products.
BOUND = {"bf16": 6e-3, "f16": 1e-3, "f32": 2e-6}


def by_autograd(forward, inputs, gradient):
    """A launch of autograd's backward of what `forward` gives, or None where it takes no such case."""
    if forward is None:
        return None
    output = forward()
    return lambda: torch.autograd.grad(output, inputs, gradient, retain_graph=True)


def find_peers(wanted, say):
    """Makers by name: (case, q, k, v) to a function that computes the output under autograd."""
    peers = {}
    flash = find_flash_attention(say)
    if "fa4" in flash:
        peers["fa4"] = lambda case, q, k, v: lambda: flash["fa4"].flash_attn_func(q, k, v, causal=case.causal)[0]
    peers["cudnn"] = torch_backend(SDPBackend.CUDNN_ATTENTION, ("bf16", "f16"))
    peers["fa2"] = torch_backend(SDPBackend.FLASH_ATTENTION, ("bf16", "f16"))
    peers["math"] = torch_backend(SDPBackend.MATH, ("f32",))
    peers["efficient"] = torch_backend(SDPBackend.EFFICIENT_ATTENTION, ("f32",))
    return {name: make for name, make in peers.items() if wanted is None or name in wanted}


def forward_results(case, q, k, v):
    """The output and the log-sum-exp of each row (batch, heads, queries), in float32 arithmetic by torch."""
    group = q.shape[2] // k.shape[2]
    query = q.transpose(1, 2)
    key, value = (x.repeat_interleave(group, 2).transpose(1, 2) for x in (k, v))
    if case.element == "f32":
        found = torch.ops.aten._scaled_dot_product_efficient_attention(query, key, value, None, True, 0.0, case.causal)
    else:
        found = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, 0.0, case.causal)
    return found[0].transpose(1, 2).contiguous(), found[1][..., :q.shape[1]].contiguous()


class Gradients:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bench = Bench(arguments.seed, {"burst": arguments.rounds}, arguments.kernels, arguments.out,
                           f"{arguments.form}-gradients-{'-'.join(arguments.elements)}")
        self.kernels = Kernels(arguments.kernels, arguments.form)
        self.before = Kernels(arguments.before, arguments.form) if arguments.before else None
        self.peers = find_peers(arguments.peers, self.bench.note)

    def make(self, kernels, kernel, q, k, v, output, lse, gradient):
        """A launch that gives (dq, dk, dv), which start as NaN."""
        gradients = [torch.full_like(x, math.nan) for x in (q, k, v)]
        launch = kernels.make(kernel, q, k, v, output=output, lse=lse, output_gradient=gradient,
                                   **dict(zip(("query_gradient", "key_gradient", "value_gradient"), gradients)))

        def run():
            launch()
            return gradients
        return run

    def cell(self, case):
        torch.manual_seed(self.arguments.seed)
        shapes = ((case.queries, case.query_heads), (case.keys, case.key_heads), (case.keys, case.key_heads),
                  (case.queries, case.query_heads))
        q, k, v, gradient = (torch.randn(case.batch, n, heads, case.head_dim, device="cuda", dtype=TYPES[case.element])
                             for n, heads in shapes)
        with torch.no_grad():
            output, lse = forward_results(case, q, k, v)
            reference = GradientReference(q, k, v, gradient, mask=causal(case.queries, case.keys) if case.causal else None)
        own = [kernel for suffix in ("", "_deterministic")
               for kernel in self.kernels.find(f"gradient_{case.problem}{suffix}", case.head_dim, case.element)
               if kernel.kind in self.arguments.kinds]
        prepared = []
        for kernels, suffix in ((self.kernels, ""), (self.before, " before")):
            prepared += [self.bench.prepare(case.name, kernel.name + suffix,
                                            lambda: self.make(kernels, kernel, q, k, v, output, lse, gradient),
                                            reference, BOUND[case.element], is_own=not suffix)
                         for kernel in (kernels.also(own) if kernels else [])]
        inputs = [x.detach().requires_grad_() for x in (q, k, v)]
        prepared += [self.bench.prepare(case.name, name,
                                        lambda: by_autograd(make(case, *inputs), inputs, gradient),
                                        reference, PEER_BOUND[case.element]) for name, make in self.peers.items()]
        names = {kind: [kernel.name for kernel in own if kernel.kind == kind] for kind in ("derived", "written")}
        self.bench.measure(prepared, names["derived"], names["written"], 5 * case.operations // 2, case=case.name,
                           part="gradients", group=case.group, label=case.name.split()[-1], element=case.element,
                           head_dim=case.head_dim, length=case.keys, form=self.arguments.form)


def parse():
    parser = options.make_parser(__doc__, "fa4 cudnn fa2 math efficient", rounds=7)
    options.add_shapes(parser, [512, 1000, 1024, 2048, 3000, 4096, 6000, 8192, 12288, 16384],
                       grouped="also 64 query heads on 8 key heads")
    parser.add_argument("--masks", nargs="+", choices=["full", "causal"], default=["full", "causal"])
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    # f32 is f32, in what torch computes beside us too.
    torch.backends.cuda.matmul.allow_tf32 = False
    gradients = Gradients(arguments)
    for element in arguments.elements:
        wanted = cases.forward_cases(arguments.head_dims, arguments.lengths, element, arguments.tokens, arguments.hidden)
        if arguments.grouped:
            wanted += [case for case in cases.grouped_cases(element) if case.queries == case.keys]
        for case in wanted:
            if not gradients.bench.is_stopped and case.problem in arguments.masks:
                gradients.cell(case)
                torch.cuda.empty_cache()
    results = gradients.bench.write(bars=bars.judge(gradients.bench.cells))
    bars.show(results["bars"])
    return 1 if gradients.bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
