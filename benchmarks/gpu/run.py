#!/usr/bin/env python3
"""Times kernels of this project beside what is installed of FlashAttention-3 and -4, torch's
backends, and reference cubins, on one GPU and in one interleaved run.

    python3 benchmarks/gpu/compile.py --out KERNELS           (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/run.py --kernels KERNELS --out DIR

Only the kernels' images and manifests, the launcher's library and python/ are needed on the GPU's
machine. Kernels derived from problems and those written by hand take part side by side
(kernels.json). Each output is compared with float64 first; one that is wrong is reported and not
timed. Ratios above 1 say that this project is faster; their 95 % intervals are over the rounds.

f16 runs beside the bf16 kernel on the same numbers, rounded ("own bf16"). f32 runs beside torch's math
backend in f32, without reduced precision.
"""

import sys
from dataclasses import replace
from pathlib import Path

import torch

import bars
import cases
import options
from bench import BOUND, PEER_BOUND, TYPES, Bench
from check import Reference, causal
from kernels import Kernels
from peers import find_peers


class Forward:
    """Cells of plain and causal attention."""

    def __init__(self, arguments):
        self.arguments = arguments
        rounds = {"burst": arguments.rounds, "sustained": arguments.sustained_rounds}
        part = "-".join([arguments.form, *arguments.elements])
        self.bench = Bench(arguments.seed, {mode: rounds[mode] for mode in arguments.modes}, arguments.kernels,
                           arguments.out, part)
        self.kernels = Kernels(arguments.kernels, arguments.form)
        self.before = Kernels(arguments.before, arguments.form) if arguments.before else None
        self.peers = find_peers(arguments.reference, self.bench.note)
        if arguments.peers is not None:
            self.peers = {name: self.peers[name] for name in arguments.peers if name in self.peers}

    def find_kernels(self, case, element):
        return [kernel for kernel in self.kernels.find(case.problem, case.head_dim, element)
                if kernel.kind in self.arguments.kinds]

    def reference(self, case, tensors):
        return Reference(*tensors, mask=causal(case.queries, case.keys) if case.causal else None)

    def prepare_own(self, case, tensors, reference, kernels, name=None):
        """`name`: of a kernel that takes part as somebody else."""
        return [self.bench.prepare(case.name, name or kernel.name, lambda: self.kernels.make(kernel, *tensors),
                                   reference, BOUND[kernel.element], is_own=True) for kernel in kernels]

    def prepare_before(self, case, tensors, reference, kernels):
        """The kernels of another build, as peers."""
        if not self.before:
            return []
        return [self.bench.prepare(case.name, f"{kernel.name} before", lambda: self.before.make(kernel, *tensors),
                                   reference, BOUND[kernel.element]) for kernel in self.before.also(kernels)]

    def prepare_bf16(self, case, tensors):
        """What an f16 kernel is held to: the bf16 kernel on the numbers rounded to bf16, and a peer in bf16. The
        f16 kernel on these numbers says what the bits of the numbers do to the clock."""
        rounded = [x.bfloat16() for x in tensors]
        reference, in_bf16 = self.reference(case, rounded), replace(case, element="bf16")
        derived = [[kernel for kernel in self.find_kernels(case, element) if kernel.kind == "derived"]
                   for element in ("bf16", "f16")]
        prepared = self.prepare_own(case, rounded, reference, derived[0], "own bf16")
        prepared += self.prepare_own(case, [x.half() for x in rounded], reference, derived[1], "own f16, rounded")
        if "cudnn" in self.peers:
            prepared.append(self.bench.prepare(case.name, "cudnn bf16", lambda: self.peers["cudnn"](in_bf16, *rounded),
                                               reference, PEER_BOUND["bf16"]))
        return prepared

    def cell(self, case):
        torch.manual_seed(self.arguments.seed)
        shapes = ((case.queries, case.query_heads), (case.keys, case.key_heads), (case.keys, case.key_heads))
        tensors = [torch.randn(case.batch, n, heads, case.head_dim, device="cuda", dtype=TYPES[case.element])
                   for n, heads in shapes]
        own = self.find_kernels(case, case.element)
        reference = self.reference(case, tensors)
        prepared = self.prepare_own(case, tensors, reference, own) + self.prepare_before(case, tensors, reference, own)
        if case.element == "f16":
            prepared += self.prepare_bf16(case, tensors)
        prepared += [self.bench.prepare(case.name, name, lambda: make(case, *tensors), reference,
                                        PEER_BOUND[case.element]) for name, make in self.peers.items()]
        names = {kind: [kernel.name for kernel in own if kernel.kind == kind] for kind in ("derived", "written")}
        self.bench.measure(prepared, names["derived"], names["written"], case.operations, case=case.name, part="forward",
                           group=case.group, label=case.name.split()[-1], element=case.element,
                           head_dim=case.head_dim, length=case.keys, form=self.arguments.form)


def parse():
    parser = options.make_parser(__doc__, "fa3 fa4 cudnn fa2 math efficient reference", rounds=11)
    options.add_shapes(parser, [512, 1024, 2048, 4096, 8192, 16384],
                       grouped="also grouped heads and few queries on many keys")
    parser.add_argument("--reference", type=Path, help="folder of reference cubins and their launch.py")
    parser.add_argument("--modes", nargs="+", choices=["burst", "sustained"], default=["burst"])
    parser.add_argument("--sustained-rounds", type=int, default=5)
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    # f32 is f32, in what torch computes beside us too.
    torch.backends.cuda.matmul.allow_tf32 = False
    forward = Forward(arguments)
    wanted = [case for element in arguments.elements
              for case in cases.forward_cases(arguments.head_dims, arguments.lengths, element, arguments.tokens, arguments.hidden)
              + (cases.grouped_cases(element) if arguments.grouped else [])]
    with torch.no_grad():
        for case in wanted:
            if not forward.bench.is_stopped:
                forward.cell(case)
                torch.cuda.empty_cache()
    results = forward.bench.write(bars=bars.judge(forward.bench.cells))
    bars.show(results["bars"])
    return 1 if forward.bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
