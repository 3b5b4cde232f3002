"""Rules of comparisons, logic, bits and choices."""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from ..regions import TYPES, Body, Range, Scalar, find_range, is_float
from .registry import OPERATIONS, Rule, aten, convert, find_common_type, rule


def _comparison(predicate: str) -> Rule:
    def apply(body: Body, left: Any, right: Any, **_: Any) -> Scalar:
        dtype = find_common_type(left, right)
        return body.compare(predicate, convert(body, left, dtype), convert(body, right, dtype))
    return apply


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _target in (getattr(aten, _name).Tensor, getattr(aten, _name).Scalar, getattr(operator, _name)):
        OPERATIONS[_target] = _comparison(_name)


def _logical(name: str) -> Rule:
    def apply(body: Body, left: Any, right: Any, **_: Any) -> Scalar:
        return body.binary(name, convert(body, left, torch.bool), convert(body, right, torch.bool))
    return apply


def _find_bits(name: str, left: Scalar, right: Scalar) -> Range | None:
    """What a bitwise operation's result lies between."""
    most = [int(value.high) for value in (left, right) if value.is_not_negative]
    if name == "arith.andi" and most:
        return 0, min(most)
    return (0, (1 << max(most).bit_length()) - 1) if len(most) == 2 else None


def _bitwise(name: str) -> Rule:
    def apply(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
        left, right = convert(body, left, dtype), convert(body, right, dtype)
        return body.binary(name, left, right, _find_bits(name, left, right))
    return apply


for _name, _text in (("and", "arith.andi"), ("or", "arith.ori"), ("xor", "arith.xori")):
    OPERATIONS[getattr(aten, f"logical_{_name}").default] = _logical(_text)
    for _overload in ("Tensor", "Scalar", "Scalar_Tensor"):
        OPERATIONS[getattr(getattr(aten, f"bitwise_{_name}"), _overload)] = _bitwise(_text)
    for _overload in ("Tensor", "Scalar"):
        OPERATIONS[getattr(getattr(aten, f"__{_name}__"), _overload)] = _bitwise(_text)


@rule(aten.logical_not.default)
def _logical_not(body: Body, value: Any, **_: Any) -> Scalar:
    return body.binary("arith.xori", convert(body, value, torch.bool), body.constant(True, torch.bool))


@rule(aten.bitwise_not.default)
def _bitwise_not(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.binary("arith.xori", convert(body, value, dtype), body.constant(True if dtype == torch.bool else -1, dtype))


def _limit_count(body: Body, count: Scalar) -> tuple[Scalar, Scalar | None]:
    """A count within its type's width, and whether it was, None if it surely was. torch takes one below 0 as too large."""
    most = int(find_range(count.dtype)[1]).bit_length()
    if 0 <= count.low and count.high <= most:
        return count, None
    limited = body.binary("arith.minui", count, body.constant(most, count.dtype), (0, most))
    return limited, body.compare("eq", limited, count)


@rule(aten.bitwise_left_shift.Tensor, aten.bitwise_left_shift.Tensor_Scalar, aten.bitwise_left_shift.Scalar_Tensor,
       aten.__lshift__.Tensor, aten.__lshift__.Scalar, operator.lshift)
def _shift_left(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, (count, is_within) = convert(body, left, dtype), _limit_count(body, convert(body, right, dtype))
    corners = [value * 2**int(shift) for value in left.range for shift in count.range]
    shifted = body.binary("arith.shli", left, count, (min(corners), max(corners)))
    return shifted if is_within is None else body.select(is_within, shifted, body.constant(0, dtype))


@rule(aten.bitwise_right_shift.Tensor, aten.bitwise_right_shift.Tensor_Scalar, aten.bitwise_right_shift.Scalar_Tensor,
       aten.__rshift__.Tensor, aten.__rshift__.Scalar, operator.rshift)
def _shift_right(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, (count, _is_within) = convert(body, left, dtype), _limit_count(body, convert(body, right, dtype))
    corners = [int(value) >> int(shift) for value in left.range for shift in count.range]
    return body.binary("arith.shrsi", left, count, (min(corners), max(corners)))


@rule(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def _where(body: Body, condition: Any, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.select(convert(body, condition, torch.bool), convert(body, left, dtype), convert(body, right, dtype))


@rule(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def _masked_fill(body: Body, value: Any, condition: Any, other: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _where(body, condition, other, value, dtype=dtype)


@rule(aten.isnan.default)
def is_nan(body: Body, value: Any, **_: Any) -> Scalar:
    value = convert(body, value, value.dtype)
    if not is_float(value.dtype):
        return body.constant(False, torch.bool)
    return body.add(f"arith.cmpf uno, {value.name}, {value.name} : {TYPES[value.dtype]}", torch.bool)


@rule(aten.isinf.default)
def _is_infinite(body: Body, value: Any, **_: Any) -> Scalar:
    value = convert(body, value, value.dtype)
    if not is_float(value.dtype):
        return body.constant(False, torch.bool)
    return body.compare("eq", body.unary("math.absf", value), body.constant(math.inf, value.dtype))


def _is_infinity(sign: float) -> Rule:
    def apply(body: Body, value: Any, **_: Any) -> Scalar:
        value = convert(body, value, value.dtype)
        if not is_float(value.dtype):
            return body.constant(False, torch.bool)
        return body.compare("eq", value, body.constant(sign * math.inf, value.dtype))
    return apply


OPERATIONS[aten.isposinf.default], OPERATIONS[aten.isneginf.default] = _is_infinity(1), _is_infinity(-1)
