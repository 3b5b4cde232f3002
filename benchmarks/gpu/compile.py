#!/usr/bin/env python3
"""Compiles the kernels that the benchmarks of this folder time.

    python3 benchmarks/gpu/compile.py --compiler build/bin/fa-compile --out kernels

Derived kernels from the problems in problems/, schedules from examples/schedules, as kernels.json says. Needs LLVM's part of
the project, and no GPU; `ptxas` for machine code. Prints what each compilation took.
"""

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import table

ROOT = Path(__file__).resolve().parents[2]


def compile_kernel(kernel, compiler, images, out):
    """Seconds, or raises RuntimeError with the compiler's first line."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"{kernel.name}.mlir"
        file.write_text(kernel.text(ROOT))
        start = time.perf_counter()
        done = subprocess.run([compiler, file, f"--chip={kernel.chip}", "-o", out,
                               f"--images={'both' if images == 'cubin' else images}"], capture_output=True, text=True)
        seconds = time.perf_counter() - start
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise RuntimeError(next((line for line in lines if "error:" in line), lines[0]))
    if images == "cubin":
        drop_ptx(out, kernel.name)
    return seconds


def drop_ptx(folder, name):
    """Leaves the image that only a device of another architecture would take out of the folder."""
    manifest = folder / f"{name}.json"
    content = json.loads(manifest.read_text())
    (folder / content["images"].pop("ptx")).unlink()
    manifest.write_text(json.dumps(content, indent=1) + "\n")


def add_options(parser):
    """Which kernels, and by which compiler."""
    parser.add_argument("--compiler", type=Path, default=ROOT / "build/bin/fa-compile", help="fa-compile")
    parser.add_argument("--chips", dest="forms", nargs="+", choices=table.FORMS, default=list(table.FORMS))
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help="only kernels of these names")


def find_kernels(arguments):
    found = [kernel for form in arguments.forms for kernel in table.kernels(form)
             if any(fnmatch.fnmatchcase(kernel.name, pattern) for pattern in arguments.only)]
    if not found:
        sys.exit(f"error: no kernel is called {' or '.join(arguments.only)}; kernels.json says which there are")
    return found


def commit():
    """The commit of this tree, with a mark where it was changed since; empty outside a repository."""
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder for images and manifests")
    parser.add_argument("--images", choices=["auto", "ptx", "both", "cubin"], default="auto",
                        help="as fa-compile's; cubin: without the PTX, for a small folder")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main():
    arguments = parse()
    wanted = find_kernels(arguments)
    failed = 0
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for kernel, job in [(kernel, pool.submit(compile_kernel, kernel, arguments.compiler, arguments.images,
                                                arguments.out)) for kernel in wanted]:
            try:
                print(f"{kernel.name}: {job.result():.2f} s", flush=True)
            except RuntimeError as error:
                failed += 1
                print(f"{kernel.name}: {error}", flush=True)
    if commit():
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "commit").write_text(commit() + "\n")
    print(f"{len(wanted) - failed} compiled, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
