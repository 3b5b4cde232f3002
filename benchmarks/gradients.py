#!/usr/bin/env python3
"""Compares gradients of attention on the CPU with the backward of PyTorch's
scaled_dot_product_attention, and with that of standard attention (which keeps
its softmax).

Contestants take turns within one run, on the same number of threads. A ratio
above 1 says that this project is faster. Results are checked to be equal.
"""

import os

# Idle threads of one contestant must not spin while another one runs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import argparse
import math
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from contestants import ROOT, Module


def function(heads, dim, mask, form):
    tile, row = f"tensor<?x{heads}x?x{dim}xf32>", f"tensor<?x{heads}x?xf32>"
    names = ("query", "key", "value", "output", "output_gradient", "query_gradient", "key_gradient", "value_gradient")
    attributes = ", ".join(f"{name}_dims = #fa.dims<b, h, s, d>" for name in names)
    if form:
        attributes += f", config = #fa.config<{form}>"
    return f"""
func.func @main(%q: {tile}, %k: {tile}, %v: {tile}, %o: {tile}, %lse: {row}, %do: {tile}) -> ({tile}, {tile}, {tile}) {{
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : {tile}
  %n = tensor.dim %q, %c2 : {tile}
  %e = tensor.empty(%b, %n) : {tile}
  %g:3 = fa.attention_gradient ins(%q, %k, %v : {tile}, {tile}, {tile}) of(%o, %lse : {tile}, {row}) gradients(%do : {tile})
      outs(query = %e : {tile}, key = %e : {tile}, value = %e : {tile}) {"mask causal" if mask == "causal" else ""} {{{attributes}}}
  return %g#0, %g#1, %g#2 : {tile}, {tile}, {tile}
}}
"""


def extra_mebibytes(ours, run):
    """The highest resident size during a run, less that of before and the mapped arrays."""
    status = Path(f"/proc/{ours.server.process.pid}/status")
    read = lambda key: 1024 * int(re.search(rf"{key}:\s+(\d+) kB", status.read_text())[1])
    before = read("VmRSS")
    Path(f"/proc/{ours.server.process.pid}/clear_refs").write_text("5")
    run()
    return (read("VmHWM") - before - ours.bytes) / 2**20


def processor_seconds(process):
    """What the threads of a process have run for."""
    return sum(int(path.read_text().split()[0]) for path in Path(f"/proc/{process}/task").glob("*/schedstat")) / 1e9


def by_processor(process, run):
    """`run`, timed by what its threads run for, which other programs on the machine change less."""
    def timed():
        before = processor_seconds(process)
        run()
        return processor_seconds(process) - before

    return timed


def torch_problem(torch, heads, length, dim, mask):
    torch.manual_seed(0)
    q, k, v, do = (torch.randn(1, heads, length, dim) for _ in range(4))
    out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, mask == "causal")
    return q, k, v, do, out, lse.reshape(1, heads, length)


def torch_run(torch, forward, leaves, do):
    leaves = [leaf.clone().requires_grad_() for leaf in leaves]
    out = forward(*leaves)

    def run():
        start = time.perf_counter()
        run.result = torch.autograd.grad(out, leaves, do, retain_graph=True)
        return time.perf_counter() - start

    return run


def standard(torch, mask):
    def forward(q, k, v):
        s = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        if mask == "causal":
            n = s.shape[-1]
            s = s.masked_fill(~torch.ones(n, n, dtype=torch.bool).tril(), -math.inf)
        return torch.softmax(s, -1) @ v

    return forward


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=10, help="for each case, about")
    parser.add_argument("--dims", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--masks", nargs="+", default=["full", "causal"])
    parser.add_argument("--sizes", nargs="+", default=["1024x8", "2048x8", "4096x2", "8192x2"], help="length x heads")
    parser.add_argument("--configs", nargs="*", default=[""], help="bodies of #fa.config, all compared")
    parser.add_argument("--processor-time", action="store_true", help="of all threads, for a machine that others use too")
    parser.add_argument("--memory", action="store_true", help="bytes beyond arrays at 65536 tokens, one head")
    arguments = parser.parse_args()
    build, folder = arguments.build.resolve(), Path(tempfile.mkdtemp(prefix="fa-bench-"))
    if arguments.memory:
        for dim in arguments.dims:
            ours = Module(build, arguments.threads, folder, function(1, dim, "causal", arguments.configs[0]))
            shape = (1, 1, 65536, dim)
            arrays = [np.random.default_rng(0).standard_normal(shape, dtype=np.float32) for _ in range(5)]
            arrays.insert(4, np.full(shape[:3], 11.0, np.float32))
            run = ours.prepare(arrays, [(shape, np.float32)] * 3)
            print(f"d{dim} causal 65536: {extra_mebibytes(ours, run):.1f} MiB beyond inputs and outputs")
        return
    import torch
    torch.set_num_threads(arguments.threads)
    print(f"{arguments.threads} threads, load {os.getloadavg()[0]:.1f}; seconds: least of a run (median)")
    for dim in arguments.dims:
        for size in arguments.sizes:
            length, heads = map(int, size.split("x"))
            for mask in arguments.masks:
                q, k, v, do, out, lse = torch_problem(torch, heads, length, dim, mask)
                fused = torch.nn.functional.scaled_dot_product_attention
                runs = {"torch": torch_run(torch, lambda *x: fused(*x, is_causal=mask == "causal"), (q, k, v), do)}
                if heads * length**2 <= 1 << 27:
                    runs["standard"] = torch_run(torch, standard(torch, mask), (q, k, v), do)
                contestants = {}
                for config in arguments.configs:
                    name = config or "fa"
                    contestants[name] = Module(build, arguments.threads, folder, function(heads, dim, mask, config))
                    runs[name] = contestants[name].prepare([x.numpy() for x in (q, k, v, out, lse, do)],
                                                           [(tuple(q.shape), np.float32)] * 3)
                fused_run = runs["torch"]
                if arguments.processor_time:
                    processes = {name: one.server.process.pid for name, one in contestants.items()}
                    runs = {name: by_processor(processes.get(name, os.getpid()), run) for name, run in runs.items()}
                first = sum(run() for run in runs.values())
                times = {name: [] for name in runs}
                for _ in range(int(min(30, max(3, arguments.seconds / first)))):
                    for name, run in runs.items():
                        times[name].append(run())
                least = {name: min(values) for name, values in times.items()}
                median = {name: statistics.median(values) for name, values in times.items()}
                pairs = length * (length + 1) // 2 if mask == "causal" else length**2
                work = 10 * heads * dim * pairs / 1e9
                for name, contestant in contestants.items():
                    for got, want in zip(contestant.outputs(), fused_run.result):
                        error = np.linalg.norm(got - want.numpy()) / np.linalg.norm(want.numpy())
                        if error > 1e-5:
                            sys.exit(f"error: {size} d{dim} {mask}: gradients differ by {error:.1e}")
                    ratios = "  ".join(f"to {other} {least[other] / least[name]:.2f} ({median[other] / median[name]:.2f})"
                                       for other in ("torch", "standard") if other in least)
                    print(f"d{dim} {mask} {length} x {heads} {name}: {ratios}  GFLOP/s {work / least[name]:.0f}, torch "
                          f"{work / least['torch']:.0f}; compiled in {contestant.compile_seconds:.1f} s", flush=True)
                    contestant.end()


if __name__ == "__main__":
    main()
