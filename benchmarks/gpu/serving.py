#!/usr/bin/env python3
"""Times decoding over long caches, contiguous, in pages and behind a prefix, and packed documents, beside FlashAttention-3, a
plain read and a plain copy of the same bytes, on one GPU and in one interleaved run.

    python3 benchmarks/gpu/compile.py --chips sm_90a --only '*decode*' '*paged*' '*packed*' '*shared*' --out KERNELS   (where LLVM is)
    PYTHONPATH=python FA_RUNTIME_LIBRARY=... python3 benchmarks/gpu/serving.py --kernels KERNELS --out DIR

All launches of a call are inside the figures: the parts of the keys and their merge, of this project and of the peers.
Calls take sets of keys and values in turn that L2 does not hold together. Where lengths are given, all are given them.
Outputs are compared with float64 first. The ratio to "read" is the share of a plain read that decoding reaches; that to
"copy" bounds packed documents.
"""

import dataclasses
import itertools
import math
import random
import sys
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

import bars
import options
from bench import BOUND, PEER_BOUND, TYPES, Bench
from check import Reference, attention, causal
from kernels import Kernels
from peers import find_flash_attention

# L2 holds 50 MiB of an H200: sets of keys and values take so many bytes together.
ROTATED_BYTES = 1_700_000_000
HEADS, KEY_HEADS, HEAD_DIM = 64, 8, 128
# Heads, and heads of keys, of the problems that decode.
SHAPES = {(HEADS, KEY_HEADS): "decode", (32, 32): "decode_32_heads"}
# What follows a prefix that so many sequences share.
SEQUENCES, OWN_KEYS = 64, 1024


@dataclass(frozen=True)
class Decode:
    """`tokens` queries of each sequence behind `keys` keys, in pages of `page` rows where that is not 0.
    `has_lengths`: how many keys there are is in memory of the device, for this project as for a peer."""

    batch: int
    tokens: int
    keys: int
    page: int
    element: str
    # Lengths at random from 512 to `keys`, of which half are below the mean of their logarithms.
    is_ragged: bool = False
    head_dim: int = HEAD_DIM
    heads: tuple = (HEADS, KEY_HEADS)
    has_lengths: bool = False

    @property
    def name(self):
        page = f" pages {self.page}" if self.page else ""
        ragged = "up to " if self.is_ragged else ""
        shape = f"{self.element} d{self.head_dim} h{self.heads[0]}/{self.heads[1]}{page}{self.given}"
        return f"{shape} b{self.batch} {self.tokens} x {ragged}{self.keys}"

    @property
    def given(self):
        """Pages and ragged sequences always have lengths."""
        return " lengths" if self.has_lengths and not self.page and not self.is_ragged else ""

    @property
    def lengths(self):
        rng = random.Random(self.batch)
        draw = lambda: int(512 * (self.keys / 512) ** rng.random())
        return [draw() if self.is_ragged else self.keys for _ in range(self.batch)]

    @property
    def group(self):
        ragged = " ragged" if self.is_ragged else ""
        page = f" pages {self.page}" if self.page else ""
        shape = "" if (self.head_dim, self.heads) == (HEAD_DIM, (HEADS, KEY_HEADS)) else f" d{self.head_dim} h{self.heads[0]}"
        return f"{self.element} decode{shape}{ragged}{page}{self.given} {self.tokens}"

    @property
    def problem(self):
        return f"paged_{self.page}" if self.page else "decode_lengths" if self.has_lengths else SHAPES[self.heads]

    @property
    def is_causal(self):
        return self.tokens > 1

    @property
    def operations(self):
        hidden = self.tokens * (self.tokens - 1) // 2 if self.is_causal else 0
        return 4 * self.heads[0] * self.head_dim * sum(self.tokens * keys - hidden for keys in self.lengths)

    @property
    def bytes(self):
        return 2 * sum(self.lengths) * self.heads[1] * self.head_dim * torch.empty(0, dtype=TYPES[self.element]).element_size()


# The longest documents at random.
RANDOM = {"random": 384, "random_160": 160}
DOCUMENTS = ["short", *RANDOM, "one_long"]


def documents(kind):
    """Lengths of packed documents: 126 of 64 to 384 tokens, most below 200; of 64 to 384 or 160 at random; one of 8192 among 64 of 128."""
    if kind == "short":
        return [128, 96, 160, 192, 64] * 25 + [384]
    if kind == "one_long":
        return [128] * 32 + [8192] + [128] * 32
    rng, lengths, most = random.Random(7), [], RANDOM[kind]
    while sum(lengths) < 16384 - most:
        lengths.append(rng.randint(64, most))
    return lengths + [16384 - sum(lengths)]


def starts_of(lengths):
    return torch.tensor([0, *itertools.accumulate(lengths)], dtype=torch.int32, device="cuda")


class PackedReference:
    """Some heads of some documents in float64."""

    def __init__(self, q, k, v, lengths, is_causal):
        self.parts, starts = [], [0, *itertools.accumulate(lengths)]
        for i in range(0, len(lengths), 9):
            rows = slice(starts[i], starts[i + 1])
            mask = (lambda i, j: j <= i) if is_causal else None
            self.parts += [(rows, h, attention(q[rows, h], k[rows, h], v[rows, h], mask=mask))
                           for h in (0, q.shape[1] // 2, q.shape[1] - 1)]

    def error(self, output):
        difference = sum((output[rows, h].double() - want).norm() ** 2 for rows, h, want in self.parts)
        return (difference / sum(want.norm() ** 2 for _, _, want in self.parts)).sqrt().item()


class SomeOf:
    """A reference for some items of the batch."""

    def __init__(self, reference, items):
        self.reference, self.items = reference, items

    def error(self, output):
        return self.reference.error(output[self.items])


class Right:
    """Of a contestant whose output is no attention."""

    @staticmethod
    def error(output):
        return 0.0


def in_turns(launches):
    """Runs the launches of the sets one after the other; the first call is of the first set."""
    turn = itertools.cycle(launches)
    return lambda: next(turn)()


@triton.jit
def sum_words(words, sums, count, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK * STEPS
    total = tl.zeros([BLOCK], tl.int32)
    for step in tl.static_range(STEPS):
        at = first + step * BLOCK + tl.arange(0, BLOCK)
        total += tl.load(words + at, mask=at < count, other=0)
    tl.store(sums + tl.program_id(0), tl.sum(total))


def read(tensors):
    """A sum of the words of each block, which is to read them: nothing but the memory bounds it."""
    block, steps = 4096, 8
    words = [x.view(torch.int32).view(-1) for x in tensors]
    grids = [(triton.cdiv(x.numel(), block * steps),) for x in words]
    sums = [torch.empty(grid, dtype=torch.int32, device=x.device) for grid, x in zip(grids, words)]

    def launch():
        for x, total, grid in zip(words, sums, grids):
            sum_words[grid](x, total, x.numel(), BLOCK=block, STEPS=steps, num_warps=8)
    return launch


class Serving:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bench = Bench(arguments.seed, {"burst": arguments.rounds}, arguments.kernels, arguments.out,
                           f"{arguments.form}-serving-{'-'.join(arguments.elements)}")
        self.kernels = Kernels(arguments.kernels, arguments.form)
        self.before = Kernels(arguments.before, arguments.form) if arguments.before else None
        wanted = arguments.peers
        self.fa3 = None if wanted is not None and "fa3" not in wanted else find_flash_attention(self.bench.note).get("fa3")

    def find(self, problem, element, values, head_dim=HEAD_DIM):
        return [kernel for kernel in self.kernels.find(problem, head_dim, element)
                if kernel.kind in self.arguments.kinds and values.items() <= dict(kernel.values).items()]

    def prepare_own(self, case, own, make, reference, element):
        """Of both builds; `make` takes the folder's kernels, and one of them."""
        return [self.bench.prepare(case, kernel.name + suffix, lambda: make(kernels, kernel), reference, BOUND[element],
                                   is_own=not suffix)
                for kernels, suffix in ((self.kernels, ""), (self.before, " before")) if kernels
                for kernel in kernels.also(own)]

    def measure(self, prepared, own, operations, head_dim=HEAD_DIM, **key):
        names = {kind: [kernel.name for kernel in own if kernel.kind == kind] for kind in ("derived", "written")}
        self.bench.measure(prepared, names["derived"], names["written"], operations, head_dim=head_dim,
                           form=self.arguments.form, **key)

    def make_sets(self, case):
        """Keys, values and what a launch is given beside them, in as many sets as L2 does not hold."""
        shape, kind = (case.batch, case.keys, case.heads[1], case.head_dim), TYPES[case.element]
        lengths = torch.tensor(case.lengths, dtype=torch.int32, device="cuda")
        sets = []
        for _ in range(max(1, ROTATED_BYTES // case.bytes)):
            k, v = (torch.randn(shape, device="cuda", dtype=kind) for _ in range(2))
            more = {"key_lengths": lengths}
            pools = (k, v)
            if case.page:
                count = case.batch * case.keys // case.page
                order = torch.randperm(count, device="cuda")
                pools = tuple(torch.empty(count, case.page, *shape[2:], device="cuda", dtype=kind) for _ in "kv")
                for pool, rows in zip(pools, (k, v)):
                    pool[order] = rows.view(pool.shape)
                more["key_pages"] = order.to(torch.int32).view(case.batch, -1)
            sets.append((k, v, pools, more))
        return sets

    def decode(self, case):
        own = self.find(case.problem, case.element, {"TOKENS": case.tokens}, case.head_dim)
        if not own:
            return self.bench.note(f"no kernel for {case.name}")
        torch.manual_seed(self.arguments.seed)
        q = torch.randn(case.batch, case.tokens, case.heads[0], case.head_dim, device="cuda", dtype=TYPES[case.element])
        sets = self.make_sets(case)
        ends = lambda b, h: causal(case.tokens, case.lengths[b])(b, h)
        reference = Reference(q, *sets[0][:2], mask=ends if case.is_causal or case.is_ragged else None)

        def make(kernels, kernel):
            return in_turns([kernels.make(kernel, q, *pools, **more) for _, _, pools, more in sets])

        prepared = self.prepare_own(case.name, own, make, reference, case.element)
        if self.fa3 and not case.page:
            prepared.append(self.bench.prepare(
                case.name, "fa3", lambda: in_turns([lambda k=k, v=v, more=more: self.fa3.flash_attn_with_kvcache(
                    q, k, v, causal=case.is_causal, cache_seqlens=more["key_lengths"] if case.has_lengths else None)
                    for k, v, _, more in sets]), reference, PEER_BOUND[case.element]))
        # As many bytes as the keys and values of all sequences.
        rows = sum(case.lengths)
        prepared.append(self.bench.prepare(case.name, "read", lambda: in_turns(
            [read([x.flatten(0, 1)[:rows] for x in s[:2]]) for s in sets]), Right, 1))
        self.measure(prepared, own, case.operations, case=case.name, part="decode", group=case.group,
                     label=f"b{case.batch} {case.keys}", element=case.element, length=case.keys, bytes=case.bytes,
                     head_dim=case.head_dim)

    def shared(self, keys, element):
        """One token of sequences that begin with the same `keys` keys."""
        name = f"{element} d{HEAD_DIM} h{HEADS}/{KEY_HEADS} {SEQUENCES} of {OWN_KEYS} behind {keys}"
        own = self.find("shared_prefix", element, {})
        if not own:
            return self.bench.note(f"no kernel for {name}")
        torch.manual_seed(self.arguments.seed)
        make = lambda *shape: torch.randn(*shape, device="cuda", dtype=TYPES[element])
        q = make(SEQUENCES, 1, HEADS, HEAD_DIM)
        size = 2 * (keys + SEQUENCES * OWN_KEYS) * KEY_HEADS * HEAD_DIM * q.element_size()
        sets = [[make(*of, KEY_HEADS, HEAD_DIM) for of in ((keys,), (SEQUENCES, OWN_KEYS)) for _ in "kv"]
                for _ in range(max(1, ROTATED_BYTES // size))]
        chosen = [0, SEQUENCES // 2, SEQUENCES - 1]
        both = [torch.cat([sets[0][i].expand(len(chosen), -1, -1, -1), sets[0][i + 2][chosen]], 1) for i in range(2)]
        reference = SomeOf(Reference(q[chosen], *both), chosen)

        def launch(kernels, kernel):
            def of(prefix_key, prefix_value, key, value):
                output = torch.full_like(q, math.nan)
                return kernels.make_packed(kernel, output, query=q, prefix_key=prefix_key, prefix_value=prefix_value,
                                           key=key, value=value, result0=output)
            return in_turns([of(*each) for each in sets])

        prepared = self.prepare_own(name, own, launch, reference, element)
        prepared.append(self.bench.prepare(name, "read", lambda: in_turns([read(each) for each in sets]), Right, 1))
        self.measure(prepared, own, 4 * HEADS * HEAD_DIM * SEQUENCES * (keys + OWN_KEYS), case=name, part="shared",
                     group=f"{element} shared prefix", label=str(keys), element=element, length=keys, bytes=size)

    def packed(self, kind, element, is_causal, heads=16):
        lengths = documents(kind)
        starts, rows, longest = starts_of(lengths), sum(lengths), max(lengths)
        torch.manual_seed(self.arguments.seed)
        sets = [[torch.randn(rows, heads, HEAD_DIM, device="cuda", dtype=TYPES[element]) for _ in range(3)] for _ in range(4)]
        reference = PackedReference(*sets[0], lengths, is_causal)
        problem = "packed_causal" if is_causal else "packed_full"
        name = f"{element} d{HEAD_DIM} {kind} documents {'causal' if is_causal else 'full'}"
        own = self.find(problem, element, {})

        def make(kernels, kernel):
            def of(q, k, v):
                output = torch.full_like(q, math.nan)
                return kernels.make_packed(kernel, output, query=q, key=k, value=v, query_starts=starts, key_starts=starts)
            return in_turns([of(*each) for each in sets])

        def flash(q, k, v):
            found = self.fa3.flash_attn_varlen_func(q, k, v, starts, starts, longest, longest, causal=is_causal)
            return found[0] if isinstance(found, tuple) else found

        prepared = self.prepare_own(name, own, make, reference, element)
        if self.fa3:
            prepared.append(self.bench.prepare(name, "fa3", lambda: in_turns([lambda e=e: flash(*e) for e in sets]),
                                               reference, PEER_BOUND[element]))
        # q, k and v are read and o is written: as many bytes as a copy of two of them moves.
        targets = [[torch.empty_like(x) for x in each[:2]] for each in sets]
        prepared.append(self.bench.prepare(name, "copy", lambda: in_turns(
            [lambda a=a, b=b: [y.copy_(x) for x, y in zip(a, b)] for a, b in zip(sets, targets)]), Right, 1))
        pairs = sum(n * (n + 1) // 2 if is_causal else n * n for n in lengths)
        self.measure(prepared, own, 4 * heads * HEAD_DIM * pairs, case=name, part="packed", group=f"{element} packed",
                     label=f"{kind} {'causal' if is_causal else 'full'}", element=element, length=longest)


def parse():
    parser = options.make_parser(__doc__, "fa3", rounds=7)
    parser.add_argument("--batches", type=options.integers, default=[1, 8, 32])
    parser.add_argument("--tokens", type=options.integers, default=[1, 4, 16])
    parser.add_argument("--keys", type=options.integers, default=[4096, 8192, 32768])
    parser.add_argument("--pages", type=options.integers, default=[0, 64, 16], help="rows of a page, also 1; 0: contiguous keys")
    parser.add_argument("--ragged", type=options.integers, default=[], help="also sequences of lengths from 512 to these, as 65536")
    parser.add_argument("--head-dims", type=options.integers, default=[64, 128, 256], help="of contiguous keys without lengths")
    parser.add_argument("--prefixes", type=options.integers, default=[32768], help="keys that all sequences share")
    parser.add_argument("--documents", nargs="*", choices=DOCUMENTS, default=DOCUMENTS)
    return parser.parse_args()


def main():
    arguments = parse()
    if not torch.cuda.is_available():
        sys.exit("error: torch sees no GPU")
    serving = Serving(arguments)
    cases = [Decode(batch, tokens, keys, page, element) for element in arguments.elements for page in arguments.pages
             for keys in arguments.keys for batch in arguments.batches for tokens in arguments.tokens]
    cases = [*(dataclasses.replace(case, head_dim=head_dim, heads=heads) for case in cases if not case.page
               for heads in SHAPES for head_dim in arguments.head_dims),
             *(dataclasses.replace(case, has_lengths=True) for case in cases)]
    cells = [lambda case=case: serving.decode(case) for case in cases]
    cells += [lambda e=element, k=keys: serving.shared(k, e) for element in arguments.elements for keys in arguments.prefixes]
    cells += [lambda case=Decode(batch, tokens, keys, page, element, is_ragged=True, has_lengths=True): serving.decode(case)
              for element in arguments.elements for keys in arguments.ragged for page in arguments.pages
              for batch in [8, 32, 64] for tokens in arguments.tokens]
    cells += [lambda e=element, k=kind, c=is_causal: serving.packed(k, e, c) for element in arguments.elements
              for kind in arguments.documents for is_causal in (False, True)]
    with torch.no_grad():
        for cell in cells:
            if not serving.bench.is_stopped:
                cell()
                torch.cuda.empty_cache()
    results = serving.bench.write(bars=bars.judge(serving.bench.cells))
    bars.show(results["bars"])
    return 1 if serving.bench.failed else 0


if __name__ == "__main__":
    sys.exit(main())
