"""Problems of the grid whose sequences are packed, in pages, or have sinks.

A problem of a batch is rearranged: its valid rows are put one sequence behind the
other, or into pages of a pool in random order. All else is NaN: pages that no table
lists, rows past a length, rows of no sequence. What numpy gives for the batch is
what the rearranged problem has to give.
"""

import math
import re
from dataclasses import dataclass, replace

import numpy as np

from . import reference
from .problems import ELEMENTS, Problem

PAGE_SIZES = [1, 3, 8, 16, 64, 128, 256]
# Parts of a key block of many sizes, and several of them.
GPU_PAGE_SIZES = [1, 2, 3, 4, 8, 12, 16, 24, 48, 64, 128, 256]


@dataclass
class Form:
    """How the sequences of one function lie in memory."""

    queries: str  # batch or packed
    keys: str  # batch, packed or pages
    page: int  # rows, 0 for a size that only a call says
    query_dims: str
    key_dims: str
    value_dims: str
    output_dims: str
    query_lengths: bool
    key_lengths: bool
    sink: str  # none, heads or queries
    one_pool: bool
    parts: int  # of keys, or -n: n key blocks in each; 0: as the configuration has it
    # Keys of all sequences, or their pages and number, are those of one.
    shared: bool = False
    one_query: bool = False

    def describe(self):
        parts = [f"queries {self.queries}", f"keys {self.keys}"]
        if self.keys == "pages":
            parts.append(f"of {self.page or '?'}" + (" in one pool" if self.one_pool else ""))
        if self.sink != "none":
            parts.append(f"sink by {self.sink}")
        parts += [name for name in ("query_lengths", "key_lengths") if getattr(self, name)]
        if self.shared:
            parts.append("shared")
        if self.one_query:
            parts.append("one query each")
        if self.parts:
            parts.append(f"{self.parts} parts" if self.parts > 0 else f"parts of {-self.parts} blocks")
        return " ".join(parts)


def share_keys(rng, form):
    """A form whose sequences have the same keys."""
    keys = "batch" if form.keys == "packed" else form.keys
    key_dims, value_dims = (dims.replace("s", "bs", 1) if form.keys == "packed" else dims
                            for dims in (form.key_dims, form.value_dims))
    dims = {name: getattr(form, name) for name in ("query_dims", "output_dims")}
    if form.queries == "packed":
        dims = {name: "b" + order for name, order in dims.items()}
    return replace(form, shared=True, one_query=bool(rng.random() < 0.5), queries="batch", query_lengths=False, keys=keys,
                   key_dims=key_dims, value_dims=value_dims, **dims)


def decode(rng, form):
    """A form of sequences with one query and keys of their own number each, in parts that are not given on a GPU."""
    dims = {name: "b" + getattr(form, name) if form.queries == "packed" else getattr(form, name)
            for name in ("query_dims", "output_dims")}
    return replace(form, one_query=True, queries="batch", key_lengths=form.keys != "packed" or form.key_lengths,
                   parts=int(rng.choice([0, -1, -1, -2])), **dims)


def sample_form(rng, on_gpu=False):
    chance = lambda p: bool(rng.random() < p)
    queries = str(rng.choice(["batch", "packed", "packed"]))
    keys = str(rng.choice(["batch", "packed", "pages", "pages"]))
    shuffle = lambda dims: "".join(rng.permutation(list(dims))) + "d" if chance(0.4) else dims + "d"
    of = {"batch": "bsh", "packed": "sh", "pages": "psh"}
    one_pool = keys == "pages" and chance(0.3)
    key_dims = shuffle(of[keys])
    page = int(rng.choice(GPU_PAGE_SIZES if on_gpu else PAGE_SIZES)) * (chance(0.8) or on_gpu)
    # A sink of a GPU's block is one number.
    sink = str(rng.choice(["none", "none", "heads", "heads" if on_gpu else "queries"]))
    return Form(queries, keys, page, shuffle(of[queries]), key_dims,
                key_dims if one_pool else shuffle(of[keys]), shuffle(of[queries]), chance(0.4),
                keys == "pages" or chance(0.4), sink, one_pool,
                int(rng.choice([0, 0, 0, 2, 3, 7, -1, -1, -2])))


SINKS = {"heads": ("tensor<?xf32>", "      %x = tensor.extract %sinks[%h] : tensor<?xf32>"),
         "queries": ("tensor<?x?xf32>", "      %x = tensor.extract %sinks[%h, %i] : tensor<?x?xf32>")}


class SequenceFunction:
    """A function of the grid, on sequences of a form."""

    def __init__(self, base, form):
        # The batch it is compared with has lengths, and dims in the order of numpy.
        self.base = replace(base, dims=("bshd",) * 4, query_lengths=True, key_lengths=True)
        if form.one_query:
            # Rounding of two numbers that cancel is large beside their norm.
            self.base = replace(self.base, head_dim=max(8, base.head_dim), value_head_dim=max(8, base.value_head_dim))
        self.form = form
        # On a GPU, f32 of large head dims or small pages fits with blocks that only the compiler chooses.
        if form.parts and (base.config or base.element != "f32" or self.key_block() % 64 == 0):
            self.base.config = self.split(base.config or f"#fa.config<query_block = 64, key_block = {self.key_block()}>")

    def key_block(self):
        """Divides a page, and fits a GPU."""
        most = 32 if max(self.base.head_dim, self.base.value_head_dim) > 128 else 64
        return math.gcd(self.form.page, most) if self.form.keys == "pages" and self.form.page and self.form.page % 16 == 0 else most

    def use_blocks(self, query_block, key_block):
        """In place of those of the configuration."""
        self.base.config = self.split(f"#fa.config<query_block = {query_block}, key_block = {key_block}>")

    def split(self, config):
        """The configuration with the parts of the form."""
        block = int(re.search(r"key_block = (\d+)", config)[1])
        parts = f"key_splits = {self.form.parts}" if self.form.parts > 0 else f"split_keys = {-self.form.parts * block}"
        return re.sub(r"(key_block = \d+)(, key_splits = \d+)?", rf"\1, {parts}", config, count=1)

    def type_of(self, dims, head_dim, element, rows="?"):
        size = {"d": head_dim, "s": rows}
        if self.form.keys == "pages" and "p" in dims and self.form.page:
            size["s"] = self.form.page
        return f"tensor<{'x'.join(str(size.get(dim, '?')) for dim in dims)}x{element}>"

    @property
    def types(self):
        f, form = self.base, self.form
        rows = "1" if form.one_query else "?"
        return {"query": self.type_of(form.query_dims, f.head_dim, f.element, rows),
                "key": self.type_of(form.key_dims, f.head_dim, f.element),
                "value": self.type_of(form.value_dims, f.value_head_dim, f.element),
                "output_init": self.type_of(form.output_dims, f.value_head_dim, f.output_element, rows),
                "lse_init": "tensor<?x?xf32>" if form.queries == "packed" else f"tensor<?x?x{rows}xf32>"}

    def tables(self):
        form = self.form
        return [name for name, there in (("query_lengths", form.query_lengths), ("key_lengths", form.key_lengths),
                                         ("query_starts", form.queries == "packed"),
                                         ("key_starts", form.keys == "packed"), ("key_pages", form.keys == "pages"))
                if there]

    def shared(self):
        """What is given once for all sequences: by name, its type and that of all, and the dimension of these."""
        form, types = self.form, self.types
        if not form.shared:
            return {}
        tables = {"key_pages": ("tensor<?xi32>", "tensor<?x?xi32>", 0), "key_lengths": ("tensor<i32>", "tensor<?xi32>", 0)}
        result = {name: kind for name, kind in tables.items() if name in self.tables()}
        if form.keys == "batch":
            for name, dims in (("key", form.key_dims), ("value", form.value_dims)):
                one = self.type_of(dims.replace("b", ""), {"key": self.base.head_dim, "value": self.base.value_head_dim}[name],
                                   self.base.element)
                result[name] = one, types[name], dims.index("b")
        return result

    def broadcasts(self):
        """Lines that give all sequences what is given once."""
        if not self.form.shared:
            return []
        lines = [f"  %at_batch = arith.constant {self.form.query_dims.index('b')} : index",
                 f"  %batch = tensor.dim %query, %at_batch : {self.types['query']}"]
        for name, (one, every, dim) in self.shared().items():
            shape, sizes = every[7:-1].split("x")[:-1], []
            for at, size in enumerate(shape):
                if at == dim:
                    sizes.append("%batch")
                elif size == "?":
                    inner = at - (at > dim)
                    lines += [f"  %{name}_at{at} = arith.constant {inner} : index",
                              f"  %{name}_size{at} = tensor.dim %{name}_one, %{name}_at{at} : {one}"]
                    sizes.append(f"%{name}_size{at}")
            lines += [f"  %{name}_init = tensor.empty({', '.join(sizes)}) : {every}",
                      f"  %{name} = linalg.broadcast ins(%{name}_one : {one}) outs(%{name}_init : {every}) dimensions = [{dim}]"]
        return lines

    def arguments(self):
        f, types = self.base, {**self.types, **{name: one for name, (one, _, _) in self.shared().items()}}
        result = [(name, types[name]) for name in ("query", "key", "value")]
        if f.scale:
            result.append(("scale", "f32"))
        result += [(name, types.get(name, "tensor<?x?xi32>" if name == "key_pages" else "tensor<?xi32>"))
                   for name in self.tables()]
        if self.form.sink != "none":
            result.append(("sinks", SINKS[self.form.sink][0]))
        result += [(c.name, c.type) for c in f.captures]
        result.append(("output_init", types["output_init"]))
        if f.lse:
            result.append(("lse_init", types["lse_init"]))
        return result

    def text(self):
        f, form, types = self.base, self.form, self.types
        renamed = {c.name for clause in f.score + f.mask if clause.region for c in clause.captures}
        shared = self.shared()
        outside = lambda name: f"%{name}_outside" if name in renamed else f"%{name}_one" if name in shared else f"%{name}"
        results = ["output_init"] + (["lse_init"] if f.lse else [])
        result_types = ", ".join(types[name] for name in results)
        names = "%o, %l" if f.lse else "%o"
        arguments = ", ".join(f"{outside(name)}: {kind}" for name, kind in self.arguments())
        table_types = {**dict(self.arguments()), **{name: every for name, (_, every, _) in shared.items()}}
        lines = [f"func.func @main({arguments}) -> ({result_types}) {{", *self.broadcasts(),
                 f"  {names} = fa.attention",
                 f"      ins(%query, %key, %value : {types['query']}, {types['key']}, {types['value']})",
                 f"      outs({', '.join('%' + name for name in results)} : {result_types})"]
        if f.scale:
            lines.append("      scale(%scale)")
        lines += [f"      {name}(%{name} : {table_types[name]})" for name in self.tables()]
        lines += f.clause_text("score", f.score) + f.clause_text("mask", f.mask)
        if form.sink != "none":
            kind, load = SINKS[form.sink]
            lines += [f"      sink(%b, %h, %i) captures(%sinks = %sinks_outside : {kind}) {{", load,
                      "        fa.yield %x : f32", "      }"]
            lines[0] = lines[0].replace("%sinks:", "%sinks_outside:")
        attributes = [f"{name}_dims = #fa.dims<{', '.join(dims)}>"
                      for name, dims in (("query", form.query_dims), ("key", form.key_dims),
                                         ("value", form.value_dims), ("output", form.output_dims)) if dims != "bshd"]
        if f.config:
            attributes.append(f"config = {f.config}")
        if attributes:
            lines.append("      {" + ", ".join(attributes) + "}")
        lines += [f"  return {names} : {result_types}", "}"]
        return "\n".join(lines) + "\n"


def transpose(array, dims, wanted):
    return np.ascontiguousarray(np.transpose(array, [dims.index(dim) for dim in wanted]))


class SequenceProblem:
    """Arguments by name, and the results that numpy gives."""

    def __init__(self, function, seed, profile):
        self.function, self.seed = function, seed
        self.base = base = Problem(function.base, seed, profile)
        rng = np.random.default_rng([*seed, 1])
        self.rng, self.sizes, self.form = rng, base.sizes, function.form
        self.broken, self.with_page, self.on_gpu = {}, None, not profile.has_config
        if self.form.one_query:
            self.take_one_query()
        if self.form.queries == "batch" and not self.form.query_lengths:
            base.arrays["query_lengths"][:] = base.sizes.queries
            self.fill("query")
        if self.form.keys == "batch" and not self.form.key_lengths:
            base.arrays["key_lengths"][:] = base.sizes.keys
            self.fill("key")
            self.fill("value")
        if self.form.shared and self.sizes.batch:
            for name in ("key", "value", "key_lengths"):
                base.arrays[name][:] = base.arrays[name][:1]
        self.queries, self.keys = base.arrays["query_lengths"], base.arrays["key_lengths"]
        self.arrays = {name: base.arrays[name] for name in (c.name for c in function.base.captures)
                       if name in base.arrays}
        self.expected = self.find_expected()
        self.lay_out()
        if self.form.shared:
            self.take_one_sequence()
        elif base.sizes.batch and rng.random() < 0.3:
            self.break_one()

    def take_one_query(self):
        """One query for each sequence, whatever the batch has."""
        base, one = self.base, lambda array: np.resize(array, (len(array), 1, *array.shape[2:]))
        base.sizes = self.sizes = replace(base.sizes, queries=1)
        lengths = base.arrays["query_lengths"] = np.minimum(base.arrays["query_lengths"], 1)
        base.arrays["query"] = one(base.arrays["query"])
        self.fill("query")
        base.arrays["query"][lengths == 0] = np.nan
        base.initial_output = one(base.initial_output)
        base.initial_lse = np.resize(base.initial_lse, (*base.initial_lse.shape[:2], 1))

    def take_one_sequence(self):
        """Keys, or their pages and number, of the first sequence."""
        arrays, form = self.arrays, self.form
        for name, (_, _, dim) in self.function.shared().items():
            array = arrays[name]
            if not self.sizes.batch:
                array = np.zeros([size or 1 for size in array.shape], array.dtype)
            arrays[name] = np.ascontiguousarray(np.take(array, 0, dim)).reshape(np.take(array, 0, dim).shape)

    def fill(self, name):
        """Numbers where the batch has NaN, of an operand all of whose rows are read."""
        array = self.base.arrays[name]
        numbers = self.rng.standard_normal(array.shape).astype(array.dtype)
        self.base.arrays[name] = np.where(np.isnan(array.astype(np.float32)), numbers, array)

    def find_expected(self):
        """(output, lse) of the batch, with the sink."""
        output, lse = reference.attention(self.base)
        if self.form.sink == "none":
            return output, lse
        shape = (self.sizes.heads, self.sizes.queries)[:1 if self.form.sink == "heads" else 2]
        sinks = self.rng.standard_normal(shape).astype(np.float32) * 3
        sinks[self.rng.random(shape) < 0.2] = -np.inf
        self.arrays["sinks"] = sinks
        sinks = sinks.astype(np.float64)
        if sinks.ndim == 1:
            sinks = np.broadcast_to(sinks[:, None], (self.sizes.heads, self.sizes.queries))
        with np.errstate(invalid="ignore"):
            joined = np.logaddexp(lse, sinks[None])
            factor = np.where(joined == -np.inf, 1, np.exp(lse - joined))
        output = output * np.transpose(factor, (0, 2, 1))[..., None]
        for b, length in enumerate(self.queries):
            output[b, length:] = self.base.initial_output[b, length:]
            joined[b, :, length:] = lse[b, :, length:]
        return output, joined

    def starts(self, lengths, has_room):
        room = self.rng.integers(0, 40, len(lengths)) * has_room
        before = self.rng.integers(0, 5)
        return np.concatenate([[before], before + np.cumsum(lengths + room)]).astype(np.int32)

    def pack(self, items, lengths, starts, spare, fill):
        """Rows of items of (sequence, heads, d), one sequence behind the other."""
        packed = np.full((int(starts[-1]) + spare, *items.shape[2:]), fill, items.dtype)
        for item, length, start in zip(items, lengths, starts):
            packed[start:start + length] = item[:length]
        return packed

    def lay_out(self):
        base, form, rng = self.base, self.form, self.rng
        arrays, spare = self.arrays, int(rng.integers(0, 9))
        if base.function.scale:
            arrays["scale"] = base.scale
        for name, value in base.scalars.items():
            arrays[name] = value
        output, lse = base.initial_output, base.initial_lse
        self.find_rows = lambda b: (b, slice(0, int(self.queries[b])))
        if form.query_lengths:
            arrays["query_lengths"] = self.queries.copy()
        if form.key_lengths:
            arrays["key_lengths"] = self.keys.copy()
        if form.queries == "packed":
            starts = arrays["query_starts"] = self.starts(self.queries, form.query_lengths)
            arrays["query"] = transpose(self.pack(base.arrays["query"], self.queries, starts, spare, np.nan), "shd",
                                        form.query_dims)
            rows = int(starts[-1]) + spare
            output = rng.standard_normal((rows, *output.shape[2:])).astype(output.dtype)
            lse = rng.standard_normal((self.sizes.heads, rows)).astype(np.float32)
            arrays["output_init"] = transpose(output, "shd", form.output_dims)
        else:
            arrays["query"] = transpose(base.arrays["query"], "bshd", form.query_dims)
            arrays["output_init"] = transpose(output, "bshd", form.output_dims)
        arrays["lse_init"] = lse
        if form.keys == "pages":
            self.lay_out_pages()
        elif form.keys == "packed":
            starts = arrays["key_starts"] = self.starts(self.keys, form.key_lengths)
            for name in ("key", "value"):
                arrays[name] = transpose(self.pack(base.arrays[name], self.keys, starts, spare, np.nan), "shd",
                                         getattr(form, name + "_dims"))
        else:
            for name in ("key", "value"):
                arrays[name] = transpose(base.arrays[name], "bshd", getattr(form, name + "_dims"))
        want_output, want_lse = self.expected
        self.want = [output.astype(np.float64), lse.astype(np.float64)]
        for b in range(self.sizes.batch):
            self.set_rows(b, want_output[b, :self.queries[b]], want_lse[b, :, :self.queries[b]])

    def set_rows(self, b, output, lse, count=None):
        count = int(self.queries[b]) if count is None else count
        if self.form.queries == "packed":
            first = int(self.arrays["query_starts"][b])
            self.want[0][first:first + count] = output
            self.want[1][:, first:first + count] = lse
        else:
            self.want[0][b, :count] = output
            self.want[1][b, :, :count] = lse

    def lay_out_pages(self):
        base, form, rng = self.base, self.form, self.rng
        size = self.page = form.page or int(rng.choice([1, 5, 16, 32]))
        counts = -(-self.keys // size)
        columns = int(counts.max(initial=0)) + int(rng.integers(0, 3))
        # A GPU's table has a column.
        columns = max(columns, int(self.on_gpu))
        pool = int(counts.sum()) + int(rng.integers(1, 5))
        order = rng.permutation(pool)
        # Entries past a length are no pages.
        table = np.full((len(counts), columns), -7, np.int32)
        table[rng.random(table.shape) < 0.5] = 1 << 30
        pages = {name: np.full((pool, size, *base.arrays[name].shape[2:]), np.nan, base.arrays[name].dtype)
                 for name in ("key", "value")}
        used = 0
        for b, count in enumerate(counts):
            table[b, :count] = order[used:used + count]
            used += count
            for j in range(int(self.keys[b])):
                for name in pages:
                    pages[name][table[b, j // size], j % size] = base.arrays[name][b, j]
        self.arrays["key_pages"] = table
        for name in pages:
            self.arrays[name] = transpose(pages[name], "pshd", getattr(form, name + "_dims"))
        self.pool = pool

    def break_one(self):
        """Spoils what says where the rows of one sequence are: its rows are NaN, those of others as they were."""
        rng, form, arrays = self.rng, self.form, self.arrays
        b = int(rng.integers(self.sizes.batch))
        kinds = []
        if form.queries == form.keys == "batch":
            # Lengths of a batch that are out of bounds are an error of the caller.
            return
        if form.query_lengths:
            kinds.append("query length")
        if form.key_lengths:
            kinds.append("key length")
        if form.keys == "pages" and self.keys[b]:
            kinds.append("page")
        if form.keys == "packed" and b == self.sizes.batch - 1:
            kinds.append("key starts")
        if form.queries == "packed" and b == self.sizes.batch - 1:
            kinds.append("query starts")
        if not kinds:
            return
        kind = self.broken_kind = str(rng.choice(kinds))
        count = int(self.queries[b])
        wrong = int(rng.choice([-1, -(1 << 31), (1 << 31) - 1]))
        if kind == "query length":
            arrays["query_lengths"][b] = wrong
            # All rows that there is room for.
            count = self.sizes.queries
            if form.queries == "packed":
                count = int(arrays["query_starts"][b + 1] - arrays["query_starts"][b])
        elif kind == "key length":
            arrays["key_lengths"][b] = wrong
        elif kind == "page":
            missing = int(rng.integers(-(-int(self.keys[b]) // self.page)))
            arrays["key_pages"][b, missing] = rng.choice([-1, self.pool, 1 << 30])
            self.with_page = self.spoil_page(b, missing)
        elif kind == "key starts":
            arrays["key_starts"][b + 1] = rng.choice([arrays["key_starts"][b] - 1, 1 << 30])
        else:
            # Which rows it would have nobody knows: none are written.
            output = self.base.initial_output
            first = int(arrays["query_starts"][b])
            initial = transpose(arrays["output_init"], form.output_dims, "shd")[first:first + count]
            lse = arrays["lse_init"][:, first:first + count]
            self.set_rows(b, initial.astype(np.float64), lse, count)
            arrays["query_starts"][b + 1] = rng.choice([first - 1, 1 << 30])
            self.broken = {b: kind}
            return
        self.broken = {b: kind}
        self.set_rows(b, np.nan, np.nan, count)

    def spoil_page(self, b, page):
        """What is wanted where rows that see no key of a missing page have their results, as they may (S14)."""
        spoiled = [array.copy() for array in self.want]
        keys = slice(page * self.page, (page + 1) * self.page)
        seen = reference.find_indices(self.base, b)[1][:, :, keys].any(2)
        first = int(self.arrays["query_starts"][b]) if self.form.queries == "packed" else 0
        rows = slice(first, first + seen.shape[1])
        output, lse = spoiled if self.form.queries == "packed" else (array[b] for array in spoiled)
        output[rows][seen.T] = np.nan
        lse[:, rows][seen] = np.nan
        return spoiled

    @property
    def results(self):
        return ["output_init"] + (["lse_init"] if self.base.function.lse else [])

    def wanted(self):
        return self.in_order(self.want)

    def allowed(self, results):
        """What such results may be: NaN where a page is missing, or what they would be with it where they see no key of it."""
        wanted = self.wanted()
        if self.with_page is None:
            return wanted
        return [np.where(np.isnan(want) & ~np.isnan(result), unspoiled, want)
                for want, unspoiled, result in zip(wanted, self.in_order(self.with_page), results)]

    def in_order(self, arrays):
        dims = "shd" if self.form.queries == "packed" else "bshd"
        return [np.transpose(arrays[0], [dims.index(d) for d in self.form.output_dims]), arrays[1]]

    def describe(self):
        broken = "".join(f", broken {kind} of {b}" for b, kind in self.broken.items())
        return f"{self.base.describe()}, {self.form.describe()}{broken}"
