#!/usr/bin/env python3
"""Seconds from a text to PTX and to a cubin, a process for each, on this machine's processor.

    python3 benchmarks/gpu/compile_time.py --compiler build/bin/fa-compile --out results

The least of some runs, one at a time; wanted are 1 s to PTX and 2 s to a cubin, which includes the PTX. A cubin
needs `ptxas`.
"""

import argparse
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

from compile import add_options, commit, compile_kernel, find_kernels

# What fa-compile makes, and the seconds that are wanted.
WANTED = {"ptx": 1.0, "both": 2.0}


def processor():
    names = [line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return f"{names[0] if names else 'unknown'}, {len(os.sched_getaffinity(0))} threads"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--runs", type=int, default=3)
    return parser.parse_args()


def main():
    arguments = parse()
    found, over = [], 0
    print("| kernel | to PTX, s | to a cubin, s |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for kernel in find_kernels(arguments):
            try:
                runs = {images: [compile_kernel(kernel, arguments.compiler, images, folder) for _ in range(arguments.runs)]
                        for images in WANTED}
            except RuntimeError as error:
                sys.exit(f"error: {kernel.name}: {error}")
            least = {images: min(seconds) for images, seconds in runs.items()}
            over += any(least[images] > wanted for images, wanted in WANTED.items())
            found.append({"kernel": kernel.name, "seconds": runs})
            cells = [f"{seconds:.2f}{' (over)' if seconds > WANTED[images] else ''}" for images, seconds in least.items()]
            print(f"| {kernel.name} | {' | '.join(cells)} |", flush=True)
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "compile-time.json"
    path.write_text(json.dumps({"date": datetime.date.today().isoformat(), "commit": commit(), "processor": processor(),
                                "wanted": WANTED, "kernels": found}, indent=1) + "\n")
    print(f"{len(found) - over} of {len(found)} within what is wanted; written to {path}")


if __name__ == "__main__":
    main()
