"""Runs compiled gradients on a GPU against float64.

    python3 test/Integration/GPU/gradients.py [--small] FOLDER...

A folder holds what fa-compile wrote: manifests, cubins or PTX. A kernel is causal, or
deterministic, if its name says so. Needs torch, and libFARuntimeCUDA.so where fa_mlir finds
it. Prints one line a check and `N passed, N failed` last; fails if a check does. With
--small a few launches of each kernel alone, which compute-sanitizer can watch.
"""

import glob
import math
import os
import random
import sys

import torch

import fa_mlir
from schedules import record, results

# Relative error of each gradient: in bf16 P and dS are rounded before their products. Without
# determinism, dq may differ by the order in which f32 numbers are added and by one rounding.
BOUNDS, RERUN_BOUND = {torch.bfloat16: 6e-3, torch.float32: 1e-6}, 2e-3
POISON = 7.0
# Batch, queries, keys, heads.
CASES = [
    (1, 1, 1, 1),
    (1, 1, 200, 2),
    (2, 130, 130, 3),        # ragged ends of both blocks
    (3, 300, 300, 1),
    (1, 300, 450, 2),        # more keys than queries
    (2, 257, 100, 2),        # rows without keys where causal
    (1, 1000, 1000, 4),
    (2, 1024, 1311, 16),     # more tiles than multiprocessors
    (1, 4100, 4100, 8),
]
SMALL_CASES = CASES[2:3] + CASES[5:6]


class Gradients:
    def __init__(self, path):
        self.name = os.path.splitext(os.path.basename(path))[0]
        self.is_causal = "causal" in self.name
        # Above head dim 128 nothing is added to memory, nor of f32.
        self.is_deterministic = any(word in self.name for word in ("deterministic", "d256", "_256", "f32"))
        self.kernel = fa_mlir.load(path)
        self.kernel.prepare()
        self.takes_scale = any(argument.name == "scale" for argument in self.kernel.arguments)
        query = next(argument for argument in self.kernel.arguments if argument.name == "query")
        self.head_dim = query.shape[3]
        self.type = torch.float32 if query.type == "f32" else torch.bfloat16


class Problem:
    """Inputs, poisoned outputs, and the float64 result."""

    def __init__(self, schedule, batch, queries, keys, heads, heads_first=False, seed=0):
        self.schedule = schedule
        generator = torch.Generator("cuda").manual_seed(seed)

        def make(length):
            sizes = (heads, length) if heads_first else (length, heads)
            tensor = torch.randn(batch, *sizes, schedule.head_dim, device="cuda", generator=generator).to(schedule.type)
            return tensor.transpose(1, 2) if heads_first else tensor

        self.q, self.do = make(queries), make(queries)
        self.k, self.v = make(keys), make(keys)
        self.scale = 1 / math.sqrt(schedule.head_dim)
        self.expected = self.reference()
        self.outputs = [torch.empty_like(x) for x in (self.q, self.k, self.v)]
        self.poison()

    def reference(self):
        """dq, dk, dv in float64; keeps the output and the log-sum-exp as a forward pass would give them."""
        q, k, v, do = (x.double().transpose(1, 2) for x in (self.q, self.k, self.v, self.do))
        scores = q @ k.transpose(-1, -2) * self.scale
        queries, keys = scores.shape[-2:]
        if self.schedule.is_causal:
            row, column = (torch.arange(n, device="cuda") for n in (queries, keys))
            scores = scores.masked_fill(column > row[:, None] + keys - queries, -math.inf)
        lse = torch.logsumexp(scores, -1, keepdim=True)
        p = torch.exp(scores - lse.masked_fill(lse.isinf(), 0))
        output = p @ v
        ds = p * (do @ v.transpose(-1, -2) - (do * output).sum(-1, keepdim=True)) * self.scale
        self.o = torch.empty_like(self.q).copy_(output.transpose(1, 2))
        self.lse = lse[..., 0].float().contiguous()
        return [x.transpose(1, 2) for x in (ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ do)]

    def poison(self):
        for output in self.outputs:
            output.fill_(POISON)

    def launch(self, **named):
        dq, dk, dv = self.outputs
        # The scale of a derived kernel is the default one.
        scale = {"scale": self.scale} if self.schedule.takes_scale else {}
        self.schedule.kernel(query=self.q, key=self.k, value=self.v, output=self.o, lse=self.lse,
                             output_gradient=self.do, query_gradient=dq, key_gradient=dk, value_gradient=dv,
                             **scale, **named)
        return self

    def results(self):
        torch.cuda.synchronize()
        return [output.clone() for output in self.outputs]

    def is_same(self, others):
        """The same bits; of dq close numbers where the kernel adds to memory."""
        dq, dk, dv = self.results()
        close = (torch.equal(dq, others[0]) if self.schedule.is_deterministic
                 else distance(dq, others[0].double()) < RERUN_BOUND)
        return close and torch.equal(dk, others[1]) and torch.equal(dv, others[2])


def distance(found, expected):
    norm = expected.norm().item()
    return (found.double() - expected).norm().item() / (norm or 1)


def check_numbers(name, problem):
    found = problem.launch().results()
    errors = [distance(*pair) for pair in zip(found, problem.expected)]
    record(name, all(error < BOUNDS[problem.schedule.type] for error in errors), "dq {:.1e}, dk {:.1e}, dv {:.1e}".format(*errors))
    same = True
    for _ in range(3):
        problem.poison()
        same &= problem.launch().is_same(found)
    record(name + ", run again", same, "bit-equal" if problem.schedule.is_deterministic else "dk, dv bit-equal")


def check_streams(schedule, count=500):
    """Two streams at once give what one after the other does, in each of many launches: other kernels on the
    device change who waits for whom."""
    problems = [Problem(schedule, *case, seed=seed) for seed in range(2) for case in CASES[-3:-1]]
    expected = [problem.launch().results() for problem in problems]
    streams = [torch.cuda.Stream() for _ in range(2)]
    differing = torch.zeros(3, dtype=torch.int64, device="cuda")
    torch.cuda.synchronize()
    for _ in range(count):
        for i, problem in enumerate(problems):
            with torch.cuda.stream(streams[i % 2]):
                problem.launch(stream=streams[i % 2])
                for n in range(0 if schedule.is_deterministic else 1, 3):
                    differing[n] += (problem.outputs[n] != expected[i][n]).any()
    torch.cuda.synchronize()
    record(f"{schedule.name}: two streams", not differing.any() and all(map(Problem.is_same, problems, expected)),
           "{} dq, {} dk, {} dv of {} differ".format(*differing.tolist(), count * len(problems)))


def check_graph(schedule):
    """A captured launch, replayed, gives what a launch does."""
    problem = Problem(schedule, *CASES[-3], seed=5)
    expected = problem.launch().results()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        problem.launch(stream=torch.cuda.current_stream())
    good = True
    for _ in range(3):
        problem.poison()
        graph.replay()
        good &= problem.is_same(expected)
    record(f"{schedule.name}: graph capture", good)


def check_many_launches(schedule, count=10000):
    """Launches of changing shapes, without a wait between them, then all results again."""
    generator = random.Random(schedule.name)
    problems = []
    for seed in range(20):
        batch, heads = generator.randint(1, 3), generator.choice((1, 2, 4))
        queries, keys = generator.randint(1, 300), generator.randint(1, 400)
        problems.append(Problem(schedule, batch, queries, keys, heads, generator.random() < 0.5, seed))
    expected = [problem.launch().results() for problem in problems]
    for problem in problems:
        problem.poison()
    for _ in range(count):
        generator.choice(problems).launch()
    for problem in problems:
        problem.launch()
    record(f"{schedule.name}: {count} launches of changing shapes", all(map(Problem.is_same, problems, expected)))


def check(path, small):
    schedule = Gradients(path)
    for number, case in enumerate(SMALL_CASES if small else CASES):
        for heads_first in (False, True):
            layout = "heads first" if heads_first else "sequence first"
            check_numbers(f"{schedule.name}: batch {case[0]} queries {case[1]} keys {case[2]} heads {case[3]} {layout}",
                          Problem(schedule, *case, heads_first, number))
    if not small:
        check_streams(schedule)
        check_graph(schedule)
        check_many_launches(schedule)


def main(small, folders):
    paths = sorted(path for folder in folders for path in glob.glob(os.path.join(folder, "*.json")))
    if not paths:
        raise SystemExit("no manifest in " + ", ".join(folders))
    for path in paths:
        check(path, small)
    print(f"{results['pass']} passed, {results['FAIL']} failed")
    return 1 if results["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main("--small" in sys.argv, [name for name in sys.argv[1:] if name != "--small"]))
