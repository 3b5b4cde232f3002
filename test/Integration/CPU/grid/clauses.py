"""Score functions and masks of the grid, each in two forms.

A clause gives its MLIR text and, for one problem, its captured arrays; `apply`
is the same function on whole arrays in float64, written without reading the
project's code. The two meet only in the pinned semantics.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np

NEGATIVE_INFINITY = -np.inf


@dataclass
class Sizes:
    """Sizes of one problem. `queries` and `keys` are those of the operands."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int


@dataclass
class Capture:
    """A function argument that a clause captures."""

    name: str
    type: str  # MLIR type, as in tensor<?xf32>, index or f32
    sample: Callable  # (rng, Sizes) -> array or scalar


@dataclass
class Indices:
    """Absolute indices of all pairs of one batch item, broadcast against
    (heads, queries, keys), and the item's valid lengths."""

    b: int
    h: np.ndarray
    i: np.ndarray
    j: np.ndarray
    queries: int
    keys: int

    @property
    def diagonal(self):
        return self.i + self.keys - self.queries


@dataclass
class Clause:
    """`text` is a short spelling that may be joined with others, or `region` the
    lines of a region of its own over %s, %b, %h, %i, %j, ending in fa.yield."""

    name: str
    captures: list
    apply: Callable
    text: str = ""
    region: str = ""


def take(table, *indices):
    """What a captured load gives: 0 where an index is out of bounds."""
    table = np.asarray(table)
    inside = np.bool_(True)
    clipped = []
    for index, size in zip(indices, table.shape):
        inside = inside & (np.asarray(index) >= 0) & (np.asarray(index) < size)
        clipped.append(np.clip(index, 0, max(size - 1, 0)))
    if table.size == 0:
        return np.zeros(np.broadcast(*clipped, inside).shape)
    return np.where(inside, table[tuple(clipped)], 0)


def normal(*dims, scale=1.0):
    """Samples an array whose dims are fields of Sizes or numbers."""

    def sample(rng, sizes):
        shape = [getattr(sizes, dim) if isinstance(dim, str) else dim for dim in dims]
        return rng.standard_normal(shape) * scale

    return sample


# ---------------------------------------------------------------- masks


def window_sizes(rng, sizes):
    return int(rng.choice([-1, 0, 1, int(rng.integers(0, 300))]))


def documents(length):
    def sample(rng, sizes):
        n = getattr(sizes, length)
        starts = rng.random((sizes.batch, n)) < rng.choice([0.01, 0.05, 0.3])
        return np.cumsum(starts, axis=1).astype(np.int32)

    return sample


def any_documents(rng, sizes):
    return rng.integers(0, 4, (sizes.batch, sizes.keys)).astype(np.int32)


def window(x, left, right):
    left = left if left >= 0 else 1 << 40
    right = right if right >= 0 else 1 << 40
    return (x.j >= x.diagonal - left) & (x.j <= x.diagonal + right)


def prefix_length(rng, sizes):
    return int(rng.integers(0, sizes.keys + 2))


def prefix_lengths(rng, sizes):
    return rng.integers(0, sizes.keys + 2, sizes.batch).astype(np.int32)


SHORT_MASKS = [
    Clause("causal", [], lambda x: x.j <= x.diagonal, text="causal"),
    Clause("causal_top_left", [], lambda x: x.j <= x.i, text="causal_top_left"),
    Clause("window", [Capture("left", "index", window_sizes),
                      Capture("right", "index", window_sizes)],
           window, text="window(%left, %right)"),
    Clause("prefix", [Capture("prefix", "index", prefix_length)],
           lambda x, n: (x.j < n) | (x.j <= x.diagonal),
           text="prefix(%prefix : index)"),
    Clause("prefix_per_batch", [Capture("prefix", "tensor<?xi32>", prefix_lengths)],
           lambda x, n: (x.j < n[x.b]) | (x.j <= x.diagonal),
           text="prefix(%prefix : tensor<?xi32>)"),
    Clause("documents", [Capture("ids", "tensor<?x?xi32>", documents("keys"))],
           lambda x, ids: take(ids[x.b], x.i) == take(ids[x.b], x.j),
           text="documents(%ids : tensor<?x?xi32>)"),
    Clause("documents_of_each_side",
           [Capture("query_ids", "tensor<?x?xi32>", documents("queries")),
            Capture("key_ids", "tensor<?x?xi32>", any_documents)],
           lambda x, q, k: take(q[x.b], x.i) == take(k[x.b], x.j),
           text="documents(%query_ids, %key_ids : tensor<?x?xi32>, tensor<?x?xi32>)"),
]

CUSTOM_MASKS = [
    Clause("strided", [Capture("strides", "tensor<?xi32>",
                               lambda rng, s: rng.integers(1, 40, s.heads).astype(np.int32))],
           lambda x, strides: (x.j <= x.i) & ((x.i - x.j < 32) | (x.j % strides[x.h] == 0)),
           region="""
        %zero = arith.constant 0 : index
        %near = arith.constant 32 : index
        %stride_i32 = tensor.extract %strides[%h] : tensor<?xi32>
        %stride = arith.index_cast %stride_i32 : i32 to index
        %distance = arith.subi %i, %j : index
        %is_near = arith.cmpi slt, %distance, %near : index
        %remainder = arith.remsi %j, %stride : index
        %is_column = arith.cmpi eq, %remainder, %zero : index
        %is_kept = arith.ori %is_near, %is_column : i1
        %is_causal = arith.cmpi sle, %j, %i : index
        %visible = arith.andi %is_causal, %is_kept : i1
        fa.yield %visible : i1"""),
    Clause("block_sparse", [Capture("blocks", "tensor<?x?xi32>",
                                    lambda rng, s: (rng.random((s.queries // 32 + 1,
                                                                s.keys // 32 + 1)) < 0.4)
                                    .astype(np.int32))],
           lambda x, blocks: take(blocks, x.i // 32, x.j // 32) != 0,
           region="""
        %zero = arith.constant 0 : i32
        %size = arith.constant 32 : index
        %row = arith.divsi %i, %size : index
        %column = arith.divsi %j, %size : index
        %bit = tensor.extract %blocks[%row, %column] : tensor<?x?xi32>
        %visible = arith.cmpi ne, %bit, %zero : i32
        fa.yield %visible : i1"""),
    Clause("rows_without_keys", [],
           lambda x: (x.i % 3 != 0) & (x.j <= x.diagonal + 5),
           region="""
        %zero = arith.constant 0 : index
        %three = arith.constant 3 : index
        %five = arith.constant 5 : index
        %remainder = arith.remsi %i, %three : index
        %has_keys = arith.cmpi ne, %remainder, %zero : index
        %keys = fa.key_length : index
        %queries = fa.query_length : index
        %shift = arith.subi %keys, %queries : index
        %diagonal = arith.addi %i, %shift : index
        %last = arith.addi %diagonal, %five : index
        %below = arith.cmpi sle, %j, %last : index
        %visible = arith.andi %has_keys, %below : i1
        fa.yield %visible : i1"""),
    Clause("band_per_batch", [Capture("shifts", "tensor<?xi32>",
                                      lambda rng, s: rng.integers(-60, 200, s.batch)
                                      .astype(np.int32))],
           lambda x, shifts: (x.j >= x.i + shifts[x.b]) & (x.j < x.i + shifts[x.b] + 90),
           region="""
        %width = arith.constant 90 : index
        %shift_i32 = tensor.extract %shifts[%b] : tensor<?xi32>
        %shift = arith.index_cast %shift_i32 : i32 to index
        %first = arith.addi %i, %shift : index
        %end = arith.addi %first, %width : index
        %after = arith.cmpi sge, %j, %first : index
        %before = arith.cmpi slt, %j, %end : index
        %visible = arith.andi %after, %before : i1
        fa.yield %visible : i1"""),
    Clause("checkerboard", [],
           lambda x: (x.i + x.j + x.h) % 2 == 0,
           region="""
        %zero = arith.constant 0 : index
        %two = arith.constant 2 : index
        %pair = arith.addi %i, %j : index
        %sum = arith.addi %pair, %h : index
        %remainder = arith.remsi %sum, %two : index
        %visible = arith.cmpi eq, %remainder, %zero : index
        fa.yield %visible : i1"""),
    Clause("by_head", [],
           lambda x: np.where(x.h % 2 == 0, x.j <= x.i, x.j >= x.i - 20),
           region="""
        %zero = arith.constant 0 : index
        %two = arith.constant 2 : index
        %twenty = arith.constant 20 : index
        %parity = arith.remsi %h, %two : index
        %is_even = arith.cmpi eq, %parity, %zero : index
        %first = arith.subi %i, %twenty : index
        %not_after = arith.cmpi sle, %j, %i : index
        %near = arith.cmpi sge, %j, %first : index
        %visible = arith.select %is_even, %not_after, %near : i1
        fa.yield %visible : i1"""),
    Clause("nothing", [], lambda x: x.j < 0,
           region="""
        %visible = arith.constant false
        fa.yield %visible : i1"""),
    Clause("everything", [], lambda x: x.j >= 0,
           region="""
        %visible = arith.constant true
        fa.yield %visible : i1"""),
]

# ---------------------------------------------------------------- scores


def slopes(rng, sizes):
    # 2^-4 and below, so that f32 still resolves the largest penalty to the
    # bound of lse.
    return 2.0 ** -rng.integers(4, 9, sizes.heads)


def slopes_per_batch(rng, sizes):
    return 2.0 ** -rng.integers(4, 9, (sizes.batch, sizes.heads))


def alibi(s, x, m):
    slope = m[x.h] if m.ndim == 1 else m[x.b][x.h]
    return s - slope * np.abs(x.diagonal - x.j)


def cap(rng, sizes):
    return float(np.float32(rng.uniform(0.5, 5)))


def bias(shape, element):
    dims = [full if size == "?" else 1
            for size, full in zip(shape, ["batch", "heads", "queries", "keys"])]

    def sample(rng, sizes):
        return normal(*dims)(rng, sizes)

    def apply(s, x, table):
        index = lambda size, value: value if size == "?" else 0
        return s + take(table, index(shape[0], x.b), index(shape[1], x.h),
                        index(shape[2], x.i), index(shape[3], x.j))

    kind = f"tensor<{'x'.join(shape)}x{element}>"
    return Clause(f"bias_{''.join(shape).replace('?', 'n')}_{element}",
                  [Capture("bias", kind, sample)], apply,
                  text=f"bias(%bias : {kind})")


def holes(rng, sizes):
    """A bias that hides keys, and all keys of some rows."""
    table = rng.standard_normal((sizes.heads, sizes.queries, sizes.keys))
    table[rng.random(table.shape) < 0.3] = NEGATIVE_INFINITY
    table[:, rng.random(sizes.queries) < 0.1] = NEGATIVE_INFINITY
    return table[None]


SHORT_SCORES = [
    Clause("softcap", [Capture("cap", "f32", cap)],
           lambda s, x, c: c * np.tanh(s / c), text="softcap(%cap)"),
    Clause("alibi", [Capture("slopes", "tensor<?xf32>", slopes)], alibi,
           text="alibi(%slopes : tensor<?xf32>)"),
    Clause("alibi_per_batch", [Capture("slopes", "tensor<?x?xf32>", slopes_per_batch)],
           alibi, text="alibi(%slopes : tensor<?x?xf32>)"),
    bias("????", "f32"), bias("1???", "f16"), bias("??1?", "bf16"),
    bias("11??", "f32"), bias("???1", "f32"),
    Clause("bias_with_minus_infinity", [Capture("bias", "tensor<1x?x?x?xf32>", holes)],
           lambda s, x, table: s + take(table, 0, x.h, x.i, x.j),
           text="bias(%bias : tensor<1x?x?x?xf32>)"),
]

CUSTOM_SCORES = [
    Clause("relative_position",
           [Capture("table", "tensor<?x65xf32>", normal("heads", 65))],
           lambda s, x, table: s + table[x.h, np.clip(x.j - x.i, -32, 32) + 32],
           region="""
        %first = arith.constant -32 : index
        %last = arith.constant 32 : index
        %distance = arith.subi %j, %i : index
        %not_before = arith.maxsi %distance, %first : index
        %clamped = arith.minsi %not_before, %last : index
        %entry = arith.addi %clamped, %last : index
        %offset = tensor.extract %table[%h, %entry] : tensor<?x65xf32>
        %x = arith.addf %s, %offset : f32
        fa.yield %x : f32"""),
    Clause("gain_and_shift",
           [Capture("gains", "tensor<?x?xf32>",
                    lambda rng, s: rng.uniform(0.5, 1.5, (s.batch, s.heads))),
            Capture("shift", "f32", cap)],
           lambda s, x, gains, shift: s * gains[x.b][x.h] + shift,
           region="""
        %gain = tensor.extract %gains[%b, %h] : tensor<?x?xf32>
        %scaled = arith.mulf %s, %gain : f32
        %x = arith.addf %scaled, %shift : f32
        fa.yield %x : f32"""),
    Clause("minus_infinity_by_parity", [],
           lambda s, x: np.where((x.i + x.j) % 3 == 0, NEGATIVE_INFINITY, s),
           region="""
        %zero = arith.constant 0 : index
        %three = arith.constant 3 : index
        %infinity = arith.constant 0xFF800000 : f32
        %sum = arith.addi %i, %j : index
        %remainder = arith.remsi %sum, %three : index
        %hidden = arith.cmpi eq, %remainder, %zero : index
        %x = arith.select %hidden, %infinity, %s : f32
        fa.yield %x : f32"""),
    Clause("logistic", [],
           lambda s, x: s / (1 + np.exp(-s)),
           region="""
        %one = arith.constant 1.0 : f32
        %negated = arith.negf %s : f32
        %exponential = math.exp %negated : f32
        %denominator = arith.addf %one, %exponential : f32
        %x = arith.divf %s, %denominator : f32
        fa.yield %x : f32"""),
    Clause("key_position", [Capture("weights", "tensor<?x?xf16>",
                                    normal("batch", "keys"))],
           lambda s, x, w: s + take(w[x.b], x.j),
           region="""
        %weight = tensor.extract %weights[%b, %j] : tensor<?x?xf16>
        %wide = arith.extf %weight : f16 to f32
        %x = arith.addf %s, %wide : f32
        fa.yield %x : f32"""),
]
