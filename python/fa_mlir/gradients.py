"""Gradients of torch's operator: which are wanted, in which order they are summed, and those of sinks.

Begin with `backward`, which all functions of autograd call; `_compute_gradients` calls the operator. `_order_sums` is
torch.use_deterministic_algorithms, and sinks, of value zero, are differentiated from output and lse by `_differentiate_sink`.
"""

from __future__ import annotations

import functools
import importlib
import warnings

from .entries import find_chip, forget_error, take_error
from .errors import INVALID_ARGUMENT, CompilationError, UnsupportedError, make_error
from .problem import Types, from_text, make_deterministic, write_gradient


def backward(query, key, value, output, lse, gradients, tensors, numbers, text, wanted_operands,
             wanted_tensors):
    """Gradients of (query, key, value, *tensors), None where none is wanted. Their own derivative is an error."""
    import torch

    if not torch.is_grad_enabled():
        return _compute_gradients(query, key, value, output, lse, gradients, tensors, numbers, text, wanted_operands,
                                  wanted_tensors)
    with torch.no_grad():
        operands, captures = _compute_gradients(query, key, value, output, lse, gradients, tensors, numbers, text,
                                                wanted_operands, wanted_tensors)
    from .transforms import refuse_second

    found = refuse_second([*operands, *captures], [query, key, value, output, lse, *gradients, *tensors])
    return found[:3], found[3:]


def _compute_gradients(query, key, value, output, lse, gradients, tensors, numbers, text, wanted_operands,
                       wanted_tensors):
    import torch

    specification = from_text(text)
    if not specification.lse:
        raise make_error(INVALID_ARGUMENT, "argument 'specification' has no lse, expected one for gradients: export or trace "
                         "with tensors that require gradients")
    output_gradient, lse_gradient = gradients
    if output_gradient is None:
        output_gradient = torch.zeros_like(output)
    elif not _is_readable(output_gradient):
        output_gradient = output_gradient.clone(memory_format=torch.contiguous_format)
    if lse_gradient is not None:
        lse_gradient = lse_gradient.contiguous()
    skipped = len(specification.length_names)
    wanted = [name for name, is_wanted in zip(("query", "key", "value"), wanted_operands) if is_wanted]
    wanted += [capture.name for capture, is_wanted in zip(specification.tensors, wanted_tensors[skipped:])
               if is_wanted and capture.gradient]
    found = {}
    if "sink" in wanted:
        wanted.remove("sink")
        found["sink"] = _differentiate_sink(specification, output, lse, output_gradient, lse_gradient, tensors)
    if wanted and torch.are_deterministic_algorithms_enabled():
        element = {torch.float16: "f16", torch.bfloat16: "bf16"}.get(query.dtype, "f32")
        types = Types(element, query.shape[-1], value.shape[-1])
        text = _order_sums(text, types, lse_gradient is not None, tuple(wanted),
                           find_chip(query.device.index) if query.is_cuda else None)

    def call(query, key, value, output, lse, output_gradient, lse_gradient, tensors):
        forget_error()
        try:
            return torch.ops.fa_mlir.attention_backward(query, key, value, output, lse, output_gradient, lse_gradient,
                                                        tensors, numbers, text, ",".join(wanted))
        except RuntimeError as failure:
            # The operator raises what it has as text.
            error = take_error()
            if isinstance(error, UnsupportedError):
                raise error from failure
            raise

    if wanted and hasattr(output, "placements"):
        sharding = importlib.import_module(".sharding", __package__)
        found.update(zip(wanted, sharding.differentiate(call, (query, key, value), output, lse, output_gradient,
                                                        lse_gradient, tensors, text)))
    elif wanted:
        found.update(zip(wanted, call(query, key, value, output, lse, output_gradient, lse_gradient,
                                      list(tensors) or None)))
    return ([found.get(name) for name in ("query", "key", "value")],
            [None] * skipped + [found.get(capture.name) for capture in specification.tensors])


@functools.lru_cache(maxsize=4096)
def _is_ordered(text: str, types: Types, lse_gradient: bool, wanted: tuple[str, ...], chip: str) -> bool:
    """Whether a GPU has a form of these gradients that sums in one order. Asked before the operator
    compiles it: a traced program has no second choice when it runs."""
    from . import compilation

    try:
        compilation.compile(write_gradient(from_text(text), types, lse_gradient, wanted), target="cuda", chip=chip,
                            images="ptx")
    except CompilationError:
        return False
    return True


def _order_sums(text: str, types: Types, lse_gradient: bool, wanted: tuple[str, ...], chip: str | None) -> str:
    """The text for torch.use_deterministic_algorithms. What the compiler refuses to sum in
    one order is its error, or with warn_only a warning, and summed in any order."""
    import torch

    ordered = make_deterministic(text)
    if (chip is None or ordered == text or not torch.is_deterministic_algorithms_warn_only_enabled()
            or _is_ordered(ordered, types, lse_gradient, wanted, chip)):
        return ordered
    warnings.warn(f"gradients of {', '.join(wanted)} are summed in any order: {chip} has no form of them in one",
                  stacklevel=2)
    return text


def _differentiate_sink(specification, output, lse, output_gradient, lse_gradient, tensors):
    """Its weight in each row is exp(sink - lse), its value 0."""
    import torch

    named = dict(zip((*specification.length_names, *(capture.name for capture in specification.tensors)), tensors))
    heads_dim, row_dim = (0, 1) if specification.is_packed else (1, 2)
    shape = [1] * lse.dim()
    shape[heads_dim] = -1
    # Where nothing is seen and the sink is -inf nothing has a weight.
    weight = torch.exp(named["sink"].reshape(shape) - lse.masked_fill(lse == -torch.inf, torch.inf))
    delta = (output_gradient.float() * output.float()).sum(-1)
    if specification.is_packed or specification.layout == "bshd":
        delta = delta.transpose(-1, -2)
    gradient = -weight * (delta if lse_gradient is None else delta - lse_gradient)
    if "query_lengths" in named and not specification.is_packed:
        rows = torch.arange(lse.shape[row_dim], device=lse.device)
        gradient = torch.where(rows < named["query_lengths"][:, None, None], gradient, 0)
    if specification.is_packed:
        # Of rows outside of all sequences lse is 0.
        rows = torch.arange(lse.shape[1], device=lse.device)
        starts = named["query_starts"]
        gradient = torch.where((rows >= starts[0]) & (rows < starts[-1]), gradient, 0)
    return gradient.sum([dim for dim in range(lse.dim()) if dim != heads_dim])


def _is_readable(tensor) -> bool:
    """Whether compiled code takes a tensor that torch made: its head dim is
    contiguous, and on a GPU its rows start at multiples of 16 bytes."""
    import torch

    shape, strides = tensor.shape, tensor.stride()
    if shape[-1] != 1 and strides[-1] != 1:
        return False
    if not tensor.is_cuda:
        return True
    unit = 16 // tensor.element_size()
    if any(size != 1 and stride % unit for size, stride in zip(shape[:-1], strides[:-1])):
        return False
    functions = torch._C._functorch
    is_mapped = functions.is_functorch_wrapped_tensor(tensor) or functions.is_legacy_batchedtensor(tensor)
    is_real = type(tensor) is torch.Tensor and not torch.compiler.is_compiling() and not is_mapped
    return not is_real or tensor.data_ptr() % 16 == 0
