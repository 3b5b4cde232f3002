"""Rules of sums, products, quotients, rests and powers.

Those of integers say what a result lies between. Read `_arithmetic` first, which sums and products
share, then `_divide_rest`, by which quotients and remainders round as torch does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from ..regions import Body, Range, Refused, Scalar, is_float
from .registry import OPERATIONS, Rule, aten, convert, find_float_range, rule


def _add_ranges(left: Scalar, right: Scalar) -> Range:
    return left.low + right.low, left.high + right.high


def _subtract_ranges(left: Scalar, right: Scalar) -> Range:
    return left.low - right.high, left.high - right.low


def _multiply_ranges(left: Scalar, right: Scalar) -> Range:
    corners = [one * other for one in left.range for other in right.range]
    return min(corners), max(corners)


def _arithmetic(float_name: str, integer_name: str, find: Callable[[Scalar, Scalar], Range]) -> Rule:
    def apply(body: Body, left: Any, right: Any, alpha: Any = 1, *, dtype: Any, **_: Any) -> Scalar:
        left, right = convert(body, left, dtype), convert(body, right, dtype)
        if dtype == torch.bool:
            return body.binary("arith.andi" if "mul" in integer_name else "arith.ori", left, right)
        if alpha != 1:
            right = OPERATIONS[aten.mul.Tensor](body, right, alpha, dtype=dtype)
        if is_float(dtype):
            keeps_sign = float_name != "subf" and left.is_not_negative and right.is_not_negative
            return body.binary("arith." + float_name, left, right, find_float_range(keeps_sign))
        return body.binary("arith." + integer_name, left, right, find(left, right))
    return apply


for _target in (aten.add.Tensor, aten.add.Scalar, operator.add):
    OPERATIONS[_target] = _arithmetic("addf", "addi", _add_ranges)
for _target in (aten.sub.Tensor, aten.sub.Scalar, operator.sub):
    OPERATIONS[_target] = _arithmetic("subf", "subi", _subtract_ranges)
for _target in (aten.mul.Tensor, aten.mul.Scalar, operator.mul):
    OPERATIONS[_target] = _arithmetic("mulf", "muli", _multiply_ranges)


@rule(aten.rsub.Tensor, aten.rsub.Scalar)
def _reverse_subtract(body: Body, left: Any, right: Any, alpha: Any = 1, *, dtype: Any, **_: Any) -> Scalar:
    return OPERATIONS[aten.sub.Tensor](body, right, left, dtype=dtype, alpha=alpha)


def _check_divisor(value: Scalar) -> None:
    if value.constant == 0:
        raise Refused("an integer division by 0")


def _divide_rest(body: Body, left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """The rest, of the sign of `left`, exact for floats too, and whether that of `right` differs:
    a quotient that was rounded may be an integer too far."""
    if is_float(left.dtype):
        rest = body.binary("arith.remf", left, right, find_float_range(left.is_not_negative))
    else:
        most = max(abs(right.low), abs(right.high), 1) - 1
        rest = body.binary("arith.remsi", left, right, (max(min(left.low, 0), -most), min(max(left.high, 0), most)))
    zero = body.constant(0, left.dtype)
    if left.is_not_negative and right.is_not_negative:
        return rest, body.constant(False, torch.bool)
    differs = body.compare("ne", body.compare("lt", rest, zero), body.compare("lt", right, zero))
    return rest, body.binary("arith.andi", body.compare("ne", rest, zero), differs)


def _divide_ranges(left: Scalar, right: Scalar) -> Range | None:
    return (min(left.low, -1 if left.low < 0 else 0), max(left.high, 0)) if right.is_not_negative else None


@rule(aten.floor_divide.default, aten.floor_divide.Scalar, operator.floordiv)
def _floor_divide(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = convert(body, left, dtype), convert(body, right, dtype)
    if is_float(dtype):
        rest, is_wrong = _divide_rest(body, left, right)
        quotient = body.binary("arith.divf", body.binary("arith.subf", left, rest), right)
        below = body.binary("arith.subf", quotient, body.constant(1, dtype))
        rounded = body.unary("math.roundeven", body.select(is_wrong, below, quotient))
        # Of 0 there is no rest.
        return body.select(body.compare("eq", right, body.constant(0, dtype)), body.binary("arith.divf", left, right), rounded)
    _check_divisor(right)
    return body.binary("arith.floordivsi", left, right, _divide_ranges(left, right))


@rule(aten.div.Tensor, aten.div.Scalar, operator.truediv)
def _divide(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.binary("arith.divf", convert(body, left, dtype), convert(body, right, dtype))


@rule(aten.div.Tensor_mode, aten.div.Scalar_mode)
def _divide_in_mode(body: Body, left: Any, right: Any, *, dtype: Any, rounding_mode: str | None = None,
                    **_: Any) -> Scalar:
    if rounding_mode is None:
        return _divide(body, left, right, dtype=dtype)
    if rounding_mode == "floor":
        return _floor_divide(body, left, right, dtype=dtype)
    left, right = convert(body, left, dtype), convert(body, right, dtype)
    if is_float(dtype):
        return body.unary("math.trunc", body.binary("arith.divf", left, right))
    _check_divisor(right)
    if right.constant is None or right.constant == -1:
        raise Refused("an integer division rounded to zero by a number known at run time, expected a constant, "
                      "or rounding_mode='floor'")
    return body.binary("arith.divsi", left, right, _divide_ranges(left, right))


@rule(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor, operator.mod)
def _remainder(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = convert(body, left, dtype), convert(body, right, dtype)
    if not is_float(dtype):
        _check_divisor(right)
    rest, is_wrong = _divide_rest(body, left, right)
    if is_wrong.constant is False:
        return rest
    # Its sign is the divisor's.
    result = body.select(is_wrong, OPERATIONS[aten.add.Tensor](body, rest, right, dtype=dtype), rest)
    return Scalar(result.name, dtype, None, min(right.low, 0), max(right.high, 0))


@rule(aten.fmod.Tensor, aten.fmod.Scalar)
def _fmod(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = convert(body, left, dtype), convert(body, right, dtype)
    if not is_float(dtype):
        _check_divisor(right)
    return body.binary("arith.remf" if is_float(dtype) else "arith.remsi", left, right)


@rule(aten.pow.Tensor_Scalar, aten.pow.Tensor_Tensor, aten.pow.Scalar, operator.pow)
def _power(body: Body, base: Any, exponent: Any, *, dtype: Any, **_: Any) -> Scalar:
    power = exponent.constant if isinstance(exponent, Scalar) else exponent
    base = convert(body, base, dtype)
    if power is not None and float(power).is_integer() and 0 <= power <= 8:
        result = body.constant(1, dtype)
        for i in range(int(power)):
            result = base if i == 0 else OPERATIONS[aten.mul.Tensor](body, result, base, dtype=dtype)
        return result
    if not is_float(dtype):
        if power is None:
            return body.binary("math.ipowi", base, convert(body, exponent, dtype))
        if power < 0:
            raise Refused(f"an integer to the power of {power}, expected 0 or more, or floats")
        # By squares: a bit of the exponent each.
        half = _power(body, base, power // 2, dtype=dtype)
        square = body.binary("arith.muli", half, half)
        return body.binary("arith.muli", square, base) if power % 2 else square
    if power == 0.5:
        return body.unary("math.sqrt", base)
    return body.binary("math.powf", base, convert(body, exponent, dtype))
