#!/usr/bin/env python3
"""Times what an inference engine asks of attention, on the CPU: decoding of one or a few tokens over a long cache,
contiguous and in pages.

Contestants take turns within one run, on the same number of threads: this project on contiguous keys, on pages in
random order, PyTorch's scaled_dot_product_attention, and a plain read of the same keys and values. Ratios above 1 say
that this project is faster. Results are compared with float64 first.
"""

import os

# Idle threads of one contestant must not spin while another one runs.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import argparse
import math
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

from contestants import ROOT, Module

ELEMENTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
# Relative errors of outputs in the type of the inputs.
BOUNDS = {"f32": 2e-6, "f16": 1e-3, "bf16": 6e-3}


@dataclass(frozen=True)
class Case:
    """`tokens` queries behind `keys` keys, of (batch, sequence, heads, head dim)."""

    batch: int
    tokens: int
    keys: int
    heads: int
    key_heads: int
    head_dim: int
    element: str
    causal: bool

    @property
    def name(self):
        mask = " causal" if self.causal else ""
        return f"{self.element} b{self.batch} {self.tokens} x {self.keys} h{self.heads}/{self.key_heads} d{self.head_dim}{mask}"

    def queries_type(self):
        return f"tensor<{self.batch}x{self.tokens}x{self.heads}x{self.head_dim}x{self.element}>"

    def text(self, page, config):
        """The function on contiguous keys, or on pages of so many rows."""
        queries = self.queries_type()
        keys = f"tensor<?x{page or '?'}x{self.key_heads}x{self.head_dim}x{self.element}>"
        arguments, clauses = f"%query: {queries}, %key: {keys}, %value: {keys}", ""
        attributes = [f"config = #fa.config<{config}>"] if config else []
        if page:
            arguments += f", %lengths: tensor<{self.batch}xi32>, %table: tensor<{self.batch}x?xi32>"
            clauses = f"key_lengths(%lengths : tensor<{self.batch}xi32>) key_pages(%table : tensor<{self.batch}x?xi32>)"
            attributes += [f"{name}_dims = #fa.dims<p, s, h, d>" for name in ("key", "value")]
        return f"""
func.func @main({arguments}) -> {queries} {{
  %init = tensor.empty() : {queries}
  %output = fa.attention ins(%query, %key, %value : {queries}, {keys}, {keys}) outs(%init : {queries})
      {clauses} {"mask causal" if self.causal else ""} {{{", ".join(attributes)}}}
  return %output : {queries}
}}
"""

    def arrays(self, rng):
        kind = ELEMENTS[self.element]
        shapes = ((self.batch, n, heads, self.head_dim) for n, heads in
                  ((self.tokens, self.heads), (self.keys, self.key_heads), (self.keys, self.key_heads)))
        return [rng.standard_normal(shape, dtype=np.float32).astype(kind) for shape in shapes]

    def expected(self, query, key, value):
        """Some heads of the first sequence, in float64: by head, (tokens, head dim)."""
        group, found = self.heads // self.key_heads, {}
        for head in {0, self.heads // 2, self.heads - 1}:
            q, k, v = (x[0, :, h].astype(np.float64) for x, h in ((query, head), (key, head // group), (value, head // group)))
            scores = q @ k.T / math.sqrt(self.head_dim)
            if self.causal:
                scores[np.triu_indices(self.tokens, self.keys - self.tokens + 1, self.keys)] = -np.inf
            weights = np.exp(scores - scores.max(1, keepdims=True))
            found[head] = weights @ v / weights.sum(1, keepdims=True)
        return found


def into_pages(rng, page, key, value):
    """Keys and values in pages in random order, and the table. Each sequence ends with a whole page."""
    batch, keys = key.shape[:2]
    count = keys // page
    order = rng.permutation(batch * count)
    pools = []
    for array in (key, value):
        pool = np.empty((batch * count, page, *array.shape[2:]), array.dtype)
        pool[order] = array.reshape(pool.shape)
        pools.append(pool)
    return [*pools, np.full(batch, keys, np.int32), order.reshape(batch, count).astype(np.int32)]


def torch_run(torch, case, query, key, value):
    kind = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[case.element]
    q, k, v = (torch.from_numpy(x.astype(np.float32)).to(kind).transpose(1, 2) for x in (query, key, value))
    mask = None
    if case.causal:
        mask = torch.ones(case.tokens, case.keys, dtype=torch.bool).tril(case.keys - case.tokens)

    def run():
        start = time.perf_counter()
        torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=case.heads != case.key_heads)
        return time.perf_counter() - start

    return run


def read_run(torch, key, value):
    """Seconds to add up all words of the keys and values, which is to read them."""
    words = [torch.from_numpy(x.reshape(-1).view(np.uint8)).view(torch.float32) for x in (key, value)]

    def run():
        start = time.perf_counter()
        for array in words:
            array.sum()
        return time.perf_counter() - start

    return run


class Serving:
    def __init__(self, arguments, torch):
        self.arguments, self.torch = arguments, torch
        self.build = arguments.build.resolve()
        self.folder = Path(tempfile.mkdtemp(prefix="fa-bench-"))
        self.rng = np.random.default_rng(0)

    def contestant(self, case, page, arrays, expected):
        """A module that gave the right result, and a function that runs it."""
        module = Module(self.build, self.arguments.threads, self.folder, case.text(page, self.arguments.config))
        query = arrays[0]
        run = module.prepare(arrays, [(query.shape, query.dtype)])
        run()
        output, = module.outputs()
        for head, want in expected.items():
            error = np.linalg.norm(output[0, :, head].astype(np.float64) - want) / np.linalg.norm(want)
            if not error < BOUNDS[case.element]:
                sys.exit(f"error: {case.name}, pages of {page or 'no'} rows: head {head} differs by {error:.1e}")
        return module, run

    def cell(self, case):
        query, key, value = case.arrays(self.rng)
        expected = case.expected(query, key, value)
        modules, runs = {}, {}
        modules["ours"], runs["ours"] = self.contestant(case, 0, [query, key, value], expected)
        for page in self.arguments.pages:
            name = f"pages of {page}"
            arrays = [query, *into_pages(self.rng, page, key, value)]
            modules[name], runs[name] = self.contestant(case, page, arrays, expected)
        runs["torch"] = torch_run(self.torch, case, query, key, value)
        runs["read"] = read_run(self.torch, key, value)
        first = sum(run() for run in runs.values())
        rounds = int(min(60, max(5, self.arguments.seconds / first)))
        times = {name: [] for name in runs}
        for _ in range(rounds):
            for name, run in runs.items():
                times[name].append(run())
        least = {name: min(values) for name, values in times.items()}
        median = {name: statistics.median(values) for name, values in times.items()}
        ratio = lambda a, b: f"{least[a] / least[b]:.2f} ({median[a] / median[b]:.2f})"
        rate = (key.nbytes + value.nbytes) / least["ours"] / 1e9
        text = [f"share of a read {ratio('read', 'ours')}", f"to torch {ratio('torch', 'ours')}"]
        text += [f"{name} to contiguous {ratio('ours', name)}" for name in modules if name != "ours"]
        print(f"{case.name}: {'  '.join(text)}  {rate:.1f} GB/s, {1e3 * least['ours']:.2f} ms, {rounds} rounds", flush=True)
        for module in modules.values():
            module.end()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--seconds", type=float, default=10, help="for each case, about")
    parser.add_argument("--elements", nargs="+", choices=list(ELEMENTS), default=["f32", "bf16"])
    parser.add_argument("--keys", type=int, nargs="+", default=[4096, 32768])
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--heads", nargs="+", default=["64/8", "8/1"], help="query heads / key heads")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--pages", type=int, nargs="*", default=[16, 64], help="rows of a page")
    parser.add_argument("--config", default="", help="body of a #fa.config")
    return parser.parse_args()


def main():
    arguments = parse()
    import torch
    torch.set_num_threads(arguments.threads)
    print(f"{arguments.threads} threads, load {os.getloadavg()[0]:.1f}, torch {torch.__version__}; seconds: least of a run "
          "(median)")
    serving = Serving(arguments, torch)
    for element in arguments.elements:
        for heads in arguments.heads:
            for keys in arguments.keys:
                for tokens in arguments.tokens:
                    query_heads, key_heads = map(int, heads.split("/"))
                    serving.cell(Case(arguments.batch, tokens, keys, query_heads, key_heads, arguments.head_dim, element,
                                      causal=tokens > 1))


if __name__ == "__main__":
    main()
