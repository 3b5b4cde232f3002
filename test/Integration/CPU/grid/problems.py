"""Functions of the grid, as MLIR text, and sampled problems for them.

`Function` is a function and its text; `sample_functions` deals head dims, types, masks and scores so that all of them
occur. `Problem` adds sizes, inputs and a place in memory to a function, all drawn from its seed. Read the two classes
in this order; `Profile` bounds what is drawn for a target.
"""

from dataclasses import dataclass, field, replace
from itertools import combinations

import ml_dtypes
import numpy as np

from . import clauses, features
from .clauses import Sizes

ELEMENTS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16,
            "i32": np.int32}
# Head dims of queries and keys, and of values (0: the same).
HEAD_DIMS = [(64, 0), (1, 0), (128, 0), (3, 0), (40, 0), (80, 0), (96, 0), (64, 0),
             (192, 128), (256, 0), (128, 0), (512, 0), (64, 80), (64, 32), (17, 1), (1, 33),
             (100, 0), (72, 0), (512, 8), (5, 256), (576 // 3, 0), (9, 25)]
LENGTHS = [0, 1, 17, 127, 129, 1000]
DIM_ORDERS = ["bshd", "bhsd", "sbhd", "shbd", "hbsd", "hsbd", "bhds", "dbsh"]
# Errors allowed for o, as norms relative to the reference, and for lse, absolute.
OUTPUT_BOUNDS = {"f32": 2e-6, "f16": 1e-3, "bf16": 6e-3}
LSE_BOUNDS = {"f32": 1e-5, "f16": 1e-4, "bf16": 1e-4}
# Outputs of fewer elements than these have no norm to speak of.
FEW_ELEMENTS = 64


@dataclass
class Profile:
    """What is sampled for a kind of target."""

    elements: list  # as often as they come up
    head_dims: list
    dim_orders: list
    has_config: bool  # else the compiler always chooses
    # Rows start at multiples of this many bytes, with and without gaps.
    gap_alignment: int
    # Rows past a query length keep what a destination in memory holds, else what
    # a tensor that is passed in holds.
    in_place: bool
    # Softmax in f32 up to the product with the values, else in their type.
    keeps_single: bool
    # Multiply-adds of one problem, at most: keeps the float64 side quick.
    most_work: float
    most_heads: int  # key heads
    most_length: int  # of those that are no LENGTHS


CPU = Profile(["f32", "f16", "bf16", "f32"], HEAD_DIMS, DIM_ORDERS, has_config=True, gap_alignment=1,
              in_place=False, keeps_single=True, most_work=6e7, most_heads=3, most_length=400)
# f32 of all head dims comes up too: what does not derive is to be counted.
GPU = Profile(["bf16", "f16"] * 4 + ["f32"],
              [(64, 0), (128, 0)] * 4 + [(96, 0), (256, 0), (192, 128), (80, 0), (40, 0), (72, 0), (100, 0),
                                         (33, 0), (1, 0), (3, 0), (17, 1), (1, 33), (64, 80), (128, 64), (64, 32),
                                         (5, 256), (192, 0)],
              DIM_ORDERS[:6] * 2 + DIM_ORDERS[6:], has_config=False, gap_alignment=16, in_place=True, keeps_single=False,
              most_work=6e7, most_heads=3, most_length=400)
# The interpreter of schedules runs one block after the other.
INTERPRETER = replace(GPU, most_work=1.2e6, most_heads=1, most_length=150)


@dataclass
class Function:
    """One compiled function: everything but the sizes is fixed in it."""

    name: str
    element: str
    head_dim: int
    value_head_dim: int
    dims: tuple = ("bshd",) * 4  # of query, key, value, output
    score: list = field(default_factory=list)
    mask: list = field(default_factory=list)
    scale: bool = False
    query_lengths: bool = False
    key_lengths: bool = False
    lse: bool = False
    wide_output: bool = False  # f32 output of f16 or bf16 operands
    config: str = ""
    unused: list = field(default_factory=list)  # captures kept as arguments only

    @property
    def output_element(self):
        return "f32" if self.wide_output else self.element

    def shape_type(self, dims, head_dim, element):
        return f"tensor<{'x'.join(str(head_dim) if d == 'd' else '?' for d in dims)}x{element}>"

    @property
    def operand_types(self):
        q, k, v, o = self.dims
        return (self.shape_type(q, self.head_dim, self.element),
                self.shape_type(k, self.head_dim, self.element),
                self.shape_type(v, self.value_head_dim, self.element),
                self.shape_type(o, self.value_head_dim, self.output_element))

    @property
    def memref_types(self):
        """Types of the operands in memory: the head dim contiguous, other strides free."""
        strides = lambda dims: ", ".join("1" if dim == "d" else "?" for dim in dims)
        return [f"memref{kind[len('tensor'):-1]}, strided<[{strides(dims)}], offset: ?>>"
                for kind, dims in zip(self.operand_types, self.dims)]

    @property
    def keeps_destination(self):
        """Rows past a query length are only defined by a destination argument."""
        return self.query_lengths

    def captures_of(self, part):
        return [c for clause in getattr(self, part) for c in clause.captures]

    @property
    def captures(self):
        return self.captures_of("score") + self.captures_of("mask") + self.unused

    def arguments(self):
        """(name, type) of every argument in order."""
        q, k, v, o = self.operand_types
        result = [("query", q), ("key", k), ("value", v)]
        if self.scale:
            result.append(("scale", "f32"))
        if self.query_lengths:
            result.append(("query_lengths", "tensor<?xi32>"))
        if self.key_lengths:
            result.append(("key_lengths", "tensor<?xi32>"))
        result += [(c.name, c.type) for c in self.captures]
        if self.keeps_destination:
            result.append(("output_init", o))
            if self.lse:
                result.append(("lse_init", "tensor<?x?x?xf32>"))
        return result

    def clause_text(self, keyword, parts):
        if not parts:
            return []
        if parts[0].region:
            (clause,) = parts
            leading = "%s, " if keyword == "score" else ""
            line = f"      {keyword}({leading}%b, %h, %i, %j)"
            if clause.captures:
                # The arguments inside have the names of the captured values.
                inner = ", ".join(f"%{c.name} = %{c.name}_outside : {c.type}"
                                  for c in clause.captures)
                line += f" captures({inner})"
            return [line + " {" + clause.region, "      }"]
        return [f"      {keyword} " + " ".join(clause.text for clause in parts)]

    def text(self):
        """The module. Captured values of regions are renamed outside, since a
        region may not shadow a value."""
        renamed = {c.name for clause in self.score + self.mask if clause.region
                   for c in clause.captures}
        outside = lambda name: f"%{name}_outside" if name in renamed else f"%{name}"
        q, k, v, o = self.operand_types
        lse_type = "tensor<?x?x?xf32>"
        result_types = [o] + ([lse_type] if self.lse else [])
        arguments = ", ".join(f"{outside(name)}: {kind}" for name, kind in self.arguments())
        lines = [f"func.func @main({arguments}) -> ({', '.join(result_types)}) {{"]
        if not self.keeps_destination:
            lines += self.empty_destinations()
        outs = "%output_init" + (", %lse_init" if self.lse else "")
        names = "%o, %l" if self.lse else "%o"
        lines += [f"  {names} = fa.attention",
                  f"      ins(%query, %key, %value : {q}, {k}, {v})",
                  f"      outs({outs} : {', '.join(result_types)})"]
        if self.scale:
            lines.append("      scale(%scale)")
        for name in ("query_lengths", "key_lengths"):
            if getattr(self, name):
                lines.append(f"      {name}(%{name} : tensor<?xi32>)")
        lines += self.clause_text("score", self.score)
        lines += self.clause_text("mask", self.mask)
        attributes = [f"{name}_dims = #fa.dims<{', '.join(dims)}>"
                      for name, dims in zip(("query", "key", "value", "output"), self.dims)
                      if dims != "bshd"]
        if self.config:
            attributes.append(f"config = {self.config}")
        if attributes:
            lines.append("      {" + ", ".join(attributes) + "}")
        lines += [f"  return {names} : {', '.join(result_types)}", "}"]
        return "\n".join(lines) + "\n"

    def text_in_place(self):
        """The module on memrefs, which takes the destinations as its last arguments. The
        function must keep its destination."""
        text = self.text()
        head, body = text.split(") -> (", 1)
        body = body[body.index(" {\n"):]
        body = body.replace("  %o, %l = fa.", "  fa.").replace("  %o = fa.", "  fa.")
        body = body[:body.index("  return ")] + "  return\n}\n"
        text = head + ")" + body
        for tensor, memref in zip(self.operand_types, self.memref_types):
            text = text.replace(tensor, memref)
        return text.replace("tensor.extract", "memref.load").replace("tensor<", "memref<")

    def empty_destinations(self):
        """Destinations whose contents do not matter, of the query's sizes."""
        q, _, _, o = self.operand_types
        lines = []
        for position, dim in enumerate(self.dims[0]):
            if dim != "d":
                lines += [f"  %position_{dim} = arith.constant {position} : index",
                          f"  %size_{dim} = tensor.dim %query, %position_{dim} : {q}"]
        sizes = ", ".join(f"%size_{dim}" for dim in self.dims[3] if dim != "d")
        lines.append(f"  %output_init = tensor.empty({sizes}) : {o}")
        if self.lse:
            lines.append("  %lse_init = tensor.empty(%size_b, %size_h, %size_s) : tensor<?x?x?xf32>")
        return lines


class Deck:
    """Deals from a list in random order, starting anew when it is used up, so that
    every entry comes up."""

    def __init__(self, rng, entries):
        self.rng, self.entries, self.order = rng, list(entries), []

    def deal(self):
        if not self.order:
            self.order = list(self.rng.permutation(len(self.entries)))
        return self.entries[self.order.pop()]


def join_masks(rng, first):
    """A short mask, sometimes with another one whose arguments differ."""
    if rng.random() < 0.6:
        return [first]
    names = {c.name for c in first.captures}
    others = [m for m in clauses.SHORT_MASKS
              if m is not first and not names & {c.name for c in m.captures}]
    return [first, others[rng.integers(len(others))]]


def join_scores(rng, first):
    if rng.random() < 0.6:
        return [first]
    names = {c.name for c in first.captures}
    others = [s for s in clauses.SHORT_SCORES
              if s is not first and not names & {c.name for c in s.captures}]
    return [first, others[rng.integers(len(others))]]


def processor_lanes():
    """f32 elements of a vector register of this machine."""
    with open("/proc/cpuinfo") as file:
        flags = next((line.split() for line in file if line.startswith("flags")), [])
    return 16 if "avx512f" in flags else 8 if "avx2" in flags else 4


def sample_config(rng):
    """A configuration of some sort, or none: then the compiler chooses. Register tiles
    (rows, vectors) are those that fit 16 registers."""
    if rng.random() < 0.4:
        return ""
    lanes = min(int(rng.choice([4, 8, 8, 16])), processor_lanes())
    tiles = [(6, 2), (6, 2), (4, 3), (4, 2), (1, 2), (3, 1), (8, 1), (12, 1)]
    rows, vectors = tiles[rng.integers(len(tiles))]
    query_block = lanes * vectors * int(rng.integers(1, 5))
    key_block = int(rng.choice([8, 32, 48, 64, 100, 128, 256]))
    splits = int(rng.choice([1, 1, 2, 3]))
    split = f", key_splits = {splits}" if splits > 1 else ""
    return (f"#fa.config<query_block = {query_block}, key_block = {key_block}{split}, "
            f"target = #fa.cpu<lanes = {lanes}, register_rows = {rows}, "
            f"register_vectors = {vectors}>>")


# Drafts of a function, of which the one with most new pairs of features is kept.
DRAFTS = 6


def draft_function(rng, name, element, head_dims, mask, score, profile):
    """A function of what the decks dealt; all else is sampled."""
    head_dim, value_head_dim = head_dims
    mask = [] if mask is None else [mask] if mask.region else join_masks(rng, mask)
    score = [] if score is None else [score] if score.region else join_scores(rng, score)
    orders = ("bshd",) * 4
    if rng.random() < 0.4:
        orders = tuple(str(rng.choice(profile.dim_orders)) for _ in range(4))
    config = sample_config(rng) if profile.has_config else ""
    chance = lambda p: bool(rng.random() < p)
    return Function(name, element, head_dim, value_head_dim or head_dim, orders, score, mask, scale=chance(0.3),
                    query_lengths=chance(0.35), key_lengths=chance(0.4), lse=chance(0.6),
                    wide_output=element != "f32" and chance(0.2), config=config)


def sample_functions(rng, count, profile=CPU):
    """Functions in which every head dim, element type, mask and score occurs, and, from some hundred on, every
    pair of features that a function can have."""
    elements = Deck(rng, profile.elements)
    head_dims = Deck(rng, profile.head_dims)
    masks = Deck(rng, [None] * 2 + clauses.SHORT_MASKS[:3] * 2 + clauses.SHORT_MASKS[3:]
                 + clauses.CUSTOM_MASKS + [mask for mask in clauses.CUSTOM_MASKS if mask.name == "block_sparse"])
    scores = Deck(rng, [None] * 8 + clauses.SHORT_SCORES + clauses.CUSTOM_SCORES)
    functions, covered = [], set()
    for number in range(count):
        dealt = elements.deal(), head_dims.deal(), masks.deal(), scores.deal()
        drafts = [draft_function(rng, f"f{number:03d}", *dealt, profile) for _ in range(DRAFTS)]
        pairs = [set(combinations(sorted(features.of_function(draft)), 2)) for draft in drafts]
        best = max(range(DRAFTS), key=lambda i: len(pairs[i] - covered))
        functions.append(drafts[best])
        covered |= pairs[best]
    return functions


def sample_sizes(rng, function, profile):
    """Sizes within the bound on work."""
    def length():
        listed = rng.random() < 0.5
        return int(rng.choice(LENGTHS) if listed else rng.integers(2, profile.most_length))

    depth = function.head_dim + function.value_head_dim
    while True:
        key_heads = int(rng.integers(1, profile.most_heads + 1))
        batch = 0 if rng.random() < 0.01 else int(rng.integers(1, 4))
        queries = length()
        keys = queries if rng.random() < 0.4 else length()
        sizes = Sizes(batch, key_heads * int(rng.choice([1, 1, 2, 3, 4])), key_heads,
                      queries, keys)
        if sizes.batch * sizes.heads * queries * keys * depth <= profile.most_work:
            return sizes


class Problem:
    """A function, sizes and inputs. `arrays` holds every argument by name, already
    rounded to its element type."""

    def __init__(self, function, seed, profile=CPU):
        self.function, self.seed, self.profile = function, seed, profile
        rng = np.random.default_rng(seed)
        self.sizes = sizes = sample_sizes(rng, function, profile)
        self.arrays = {}
        self.scalars = {}
        self.sample_operands(rng)
        for capture in function.captures:
            self.add_capture(capture, capture.sample(rng, sizes))
        self.scale = 1 / np.sqrt(function.head_dim)
        if function.scale:
            self.scale = float(np.float32(self.scale * rng.uniform(0.3, 1.5)))
            self.scalars["scale"] = self.scale
        self.sample_destination(rng)
        self.placement = self.sample_placement(rng)

    def sample_placement(self, rng):
        """How operands and output lie in memory, by name: their dims from the
        outermost to the innermost, which is the head dim, and how many elements
        stay unused after each innermost row, as in packed or padded tensors."""
        has_gaps, is_permuted = rng.random(2) < 0.5
        placement = {}
        for name, dims in zip(("query", "key", "value", "output"), self.function.dims):
            outer = [dim for dim in dims if dim != "d"]
            if is_permuted:
                rng.shuffle(outer)
            order = [dims.index(dim) for dim in [*outer, "d"]]
            gap = int(rng.integers(1, 40)) if has_gaps else 0
            placement[name] = order, self.align_gap(gap)
        placement["output_init"] = placement["output"]
        return placement

    def align_gap(self, elements):
        """The next number of elements that keeps rows where a copy can start."""
        unit = max(1, self.profile.gap_alignment // np.dtype(ELEMENTS[self.function.element]).itemsize)
        return -(-elements // unit) * unit

    @property
    def in_place(self):
        return self.profile.in_place and self.function.keeps_destination

    @property
    def output_bound(self):
        function = self.function
        in_single = function.wide_output and self.profile.keeps_single
        return OUTPUT_BOUNDS["f32" if in_single else function.element]

    @property
    def lse_bound(self):
        return LSE_BOUNDS[self.function.element]

    @property
    def has_gaps(self):
        return self.placement["output"][1] > 0

    def shape(self, dims, heads, length, head_dim):
        size = {"b": self.sizes.batch, "h": heads, "s": length, "d": head_dim}
        return [size[dim] for dim in dims]

    def sample_operands(self, rng):
        f, s = self.function, self.sizes
        q, k, v, _ = f.dims
        shapes = {"query": self.shape(q, s.heads, s.queries, f.head_dim),
                  "key": self.shape(k, s.key_heads, s.keys, f.head_dim),
                  "value": self.shape(v, s.key_heads, s.keys, f.value_head_dim)}
        for name, shape in shapes.items():
            self.arrays[name] = rng.standard_normal(shape).astype(ELEMENTS[f.element])
        self.keep_from_cancelling()
        for name, most in (("query_lengths", s.queries), ("key_lengths", s.keys)):
            if getattr(f, name):
                lengths = rng.integers(0, most + 1, s.batch)
                full = rng.random(s.batch) < 0.2
                self.arrays[name] = np.where(full, most, lengths).astype(np.int32)
        # What lies past a length is never used, and one bad query spoils only its
        # own row.
        self.spoil("query", q, "query_lengths")
        self.spoil("key", k, "key_lengths")
        self.spoil("value", v, "key_lengths")
        self.bad_query = bool(rng.random() < 0.1) and self.arrays["query"].size > 0
        if self.bad_query:
            index = [int(rng.integers(size)) for size in self.arrays["query"].shape]
            self.arrays["query"][tuple(index)] = np.nan

    def keep_from_cancelling(self):
        """The sums of an output of a few elements may all be near zero, and the errors of a
        softmax rounded to the values' type, which are relative to its terms, then exceed any
        bound relative to the sums. There values have a mean of 1."""
        f, s = self.function, self.sizes
        if s.batch * s.heads * s.queries * f.value_head_dim < FEW_ELEMENTS:
            value = self.arrays["value"]
            self.arrays["value"] = (value.astype(np.float64) + 1).astype(value.dtype)

    def spoil(self, name, dims, lengths):
        if lengths not in self.arrays:
            return
        items = np.moveaxis(self.arrays[name], (dims.index("b"), dims.index("s")), (0, 1))
        for item, length in zip(items, self.arrays[lengths]):
            item[length:] = np.nan

    def add_capture(self, capture, value):
        if capture.type.startswith("tensor"):
            element = capture.type[capture.type.rindex("x") + 1:-1]
            self.arrays[capture.name] = np.asarray(value).astype(ELEMENTS[element])
        else:
            self.scalars[capture.name] = value

    def sample_destination(self, rng):
        f, s = self.function, self.sizes
        shape = self.shape(f.dims[3], s.heads, s.queries, f.value_head_dim)
        element = ELEMENTS[f.output_element]
        self.initial_output = rng.standard_normal(shape).astype(element)
        self.initial_lse = rng.standard_normal((s.batch, s.heads, s.queries)).astype(np.float32)
        if f.keeps_destination:
            self.arrays["output_init"] = self.initial_output
            if f.lse:
                self.arrays["lse_init"] = self.initial_lse

    def captures(self, clause):
        """Captured values of a clause; floats in float64."""
        def value(name):
            if name in self.scalars:
                return self.scalars[name]
            array = self.arrays[name]
            return array if array.dtype == np.int32 else array.astype(np.float64)

        return [value(c.name) for c in clause.captures]

    def length(self, name, b, most):
        return int(self.arrays[name][b]) if name in self.arrays else most

    def describe(self):
        f, s = self.function, self.sizes
        parts = [f"{f.name} seed {self.seed}: {f.element}", f"d {f.head_dim}/{f.value_head_dim}",
                 f"batch {s.batch} heads {s.heads}/{s.key_heads}",
                 f"queries {s.queries} keys {s.keys}"]
        parts += [" ".join(c.name for c in part) for part in (f.score, f.mask) if part]
        if f.config:
            parts.append(f.config)
        return ", ".join(parts)
