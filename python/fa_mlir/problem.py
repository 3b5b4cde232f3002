"""An attention, described apart from types and sizes, and its text.

A Specification is what two calls have in common that run the same code: regions,
layout, which arguments there are. It holds no length, batch, number of heads,
stride, window or cap. With the element type and the head dims of a call it
becomes the text of a function, forward or gradient, for fa_mlir.compile. Read
`Specification`, then `write_forward` and `write_gradient`.
"""

from __future__ import annotations

import functools
import json
import math
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

from .errors import INVALID_ARGUMENT, make_error

LAYOUTS = ("bshd", "bhsd")
#: Element types of query, key and value.
OPERAND_TYPES = ("f16", "bf16", "f32")
_DIMS = {"bshd": "", "bhsd": "#fa.dims<b, h, s, d>"}


def find_rows_and_heads(layout: str, rank: int = 4) -> tuple[int, int]:
    """Which dims of an operand are its rows and its heads."""
    return (rank - 2, rank - 3) if layout == "bhsd" else (rank - 3, rank - 2)


@dataclass(frozen=True)
class Capture:
    """A tensor that regions read, or a number (shape None).

    shape: 1 where a dim broadcasts, else -1. gradient: whether it may be asked for.
    alignment: of its rows, in bytes; 0 for unknown.
    """

    name: str
    type: str
    shape: tuple[int, ...] | None = None
    gradient: bool = False
    alignment: int = 0

    @property
    def text(self) -> str:
        if self.shape is None:
            return self.type
        return f"tensor<{''.join('?x' if size < 0 else f'{size}x' for size in self.shape)}{self.type}>"


class Traced(NamedTuple):
    """A clause of fa.attention, its captures as fields of Capture, and their
    values: tensors and numbers."""

    clause: str
    captures: tuple
    values: list


def write_float(value: float, type: str) -> str:
    """A float as MLIR reads it."""
    if math.isfinite(value):
        text = repr(value)
        mantissa, exponent, power = text.partition("e")
        return (mantissa if "." in mantissa else mantissa + ".0") + exponent + power
    digits = {"f16": ("0x7C00", "0xFC00", "0x7E00"), "bf16": ("0x7F80", "0xFF80", "0x7FC0"),
              "f32": ("0x7F800000", "0xFF800000", "0x7FC00000"),
              "f64": ("0x7FF0000000000000", "0xFFF0000000000000", "0x7FF8000000000000")}[type]
    return digits[2] if math.isnan(value) else digits[value < 0]


@dataclass(frozen=True)
class Specification:
    """score, mask: the clauses of fa.attention, "" for none, in the names of
    captures. scale: "" for 1 / sqrt(head dim), "positive" or "any" for a number.
    lengths, starts: which there are, of "q" and "k"; with a start the operand is packed,
    (rows, heads, head dim), with pages (pages, rows, heads, head dim). sink, dropout:
    whether there are, with the captures "sink", "rng" (seed and offset) and "dropout_p"."""

    layout: str = "bshd"
    score: str = ""
    mask: str = ""
    captures: tuple[Capture, ...] = ()
    scale: str = ""
    lengths: str = ""
    lse: bool = False
    #: How many of the captures the score reads, in order: gradients count them.
    score_captures: tuple[str, ...] = ()
    starts: str = ""
    #: Rows of a page; 0: there are no pages, -1: known when the code runs.
    pages: int = 0
    #: Heads of queries and of keys, where a sequence has one query: the heads of a key
    #: head are then rows of one block, and read it once. Else known when the code runs.
    one_query: tuple[int, int] | None = None
    sink: bool = False
    dropout: bool = False
    #: Whether gradients have the same bits in each run.
    deterministic: bool = False

    @functools.cached_property
    def text(self) -> str:
        """As JSON, which from_text reads."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def tensors(self) -> tuple[Capture, ...]:
        return tuple(capture for capture in self.captures if capture.shape is not None)

    @property
    def numbers(self) -> tuple[Capture, ...]:
        """What is passed by value, in order: the scale first."""
        scale = (Capture("scale", "f32"),) if self.scale else ()
        return scale + tuple(capture for capture in self.captures if capture.shape is None)

    @property
    def length_names(self) -> tuple[str, ...]:
        found = [name for letter, name in (("q", "query_lengths"), ("k", "key_lengths")) if letter in self.lengths]
        found += [name for letter, name in (("q", "query_starts"), ("k", "key_starts")) if letter in self.starts]
        return (*found, "key_pages") if self.pages else tuple(found)

    @property
    def is_packed(self) -> bool:
        """Whether query and output are."""
        return "q" in self.starts

    def find_lse_shape(self, query: tuple) -> tuple:
        """By the shape of the query."""
        if self.is_packed:
            return query[1], query[0]
        rows, heads = find_rows_and_heads(self.layout)
        return query[0], query[heads], query[rows]


@functools.lru_cache(maxsize=4096)
def from_text(text: str) -> Specification:
    try:
        fields = json.loads(text)
        fields["captures"] = tuple(Capture(**dict(capture, shape=capture["shape"] and tuple(capture["shape"])))
                                   for capture in fields["captures"])
        fields["score_captures"] = tuple(fields["score_captures"])
        fields["one_query"] = fields["one_query"] and tuple(fields["one_query"])
        specification = Specification(**fields)
        is_known = specification.layout in LAYOUTS
    except (KeyError, TypeError, ValueError):
        is_known = False
    if not is_known:
        raise make_error(INVALID_ARGUMENT, f"argument 'specification' is {text!r}, expected the text of a "
                         "fa_mlir.problem.Specification")
    return specification


@functools.lru_cache(maxsize=4096)
def make_deterministic(text: str) -> str:
    """The text of the same specification, but for its gradients."""
    return replace(from_text(text), deterministic=True).text


@dataclass(frozen=True)
class Types:
    """What a call adds to a specification. aligned: whether query, key and value
    start, and have rows, at multiples of 16 bytes."""

    element: str
    head_dim: int
    value_head_dim: int
    output: str = ""

    def operand(self, head_dim: int, element: str = "", rank: int = 4, known: dict[int, int] | None = None) -> str:
        """known: sizes of dims."""
        sizes = "".join(f"{(known or {}).get(i, '?')}x" for i in range(rank - 1))
        return f"tensor<{sizes}{head_dim}x{element or self.element}>"


_LENGTHS = {"key_pages": "tensor<?x?xi32>"}
_LENGTH = "tensor<?xi32>"
_PACKED, _PAGED = "#fa.dims<s, h, d>", "#fa.dims<p, s, h, d>"


_SINK = """
      sink(%b, %h, %i) captures(%table = %sink : tensor<?xf32>) {
        %score = tensor.extract %table[%h] : tensor<?xf32>
        fa.yield %score : f32
      }"""


class _Writer:
    """Lines of one function."""

    def __init__(self, specification: Specification, types: Types, knows_one_query: bool = False):
        self.specification = specification
        rank, key_rank = (3 if letter in specification.starts else 4 for letter in "qk")
        # Places of heads and sequence.
        self.sequence, self.heads = find_rows_and_heads(specification.layout)
        self.rows = (1, 0) if specification.is_packed else (0, self.heads, self.sequence)
        known: dict[int, int] = {}
        known_keys = {self.sequence: specification.pages} if specification.pages > 0 else {}
        if knows_one_query and specification.one_query:
            known = {self.sequence: 1, self.heads: specification.one_query[0]}
            known_keys[self.heads] = specification.one_query[1]
        self.query = types.operand(types.head_dim, rank=rank, known=known)
        self.key = types.operand(types.head_dim, rank=key_rank, known=known_keys)
        self.value = types.operand(types.value_head_dim, rank=key_rank, known=known_keys)
        self.output = types.operand(types.value_head_dim, types.output, rank, known)
        self.lse = f"tensor<{''.join(str(known.get(i, '?')) + 'x' for i in self.rows)}f32>"
        self.lines: list[str] = []
        self._dims: dict[tuple[str, int], str] = {}

    def arguments(self, fixed: list[tuple[str, str]]) -> str:
        specification = self.specification
        named = fixed + [(name, _LENGTHS.get(name, _LENGTH)) for name in specification.length_names]
        parts = [f"%{name}: {text}" for name, text in named]
        for capture in specification.tensors:
            alignment = f" {{fa.align = {capture.alignment} : i64}}" if capture.alignment else ""
            parts.append(f"%{capture.name}: {capture.text}{alignment}")
        parts += [f"%{capture.name}: {capture.text}" for capture in specification.numbers]
        return ", ".join(parts)

    def dim(self, operand: str, position: int, text: str) -> str:
        key = (operand, position)
        if key not in self._dims:
            name = self._dims[key] = f"%{operand}_dim_{position}"
            self.lines += [f"{name}_place = arith.constant {position} : index",
                           f"{name} = tensor.dim %{operand}, {name}_place : {text}"]
        return self._dims[key]

    def empty_like(self, name: str, operand: str, text: str, result: str | None = None) -> str:
        """A destination of the shape of an operand."""
        result = result or text
        sizes = text[len("tensor<"):].split("x")[:-1]
        dims = ", ".join(self.dim(operand, i, text) for i, size in enumerate(sizes) if size == "?")
        self.lines.append(f"%{name} = tensor.empty({dims}) : {result}")
        return f"%{name}"

    def empty_lse(self, name: str) -> str:
        sizes = self.lse[len("tensor<"):].split("x")
        dims = ", ".join(self.dim("query", i, self.query) for i, size in zip(self.rows, sizes) if size == "?")
        self.lines.append(f"%{name} = tensor.empty({dims}) : {self.lse}")
        return f"%{name}"

    def clauses(self, is_gradient: bool = False) -> str:
        specification = self.specification
        text = ""
        if specification.scale == "positive":
            self.lines.append("%magnitude = math.absf %scale : f32")
            text += " scale(%magnitude)"
        elif specification.scale:
            text += " scale(%scale)"
        for name in specification.length_names:
            text += f"\n      {name}(%{name} : {_LENGTHS.get(name, _LENGTH)})"
        if specification.score:
            text += f"\n      score {specification.score}"
        if specification.mask:
            text += f"\n      mask {specification.mask}"
        if specification.sink and not is_gradient:
            text += _SINK
        if specification.dropout:
            self.lines += [f"%{name} = tensor.extract_slice %rng[{i}] [1] [1] : tensor<2xi64> to tensor<i64>"
                           for i, name in enumerate(("seed", "offset"))]
            text += "\n      dropout(%dropout_p, %seed, %offset : f32, tensor<i64>, tensor<i64>)"
        return text

    def attributes(self, names: tuple[str, ...], is_deterministic: bool = False) -> str:
        specification, order = self.specification, _DIMS[self.specification.layout]
        query_order = _PACKED if specification.is_packed else order
        key_order = _PACKED if "k" in specification.starts else _PAGED if specification.pages else order
        orders = [(name, key_order if name.split("_")[0] in ("key", "value") else query_order) for name in names]
        written = [f"{name}_dims = {order}" for name, order in orders if order] + ["deterministic"] * is_deterministic
        return "\n      {" + ", ".join(written) + "}" if written else ""

    def finish(self, name: str, arguments: str, results: list[str], values: list[str]) -> str:
        body = "".join(f"  {line}\n" for line in self.lines)
        return (f"func.func @{name}({arguments}) -> ({', '.join(results)}) {{\n{body}"
                f"  return {', '.join(values)} : {', '.join(results)}\n}}\n")


def write_forward(specification: Specification, types: Types) -> str:
    """@attention(query, key, value, lengths, tensors, numbers) -> (output, lse)."""
    writer = _Writer(specification, types, knows_one_query=True)
    arguments = writer.arguments([("query", writer.query), ("key", writer.key), ("value", writer.value)])
    writer.empty_like("init", "query", writer.query, writer.output)
    results, values, inits = [writer.output], ["%output"], ["%init"]
    if specification.lse:
        inits.append(writer.empty_lse("lse_init"))
        results.append(writer.lse)
        values.append("%lse")
    clauses = writer.clauses()
    writer.lines.append(
        f"{', '.join(values)} = fa.attention ins(%query, %key, %value : {writer.query}, {writer.key}, "
        f"{writer.value})\n      outs({', '.join(inits)} : {', '.join(results)}){clauses}"
        + writer.attributes(("query", "key", "value", "output")))
    return writer.finish("attention", arguments, results, values)


def write_gradient(specification: Specification, types: Types, lse_gradient: bool,
                   wanted: tuple[str, ...]) -> str:
    """@attention_gradient(query, key, value, output, lse, output_gradient,
    lse_gradient, lengths, tensors, numbers) -> the gradients of `wanted`: query,
    key, value and names of captures, in this order."""
    writer = _Writer(specification, types)
    fixed = [("query", writer.query), ("key", writer.key), ("value", writer.value), ("output", writer.output),
             ("lse", writer.lse), ("output_gradient", writer.output)]
    gradients = [("%output_gradient", writer.output)]
    if lse_gradient:
        fixed.append(("lse_gradient", writer.lse))
        gradients.append(("%lse_gradient", writer.lse))
    arguments = writer.arguments(fixed)
    operands = {"query": writer.query, "key": writer.key, "value": writer.value}
    captures = {capture.name: capture.text for capture in specification.tensors}
    outs, results, values = [], [], []
    for i, name in enumerate(wanted):
        text = operands.get(name) or captures[name]
        init = writer.empty_like(f"{name}_init", name, text)
        place = name if name in operands else f"capture[{specification.score_captures.index(name)}]"
        outs.append(f"{place} = {init} : {text}")
        results.append(text)
        values.append(f"%gradients#{i}" if len(wanted) > 1 else "%gradients")
    clauses = writer.clauses(is_gradient=True)
    count = f":{len(wanted)}" if len(wanted) > 1 else ""
    writer.lines.append(
        f"%gradients{count} = fa.attention_gradient ins(%query, %key, %value : {writer.query}, {writer.key}, "
        f"{writer.value})\n      of(%output, %lse : {writer.output}, {writer.lse})\n      gradients("
        f"{', '.join(name for name, _ in gradients)} : {', '.join(text for _, text in gradients)})\n      outs("
        + ", ".join(outs) + f"){clauses}"
        + writer.attributes(("query", "key", "value", "output", "output_gradient", "query_gradient",
                             "key_gradient", "value_gradient"),
                              specification.deterministic))
    return writer.finish("attention_gradient", arguments, results, values)
