"""Rules of torch's operations in score functions and masks: what each is of values of a region.

A rule takes the body, the node's arguments as values, and the type of the result. `_rule` names the operations that it is for, in
the order of arithmetic, functions, comparisons, choice and captured tensors. `evaluate`, at the end, applies that of a node.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from .regions import TYPES, Body, Range, Refused, Scalar, Table, find_range, is_float

aten = torch.ops.aten
Rule = Callable[..., Any]
_OPERATIONS: dict[Any, Rule] = {}


def _rule(*targets: Any) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        for target in targets:
            _OPERATIONS[target] = rule
        return rule
    return add


def _as(body: Body, value: Any, dtype: Any) -> Scalar:
    """A value or a number of Python in a type."""
    if isinstance(value, Table):
        raise Refused("an operation on a whole tensor, expected its elements by index")
    return body.cast(value, dtype) if isinstance(value, Scalar) else body.constant(value, dtype)


def _common(*values: Any) -> Any:
    """The type that torch computes a comparison in."""
    dtype, number = None, None
    for value in values:
        if isinstance(value, Scalar):
            dtype = value.dtype if dtype is None else torch.promote_types(dtype, value.dtype)
        else:
            number = value
    if dtype is None:
        return torch.get_default_dtype() if isinstance(number, float) else torch.int64
    if isinstance(number, float) and not is_float(dtype):
        return torch.get_default_dtype()
    return torch.int64 if isinstance(number, int) and dtype == torch.bool and not isinstance(number, bool) else dtype


def _add_ranges(left: Scalar, right: Scalar) -> Range:
    return left.low + right.low, left.high + right.high


def _subtract_ranges(left: Scalar, right: Scalar) -> Range:
    return left.low - right.high, left.high - right.low


def _multiply_ranges(left: Scalar, right: Scalar) -> Range:
    corners = [one * other for one in left.range for other in right.range]
    return min(corners), max(corners)


def _of_floats(is_not_negative: bool) -> Range:
    return (0 if is_not_negative else -math.inf), math.inf


def _arithmetic(float_name: str, integer_name: str, find: Callable[[Scalar, Scalar], Range]) -> Rule:
    def rule(body: Body, left: Any, right: Any, alpha: Any = 1, *, dtype: Any, **_: Any) -> Scalar:
        left, right = _as(body, left, dtype), _as(body, right, dtype)
        if dtype == torch.bool:
            return body.binary("arith.andi" if "mul" in integer_name else "arith.ori", left, right)
        if alpha != 1:
            right = _OPERATIONS[aten.mul.Tensor](body, right, alpha, dtype=dtype)
        if is_float(dtype):
            keeps_sign = float_name != "subf" and left.is_not_negative and right.is_not_negative
            return body.binary("arith." + float_name, left, right, _of_floats(keeps_sign))
        return body.binary("arith." + integer_name, left, right, find(left, right))
    return rule


for _target in (aten.add.Tensor, aten.add.Scalar, operator.add):
    _OPERATIONS[_target] = _arithmetic("addf", "addi", _add_ranges)
for _target in (aten.sub.Tensor, aten.sub.Scalar, operator.sub):
    _OPERATIONS[_target] = _arithmetic("subf", "subi", _subtract_ranges)
for _target in (aten.mul.Tensor, aten.mul.Scalar, operator.mul):
    _OPERATIONS[_target] = _arithmetic("mulf", "muli", _multiply_ranges)


@_rule(aten.rsub.Tensor, aten.rsub.Scalar)
def _reverse_subtract(body: Body, left: Any, right: Any, alpha: Any = 1, *, dtype: Any, **_: Any) -> Scalar:
    return _OPERATIONS[aten.sub.Tensor](body, right, left, dtype=dtype, alpha=alpha)


def _check_divisor(value: Scalar) -> None:
    if value.constant == 0:
        raise Refused("an integer division by 0")


def _divide_rest(body: Body, left: Scalar, right: Scalar) -> tuple[Scalar, Scalar]:
    """The rest, of the sign of `left`, exact for floats too, and whether that of `right` differs:
    a quotient that was rounded may be an integer too far."""
    if is_float(left.dtype):
        rest = body.binary("arith.remf", left, right, _of_floats(left.is_not_negative))
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


@_rule(aten.floor_divide.default, aten.floor_divide.Scalar, operator.floordiv)
def _floor_divide(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = _as(body, left, dtype), _as(body, right, dtype)
    if is_float(dtype):
        rest, is_wrong = _divide_rest(body, left, right)
        quotient = body.binary("arith.divf", body.binary("arith.subf", left, rest), right)
        below = body.binary("arith.subf", quotient, body.constant(1, dtype))
        rounded = body.unary("math.roundeven", body.select(is_wrong, below, quotient))
        # Of 0 there is no rest.
        return body.select(body.compare("eq", right, body.constant(0, dtype)), body.binary("arith.divf", left, right), rounded)
    _check_divisor(right)
    return body.binary("arith.floordivsi", left, right, _divide_ranges(left, right))


@_rule(aten.div.Tensor, aten.div.Scalar, operator.truediv)
def _divide(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.binary("arith.divf", _as(body, left, dtype), _as(body, right, dtype))


@_rule(aten.div.Tensor_mode, aten.div.Scalar_mode)
def _divide_in_mode(body: Body, left: Any, right: Any, *, dtype: Any, rounding_mode: str | None = None,
                    **_: Any) -> Scalar:
    if rounding_mode is None:
        return _divide(body, left, right, dtype=dtype)
    if rounding_mode == "floor":
        return _floor_divide(body, left, right, dtype=dtype)
    left, right = _as(body, left, dtype), _as(body, right, dtype)
    if is_float(dtype):
        return body.unary("math.trunc", body.binary("arith.divf", left, right))
    _check_divisor(right)
    if right.constant is None or right.constant == -1:
        raise Refused("an integer division rounded to zero by a number known at run time, expected a constant, "
                      "or rounding_mode='floor'")
    return body.binary("arith.divsi", left, right, _divide_ranges(left, right))


@_rule(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor, operator.mod)
def _remainder(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = _as(body, left, dtype), _as(body, right, dtype)
    if not is_float(dtype):
        _check_divisor(right)
    rest, is_wrong = _divide_rest(body, left, right)
    if is_wrong.constant is False:
        return rest
    # Its sign is the divisor's.
    result = body.select(is_wrong, _OPERATIONS[aten.add.Tensor](body, rest, right, dtype=dtype), rest)
    return Scalar(result.name, dtype, None, min(right.low, 0), max(right.high, 0))


@_rule(aten.fmod.Tensor, aten.fmod.Scalar)
def _fmod(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = _as(body, left, dtype), _as(body, right, dtype)
    if not is_float(dtype):
        _check_divisor(right)
    return body.binary("arith.remf" if is_float(dtype) else "arith.remsi", left, right)


@_rule(aten.pow.Tensor_Scalar, aten.pow.Tensor_Tensor, aten.pow.Scalar, operator.pow)
def _power(body: Body, base: Any, exponent: Any, *, dtype: Any, **_: Any) -> Scalar:
    power = exponent.constant if isinstance(exponent, Scalar) else exponent
    base = _as(body, base, dtype)
    if power is not None and float(power).is_integer() and 0 <= power <= 8:
        result = body.constant(1, dtype)
        for i in range(int(power)):
            result = base if i == 0 else _OPERATIONS[aten.mul.Tensor](body, result, base, dtype=dtype)
        return result
    if not is_float(dtype):
        if power is None:
            return body.binary("math.ipowi", base, _as(body, exponent, dtype))
        if power < 0:
            raise Refused(f"an integer to the power of {power}, expected 0 or more, or floats")
        # By squares: a bit of the exponent each.
        half = _power(body, base, power // 2, dtype=dtype)
        square = body.binary("arith.muli", half, half)
        return body.binary("arith.muli", square, base) if power % 2 else square
    if power == 0.5:
        return body.unary("math.sqrt", base)
    return body.binary("math.powf", base, _as(body, exponent, dtype))


def _widen(dtype: Any) -> Any:
    """torch computes functions of 16-bit floats in f32 and rounds once."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


def _function(name: str) -> Rule:
    def rule(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
        wide = _widen(dtype)
        return body.cast(body.unary(name, _as(body, value, wide)), dtype)
    return rule


for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "atan", "erf", "erfc",
              "sqrt", "rsqrt", "sinh", "cosh", "asin", "acos", "asinh", "acosh", "atanh"):
    _OPERATIONS[getattr(aten, _name).default] = _function("math." + _name)


def _rounding(name: str) -> Rule:
    def rule(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
        value = _as(body, value, dtype)
        return body.unary(name, value) if is_float(dtype) else value
    return rule


for _name, _text in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("round", "roundeven")):
    _OPERATIONS[getattr(aten, _name).default] = _rounding("math." + _text)


@_rule(aten.hypot.default)
def _hypotenuse(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    """By the quotient of both, whose square stays in its type; inf beside NaN is inf."""
    wide = _widen(dtype)
    left, right = (body.unary("math.absf", _as(body, side, wide)) for side in (left, right))
    larger, smaller = body.binary("arith.maximumf", left, right), body.binary("arith.minimumf", left, right)
    zero, one, most = (body.constant(number, wide) for number in (0, 1, math.inf))
    divisor = body.select(body.compare("eq", larger, zero), one, larger)
    rest = body.binary("arith.divf", smaller, divisor)
    root = body.unary("math.sqrt", body.binary("arith.addf", one, body.binary("arith.mulf", rest, rest)))
    found = body.binary("arith.mulf", larger, root)
    is_infinite = body.binary("arith.ori", body.compare("eq", left, most), body.compare("eq", right, most))
    return body.cast(body.select(is_infinite, most, found), dtype)


@_rule(aten.atan2.default)
def _angle(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    wide = _widen(dtype)
    return body.cast(body.binary("math.atan2", _as(body, left, wide), _as(body, right, wide)), dtype)


@_rule(aten.sigmoid.default)
def _sigmoid(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    wide = _widen(dtype)
    one = body.constant(1, wide)
    power = body.unary("math.exp", body.unary("arith.negf", _as(body, value, wide)))
    return body.cast(body.binary("arith.divf", one, body.binary("arith.addf", one, power)), dtype)


@_rule(aten.reciprocal.default)
def _reciprocal(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.binary("arith.divf", body.constant(1, dtype), _as(body, value, dtype))


@_rule(aten.neg.default, operator.neg)
def _negate(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    value = _as(body, value, dtype)
    if is_float(dtype):
        return body.unary("arith.negf", value)
    return body.binary("arith.subi", body.constant(0, dtype), value, (-value.high, -value.low))


@_rule(aten.abs.default, operator.abs)
def _absolute(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    value = _as(body, value, dtype)
    # Of the least integer there is, it is that one again.
    ends = abs(value.low), abs(value.high)
    return body.unary("math.absf" if is_float(dtype) else "math.absi", value, (0, max(ends)))


@_rule(aten.sign.default)
def _sign(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    value, zero, one = _as(body, value, dtype), body.constant(0, dtype), body.constant(1, dtype)
    below = body.select(body.compare("lt", value, zero), body.constant(-1, dtype), zero)
    return body.select(body.compare("gt", value, zero), one, below)


def _of_sign(name: str, dtype: Any) -> str:
    return f"arith.{name}{'u' if dtype == torch.bool else 's'}i"


@_rule(aten.maximum.default)
def _maximum(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = _as(body, left, dtype), _as(body, right, dtype)
    return body.binary("arith.maximumf" if is_float(dtype) else _of_sign("max", dtype), left, right,
                       (max(left.low, right.low), max(left.high, right.high)))


@_rule(aten.minimum.default)
def _minimum(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = _as(body, left, dtype), _as(body, right, dtype)
    return body.binary("arith.minimumf" if is_float(dtype) else _of_sign("min", dtype), left, right,
                       (min(left.low, right.low), min(left.high, right.high)))


def _bound(body: Body, predicate: str, value: Any, bound: Any, dtype: Any) -> Scalar:
    """A value, or the bound where it lies beyond. At the bound itself a gradient is the value's, as of torch's clamp."""
    if not is_float(dtype):
        return (_maximum if predicate == "lt" else _minimum)(body, value, bound, dtype=dtype)
    value, bound = _as(body, value, dtype), _as(body, bound, dtype)
    result = body.select(body.compare(predicate, value, bound), bound, value)
    # No value lies beyond a NaN, and torch's result is one.
    if bound.constant is not None:
        return bound if math.isnan(bound.constant) else result
    return body.select(_is_nan(body, bound), bound, result)


@_rule(aten.clamp.default, aten.clamp.Tensor)
def _clamp(body: Body, value: Any, least: Any = None, greatest: Any = None, *, dtype: Any, min: Any = None,
           max: Any = None, **_: Any) -> Scalar:
    least, greatest = least if min is None else min, greatest if max is None else max
    value = _as(body, value, dtype)
    if least is not None:
        value = _bound(body, "lt", value, least, dtype)
    return value if greatest is None else _bound(body, "gt", value, greatest, dtype)


@_rule(aten.clamp_min.default, aten.clamp_min.Tensor)
def _clamp_min(body: Body, value: Any, least: Any = None, *, dtype: Any, min: Any = None, **_: Any) -> Scalar:
    return _bound(body, "lt", value, least if min is None else min, dtype)


@_rule(aten.clamp_max.default, aten.clamp_max.Tensor)
def _clamp_max(body: Body, value: Any, greatest: Any = None, *, dtype: Any, max: Any = None, **_: Any) -> Scalar:
    return _bound(body, "gt", value, greatest if max is None else max, dtype)


@_rule(aten.threshold.default)
def _threshold(body: Body, value: Any, threshold: Any, other: Any, *, dtype: Any, **_: Any) -> Scalar:
    """Another value up to the threshold, where a gradient is 0; NaN stays."""
    value = _as(body, value, dtype)
    return body.select(body.compare("le", value, _as(body, threshold, dtype)), _as(body, other, dtype), value)


@_rule(aten.relu.default)
def _relu(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _threshold(body, value, 0, 0, dtype=dtype)


@_rule(aten.hardtanh.default)
def _hardtanh(body: Body, value: Any, least: Any = -1, greatest: Any = 1, *, dtype: Any, **_: Any) -> Scalar:
    """Unlike clamp it has no gradient at its bounds."""
    value, greatest = _threshold(body, value, least, least, dtype=dtype), _as(body, greatest, dtype)
    return body.select(body.compare("ge", value, greatest), greatest, value)


def _hard(with_factor: bool) -> Rule:
    def rule(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
        wide = _widen(dtype)
        value = _as(body, value, wide)
        found = _hardtanh(body, body.binary("arith.addf", value, body.constant(3, wide)), 0, 6, dtype=wide)
        if with_factor:
            found = body.binary("arith.mulf", value, found)
        return body.cast(body.binary("arith.divf", found, body.constant(6, wide)), dtype)
    return rule


_OPERATIONS[aten.hardsigmoid.default], _OPERATIONS[aten.hardswish.default] = _hard(False), _hard(True)


def _comparison(predicate: str) -> Rule:
    def rule(body: Body, left: Any, right: Any, **_: Any) -> Scalar:
        dtype = _common(left, right)
        return body.compare(predicate, _as(body, left, dtype), _as(body, right, dtype))
    return rule


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _target in (getattr(aten, _name).Tensor, getattr(aten, _name).Scalar, getattr(operator, _name)):
        _OPERATIONS[_target] = _comparison(_name)


def _logical(name: str) -> Rule:
    def rule(body: Body, left: Any, right: Any, **_: Any) -> Scalar:
        return body.binary(name, _as(body, left, torch.bool), _as(body, right, torch.bool))
    return rule


def _find_bits(name: str, left: Scalar, right: Scalar) -> Range | None:
    """What a bitwise operation's result lies between."""
    most = [int(value.high) for value in (left, right) if value.is_not_negative]
    if name == "arith.andi" and most:
        return 0, min(most)
    return (0, (1 << max(most).bit_length()) - 1) if len(most) == 2 else None


def _bitwise(name: str) -> Rule:
    def rule(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
        left, right = _as(body, left, dtype), _as(body, right, dtype)
        return body.binary(name, left, right, _find_bits(name, left, right))
    return rule


for _name, _text in (("and", "arith.andi"), ("or", "arith.ori"), ("xor", "arith.xori")):
    _OPERATIONS[getattr(aten, f"logical_{_name}").default] = _logical(_text)
    for _overload in ("Tensor", "Scalar", "Scalar_Tensor"):
        _OPERATIONS[getattr(getattr(aten, f"bitwise_{_name}"), _overload)] = _bitwise(_text)
    for _overload in ("Tensor", "Scalar"):
        _OPERATIONS[getattr(getattr(aten, f"__{_name}__"), _overload)] = _bitwise(_text)


@_rule(aten.logical_not.default)
def _logical_not(body: Body, value: Any, **_: Any) -> Scalar:
    return body.binary("arith.xori", _as(body, value, torch.bool), body.constant(True, torch.bool))


@_rule(aten.bitwise_not.default)
def _bitwise_not(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.binary("arith.xori", _as(body, value, dtype), body.constant(True if dtype == torch.bool else -1, dtype))


def _limit_count(body: Body, count: Scalar) -> tuple[Scalar, Scalar | None]:
    """A count within its type's width, and whether it was, None if it surely was. torch takes one below 0 as too large."""
    most = int(find_range(count.dtype)[1]).bit_length()
    if 0 <= count.low and count.high <= most:
        return count, None
    limited = body.binary("arith.minui", count, body.constant(most, count.dtype), (0, most))
    return limited, body.compare("eq", limited, count)


@_rule(aten.bitwise_left_shift.Tensor, aten.bitwise_left_shift.Tensor_Scalar, aten.bitwise_left_shift.Scalar_Tensor,
       aten.__lshift__.Tensor, aten.__lshift__.Scalar, operator.lshift)
def _shift_left(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, (count, is_within) = _as(body, left, dtype), _limit_count(body, _as(body, right, dtype))
    corners = [value * 2**int(shift) for value in left.range for shift in count.range]
    shifted = body.binary("arith.shli", left, count, (min(corners), max(corners)))
    return shifted if is_within is None else body.select(is_within, shifted, body.constant(0, dtype))


@_rule(aten.bitwise_right_shift.Tensor, aten.bitwise_right_shift.Tensor_Scalar, aten.bitwise_right_shift.Scalar_Tensor,
       aten.__rshift__.Tensor, aten.__rshift__.Scalar, operator.rshift)
def _shift_right(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, (count, _is_within) = _as(body, left, dtype), _limit_count(body, _as(body, right, dtype))
    corners = [int(value) >> int(shift) for value in left.range for shift in count.range]
    return body.binary("arith.shrsi", left, count, (min(corners), max(corners)))


@_rule(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def _where(body: Body, condition: Any, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.select(_as(body, condition, torch.bool), _as(body, left, dtype), _as(body, right, dtype))


@_rule(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def _masked_fill(body: Body, value: Any, condition: Any, other: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _where(body, condition, other, value, dtype=dtype)


@_rule(aten.isnan.default)
def _is_nan(body: Body, value: Any, **_: Any) -> Scalar:
    value = _as(body, value, value.dtype)
    if not is_float(value.dtype):
        return body.constant(False, torch.bool)
    return body.add(f"arith.cmpf uno, {value.name}, {value.name} : {TYPES[value.dtype]}", torch.bool)


@_rule(aten.isinf.default)
def _is_infinite(body: Body, value: Any, **_: Any) -> Scalar:
    value = _as(body, value, value.dtype)
    if not is_float(value.dtype):
        return body.constant(False, torch.bool)
    return body.compare("eq", body.unary("math.absf", value), body.constant(math.inf, value.dtype))


def _is_infinity(sign: float) -> Rule:
    def rule(body: Body, value: Any, **_: Any) -> Scalar:
        value = _as(body, value, value.dtype)
        if not is_float(value.dtype):
            return body.constant(False, torch.bool)
        return body.compare("eq", value, body.constant(sign * math.inf, value.dtype))
    return rule


_OPERATIONS[aten.isposinf.default], _OPERATIONS[aten.isneginf.default] = _is_infinity(1), _is_infinity(-1)


@_rule(aten.signbit.default)
def _sign_bit(body: Body, value: Any, **_: Any) -> Scalar:
    value = _as(body, value, value.dtype)
    if is_float(value.dtype):
        # Also of -0 and NaN.
        wide = body.cast(value, torch.float32)
        value = body.add(f"arith.bitcast {wide.name} : f32 to i32", torch.int32)
    return body.compare("lt", value, body.constant(0, value.dtype))


@_rule(aten.copysign.Tensor, aten.copysign.Scalar)
def _copy_sign(body: Body, value: Any, sign: Any, *, dtype: Any, **_: Any) -> Scalar:
    size = _absolute(body, value, dtype=dtype)
    return body.select(_sign_bit(body, _as(body, sign, dtype)), body.unary("arith.negf", size), size)


def _extremum(predicate: str) -> Rule:
    """fmax and fmin: of a NaN and a number the number; the first one of equal ones, which gets the gradient."""
    def rule(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
        left, right = _as(body, left, dtype), _as(body, right, dtype)
        is_first = body.compare(predicate, left, right)
        if is_float(dtype):
            is_first = body.binary("arith.ori", is_first, _is_nan(body, right))
        return body.select(is_first, left, right)
    return rule


_OPERATIONS[aten.fmax.default], _OPERATIONS[aten.fmin.default] = _extremum("ge"), _extremum("le")


@_rule(aten._to_copy.default, aten.to.dtype, torch.ops.prims.convert_element_type.default, aten.clone.default,
       aten.alias.default, aten.lift_fresh_copy.default, aten.lift_fresh.default,
       aten.scalar_tensor.default, torch.sym_float, torch.sym_int, aten.contiguous.default)
def _copy(body: Body, value: Any, *_args: Any, dtype: Any, **_: Any) -> Any:
    return value if isinstance(value, Table) else _as(body, value, dtype)


@_rule(aten.detach.default)
def _detach(body: Body, value: Any, *, dtype: Any, **_: Any) -> Any:
    return body.stop_gradient(_copy(body, value, dtype=dtype))


@_rule(aten.full.default)
def _full(body: Body, _size: Any, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _as(body, value, dtype)


@_rule(aten.new_full.default)
def _new_full(body: Body, _like: Any, _size: Any, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _as(body, value, dtype)


@_rule(aten.full_like.default)
def _full_like(body: Body, _like: Any, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _as(body, value, dtype)


@_rule(aten.zeros_like.default, aten.zeros.default, aten.new_zeros.default)
def _zeros(body: Body, *_args: Any, dtype: Any, **_: Any) -> Scalar:
    return body.constant(0, dtype)


@_rule(aten.ones_like.default, aten.ones.default, aten.new_ones.default)
def _ones(body: Body, *_args: Any, dtype: Any, **_: Any) -> Scalar:
    return body.constant(1, dtype)


def _check_table(table: Any, what: str) -> Table:
    if not isinstance(table, Table):
        raise Refused(f"{what} of a scalar")
    return table


@_rule(aten.index.Tensor)
def _index(body: Body, table: Any, indices: Any, **_: Any) -> Any:
    skipped = 0
    for index in indices:
        if index is None:
            skipped += 1
            continue
        if isinstance(index, Scalar) and index.dtype == torch.bool:
            raise Refused("an index of bool, expected integers")
        table = body.index(_check_table(table, "an index"),
                           _as(body, index, index.dtype if isinstance(index, Scalar) else torch.int64), skipped)
    return table


@_rule(aten.select.int)
def _select(body: Body, table: Any, dim: int, index: Any, **_: Any) -> Any:
    return body.index(_check_table(table, "an index"), _as(body, index, torch.int64), dim)


@_rule(aten.slice.Tensor)
def _slice(body: Body, table: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1, **_: Any) -> Table:
    if start not in (None, 0) or end not in (None, 2**63 - 1) or step != 1:
        raise Refused("a slice of a captured tensor but the whole dim, expected an index, or a slice made outside")
    return _check_table(table, "a slice")


@_rule(aten.permute.default)
def _permute(body: Body, table: Any, order: Any, **_: Any) -> Table:
    table = _check_table(table, "a permutation")
    return replace(table, dims=tuple([table.dims[dim] for dim in order]))


@_rule(aten.transpose.int, aten.t.default)
def _transpose(body: Body, table: Any, one: int = 0, other: int = -1, **_: Any) -> Table:
    dims = list(_check_table(table, "a transpose").dims)
    if dims:
        dims[one], dims[other] = dims[other], dims[one]
    return replace(table, dims=tuple(dims))


@_rule(aten.sym_size.int)
def _size(body: Body, table: Any, dim: int, **_: Any) -> Scalar:
    table = _check_table(table, "the size")
    return body.size(table, table.dims[dim])


@_rule(torch.sym_max)
def _sym_max(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _maximum(body, left, right, dtype=dtype)


@_rule(torch.sym_min)
def _sym_min(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _minimum(body, left, right, dtype=dtype)


def get_dtype(value: Any) -> Any:
    """The type of what a node computes."""
    if isinstance(value, torch.Tensor):
        return value.dtype
    if isinstance(value, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(value, (int, torch.SymInt)):
        return torch.int64
    if isinstance(value, (float, torch.SymFloat)):
        return torch.float32
    return None


def evaluate(body: Body, node: Any, values: dict) -> Any:
    """The value of a node of the graph that calls something."""
    rule = _OPERATIONS.get(node.target)
    if rule is None:
        is_whole = any(isinstance(values.get(argument), Table) for argument in node.args if isinstance(argument, torch.fx.Node))
        raise Refused(f"the operation {node.target}" + (" on a whole tensor, expected its elements by index" if is_whole else ""))
    made = node.meta.get("val")
    if isinstance(made, torch.Tensor) and made.dim() and not any(
            isinstance(values.get(argument), Table) for argument in node.args if isinstance(argument, torch.fx.Node)):
        raise Refused(f"a tensor of shape {tuple(made.shape)} that {node.target} makes, expected scalars")
    dtype = get_dtype(made)
    if dtype is not None and dtype not in TYPES:
        raise Refused(f"values of {dtype}, expected one of {', '.join(map(str, TYPES))}")
    arguments = torch.fx.map_arg(node.args, lambda argument: values[argument])
    named = torch.fx.map_arg({name: value for name, value in node.kwargs.items() if name not in (
        "dtype", "device", "layout", "pin_memory", "memory_format")}, lambda argument: values[argument])
    return rule(body, *arguments, dtype=dtype, **named)
