"""What a region of a JAX function is made of: values, tables, and a rule for each operation.

Integers are MLIR's index: a value's range says where an int32 may overflow, which is the
one place where it is wrapped, and which indices need no check. jax_regions.py calls the
rules. Read `Value`, `Table` and `Writer`, then the rules.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from .problem import write_float

_FLOATS = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64"}
_WIDTHS = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
_INTEGERS = {"int8": "i8", "int32": "i32", "int64": "i64"}
_ELEMENTS = {**_FLOATS, **_INTEGERS, "bool": "i1"}
_NAME = re.compile(r"%v\d+")


@dataclass(frozen=True)
class Value:
    """A scalar. name: in the region, "" for a constant that no line has made yet; low, high:
    between which an integer or a bool lies; number: of a constant float."""

    name: str
    dtype: str
    low: int = 0
    high: int = 0
    number: float | None = None

    @property
    def constant(self) -> float | int | None:
        if self.dtype in _FLOATS:
            return self.number
        return self.low if self.low == self.high else None


@dataclass(frozen=True)
class Table:
    """A captured array and the indices applied to it so far: by dim, None where one is
    open. dims: of what the array is now, the dims of the captured one, -1 for a new one of
    size 1. guards: of bool, where one is false the element is `fill`. is_stopped: whether
    elements take no gradient."""

    name: str
    type: str
    dtype: str
    sizes: tuple[int, ...]
    indices: tuple[Value | None, ...]
    dims: tuple[int, ...]
    guards: tuple[Value, ...] = ()
    fill: Any = None
    is_stopped: bool = False


@dataclass(frozen=True)
class Known:
    """An array of JAX, or one of its tracers, that does not depend on the pair."""

    array: Any


class Refused(Exception):
    """What has no form in a region; the writer says where."""


def _find_bounds(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return 0, 1
    bits = int(dtype.removeprefix("int"))
    return -(1 << bits - 1), (1 << bits - 1) - 1


def _type(dtype: str) -> str:
    return _FLOATS.get(dtype) or ("i1" if dtype == "bool" else "index")


class Writer:
    """The lines of a region and its captures."""

    def __init__(self, name: str):
        self.name = name
        self.lines: list[str] = []
        self.captures: list[tuple] = []
        self.values: list[Any] = []
        self._constants: dict[tuple[str, str], str] = {}
        self.tables: list[tuple[Any, Table]] = []
        self._count = 0

    def add(self, text: str, dtype: str, low: int | None = None, high: int | None = None) -> Value:
        name = f"%v{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {text}")
        if dtype in _FLOATS:
            return Value(name, dtype)
        least, greatest = _find_bounds(dtype)
        return Value(name, dtype, least if low is None else low, greatest if high is None else high)

    def finish(self, last: str) -> list[str]:
        """The lines that the last one needs, and it. Others have sizes in them: indices that
        cannot be negative leave them behind. Names and the places of constants do not
        depend on what was left out."""
        found, needed = [], set(_NAME.findall(last))
        for line in reversed(self.lines):
            name, _, text = line.partition(" = ")
            if name in needed:
                needed.update(_NAME.findall(text))
                found.append(line)
        rest = [line for line in reversed(found) if "arith.constant" not in line] + [last]
        names = list(dict.fromkeys(_NAME.findall(" ".join(rest))))
        constants = [line for line in found if "arith.constant" in line]
        constants.sort(key=lambda line: names.index(line.partition(" = ")[0]))
        text = "\n".join(constants + rest)
        numbers = {name: f"%v{i}" for i, name in enumerate(dict.fromkeys(_NAME.findall(text)))}
        return _NAME.sub(lambda match: numbers[match.group()], text).split("\n")

    def use(self, value: Value) -> str:
        """The name of a value, which makes a constant where it needs one."""
        if value.name:
            return value.name
        constant, type = value.constant, _type(value.dtype)
        assert constant is not None
        if type == "i1":
            text = "true" if constant else "false"
        else:
            text = f"{write_float(float(constant), type) if value.dtype in _FLOATS else int(constant)} : {type}"
        key = (text, type)
        if key not in self._constants:
            self._constants[key] = self.add(f"arith.constant {text}", value.dtype).name
        return self._constants[key]

    def operate(self, operation: str, *values: Value, low: int | None = None, high: int | None = None) -> Value:
        """An operation of arith or math on values of one type."""
        names = ", ".join(map(self.use, values))
        return self.add(f"{operation} {names} : {_type(values[0].dtype)}", values[0].dtype, low, high)

    def integer(self, operation: str, *values: Value, low: int, high: int) -> Value:
        """One whose result is between low and high, and wraps as its type does."""
        dtype = values[0].dtype
        if low == high:
            least, greatest = _find_bounds(dtype)
            return make_constant(least + (low - least) % (greatest - least + 1), dtype)
        found = self.operate(operation, *values, low=low, high=high)
        least, greatest = _find_bounds(dtype)
        if least <= low and high <= greatest:
            return found
        if dtype == "int64":
            return replace(found, low=least, high=greatest)
        narrow = self.add(f"arith.index_cast {found.name} : index to {_INTEGERS[dtype]}", dtype)
        return self.add(f"arith.index_cast {narrow.name} : {_INTEGERS[dtype]} to index", dtype)

    def select(self, condition: Value, left: Value, right: Value) -> Value:
        if condition.constant is not None:
            return left if condition.constant else right
        if left == right:
            return left
        names = ", ".join(map(self.use, (condition, left, right)))
        return self.add(f"arith.select {names} : {_type(left.dtype)}", left.dtype, min(left.low, right.low),
                        max(left.high, right.high))

    def capture(self, array: Any) -> Table:
        for known, table in self.tables:
            if known is array:
                return table
        if array.dtype.name not in _ELEMENTS:
            raise Refused(f"a captured array of {array.dtype.name}, expected one of {', '.join(_ELEMENTS)}")
        if array.ndim > 6:
            raise Refused(f"a captured array of rank {array.ndim}, expected at most 6")
        shape = tuple([size if size < 2 else -1 for size in array.shape]) or (1,)
        element, name = _ELEMENTS[array.dtype.name], f"{self.name}_{len(self.captures)}"
        type = f"tensor<{''.join('?x' if size < 0 else f'{size}x' for size in shape)}{element}>"
        table = Table(f"%c{len(self.captures)}", type, array.dtype.name, array.shape or (1,), (None,) * len(shape),
                      tuple(range(len(shape))))
        is_differentiable = self.name == "score" and array.dtype.name in _FLOATS
        self.captures.append((name, element, shape, is_differentiable))
        self.values.append(array if array.ndim else jnp.reshape(array, (1,)))
        self.tables.append((array, table))
        return table

    def resolve(self, value: Any) -> Any:
        """A value of the region for one that JAX knows."""
        if not isinstance(value, Known):
            return value
        table = self.capture(value.array)
        return table if value.array.ndim else self.index(table, {0: make_constant(0, "int32")})

    def index(self, table: Table, places: dict[int, Value], guards: tuple[Value, ...] = (), fill: Any = None) -> Any:
        """Indices for some dims of what a table is now, clamped to its sizes."""
        indices, dims = list(table.indices), list(table.dims)
        for dim, place in places.items():
            if dims[dim] >= 0:
                indices[dims[dim]] = self.clamp(place, table.sizes[dims[dim]])
                dims[dim] = -1
        table = replace(table, indices=tuple(indices), dims=tuple(dims), guards=(*table.guards, *guards),
                        fill=table.fill if fill is None else fill)
        return self.load(table) if all(each is not None for each in table.indices) else table

    def clamp(self, place: Value, size: int) -> Value:
        if not size:
            raise Refused("an element of an empty array")
        if place.low < 0:
            place = maximum(self, place, make_constant(0, place.dtype))
        return minimum(self, place, make_constant(size - 1, place.dtype)) if place.high >= size else place

    def load(self, table: Table) -> Value:
        names = ", ".join(self.use(index) for index in table.indices if index is not None)
        text = f"tensor.extract {table.name}[{names}] : {table.type}"
        if table.dtype in _INTEGERS:
            element = self.add(text, table.dtype)
            found = self.add(f"arith.index_cast {element.name} : {_INTEGERS[table.dtype]} to index", table.dtype)
        else:
            found = self.add(text, table.dtype)
        if table.is_stopped:
            found = self.stop_gradient(found)
        for guard in table.guards:
            found = self.select(guard, found, make_constant(table.fill, table.dtype))
        return found

    def stop_gradient(self, value: Value) -> Value:
        return self.operate("fa.stop_gradient", value) if value.dtype in _FLOATS and value.number is None else value


def make_constant(value: Any, dtype: str) -> Value:
    if dtype in _FLOATS:
        return Value("", dtype, number=float(value))
    return Value("", dtype, int(value), int(value))


def check_dtype(dtype: Any) -> str:
    name = jnp.dtype(dtype).name
    if name not in _ELEMENTS:
        raise Refused(f"values of {name}, expected one of {', '.join(_ELEMENTS)}")
    return name


def cast(body: Writer, value: Value, dtype: str) -> Value:
    """As lax.convert_element_type."""
    source = value.dtype
    if source == dtype:
        return value
    if source in _FLOATS and dtype in _FLOATS:
        if value.number is not None:
            return make_constant(numpy.asarray(value.number).astype(jnp.dtype(dtype)), dtype)
        if _WIDTHS[source] == _WIDTHS[dtype]:
            return cast(body, cast(body, value, "float32"), dtype)
        name = "extf" if _WIDTHS[source] < _WIDTHS[dtype] else "truncf"
        return body.add(f"arith.{name} {body.use(value)} : {_FLOATS[source]} to {_FLOATS[dtype]}", dtype)
    if dtype == "bool":
        return compare(body, "ne", value, make_constant(0, source))
    if source not in _FLOATS and value.constant is not None:
        constant = make_constant(value.constant, dtype)
        return constant if dtype in _FLOATS else body.integer("", constant, low=constant.low, high=constant.high)
    if source == "bool" and dtype in _FLOATS:
        return body.add(f"arith.uitofp {body.use(value)} : i1 to {_FLOATS[dtype]}", dtype)
    if source == "bool":
        return body.add(f"arith.index_castui {body.use(value)} : i1 to index", dtype, 0, 1)
    if dtype in _FLOATS:
        wide = body.add(f"arith.index_cast {body.use(value)} : index to i64", "int64")
        return body.add(f"arith.sitofp {wide.name} : i64 to {_FLOATS[dtype]}", dtype)
    least, greatest = _find_bounds(dtype)
    if source not in _FLOATS:
        return body.integer("arith.addi", replace(value, dtype=dtype), make_constant(0, dtype), low=value.low,
                            high=value.high) if not least <= value.low <= value.high <= greatest else replace(
                                value, dtype=dtype)
    if dtype == "int64":
        raise Refused("a conversion of a float to int64, expected int32")
    # To the nearest integer there is, and NaN to 0.
    value = cast(body, value, "float32") if _WIDTHS[source] < 32 else value
    is_nan = body.add(f"arith.cmpf uno, {body.use(value)}, {body.use(value)} : {_FLOATS[value.dtype]}", "bool")
    value = body.select(is_nan, make_constant(0, value.dtype), value)
    value = body.operate("arith.maximumf", value, make_constant(least, value.dtype))
    value = body.operate("arith.minimumf", value, make_constant(greatest + 1, value.dtype))
    wide = body.add(f"arith.fptosi {value.name} : {_FLOATS[value.dtype]} to i64", "int64")
    found = body.add(f"arith.index_cast {wide.name} : i64 to index", dtype, least, greatest + 1)
    return minimum(body, found, make_constant(greatest, dtype))


#===--- Rules -------------------------------------------------------------===#
# Each takes the writer and the values of an equation, and its parameters by name.

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule
    return add


def _in_f32(body: Writer, value: Value, compute: Callable[[Value], Value]) -> Value:
    """Functions of 16-bit floats, rounded once."""
    if _WIDTHS[value.dtype] >= 32:
        return compute(value)
    return cast(body, compute(cast(body, value, "float32")), value.dtype)


def _arithmetic(float_name: str, integer_name: str, find_range: Callable) -> Rule:
    def rule(body: Writer, left: Value, right: Value, **_: Any) -> Value:
        if left.dtype in _FLOATS:
            return body.operate(f"arith.{float_name}", left, right)
        low, high = find_range(left, right)
        return body.integer(f"arith.{integer_name}", left, right, low=low, high=high)
    return rule


def _find_product(left: Value, right: Value) -> tuple[int, int]:
    corners = [one * other for one in (left.low, left.high) for other in (right.low, right.high)]
    return min(corners), max(corners)


RULES["add"] = RULES["add_any"] = _arithmetic(
    "addf", "addi", lambda left, right: (left.low + right.low, left.high + right.high))
RULES["sub"] = _arithmetic("subf", "subi", lambda left, right: (left.low - right.high, left.high - right.low))
RULES["mul"] = _arithmetic("mulf", "muli", _find_product)


def _extremum(float_name: str, logical_name: str, integer_name: str, choose: Callable) -> Rule:
    def is_always(one: Value, other: Value) -> bool:
        return all(choose(end, bound) == end for end in (one.low, one.high) for bound in (other.low, other.high))

    def rule(body: Writer, left: Value, right: Value, **_: Any) -> Value:
        if left.dtype in _FLOATS:
            return body.operate(f"arith.{float_name}", left, right)
        if left.dtype == "bool":
            return _logical(logical_name)(body, left, right)
        # Ranges that do not overlap decide it.
        if is_always(left, right):
            return left
        if is_always(right, left):
            return right
        return body.integer(f"arith.{integer_name}", left, right, low=choose(left.low, right.low),
                            high=choose(left.high, right.high))
    return rule


maximum = RULES["max"] = _extremum("maximumf", "ori", "maxsi", max)
minimum = RULES["min"] = _extremum("minimumf", "andi", "minsi", min)


@_rule("clamp")
def _clamp(body: Writer, least: Value, value: Value, greatest: Value, **_: Any) -> Value:
    return minimum(body, maximum(body, value, least), greatest)


def _check_divisor(right: Value) -> int:
    if right.constant is None:
        raise Refused("an integer division by what is not a constant")
    if right.constant == 0:
        raise Refused("an integer division by 0")
    return int(right.constant)


def _divide_exactly(number: int, divisor: int) -> int:
    """Rounded to zero."""
    return abs(number) // abs(divisor) * (1 if (number < 0) == (divisor < 0) else -1)


@_rule("div")
def _divide(body: Writer, left: Value, right: Value, **_: Any) -> Value:
    if left.dtype in _FLOATS:
        return body.operate("arith.divf", left, right)
    divisor = _check_divisor(right)
    ends = sorted(_divide_exactly(end, divisor) for end in (left.low, left.high))
    return body.integer("arith.divsi", left, right, low=ends[0], high=ends[1])


@_rule("rem")
def _remainder(body: Writer, left: Value, right: Value, **_: Any) -> Value:
    if left.dtype in _FLOATS:
        return body.operate("arith.remf", left, right)
    most = abs(_check_divisor(right)) - 1
    if left.constant is not None:
        rest = int(left.constant) - _divide_exactly(int(left.constant), int(right.low)) * int(right.low)
        return make_constant(rest, left.dtype)
    return body.integer("arith.remsi", left, right, low=max(-most, min(left.low, 0)),
                        high=min(most, max(left.high, 0)))


def floor_divide(body: Writer, left: Value, right: Value) -> Value:
    """jnp.floor_divide of integers, which its jaxpr writes in ten operations."""
    divisor = _check_divisor(right)
    ends = sorted((left.low // divisor, left.high // divisor))
    return body.integer("arith.floordivsi", left, right, low=ends[0], high=ends[1])


@_rule("neg")
def _negate(body: Writer, value: Value, **_: Any) -> Value:
    if value.dtype in _FLOATS:
        return body.operate("arith.negf", value)
    return body.integer("arith.subi", make_constant(0, value.dtype), value, low=-value.high, high=-value.low)


@_rule("abs")
def _absolute(body: Writer, value: Value, **_: Any) -> Value:
    if value.dtype in _FLOATS:
        return body.operate("math.absf", value)
    if value.low >= 0:
        return value
    return body.integer("math.absi", value, low=max(0, -value.high), high=max(-value.low, value.high))


@_rule("sign")
def _sign(body: Writer, value: Value, **_: Any) -> Value:
    zero = make_constant(0, value.dtype)
    rest = zero
    if value.dtype in _FLOATS:
        rest = body.select(compare(body, "eq", value, zero), zero, make_constant(math.nan, value.dtype))
    below = body.select(compare(body, "lt", value, zero), make_constant(-1, value.dtype), rest)
    return body.select(compare(body, "gt", value, zero), make_constant(1, value.dtype), below)


@_rule("square")
def _square(body: Writer, value: Value, **_: Any) -> Value:
    return RULES["mul"](body, value, value)


@_rule("integer_pow")
def _integer_power(body: Writer, value: Value, y: int, **_: Any) -> Value:
    found = make_constant(1, value.dtype)
    for i in range(abs(y)):
        found = value if i == 0 else RULES["mul"](body, found, value)
    return found if y >= 0 else _divide(body, make_constant(1, value.dtype), found)


@_rule("pow")
def _power(body: Writer, base: Value, exponent: Value, **_: Any) -> Value:
    if base.dtype not in _FLOATS:
        raise Refused("a power of integers by what is not a constant")
    exponent = cast(body, exponent, base.dtype)
    return _in_f32(body, base, lambda base: body.operate("math.powf", base, cast(body, exponent, base.dtype)))


def _function(name: str) -> Rule:
    def rule(body: Writer, value: Value, **_: Any) -> Value:
        return _in_f32(body, value, lambda value: body.operate(f"math.{name}", value))
    return rule


for _name in ("exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "atan", "erf", "sqrt", "rsqrt",
              "sinh", "cosh", "asin", "acos", "floor", "ceil"):
    RULES[_name] = _function(_name)


@_rule("round")
def _round(body: Writer, value: Value, rounding_method: Any, **_: Any) -> Value:
    return _function("roundeven" if rounding_method == jax.lax.RoundingMethod.TO_NEAREST_EVEN else "round")(body, value)


@_rule("logistic")
def _logistic(body: Writer, value: Value, **_: Any) -> Value:
    def compute(value: Value) -> Value:
        one = make_constant(1, value.dtype)
        power = body.operate("math.exp", body.operate("arith.negf", value))
        return body.operate("arith.divf", one, body.operate("arith.addf", one, power))
    return _in_f32(body, value, compute)


def compare(body: Writer, predicate: str, left: Value, right: Value) -> Value:
    names = f"{body.use(left)}, {body.use(right)}" if left.dtype in _FLOATS else ""
    if names:
        ordered = "une" if predicate == "ne" else "o" + predicate
        return body.add(f"arith.cmpf {ordered}, {names} : {_FLOATS[left.dtype]}", "bool")
    decided = _decide(predicate, left, right)
    if decided is not None:
        return make_constant(decided, "bool")
    if left.dtype == "bool" and predicate not in ("eq", "ne"):
        predicate = "u" + predicate
    elif predicate not in ("eq", "ne"):
        predicate = "s" + predicate
    return body.add(f"arith.cmpi {predicate}, {body.use(left)}, {body.use(right)} : {_type(left.dtype)}", "bool")


def _decide(predicate: str, left: Value, right: Value) -> bool | None:
    """What ranges say of a comparison of integers."""
    if predicate in ("gt", "ge"):
        return _decide({"gt": "lt", "ge": "le"}[predicate], right, left)
    if predicate in ("eq", "ne"):
        if left.high < right.low or right.high < left.low:
            return predicate == "ne"
        is_one = left.constant is not None and left.constant == right.constant
        return predicate == "eq" if is_one else None
    is_always = left.high < right.low if predicate == "lt" else left.high <= right.low
    is_never = left.low >= right.high if predicate == "lt" else left.low > right.high
    return True if is_always else False if is_never else None


def _comparison(predicate: str) -> Rule:
    return lambda body, left, right, **_: compare(body, predicate, left, right)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    RULES[_name] = _comparison(_name)


def _logical(name: str) -> Rule:
    def rule(body: Writer, left: Value, right: Value, **_: Any) -> Value:
        if left.dtype != "bool":
            if left.low < 0 or right.low < 0:
                return body.operate(f"arith.{name}", left, right)
            bits = max(left.high, right.high).bit_length()
            return body.integer(f"arith.{name}", left, right, low=0, high=(1 << bits) - 1)
        for one, other in (left, right), (right, left):
            if one.constant is not None and name != "xori":
                return other if bool(one.constant) == (name == "andi") else one
        if left.constant is not None and right.constant is not None:
            return make_constant(left.constant != right.constant, "bool")
        return body.operate(f"arith.{name}", left, right)
    return rule


for _name, _text in (("and", "andi"), ("or", "ori"), ("xor", "xori")):
    RULES[_name] = _logical(_text)


@_rule("not")
def _not(body: Writer, value: Value, **_: Any) -> Value:
    if value.dtype == "bool":
        return _logical("xori")(body, value, make_constant(True, "bool"))
    return body.integer("arith.subi", make_constant(-1, value.dtype), value, low=-1 - value.high, high=-1 - value.low)


def _limit_count(body: Writer, count: Value) -> tuple[Value, Value | None]:
    """A count within its type's width, and whether it was, None if it surely was. JAX takes one below 0 as too large."""
    most = int(count.dtype.removeprefix("int")) - 1
    if 0 <= count.low and count.high <= most:
        return count, None
    limited = body.operate("arith.minui", count, make_constant(most, count.dtype), low=0, high=most)
    return limited, compare(body, "eq", limited, count)


@_rule("shift_left")
def _shift_left(body: Writer, left: Value, right: Value, **_: Any) -> Value:
    count, is_within = _limit_count(body, right)
    corners = [value << shift for value in (left.low, left.high) for shift in (count.low, count.high)]
    shifted = body.integer("arith.shli", left, count, low=min(corners), high=max(corners))
    return shifted if is_within is None else body.select(is_within, shifted, make_constant(0, left.dtype))


@_rule("shift_right_arithmetic")
def _shift_right(body: Writer, left: Value, right: Value, **_: Any) -> Value:
    count, _is_within = _limit_count(body, right)
    corners = [value >> shift for value in (left.low, left.high) for shift in (count.low, count.high)]
    return body.integer("arith.shrsi", left, count, low=min(corners), high=max(corners))


@_rule("is_finite")
def _is_finite(body: Writer, value: Value, **_: Any) -> Value:
    return compare(body, "lt", _absolute(body, value), make_constant(math.inf, value.dtype))


@_rule("select_n")
def select(body: Writer, which: Value, *cases: Value, **_: Any) -> Value:
    found = cases[0]
    for i, case in enumerate(cases[1:], 1):
        is_it = which if which.dtype == "bool" else compare(body, "eq", which, make_constant(i, which.dtype))
        found = body.select(is_it, case, found)
    return found


def bound_without_gradient(body: Writer, value: Value, greatest: float) -> Value:
    """jax.nn.relu and relu6: a float from 0 to `greatest`, NaN as it is, and no gradient at either."""
    least, most = make_constant(0, value.dtype), make_constant(greatest, value.dtype)
    value = body.select(compare(body, "le", value, least), least, value)
    return value if greatest == math.inf else body.select(compare(body, "ge", value, most), most, value)


@_rule("convert_element_type")
def _convert(body: Writer, value: Value, new_dtype: Any, **_: Any) -> Value:
    return cast(body, value, check_dtype(new_dtype))


@_rule("stop_gradient")
def _stop_gradient(body: Writer, value: Any, **_: Any) -> Any:
    return replace(value, is_stopped=True) if isinstance(value, Table) else body.stop_gradient(value)


@_rule("copy", "copy_p", "optimization_barrier", "reduce_precision")
def _copy(body: Writer, value: Any, **parameters: Any) -> Any:
    if "exponent_bits" in parameters:
        raise Refused("reduce_precision")
    return value


#===--- Rules of shapes ---------------------------------------------------===#

@_rule("squeeze", "reshape", "broadcast_in_dim", "expand_dims")
def _reshape(body: Writer, value: Any, *, shape: tuple[int, ...], dimensions: Any = None, **_: Any) -> Any:
    """shape: of the result."""
    if isinstance(value, Value):
        if math.prod(shape) != 1:
            raise Refused(f"an array of shape {shape} made of a scalar")
        return value
    old = [value.sizes[dim] if dim >= 0 else 1 for dim in value.dims]
    kept = [dim for dim, size in zip(value.dims, old) if size != 1]
    if [size for size in old if size != 1] != [size for size in shape if size != 1]:
        raise Refused(f"a captured array of which {tuple(old)} becomes {shape}: do that outside the function")
    places = {i: make_constant(0, "int32") for i, (dim, size) in enumerate(zip(value.dims, old)) if size == 1}
    table = body.index(value, places)
    rest = iter(kept)
    return table if isinstance(table, Value) else replace(
        table, dims=tuple([-1 if size == 1 else next(rest) for size in shape]))


@_rule("transpose")
def _transpose(body: Writer, table: Table, permutation: tuple[int, ...], **_: Any) -> Table:
    return replace(table, dims=tuple([table.dims[i] for i in permutation]))


def _find_sizes(table: Table) -> list[int]:
    return [table.sizes[dim] if dim >= 0 else 1 for dim in table.dims]


def _cut(body: Writer, table: Any, places: Any, sizes: Any, guards: tuple = (), fill: Any = None) -> Any:
    """The part of a table from places on, which takes one of a dim, or all."""
    if not isinstance(table, Table):
        return table
    indices = {}
    for i, (place, size, there) in enumerate(zip(places, sizes, _find_sizes(table))):
        if size == 1:
            indices[i] = place
        elif size != there:
            raise Refused(f"{size} of {there} elements of a captured array, expected one: slice it outside the function")
    return body.index(table, indices, guards, fill)


@_rule("dynamic_slice")
def _dynamic_slice(body: Writer, table: Any, *places: Value, slice_sizes: Any, **_: Any) -> Any:
    return _cut(body, table, places, slice_sizes)


@_rule("slice")
def _slice(body: Writer, table: Any, *, start_indices: Any, limit_indices: Any, strides: Any, **_: Any) -> Any:
    if strides is not None and any(stride != 1 for stride in strides):
        raise Refused("a slice with strides: do that outside the function")
    return _cut(body, table, [make_constant(start, "int32") for start in start_indices],
                [end - start for start, end in zip(start_indices, limit_indices)])


@_rule("concatenate")
def _concatenate(body: Writer, *values: Any, **_: Any) -> tuple:
    """Indices of a gather."""
    if not all(isinstance(value, Value) for value in values):
        raise Refused("a concatenation of arrays")
    return values


@_rule("gather")
def _gather(body: Writer, table: Any, places: Any, *, dimension_numbers: Any, slice_sizes: Any, mode: Any,
            fill_value: Any, **_: Any) -> Any:
    if not isinstance(table, Table) or dimension_numbers.operand_batching_dims:
        raise Refused("a gather of more than one element of a captured array")
    found = {dim: place for dim, place in zip(dimension_numbers.start_index_map,
                                              places if isinstance(places, tuple) else (places,))}
    guards, sizes = [], _find_sizes(table)
    zero = make_constant(0, "int32")
    if mode == jax.lax.GatherScatterMode.FILL_OR_DROP:
        for dim, place in found.items():
            guards += [compare(body, "ge", place, make_constant(0, place.dtype)),
                       compare(body, "lt", place, make_constant(sizes[dim], place.dtype))]
    kept = tuple(guard for guard in guards if guard.constant != 1)
    if kept and fill_value is None:
        fill_value = math.nan if table.dtype in _FLOATS else 0 if table.dtype == "bool" else _find_bounds(table.dtype)[0]
    table = _cut(body, table, [found.get(dim, zero) for dim in range(len(sizes))], slice_sizes, kept, fill_value)
    if isinstance(table, Value):
        return table
    gone = dimension_numbers.collapsed_slice_dims
    return replace(table, dims=tuple([dim for i, dim in enumerate(table.dims) if i not in gone]))


#: Rules that take whole tables, and those that give or take a row of indices.
OF_TABLES = (_reshape, _transpose, _dynamic_slice, _slice, _gather, _copy, _stop_gradient)
OF_ROWS = (_concatenate, _gather)
OF_SHAPES = (_reshape,)
