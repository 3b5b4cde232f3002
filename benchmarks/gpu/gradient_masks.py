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

import masks
from bench import PEER_BOUND
from check import GradientReference, attention
from gradients import BOUND, by_autograd
from masks import HEAD_DIM, Case, Masks, alibi, parse, run


def alibi_slopes(heads, length):
    """Linear biases whose slopes have a gradient."""
    case = alibi(heads, length)
    case.name, case.problem, case.captured = "alibi, slopes", "alibi_slopes", ("slopes",)
    return case


def bias(problem, of_batch, of_heads):
    """A bias of each pair that has a gradient; one of each batch item, of each head, or the same for all."""
    def make(heads, length):
        table = torch.randn(2 if of_batch else 1, heads if of_heads else 1, length, length, device="cuda", dtype=torch.bfloat16)

        def element(b, h):
            return (b if of_batch else 0), (h if of_heads else 0)
        return Case(problem.replace("_", " "), problem, {"bias": table}, length * length,
                    score=lambda b, h: lambda s, i, j: s + table[element(b, h)][i, j].double(),
                    flex_score=lambda s, b, h, i, j: s + table[element(b, h) + (i, j)], captured=("bias",))
    return make


masks.CASES |= {"alibi_slopes": alibi_slopes, "bias_gradient": bias("bias", True, True),
                "bias_of_heads": bias("bias_of_heads", False, True), "bias_of_pairs": bias("bias_of_pairs", False, False)}
CASES = ["alibi", "alibi_slopes", "bias_gradient", "bias_of_heads", "bias_of_pairs", "softcap", "window256", "window1024",
         "documents"]


def forward_results(case, q, k, v):
    """The output, and the log-sum-exp (batch, heads, queries), of each head in float64, rounded."""
    output = torch.empty_like(q)
    lse = torch.empty(q.shape[0], q.shape[2], q.shape[1], device=q.device)
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            output[b, :, h], lse[b, h] = attention(q[b, :, h], k[b, :, h], v[b, :, h], case.score and case.score(b, h),
                                                   case.mask and case.mask(b, h), lse=True)
    return output, lse


class CapturedReference(GradientReference):
    """Beside dq, dk and dv of some heads, gradients of what the score captures, which sum over all heads."""

    def __init__(self, case, *inputs):
        super().__init__(*inputs, case.score, case.mask)
        self.captured = []
        leaves = [case.values[name].requires_grad_() for name in case.captured]
        if not leaves:
            return
        q, k, v, gradient = inputs
        sums = [torch.zeros_like(leaf, dtype=torch.float64) for leaf in leaves]
        for b in range(q.shape[0]):
            for h in range(q.shape[2]):
                for rows in torch.arange(q.shape[1], device=q.device).split(1024):
                    with torch.enable_grad():
                        output = attention(q[b, :, h], k[b, :, h], v[b, :, h], case.score(b, h), None, rows, 1024)
                    found = torch.autograd.grad(output, leaves, gradient[b, rows, h].double())
                    for total, part in zip(sums, found):
                        total += part
        self.captured = sums

    def error(self, found):
        errors = [super().error(found[:3])]
        errors += [((got.double() - right).norm() / right.norm()).item() for got, right in zip(found[3:], self.captured)]
        return math.nan if any(map(math.isnan, errors)) else max(errors)


class GradientMasks(Masks):
    part = "gradient-masks"

    def make(self, kernel, inputs, values, captured):
        """A launch that gives (dq, dk, dv) and gradients of what is captured, which start as NaN."""
        found = [torch.full_like(x, math.nan) for x in [*inputs, *(values[name] for name in captured)]]
        names = ["query_gradient", "key_gradient", "value_gradient", *(f"{name}_gradient" for name in captured)]
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
        reference = CapturedReference(case, *inputs, gradient)
        values = {name: value.detach() if torch.is_tensor(value) else value for name, value in self.captures(case).items()}
        values |= {"output": output, "lse": lse, "output_gradient": gradient}
        own = self.kernels.find(f"gradient_{case.problem}", HEAD_DIM, "bf16")
        if not own:
            bench.note(f"no kernel for gradients of {case.problem} in {arguments.kernels}")
        prepared = [bench.prepare(case.name, kernel.name, lambda: self.make(kernel, inputs, values, case.captured), reference,
                                  BOUND["bf16"], is_own=True) for kernel in own]
        leaves = [x.detach().requires_grad_() for x in inputs]
        wanted = leaves + [case.values[name] for name in case.captured]
        prepared += [bench.prepare(case.name, name, lambda: by_autograd(make(), wanted, gradient), reference,
                                   PEER_BOUND["bf16"]) for name, make in self.makers(case, *leaves).items()]
        bench.measure(prepared, [kernel.name for kernel in own], [],
                      10 * arguments.batch * arguments.heads * HEAD_DIM * case.pairs, case=case.name,
                      part="gradient masks", group="gradients of scores and masks", label=case.name, element="bf16",
                      head_dim=HEAD_DIM, length=arguments.length, form=arguments.form)


if __name__ == "__main__":
    sys.exit(run(GradientMasks, parse(__doc__, CASES)))
