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
from dataclasses import asdict, dataclass

LAYOUTS = ("bshd", "bhsd")
#: Element types of query, key and value.
OPERAND_TYPES = ("f16", "bf16", "f32")
_DIMS = {"bshd": "", "bhsd": "#fa.dims<b, h, s, d>"}


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


@dataclass(frozen=True)
class Specification:
    """score, mask: the clauses of fa.attention, "" for none, in the names of
    captures. scale: "" for 1 / sqrt(head dim), "positive" or "any" for a number.
    lengths: which there are, of "q" and "k"."""

    layout: str = "bshd"
    score: str = ""
    mask: str = ""
    captures: tuple[Capture, ...] = ()
    scale: str = ""
    lengths: str = ""
    lse: bool = False
    #: How many of the captures the score reads, in order: gradients count them.
    score_captures: tuple[str, ...] = ()

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
        return tuple(name for letter, name in (("q", "query_lengths"), ("k", "key_lengths"))
                     if letter in self.lengths)


@functools.lru_cache(maxsize=4096)
def from_text(text: str) -> Specification:
    fields = json.loads(text)
    fields["captures"] = tuple(Capture(**dict(capture, shape=capture["shape"] and tuple(capture["shape"])))
                               for capture in fields["captures"])
    fields["score_captures"] = tuple(fields["score_captures"])
    return Specification(**fields)


@dataclass(frozen=True)
class Types:
    """What a call adds to a specification. aligned: whether query, key and value
    start, and have rows, at multiples of 16 bytes."""

    element: str
    head_dim: int
    value_head_dim: int
    output: str = ""

    def operand(self, head_dim: int, element: str = "") -> str:
        return f"tensor<?x?x?x{head_dim}x{element or self.element}>"


_LSE = "tensor<?x?x?xf32>"
_LENGTHS = "tensor<?xi32>"


class _Writer:
    """Lines of one function."""

    def __init__(self, specification: Specification, types: Types):
        self.specification = specification
        self.query = types.operand(types.head_dim)
        self.key = self.query
        self.value = types.operand(types.value_head_dim)
        self.output = types.operand(types.value_head_dim, types.output)
        self.lines: list[str] = []
        self._dims: dict[tuple[str, int], str] = {}
        # Places of heads and sequence.
        self.heads, self.sequence = (1, 2) if specification.layout == "bhsd" else (2, 1)

    def arguments(self, fixed: list[tuple[str, str]]) -> str:
        specification = self.specification
        named = fixed + [(name, _LENGTHS) for name in specification.length_names]
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
        dims = ", ".join(self.dim("query", i, self.query) for i in (0, self.heads, self.sequence))
        self.lines.append(f"%{name} = tensor.empty({dims}) : {_LSE}")
        return f"%{name}"

    def clauses(self) -> str:
        specification = self.specification
        text = ""
        if specification.scale == "positive":
            self.lines.append("%magnitude = math.absf %scale : f32")
            text += " scale(%magnitude)"
        elif specification.scale:
            text += " scale(%scale)"
        for name in specification.length_names:
            text += f"\n      {name}(%{name} : {_LENGTHS})"
        if specification.score:
            text += f"\n      score {specification.score}"
        if specification.mask:
            text += f"\n      mask {specification.mask}"
        return text

    def attributes(self, names: tuple[str, ...]) -> str:
        order = _DIMS[self.specification.layout]
        return "\n      {" + ", ".join(f"{name}_dims = {order}" for name in names) + "}" if order else ""

    def finish(self, name: str, arguments: str, results: list[str], values: list[str]) -> str:
        body = "".join(f"  {line}\n" for line in self.lines)
        return (f"func.func @{name}({arguments}) -> ({', '.join(results)}) {{\n{body}"
                f"  return {', '.join(values)} : {', '.join(results)}\n}}\n")


def write_forward(specification: Specification, types: Types) -> str:
    """@attention(query, key, value, lengths, tensors, numbers) -> (output, lse)."""
    writer = _Writer(specification, types)
    arguments = writer.arguments([("query", writer.query), ("key", writer.key), ("value", writer.value)])
    dims = ", ".join(writer.dim("query", i, writer.query) for i in range(3))
    writer.lines.append(f"%init = tensor.empty({dims}) : {writer.output}")
    results, values, inits = [writer.output], ["%output"], ["%init"]
    if specification.lse:
        inits.append(writer.empty_lse("lse_init"))
        results.append(_LSE)
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
             ("lse", _LSE), ("output_gradient", writer.output)]
    gradients = [("%output_gradient", writer.output)]
    if lse_gradient:
        fixed.append(("lse_gradient", _LSE))
        gradients.append(("%lse_gradient", _LSE))
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
    clauses = writer.clauses()
    count = f":{len(wanted)}" if len(wanted) > 1 else ""
    writer.lines.append(
        f"%gradients{count} = fa.attention_gradient ins(%query, %key, %value : {writer.query}, {writer.key}, "
        f"{writer.value})\n      of(%output, %lse : {writer.output}, {_LSE})\n      gradients("
        f"{', '.join(name for name, _ in gradients)} : {', '.join(text for _, text in gradients)})\n      outs("
        + ", ".join(outs) + f"){clauses}"
        + writer.attributes(("query", "key", "value", "output", "output_gradient", "query_gradient",
                             "key_gradient", "value_gradient")))
    return writer.finish("attention_gradient", arguments, results, values)
