"""jit(): functions of JAX and of torch, their attention raised, for this CPU.

A function is traced once for each structure, shapes and types of its arguments:
by JAX as StableHLO, by torch.export and torch-mlir as linalg. Begin with
`Jitted`; `_trace_jax` and `_trace_torch` give the text and how results come back.
"""

from __future__ import annotations

import functools
import importlib
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .host import Function

_PIPELINES = {"jax": "fa-import-stablehlo,fa-raise-attention", "torch": "fa-raise-attention"}


def _is_torch(function: Callable, leaves: list) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and (isinstance(function, torch.nn.Module)
                                  or any(isinstance(leaf, torch.Tensor) for leaf in leaves))


def _describe(leaf: Any) -> tuple:
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        raise TypeError(f"an argument is of type {type(leaf).__name__}, expected arrays (and for JAX containers of them)")
    return tuple(leaf.shape), str(leaf.dtype)


def _trace_jax(function: Callable, structure: Any, leaves: list) -> tuple[str, Callable]:
    jax = importlib.import_module("jax")
    made: list = []

    def flat(*leaves):
        arguments, named = jax.tree_util.tree_unflatten(structure, leaves)
        results, result_structure = jax.tree_util.tree_flatten(function(*arguments, **named))
        made.append(result_structure)
        return tuple(results)

    shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
    module = jax.jit(flat, keep_unused=True).lower(*shapes).compiler_ir("stablehlo")
    text = module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False)
    return text, functools.partial(jax.tree_util.tree_unflatten, made[-1])


def _trace_torch(function: Callable, leaves: list) -> tuple[str, Callable]:
    torch = importlib.import_module("torch")
    try:
        fx = importlib.import_module("torch_mlir.fx")
    except ImportError as error:
        raise ImportError(f"jit of torch needs torch-mlir: {error}; pip install torch-mlir==20261001") from error
    made: list = []

    class Flat(torch.nn.Module):
        """The function of its parameters, too: these may change."""

        def forward(self, *tensors):
            if isinstance(function, torch.nn.Module):
                names = [name for name, _ in _get_state(function)]
                state = dict(zip(names, tensors))
                result = torch.func.functional_call(function, state, tensors[len(names):])
            else:
                result = function(*tensors)
            results = list(result) if isinstance(result, (tuple, list)) else [result]
            if not all(isinstance(each, torch.Tensor) for each in results):
                raise TypeError("the function returns something other than tensors, expected one or a tuple of them")
            made.append(tuple if isinstance(result, (tuple, list)) else lambda results: results[0])
            return tuple(results)

    flat = Flat()
    if isinstance(function, torch.nn.Module):
        flat.train(function.training)
    text = str(fx.export_and_import(flat, *leaves, output_type="linalg-on-tensors"))
    return text, made[-1]


def _get_state(module: Any) -> list:
    return [*module.named_parameters(), *module.named_buffers()]


class Jitted:
    """What jit() returns: call it as the function. Threads may."""

    def __init__(self, function: Callable, pipeline: str | None):
        self._function, self._pipeline = function, pipeline
        self._kept: dict = {}
        self._lock = threading.Lock()
        functools.update_wrapper(self, function, updated=())

    def _flatten(self, arguments: tuple, named: dict) -> tuple[list, Any]:
        """The arrays, and the structure that holds them; None for torch."""
        if _is_torch(self._function, list(arguments)):
            if named:
                raise TypeError(f"jit of torch got argument '{next(iter(named))}' by name, expected tensors in order")
            torch = sys.modules["torch"]
            is_module = isinstance(self._function, torch.nn.Module)
            state = [tensor.detach() for _, tensor in _get_state(self._function)] if is_module else []
            return [*state, *arguments], None
        jax = importlib.import_module("jax")
        return jax.tree_util.tree_flatten((arguments, named))

    def _find(self, leaves: list, structure: Any) -> tuple[Function, Callable]:
        training = getattr(self._function, "training", None)
        key = structure, training, *map(_describe, leaves)
        from .compilation import compile

        with self._lock:
            if key not in self._kept:
                if structure is None:
                    text, unflatten = _trace_torch(self._function, leaves)
                else:
                    text, unflatten = _trace_jax(self._function, structure, leaves)
                pipeline = self._pipeline or _PIPELINES["torch" if structure is None else "jax"]
                self._kept[key] = compile(text, pipeline=pipeline, allow_unregistered=True), unflatten
            return self._kept[key]

    def compile(self, *arguments: Any, **named: Any) -> Function:
        """The function for arguments like these, with its remarks; its arguments and
        results are the arrays alone, before them a module's parameters and buffers."""
        return self._find(*self._flatten(arguments, named))[0]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        leaves, structure = self._flatten(arguments, named)
        function, unflatten = self._find(leaves, structure)
        results = function(*leaves)
        return unflatten(list(results) if isinstance(results, tuple) else [results])


def jit(function: Callable, *, pipeline: str | None = None) -> Jitted:
    """Compiles a JAX function, or a torch function or module, for this CPU when it is
    first called with arguments of their shapes and types.

    pipeline: passes instead of raising (and, for JAX, importing StableHLO first).
    Results are torch's tensors for torch, numpy arrays for JAX, in the structure
    that the function returns. Gradients are not tracked.
    """
    if not callable(function):
        raise TypeError(f"jit got a {type(function).__name__}, expected a function or a torch module")
    return Jitted(function, pipeline)
