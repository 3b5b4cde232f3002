#!/usr/bin/env python3
"""Times kernels of this project beside what is installed of FlashAttention-3 and -4, torch's cuDNN
and FlashAttention-2 backends, and reference cubins, on one GPU and in one interleaved run.

    fa-compile examples/schedules/NAME.mlir -o KERNELS        (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/run.py --kernels KERNELS --out DIR

Only the kernels' images and manifests, the launcher's library and python/ are needed on the GPU's
machine. Each output is compared with float64 first; one that is wrong is reported and not timed.
Ratios above 1 say that this project is faster; their 95 % intervals are over the rounds.
"""

import argparse
import datetime
import json
import sys
from pathlib import Path

import torch

import cases
import report
import timing
from check import Reference
from kernels import Kernels
from peers import find_peers

BOUND = {"bf16": 6e-3, "f16": 1e-3}
PEER_BOUND = 2e-2
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16}


class Bench:
    def __init__(self, arguments):
        self.arguments = arguments
        self.notes = []
        table = json.loads((Path(__file__).parent / "kernels.json").read_text())
        self.kernels = Kernels(arguments.kernels, {
            (entry["head_dim"], entry["causal"]): entry["kernels"] for entry in table[arguments.form]})
        self.peers = find_peers(arguments.reference, self.note)
        if arguments.peers:
            self.peers = {name: self.peers[name] for name in arguments.peers if name in self.peers}
        self.cells = []

    def note(self, text):
        self.notes.append(text)
        print("note:", text, flush=True)

    def contestants(self, case, q, k, v):
        """Those that give the right result, with their errors; own ones first."""
        reference = Reference(case, q, k, v)
        own = self.kernels.names(case)
        makers = {name: lambda name=name: self.kernels.make(name, case, q, k, v) for name in own}
        makers |= {name: lambda make=make: make(case, q, k, v) for name, make in self.peers.items()}
        found, errors = [], {}
        for name, make in makers.items():
            try:
                launch = make()
                if launch is None:
                    continue
                error = reference.error(launch())
            except Exception as problem:  # a peer that refuses a case is no reason to stop
                if name in own:
                    raise
                self.note(f"{name} failed on {case.name}: {type(problem).__name__}: {problem}"[:300])
                continue
            if not error < (BOUND[case.element] if name in own else PEER_BOUND):
                self.note(f"{name} is wrong on {case.name}: relative error {error:.2e}")
                continue
            errors[name] = error
            found.append(timing.Contestant(name, launch))
        return found, errors

    def cell(self, case, modes):
        torch.manual_seed(self.arguments.seed)
        shapes = ((case.queries, case.query_heads), (case.keys, case.key_heads), (case.keys, case.key_heads))
        q, k, v = (torch.randn(case.batch, n, heads, case.head_dim, device="cuda", dtype=TYPES[case.element])
                   for n, heads in shapes)
        contestants, errors = self.contestants(case, q, k, v)
        for mode in modes:
            rounds = self.arguments.rounds if mode == "burst" else self.arguments.sustained_rounds
            times = getattr(timing, mode)(contestants, rounds)
            self.record(case, mode, times, errors, contestants)

    def record(self, case, mode, times, errors, contestants):
        medians = {name: sorted(values)[len(values) // 2] for name, values in times.items()}
        candidates = [name for name in self.kernels.names(case) if name in times]
        # What a selection would take; the others' figures are in the record too.
        own = min(candidates, key=medians.get) if candidates else None
        ratios = {name: report.ratio(times[own], values) for name, values in times.items()
                  if own and name not in candidates}
        entry = {"case": case.name, "group": case.group, "mode": mode, "own": own, "ratios": ratios,
                 "tflops": {name: case.operations / value / 1e9 for name, value in medians.items()},
                 "milliseconds": times, "errors": errors,
                 "host_microseconds": {c.name: c.host_microseconds for c in contestants},
                 "late_samples": {c.name: c.late_samples for c in contestants if c.late_samples}}
        self.cells.append(entry)
        print(report.describe(entry), flush=True)

    def results(self):
        properties = torch.cuda.get_device_properties(0)
        return {"date": datetime.date.today().isoformat(), "device": properties.name,
                "multiprocessors": properties.multi_processor_count, "torch": torch.__version__,
                "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
                "driver": driver_version(), "seed": self.arguments.seed, "notes": self.notes,
                "means": report.means(self.cells), "cells": self.cells}


def driver_version():
    import subprocess
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def integers(text):
    return [int(part) for part in text.split(",")]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON and the plot")
    parser.add_argument("--reference", type=Path, help="folder of reference cubins and their launch.py")
    parser.add_argument("--form", choices=["sm_90a", "sm_80"], default="sm_90a",
                        help="which of the kernels in kernels.json")
    parser.add_argument("--peers", nargs="*", help="only these: fa3 fa4 cudnn fa2 reference")
    parser.add_argument("--head-dims", type=integers, default=[64, 128, 256])
    parser.add_argument("--lengths", type=integers, default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--modes", nargs="+", choices=["burst", "sustained"], default=["burst"])
    parser.add_argument("--grouped", action="store_true", help="also grouped heads and few queries on many keys")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--sustained-rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    bench = Bench(arguments)
    wanted = cases.forward_cases(arguments.head_dims, arguments.lengths)
    wanted += cases.grouped_cases() if arguments.grouped else []
    arguments.out.mkdir(parents=True, exist_ok=True)
    with torch.no_grad():
        for case in wanted:
            bench.cell(case, arguments.modes)
            torch.cuda.empty_cache()
    results = bench.results()
    for mean in results["means"]:
        print(f"{mean['mode']:9s} {mean['group']:18s} to {mean['peer']:10s} geometric mean {mean['mean']:.3f}")
    slug = "-".join(results["device"].lower().split())
    stem = arguments.out / f"{results['date']}-{slug}-{arguments.form}-forward"
    stem.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
    try:
        report.plot(results, stem.with_suffix(".png"))
    except ImportError as error:
        print(f"no plot: {error}")
    print(f"written to {stem}.json")


if __name__ == "__main__":
    main()
