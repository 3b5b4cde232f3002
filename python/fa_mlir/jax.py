"""fa_mlir.jax.attention: attention in JAX programs, by XLA's foreign functions.

    from fa_mlir.jax import attention

    output = jax.jit(lambda q, k, v: attention(q, k, v, causal="bottom_right"))(q, k, v)

Differentiable in reverse mode, once, on CPU and CUDA. Lengths may change without a new
kernel; XLA itself compiles for each shape. vmap calls it once for each item.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy

from . import entries, jax_regions
from .arguments import CAUSAL, check_operands, check_sink, refuse_options
from .errors import UnsupportedError
from .planning import find_text, plan
from .problem import LAYOUTS, find_rows_and_heads, from_text
from .runtime import find_library, load_library
from .tensors import TYPES, dense_strides

LIBRARY = "libFAJAX.so"
TARGET = "fa_mlir_attention"
_NAMES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "bool": "i1", "int8": "i8",
          "int32": "i32", "int64": "i64"}
_lock = threading.Lock()
_libraries: list[Any] = []
_capsule = ctypes.pythonapi.PyCapsule_New
_capsule.restype = ctypes.py_object
_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class JaxArrays:
    """What is asked of JAX's arrays, traced or not."""

    @staticmethod
    def type(array: Any) -> str:
        return _NAMES.get(array.dtype.name, array.dtype.name)

    @staticmethod
    def strides(array: Any) -> tuple[int, ...]:
        return dense_strides(array.shape)

    @staticmethod
    def contiguous(array: Any) -> Any:
        return array

    @staticmethod
    def requires_gradient(array: Any) -> bool:
        return jnp.issubdtype(array.dtype, jnp.floating)


def _register() -> None:
    with _lock:
        if _libraries:
            return
        library = load_library(find_library(LIBRARY, "FA_JAX_LIBRARY"), "FAJAXShared", "FA_JAX_LIBRARY")
        library.faJAXInitialize(entries.compile_entry)
        for platform, name in ("cpu", "faJAXCallCPU"), ("CUDA", "faJAXCallCUDA"):
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            jax.ffi.register_ffi_target(TARGET, _capsule(address, None, None), platform=platform)
        _libraries.append(library)


def _call(operation: str, more: str, text: str, numbers: tuple, results: Any, arrays: list, captures: list) -> Any:
    """captures: those of `arrays` behind the operands, whose alignment decides the code of a GPU."""
    query, value = arrays[0], arrays[2]
    first = ",".join([str(TYPES[JaxArrays.type(query)]), str(query.shape[-1])])
    second = ",".join([str(TYPES[JaxArrays.type(value)]), str(value.shape[-1])])
    aligned = "".join("01"[len(array.shape) == 4 and array.shape[-1] * array.dtype.itemsize % 16 == 0]
                      for array in captures)
    attributes: dict[str, Any] = {"key": "|".join([operation, first, second, aligned, more, text])}
    if numbers:
        attributes["numbers"] = numpy.array(numbers, numpy.float64)
    return jax.ffi.ffi_call(TARGET, results, vmap_method="sequential")(*arrays, **attributes)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _attend(text: str, numbers: tuple, operands: tuple, tensors: tuple) -> tuple:
    specification = from_text(text)
    query, _, value = operands
    results = [jax.ShapeDtypeStruct((*query.shape[:-1], value.shape[-1]), query.dtype)]
    if specification.lse:
        results.append(jax.ShapeDtypeStruct(specification.find_lse_shape(query.shape), jnp.float32))
    found = _call("forward", "", text, numbers, tuple(results), [*operands, *tensors], list(tensors))
    return tuple(found) if specification.lse else (found[0], None)


def _attend_forward(text: str, numbers: tuple, operands: tuple, tensors: tuple) -> tuple:
    output, lse = _attend(text, numbers, operands, tensors)
    return (output, lse), (operands, tensors, output, lse)


def _attend_backward(text: str, numbers: tuple, kept: tuple, gradients: tuple) -> tuple:
    specification = from_text(text)
    operands, tensors, output, lse = kept
    output_gradient, lse_gradient = gradients
    named = dict(zip((*specification.length_names, *(capture.name for capture in specification.tensors)), tensors))
    wanted = {"query": operands[0], "key": operands[1], "value": operands[2]}
    wanted.update((capture.name, named[capture.name]) for capture in specification.tensors
                  if capture.gradient and capture.name != "sink")
    results = tuple(jax.ShapeDtypeStruct(array.shape, array.dtype) for array in wanted.values())
    arrays = [*operands, output, lse, output_gradient, lse_gradient, *tensors]
    found = dict(zip(wanted, _call("backward", "1" + ",".join(wanted), text, numbers, results, arrays, list(tensors))))
    if specification.sink:
        found["sink"] = _differentiate_sink(specification, named, output, lse, output_gradient, lse_gradient)
    # Integers have gradients without a type.
    return tuple(found[name] for name in ("query", "key", "value")), tuple(
        found[name] if name in found else numpy.zeros(array.shape, jax.dtypes.float0)
        if not jnp.issubdtype(array.dtype, jnp.floating) else jnp.zeros_like(array) for name, array in named.items())


def _differentiate_sink(specification: Any, named: dict, output: Any, lse: Any, output_gradient: Any,
                        lse_gradient: Any) -> Any:
    """As gradients.py has it for torch."""
    delta = (output_gradient.astype(jnp.float32) * output.astype(jnp.float32)).sum(-1)
    if specification.layout == "bshd":
        delta = delta.swapaxes(1, 2)
    gradient = -jnp.exp(named["sink"][:, None] - lse) * (delta - lse_gradient)
    if "query_lengths" in named:
        gradient = jnp.where(jnp.arange(lse.shape[2]) < named["query_lengths"][:, None, None], gradient, 0)
    return gradient.sum((0, 2))


_attend.defvjp(_attend_forward, _attend_backward)


def attention(query: Any, key: Any, value: Any, *, score: Callable | None = None, mask: Any = None,
              causal: str | None = None, window: tuple[int | None, int | None] | None = None,
              softcap: float | None = None, alibi: Any = None, bias: Any = None, sink: Any = None,
              scale: float | None = None, dropout_p: float = 0.0, dropout_state: Any = None,
              query_lengths: Any = None, key_lengths: Any = None, layout: str = "bshd",
              return_lse: bool = False) -> Any:
    """fa_mlir.attention on JAX's arrays: shapes, units and errors are those there.

    query: (batch, queries, heads, head dim), or without a batch; float16, bfloat16 or
    float32. Numbers (window, softcap, scale, dropout_p) are
    static. dropout_state, int64 (2,), is needed with dropout_p: two halves of random bits,
    for which JAX has to allow int64.

    score: a function (score, batch, head, query, key) -> score; mask: a function (batch,
    head, query, key) -> bool, or an array of bool. Functions are written in jax.numpy on
    scalars, float32 and int32, and may read elements of arrays. What they compute
    of arrays alone runs once, outside. Gradients of alibi, bias, sink and of arrays of
    floats that a score reads come along.

    Raises UnsupportedError for functions that do something else, with the line.
    """
    if layout not in LAYOUTS or causal not in CAUSAL:
        refuse_options(layout, causal)
    _register()
    query, key, value = map(jnp.asarray, (query, key, value))
    is_unbatched = query.ndim == 3
    if is_unbatched:
        query, key, value = query[None], key[None], value[None]
    check_operands(query, key, value, layout, JaxArrays)
    rows_dim, heads_dim = find_rows_and_heads(layout)
    if sink is not None:
        check_sink(numpy.broadcast_to(numpy.float32(0), jnp.shape(sink)), query.shape[heads_dim], None)
        sink = jnp.asarray(sink, jnp.float32)
    dropout = None
    if dropout_p:
        if dropout_state is None or dropout_state.dtype.name != "int64" or dropout_state.shape != (2,):
            raise UnsupportedError("dropout_state", "not given as int64 (2,)", "seed and offset with dropout_p",
                                   "jax.config.update('jax_enable_x64', True) allows int64")
        dropout = dropout_p, dropout_state
    sizes = query.shape[0], query.shape[heads_dim], query.shape[rows_dim], key.shape[rows_dim]
    traced = None if score is None else jax_regions.trace("score", score, sizes)
    if callable(mask):
        mask = jax_regions.trace("mask", mask, sizes)
    decided, tensors, numbers = plan(JaxArrays, query, key, value, traced, mask, causal, window, softcap, alibi, bias,
                                     scale, query_lengths, key_lengths, layout, True, None, sink, dropout)
    output, lse = _attend(find_text(decided), tuple(numbers), (query, key, value), tuple(tensors))
    if query_lengths is not None:
        # Rows past a length are not written.
        shown = jnp.arange(query.shape[rows_dim]) < query_lengths[:, None]
        lse = jnp.where(shown[:, None], lse, 0)
        output = jnp.where(jnp.expand_dims(shown, (heads_dim, 3)), output, 0)
    if is_unbatched:
        output, lse = output[0], lse[0]
    return (output, lse) if return_lse else output
