#!/usr/bin/env python3
"""What bounds a kernel: counters of the profiler, and clock and power under sustained work.

    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/counters.py --kernels KERNELS --out DIR

2 sequences of 8192 tokens, 16 heads, the values of score and mask as in masks.py. Every kernel of the folder takes
part, full and causal attention of FlashAttention-3 and windows of FlashAttention-4 beside them where they are
installed. Nsight Compute (`ncu`) counts one launch of each, kernel by kernel; then each works for some seconds while
`nvidia-smi` reads clock and power.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import profiler

# Metric to its name in the record.
METRICS = {
    "gpu__time_duration.sum": "nanoseconds",
    "smsp__inst_executed.sum": "instructions",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "tensor",
    "sm__inst_executed_pipe_xu.avg.pct_of_peak_sustained_active": "exponentials",
    "sm__inst_executed_pipe_alu.avg.pct_of_peak_sustained_active": "integers",
    "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active": "fma",
    "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_active": "loads",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.avg.pct_of_peak_sustained_elapsed": "shared_memory",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "bank_conflicts",
    "lts__t_bytes.sum": "l2_bytes",
    "dram__bytes_read.sum": "dram_read",
}
STALLS = ["barrier", "branch_resolve", "dispatch_stall", "drain", "gmma", "imc_miss", "lg_throttle", "long_scoreboard",
          "math_pipe_throttle", "membar", "mio_throttle", "no_instruction", "not_selected", "selected",
          "short_scoreboard", "sleeping", "tex_throttle", "wait", "warpgroup_arrive"]
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
COUNTED = [*METRICS, *map(STALL.format, STALLS)]
SECONDS = 1.5


def launches(arguments):
    """(name, launch) of everything that is looked at, in order."""
    import torch

    import masks
    import peers
    from bench import TYPES
    from kernels import Kernels

    def tensors(element, head_dim):
        torch.manual_seed(0)
        return [torch.randn(2, arguments.length, 16, head_dim, device="cuda", dtype=TYPES[element]) for _ in range(3)]

    def values(problem, size):
        name = f"{problem}{size or ''}"
        given = dict(masks.CASES[name](16, arguments.length).values) if name in masks.CASES else {}
        if "documents" in given:
            given["documents"] = given["documents"].expand(2, -1).contiguous()
        return given

    kernels = {form: Kernels(arguments.kernels, form) for form in ("sm_90a", "sm_80")}
    for form, found in kernels.items():
        for kernel in found.table:
            for size in (256, 1024) if kernel.problem == "window" else (None,):
                yield f"{kernel.name}{f'_{size}' if size else ''}", found.make(
                    kernel, *tensors(kernel.element, kernel.head_dim), **values(kernel.problem, size))
    flash = peers.find_flash_attention(print)
    for element in ("bf16", "f16"):
        q, k, v = tensors(element, 128)
        # Wheels of FlashAttention-3 leave f16 out.
        if "fa3" in flash and element == "bf16":
            yield f"fa3_full_d128_{element}", lambda: flash["fa3"].flash_attn_func(q, k, v)
        if "fa4" in flash:
            yield f"fa4_full_d128_{element}", lambda: flash["fa4"].flash_attn_func(q, k, v)
    if "fa4" in flash:
        q, k, v = tensors("bf16", 128)
        for size in (256, 1024):
            yield f"fa4_window_d128_bf16_{size}", lambda: flash["fa4"].flash_attn_func(q, k, v, window_size=(size - 1, 0))


def readings(launch):
    """Mean clock (MHz) and power (W) as nvidia-smi reads them while `launch` runs again and again."""
    import torch
    query = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw.instant", "--format=csv,noheader,nounits", "-lms", "50"]
    launch()
    torch.cuda.synchronize()
    end = time.monotonic() + SECONDS
    began, count = time.monotonic(), 0
    with subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as reader:
        while time.monotonic() < end:
            for _ in range(20):
                launch()
            count += 20
            torch.cuda.synchronize()
        took = time.monotonic() - began
        reader.terminate()
        rows = [line.split(",") for line in reader.stdout.read().splitlines() if line.count(",") == 1]
    # The first half warms up.
    rows = [(float(clock), float(power)) for clock, power in rows[len(rows) // 2:]]
    if not rows:
        return {}
    return {"milliseconds": 1e3 * took / count, "clock": sum(r[0] for r in rows) / len(rows),
            "power": sum(r[1] for r in rows) / len(rows)}


def describe(name, kernel):
    stalls = sorted(((kernel.get(STALL.format(stall)) or 0, stall) for stall in STALLS), reverse=True)[:4]
    found = {short: kernel.get(metric) for metric, short in METRICS.items()}
    return found | {"name": name, "kernel": kernel["kernel"], "stalls": {stall: value for value, stall in stalls}}


def show(row):
    def number(key, scale=1):
        return "-" if row[key] is None else f"{row[key] * scale:.1f}"
    print(f"| {row['name']} | {number('nanoseconds', 1e-3)} | {number('instructions', 1e-6)} | {number('issue')} | "
          f"{number('tensor')} | {number('exponentials')} | "
          f"{number('fma')} | {number('integers')} | {number('loads')} | {number('shared_memory')} | "
          f"{number('bank_conflicts', 1e-6)} | {number('l2_bytes', 1e-6)} | "
          f"{', '.join(f'{name} {value:.2f}' for name, value in row['stalls'].items())} |", flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=Path, required=True, help="folder of manifests")
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--length", type=int, default=8192)
    parser.add_argument("--launch", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.launch:
        for _, launch in launches(arguments):
            profiler.counted(launch)
        return
    program = profiler.find()
    if not program:
        sys.exit("error: no ncu on this machine; Nsight Compute counts")
    sustained = {}
    for name, launch in launches(arguments):
        sustained[name] = readings(launch)
        print(name, ", ".join(f"{key} {value:.4g}" for key, value in sustained[name].items()), flush=True)
    try:
        counts = profiler.run(program, COUNTED, ["--kernels", arguments.kernels, "--out", arguments.out,
                                                 "--length", arguments.length, "--launch"], len(sustained))
    except ValueError as error:
        sys.exit(f"error: {error}")
    rows = [describe(name, kernel) for name, kernels in zip(sustained, counts) for kernel in kernels]
    print("| launch | us | instructions, M | issue % | tensor % | exponentials % | fma % | integers % | loads % | "
          "shared memory % | bank conflicts, M | L2, MB | stalls a warp and issue |\n" + "|---" * 13 + "|")
    for row in rows:
        show(row)
    import device
    results = device.describe(arguments.kernels) | {"length": arguments.length, "sustained": sustained, "kernels": rows}
    path = device.write(arguments.out, results, "counters")
    print(f"written to {path}")


if __name__ == "__main__":
    main()
