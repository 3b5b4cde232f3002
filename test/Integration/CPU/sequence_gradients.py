#!/usr/bin/env python3
"""Sampled gradients of packed sequences and of sinks, compared with formulas in numpy and the float64 evaluator.

    sequence_gradients.py --build BUILD [--seed SEED] [--functions N] [--problems N] [--only NAME] [--target TARGET --chip CHIP] [--long]
        [--spoil]

Queries and keys are a batch or packed, each with lengths or without; rows of no sequence are NaN and have to get 0.
Masks, scores and sinks see positions within a sequence; gradients of what scores and sinks capture, and of the scale,
are sums over all sequences. With `--long` queries and keys are packed, in sequences of up to 500 rows, of head dim 64 and of two query
heads on each key head. The last line is `N passed, N failed`.
"""

import argparse
import os
import secrets
import sys

import ml_dtypes
import numpy as np

from grid import functions

TYPES = {"f16": (np.float16, 2e-3), "bf16": (ml_dtypes.bfloat16, 1.2e-2), "f32": (np.float32, 5e-6)}
# A result errs by its own type. What is summed up over all pairs is so in f32, whatever the type of queries and keys.
BOUNDS = {np.dtype(kind): bound for kind, bound in TYPES.values()}
OF_SUMS, EVALUATOR = BOUNDS[np.dtype(np.float32)], 1e-11
# Of sums of differences that cancel, to the sum of what is subtracted. That are two sums of up to 128 products in f32, of which
# each addition errs by up to 2^-24 of the sum so far, at random: by sqrt(128 / 6) of that in the mean.
ROUNDING, EVALUATOR_ROUNDING = 2 ** -24 * (128 / 6) ** 0.5, 1e-14
SINKS = {"heads": ("tensor<?xf32>", "%h"), "batch": ("tensor<?x?xf32>", "%b, %h"), "queries": ("tensor<?x?xf32>", "%h, %i"),
         "one": ("tensor<1xf32>", "%zero")}
# What a score adds from a table, by the indices of a pair. On a GPU each is summed up in its own way.
TABLES = {"pairs": (4, "%b, %h, %i, %j", lambda b, h, i, j: (b, h, i, j)), "shared": (2, "%i, %j", lambda b, h, i, j: (i, j)),
          "queries": (2, "%h, %i", lambda b, h, i, j: (h, i)), "keys": (2, "%h, %j", lambda b, h, i, j: (h, j)),
          "sequences": (2, "%b, %h", lambda b, h, i, j: (b, h)), "distances": (2, "%h, %far", lambda b, h, i, j: (h, np.abs(i - j)))}


class Function:
    """What is compiled once; sizes come with each problem."""

    def __init__(self, rng, chip, is_long=False):
        self.is_long = is_long
        pick = lambda values: values[int(rng.integers(len(values)))]
        self.element = pick(["f32", "f16", "bf16"] if chip else ["f32", "f32", "f16", "bf16"])
        self.dim, self.value_dim = (pick([32, 64, 128]), pick([32, 64, 128])) if chip else (pick([16, 33, 64]), pick([8, 20, 64]))
        self.packed_queries, self.packed_keys = pick([True, True, False]), pick([True, True, False])
        self.query_lengths, self.key_lengths = pick([True, False]), pick([True, False])
        self.mask = pick(["", "causal", "causal", "window"])
        self.score = pick(["", "alibi", "softcap", "table"])
        self.table, self.table_element = pick(sorted(TABLES)), pick(["f32", self.element])
        self.sink = pick(["none", "heads", "batch", "queries", "one"])
        self.has_lse_gradient = pick([True, False])
        self.outs = [name for name in ("query", "key", "value") if pick([True, True, False])]
        self.slopes, self.sinks = self.score == "alibi" and pick([True, False]), self.sink != "none" and pick([True, True, False])
        self.entries, self.scale = self.score == "table" and pick([True, True, False]), pick([True, False, False])
        self.is_deterministic = False
        if chip:
            self.sinks = False
            # Pairs share elements of the other tables, and are added in any order.
            shares = self.entries and (self.table in ("shared", "distances") or self.table == "keys" and not set(self.outs) & {"key", "value"})
            self.is_deterministic = not shares and pick([True, True, False])
        if is_long:
            self.element, self.dim, self.value_dim, self.packed_queries, self.packed_keys = pick(["f16", "bf16"]), 64, 64, True, True
            self.score, self.outs, self.slopes, self.entries, self.scale = "", ["query", "key", "value"], False, False, False
        if not self.outs and not self.slopes and not self.sinks and not self.entries and not self.scale:
            self.outs = ["query"]

    def types(self):
        rows = lambda packed, dim: f"tensor<{'?x?' if packed else '?x?x?'}x{dim}x{self.element}>"
        numbers = "tensor<?x?xf32>" if self.packed_queries else "tensor<?x?x?xf32>"
        kinds = {"query": rows(self.packed_queries, self.dim), "key": rows(self.packed_keys, self.dim),
                 "value": rows(self.packed_keys, self.value_dim), "o": rows(self.packed_queries, self.value_dim), "lse": numbers,
                 "do": rows(self.packed_queries, self.value_dim)}
        if self.has_lse_gradient:
            kinds["dlse"] = numbers
        for name in self.tables():
            kinds[name] = "tensor<?xi32>"
        if self.mask == "window":
            kinds.update(left="index", right="index")
        if self.score == "alibi":
            kinds["slopes"] = "tensor<?xf32>"
        if self.score == "softcap":
            kinds["cap"] = "f32"
        if self.score == "table":
            kinds["entries"] = f"tensor<{'?x' * TABLES[self.table][0]}{self.table_element}>"
        if self.scale:
            kinds["scale"] = "f32"
        if self.sink != "none":
            kinds["sinks"] = SINKS[self.sink][0]
        return kinds

    def tables(self):
        return [name for name, there in (("query_lengths", self.query_lengths), ("key_lengths", self.key_lengths),
                                         ("query_starts", self.packed_queries), ("key_starts", self.packed_keys)) if there]

    def results(self):
        """Names of gradients, the operands that they are of, and the words of the clause."""
        found = [(name, name, name) for name in self.outs]
        if self.slopes:
            found.append(("slopes", "slopes", "capture[0]"))
        if self.entries:
            found.append(("entries", "entries", "capture[0]"))
        if self.scale:
            found.append(("scale", "scale", "scale"))
        if self.sinks:
            found.append(("sinks", "sinks", "sink_capture[0]"))
        return found

    def text(self):
        kinds, results = self.types(), self.results()
        sums = {**kinds, "scale": "tensor<f32>"}
        # Rows of pairs that bulk copies take, and store.
        align = lambda name: " {fa.align = 16 : i64}" if name == "entries" and self.table == "pairs" else ""
        inits = ", ".join(f"%d_{name}: {sums[of]}{align(of)}" for name, of, _ in results)
        returned = ", ".join(sums[of] for _, of, _ in results)
        lines = [f"func.func @main({', '.join(f'%{name}: {kind}{align(name)}' for name, kind in kinds.items())}, {inits}) -> ({returned}) {{",
                 f"  %r{f':{len(results)}' if len(results) > 1 else ''} = fa.attention_gradient ins(%query, %key, %value : "
                 f"{kinds['query']}, {kinds['key']}, {kinds['value']})",
                 f"      of(%o, %lse : {kinds['o']}, {kinds['lse']})"]
        given = ["do", "dlse"] if self.has_lse_gradient else ["do"]
        lines.append(f"      gradients({', '.join('%' + name for name in given)} : {', '.join(kinds[name] for name in given)})")
        lines.append("      outs(" + ", ".join(f"{word} = %d_{name} : {sums[of]}" for name, of, word in results) + ")")
        lines += ["      scale(%scale)"] if self.scale else []
        lines += [f"      {name}(%{name} : tensor<?xi32>)" for name in self.tables()]
        lines += {"": [], "alibi": ["      score alibi(%slopes : tensor<?xf32>)"], "softcap": ["      score softcap(%cap)"],
                  "table": self.table_lines()}[self.score]
        lines += {"": [], "causal": ["      mask causal"], "window": ["      mask window(%left, %right)"]}[self.mask]
        if self.sink != "none" and self.sinks:
            kind, indices = SINKS[self.sink]
            lines += [f"      sink(%b, %h, %i) captures(%table = %sinks : {kind}) {{", "        %zero = arith.constant 0 : index",
                      f"        %x = tensor.extract %table[{indices}] : {kind}", "        fa.yield %x : f32", "      }"]
        orders = [("query", self.packed_queries), ("key", self.packed_keys), ("value", self.packed_keys),
                  ("output", self.packed_queries), ("output_gradient", self.packed_queries)]
        orders += [(f"{name}_gradient", dict(orders)[name]) for name in self.outs]
        attributes = [f"{name}_dims = #fa.dims<s, h, d>" for name, packed in orders if packed] + ["deterministic"] * self.is_deterministic
        lines.append(f"      {{{', '.join(attributes)}}}" if attributes else "")
        names = ", ".join(f"%r#{i}" for i in range(len(results))) if len(results) > 1 else "%r"
        return "\n".join([*lines, f"  return {names} : {returned}", "}"]) + "\n"

    def table_lines(self):
        kind, widen = self.types().get("entries"), "" if self.table_element == "f32" else f"arith.extf %entry : {self.table_element} to f32"
        return [f"      score(%s, %b, %h, %i, %j) captures(%table = %entries : {kind}) {{",
                "        %left_of = arith.subi %i, %j : index", "        %right_of = arith.subi %j, %i : index",
                "        %far = arith.maxsi %left_of, %right_of : index",
                f"        %entry = tensor.extract %table[{TABLES[self.table][1]}] : {kind}", f"        %wide = {widen}" if widen else "",
                f"        %x = arith.addf %s, {'%wide' if widen else '%entry'} : f32", "        fa.yield %x : f32", "      }"]


class Rows:
    """Where rows of sequences lie: in memory with a batch, or packed."""

    def __init__(self, rng, lengths, packed, has_lengths):
        self.lengths, self.packed = lengths, packed
        room = lengths + (rng.integers(0, 9, len(lengths)) if has_lengths else 0)
        if packed:
            self.starts = np.concatenate([[0], np.cumsum(room)]).astype(np.int32) + int(rng.integers(0, 4))
            self.count = int(self.starts[-1]) + int(rng.integers(0, 4))
        else:
            self.count = int(room.max(initial=0)) + int(rng.integers(0, 4)) * has_lengths
            self.starts = None

    def of(self, b):
        first = int(self.starts[b]) if self.packed else 0
        return slice(first, first + int(self.lengths[b]))

    def at(self, array, b):
        """Rows x heads (x d) of a sequence, in memory like this."""
        return array[self.of(b)] if self.packed else array[b, self.of(b)]

    def numbers_at(self, array, b):
        """Heads x rows of a sequence."""
        return array[:, self.of(b)] if self.packed else array[b][:, self.of(b)]

    def make(self, kind, fill, *shape):
        return np.full((self.count, *shape) if self.packed else (len(self.lengths), self.count, *shape), fill, kind)

    def make_numbers(self, fill, heads):
        shape = (heads, self.count) if self.packed else (len(self.lengths), heads, self.count)
        return np.full(shape, fill, np.float32)


class Problem:
    def __init__(self, function, rng):
        self.function, f = function, function
        kind = TYPES[f.element][0]
        self.batch, key_heads = int(rng.integers(1, 5)), int(rng.choice([1, 2]))
        heads = key_heads * (2 if f.is_long else int(rng.choice([1, 2, 3])))
        most = 500 if f.is_long else int(rng.choice([3, 40, 150]))
        queries, keys = (rng.integers(0, most + 1, self.batch) for _ in range(2))
        # Without lengths all sequences of a batch have as many rows.
        if not f.packed_queries and not f.query_lengths:
            queries[:] = max(1, queries[0])
        if not f.packed_keys and not f.key_lengths:
            keys[:] = max(1, keys[0])
        self.queries, self.keys = (Rows(rng, n, packed, lengths) for n, packed, lengths in (
            (queries, f.packed_queries, f.query_lengths), (keys, f.packed_keys, f.key_lengths)))
        arrays = self.arrays = {"query": self.queries.make(kind, np.nan, heads, f.dim),
                                "key": self.keys.make(kind, np.nan, key_heads, f.dim),
                                "value": self.keys.make(kind, np.nan, key_heads, f.value_dim),
                                "o": self.queries.make(kind, np.nan, heads, f.value_dim),
                                "lse": self.queries.make_numbers(np.nan, heads),
                                "do": self.queries.make(kind, np.nan, heads, f.value_dim)}
        if f.has_lse_gradient:
            arrays["dlse"] = self.queries.make_numbers(np.nan, heads)
        for name, rows in (("query_lengths", queries), ("key_lengths", keys)):
            if name in f.tables():
                arrays[name] = rows.astype(np.int32)
        for name, rows in (("query_starts", self.queries), ("key_starts", self.keys)):
            if name in f.tables():
                arrays[name] = rows.starts
        if f.mask == "window":
            arrays["left"], arrays["right"] = int(rng.integers(-1, 30)), int(rng.integers(-1, 10))
        if f.score == "alibi":
            arrays["slopes"] = (rng.uniform(0.05, 0.5, heads)).astype(np.float32)
        if f.score == "softcap":
            arrays["cap"] = float(np.float32(rng.uniform(1, 5)))
        most_queries, most_keys = int(queries.max(initial=0)), int(keys.max(initial=0))
        if f.score == "table":
            rows, columns = max(1, most_queries), 8 * -(-max(1, most_keys) // 8)
            shape = {"pairs": (self.batch, heads, rows, columns), "shared": (rows, columns), "queries": (heads, rows),
                     "keys": (heads, columns), "sequences": (self.batch, heads), "distances": (heads, max(rows, columns))}[f.table]
            arrays["entries"] = rng.standard_normal(shape).astype(TYPES[f.table_element][0])
        if f.scale:
            arrays["scale"] = float(np.float32(rng.uniform(0.5, 1.5) / np.sqrt(f.dim)))
        if f.sink != "none":
            shape = {"heads": (heads,), "batch": (self.batch, heads), "queries": (heads, max(1, most_queries)), "one": (1,)}[f.sink]
            arrays["sinks"] = rng.standard_normal(shape).astype(np.float32)
        sums = ("slopes", "sinks", "entries", "scale")
        self.want = {name: np.zeros(np.shape(arrays[name])) for name in ("query", "key", "value", *sums) if name in arrays}
        # Sums of magnitudes, which the error of a sum over all pairs is relative to, and of those of what these are differences of.
        self.terms, self.differences = ({name: np.zeros(np.shape(arrays[name])) for name in sums if name in arrays} for _ in range(2))
        # Squares of what the gradients of queries and keys are sums of.
        self.parts = dict.fromkeys(("query", "key"), 0.0)
        for b in range(self.batch):
            self.add_sequence(rng, b, int(queries[b]), int(keys[b]), heads, key_heads, kind)

    def add_sequence(self, rng, b, n, m, heads, key_heads, kind):
        f, arrays, q_rows, k_rows = self.function, self.arrays, self.queries, self.keys
        normal = lambda *shape: rng.standard_normal(shape).astype(kind)
        for name, rows, value in (("query", q_rows, normal(n, heads, f.dim)), ("key", k_rows, normal(m, key_heads, f.dim)),
                                  ("value", k_rows, normal(m, key_heads, f.value_dim)),
                                  ("do", q_rows, normal(n, heads, f.value_dim))):
            rows.at(arrays[name], b)[...] = value
        q, do = (q_rows.at(arrays[name], b).astype(np.float64) for name in ("query", "do"))
        k, v = (np.repeat(k_rows.at(arrays[name], b).astype(np.float64), heads // key_heads, 1) for name in ("key", "value"))
        scale = arrays.get("scale", 1 / np.sqrt(f.dim))
        products = np.einsum("ihd,jhd->hij", q, k)
        s = products * scale
        i, j = np.arange(n)[:, None], np.arange(m)
        behind = j - (i + m - n)
        x, slope = s, np.ones_like(s)
        if f.score == "alibi":
            x = s - arrays["slopes"].astype(np.float64)[:, None, None] * np.abs(behind)
        elif f.score == "softcap":
            x = arrays["cap"] * np.tanh(s / arrays["cap"])
            slope = 1 - np.tanh(s / arrays["cap"]) ** 2
        elif f.score == "table":
            at = TABLES[f.table][2](b, np.arange(heads)[:, None, None], i, j)
            x = s + arrays["entries"].astype(np.float64)[at]
        visible = np.ones((n, m), bool)
        if f.mask == "causal":
            visible = behind <= 0
        elif f.mask == "window":
            visible = ((arrays["left"] < 0) | (behind >= -arrays["left"])) & ((arrays["right"] < 0) | (behind <= arrays["right"]))
        x = np.where(visible, x, -np.inf)
        sink = np.full((heads, n), -np.inf)
        if f.sink != "none":
            table = arrays["sinks"].astype(np.float64)
            sink = {"heads": lambda: np.broadcast_to(table[:, None], (heads, n)),
                    "batch": lambda: np.broadcast_to(table[b][:, None], (heads, n)),
                    "queries": lambda: table[:, :n], "one": lambda: np.full((heads, n), table[0])}[f.sink]()
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.maximum(x.max(2, initial=-np.inf), sink)
            shift = np.where(np.isfinite(most), most, 0)
            lse = np.log(np.exp(x - shift[..., None]).sum(2) + np.exp(sink - shift)) + shift
            weights = np.where(np.isfinite(lse)[..., None], np.exp(x - lse[..., None]), 0)
        q_rows.at(arrays["o"], b)[...] = np.einsum("hij,jhd->ihd", weights, v).astype(kind)
        q_rows.numbers_at(arrays["lse"], b)[...] = lse
        # From here on by what the operation is given.
        lse, o = q_rows.numbers_at(arrays["lse"], b).astype(np.float64), q_rows.at(arrays["o"], b).astype(np.float64)
        known = np.isfinite(lse)
        with np.errstate(invalid="ignore"):
            p = np.where(known[..., None], np.exp(x - lse[..., None]), 0)
            p_sink = np.where(known, np.exp(sink - lse), 0)
        delta = np.einsum("ihd,ihd->hi", do, o)
        if f.has_lse_gradient:
            q_rows.numbers_at(arrays["dlse"], b)[...] = rng.standard_normal((heads, n))
            delta -= q_rows.numbers_at(arrays["dlse"], b).astype(np.float64)
        dx = p * (np.einsum("ihd,jhd->hij", do, v) - delta[..., None])
        ds = dx * slope
        group = lambda array: array.reshape(m, key_heads, heads // key_heads, array.shape[-1]).sum(2)
        # Where a query sees one key all of its gradient cancels.
        whole = p * slope * (np.abs(np.einsum("ihd,jhd->hij", do, v)) + np.abs(delta)[..., None])
        parts = whole * scale
        self.parts["query"] += (np.einsum("hij,jhd->ihd", parts, np.abs(k)) ** 2).sum()
        self.parts["key"] += (np.einsum("hij,ihd->jhd", parts, np.abs(q)) ** 2).sum()
        q_rows.at(self.want["query"], b)[...] = scale * np.einsum("hij,jhd->ihd", ds, k)
        k_rows.at(self.want["key"], b)[...] = group(scale * np.einsum("hij,ihd->jhd", ds, q))
        k_rows.at(self.want["value"], b)[...] = group(np.einsum("hij,ihd->jhd", p, do))
        for to, of, products in ((self.want, ds, products), (self.terms, np.abs(ds), np.abs(products)), (self.differences, whole, np.abs(products))):
            if f.score == "alibi":
                to["slopes"] += (of * np.abs(behind)).sum((1, 2)) * (-1 if to is self.want else 1)
            if f.score == "table":
                np.add.at(to["entries"], tuple(np.broadcast_arrays(of, *at)[1:]), of)
            if f.scale:
                to["scale"] += (of * products).sum()
        if f.sink != "none":
            for to, of in ((self.want["sinks"], -p_sink * delta), (self.terms["sinks"], np.abs(p_sink * delta))):
                if f.sink == "heads":
                    to += of.sum(1)
                elif f.sink == "batch":
                    to[b] += of.sum(1)
                elif f.sink == "queries":
                    to[:, :n] += of
                else:
                    to += of.sum()

    def run(self, server, folder, spoil):
        f, end, places, memory = self.function, 0, [], []

        def place(array):
            nonlocal end
            begin = end = -(-end // 64) * 64
            end += array.nbytes
            memory.append((begin, array))
            return {"offset": begin, "shape": list(array.shape),
                    "strides": [stride // array.itemsize for stride in np.empty(array.shape, array.dtype).strides]}

        for name in f.types():
            value = self.arrays[name]
            places.append(place(value) if isinstance(value, np.ndarray) else {"value": value})
        # What gradients hold before means nothing.
        results = [np.full(np.shape(self.arrays[of]), np.nan, getattr(self.arrays[of], "dtype", np.float32)) for _, of, _ in f.results()]
        places += [place(array) for array in results]
        outs = [place(array) for array in results]
        data = np.full(end + 64, 0xFF, np.uint8)
        for begin, array in memory:
            data[begin:begin + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        file, evaluated = folder / "data", folder / "reference"
        def launch():
            data.tofile(file)
            server.run({"data": str(file), "reference": str(evaluated), "arguments": places, "results": outs})
            return np.fromfile(file, np.uint8)

        after = launch()
        numbers, complaints, at = np.fromfile(evaluated, np.float64), [], 0
        # The interpreter runs blocks and warps in another order each time.
        if f.is_deterministic and not spoil and (again := launch() != after).any():
            complaints.append(f"{again.sum()} bytes of a second run differ")
        changed = after != data
        for out, array in zip(outs, results):
            changed[out["offset"]:out["offset"] + array.nbytes] = False
        if changed.any():
            complaints.append(f"{changed.sum()} bytes outside the results were changed, the first is {changed.argmax()}")
        for (name, of, _), out, array in zip(f.results(), outs, results):
            found = after[out["offset"]:out["offset"] + array.nbytes].view(array.dtype).reshape(array.shape).astype(np.float64)
            exact = numbers[at:at + array.size].reshape(array.shape)
            at += array.size
            want = self.want[name] + spoil
            summed, size = np.linalg.norm(self.terms.get(name, 0.0)), np.linalg.norm(want)
            rounded = np.linalg.norm(self.differences[name]) if name in self.differences else np.sqrt(self.parts.get(name, 0.0))
            for side, value, bound, of_sums, rounding in (("", found, BOUNDS[array.dtype], OF_SUMS, ROUNDING),
                                                          (" of the evaluator", exact, EVALUATOR, EVALUATOR, EVALUATOR_ROUNDING)):
                error, most = np.linalg.norm(value - want), max(bound * size, of_sums * summed, rounding * rounded)
                if not error <= max(most, bound * 1e-30) and not (size == 0 and error == 0):
                    complaints.append(f"gradient of {name}{side}: error {error / max(size, 1e-30):.1e}, allowed {most / max(size, 1e-30):.0e}")
        return complaints


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    functions.add_options(parser, 60)
    parser.add_argument("--long", action="store_true", help="packed sequences of many rows, with two query heads on each key head")
    parser.add_argument("--spoil", action="store_true", help="expects other numbers, which has to be found")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else int(os.environ.get("FA_TEST_SEED") or secrets.randbelow(1 << 30))
    passed, failed = functions.run(
        options, seed, lambda rng: Function(rng, options.chip, options.long), Problem, lambda problem, server, folder: problem.run(server, folder, options.spoil),
        lambda problem: f"queries {problem.queries.lengths}, keys {problem.keys.lengths}")
    print(f"{options.functions} functions, seed {seed}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
