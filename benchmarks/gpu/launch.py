#!/usr/bin/env python3
"""Host time of a call on a GPU: from Python beside what is installed of FlashAttention-3 and -4 and torch's
backends, and by the C API over a bare launch.

    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/launch.py --kernels KERNELS --out DIR \\
        --overhead build/bin/fa-launch-overhead

A causal attention of 128 tokens, so that the device is never waited for. In turns; microseconds a call are
medians over rounds of 100 calls. `../runtime/python_overhead.py` is the same without a GPU.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch

import device
from cases import Case
from kernels import Kernels
from peers import find_peers

CALLS = 100
CASE = Case(1, 128, 128, 8, 8, 128, True)


def own_calls(kernels, q, k, v):
    """Calls of the first derived kernel, else a written one, by what the caller gives."""
    found = kernels.find("causal", CASE.head_dim, CASE.element)
    if not found:
        sys.exit(f"error: no causal bf16 kernel of head dim {CASE.head_dim} in {kernels.folder}")
    launch = kernels.make(found[0], q, k, v)
    kernel, values = kernels.loaded[found[0].name], kernels.arguments(found[0], q, k, v)
    inputs = [values[argument.name] for argument in kernel.arguments if not argument.is_output]
    outputs = {argument.name: values[argument.name] for argument in kernel.arguments if argument.is_output}
    return found[0].name, {"all arguments": launch, "outputs given": lambda: kernel(*inputs, **outputs),
                           "outputs allocated": lambda: kernel(*inputs)}


def sample(call):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    seconds = time.perf_counter() - start
    torch.cuda.synchronize()
    return seconds / CALLS * 1e6


def in_turns(calls, rounds):
    """Microseconds a call, by name; the first round, which loads and compiles, does not count."""
    times = {name: [] for name in calls}
    for r in range(rounds + 1):
        for i in range(len(calls)):
            name = list(calls)[(i + r) % len(calls)]
            microseconds = sample(calls[name])
            if r:
                times[name].append(microseconds)
    return times


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--chip", dest="form", choices=["sm_90a", "sm_80"], default="sm_90a")
    parser.add_argument("--overhead", type=Path, help="fa-launch-overhead, which times the C API")
    parser.add_argument("--rounds", type=int, default=21)
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    notes = []
    q, k, v = (torch.randn(1, CASE.keys, CASE.key_heads, CASE.head_dim, device="cuda", dtype=torch.bfloat16)
               for _ in range(3))
    name, calls = own_calls(Kernels(arguments.kernels, arguments.form), q, k, v)
    for peer, make in find_peers(None, notes.append).items():
        call = make(CASE, q, k, v)
        try:
            if call:
                call()
                calls[peer] = call
        except Exception as error:  # a peer that refuses is no reason to stop
            notes.append(f"{peer} failed: {type(error).__name__}: {error}"[:200])
    with torch.no_grad():
        times = in_turns(calls, arguments.rounds)
    results = device.describe(arguments.kernels) | {"kernel": name, "microseconds": times, "notes": notes}
    for call, values in times.items():
        print(f"{call:18s} {statistics.median(values):6.1f} us a call, least {min(values):.1f}")
    if arguments.overhead:
        done = subprocess.run([arguments.overhead], capture_output=True, text=True, check=True)
        results["c_api"] = json.loads(done.stdout)
        for mode, value in results["c_api"].items():
            print(f"C API, {mode}: {value}")
    for note in notes:
        print("note:", note)
    path = device.write(arguments.out, results, "launch")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
