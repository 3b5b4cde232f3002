#!/usr/bin/env python3
"""Device memory that attention needs beyond its inputs and outputs, at 65,536 tokens, 16 heads of 128.

    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/memory.py --kernels KERNELS --out DIR

Counted twice: what the launcher says its workspace is, and what the driver has less to give while and after
a kernel is launched than before it was loaded, its code included (the driver gives memory out in pieces of
2 MiB). Some rows of each result are compared with float64. Fails where a result is wrong or the workspace has
1 MiB.
"""

import argparse
import sys
from pathlib import Path

import torch

import device
import table
from bench import BOUND, TYPES
from check import Reference, causal
from kernels import Kernels

HEAD_DIM = 128
LAUNCHES = 10
# Bytes.
MOST_WORKSPACE = 1 << 20


def free_bytes():
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


def sampled_rows(length, count):
    """First and last rows, and others at random, in order."""
    chosen = torch.randint(length, (count,), device="cuda")
    ends = torch.tensor([0, 1, length // 2, length - 2, length - 1], device="cuda")
    return torch.cat([chosen, ends]).clamp(0, length - 1).unique()


def measure(kernels, kernel, arguments):
    torch.manual_seed(arguments.seed)
    shape = (1, arguments.length, arguments.heads, HEAD_DIM)
    tensors = [torch.randn(shape, device="cuda", dtype=TYPES[kernel.element]) for _ in range(3)]
    # The launcher comes to the device with the first launch.
    launch = kernels.make(kernel, *tensors)
    before = free_bytes()
    output = launch()
    # The first launch is still under way and has all that it takes.
    least = torch.cuda.mem_get_info()[0]
    for _ in range(LAUNCHES):
        launch()
    least = min(least, free_bytes())
    rows = sampled_rows(arguments.length, arguments.rows)
    mask = causal(arguments.length, arguments.length) if kernel.problem == "causal" else None
    return {"kernel": kernel.name, "tokens": arguments.length, "heads": arguments.heads,
            "workspace_bytes": kernels.workspace(), "driver_bytes": before - least, "rows_checked": len(rows),
            "error": Reference(*tensors, mask=mask, rows=rows).error(output)}


def find_problem(result, bound):
    if not result["error"] < bound:
        return f"{result['kernel']} is wrong: relative error {result['error']:.2e}"
    if result["workspace_bytes"] >= MOST_WORKSPACE:
        return f"{result['kernel']} has a workspace of {result['workspace_bytes']} bytes; 1 MiB is allowed"
    return None


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--chip", dest="form", choices=table.FORMS, default="sm_90a")
    parser.add_argument("--length", type=int, default=65536)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--rows", type=int, default=256, help="of each checked head that are compared with float64")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    kernels = Kernels(arguments.kernels, arguments.form)
    wanted = [kernel for problem in ("full", "causal") for kernel in kernels.find(problem, HEAD_DIM, "bf16")]
    if not wanted:
        sys.exit(f"error: no bf16 kernel of head dim {HEAD_DIM} for {arguments.form} in {arguments.kernels}")
    found, problems = [], []
    with torch.no_grad():
        for kernel in wanted:
            result = measure(kernels, kernel, arguments)
            found.append(result)
            problems += filter(None, [find_problem(result, BOUND[kernel.element])])
            print(f"{kernel.name}: workspace {result['workspace_bytes']} bytes, driver {result['driver_bytes']} bytes, "
                  f"error {result['error']:.2e} over {result['rows_checked']} rows of some heads", flush=True)
    results = device.describe(arguments.kernels) | {"problems": problems, "kernels": found}
    path = device.write(arguments.out, results, f"{arguments.form}-memory")
    print(f"written to {path}")
    for problem in problems:
        print(f"error: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
