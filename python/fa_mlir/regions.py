"""From a graph of aten operations on scalars to the body of a region.

Every value of the graph is a scalar, or a captured tensor that indices were applied
to. torch's int64 is MLIR's index; its other types have their own. A value is cast to
the type that torch computes in, as the graph's own types say. `Body` collects the lines of
a region; rules has a rule for each operation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import torch

from .errors import UnsupportedError
from .problem import write_float

TYPES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
         torch.bool: "i1", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "index"}
#: What a table of these holds; other tables are refused.
ELEMENTS = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.float64: "f64",
            torch.bool: "i1", torch.int8: "i8", torch.int32: "i32", torch.int64: "i64"}
_WIDTHS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i1": 1, "i8": 8, "i16": 16, "i32": 32, "index": 64}
#: Least and greatest of a batch, head, query or key, and of a size.
POSITIONS, _SIZES = (0, 2**31 - 1), (0, 2**48)
Range = tuple[float, float]


@dataclass(frozen=True)
class Scalar:
    """A value of the region. constant: what is known of it; low, high: what it lies between. Of floats low is 0 or -inf."""

    name: str
    dtype: Any
    constant: Any = None
    low: float = -math.inf
    high: float = math.inf

    @property
    def range(self) -> Range:
        return self.low, self.high

    @property
    def is_not_negative(self) -> bool:
        return self.low >= 0


@dataclass(frozen=True)
class Table:
    """A captured tensor and the indices applied to it so far."""

    name: str
    type: str
    dtype: Any
    #: Sizes: a number, or -1 where a call decides.
    shape: tuple[int, ...]
    #: By dim, None where one is open.
    indices: tuple[str | None, ...]
    #: Those that are open, in the order in which the function has them.
    dims: tuple[int, ...]
    #: Whether its elements take no gradient.
    is_stopped: bool = False


class Refused(Exception):
    """What has no form in a region; the tracer says where."""


def is_float(dtype: Any) -> bool:
    return dtype.is_floating_point


def find_range(dtype: Any) -> Range:
    """What values of a type lie between."""
    if is_float(dtype):
        return -math.inf, math.inf
    if dtype == torch.bool:
        return 0, 1
    bits = _WIDTHS[TYPES[dtype]]
    return -(1 << bits - 1), (1 << bits - 1) - 1


def wrap(value: int, dtype: Any) -> int:
    """An integer as its type holds it."""
    least, greatest = map(int, find_range(dtype))
    return least + (value - least) % (greatest - least + 1)


class Body:
    """The lines of one region."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._constants: dict[tuple[str, str], str] = {}
        self._count = 0

    def add(self, text: str, dtype: Any, range: Range | None = None) -> Scalar:
        """range: what the result would lie between if its type were wide enough."""
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {text}")
        least, greatest = find_range(dtype)
        if range is None or not least <= range[0] <= range[1] <= greatest:
            range = least, greatest
        return Scalar(name, dtype, None, *range)

    def constant(self, value: Any, dtype: Any) -> Scalar:
        type = TYPES[dtype]
        if dtype == torch.bool:
            text = "true" if value else "false"
        elif is_float(dtype):
            text = write_float(float(value), type)
        else:
            value = wrap(int(value), dtype)
            text = str(value)
        key = (text, type)
        if key not in self._constants:
            attribute = text if type == "i1" else f"{text} : {type}"
            self._constants[key] = self.add(f"arith.constant {attribute}", dtype).name
        known = bool(value) if dtype == torch.bool else float(value) if is_float(dtype) else int(value)
        range = ((0 if known >= 0 else -math.inf), math.inf) if is_float(dtype) else (known, known)
        return Scalar(self._constants[key], dtype, known, *range)

    def cast(self, value: Scalar, dtype: Any) -> Scalar:
        """As torch's .to(dtype)."""
        if value.dtype == dtype:
            return value
        if value.constant is not None and not (is_float(value.dtype) and not is_float(dtype)
                                               and not math.isfinite(value.constant)):
            return self.constant(value.constant, dtype)
        source, target = TYPES[value.dtype], TYPES[dtype]
        if dtype == torch.bool:
            predicate, zero = ("cmpf une", 0.0) if is_float(value.dtype) else ("cmpi ne", 0)
            return self.add(f"arith.{predicate}, {value.name}, {self.constant(zero, value.dtype).name} : {source}",
                            dtype)
        if is_float(value.dtype) and is_float(dtype):
            if _WIDTHS[source] == _WIDTHS[target]:
                return self.cast(self.cast(value, torch.float32), dtype)
            name = "extf" if _WIDTHS[source] < _WIDTHS[target] else "truncf"
            return self.add(f"arith.{name} {value.name} : {source} to {target}", dtype)
        if is_float(value.dtype):
            if target == "index":
                wide = self.add(f"arith.fptosi {value.name} : {source} to i64", dtype)
                return self.add(f"arith.index_cast {wide.name} : i64 to index", dtype)
            return self.add(f"arith.fptosi {value.name} : {source} to {target}", dtype)
        if is_float(dtype):
            if value.dtype == torch.bool:
                return self.add(f"arith.uitofp {value.name} : i1 to {target}", dtype)
            if source == "index":
                wide = self.add(f"arith.index_cast {value.name} : index to i64", dtype)
                return self.add(f"arith.sitofp {wide.name} : i64 to {target}", dtype)
            return self.add(f"arith.sitofp {value.name} : {source} to {target}", dtype)
        if value.dtype == torch.bool:
            name = "index_castui" if target == "index" else "extui"
            return self.add(f"arith.{name} {value.name} : i1 to {target}", dtype, (0, 1))
        if "index" in (source, target):
            return self.add(f"arith.index_cast {value.name} : {source} to {target}", dtype, value.range)
        name = "extsi" if _WIDTHS[source] < _WIDTHS[target] else "trunci"
        return self.add(f"arith.{name} {value.name} : {source} to {target}", dtype, value.range)

    def binary(self, name: str, left: Scalar, right: Scalar, range: Range | None = None) -> Scalar:
        """An operation of arith or math on two values of one type."""
        return self.add(f"{name} {left.name}, {right.name} : {TYPES[left.dtype]}", left.dtype, range)

    def unary(self, name: str, value: Scalar, range: Range | None = None) -> Scalar:
        return self.add(f"{name} {value.name} : {TYPES[value.dtype]}", value.dtype, range)

    def compare(self, predicate: str, left: Scalar, right: Scalar) -> Scalar:
        if is_float(left.dtype):
            ordered = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}[predicate]
            return self.add(f"arith.cmpf {ordered}, {left.name}, {right.name} : {TYPES[left.dtype]}", torch.bool)
        signed = predicate if predicate in ("eq", "ne") else ("u" if left.dtype == torch.bool else "s") + predicate
        return self.add(f"arith.cmpi {signed}, {left.name}, {right.name} : {TYPES[left.dtype]}", torch.bool)

    def select(self, condition: Scalar, left: Scalar, right: Scalar) -> Scalar:
        return self.add(f"arith.select {condition.name}, {left.name}, {right.name} : {TYPES[left.dtype]}", left.dtype,
                        (min(left.low, right.low), max(left.high, right.high)))

    def size(self, table: Table, dim: int) -> Scalar:
        if table.shape[dim] >= 0:
            return self.constant(table.shape[dim], torch.int64)
        place = self.constant(dim, torch.int64)
        return self.add(f"tensor.dim {table.name}, {place.name} : {table.type}", torch.int64, _SIZES)

    def index(self, table: Table, index: Scalar, dim: int = 0) -> Scalar | Table:
        """One more index, for an open dim; a negative one counts from the end."""
        place = self.cast(index, torch.int64)
        dim = table.dims[dim]
        if not place.is_not_negative:
            if place.constant is not None:
                place = self.binary("arith.addi", self.size(table, dim), place)
            else:
                is_negative = self.compare("lt", place, self.constant(0, torch.int64))
                place = self.select(is_negative, self.binary("arith.addi", place, self.size(table, dim)), place)
        found = replace(table, indices=(*table.indices[:dim], place.name, *table.indices[dim + 1:]),
                        dims=tuple([each for each in table.dims if each != dim]))
        return found if found.dims else self.load(found)

    def load(self, table: Table) -> Scalar:
        name = ELEMENTS[table.dtype]
        element = self.add(f"tensor.extract {table.name}[{', '.join(map(str, table.indices))}] : {table.type}", table.dtype)
        if name == "i64":
            return self.add(f"arith.index_cast {element.name} : i64 to index", torch.int64)
        return self.stop_gradient(element) if table.is_stopped else element

    def stop_gradient(self, value: Any) -> Any:
        """The same without a gradient; an element of a table stops where it is loaded."""
        if isinstance(value, Table):
            return replace(value, is_stopped=True)
        if not is_float(value.dtype) or value.constant is not None:
            return value
        return self.add(f"fa.stop_gradient {value.name} : {TYPES[value.dtype]}", value.dtype, value.range)


def unsupported(
        name: str, what: str, line: str, legal: str = "pointwise operations of torch on scalars, torch.where and elements of "
        "captured tensors", nearest: str = "rewrite it with these, or pass what it computes as a captured tensor") -> UnsupportedError:
    where = f" in {line}" if line else ""
    return UnsupportedError(name, f"a function with {what}{where}", legal, nearest)
