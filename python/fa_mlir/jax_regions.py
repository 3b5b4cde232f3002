"""Score functions and masks of JAX programs, from their jaxprs to regions.

`trace` makes the jaxpr of a function on scalars and writes the clause of fa.attention that
computes it, by the rules of jax_rules.py. What does not depend on the pair is computed
outside, by JAX; the arrays among it, and those that the function captures, become operands.
"""

from __future__ import annotations

import math
import os
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from .errors import UnsupportedError
from .jax_rules import (OF_ROWS, OF_SHAPES, OF_TABLES, RULES, Known, Refused, Table, Value, Writer, bound_without_gradient, cast,
                        check_dtype, floor_divide, make_constant, maximum, minimum, select)
from .problem import Traced

_ARGUMENTS = {"score": "sbhij", "mask": "bhij"}
_FOLDERS = (os.path.dirname(jax.__file__), os.path.dirname(__file__))


def _find_inner(equation: Any) -> Any:
    """The jaxpr that an equation calls, if that is all it does."""
    parameters = equation.params
    if equation.primitive.name in ("custom_jvp_call", "custom_vjp_call"):
        # Gradients of JAX's own are those of what they compute.
        source = str(parameters["call_jaxpr"].jaxpr.debug_info.func_src_info)
        if not source.partition(" at ")[2].startswith(_FOLDERS[0]):
            raise Refused(f"{equation.primitive.name.removesuffix('_call')}, whose rule the compiler does not know")
    return next((parameters[name] for name in ("jaxpr", "call_jaxpr") if name in parameters), None)


_FLOOR_DIVIDE = ["div", "sign", "sign", "ne", "rem", "ne", "and", "sub", "jit"]


def _is_floor_divide(equation: Any) -> bool:
    if equation.params.get("name") != "floor_divide" or equation.outvars[0].aval.dtype.kind != "i":
        return False
    found = [each.primitive.name for each in equation.params["jaxpr"].jaxpr.eqns]
    return [name if name != "pjit" else "jit" for name in found if name != "convert_element_type"] == _FLOOR_DIVIDE


# Their operations with the numbers in them, and the greatest value.
_RELU = {"relu": ([("max", [0.0])], math.inf), "relu6": ([("max", [0.0]), ("min", [6.0])], 6.0)}


def _find_relu(equation: Any) -> float | None:
    """The greatest value of jax.nn.relu or relu6, whose gradients at their bounds are 0, where max shares them."""
    if equation.primitive.name != "custom_jvp_call" or equation.outvars[0].aval.dtype.kind in "iu":
        return None
    equations = equation.params["call_jaxpr"].jaxpr.eqns
    name = equations[0].params.get("name") if len(equations) == 1 else None
    if name not in _RELU:
        return None
    expected, greatest = _RELU[name]
    found = [(each.primitive.name, [float(atom.val) for atom in each.invars if hasattr(atom, "val")])
             for each in equations[0].params["jaxpr"].jaxpr.eqns]
    return greatest if found == expected else None


def _evaluate(body: Writer, jaxpr: Any, constants: Any, arguments: list) -> list:
    """The results of a jaxpr on values of the region and of JAX."""
    values: dict[Any, Any] = dict(zip(jaxpr.constvars, map(Known, constants)))
    values.update(zip(jaxpr.invars, arguments))

    def read(atom: Any) -> Any:
        if not hasattr(atom, "val"):
            return values[atom]
        return make_constant(atom.val, check_dtype(atom.aval.dtype)) if not atom.aval.shape else Known(
            jnp.asarray(atom.val))

    for equation in jaxpr.eqns:
        try:
            results = _evaluate_equation(body, equation, [read(atom) for atom in equation.invars])
        except Refused as refused:
            # Equations of JAX's own functions have no line of the user's.
            if len(refused.args) == 1 and (line := _describe_line(equation)):
                refused.args = (*refused.args, line)
            raise
        values.update(zip(equation.outvars, results))
    return [read(atom) for atom in jaxpr.outvars]


def _evaluate_equation(body: Writer, equation: Any, inputs: list) -> list:
    is_known = [isinstance(value, Known) for value in inputs]
    name = equation.primitive.name
    if all(known or isinstance(value, Value) and value.constant is not None
           for known, value in zip(is_known, inputs)) and (any(is_known) or not inputs):
        arrays = [value.array if isinstance(value, Known) else jnp.asarray(value.constant, value.dtype)
                  for value in inputs]
        parameters = equation.primitive.get_bind_params(equation.params)
        found = equation.primitive.bind(*arrays, **parameters)
        return [Known(array) for array in (found if equation.primitive.multiple_results else [found])]
    inputs = [body.resolve(value) if isinstance(value, Known) and name not in ("jit", "pjit", "cond") else value
              for value in inputs]
    if name == "cond":
        which, *rest = map(body.resolve, inputs)
        cases = [_evaluate(body, branch.jaxpr, branch.consts, rest) for branch in equation.params["branches"]]
        for case in cases:
            case[:] = [body.resolve(value) for value in case]
        if any(not isinstance(value, Value) for case in cases for value in case):
            raise Refused("a branch whose result is an array")
        top = make_constant(len(cases) - 1, which.dtype)
        which = which if which.dtype == "bool" else minimum(body, maximum(body, which, make_constant(0, which.dtype)), top)
        return [select(body, which, *each) for each in zip(*cases)]
    if _is_floor_divide(equation):
        return [floor_divide(body, *map(body.resolve, inputs))]
    inner = _find_inner(equation)
    if (greatest := _find_relu(equation)) is not None:
        return [bound_without_gradient(body, body.resolve(inputs[0]), greatest)]
    if inner is not None:
        return _evaluate(body, getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), inputs)
    rule = RULES.get(name)
    if rule is None:
        raise Refused(f"the operation {name}")
    for variable in equation.outvars:
        check_dtype(variable.aval.dtype)
    if any(isinstance(value, Table) for value in inputs) and rule not in OF_TABLES or rule not in OF_ROWS and any(
            isinstance(value, tuple) for value in inputs):
        raise Refused(f"the operation {name} on a whole array, expected its elements by index")
    if rule in OF_SHAPES:
        return [rule(body, *inputs[:1], shape=equation.outvars[0].aval.shape)]
    return [rule(body, *inputs, **equation.params)]


def _describe_line(equation: Any) -> str:
    """The user's line that made an equation."""
    trace = equation.source_info.traceback
    for frame in trace.frames if trace else ():
        if _is_user_file(frame.file_name):
            return f"{frame.file_name}:{frame.line_num}"
    return ""


def _is_user_file(name: str) -> bool:
    return not name.startswith((*_FOLDERS, "<"))


def _describe_failure(error: Exception) -> str:
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if _is_user_file(frame.filename):
            return f"{frame.filename}:{frame.lineno}: {frame.line}"
    return ""


def _refuse(name: str, what: str, where: str) -> UnsupportedError:
    return UnsupportedError(name, f"a function with {what}" + (f" in {where}" if where else ""),
                            "elementwise operations of jax.numpy on scalars, jnp.where and elements of captured arrays",
                            "rewrite it with these, or compute an array outside and index it")


def trace(name: str, function: Callable, sizes: tuple[int, int, int, int]) -> Traced:
    """The clause of a function, `name` being score or mask; sizes: batch, heads, queries
    and keys."""
    pair = [jax.ShapeDtypeStruct((), jnp.int32)] * 4
    examples = [jax.ShapeDtypeStruct((), jnp.float32), *pair] if name == "score" else pair
    try:
        made = jax.make_jaxpr(function)(*examples)
    except UnsupportedError:
        raise
    except Exception as error:
        # What JAX says takes a page.
        reason = (str(error).strip().splitlines() or ["no message"])[0]
        raise _refuse(name, f"what cannot be traced ({type(error).__name__}: {reason})",
                      _describe_failure(error)) from error
    body = Writer(name)
    arguments = [Value(f"%{letter}", "int32", 0, max(0, size - 1)) for letter, size in zip("bhij", sizes)]
    # A size of 1 says nothing of the next call's: indices are no constants.
    arguments = [replace(each, high=max(1, each.high)) for each in arguments]
    if name == "score":
        arguments.insert(0, Value("%s", "float32"))
    try:
        results = _evaluate(body, made.jaxpr, made.consts, arguments)
        if len(results) != 1:
            raise Refused(f"{len(results)} results, expected one")
        result = body.resolve(results[0])
        if not isinstance(result, Value):
            raise Refused("an array as a result, expected a scalar")
        result = cast(body, result, "float32" if name == "score" else "bool")
        used = body.use(result)
    except Refused as refused:
        raise _refuse(name, refused.args[0], refused.args[1] if len(refused.args) > 1 else "") from None
    captures = ", ".join(f"%c{i} = %{capture[0]} : {table.type}" for i, (capture, (_, table)) in enumerate(
        zip(body.captures, body.tables)))
    clause = "(" + ", ".join("%" + letter for letter in _ARGUMENTS[name]) + ")"
    clause += (f" captures({captures})" if captures else "") + " {\n"
    lines = body.finish(f"fa.yield {used} : {'f32' if name == 'score' else 'i1'}")
    clause += "".join(f"        {line}\n" for line in lines) + "      }"
    return Traced(clause, tuple(body.captures), body.values)
