"""The operators under torch.func, and derivatives of their gradients.

`add_rules` tells vmap how to call an operator once for each item. `refuse_second` makes the
derivative of a gradient an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch._functorch.autograd_function import custom_function_call_vmap_helper
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

from . import operator
from .errors import UnsupportedError


class _Refusal(torch.autograd.Function):
    """Gradients as they are, which know what they were computed from."""

    generate_vmap_rule = True

    @staticmethod
    def forward(count: int, *tensors: Any) -> tuple:
        return tuple([tensor.detach() for tensor in tensors[:count]])

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise UnsupportedError("create_graph", "True, and a derivative of the gradient is asked for", "first derivatives",
                               "torch's own attention, under sdpa_kernel(SDPBackend.MATH), has second ones")


def refuse_second(gradients: list, sources: list) -> list:
    """Gradients whose own derivative is an error. To autograd they would depend on nothing else, and some of
    its callers take that for a derivative of 0."""
    from .arguments import requires_gradient

    places = [place for place, gradient in enumerate(gradients) if gradient is not None]
    of = [source for source in sources if isinstance(source, torch.Tensor) and requires_gradient(source)]
    if not of or not places:
        return gradients
    attached = _Refusal.apply(len(places), *[gradients[place] for place in places], *of)
    gradients = list(gradients)
    for place, gradient in zip(places, attached):
        gradients[place] = gradient
    return gradients


class _Attention(torch.autograd.Function):
    """What operator.py differentiates by, in the form that torch.func takes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(query: Any, key: Any, value: Any, numbers: Any, text: str, *tensors: Any) -> tuple:
        return torch.ops.fa_mlir.attention(query, key, value, list(tensors) or None, numbers, text)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple) -> None:
        query, key, value, ctx.numbers, ctx.text, *tensors = inputs
        ctx.save_for_backward(query, key, value, *output, *tensors)
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple:
        return operator.differentiate(ctx, gradients)


differentiate = _Attention.apply


def _take(value: Any, dim: Any, item: int) -> Any:
    """An item of what vmap maps over."""
    if isinstance(dim, (list, tuple)):
        return [_take(each, at, item) for each, at in zip(value, dim)]
    if dim is None:
        return value
    value = value.select(dim, item)
    # Not what the mapped function sees: the dim of items may be the one of stride 1.
    return value.contiguous() if value.dim() and value.shape[-1] != 1 and value.stride(-1) != 1 else value


def _call_each(operation: Any, info: Any, dims: tuple, *arguments: Any) -> tuple:
    if not info.batch_size:
        raise UnsupportedError("torch.func.vmap", "over a dim of size 0", "1 item or more", "a call without vmap")
    found = [operation(*[_take(value, dim, item) for value, dim in zip(arguments, dims)])
             for item in range(info.batch_size)]
    # Of lists of gradients lists.
    made = type(found[0])([torch.stack(each) for each in zip(*found)])
    return made, type(made)([0] * len(made))


def _refuse_out(operation: Any, info: Any, dims: tuple, *arguments: Any) -> tuple:
    raise UnsupportedError("out", "given under torch.func.vmap", "None", "take what the call returns")


def _make_rule(operation: Any, map_over: Callable) -> Callable:
    def rule(*arguments: Any, **named: Any) -> Any:
        with torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.FuncTorchVmapMode)):
            return custom_function_call_vmap_helper(retrieve_current_functorch_interpreter(), partial(map_over, operation),
                                                    operation, *arguments, **named)
    return rule


def _is_batched(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_legacy_batchedtensor(value)


def _unwrap(value: Any, level: int) -> tuple[Any, Any]:
    """What a level of torch._vmap_internals maps over with the dim of items, 0, or None for what it does not."""
    if isinstance(value, (list, tuple)):
        found = [_unwrap(each, level) for each in value]
        return [each for each, _ in found], [dim for _, dim in found]
    if not _is_batched(value):
        return value, None
    # Of another level it has then no items.
    items = torch._remove_batch_dim(value, level, 0, 0)
    return (items, 0) if items.shape[0] else (value, None)


#: Of torch._vmap_internals, at once: kVmapNumLevels.
_MOST_LEVELS = 64


def _make_batched_rule(operation: Any) -> Callable:
    """For torch._vmap_internals, by which autograd has is_grads_batched."""
    def rule(*arguments: Any) -> Any:
        # A thread of autograd, as a GPU has, does not know how many there are.
        most = torch._C._vmapmode_increment_nesting() - 1 or _MOST_LEVELS
        torch._C._vmapmode_decrement_nesting()
        batched = [value for value in _flatten(arguments) if _is_batched(value)]
        for level in range(most, 0, -1):
            counts = [value.shape[0] for value, dim in zip(*_unwrap(batched, level)) if dim is not None]
            if counts:
                values, dims = _unwrap(arguments, level)
                found = [operation(*[_take(value, dim, item) for value, dim in zip(values, dims)]) for item in range(counts[0])]
                return [torch._add_batch_dim(torch.stack(each), 0, level) for each in zip(*found)]
        raise UnsupportedError("is_grads_batched", "True for no gradient", "1 or more", "a call for each")
    return rule


def _flatten(values: Any) -> list:
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def add_rules(library: Any, *operations: Any) -> None:
    for operation in operations:
        name = operation._schema.name.partition("::")[2]
        # By the mode: a dispatcher does not look into an optional list, of which a tensor may be the only one mapped over.
        library.impl(name, _make_rule(operation, _refuse_out if name == "attention_into" else _call_each),
                     "FuncTorchVmapMode")
        if name == "attention_backward":
            library.impl(name, _make_batched_rule(operation), "Batched")
