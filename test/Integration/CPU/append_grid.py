#!/usr/bin/env python3
"""Sampled problems of fa.append, compared with numpy and the float64 evaluator.

    append_grid.py --build BUILD [--seed SEED] [--functions N] [--problems N] [--only NAME] [--spoil]
                   [--target interpret --chip sm_90a]

Caches are a batch or pages in random order, new rows a batch or packed, with rotaries of both forms.
Every bit of a cache that no new row takes has to stay, NaN among them, also where one sequence has
starts, lengths, pages or positions that cannot be. Half of the functions are on memory and write in
place. The last line is `N passed, N failed`.
"""

import argparse
import secrets
import sys

import ml_dtypes
import numpy as np

from grid import functions

TYPES = {"f16": (np.float16, 11), "bf16": (ml_dtypes.bfloat16, 8), "f32": (np.float32, 24)}
PAGES = [1, 2, 3, 8, 16, 37, 64]


class Function:
    """What is compiled once; sizes come with each problem."""

    def __init__(self, rng):
        pick = rng.choice
        self.type = str(pick(list(TYPES)))
        self.heads = int(pick([1, 2, 3, 8]))
        self.dim, self.value_dim = (int(pick([1, 2, 8, 20, 33, 64, 80, 128])) for _ in range(2))
        self.packed, self.paged = bool(pick([True, False])), bool(pick([True, True, False]))
        self.page = int(pick(PAGES))
        self.has_new_lengths = bool(pick([True, False]))
        self.rotary = str(pick(["", "interleaved", "halves"])) if self.dim > 1 else ""
        self.columns = int(pick([self.dim // 2, rng.integers(1, self.dim // 2 + 1)])) if self.rotary else 0
        self.angles = str(pick(["f32", self.type]))
        self.on_memory, self.static = bool(pick([True, False])), bool(pick([True, False]))
        # The head dim is last; rows and heads in any order.
        self.new_order = self.order("s" if self.packed else "bs", rng)
        self.cache_orders = [self.order("ps" if self.paged else "bs", rng) for _ in range(2)]

    @staticmethod
    def order(outer, rng):
        return [str(letter) for letter in rng.permutation(list(outer + "h"))] + ["d"]

    def kind(self, order, dim, page):
        sizes = {"b": "?", "p": "?", "s": str(page) if page and self.static else "?",
                 "h": str(self.heads) if self.static else "?", "d": str(dim)}
        return self.shaped("x".join(sizes[letter] for letter in order), self.type, len(order))

    def shaped(self, sizes, element, rank):
        if not self.on_memory:
            return f"tensor<{sizes}x{element}>"
        return f"memref<{sizes}x{element}, strided<[{', '.join(['?'] * (rank - 1) + ['1'])}], offset: ?>>"

    def text(self):
        page = self.page if self.paged else 0
        kinds = {"k": self.kind(self.new_order, self.dim, 0), "v": self.kind(self.new_order, self.value_dim, 0),
                 "keys": self.kind(self.cache_orders[0], self.dim, page),
                 "values": self.kind(self.cache_orders[1], self.value_dim, page)}
        tables = ["key_lengths"] + ["new_lengths"] * self.has_new_lengths + ["key_starts"] * self.packed
        tables += ["key_pages"] * self.paged
        for name in tables:
            rank = 2 if name == "key_pages" else 1
            kinds[name] = self.shaped("x".join("?" * rank), "i32", rank)
        clauses = " ".join(f"{name}(%{name} : {kinds[name]})" for name in tables)
        if self.rotary:
            kinds["cos"] = kinds["sin"] = self.shaped(f"?x{self.columns}", self.angles, 2)
            clauses += f" rotary {self.rotary}(%cos, %sin : {kinds['cos']}, {kinds['sin']})"
        dims = {"key": self.new_order, "value": self.new_order, "key_cache": self.cache_orders[0],
                "value_cache": self.cache_orders[1]}
        attributes = ", ".join(f"{name}_dims = #fa.dims<{', '.join(order)}>" for name, order in dims.items())
        caches = f"{kinds['keys']}, {kinds['values']}"
        arguments = ", ".join(f"%{name}: {kind}" for name, kind in kinds.items())
        operation = (f"fa.append ins(%k, %v : {kinds['k']}, {kinds['v']}) outs(%keys, %values : {caches}) "
                     f"{clauses} {{{attributes}}}")
        if self.on_memory:
            return f"func.func @main({arguments}) {{\n  {operation}\n  return\n}}\n"
        return (f"func.func @main({arguments}) -> ({caches}) {{\n  %0:2 = {operation} -> {caches}\n"
                f"  return %0#0, %0#1 : {caches}\n}}\n")


def noise(rng, shape, kind):
    """Random numbers with NaN among them."""
    numbers = rng.standard_normal(shape).astype(kind)
    numbers[rng.random(shape) < 0.1] = np.nan
    return numbers


def in_order(array, letters, order):
    return np.ascontiguousarray(array.transpose([letters.index(letter) for letter in order]))


class Problem:
    """Arrays in the order (outer, row, head, dim), and what has to come out."""

    def __init__(self, function, rng):
        self.function, self.broken = function, ""
        kind, _ = TYPES[function.type]
        batches = int(rng.integers(0, 5)) if rng.random() < 0.1 else int(rng.integers(1, 5))
        heads, page = function.heads, function.page
        room = rng.integers(0, int(rng.choice([2, 9, 150])), batches) if function.packed else np.full(
            batches, rng.integers(1, int(rng.choice([2, 9, 150]))))
        count = rng.integers(0, room + 1) if function.has_new_lengths else room
        count = count.astype(np.int64)
        before = rng.integers(0, 100, batches)
        length = before + count
        if function.paged:
            columns = int(-(-length.max(initial=1) // page) + rng.integers(0, 3))
            capacity, pages = columns * page, batches * columns + int(rng.integers(1, 4))
        else:
            columns = pages = 0
            capacity = int(length.max(initial=1) + rng.integers(0, 4))
        positions = int(length.max(initial=0) + rng.integers(0, 5))
        table = rng.permutation(max(pages, 1))[:batches * columns].reshape(batches, columns) if columns else None
        length, room = length.astype(np.int64), room.astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(room)])
        written = [range(int(n)) for n in count]
        if columns:
            for b in range(batches):
                # No page is looked up but those of new rows.
                used = range(int(length[b] - count[b]) // page, -(-int(length[b]) // page) if count[b] else 0)
                for column in range(columns):
                    if column not in used and rng.random() < 0.5:
                        table[b, column] = rng.choice([-1, pages, 2**31 - 1])
        self.given = {"length": length.copy(), "count": count.copy(), "starts": starts.copy()}
        if batches and rng.random() < 0.5:
            self.spoil_sequence(rng, capacity, positions, pages, table, written, room)
        rows = int(starts[-1]) if function.packed else (int(room[0]) if batches else 0)
        outer = 1 if function.packed else batches
        new = [noise(rng, (outer, rows, heads, dim), kind) for dim in (function.dim, function.value_dim)]
        shape = (pages, page) if function.paged else (batches, capacity)
        caches = [noise(rng, (*shape, heads, dim), kind) for dim in (function.dim, function.value_dim)]
        angles = rng.uniform(-np.pi, np.pi, (positions, function.columns))
        angle_kind = TYPES[function.angles][0]
        self.cos, self.sin = np.cos(angles).astype(angle_kind), np.sin(angles).astype(angle_kind)
        self.arrays(new, caches, table)
        self.expect(new, caches, table, count, length, starts, written)

    def spoil_sequence(self, rng, capacity, positions, pages, table, written, room):
        """One sequence for which something cannot be: it keeps all its rows."""
        function, given = self.function, self.given
        batch = int(rng.integers(0, len(written)))
        count = int(given["count"][batch])
        ways = ["long", "negative"] + ["short"] * (count > 0)
        ways += ["count", "negative count"] * function.has_new_lengths
        ways += ["falling"] * (function.packed and batch == len(written) - 1 and bool(room[batch] > 0))
        ways += ["page"] * (function.paged and count > 0)
        ways += ["position"] * (bool(function.rotary) and positions < capacity)
        self.broken = str(rng.choice(ways))
        if self.broken == "long":
            given["length"][batch] = capacity + int(rng.integers(1, 100))
        elif self.broken == "negative":
            given["length"][batch] = -int(rng.integers(1, 100))
        elif self.broken == "short":
            given["length"][batch] = count - 1
        elif self.broken == "count":
            given["count"][batch] = room[batch] + int(rng.integers(1, 5))
        elif self.broken == "negative count":
            given["count"][batch] = -1
        elif self.broken == "falling":
            given["starts"][-1] = given["starts"][-2] - 1
        elif self.broken == "position":
            given["length"][batch] = positions + 1
        else:
            row = int(rng.integers(given["length"][batch] - count, given["length"][batch]))
            table[batch, row // function.page] = rng.choice([-1, pages, 2**31 - 1])
        # A length that cannot be of rows that are none leaves nothing to write either.
        written[batch] = range(0)

    def arrays(self, new, caches, table):
        function = self.function
        outer = "ps" if function.paged else "bs"
        values = [new[0], new[1]]
        if function.packed:
            letters = "shd"
            values = [array[0] for array in values]
        else:
            letters = "bshd"
        self.values = [in_order(array, letters, function.new_order) for array in values]
        self.values += [in_order(array, outer + "hd", order) for array, order in zip(caches, function.cache_orders)]
        self.values.append(self.given["length"].astype(np.int32))
        if function.has_new_lengths:
            self.values.append(self.given["count"].astype(np.int32))
        if function.packed:
            self.values.append(self.given["starts"].astype(np.int32))
        if function.paged:
            self.values.append(table.astype(np.int32))
        if function.rotary:
            self.values += [self.cos, self.sin]

    def turn(self, key, position):
        """The key in float64, and a bound of its error beside that of rounding."""
        columns = self.function.columns
        x = key.astype(np.float64)
        slack = np.zeros_like(x)
        if columns:
            cos, sin = (table[position].astype(np.float64) for table in (self.cos, self.sin))
            first = np.arange(columns) * (2 if self.function.rotary == "interleaved" else 1)
            second = first + (1 if self.function.rotary == "interleaved" else columns)
            a, b = x[:, first], x[:, second]
            x[:, first], x[:, second] = a * cos - b * sin, a * sin + b * cos
            slack[:, first] = np.abs(a * cos) + np.abs(b * sin)
            slack[:, second] = np.abs(a * sin) + np.abs(b * cos)
        return x, slack

    def expect(self, new, caches, table, count, length, starts, written):
        """Caches that keep every bit, but where rows are written; numbers there in float64."""
        function = self.function
        self.caches = [cache.copy() for cache in caches]
        self.numbers = [np.zeros(cache.shape) for cache in caches]
        self.slack = [np.zeros(cache.shape) for cache in caches]
        self.taken = [np.zeros(cache.shape, bool) for cache in caches]
        for batch, rows in enumerate(written):
            for row in rows:
                position = int(length[batch] - count[batch]) + row
                at = ((table[batch, position // function.page], position % function.page) if function.paged
                      else (batch, position))
                source = (0, int(starts[batch]) + row) if function.packed else (batch, row)
                key, slack = self.turn(new[0][source], position)
                self.numbers[0][at], self.slack[0][at] = key, slack
                self.numbers[1][at] = new[1][source].astype(np.float64)
                for taken in self.taken:
                    taken[at] = True

    def compare(self, name, index, cache, bits):
        """What is wrong with a cache: numbers, or with `bits` itself."""
        want, taken = self.numbers[index], self.taken[index]
        got = cache.astype(np.float64)
        if bits:
            unsigned = f"u{cache.dtype.itemsize}"
            kept = self.caches[index].view(unsigned) == np.ascontiguousarray(cache).view(unsigned)
        else:
            before = self.caches[index].astype(np.float64)
            kept = (before == got) | (np.isnan(before) & np.isnan(got))
        if not np.all(kept | taken):
            return [f"{name}: {np.count_nonzero(~kept & ~taken)} elements that no row takes have changed"]
        digits = TYPES[self.function.type][1] if bits else 50
        with np.errstate(invalid="ignore"):
            bound = 2.0**-digits * np.abs(want) * (self.slack[index] > 0) + 2.0**-22 * self.slack[index]
            if self.function.type == "f16":
                bound += 2.0**-25 * (self.slack[index] > 0)
            right = (np.abs(got - want) <= bound) | (np.isnan(got) & np.isnan(want))
        return [] if np.all(right | ~taken) else [f"{name}: {np.count_nonzero(taken & ~right)} elements are wrong"]

    def run(self, server, folder, spoil):
        function, end, places = self.function, 0, []
        results = [] if function.on_memory else self.values[2:4]
        for array in [*self.values, *results]:
            strides = [stride // array.itemsize for stride in np.empty(array.shape, array.dtype).strides]
            places.append({"offset": end, "shape": list(array.shape), "strides": strides})
            end += -(-array.nbytes // 64) * 64
        data = np.full(end + 64, 0xFF, np.uint8)
        for place, array in zip(places, self.values):
            data[place["offset"]:place["offset"] + array.nbytes] = array.view(np.uint8).reshape(-1)
        file, evaluated = folder / "data", folder / "reference"
        data.tofile(file)
        count = len(self.values)
        server.run({"data": str(file), "reference": str(evaluated), "arguments": places[:count], "results": places[count:]})
        after, complaints = np.fromfile(file, np.uint8), []
        numbers = np.fromfile(evaluated, np.float64)
        letters = ("ps" if function.paged else "bs") + "hd"
        begin = 0
        for index, name in enumerate(["keys", "values"]):
            array, order = self.values[2 + index], function.cache_orders[index]
            offset = places[2 + index if function.on_memory else count + index]["offset"]
            cache = after[offset:offset + array.nbytes].view(array.dtype).reshape(array.shape)
            back = [order.index(letter) for letter in letters]
            cache = np.ascontiguousarray(cache.transpose(back))
            if spoil and cache.size:
                cache.reshape(-1)[cache.size // 2] += 1
            complaints += self.compare(name, index, cache, bits=True)
            if not function.on_memory:
                exact = numbers[begin:begin + array.size].reshape(array.shape).transpose(back)
                begin += array.size
                complaints += self.compare(f"evaluator's {name}", index, exact, bits=False)
        return complaints


def main():
    parser = argparse.ArgumentParser()
    functions.add_options(parser, 100)
    parser.add_argument("--spoil", action="store_true", help="changes an element of each result")
    options = parser.parse_args()
    seed = secrets.randbits(32) if options.seed is None else options.seed
    broken, rows = {}, 0

    def judge(problem, server, folder):
        nonlocal rows
        if problem.broken:
            broken[problem.broken] = broken.get(problem.broken, 0) + 1
        complaints = problem.run(server, folder, options.spoil)
        rows += int(problem.taken[0][..., 0, 0].sum())
        return complaints

    passed, failed = functions.run(options, seed, Function, Problem, judge, lambda problem: problem.broken or "whole")
    print(f"seed {seed}, {rows} rows written, broken: " + ", ".join(f"{way} {broken[way]}" for way in sorted(broken)))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
