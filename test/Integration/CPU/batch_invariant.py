"""A sequence gives the same bits alone, in a batch, packed and in pages of any size.

    batch_invariant.py FA_GRID FOLDER [--config CONFIG] [--target interpret --chip sm_80] [--pages 1,8]

CONFIG is the body of a #fa.config; without one the compiler chooses.

Sequences of 1 to 300 tokens, causal, with a sink of each head. The last line is
`N sequences, N forms: same bits`.
"""

import argparse
import sys
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from grid.server import Server  # noqa: E402

HEADS, KEY_HEADS, DIM = 4, 2, 64


def text(form, page=0, config=""):
    packed = form != "batch"
    q = f"tensor<{'?' if packed else '?x?'}x{HEADS}x{DIM}xbf16>"
    k = {"batch": f"tensor<?x?x{KEY_HEADS}x{DIM}xbf16>", "packed": f"tensor<?x{KEY_HEADS}x{DIM}xbf16>",
         "pages": f"tensor<?x{page}x{KEY_HEADS}x{DIM}xbf16>"}[form]
    tables = {"batch": ["query_lengths", "key_lengths"], "packed": ["query_starts", "key_starts"],
              "pages": ["key_lengths", "query_starts", "key_pages"]}[form]
    kinds = {name: "tensor<?x?xi32>" if name == "key_pages" else "tensor<?xi32>" for name in tables}
    arguments = ", ".join([f"%q: {q}", f"%k: {k}", f"%v: {k}", *(f"%{name}: {kind}" for name, kind in kinds.items()),
                           f"%s: tensor<{HEADS}xf32>", f"%o: {q}"])
    orders = {"batch": [], "packed": ["query", "key", "value", "output"], "pages": ["query", "output"]}[form]
    attributes = [f"{name}_dims = #fa.dims<s, h, d>" for name in orders]
    if form == "pages":
        attributes += [f"{name}_dims = #fa.dims<p, s, h, d>" for name in ("key", "value")]
    if config:
        attributes.append(f"config = #fa.config<{config}>")
    clauses = " ".join(f"{name}(%{name} : {kind})" for name, kind in kinds.items())
    return f"""func.func @main({arguments}) -> {q} {{
  %r = fa.attention ins(%q, %k, %v : {q}, {k}, {k}) outs(%o : {q}) {clauses} mask causal
      sink(%b, %h, %i) captures(%t = %s : tensor<{HEADS}xf32>) {{
        %x = tensor.extract %t[%h] : tensor<{HEADS}xf32>
        fa.yield %x : f32
      }}
      {{{', '.join(['batch_invariant', *attributes])}}}
  return %r : {q}
}}
"""


class Runner:
    def __init__(self, options):
        command = [options.program, f"--target={options.target}"] + ([f"--chip={options.chip}"] if options.chip else [])
        self.server, self.folder, self.config = Server(command, threads=2), options.folder, options.config

    def run(self, form, page, arrays, output):
        module = self.folder / "module.mlir"
        module.write_text(text(form, page, self.config))
        self.server.load(module=str(module))
        places, end = [], 0
        for array in [*arrays, output, output]:
            strides = [stride // array.itemsize for stride in np.empty(array.shape, array.dtype).strides]
            places.append({"offset": end, "shape": list(array.shape), "strides": strides})
            end += -(-array.nbytes // 64) * 64
        data = np.full(end, 0xFF, np.uint8)
        for place, array in zip(places, arrays):
            data[place["offset"]:place["offset"] + array.nbytes] = np.ascontiguousarray(array).view(np.uint8).ravel()
        file = self.folder / "data"
        data.tofile(file)
        self.server.run({"data": str(file), "arguments": places[:-1], "results": places[-1:]})
        begin = places[-1]["offset"]
        return np.fromfile(file, np.uint8)[begin:begin + output.nbytes].view(np.uint16).reshape(output.shape)


def pack(items):
    return np.concatenate(items), np.cumsum([0] + [len(item) for item in items]).astype(np.int32)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--config", default="")
    parser.add_argument("--target", choices=["cpu", "interpret", "cuda"], default="cpu")
    parser.add_argument("--chip")
    parser.add_argument("--pages", default="1,8,16,64,128,200", help="rows of a page")
    options = parser.parse_args()
    runner = Runner(options)
    rng = np.random.default_rng(3)
    keys = [1, 300, 17, 128, 64, 255]
    queries = [1, 300, 1, 100, 64, 2]
    sample = lambda rows, heads: rng.standard_normal((rows, heads, DIM)).astype(ml_dtypes.bfloat16)
    q = [sample(rows, HEADS) for rows in queries]
    k, v = ([sample(rows, KEY_HEADS) for rows in keys] for _ in range(2))
    sinks = rng.standard_normal(HEADS).astype(np.float32)
    lengths = lambda rows: np.array(rows, np.int32)
    # Alone.
    want = [runner.run("batch", 0, [q[b][None], k[b][None], v[b][None], lengths(queries[b:b + 1]),
                                    lengths(keys[b:b + 1]), sinks], q[b][None])[0] for b in range(len(keys))]
    forms = 0

    def compare(name, results):
        nonlocal forms
        forms += 1
        for b, (result, alone) in enumerate(zip(results, want)):
            if not np.array_equal(result, alone):
                sys.exit(f"{name}: {np.count_nonzero(result != alone)} elements of sequence {b} differ from those alone")

    pad = lambda items: np.stack([np.concatenate([item, np.full((300 - len(item), *item.shape[1:]), np.nan, item.dtype)])
                                  for item in items])
    batch = runner.run("batch", 0, [pad(q), pad(k), pad(v), lengths(queries), lengths(keys), sinks], pad(q))
    compare("a batch", [batch[b, :rows] for b, rows in enumerate(queries)])
    all_q, query_starts = pack(q)
    all_k, key_starts = pack(k)
    split = lambda result: [result[a:b] for a, b in zip(query_starts, query_starts[1:])]
    compare("packed", split(runner.run("packed", 0, [all_q, all_k, pack(v)[0], query_starts, key_starts, sinks], all_q)))
    for page in map(int, options.pages.split(",")):
        counts = [-(-rows // page) for rows in keys]
        order = rng.permutation(sum(counts) + 2)
        pools = [np.full((len(order), page, KEY_HEADS, DIM), np.nan, ml_dtypes.bfloat16) for _ in range(2)]
        table = np.full((len(keys), max(counts)), -1, np.int32)
        used = 0
        for b, count in enumerate(counts):
            table[b, :count] = order[used:used + count]
            used += count
            for j in range(keys[b]):
                for pool, rows in zip(pools, (k, v)):
                    pool[table[b, j // page], j % page] = rows[b][j]
        compare(f"pages of {page}", split(runner.run(
            "pages", page, [all_q, *pools, lengths(keys), query_starts, table, sinks], all_q)))
    print(f"{len(keys)} sequences, {forms} forms: same bits")


main()
