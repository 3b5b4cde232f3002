#!/usr/bin/env python3
"""Memory traffic of a launch by the profiler's counters, beside the least possible.

    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/traffic.py --kernels KERNELS --out DIR

bf16, one sequence of 8192 tokens, 16 heads of 128, full and causal. Nsight Compute (`ncu`) counts one launch after others
have warmed up, with an empty L2 cache before each kernel; all kernels of the launch are added up. The least is q, k, v, o
and lse once each. What L2 still holds of the output at the end is not in the counts. Torch's math backend is standard
attention, which writes the scores to memory and reads them back, as `fa-naive` does.
"""

import argparse
import sys
from pathlib import Path

import profiler

HEAD_DIM = 128
# Metric to its name in the record.
METRICS = {"dram__bytes_read.sum": "dram_read", "dram__bytes_write.sum": "dram_written",
           "lts__t_bytes.sum": "l2"}
STANDARD = "torch math"


def least_bytes(length, heads):
    """q, k, v and o of two bytes, lse of four."""
    return length * heads * (4 * HEAD_DIM * 2 + 4)


def wanted(arguments):
    """(problem, name) of each launch that is counted."""
    import table
    return [(problem, name) for problem in ("full", "causal")
            for name in [kernel.name for kernel in table.kernels(arguments.form)
                         if (kernel.problem, kernel.head_dim, kernel.element) == (problem, HEAD_DIM, "bf16")
                         and (arguments.kernels / f"{kernel.name}.json").exists()] + [STANDARD]]


def add_up(kernels):
    """Sums over the kernels of a launch, and their names."""
    sums = {name: int(sum(kernel[metric] for kernel in kernels)) for metric, name in METRICS.items()}
    return sums | {"kernels": [kernel["kernel"] for kernel in kernels]}


def launch_all(arguments):
    """What the profiler looks at: each launch once, behind a marker, between the start and the stop of
    counting."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    from kernels import Kernels

    q, k, v = (torch.randn(1, arguments.length, arguments.heads, HEAD_DIM, device="cuda", dtype=torch.bfloat16)
               for _ in range(3))
    kernels = Kernels(arguments.kernels, arguments.form)

    def standard(problem):
        with sdpa_kernel(SDPBackend.MATH):
            scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)), is_causal=problem == "causal")

    with torch.no_grad():
        for problem, name in wanted(arguments):
            launch = (lambda: standard(problem)) if name == STANDARD else kernels.make(
                next(kernel for kernel in kernels.table if kernel.name == name), q, k, v)
            profiler.counted(launch)


def count(program, arguments):
    """The counts of each launch that is wanted, or raises ValueError."""
    options = ["--kernels", arguments.kernels, "--out", arguments.out, "--chip", arguments.form,
               "--length", arguments.length, "--heads", arguments.heads, "--launch"]
    return [add_up(kernels) for kernels in profiler.run(program, METRICS, options, len(wanted(arguments)))]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--chip", dest="form", choices=["sm_90a", "sm_80"], default="sm_90a")
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.launch:
        launch_all(arguments)
        return
    program = profiler.find()
    if not program:
        sys.exit("error: no ncu on this machine; Nsight Compute counts the traffic")
    try:
        counts = count(program, arguments)
    except ValueError as error:
        sys.exit(f"error: {error}")

    import device
    least = least_bytes(arguments.length, arguments.heads)
    found = []
    print("| problem | kernel | DRAM read, MB | written, MB | of the least | L2, MB |\n|---|---|---|---|---|---|")
    for (problem, name), entry in zip(wanted(arguments), counts):
        dram = entry["dram_read"] + entry["dram_written"]
        found.append({"problem": problem, "name": name, "least": least, "ratio": dram / least} | entry)
        print(f"| {problem} | {name} | {entry['dram_read'] / 1e6:.1f} | {entry['dram_written'] / 1e6:.1f} | "
              f"{dram / least:.3f} | {entry['l2'] / 1e6:.0f} |")
    results = device.describe(arguments.kernels) | {"length": arguments.length, "heads": arguments.heads, "head_dim": HEAD_DIM,
                                   "launches": found}
    path = device.write(arguments.out, results, f"{arguments.form}-traffic")
    print(f"least possible {least / 1e6:.1f} MB; written to {path}")


if __name__ == "__main__":
    main()
