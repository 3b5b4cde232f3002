"""Runs compiled schedules on a GPU against float64.

    python3 test/Integration/GPU/schedules.py [--small] FOLDER...

A folder holds what fa-compile wrote: manifests, cubins or PTX. Needs torch, and
libFARuntimeCUDA.so where fa_mlir finds it. A manifest for another chip is
skipped aloud. Prints one line a check and `N passed, N failed, N skipped` last;
fails if a check does. With --small a few launches of each schedule alone, which
compute-sanitizer can watch.
"""

import glob
import json
import math
import os
import random
import sys
import time

import torch

import fa_mlir

# Relative error of bf16 outputs, absolute error of the log-sum-exp.
OUTPUT_BOUND, LSE_BOUND = 6e-3, 1e-4
POISON = 7.0
# Queries and keys of each batch, query heads, key heads.
CASES = [
    ([1], [1], 1, 1),                               # every stride is that of one element
    ([1], [200], 2, 1),
    ([128], [128], 1, 1),
    ([300], [300], 2, 1),
    ([17, 1, 129], [17, 129, 1000], 2, 2),          # ragged ends
    ([300, 70], [450, 513], 4, 2),                  # more keys than queries, grouped heads
    ([400, 129], [100, 1], 2, 2),                   # fully masked rows where causal
    ([257, 1, 64], [640, 0, 1000], 2, 1),           # no keys at all
    ([0, 200], [130, 0], 2, 1),                     # no queries
    ([1024, 1000, 777, 130], [1024, 1311, 900, 2048], 16, 4),  # more tiles than multiprocessors
]
ONE_LENGTH_CASES = [(1, 128, 1), (2, 300, 3), (3, 1, 2), (2, 1024, 16), (1, 4100, 16)]
# Of more than one block of queries and of keys, with ragged ends.
SMALL_CASES = CASES[4:6] + ONE_LENGTH_CASES[1:2]

results = {"pass": 0, "FAIL": 0, "skip": 0}


def record(name, passed, detail=""):
    outcome = "pass" if passed else "FAIL"
    results[outcome] += 1
    print(f"{outcome}  {name}  {detail}", flush=True)


class Schedule:
    """A kernel, and which problem it solves, by its name and those of its arguments."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            manifest = json.load(file)
        self.name = os.path.splitext(os.path.basename(path))[0]
        arguments = {argument["name"]: argument for argument in manifest["arguments"]}
        self.has_lengths = "query_lengths" in arguments
        self.has_slopes = "slopes" in arguments
        self.is_causal = "causal" in self.name
        self.head_dim = arguments["query"]["shape"][3]
        self.kernel = fa_mlir.load(path)
        self.kernel.prepare()

    def cases(self):
        if self.has_lengths:
            return CASES
        return [([length] * batch, [length] * batch, heads, heads) for batch, length, heads in ONE_LENGTH_CASES]


class Problem:
    """Inputs with NaN past the lengths, poisoned outputs, and the float64 result."""

    def __init__(self, schedule, queries, keys, heads, kv_heads, heads_first=False, seed=0):
        self.schedule, self.queries, self.keys = schedule, queries, keys
        generator = torch.Generator("cuda").manual_seed(seed)
        batch, dim = len(queries), schedule.head_dim
        # With one batch the lengths are the sizes of the tensors.
        extra = (3, 5) if batch > 1 and schedule.has_lengths else (0, 0)

        def make(length, n):
            shape = (batch, n, length, dim) if heads_first else (batch, length, n, dim)
            tensor = torch.randn(shape, device="cuda", generator=generator).bfloat16()
            return tensor.transpose(1, 2) if heads_first else tensor

        self.q = make(max(queries) + extra[0], heads)
        self.k, self.v = (make(max(keys) + extra[1], kv_heads) for _ in range(2))
        for b in range(batch):
            self.q[b, queries[b]:] = math.nan
            self.k[b, keys[b]:] = math.nan
            self.v[b, keys[b]:] = math.nan
        self.slopes = torch.rand(heads, device="cuda", generator=generator) / 8
        self.lengths = [torch.tensor(n, dtype=torch.int32, device="cuda") for n in (queries, keys)]
        self.scale = 1 / math.sqrt(dim)
        self.o = torch.empty_like(self.q)
        self.lse = torch.empty(batch, heads, self.q.shape[1], device="cuda")
        self.poison()

    def poison(self):
        self.o.fill_(POISON)
        self.lse.fill_(POISON)

    def launch(self, **named):
        inputs = [self.q, self.k, self.v]
        if self.schedule.has_lengths:
            inputs += self.lengths
        if self.schedule.has_slopes:
            inputs.append(self.slopes)
        self.schedule.kernel(*inputs, self.scale, output=self.o, lse=self.lse, **named)
        return self

    def outputs(self):
        torch.cuda.synchronize()
        return self.o.clone(), self.lse.clone()

    def reference(self):
        """Outputs in float64; NaN where nothing is written."""
        o = torch.full(self.o.shape, math.nan, dtype=torch.float64, device="cuda")
        lse = torch.full(self.lse.shape, math.nan, dtype=torch.float64, device="cuda")
        group = self.q.shape[2] // self.k.shape[2]
        for b, (n, m) in enumerate(zip(self.queries, self.keys)):
            row = torch.arange(n, device="cuda")[:, None]
            column = torch.arange(m, device="cuda")[None]
            for h in range(self.q.shape[2]):
                scores = self.q[b, :n, h].double() @ self.k[b, :m, h // group].double().T * self.scale
                if self.schedule.has_slopes:
                    scores += self.slopes[h].double() * (column - row - (m - n))
                if self.schedule.is_causal:
                    scores = scores.masked_fill(column > row + (m - n), -math.inf)
                if m == 0:
                    o[b, :n, h], lse[b, h, :n] = 0, -math.inf
                    continue
                total = torch.logsumexp(scores, 1, keepdim=True)
                weights = torch.exp(scores - total.masked_fill(total.isinf(), 0))
                o[b, :n, h] = weights @ self.v[b, :m, h // group].double()
                lse[b, h, :n] = total[:, 0]
        return o, lse


def check_numbers(name, problem):
    o, lse = problem.launch().outputs()
    expected, expected_lse = problem.reference()
    written, lse_written = ~expected.isnan(), ~expected_lse.isnan()
    untouched = bool((o[~written] == POISON).all()) and bool((lse[~lse_written] == POISON).all())
    norm = expected[written].norm().item()
    error = (o.double() - expected)[written].norm().item() / (norm or 1)
    finite = expected_lse.isfinite()
    lse_error = (lse.double() - expected_lse)[finite].abs().max().item() if finite.any() else 0
    empty = bool(((lse == -math.inf) == (expected_lse == -math.inf))[lse_written].all())
    good = untouched and error < OUTPUT_BOUND and lse_error < LSE_BOUND and empty and not o[written].isnan().any()
    record(name, good, f"o {error:.1e}, lse {lse_error:.1e}, rows past a length untouched: {untouched}, "
                       f"empty rows: {empty}")
    same = True
    for _ in range(3):
        problem.poison()
        same &= all(torch.equal(a, b) for a, b in zip(problem.launch().outputs(), (o, lse)))
    record(name + ", run again", same, "bit-equal")


def check_streams(schedule):
    """Two streams at once give what one after the other does."""
    problems = [Problem(schedule, *case, seed=seed)
                for seed in range(2) for case in schedule.cases()[-2:]]
    expected = [problem.launch().outputs() for problem in problems]
    streams = [torch.cuda.Stream() for _ in range(2)]
    for problem in problems:
        problem.poison()
    torch.cuda.synchronize()
    for _ in range(20):
        for i, problem in enumerate(problems):
            problem.launch(stream=streams[i % 2])
    record(f"{schedule.name}: two streams", all(
        torch.equal(a, b) for problem, pair in zip(problems, expected) for a, b in zip(problem.outputs(), pair)))


def check_graph(schedule):
    """A captured launch, replayed, gives what a launch does."""
    problem = Problem(schedule, *schedule.cases()[-1], seed=5)
    expected = problem.launch().outputs()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        problem.launch(stream=torch.cuda.current_stream())
    good = True
    for _ in range(3):
        problem.poison()
        graph.replay()
        good &= all(torch.equal(a, b) for a, b in zip(problem.outputs(), expected))
    record(f"{schedule.name}: graph capture", good)


def check_refusals(schedule):
    """Bad calls launch nothing, and the next call works."""
    problem = Problem(schedule, *schedule.cases()[1], seed=7)
    expected = problem.launch().outputs()
    problem.poison()
    good = []
    for name, wrong in (("dtype", problem.q.half()), ("stride", problem.q[..., ::2]),
                        ("address", problem.q.new_empty(problem.q.numel() + 1)[1:].view(problem.q.shape)),
                        ("shape", problem.q[:, :, :, :8]), ("rank", problem.q[0])):
        kept, problem.q = problem.q, wrong
        try:
            problem.launch()
            good.append(f"{name} accepted")
        except (fa_mlir.Error, TypeError, ValueError):
            pass
        problem.q = kept
    torch.cuda.synchronize()
    if not bool((problem.o == POISON).all()):
        good.append("a refused call wrote")
    if not all(torch.equal(a, b) for a, b in zip(problem.launch().outputs(), expected)):
        good.append("the next call differs")
    record(f"{schedule.name}: bad calls", not good, ", ".join(good))


def check_many_launches(schedule, count=10000):
    """Launches of changing shapes, without a wait between them, then all results again."""
    generator = random.Random(schedule.name)
    problems = []
    for seed in range(40):
        batch, heads = generator.randint(1, 3), generator.choice((1, 2, 4))
        queries = [generator.randint(1, 300) for _ in range(batch)]
        if not schedule.has_lengths:
            queries = [queries[0]] * batch
        keys = [generator.randint(0, 400) for _ in range(batch)] if schedule.has_lengths else queries
        kv_heads = generator.choice([n for n in (1, 2, 4) if heads % n == 0]) if schedule.has_lengths else heads
        problems.append(Problem(schedule, queries, keys, heads, kv_heads, generator.random() < 0.5, seed))
    expected = [problem.launch().outputs() for problem in problems]
    for problem in problems:
        problem.poison()
    free = torch.cuda.mem_get_info()[0]
    start = time.perf_counter()
    for _ in range(count):
        generator.choice(problems).launch()
    for problem in problems:
        problem.launch()
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    # Before the comparison, for which torch takes memory of its own.
    kept = free - torch.cuda.mem_get_info()[0]
    good = all(torch.equal(a, b) for problem, pair in zip(problems, expected)
               for a, b in zip(problem.outputs(), pair))
    record(f"{schedule.name}: {count} launches of changing shapes", good and kept <= 1 << 20,
           f"{seconds / count * 1e6:.0f} us each, {kept} bytes kept")


def check(path, small):
    try:
        schedule = Schedule(path)
    except fa_mlir.Error as error:
        if "sm_" not in str(error):
            raise
        results["skip"] += 1
        print(f"skip  {os.path.basename(path)}: {error}", flush=True)
        return
    for number, case in enumerate(schedule.cases()):
        if small and case not in SMALL_CASES:
            continue
        for heads_first in (False, True):
            layout = "heads first" if heads_first else "sequence first"
            check_numbers(f"{schedule.name}: queries {case[0]} keys {case[1]} heads {case[2]}/{case[3]} {layout}",
                          Problem(schedule, *case, heads_first, number))
    if small:
        return
    check_streams(schedule)
    check_graph(schedule)
    check_refusals(schedule)
    check_many_launches(schedule)


def main(small, folders):
    paths = sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "*.json")))
    if not paths:
        raise SystemExit("no manifest in " + ", ".join(folders))
    for path in paths:
        check(path, small)
    print(", ".join(f"{results[key]} {word}" for key, word in
                    (("pass", "passed"), ("FAIL", "failed"), ("skip", "skipped"))))
    return 1 if results["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main("--small" in sys.argv, [name for name in sys.argv[1:] if name != "--small"]))
