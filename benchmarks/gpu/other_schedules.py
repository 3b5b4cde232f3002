#!/usr/bin/env python3
"""Speed of the schedules that are not attention: the matrix product beside cuBLAS, the RMS norm beside a copy.

    build/bin/fa-compile examples/schedules/sm_90a_matmul.mlir -o KERNELS
    build/bin/fa-compile examples/schedules/sm_90a_rms_norm.mlir -o KERNELS
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/other_schedules.py --kernels KERNELS --out DIR

Every manifest in the folder that has the arguments of one of the two problems takes part, so that variants of a
schedule take turns in one run. torch.matmul of A and the transpose of B stands for cuBLAS; copy_ of the rows for the
bandwidth that a copy reaches, as both read and write as many bytes. Ratios are peer over schedule: above 1, the
schedule is faster. Rows of each result are compared with float64 before anything is timed, and a wrong one fails.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path

import torch

import device
import fa_mlir
from timing import Contestant, burst, sustained

PROBLEMS = {("a", "b", "c"): "matmul", ("x", "weight", "y", "epsilon"): "rms_norm"}
BOUND = 6e-3
EPSILON = 1e-5
ROWS_CHECKED = 256


def find_kernels(folder):
    """Kernels by problem and name."""
    found = {problem: {} for problem in PROBLEMS.values()}
    for path in sorted(folder.glob("*.json")):
        names = tuple(argument["name"] for argument in json.loads(path.read_text())["arguments"])
        if names in PROBLEMS:
            found[PROBLEMS[names]][path.stem] = fa_mlir.load(str(path))
    return found


def error_of(result, expected):
    return ((result.double() - expected).norm() / expected.norm()).item()


class Matmul:
    peer = "cuBLAS"

    def __init__(self, size):
        self.key = {"m": size, "n": size, "k": size}
        self.a, self.b = (torch.randn(size, size, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        self.results = {}
        rows = torch.randint(size, (ROWS_CHECKED,), device="cuda")
        self.rows, self.expected = rows, self.a[rows].double() @ self.b.double().T
        self.rate = "TFLOP/s", 2 * size**3 / 1e9

    def launch_of(self, name, kernel):
        result = self.results[name] = torch.full_like(self.a, float("nan"))
        return lambda: kernel(self.a, self.b, c=result)

    def launch_of_peer(self):
        result = self.results[self.peer] = torch.full_like(self.a, float("nan"))
        return lambda: torch.matmul(self.a, self.b.T, out=result)

    def error(self, name):
        return error_of(self.results[name][self.rows], self.expected)


class RMSNorm:
    peer = "copy"

    def __init__(self, rows, columns=4096):
        self.key = {"rows": rows, "columns": columns}
        self.x = torch.randn(rows, columns, device="cuda", dtype=torch.bfloat16)
        self.weight = torch.randn(columns, device="cuda", dtype=torch.bfloat16)
        self.results = {}
        self.rows = torch.randint(rows, (ROWS_CHECKED,), device="cuda")
        x = self.x[self.rows].double()
        self.expected = x * (x.square().mean(1, keepdim=True) + EPSILON).rsqrt() * self.weight.double()
        self.rate = "GB/s", 2 * self.x.numel() * self.x.element_size() / 1e6

    def launch_of(self, name, kernel):
        result = self.results[name] = torch.full_like(self.x, float("nan"))
        return lambda: kernel(self.x, self.weight, y=result, epsilon=EPSILON)

    def launch_of_peer(self):
        result = self.results[self.peer] = torch.full_like(self.x, float("nan"))
        return lambda: result.copy_(self.x)

    def error(self, name):
        return error_of(self.results[name][self.rows], self.expected)


def measure(problem, kernels, rounds):
    """Records of the schedules of one problem size, and what is wrong."""
    peer = Contestant(problem.peer, problem.launch_of_peer())
    contestants = [Contestant(name, problem.launch_of(name, kernel)) for name, kernel in kernels.items()]
    torch.cuda.synchronize()
    records, problems = [], []
    errors = {name: problem.error(name) for name in kernels}
    problems += [f"{name} is wrong at {problem.key}: relative error {error:.2e}"
                 for name, error in errors.items() if not error < BOUND]
    unit, amount = problem.rate
    timed = {mode.__name__: mode([peer, *contestants], rounds) for mode in (burst, sustained)}
    for name in kernels:
        record = {"schedule": name, **problem.key, "peer": problem.peer, "error": errors[name]}
        for mode, times in timed.items():
            ratios = [other / own for own, other in zip(times[name], times[problem.peer])]
            record[mode] = {"ratio": round(statistics.median(ratios), 4),
                            "least": round(min(ratios), 4), "greatest": round(max(ratios), 4),
                            unit: round(amount / statistics.median(times[name]), 1),
                            f"peer {unit}": round(amount / statistics.median(times[problem.peer]), 1)}
        records.append(record)
        print(f"{name} {list(problem.key.values())} error {record['error']:.2e}  " + "  ".join(
            f"{mode}: {record[mode]['ratio']:.3f} of {problem.peer} ({record[mode]['least']:.3f} to "
            f"{record[mode]['greatest']:.3f}), {record[mode][unit]:.0f} {unit}" for mode in timed), flush=True)
    return records, problems


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 8192], help="m, n and k of the products")
    parser.add_argument("--rows", type=int, nargs="+", default=[16384], help="rows of the norms")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    kernels = find_kernels(arguments.kernels)
    if not any(kernels.values()):
        sys.exit(f"error: no matrix product and no RMS norm in {arguments.kernels}")
    torch.manual_seed(arguments.seed)
    records, problems = [], []
    sizes = [(Matmul, size) for size in arguments.sizes if kernels["matmul"]]
    sizes += [(RMSNorm, rows) for rows in arguments.rows if kernels["rms_norm"]]
    for make, size in sizes:
        found, wrong = measure(make(size), kernels["matmul" if make is Matmul else "rms_norm"], arguments.rounds)
        records += found
        problems += wrong
    results = device.describe(arguments.kernels) | {"rounds": arguments.rounds, "problems": problems, "schedules": records}
    print(f"written to {device.write(arguments.out, results, 'other-schedules')}")
    for problem in problems:
        print(f"error: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
