"""Rules of functions of one value, of signs, and of extrema and bounds.

Functions of 16-bit floats are computed in 32 bits and rounded once. Read `_function` first; bounds begin
at `_bound`, whose gradients are torch's.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch

from ..regions import Body, Scalar, is_float
from .comparisons import is_nan
from .registry import OPERATIONS, Rule, aten, convert, rule, widen


def _function(name: str) -> Rule:
    def apply(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
        wide = widen(dtype)
        return body.cast(body.unary(name, convert(body, value, wide)), dtype)
    return apply


for _name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "atan", "erf", "erfc",
              "sqrt", "rsqrt", "sinh", "cosh", "asin", "acos", "asinh", "acosh", "atanh"):
    OPERATIONS[getattr(aten, _name).default] = _function("math." + _name)


def _rounding(name: str) -> Rule:
    def apply(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
        value = convert(body, value, dtype)
        return body.unary(name, value) if is_float(dtype) else value
    return apply


for _name, _text in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("round", "roundeven")):
    OPERATIONS[getattr(aten, _name).default] = _rounding("math." + _text)


@rule(aten.hypot.default)
def _hypotenuse(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    """By the quotient of both, whose square stays in its type; inf beside NaN is inf."""
    wide = widen(dtype)
    left, right = (body.unary("math.absf", convert(body, side, wide)) for side in (left, right))
    larger, smaller = body.binary("arith.maximumf", left, right), body.binary("arith.minimumf", left, right)
    zero, one, most = (body.constant(number, wide) for number in (0, 1, math.inf))
    divisor = body.select(body.compare("eq", larger, zero), one, larger)
    rest = body.binary("arith.divf", smaller, divisor)
    root = body.unary("math.sqrt", body.binary("arith.addf", one, body.binary("arith.mulf", rest, rest)))
    found = body.binary("arith.mulf", larger, root)
    is_infinite = body.binary("arith.ori", body.compare("eq", left, most), body.compare("eq", right, most))
    return body.cast(body.select(is_infinite, most, found), dtype)


@rule(aten.atan2.default)
def _angle(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    wide = widen(dtype)
    return body.cast(body.binary("math.atan2", convert(body, left, wide), convert(body, right, wide)), dtype)


@rule(aten.sigmoid.default)
def _sigmoid(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    wide = widen(dtype)
    one = body.constant(1, wide)
    power = body.unary("math.exp", body.unary("arith.negf", convert(body, value, wide)))
    return body.cast(body.binary("arith.divf", one, body.binary("arith.addf", one, power)), dtype)


@rule(aten.reciprocal.default)
def _reciprocal(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return body.binary("arith.divf", body.constant(1, dtype), convert(body, value, dtype))


@rule(aten.neg.default, operator.neg)
def _negate(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    value = convert(body, value, dtype)
    if is_float(dtype):
        return body.unary("arith.negf", value)
    return body.binary("arith.subi", body.constant(0, dtype), value, (-value.high, -value.low))


@rule(aten.abs.default, operator.abs)
def _absolute(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    value = convert(body, value, dtype)
    # Of the least integer there is, it is that one again.
    ends = abs(value.low), abs(value.high)
    return body.unary("math.absf" if is_float(dtype) else "math.absi", value, (0, max(ends)))


@rule(aten.sign.default)
def _sign(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    value, zero, one = convert(body, value, dtype), body.constant(0, dtype), body.constant(1, dtype)
    below = body.select(body.compare("lt", value, zero), body.constant(-1, dtype), zero)
    return body.select(body.compare("gt", value, zero), one, below)


def _of_sign(name: str, dtype: Any) -> str:
    return f"arith.{name}{'u' if dtype == torch.bool else 's'}i"


@rule(aten.maximum.default)
def _maximum(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = convert(body, left, dtype), convert(body, right, dtype)
    return body.binary("arith.maximumf" if is_float(dtype) else _of_sign("max", dtype), left, right,
                       (max(left.low, right.low), max(left.high, right.high)))


@rule(aten.minimum.default)
def _minimum(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    left, right = convert(body, left, dtype), convert(body, right, dtype)
    return body.binary("arith.minimumf" if is_float(dtype) else _of_sign("min", dtype), left, right,
                       (min(left.low, right.low), min(left.high, right.high)))


def _bound(body: Body, predicate: str, value: Any, bound: Any, dtype: Any) -> Scalar:
    """A value, or the bound where it lies beyond. At the bound itself a gradient is the value's, as of torch's clamp."""
    if not is_float(dtype):
        return (_maximum if predicate == "lt" else _minimum)(body, value, bound, dtype=dtype)
    value, bound = convert(body, value, dtype), convert(body, bound, dtype)
    result = body.select(body.compare(predicate, value, bound), bound, value)
    # No value lies beyond a NaN, and torch's result is one.
    if bound.constant is not None:
        return bound if math.isnan(bound.constant) else result
    return body.select(is_nan(body, bound), bound, result)


@rule(aten.clamp.default, aten.clamp.Tensor)
def _clamp(body: Body, value: Any, least: Any = None, greatest: Any = None, *, dtype: Any, min: Any = None,
           max: Any = None, **_: Any) -> Scalar:
    least, greatest = least if min is None else min, greatest if max is None else max
    value = convert(body, value, dtype)
    if least is not None:
        value = _bound(body, "lt", value, least, dtype)
    return value if greatest is None else _bound(body, "gt", value, greatest, dtype)


@rule(aten.clamp_min.default, aten.clamp_min.Tensor)
def _clamp_min(body: Body, value: Any, least: Any = None, *, dtype: Any, min: Any = None, **_: Any) -> Scalar:
    return _bound(body, "lt", value, least if min is None else min, dtype)


@rule(aten.clamp_max.default, aten.clamp_max.Tensor)
def _clamp_max(body: Body, value: Any, greatest: Any = None, *, dtype: Any, max: Any = None, **_: Any) -> Scalar:
    return _bound(body, "gt", value, greatest if max is None else max, dtype)


@rule(aten.threshold.default)
def _threshold(body: Body, value: Any, threshold: Any, other: Any, *, dtype: Any, **_: Any) -> Scalar:
    """Another value up to the threshold, where a gradient is 0; NaN stays."""
    value = convert(body, value, dtype)
    return body.select(body.compare("le", value, convert(body, threshold, dtype)), convert(body, other, dtype), value)


@rule(aten.relu.default)
def _relu(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _threshold(body, value, 0, 0, dtype=dtype)


@rule(aten.hardtanh.default)
def _hardtanh(body: Body, value: Any, least: Any = -1, greatest: Any = 1, *, dtype: Any, **_: Any) -> Scalar:
    """Unlike clamp it has no gradient at its bounds."""
    value, greatest = _threshold(body, value, least, least, dtype=dtype), convert(body, greatest, dtype)
    return body.select(body.compare("ge", value, greatest), greatest, value)


def _hard(with_factor: bool) -> Rule:
    def apply(body: Body, value: Any, *, dtype: Any, **_: Any) -> Scalar:
        wide = widen(dtype)
        value = convert(body, value, wide)
        found = _hardtanh(body, body.binary("arith.addf", value, body.constant(3, wide)), 0, 6, dtype=wide)
        if with_factor:
            found = body.binary("arith.mulf", value, found)
        return body.cast(body.binary("arith.divf", found, body.constant(6, wide)), dtype)
    return apply


OPERATIONS[aten.hardsigmoid.default], OPERATIONS[aten.hardswish.default] = _hard(False), _hard(True)


@rule(aten.signbit.default)
def _sign_bit(body: Body, value: Any, **_: Any) -> Scalar:
    value = convert(body, value, value.dtype)
    if is_float(value.dtype):
        # Also of -0 and NaN.
        wide = body.cast(value, torch.float32)
        value = body.add(f"arith.bitcast {wide.name} : f32 to i32", torch.int32)
    return body.compare("lt", value, body.constant(0, value.dtype))


@rule(aten.copysign.Tensor, aten.copysign.Scalar)
def _copy_sign(body: Body, value: Any, sign: Any, *, dtype: Any, **_: Any) -> Scalar:
    size = _absolute(body, value, dtype=dtype)
    return body.select(_sign_bit(body, convert(body, sign, dtype)), body.unary("arith.negf", size), size)


def _extremum(predicate: str) -> Rule:
    """fmax and fmin: of a NaN and a number the number; the first one of equal ones, which gets the gradient."""
    def apply(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
        left, right = convert(body, left, dtype), convert(body, right, dtype)
        is_first = body.compare(predicate, left, right)
        if is_float(dtype):
            is_first = body.binary("arith.ori", is_first, is_nan(body, right))
        return body.select(is_first, left, right)
    return apply


OPERATIONS[aten.fmax.default], OPERATIONS[aten.fmin.default] = _extremum("ge"), _extremum("le")


@rule(torch.sym_max)
def _sym_max(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _maximum(body, left, right, dtype=dtype)


@rule(torch.sym_min)
def _sym_min(body: Body, left: Any, right: Any, *, dtype: Any, **_: Any) -> Scalar:
    return _minimum(body, left, right, dtype=dtype)
