"""jit(): functions of JAX and of torch, their attention raised, for this CPU.

A function is traced once for each structure, shapes and types of its arguments:
by JAX as StableHLO, by torch.export and torch-mlir as linalg (front_ends.py). Begin
with `Jitted`. Compiled functions have arrays of rank 1 and more: numbers go through
arrays of one element.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

# What compiles and traces is imported when something is called.
if TYPE_CHECKING:
    from . import front_ends
    from .host import Function


class _Compiled:
    """A traced function: on arrays alone, and what its results are."""

    def __init__(self, traced: front_ends.Traced, pipeline: str | None):
        from .compilation import compile
        self._traced = traced
        self.function: Function = compile(traced.text, pipeline=pipeline or traced.pipeline, allow_unregistered=True)
        # The dimension of each argument that is to be contiguous.
        specs = self.function.interface["arguments"]
        self._contiguous = [spec["strides"].index(1) for spec, argument in zip(specs, self.function.arguments)
                            if not argument.is_output]

    def __call__(self, leaves: list) -> Any:
        fitted = [_fit(leaf, dim) for leaf, dim in zip(leaves, self._contiguous)]
        results = self.function(*fitted)
        return self._traced.finish(list(results) if isinstance(results, tuple) else [results], leaves)


def _fit(leaf: Any, dim: int) -> Any:
    """The array, of rank 1 at least, with positive strides and `dim` contiguous: where it is not, a copy."""
    if not leaf.shape:
        leaf = leaf.reshape(1)
    torch = sys.modules.get("torch")
    if torch and isinstance(leaf, torch.Tensor):
        strides = leaf.stride()
        if strides[dim] == 1 or leaf.shape[dim] <= 1:
            return leaf
        return leaf.movedim(dim, -1).contiguous().movedim(-1, dim)
    strides = getattr(leaf, "strides", None)
    if strides is None or not hasattr(leaf, "__array_interface__"):
        return leaf
    size = leaf.dtype.itemsize
    is_aligned = all(stride >= 0 and stride % size == 0 for stride in strides) and leaf.flags.aligned
    if is_aligned and (strides[dim] == size or leaf.shape[dim] <= 1):
        return leaf
    order = [*(i for i in range(leaf.ndim) if i != dim), dim]
    copy = leaf.transpose(order).copy(order="C")
    return copy.transpose([order.index(i) for i in range(leaf.ndim)])


class Jitted:
    """What jit() returns: call it as the function. Threads may."""

    def __init__(self, function: Callable, pipeline: str | None):
        self._function, self._pipeline = function, pipeline
        self._kept: dict = {}
        self._lock = threading.Lock()
        functools.update_wrapper(self, function, updated=())

    def _find(self, arguments: tuple, named: dict) -> tuple[_Compiled, list]:
        """The compiled function, and the arrays that it takes."""
        from . import front_ends
        torch = sys.modules.get("torch")
        is_torch = torch is not None and (isinstance(self._function, torch.nn.Module)
                                          or front_ends.has_tensor((arguments, named)))
        front_end = front_ends.Torch if is_torch else front_ends.Jax
        call = front_end(self._function, arguments, named)
        for leaf in call.leaves:
            if 0 in leaf.shape:
                raise ValueError(f"an argument has the shape {tuple(leaf.shape)}, expected no dim of size 0")
        with self._lock:
            if call.key not in self._kept:
                self._kept[call.key] = _Compiled(call.trace(), self._pipeline)
            return self._kept[call.key], call.leaves

    def compile(self, *arguments: Any, **named: Any) -> Function:
        """The function for arguments like these, with its remarks; its arguments and
        results are the arrays alone, before them a module's parameters and buffers.
        Arrays of rank 0 are there arrays of one element."""
        return self._find(arguments, named)[0].function

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        compiled, leaves = self._find(arguments, named)
        return compiled(leaves)


def jit(function: Callable, *, pipeline: str | None = None) -> Jitted:
    """Compiles a JAX function, or a torch function or module, for this CPU when it is
    first called with arguments of their shapes and types.

    Arguments are arrays and containers of them, in order or by name; Python's numbers
    are arrays of rank 0 for JAX, constants for torch. pipeline: passes instead of
    raising (and, for JAX, importing StableHLO first). Results are torch's tensors for
    torch, numpy arrays for JAX, in the structure that the function returns. Tensors
    that a torch function changes in place are changed. Gradients are not tracked.
    """
    if not callable(function):
        raise TypeError(f"jit got a {type(function).__name__}, expected a function or a torch module")
    return Jitted(function, pipeline)
