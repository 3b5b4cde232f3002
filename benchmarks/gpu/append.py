#!/usr/bin/env python3
"""Times writing new keys and values into caches, with rotary embedding, and checking what sequences are given, on one GPU.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only '*append*' '*sequence_errors*' --out KERNELS   (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/append.py --kernels KERNELS --out DIR

8 key heads of 128, bf16, caches of rows and of pages of 16. Beside a copy of as many bytes in one kernel, and what
torch's own operations take. Caches are compared with float64 first, and all other rows with what they were; words with
those of sequences of which every third one is broken. Prints microseconds.
"""

import math
import statistics
import sys

import torch

import device
import options
import timing
from bench import BOUND, TYPES
from kernels import Kernels
from serving import in_turns

HEADS, HEAD_DIM, PAGE = 8, 128, 16
LENGTH_IS_WRONG, PAGE_IS_WRONG = 8, 16
# Calls of the sets in turn: new rows and angles of a step are in L2, as they are behind the products that make them.
SETS = 4


class Append:
    """`tokens` new rows of each of `batch` sequences, of `room` rows each."""

    def __init__(self, batch, tokens, room, is_paged, element):
        self.name = f"append {'pages of 16' if is_paged else 'contiguous'}, {batch} x {tokens} tokens"
        self.problem = "append_pages" if is_paged else "append_contiguous"
        kind = TYPES[element]
        self.new = [torch.randn(batch, tokens, HEADS, HEAD_DIM, device="cuda", dtype=kind) for _ in "kv"]
        self.rows = torch.randn(2, batch * room, HEADS, HEAD_DIM, device="cuda", dtype=kind)
        self.lengths = torch.randint(tokens, room + 1, (batch,), device="cuda", dtype=torch.int32)
        angles = torch.arange(room, device="cuda")[:, None] * 10000 ** (-torch.arange(HEAD_DIM // 2, device="cuda") / (HEAD_DIM // 2))
        self.cosines, self.sines = angles.cos().float(), angles.sin().float()
        self.positions = (self.lengths[:, None] - tokens + torch.arange(tokens, device="cuda")).long()
        first = torch.arange(batch, device="cuda")[:, None] * room
        self.places = (first + self.positions).flatten()
        shape = (2, -1, PAGE, HEADS, HEAD_DIM) if is_paged else (2, batch, room, HEADS, HEAD_DIM)
        self.values = {"key": self.new[0], "value": self.new[1], "key_lengths": self.lengths, "cosines": self.cosines, "sines": self.sines}
        if is_paged:
            table = torch.randperm(batch * room // PAGE, device="cuda").view(batch, -1)
            self.values["key_pages"] = table.int()
            self.places = (table.gather(1, self.positions // PAGE) * PAGE + self.positions % PAGE).flatten()
        self.values |= dict(zip(("key_cache", "value_cache"), self.rows.view(shape)))
        self.bytes = 2 * sum(x.nbytes for x in self.new)

    def turn(self, key, kind):
        """The new keys with their pairs turned, in a type."""
        x, y = key.to(kind).chunk(2, -1)
        cosines, sines = (t[self.positions][:, :, None].to(kind) for t in (self.cosines, self.sines))
        return torch.cat([x * cosines - y * sines, x * sines + y * cosines], -1)

    def error(self, launch):
        before = self.rows.clone()
        self.rows[:, self.places] = math.nan
        launch()
        found = self.rows[:, self.places].double()
        self.rows[:, self.places] = before[:, self.places]
        if not torch.equal(self.rows, before):
            return math.inf
        want = torch.stack([self.turn(self.new[0], torch.float64), self.new[1].double()]).view_as(found)
        return ((found - want).norm() / want.norm()).item()

    def peers(self):
        # As many bytes are read and written.
        source, target = (torch.empty_like(torch.stack(self.new)) for _ in range(2))

        def by_torch():
            self.rows[0, self.places] = self.turn(self.new[0], torch.float32).to(self.rows.dtype).flatten(0, 1)
            self.rows[1, self.places] = self.new[1].flatten(0, 1)
        return {"copy": lambda: target.copy_(source), "torch": by_torch}


class Errors:
    """A word for each of `batch` sequences, whose tables have `columns` pages of a pool."""

    def __init__(self, batch, columns, element):
        self.name, self.problem = f"sequence errors, {batch} x {columns} pages", "sequence_errors"
        pool = torch.empty(4096, PAGE, HEADS, HEAD_DIM, device="cuda", dtype=TYPES[element])
        self.table = torch.randint(len(pool), (batch, columns), device="cuda", dtype=torch.int32)
        self.lengths = torch.randint(columns * PAGE // 2, columns * PAGE + 1, (batch,), device="cuda", dtype=torch.int32)
        self.values = {"query": torch.empty(batch, 1, 64, HEAD_DIM, device="cuda", dtype=pool.dtype), "key": pool, "value": pool,
                       "errors": torch.empty(batch, device="cuda", dtype=torch.int32), "key_lengths": self.lengths, "key_pages": self.table}
        self.pages, self.bytes = len(pool), self.table.nbytes

    def error(self, launch):
        """0 where all words are right. Then every sequence is whole again."""
        lengths, table = self.lengths.clone(), self.table.clone()
        self.lengths[::3] = self.table.shape[1] * PAGE + 1
        self.table[1::3, 3] = self.pages
        want = torch.zeros_like(self.lengths)
        want[::3], want[1::3] = LENGTH_IS_WRONG, PAGE_IS_WRONG
        self.values["errors"].fill_(-1)
        launch()
        is_right = torch.equal(self.values["errors"], want)
        self.lengths.copy_(lengths)
        self.table.copy_(table)
        return 0.0 if is_right else math.inf

    def peers(self):
        column = torch.arange(self.table.shape[1], device="cuda")

        def by_torch():
            used = column < (self.lengths[:, None] + PAGE - 1) // PAGE
            is_wrong = ((self.table < 0) | (self.table >= self.pages)) & used
            bad = (self.lengths < 0) | (self.lengths > self.table.shape[1] * PAGE)
            return torch.where(bad, LENGTH_IS_WRONG, PAGE_IS_WRONG * is_wrong.any(1))
        return {"torch": by_torch}


def measure(arguments, kernels, make):
    """Microseconds of each contestant, or none where ours is wrong."""
    cases = [make() for _ in range(SETS)]
    found = kernels.find(cases[0].problem, HEAD_DIM, arguments.elements[0])
    if not found:
        return None
    loaded = kernels.load(found[0])
    launches = [lambda values=[case.values[a.name] for a in loaded.arguments]: loaded.launch(*values) for case in cases]
    error = cases[0].error(launches[0])
    if not error < BOUND[arguments.elements[0]]:
        print(f"{found[0].name} is wrong: {cases[0].name}, relative error {error:.2e}")
        return {"name": cases[0].name, "error": str(error)}
    contestants = [timing.Contestant("own", in_turns(launches))]
    peers = [case.peers() for case in cases]
    contestants += [timing.Contestant(name, in_turns([peer[name] for peer in peers])) for name in peers[0]]
    times = timing.in_turns(contestants, arguments.rounds, lambda c: c.sample(*c.work(1.0, 500)))
    medians = {name: 1000 * statistics.median(values) for name, values in times.items()}
    print(f"{cases[0].name:40s} " + "  ".join(f"{name} {value:.1f} us" for name, value in medians.items())
          + f"  ({cases[0].bytes / 1e6 / medians['own']:.2f} TB/s)", flush=True)
    return {"name": cases[0].name, "bytes": cases[0].bytes, "error": error, "microseconds": times}


def main():
    arguments = options.make_parser(__doc__, "none", rounds=7).parse_args()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    torch.manual_seed(arguments.seed)
    kernels, element = Kernels(arguments.kernels, arguments.form), arguments.elements[0]
    makers = [lambda b=batch, t=tokens, r=room, p=is_paged: Append(b, t, r, p, element)
              for batch, tokens, room in ((1, 1, 4096), (8, 1, 4096), (64, 1, 2048), (256, 1, 1024), (1, 4096, 4096), (16, 1024, 2048))
              for is_paged in (False, True)]
    makers += [lambda b=batch, c=columns: Errors(b, c, element) for batch, columns in ((8, 256), (64, 4096), (256, 2048))]
    with torch.no_grad():
        cells = [cell for cell in (measure(arguments, kernels, make) for make in makers) if cell]
    path = device.write(arguments.out, device.describe(arguments.kernels) | {"cells": cells}, f"{arguments.form}-append")
    print(f"written to {path}")
    return 1 if not cells or any("microseconds" not in cell for cell in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
