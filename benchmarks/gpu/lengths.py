#!/usr/bin/env python3
"""Times decoding at lengths that grow by a tenth: no step may cost much more than its keys.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only '*decode_lengths*' --out KERNELS   (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/lengths.py --kernels KERNELS --out DIR

64 query heads on 8, head dim 128. Prints microseconds by length, and the step that costs the most. One sequence is
compared with float64 at every length. Calls take keys and values in turn that L2 does not hold.
"""

import statistics
import sys

import torch

import device
import options
import timing
from bench import BOUND, TYPES
from check import Reference, causal
from kernels import Kernels
from serving import HEAD_DIM, HEADS, KEY_HEADS, in_turns

STEP, LIMIT = 1.1, 1.15
# A set of keys and values is not read again before so many bytes were.
ROTATED_BYTES = 300_000_000


def lengths(first, last):
    """Multiples of no block, each a tenth more than the one before."""
    found, length = [], float(first)
    while length <= last:
        found.append(int(length))
        length *= STEP
    return found


class Pool:
    """Keys and values of all cells: a cell is a slice of each."""

    def __init__(self, rows, element):
        self.rows = rows
        self.memory = [torch.empty(rows, KEY_HEADS, HEAD_DIM, device="cuda", dtype=TYPES[element]).normal_() for _ in "kv"]

    def sets(self, batch, keys):
        of_set = batch * keys
        count = min(self.rows // of_set, 1 + ROTATED_BYTES // (of_set * KEY_HEADS * HEAD_DIM * 4))
        return [[x[i * of_set:(i + 1) * of_set].view(batch, keys, KEY_HEADS, HEAD_DIM) for x in self.memory]
                for i in range(count)]


def contestants(arguments, folders, pool, batch, tokens, keys):
    """Of each folder, by its name: right ones only."""
    q = torch.randn(batch, tokens, HEADS, HEAD_DIM, device="cuda", dtype=pool.memory[0].dtype)
    sets, found = pool.sets(batch, keys), []
    reference = None
    if batch == 1:
        reference = Reference(q, *sets[0], mask=causal(tokens, keys) if tokens > 1 else None)
    for name, kernels in folders.items():
        kernel = next((k for k in kernels.find("decode_lengths", HEAD_DIM, arguments.elements[0])
                       if dict(k.values)["TOKENS"] == tokens), None)
        if not kernel:
            sys.exit(f"error: no decode_lengths kernel of {tokens} tokens in {arguments.kernels}; expected one by compile.py")
        launches = [kernels.make(kernel, q, *each) for each in sets]
        if reference and reference.error(launches[0]()) > BOUND[arguments.elements[0]]:
            sys.exit(f"error: {name} is wrong at {tokens} x {keys}: relative error {reference.error(launches[0]()):.2e}")
        found.append(timing.Contestant(name, in_turns(launches)))
    return found


def sweep(arguments, folders, pool, batch, tokens):
    """Microseconds by folder and length."""
    times = {name: [] for name in folders}
    for keys in arguments.lengths:
        found = contestants(arguments, folders, pool, batch, tokens, keys)
        samples = timing.in_turns(found, arguments.rounds, lambda c: c.sample(*c.work(1.0, 300)))
        for name, values in samples.items():
            times[name].append(1000 * statistics.median(values))
    return times


def steepest(keys, microseconds):
    """The largest ratio of a time to the one before, and where it is."""
    return max((later / earlier, at) for earlier, later, at in zip(microseconds, microseconds[1:], keys[1:]))


def parse():
    parser = options.make_parser(__doc__, "none", rounds=5)
    parser.add_argument("--batches", type=options.integers, default=[1, 8, 64])
    parser.add_argument("--tokens", type=options.integers, default=[1])
    parser.add_argument("--lengths", type=options.integers, default=lengths(512, 65536))
    return parser.parse_args()


def main():
    arguments = parse()
    folders = {name: Kernels(folder, arguments.form)
               for name, folder in (("own", arguments.kernels), ("before", arguments.before)) if folder}
    pool = Pool(max(arguments.batches) * max(arguments.lengths), arguments.elements[0])
    cells, is_steep = [], False
    with torch.no_grad():
        for tokens in arguments.tokens:
            for batch in arguments.batches:
                for name, times in sweep(arguments, folders, pool, batch, tokens).items():
                    ratio, at = steepest(arguments.lengths, times)
                    is_steep |= name == "own" and ratio > LIMIT
                    print(f"{name} batch {batch}, {tokens} tokens: the steepest step costs {ratio:.3f}, to {at} keys", flush=True)
                    print("  " + "  ".join(f"{n}: {t:.1f}" for n, t in zip(arguments.lengths, times)), flush=True)
                    cells.append({"kernels": name, "batch": batch, "tokens": tokens, "keys": arguments.lengths,
                                  "microseconds": times, "steepest": ratio, "at": at})
    path = device.write(arguments.out, device.describe(arguments.kernels) | {"cells": cells}, f"{arguments.form}-lengths")
    print(f"written to {path}")
    return 1 if is_steep else 0


if __name__ == "__main__":
    sys.exit(main())
