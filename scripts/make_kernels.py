"""Compiles the kernels that a wheel carries: common problems, as machine code alone.

    scripts/make_kernels.py --output build/packaged-kernels [--chip sm_90a]

A call of fa_mlir.attention finds them by the same key that it would compile for, but
for the assembler. Needs ptxas, of the toolkit or the wheel nvidia-cuda-nvcc.
"""

import argparse
import concurrent.futures
import itertools
import os
import sys
from pathlib import Path

from fa_mlir import assembler
from fa_mlir.attention import find_text
from fa_mlir.compilation import Request, make_packaged
from fa_mlir.problem import LAYOUTS, Types, from_text, write_forward, write_gradient

CHIPS = ("sm_80", "sm_90a")


def make_requests(chips):
    for chip, layout, causal, lse, head_dim in itertools.product(
            chips, LAYOUTS, (None, "bottom_right", "top_left"), (False, True), (64, 128)):
        # What attention() asks for without other arguments.
        text = find_text((layout, causal, False, None, None, None, False, None, "", "", (), lse))
        source = write_forward(from_text(text), Types("bf16", head_dim, head_dim))
        yield Request(source.encode(), "cuda", chip, None, None, "auto", False)
    for chip, layout, causal, head_dim in itertools.product(chips, LAYOUTS, (None, "bottom_right"), (64, 128)):
        # And what its gradients ask for.
        text = find_text((layout, causal, False, None, None, None, False, None, "", "", (), True))
        source = write_gradient(from_text(text), Types("bf16", head_dim, head_dim), False, ("query", "key", "value"))
        yield Request(source.encode(), "cuda", chip, None, None, "auto", False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--chip", choices=CHIPS, action="append")
    options = parser.parse_args()
    if not assembler.find_ptxas():
        sys.exit("error: kernels need ptxas; let FA_PTXAS name it, or install nvidia-cuda-nvcc")
    requests = list(make_requests(options.chip or CHIPS))
    # ptxas, which takes most of the time, runs in processes of its own.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sizes = list(pool.map(lambda request: make_packaged(request, options.output), requests))
    print(f"{len(sizes)} kernels, {sum(sizes)} bytes")


if __name__ == "__main__":
    main()
