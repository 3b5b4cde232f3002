#!/usr/bin/env python3
"""Times attention on the CPU between operators of PyTorch, as a model has it, beside PyTorch's own attention there.

    PYTHONPATH=python FA_COMPILER_LIBRARY=... FA_TORCH_LIBRARY=... python3 benchmarks/beside_torch.py [--threads 2]

Alone, a call says nothing of threads that wait for the next one and take processors that PyTorch's need. Contestants take
turns within one run. Of each a line has the median and the ninth of ten times, in milliseconds: lower is faster.
"""

import argparse
import random
import statistics
import time

import torch

import fa_mlir


def make_cases():
    """What runs before attention, and one query of 32 heads to 512 keys of 8."""
    rows, row, weights, values = torch.randn(16, 2048), torch.randn(1, 2048), torch.randn(2048, 2048), torch.randn(64, 4096)
    before = {"nothing": lambda: None, "matrix multiplication": lambda: rows @ weights, "matrix-vector": lambda: row @ weights,
              "gelu": lambda: torch.nn.functional.gelu(values)}
    query, key = torch.randn(1, 1, 32, 128), torch.randn(1, 512, 8, 128)
    first = [tensor.transpose(1, 2) for tensor in (query, key, key)]
    attend = {"fa_mlir": lambda: fa_mlir.attention(query, key, key),
              "torch": lambda: torch.nn.functional.scaled_dot_product_attention(*first, enable_gqa=True)}
    difference = (attend["fa_mlir"]().transpose(1, 2) - attend["torch"]()).norm() / attend["torch"]().norm()
    if not difference < 2e-6:
        raise SystemExit(f"error: results differ by {difference}")
    return before, attend


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, help="of PyTorch; its own number where it is not given")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--calls", type=int, default=40, help="of a round")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    before, attend = make_cases()
    times = {(one, other): [] for one in before for other in attend}
    order = list(times)
    for _ in range(arguments.rounds):
        random.shuffle(order)
        for one, other in order:
            for _ in range(arguments.calls):
                start = time.perf_counter()
                before[one]()
                attend[other]()
                times[one, other].append((time.perf_counter() - start) * 1e3)
    for (one, other), found in times.items():
        print(f"{one}, {other}: {statistics.median(found):.2f} ({statistics.quantiles(found, n=10)[-1]:.2f})")


if __name__ == "__main__":
    main()
