#!/usr/bin/env python3
"""Times attention with score functions and masks beside those who can compute the same functions:
FlexAttention's Triton and FLASH backends, FlashAttention-3 and -4, in one interleaved run.

    python3 benchmarks/gpu/compile.py --chips sm_90a --out KERNELS        (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/masks.py --kernels KERNELS --out DIR

bf16, 2 sequences of 8192 tokens, 16 heads of 128, unless options say otherwise. Outputs are compared with
float64 on some heads first. Work is counted by the pairs that a mask leaves.
"""

import argparse
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

import torch

import bars
import flex
from bench import BOUND, PEER_BOUND, Bench
from check import Reference
from kernels import Kernels
from peers import find_flash_attention

HEAD_DIM = 128
DOCUMENT = 1000
# Scores of standard normal inputs are about 1, so that this cap bends them.
CAP = 2.0


@dataclass
class Case:
    """One function of scores or one mask, said to each contestant in its own way."""

    name: str
    # The text in problems/ and the values of its arguments.
    problem: str
    values: dict
    # Pairs of a query and a key that it sees, of one head.
    pairs: int
    # For float64: (batch, head) to a function as `check.attention` takes it.
    score: Optional[Callable] = None
    mask: Optional[Callable] = None
    # For FlexAttention.
    flex_score: Optional[Callable] = None
    flex_mask: Optional[Callable] = None
    # Arguments of FlashAttention-3 and -4, by peer; one that is not there cannot compute it.
    flash: dict = field(default_factory=dict)
    # Values that have a gradient.
    captured: tuple = ()


def alibi(heads, length):
    slopes = torch.exp2(-8 * torch.arange(1, heads + 1, device="cuda") / heads)
    return Case("alibi", "alibi", {"slopes": slopes}, length * length,
                score=lambda b, h: lambda s, i, j: s - slopes[h].double() * (i - j).abs(),
                flex_score=lambda s, b, h, i, j: s - slopes[h] * (i - j).float().abs())


def softcap(heads, length):
    return Case("softcap", "softcap", {"cap": CAP}, length * length,
                score=lambda b, h: lambda s, i, j: CAP * torch.tanh(s / CAP),
                flex_score=lambda s, b, h, i, j: CAP * torch.tanh(s / CAP),
                flash={"fa3": {"softcap": CAP}, "fa4": {"softcap": CAP}})


def approx_softcap(heads, length):
    """The `tanh` of FlashAttention-3 is the approximate one, too."""
    case = softcap(heads, length)
    case.name, case.problem = "approx_softcap", "approx_softcap"
    return case


def bias(heads, length):
    table = torch.randn(heads, length, length, device="cuda", dtype=torch.bfloat16)
    return Case("bias", "bias", {"bias": table[None]}, length * length,
                score=lambda b, h: lambda s, i, j: s + table[h, i, j].double(),
                flex_score=lambda s, b, h, i, j: s + table[h, i, j])


def window(size):
    """Each query sees itself and the keys before it, `size` in all."""
    def make(heads, length):
        return Case(f"window {size}", "window", {"left": size - 1, "right": 0},
                    sum(min(i + 1, size) for i in range(length)),
                    mask=lambda b, h: lambda i, j: (i >= j) & (i - j < size),
                    flex_mask=lambda b, h, i, j: (i >= j) & (i - j < size),
                    flash={"fa4": {"window_size": (size - 1, 0)}})
    return make


def documents(heads, length):
    ids = torch.arange(length, device="cuda", dtype=torch.int32) // DOCUMENT
    return Case("documents", "documents", {"documents": ids}, int(ids.bincount().square().sum()),
                mask=lambda b, h: lambda i, j: ids[i] == ids[j],
                flex_mask=lambda b, h, i, j: ids[i] == ids[j])


CASES = {"alibi": alibi, "softcap": softcap, "approx_softcap": approx_softcap, "bias": bias, "window256": window(256),
         "window1024": window(1024), "documents": documents}


class Masks:
    part = "masks"

    def __init__(self, arguments):
        self.arguments = arguments
        self.bench = Bench(arguments.seed, {"burst": arguments.rounds}, arguments.kernels, arguments.out,
                           f"{arguments.form}-{self.part}")
        self.kernels = Kernels(arguments.kernels, arguments.form)
        self.flash = find_flash_attention(self.bench.note)
        self.flex = flex.find_backends(self.bench.note, has_flash="fa4" in self.flash)

    def makers(self, case, q, k, v):
        """Launches of the peers that can compute the case, by name."""
        makers = {name: lambda call=call: call(case, q, k, v) for name, call in self.flex.items()}
        for name, module in self.flash.items():
            if name in case.flash:
                makers[name] = lambda name=name, module=module: self.make_flash(
                    name, module, case.flash[name], q, k, v)
        return makers

    def make_flash(self, name, module, options, q, k, v):
        def launch():
            result = module.flash_attn_func(q, k, v, **options)
            return result[0] if isinstance(result, tuple) else result
        return launch

    def draw(self, count):
        """Random tensors (batch, length, heads, head dim), the same for each case."""
        torch.manual_seed(self.arguments.seed)
        shape = self.arguments.batch, self.arguments.length, self.arguments.heads, HEAD_DIM
        return [torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(count)]

    def captures(self, case):
        """What a kernel takes beside tensors, by its names: ids of documents for each sequence."""
        return {name: value.expand(self.arguments.batch, -1).contiguous() if name == "documents" else value
                for name, value in case.values.items()}

    def cell(self, case):
        arguments, bench = self.arguments, self.bench
        q, k, v = self.draw(3)
        reference = Reference(q, k, v, case.score, case.mask)
        values = self.captures(case)
        own = self.kernels.find(case.problem, HEAD_DIM, "bf16")
        if not own:
            bench.note(f"no kernel for {case.problem} in {arguments.kernels}")
        prepared = [bench.prepare(case.name, kernel.name, lambda: self.kernels.make(kernel, q, k, v, **values),
                                  reference, BOUND["bf16"], is_own=True) for kernel in own]
        prepared += [bench.prepare(case.name, name, make, reference, PEER_BOUND["bf16"])
                     for name, make in self.makers(case, q, k, v).items()]
        bench.measure(prepared, [kernel.name for kernel in own], [],
                      4 * arguments.batch * arguments.heads * HEAD_DIM * case.pairs, case=case.name,
                      part="masks", group="scores and masks", label=case.name, element="bf16", head_dim=HEAD_DIM,
                      length=arguments.length, form=arguments.form)


def parse(description, cases):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON, the table and the plot")
    parser.add_argument("--chip", dest="form", choices=["sm_90a", "sm_80"], default="sm_90a")
    parser.add_argument("--cases", nargs="+", choices=cases, default=cases)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def run(contest, arguments):
    """Times the cases that were asked for; gives the exit status."""
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    masks = contest(arguments)
    for name in arguments.cases:
        if not masks.bench.is_stopped:
            masks.cell(CASES[name](arguments.heads, arguments.length))
            torch.cuda.empty_cache()
    results = masks.bench.write(bars=bars.judge(masks.bench.cells))
    bars.show(results["bars"])
    return 1 if masks.bench.failed else 0


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(run(Masks, parse(__doc__, list(CASES))))
