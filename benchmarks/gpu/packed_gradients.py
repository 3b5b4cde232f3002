#!/usr/bin/env python3
"""Times gradients of packed documents beside the varlen backward of FlashAttention-4 and -2, on one GPU and in one interleaved run.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only '*packed_gradient*' --out KERNELS   (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/packed_gradients.py --kernels KERNELS --out DIR

A launch computes dq, dk and dv from q, k, v, o, the log-sum-exp and do; what comes before and behind the main kernel is
inside the figures, of this project and of the peers. Gradients are compared with float64 first, on some heads of some
documents, and one that is wrong is not timed. Calls take sets of operands in turn that L2 does not hold together. Work is
10 x visible pairs x head dim.
"""

import itertools
import math
import sys

import torch

import bars
import options
from bench import PEER_BOUND, TYPES, Bench
from check import gradients
from gradients import BOUND, by_autograd
from kernels import Kernels
from peers import find_flash_attention
from serving import DOCUMENTS, documents, in_turns, starts_of

HEADS, SETS = 16, 4


def forward_results(q, k, v, lengths, is_causal):
    """The output (rows, heads, head dim), and the log-sum-exp of each row (heads, rows), in float32 arithmetic."""
    outputs, sums = [], []
    for query, key, value in zip(*(x.float().split(lengths) for x in (q, k, v))):
        scores = torch.einsum("ihd,jhd->hij", query, key) / math.sqrt(q.shape[-1])
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[1:], dtype=torch.bool, device=q.device).triu(1), -math.inf)
        sums.append(scores.logsumexp(-1))
        outputs.append(torch.einsum("hij,jhd->ihd", scores.softmax(-1), value))
    return torch.cat(outputs).to(q.dtype), torch.cat(sums, 1).contiguous()


class PackedGradientReference:
    """dq, dk and dv of some heads of some documents in float64."""

    def __init__(self, q, k, v, gradient, lengths, is_causal):
        self.parts, starts = [], [0, *itertools.accumulate(lengths)]
        mask = (lambda i, j: j <= i) if is_causal else None
        for i in range(0, len(lengths), 9):
            rows = slice(starts[i], starts[i + 1])
            self.parts += [(rows, h, gradients(q[rows, h], k[rows, h], v[rows, h], gradient[rows, h], mask=mask))
                           for h in (0, q.shape[1] // 2, q.shape[1] - 1)]

    def error(self, found):
        """The largest of the three gradients' errors, each the norm of the difference over that of the reference."""
        errors = []
        for number, got in enumerate(found):
            difference = sum((got[rows, h].double() - want[number]).norm() ** 2 for rows, h, want in self.parts)
            errors.append((difference / sum(want[number].norm() ** 2 for _, _, want in self.parts)).sqrt().item())
        return math.nan if any(map(math.isnan, errors)) else max(errors)


def find_peers(wanted, say):
    """Makers by name: (q, k, v, starts, longest, is_causal) to the output under autograd."""
    flash, peers = find_flash_attention(say), {}
    if "fa4" in flash:
        peers["fa4"] = lambda q, k, v, starts, longest, is_causal: flash["fa4"].flash_attn_varlen_func(
            q, k, v, cu_seqlens_q=starts, cu_seqlens_k=starts, max_seqlen_q=longest, max_seqlen_k=longest, causal=is_causal)[0]
    try:
        from torch.nn.attention.varlen import varlen_attn
        peers["fa2"] = lambda q, k, v, starts, longest, is_causal: varlen_attn(
            q, k, v, starts, starts, longest, longest, window_size=(-1, 0) if is_causal else (-1, -1))
    except ImportError as error:
        say(f"torch's varlen_attn is not available: {error}")
    return {name: make for name, make in peers.items() if wanted is None or name in wanted}


class PackedGradients:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bench = Bench(arguments.seed, {"burst": arguments.rounds}, arguments.kernels, arguments.out,
                           f"{arguments.form}-packed-gradients-{'-'.join(arguments.elements)}")
        self.kernels = Kernels(arguments.kernels, arguments.form)
        self.before = Kernels(arguments.before, arguments.form) if arguments.before else None
        self.peers = find_peers(arguments.peers, self.bench.note)

    def make(self, kernels, kernel, given, starts):
        """A launch that gives (dq, dk, dv), which start as NaN."""
        q, k, v, gradient, output, lse = given
        found = [torch.full_like(x, math.nan) for x in (q, k, v)]
        launch = kernels.make_packed(kernel, output, query=q, key=k, value=v, lse=lse, output_gradient=gradient,
                                     query_starts=starts, key_starts=starts,
                                     **dict(zip(("query_gradient", "key_gradient", "value_gradient"), found)))

        def run():
            launch()
            return found
        return run

    def cell(self, kind, element, head_dim, is_causal):
        lengths = documents(kind)
        starts, rows, longest = starts_of(lengths), sum(lengths), max(lengths)
        torch.manual_seed(self.arguments.seed)
        sets = []
        for _ in range(SETS):
            operands = [torch.randn(rows, HEADS, head_dim, device="cuda", dtype=TYPES[element]) for _ in range(4)]
            sets.append((*operands, *forward_results(*operands[:3], lengths, is_causal)))
        reference = PackedGradientReference(*sets[0][:4], lengths, is_causal)
        problem = f"packed_gradient_{'causal' if is_causal else 'full'}"
        name = f"{element} d{head_dim} {kind} documents {'causal' if is_causal else 'full'}"
        own = [kernel for suffix in ("", "_deterministic") for kernel in self.kernels.find(problem + suffix, head_dim, element)]
        prepared = [self.bench.prepare(name, kernel.name + suffix,
                                       lambda: in_turns([self.make(kernels, kernel, each, starts) for each in sets]),
                                       reference, BOUND[element], is_own=not suffix)
                    for kernels, suffix in ((self.kernels, ""), (self.before, " before")) if kernels
                    for kernel in kernels.also(own)]

        def of_peer(make):
            launches = []
            for q, k, v, gradient, *_ in sets:
                inputs = [x.detach().requires_grad_() for x in (q, k, v)]
                forward = lambda inputs=inputs: make(*inputs, starts, longest, is_causal)
                launches.append(by_autograd(forward, inputs, gradient))
            return in_turns(launches)

        prepared += [self.bench.prepare(name, peer, lambda: of_peer(make), reference, PEER_BOUND[element])
                     for peer, make in self.peers.items()]
        pairs = sum(n * (n + 1) // 2 if is_causal else n * n for n in lengths)
        names = {word: [kernel.name for kernel in own if kernel.kind == word] for word in ("derived", "written")}
        self.bench.measure(prepared, names["derived"], names["written"], 10 * HEADS * head_dim * pairs, case=name,
                           part="packed gradients", group=f"{element} d{head_dim} packed",
                           label=f"{kind} {'causal' if is_causal else 'full'}", element=element, head_dim=head_dim,
                           length=longest, form=self.arguments.form)


def parse():
    parser = options.make_parser(__doc__, "fa4 fa2", rounds=7)
    parser.add_argument("--head-dims", type=options.integers, default=[64, 128])
    parser.add_argument("--documents", nargs="*", choices=DOCUMENTS, default=["short", "random"])
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    packed = PackedGradients(arguments)
    for element, head_dim, kind, is_causal in itertools.product(arguments.elements, arguments.head_dims, arguments.documents,
                                                                (False, True)):
        if not packed.bench.is_stopped:
            packed.cell(kind, element, head_dim, is_causal)
            torch.cuda.empty_cache()
    results = packed.bench.write(bars=bars.judge(packed.bench.cells))
    bars.show(results["bars"])
    return 1 if packed.bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
