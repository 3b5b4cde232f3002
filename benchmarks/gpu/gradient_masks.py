#!/usr/bin/env python3
"""Times gradients of attention with score functions and masks beside FlexAttention's Triton and FLASH backends and
FlashAttention-3 and -4, where they have a backward of the function, in one interleaved run.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only '*_gradient_*' --out KERNELS        (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/gradient_masks.py --kernels KERNELS --out DIR

bf16, 2 sequences of 8192 tokens, 16 heads of 128, unless options say otherwise. Gradients are compared with float64 on
some heads first. Work is counted as in gradients.py, by the pairs that a mask leaves.
"""

import math
import sys

import torch

from bench import PEER_BOUND
from check import GradientReference, attention
from gradients import BOUND, by_autograd
from masks import HEAD_DIM, Masks, parse, run

CASES = ["alibi", "softcap", "window256", "window1024", "documents"]


def forward_results(case, q, k, v):
    """The output, and the log-sum-exp (batch, heads, queries), of each head in float64, rounded."""
    output = torch.empty_like(q)
    lse = torch.empty(q.shape[0], q.shape[2], q.shape[1], device=q.device)
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            output[b, :, h], lse[b, h] = attention(q[b, :, h], k[b, :, h], v[b, :, h], case.score and case.score(b, h),
                                                   case.mask and case.mask(b, h), lse=True)
    return output, lse


class GradientMasks(Masks):
    part = "gradient-masks"

    def make(self, kernel, inputs, values):
        """A launch that gives (dq, dk, dv), which start as NaN."""
        found = [torch.full_like(x, math.nan) for x in inputs]
        names = "query_gradient", "key_gradient", "value_gradient"
        launch = self.kernels.make(kernel, *inputs, **values, **dict(zip(names, found)))

        def launch_all():
            launch()
            return found
        return launch_all

    def cell(self, case):
        arguments, bench = self.arguments, self.bench
        *inputs, gradient = self.draw(4)
        with torch.no_grad():
            output, lse = forward_results(case, *inputs)
        reference = GradientReference(*inputs, gradient, case.score, case.mask)
        values = self.captures(case) | {"output": output, "lse": lse, "output_gradient": gradient}
        own = self.kernels.find(f"gradient_{case.problem}", HEAD_DIM, "bf16")
        if not own:
            bench.note(f"no kernel for gradients of {case.problem} in {arguments.kernels}")
        prepared = [bench.prepare(case.name, kernel.name, lambda: self.make(kernel, inputs, values), reference,
                                  BOUND["bf16"], is_own=True) for kernel in own]
        leaves = [x.detach().requires_grad_() for x in inputs]
        prepared += [bench.prepare(case.name, name, lambda: by_autograd(make(), leaves, gradient), reference,
                                   PEER_BOUND["bf16"]) for name, make in self.makers(case, *leaves).items()]
        bench.measure(prepared, [kernel.name for kernel in own], [],
                      10 * arguments.batch * arguments.heads * HEAD_DIM * case.pairs, case=case.name,
                      part="gradient masks", group="gradients of scores and masks", label=case.name, element="bf16",
                      head_dim=HEAD_DIM, length=arguments.length, form=arguments.form)


if __name__ == "__main__":
    sys.exit(run(GradientMasks, parse(__doc__, CASES)))
