"""Which rule an operation of torch has, and what rules share.

A rule takes the body, the node's arguments as values, and the type of the result. `rule` names the operations that it is for;
`evaluate` applies that of a node.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..regions import TYPES, Body, Range, Refused, Scalar, Table, is_float

aten = torch.ops.aten
Rule = Callable[..., Any]
OPERATIONS: dict[Any, Rule] = {}


def rule(*targets: Any) -> Callable[[Rule], Rule]:
    def add(rule: Rule) -> Rule:
        for target in targets:
            OPERATIONS[target] = rule
        return rule
    return add


def convert(body: Body, value: Any, dtype: Any) -> Scalar:
    """A value or a number of Python in a type."""
    if isinstance(value, Table):
        raise Refused("an operation on a whole tensor, expected its elements by index")
    return body.cast(value, dtype) if isinstance(value, Scalar) else body.constant(value, dtype)


def find_common_type(*values: Any) -> Any:
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


def find_float_range(is_not_negative: bool) -> Range:
    return (0 if is_not_negative else -math.inf), math.inf


def widen(dtype: Any) -> Any:
    """torch computes functions of 16-bit floats in f32 and rounds once."""
    return torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype


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
    apply = OPERATIONS.get(node.target)
    if apply is None:
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
    return apply(body, *arguments, dtype=dtype, **named)
